"""Whom a map wrongs: its reading error in Elo by class of turns, and where its agents are off.

With u the derivative of a choice's log-likelihood by the rating at the chooser's own Elo and I its
expected information, Σu / ΣI is by how much the turns of a class read above the Elo of those who
chose: one step of Newton's method from the truth. Under the true agents it is zero in every class,
whatever the class is made by, as long as that is known before the move. Errors are clustered by
game.

Beside it: by how much the scores of a player's game vary more than under agents (which take turns
for independent), and how often choices give away more than one, three and five pawns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtri

from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.comparison.compare import rating_bands
from milepost.fit.comparison.gate import gate_table
from milepost.intrinsic.calibration.held_out import Unseen
from milepost.io.shown import Shown

LEVEL = 0.95
"""Probability of the intervals."""
MOVES = (9, 12, 17, 25, 33, 41)
"""Where bands of move numbers begin; 33 to 40 are the last ones before the time control."""
OPTIONS = (2, 11, 21, 31, 41)
"""Where bands of the number of options begin."""
TAIL = (1.0, 3.0, 5.0)
"""Slips that are counted, in pawns."""
ALL, QUARTERS, MOVE_BANDS = "all", "evaluation", "move"
ELO_BANDS, OPTION_BANDS = "elo", "options"
"""Families of classes."""


@dataclass(frozen=True, eq=False)
class Biases(Shown):
    """Where a map is off, on decisions it has not seen."""

    classes: pl.DataFrame
    """One row a class of turns: family, part, n, games, bias in Elo, se, low, high, z."""
    tail: pl.DataFrame
    """One row a size of slip: over (pawns), projected and actual number, sd, z."""
    gate: pl.DataFrame
    """The admission gate by band of Elo; see `milepost.fit.comparison.gate`."""
    dispersion: float
    """Σu² / ΣI: how much more single choices vary than the agents'."""
    dispersion_se: float
    """Its error."""
    overdispersion: float
    """The same of the summed scores of a player's game."""
    overdispersion_se: float
    """Its error."""
    log_loss: float
    """Mean of minus the logarithm of the chosen options' probability."""

    def to_frame(self) -> pl.DataFrame:
        """Return the classes."""
        return self.classes

    def worst(self, family: str) -> dict[str, Any]:
        """Return the class of a family that is farthest off.

        Raises
        ------
        InputError
            If there is no such family.
        """
        part = self.classes.filter(pl.col("family") == family)
        if not len(part):
            known = ", ".join(self.classes["family"].unique(maintain_order=True))
            raise InputError(f"there is no family {family!r} of classes; there are {known}")
        return part.sort(pl.col("bias").abs(), descending=True).row(0, named=True)

    def __repr__(self) -> str:
        """Say what is worst."""
        lines = [f"log-loss {self.log_loss:.4f}"]
        lines.append(
            f"overdispersion of player-games {self.overdispersion:.2f} ± "
            f"{self.overdispersion_se:.2f}, of turns {self.dispersion:.2f}"
        )
        for family in self.classes["family"].unique(maintain_order=True):
            row = self.worst(family)
            lines.append(f"{family}: {row['part']} {row['bias']:+.0f} ± {row['se']:.0f} Elo")
        lines += [
            f"slips over {row['over']:g}: {row['projected']:.0f} projected, "
            f"{row['actual']:.0f} made (z {row['z']:+.1f})"
            for row in self.tail.iter_rows(named=True)
        ]
        return "; ".join(lines)


def measure_biases(
    unseen: Unseen,
    spreads: Spreads,
    *,
    move_numbers: npt.ArrayLike | None = None,
    players: Sequence[Any] | npt.NDArray[Any] | None = None,
    classes: Mapping[str, Sequence[Any]] | None = None,
    events: Sequence[Any] | npt.NDArray[Any] | None = None,
) -> Biases:
    """Measure where a map is off, on decisions it has not seen.

    Parameters
    ----------
    unseen
        What the map says of the decisions; see `milepost.intrinsic.calibration.held_out`.
    spreads
        The decisions, grouped by game, with ratings.
    move_numbers
        The number of each move, for classes by phase of the game [default: no such classes].
    players
        Who chose: tells the two sides of a game apart [default: by their ratings].
    classes
        Further classes: a label for each decision, by the name of the family.
    events
        The event of each decision: the gate reckons with whole events being off [default: each
        decision for itself].
    """
    assert spreads.rating is not None
    families = standard_classes(spreads, move_numbers)
    for name, labels in (classes or {}).items():
        if len(labels) != len(spreads):
            raise InputError(f"{len(labels)} labels {name!r} for {len(spreads)} decisions")
        known, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
        families[name] = known.tolist(), codes.astype(np.int64)
    score, information = spreads.weights * unseen.score, spreads.weights * unseen.information
    _, game = np.unique(spreads.groups, return_inverse=True)
    rows = []
    for family, (names, codes) in families.items():
        for code, name in enumerate(names):
            here = codes == code
            if here.any():
                row = {"family": family, "part": name}
                rows.append(row | reading_error(score[here], information[here], game[here]))
    variance = spreads.weights**2 * unseen.information
    centred = score - float(score.sum() / information.sum()) * information
    owner = spreads.rating if players is None else np.asarray(players)
    _, who = np.unique(owner, return_inverse=True)
    _, sides = np.unique(game * (int(who.max()) + 1) + who, return_inverse=True)
    dispersion = _dispersion(centred, variance, np.arange(len(spreads)), game)
    overdispersion = _dispersion(centred, variance, sides, game)
    labels, bands = rating_bands(spreads)
    share = spreads.weights / spreads.weights.sum()
    clusters = None
    if events is not None:
        clusters = np.unique(np.asarray(events, dtype=str), return_inverse=True)[1].ravel()
    return Biases(
        classes=pl.DataFrame(rows),
        tail=tail_table(unseen, spreads),
        gate=gate_table(unseen.said, bands, labels, clusters),
        dispersion=dispersion[0],
        dispersion_se=dispersion[1],
        overdispersion=overdispersion[0],
        overdispersion_se=overdispersion[1],
        log_loss=-float(share @ unseen.said.ln_chosen),
    )


def standard_classes(
    spreads: Spreads, move_numbers: npt.ArrayLike | None = None
) -> dict[str, tuple[list[str], Ints]]:
    """Return families of classes: their names, and the class of each decision.

    All turns; quarters by the worth of the best option; bands of Elo and of the number of options;
    and, where move numbers are given, bands of those.
    """
    best = spreads.values[spreads.offsets[:-1]]
    edges = np.quantile(best, [0.25, 0.5, 0.75])
    quarters = np.searchsorted(edges, best, side="right")
    texts = [f"{edge:+.2f}" for edge in edges]
    names = [f"under {texts[0]}", f"{texts[0]} to {texts[1]}", f"{texts[1]} to {texts[2]}",
             f"from {texts[2]}"]  # fmt: skip
    families = {
        ALL: (["all"], np.zeros(len(spreads), dtype=np.int64)),
        QUARTERS: (names, quarters.astype(np.int64)),
    }
    if move_numbers is not None:
        families[MOVE_BANDS] = _bands(np.asarray(move_numbers), MOVES)
    families[ELO_BANDS] = rating_bands(spreads)
    families[OPTION_BANDS] = _bands(spreads.counts, OPTIONS)
    return families


def _bands(values: npt.NDArray[Any], begins: Sequence[int]) -> tuple[list[str], Ints]:
    codes = np.searchsorted(np.asarray(begins), values, side="right")
    names = [f"under {begins[0]}"]
    names += [f"{low}-{high - 1}" for low, high in pairwise(begins)]
    return [*names, f"from {begins[-1]}"], codes.astype(np.int64)


def reading_error(score: Floats, information: Floats, game: Ints) -> dict[str, Any]:
    """Return Σu / ΣI with its error, clustered by game.

    Parameters
    ----------
    score, information
        Of each decision, at the chooser's own Elo.
    game
        The game of each decision.
    """
    total = float(information.sum())
    bias = float(score.sum()) / total if total > 0 else float("nan")
    _, place = np.unique(game, return_inverse=True)
    left = np.bincount(place, weights=score - bias * information)
    count = len(left)
    se = float("nan")
    if count > 1 and total > 0:
        se = float(np.sqrt((left**2).sum() * count / (count - 1))) / total
    half = float(ndtri(0.5 + LEVEL / 2)) * se
    return {
        "n": len(score),
        "games": count,
        "bias": bias,
        "se": se,
        "low": bias - half,
        "high": bias + half,
        "z": bias / se if se > 0 else float("nan"),
    }


def _dispersion(score: Floats, variance: Floats, unit: Ints, game: Ints) -> tuple[float, float]:
    """Variance of the units' summed scores over what agents would have; its error by game."""
    sums = np.bincount(unit, weights=score)
    squares = np.bincount(game, weights=score * sums[unit])
    # Σ_units (Σu)² is Σ u times its unit's sum, which can be added up by game.
    expected = np.bincount(game, weights=variance)
    ratio = float(squares.sum() / expected.sum())
    left = squares - ratio * expected
    count = len(left)
    return ratio, float(np.sqrt((left**2).sum() * count / max(count - 1, 1)) / expected.sum())


def tail_table(unseen: Unseen, spreads: Spreads, limits: Sequence[float] = TAIL) -> pl.DataFrame:
    """Return how many slips of each size the agents project, how many were made, and z."""
    model = unseen.maps[0].path.model
    prepared = prepare(spreads, model)
    p = np.exp(ln_probabilities(model, prepared, unseen.theta))
    starts, weights = spreads.offsets[:-1], spreads.weights
    made = starts + spreads.chosen
    rows = []
    for limit in limits:
        over = prepared.loss > limit
        each = np.add.reduceat(np.where(over, p, 0.0), starts)
        projected, actual = float(weights @ each), float(weights @ over[made])
        sd = float(np.sqrt(weights**2 @ (each * (1 - each))))
        rows.append(
            {
                "over": limit,
                "projected": projected,
                "actual": actual,
                "sd": sd,
                "z": (actual - projected) / sd if sd > 0 else 0.0,
            }
        )
    return pl.DataFrame(rows)
