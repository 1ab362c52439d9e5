"""The models that are worth comparing, with names."""

from __future__ import annotations

from dataclasses import replace

from milepost.choice.attraction.curves import CURVES
from milepost.choice.depths import COMBINATIONS, DepthScheme
from milepost.choice.model import FLAT, ChoiceModel
from milepost.choice.scale import LOG, RAW, WIN_PROBABILITY, usual_scale
from milepost.choice.spreads import Spreads
from milepost.fit.comparison.compare import Candidate

_FEW = (
    ("ln s", 1),
    ("ln c", 0),
    ("ln w: first", 0),
    ("ln w: last", 0),
    ("ln w: slope", 1),
    ("loss", 0),
    ("ln kappa", 0),
)
"""What need not move with the rating does not: more slopes predict no better unseen."""
GROUPS_OF_TEN: tuple[tuple[int, ...], ...] = ((1, 2), (3, 4), (5, 6, 7), (8, 9), (10,))


def standard_candidates(spreads: Spreads, *, everything: bool = False) -> dict[str, Candidate]:
    """Return the models to compare on these decisions, on the scale of their unit.

    Without ratings the parameters are fitted in one band; with them, smooth fits follow the rating.
    Depth-weighted agents take part where values by depth are there.

    Parameters
    ----------
    spreads
        The decisions.
    everything
        Also all curves with both ratios, other differences, and more depth schemes.
    """
    rated = spreads.rating is not None and bool((spreads.rating == spreads.rating).all())
    smooth = "smooth" if rated else "likelihood"
    plain = ChoiceModel(scale=usual_scale(spreads))
    shares = replace(plain, ratio="shares")
    candidates = {
        "powers, percentile": Candidate(plain, "percentile"),
        "shares, percentile": Candidate(shares, "percentile"),
        "product, percentile": Candidate(replace(plain, ratio="product"), "percentile"),
        "powers, likelihood": Candidate(plain, "likelihood"),
        "powers, moments": Candidate(plain, "moments"),
        "powers, lapses": Candidate(replace(plain, lapse=FLAT), smooth),
        "shares, lapses": Candidate(replace(shares, lapse=FLAT), smooth),
    }
    if everything:
        for curve in CURVES:
            for ratio in ("powers", "shares"):
                name = f"{ratio} {curve}, percentile"
                candidates[name] = Candidate(replace(plain, curve=curve, ratio=ratio), "percentile")
        # Pawns are on the log scale already; what a pawn wins says nothing of other units.
        for kind in (RAW, WIN_PROBABILITY) if spreads.in_pawns else (LOG,):
            scale = replace(plain.scale, difference=kind)
            candidates[f"{kind}, percentile"] = Candidate(replace(plain, scale=scale), "percentile")
    depths = spreads.depths
    if len(depths) >= 4:
        groups = _groups(depths)
        for combine in COMBINATIONS:
            scheme = DepthScheme.groups(groups, combine)
            for ratio in ("powers", "shares") if everything else ("powers",):
                candidates[f"{ratio}, {combine} groups, lapses"] = Candidate(
                    replace(plain, ratio=ratio, depths=scheme, lapse=FLAT), smooth
                )
        best = recommended(depths, method=smooth)
        model = replace(best.model, scale=plain.scale)
        candidates["blend, depth curve"] = replace(best, model=replace(model, utilities=()))
        candidates["blend, depth curve, loss"] = replace(best, model=model)
    return candidates


def recommended(depths: tuple[int, ...], *, method: str = "smooth") -> Candidate:
    """Return the model that predicts and projects best of those tried on 10,944 turns of chess.

    All depths combined geometrically, weights of three numbers, the blend of shares and powers, and
    a loss that repels; only ln s and the slope of the depth weights move with the rating. See
    ``docs/choice.md``.
    """
    model = ChoiceModel(ratio="blend", depths=DepthScheme.ends(depths), utilities=("loss",))
    return Candidate(model, method, degree=_FEW)


def _groups(depths: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The five groups of ten depths, or as near to them as other numbers of depths allow."""
    if depths == tuple(range(1, 11)):
        return list(GROUPS_OF_TEN)
    cuts = [round(len(depths) * share) for share in (0.2, 0.4, 0.7, 0.9, 1.0)]
    groups = []
    start = 0
    for cut in cuts:
        if cut > start:
            groups.append(depths[start:cut])
            start = cut
    return groups
