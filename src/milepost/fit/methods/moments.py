"""Moment fits: match the match rate and the scaled error."""

from __future__ import annotations

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.problem import Problem
from milepost.fit.search import Solution, System, least_squares


def actual_moments(problem: Problem) -> Floats:
    """Return, for each decision, whether the first option was chosen, and the scaled error."""
    prepared = problem.prepared
    spreads = prepared.spreads
    hit = (spreads.chosen == 0).astype(np.float64)
    return np.stack([hit, prepared.delta[spreads.offsets[:-1] + spreads.chosen]], axis=1)


def moment_scale(problem: Problem) -> Floats:
    """Return the standard deviation of the mean of each moment, which is its unit in the fit.

    Raises
    ------
    InputError
        If a moment does not vary.
    """
    total = problem.weights.sum()
    share = problem.weights / total
    actual = actual_moments(problem)
    # A weight of two is a decision made twice.
    scale: Floats = np.sqrt(share @ (actual - share @ actual) ** 2 / total)
    if not (scale > 0).all():
        raise InputError("all choices are alike: the moments do not vary, nothing can be fitted")
    return scale


def solve_moments(problem: Problem) -> Solution:
    """Match both moments, each in units of its standard deviation.

    With s and c free this meets both where they can be met; else it is least squares.

    Raises
    ------
    InputError
        If more than two parameters move, or all choices are alike.
    """
    if problem.free.sum() > 2:
        raise InputError("two moments fit at most two parameters: fix the others")

    def system_of(part: Problem) -> System:
        share = part.weights / part.weights.sum()
        target = share @ actual_moments(part)
        scale = moment_scale(problem)

        def residuals(said: Evaluated) -> tuple[Floats, Floats]:
            projected = np.array([share @ said.first, share @ said.error])
            slopes = np.stack([share @ said.d_first, share @ said.d_error])[:, part.free]
            return (projected - target) / scale, slopes / scale[:, None]

        return residuals

    return least_squares(problem, system_of)
