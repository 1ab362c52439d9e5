"""Percentiles: where the choice lies among what the agent might have chosen.

The options of a decision, best first, share out the interval from 0 to 1 by their probabilities.
At a point q a decision counts up if the chosen option's interval lies below q, down if above; an
interval that straddles q counts up by the part that lies below. Under the agent the expected up
share is exactly q, for every decision and every q (Regan & Haworth 2011, section 4).
"""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.problem import Problem
from milepost.fit.search import Solution, System, least_squares
from milepost.kernels import kernel

GRID = np.arange(1, 20) / 20.0
"""The paper's points: 0.05, 0.10, … 0.95."""
_LEAST = -700.0


@kernel
def up_shares(before: Floats, ln_chosen: Floats, grid: Floats, up: Floats) -> None:
    """Fill the up share of each decision at each point."""
    for decision in range(len(before)):
        p = math.exp(max(ln_chosen[decision], _LEAST))
        for g in range(len(grid)):
            share = (grid[g] - before[decision]) / p
            up[decision, g] = min(max(share, 0.0), 1.0)


@kernel
def mean_up_shares(
    before: Floats,
    ln_chosen: Floats,
    d_before: Floats,
    d_ln_chosen: Floats,
    weights: Floats,
    grid: Floats,
    mean: Floats,
    slope: Floats,
) -> None:
    """Fill the weighted mean up share at each point, and its derivatives.

    Only decisions that straddle q move it: d up = -(d before + up d p) / p.
    """
    mean[:] = 0.0
    slope[:, :] = 0.0
    total = 0.0
    parameters = slope.shape[1]
    for decision in range(len(before)):
        weight = weights[decision]
        total += weight
        p = math.exp(max(ln_chosen[decision], _LEAST))
        for g in range(len(grid)):
            up = (grid[g] - before[decision]) / p
            if up >= 1.0:
                mean[g] += weight
            elif up > 0.0:
                mean[g] += weight * up
                for k in range(parameters):
                    slope[g, k] -= weight * (
                        d_before[decision, k] / p + up * d_ln_chosen[decision, k]
                    )
    for g in range(len(grid)):
        mean[g] /= total
        for k in range(parameters):
            slope[g, k] /= total


def percentile_residuals(
    said: Evaluated, weights: Floats, grid: Floats = GRID
) -> tuple[Floats, Floats]:
    """Return R_q - q at each point of the grid, and its derivatives by the parameters."""
    mean = np.empty(len(grid))
    slope = np.empty((len(grid), said.d_before.shape[1]))
    mean_up_shares(
        said.before, said.ln_chosen, said.d_before, said.d_ln_chosen, weights, grid, mean, slope
    )
    return mean - grid, slope


def solve_percentile(problem: Problem, grid: Floats = GRID) -> Solution:
    """Make the up shares equal q, in least squares: Levenberg–Marquardt, analytic Jacobian.

    Raises
    ------
    InputError
        If the grid has fewer points than parameters move.
    """
    if len(grid) < problem.free.sum():
        raise InputError(
            f"{len(grid)} points of the percentile grid are too few for "
            f"{int(problem.free.sum())} parameters"
        )

    def system_of(part: Problem) -> System:
        def residuals(said: Evaluated) -> tuple[Floats, Floats]:
            values, slopes = percentile_residuals(said, part.weights, grid)
            return values, slopes[:, part.free]

        return residuals

    return least_squares(problem, system_of)
