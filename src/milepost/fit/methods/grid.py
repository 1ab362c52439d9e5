"""The paper's plain grid search for a percentile fit, on a grid that contains its own answers.

The printed grid (c from 1 to 5) cannot contain the printed fits (c 0.43 to 0.545); this one takes c
from 0.2 to 1.2. It is slow and only as fine as its last grid: kept to check the real search.
"""

from __future__ import annotations

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.methods.percentile import GRID, percentile_residuals
from milepost.fit.problem import Problem
from milepost.fit.search import Solution

S_GRID = (0.01, 0.6)
C_GRID = (0.2, 1.2)


def grid_search(
    problem: Problem,
    *,
    s_range: tuple[float, float] = S_GRID,
    c_range: tuple[float, float] = C_GRID,
    points: int = 13,
    rounds: int = 6,
    grid: Floats = GRID,
) -> Solution:
    """Minimise Σ (R_q - q)² over a grid of s and c, then over finer grids around its best point.

    Only s and c may move. Each round narrows the grid around the best point; a best point on an
    edge moves the grid instead, and in the last round leaves the search unsettled.
    """
    ranges = [np.log(s_range), np.log(c_range)]
    moving = np.flatnonzero(problem.free[:2])
    if problem.free[2:].any():
        raise InputError("the grid search is for s and c alone: give the other parameters")
    best: tuple[float, Floats] = (np.inf, problem.start[problem.free])
    evaluations = 0
    settled = True
    for _ in range(rounds):
        settled = True
        axes = [np.linspace(ranges[k][0], ranges[k][1], points) for k in moving]
        for point in np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)):
            residuals, _ = percentile_residuals(problem.evaluate(point), problem.weights, grid)
            evaluations += 1
            best = min(best, (float(residuals @ residuals), point), key=lambda each: each[0])
        for place, k in enumerate(moving):
            step = axes[place][1] - axes[place][0]
            on_edge = not axes[place][0] < best[1][place] < axes[place][-1]
            settled &= not on_edge
            reach = (axes[place][-1] - axes[place][0]) / 2 if on_edge else 1.5 * step
            ranges[k] = np.array([best[1][place] - reach, best[1][place] + reach])
    return Solution(
        best[1], best[0], settled, evaluations, f"the best of {evaluations} grid points"
    )
