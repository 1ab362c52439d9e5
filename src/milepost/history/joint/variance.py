"""What is known about sums of skills and eras, with everything else unknown: c' H⁻¹ c.

The belief about a node says how well a player is known beside his opponents. How well the level of
a whole era is known is another question: there all players move together. In the linear Gaussian
model that stands for a history at its fixed point both are parts of H⁻¹, the newcomers' level, the
first mover's advantage and the era being unknowns there like the skills.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milepost.history.records import Floats, Records
from milepost.history.solver.conjugate import System, solve

ACCURACY = 0.03
"""Relative residual at which equations are solved: a variance is good to its square."""
KNOTS = 24
"""Levels are solved for at so many periods at most; the others lie between."""


def covariance(system: System, contrasts: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the covariances of contrasts.

    Parameters
    ----------
    system
        The matrix H.
    contrasts
        For each, the weights of the nodes, then those of the paths (level, advantage, era).
    """
    solved = []
    for nodes, paths in contrasts:
        found = solve(
            system, nodes.copy(), paths.copy(), accuracy=ACCURACY, rough=ACCURACY, enough=np.inf
        )
        solved.append((found.skills, found.paths))
    matrix = np.array([
        [float(np.sum(nodes * x) + np.sum(paths * path)) for nodes, paths in contrasts]
        for x, path in solved
    ])  # fmt: skip
    return np.asarray(0.5 * (matrix + matrix.T))


def level_covariance(system: System, records: Records, sites: Floats, drift: float) -> Floats:
    """Return the covariances of the levels of all periods: mean skill (by games) plus era.

    Parameters
    ----------
    system
        The matrix H, with an era.
    records
        The games.
    sites
        For each period, the information of its sites: those with most are solved for first.
    drift
        Variance that a unit of time adds to the era, for the periods in between.
    """
    periods = records.periods
    knots = choose_knots(records.clock, sites)
    contrasts = []
    for period in knots:
        nodes, paths = np.zeros(records.nodes), np.zeros(3 * periods)
        part = slice(int(records.node_start[period]), int(records.node_start[period + 1]))
        games = records.node_games[part].astype(np.float64)
        nodes[part] = games / games.sum()
        paths[2 * periods + period] = 1.0
        contrasts.append((nodes, paths))
    known = covariance(system, contrasts)
    between = interpolation(records.clock, records.clock[knots])
    full = between @ known @ between.T
    # Between two knots the walk is free: the variance of a Brownian bridge.
    low = np.searchsorted(knots, np.arange(periods), side="right") - 1
    begin, end = (
        records.clock[knots][low],
        records.clock[knots][np.minimum(low + 1, len(knots) - 1)],
    )
    gap = np.maximum(end - begin, 1e-9)
    bridge = drift * (records.clock - begin) * np.maximum(end - records.clock, 0.0) / gap
    return np.asarray(full + np.diag(bridge))


def choose_knots(clock: Floats, sites: Floats) -> np.ndarray:
    """Return the periods to solve for: the ends, those with sites, and some in between."""
    periods = len(clock)
    if periods <= KNOTS:
        return np.arange(periods)
    even = np.unique(np.linspace(0, periods - 1, KNOTS // 2).round().astype(np.int64))
    there = np.flatnonzero(sites > 0.0)
    if len(there) > KNOTS // 2:
        there = there[np.linspace(0, len(there) - 1, KNOTS // 2).round().astype(np.int64)]
    return np.union1d(even, there)


def interpolation(clock: Floats, knots: Floats) -> Floats:
    """Return the matrix that takes values at knots to values at all places, linearly."""
    return np.stack([np.interp(clock, knots, unit) for unit in np.eye(len(knots))], axis=1)
