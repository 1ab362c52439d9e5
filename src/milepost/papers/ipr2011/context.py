"""What the alternatives tell (2011 paper, sections 1 and 8): standouts, equal moves, late moves."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice import Spreads
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats
from milepost.fit import fit_agent
from milepost.papers.charts import points
from milepost.papers.experiment import Finding, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import FEWEST, milepost_decisions
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, mean_of, regress

_NEAR, _FAR = 0.05, 0.5
"""Pawns: moves this near count as equal; one that leads by so much stands out."""
_PRUNED = 4.0
"""Pawns behind the best move beyond which the paper's search was cut."""
_MOST = 50
_EQUAL = (2, 5)
_SHALLOW = 2
"""The depth at which a late move was still behind."""
_LATE = 0.3
"""Pawns that it was behind by."""
_WEAK, _STRONG = 2100.0, 2400.0
_LEAST = 50


@experiment("2011-context", paper="2011", title="Standout moves, equal moves, late moves")
def context(folder: Folder) -> Outcome:
    """How the choice depends on the alternatives, and on when a move is seen to be good."""
    frame = milepost_decisions(folder)
    spreads = Spreads.from_table(frame)
    lead = leads(spreads)
    table = lead_table(spreads, lead)
    return Outcome(
        data="all periods and mileposts",
        n=len(frame),
        findings=(
            standout_finding(spreads, lead),
            equal_finding(spreads),
            fifty_finding(spreads),
            late_finding(frame),
        ),
        tables={"Match rate by the lead of the best move": table},
        charts={
            "Match rate by the lead of the best move": points(
                table, "Lead in pawns", "Best move chosen", error="se", zero=True
            )
        },
        notes=("late moves are judged by s and c fitted to each milepost of each period",),
    )


def leads(spreads: Spreads) -> Floats:
    """Return by how many pawns the best move of each turn leads the second."""
    starts = spreads.offsets[:-1]
    return np.asarray(spreads.values[starts] - spreads.values[starts + 1], dtype=np.float64)


def lead_table(spreads: Spreads, lead: Floats) -> pl.DataFrame:
    """Return how often the best move is chosen, by its lead."""
    rows = []
    edges = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5)
    for low, high in itertools.pairwise(edges):
        inside = (lead >= low) & (lead < high)
        if inside.sum() >= _LEAST:
            hit = mean_of((spreads.chosen[inside] == 0) * 1.0, spreads.groups[inside])
            rows.append((0.5 * (low + high), int(inside.sum()), hit.value, hit.se))
    schema = {
        "Lead in pawns": pl.Float64, "n": pl.Int64, "Best move chosen": pl.Float64,
        "se": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def standout_finding(spreads: Spreads, lead: Floats) -> Finding:
    """Judge whether a standout is chosen more often than one of several near-equal moves."""
    clear, slight = lead >= _FAR, lead <= _NEAR
    both = clear | slight
    n = int(both.sum())
    if min(clear.sum(), slight.sum()) < _LEAST:
        return too_little("2011-standout", f"{n} such turns", n=n)
    gap, found = _contrast(clear[both], 100.0 * (spreads.chosen[both] == 0), spreads.groups[both])
    return judge("2011-standout", gap, found, n=n)


def _contrast(
    one: npt.NDArray[np.bool_], y: npt.NDArray[Any], groups: npt.NDArray[np.intp]
) -> tuple[Estimate, str]:
    """The mean of one set less that of the other, and both in words."""
    design = np.stack([np.ones(len(y)), one], axis=1).astype(np.float64)
    beta, covariance = regress(design, y.astype(np.float64), groups)
    gap = Estimate(float(beta[1]), float(np.sqrt(covariance[1, 1])))
    return gap, f"{gap.show(1, sign=True)}: {beta[0] + beta[1]:.1f} against {beta[0]:.1f}"


def equal_finding(spreads: Spreads) -> Finding:
    """Judge whether near-equal best moves share the choice alike."""
    starts = spreads.offsets[:-1]
    best = np.repeat(spreads.values[starts], spreads.counts)
    behind = best - spreads.values
    equal = np.add.reduceat((behind <= _NEAR).astype(np.int64), starts)
    between = np.add.reduceat(((behind > _NEAR) & (behind < _FAR)).astype(np.int64), starts)
    fewest, most = _EQUAL
    wanted = (equal >= fewest) & (equal <= most) & (between == 0) & (equal < spreads.counts)
    wanted &= (spreads.chosen >= 0) & (spreads.chosen < equal)
    n = int(wanted.sum())
    if n < _LEAST:
        return too_little("2011-equal-shares", f"{n} such turns", n=n)
    over = 100 * ((spreads.chosen[wanted] == 0) - 1.0 / equal[wanted])
    mean = mean_of(over, spreads.groups[wanted])
    return judge("2011-equal-shares", mean, f"{mean.show(1, sign=True)} points over 1/k", n=n)


def fifty_finding(spreads: Spreads) -> Finding:
    """Judge whether more than fifty moves ever matter."""
    starts = spreads.offsets[:-1]
    behind = np.repeat(spreads.values[starts], spreads.counts) - spreads.values
    many = np.add.reduceat((behind <= _PRUNED).astype(np.int64), starts) > _MOST
    share = mean_of(100.0 * many.astype(np.float64), spreads.groups)
    # With none at all the error would be zero: the rule of three bounds the share.
    number = share if share.se > 0 else Estimate(share.value, 100 * 1.5 / len(spreads))
    found = f"{share.show(2)} % ({int(many.sum())} turns)"
    return judge("2011-fifty", number, found, n=len(spreads))


def late_finding(frame: pl.DataFrame) -> Finding:
    """Judge whether weaker players miss moves that only a deeper search finds."""
    parts = [
        _late_part(part)
        for _, part in frame.group_by("period", "milepost", maintain_order=True)
        if len(part) >= FEWEST
    ]
    some = pl.concat(each for each in parts if each is not None) if any(
        each is not None for each in parts
    ) else pl.DataFrame({"late": [], "level": []})  # fmt: skip
    late = some.filter("late") if len(some) else some
    weak, strong = (
        late.filter((pl.col("level") < _WEAK) if kind == "weak" else (pl.col("level") >= _STRONG))
        for kind in ("weak", "strong")
    )
    if min(len(weak), len(strong)) < _LEAST:
        return too_little("2011-late", f"{len(late)} late moves", n=len(late))
    both = pl.concat([weak, strong])
    _, groups = np.unique(both["game_id"].to_numpy(), return_inverse=True)
    gap, found = _contrast((both["level"] >= _STRONG).to_numpy(), both["over"].to_numpy(), groups)
    return judge("2011-late", gap, f"points over projected {found}", n=len(both))


def _late_part(part: pl.DataFrame) -> pl.DataFrame | None:
    """Each turn of a cohort: whether its best move was late, and how it was chosen over p_0."""
    spreads = Spreads.from_table(part)
    if spreads.depth_values is None or _SHALLOW not in spreads.depths:
        return None
    fit = fit_agent(spreads, covariance="none")
    first = evaluate(fit.model, prepare(spreads, fit.model), fit.theta).first
    shallow = spreads.depth_values[:, spreads.depths.index(_SHALLOW)]
    starts = spreads.offsets[:-1]
    best = np.maximum.reduceat(np.nan_to_num(shallow, nan=-np.inf), starts)
    return pl.DataFrame(
        {
            "game_id": part["game_id"],
            "level": part["milepost"],
            "late": best - shallow[starts] >= _LATE,
            "over": 100 * ((spreads.chosen == 0) - first),
        }
    )
