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

ACCURACY = 0.3
"""Relative residual at which equations are solved. The solutions of all contrasts together then
make a variance good to the square of what is left: 0.1 % of a standard deviation."""
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
    # X are rough solutions of H X = C, R what is left of C. Among all sums of the columns of X the
    # best solution gives C'X (X'HX)⁻¹ X'C (Galerkin; Saad 2003, "Iterative Methods", section 5.2),
    # never more than C'H⁻¹C, and X'HX = X'(C - R) is at hand.
    size = len(contrasts)
    solved, left = np.empty((size, system.nodes)), np.empty((size, system.nodes))
    path_left = np.array([paths for _, paths in contrasts])
    asked = path_left.copy()
    path_solved = np.empty_like(asked)
    for place, (nodes, _) in enumerate(contrasts):
        left[place] = nodes
        found = solve(
            system, left[place], path_left[place], accuracy=ACCURACY, rough=ACCURACY, enough=np.inf
        )
        solved[place], path_solved[place] = found.skills, found.paths
    path_solved *= _counted_once(system)
    seen = np.stack([solved @ nodes for nodes, _ in contrasts], axis=1) + path_solved @ asked.T
    square = seen - solved @ left.T - path_solved @ path_left.T
    matrix = seen.T @ np.linalg.solve(0.5 * (square + square.T), seen)
    return np.asarray(0.5 * (matrix + matrix.T))


def _counted_once(system: System) -> Floats:
    """Weights of the paths: one constant advantage counts once, though it stands often."""
    periods = system.periods
    weights = np.ones(len(system.rest))
    if not system.paths.by_period:
        weights[periods + 1 : 2 * periods] = 0.0
    return weights


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
