"""Two calibrations on the same turns of rated players: do they read the same?

A line is read off the turns, not a rating for each player: the Elo that the choices of players of
printed Elo E show is taken as centre + a + b (E - centre), and a, b are the likeliest. A true map
has a = 0 and b = 1. On the same turns most of the noise of two maps is common, so that their
difference is known better than either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import root

from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.uncertainty.covariance import clustered
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb

CENTRE = 2150.0
"""The Elo at which the level is read."""
UNIT = 500.0


@dataclass(frozen=True, eq=False)
class ReadLine:
    """The Elo that turns show, as a line over the printed one."""

    level: float
    """What is read at the centre, less the centre."""
    slope: float
    """What is read more for a point of printed Elo."""
    influence: Floats
    """How much each turn moves level and slope: their errors are sums of it."""

    def errors(self, groups: Ints) -> Floats:
        """Return the standard errors of level and slope, clustered by group."""
        answer: Floats = np.sqrt(np.diag(clustered(self.influence, groups, 2)))
        return answer


def read_line(spreads: Spreads, path: AgentPath) -> ReadLine:
    """Read level and slope off turns of players whose Elo is known.

    Raises
    ------
    InputError
        If a rating is missing, or the turns bound no line.
    """
    if spreads.rating is None or not np.isfinite(spreads.rating).all():
        raise InputError("a line can be read only where every chooser's rating is known")
    ladder = climb(spreads, path)
    x = (spreads.rating - CENTRE) / UNIT
    design = np.stack([np.ones(len(x)), x], axis=1)

    def slopes(at: Floats) -> Floats:
        return _scores(ladder, CENTRE + UNIT * (design @ at))[:, None] * design

    def total(at: Floats) -> Floats:
        answer: Floats = spreads.weights @ slopes(at) * UNIT
        return answer

    search = root(total, np.array([0.0, 1.0]))
    if not search.success:
        raise InputError(f"no line of ratings can be read off these turns: {search.message}")
    step = 1e-3
    rows = [
        (total(search.x + move) - total(search.x - move)) / (2 * step) for move in np.eye(2) * step
    ]
    pull = slopes(search.x) * spreads.weights[:, None] * UNIT
    influence = -pull @ np.linalg.inv(np.stack(rows))
    influence[:, 0] *= UNIT
    return ReadLine(UNIT * float(search.x[0]), float(search.x[1]), influence)


def compare_on_players(
    known: tuple[Spreads, AgentPath], new: tuple[Spreads, AgentPath]
) -> pl.DataFrame:
    """Return what two calibrations read off the same turns, and by how much they differ.

    Parameters
    ----------
    known, new
        The turns as each set-up values them, in the same order and groups, with the path that reads
        them.

    Returns
    -------
    polars.DataFrame
        Rows `known`, `new` and `difference`: `level` (Elo, less that printed, at the centre),
        `slope`, and their standard errors, clustered by game.
    """
    lines = [read_line(spreads, path) for spreads, path in (known, new)]
    groups = known[0].groups
    first, second = lines
    apart = ReadLine(
        second.level - first.level, second.slope - first.slope, second.influence - first.influence
    )
    rows = []
    for name, line in zip(("known", "new", "difference"), (*lines, apart), strict=True):
        level_se, slope_se = line.errors(groups)
        rows.append(
            {"reading": name, "turns": len(groups), "level": line.level, "level_se": level_se,
             "slope": line.slope, "slope_se": slope_se}
        )  # fmt: skip
    return pl.DataFrame(rows)


def _scores(ladder: Ladder, ratings: Floats) -> Floats:
    return ladder.scores(np.clip(ratings, ladder.rungs[0], ladder.rungs[-1]))
