"""Covariances that belong to the method, clustered by group (a game).

All are for the parameters that move, on the working scale. With e_t the estimating function of a
decision and A its mean derivative, V = A⁻¹ B A⁻ᵀ, B the covariance of Σ w e over groups:

- likelihood: e = d ln p, A the observed information; without B, the inverse expected information;
- percentile: V = (J'J)⁻¹ J' Σ J (J'J)⁻¹ / T with Σ the covariance of the up shares. The inverse
  information would cover too little (`ipr_math`, section 5);
- moments: the same with the two moments in place of the up shares.
"""

from __future__ import annotations

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.spreads import Floats, Ints
from milepost.fit.methods.moments import actual_moments, moment_scale
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.fit.problem import Problem

_STEP = 1e-5
"""Step of the differences of the analytic gradient, on the logarithmic working scale."""
_SAYS_NOTHING = 1e-8
"""Of the median information of a parameter."""
_SINGULAR = 1e12
"""Condition number from which a matrix counts as singular."""


def group_sums(values: Floats, groups: Ints) -> Floats:
    """Add the rows of each group up."""
    _, codes = np.unique(groups, return_inverse=True)
    sums = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def clustered(values: Floats, groups: Ints, parameters: int) -> Floats:
    """Return the covariance of the sum of rows that are independent between groups only.

    The sum of squares over G groups is raised by G / (G - 1), as their mean was fitted. With no
    more groups than parameters all is NaN.
    """
    sums = group_sums(values, groups)
    count = len(sums)
    if count <= parameters:
        # So few groups span no covariance of so many parameters: no interval can be had.
        return np.full((values.shape[1], values.shape[1]), np.nan)
    answer: Floats = sums.T @ sums * (count / (count - 1))
    return answer


def likelihood_information(problem: Problem, moving: Floats) -> Floats:
    """Return the expected information of all decisions together."""
    said = problem.evaluate(moving, information=True)
    total = np.einsum("t,tjk->jk", problem.weights, said.information)
    answer: Floats = total[np.ix_(problem.free, problem.free)]
    return answer


def likelihood_curvature(problem: Problem, moving: Floats) -> Floats:
    """Return the observed information: differences of the analytic gradient."""
    columns = []
    for place in range(len(moving)):
        step = np.zeros(len(moving))
        step[place] = _STEP
        high = problem.evaluate(moving + step)
        low = problem.evaluate(moving - step)
        change = problem.weights @ (high.d_ln_chosen - low.d_ln_chosen)
        columns.append(-change[problem.free] / (2 * _STEP))
    curvature = np.stack(columns, axis=1)
    answer: Floats = 0.5 * (curvature + curvature.T)
    return answer


def likelihood_covariance(problem: Problem, moving: Floats, *, kind: str = "sandwich") -> Floats:
    """Return the covariance of a likelihood fit: ``"sandwich"`` or ``"information"``."""
    if kind == "information":
        return inverse(likelihood_information(problem, moving))
    said = problem.evaluate(moving)
    scores = (problem.weights[:, None] * said.d_ln_chosen)[:, problem.free]
    middle = clustered(scores, problem.prepared.spreads.groups, len(moving))
    bread = inverse(likelihood_curvature(problem, moving))
    return sandwich(bread, middle)


def percentile_covariance(problem: Problem, said: Evaluated, grid: Floats = GRID) -> Floats:
    """Return the covariance of a percentile fit, Σ taken over groups.

    J is the expected slope under the model, -E[up_q d ln p]. The slope of the choices as they fell
    rests on the few decisions that straddle q, weighted with 1/p: with 300 decisions intervals from
    it cover 88 to 93 %, those from the expected one 95 to 97 % (`studies/coverage.py`).
    """
    weights = problem.weights
    slopes = said.up_slopes / weights.sum()
    up = np.empty((len(weights), len(grid)))
    up_shares(said.before, said.ln_chosen, grid, up)
    share = weights / weights.sum()
    groups = problem.prepared.spreads.groups
    parameters = int(problem.free.sum())
    middle = clustered(share[:, None] * (up - share @ up), groups, parameters)
    return _least_squares_covariance(slopes[:, problem.free], middle)


def moment_covariance(problem: Problem, said: Evaluated) -> Floats:
    """Return the covariance of a moment fit.

    The actual and the projected moments of a decision vary together: what counts is their
    difference.
    """
    share = problem.weights / problem.weights.sum()
    scale = moment_scale(problem)
    projected = np.stack([said.first, said.error], axis=1)
    slopes = np.stack([share @ said.d_first, share @ said.d_error])[:, problem.free]
    differences = (projected - actual_moments(problem)) / scale
    differences -= share @ differences
    groups = problem.prepared.spreads.groups
    middle = clustered(share[:, None] * differences, groups, int(problem.free.sum()))
    return _least_squares_covariance(slopes / scale[:, None], middle)


def _least_squares_covariance(slopes: Floats, middle: Floats) -> Floats:
    bread = inverse(slopes.T @ slopes)
    return sandwich(bread, slopes.T @ middle @ slopes)


def sandwich(bread: Floats, middle: Floats) -> Floats:
    """Return A⁻¹ B A⁻ᵀ; NaN for parameters of which the bread says nothing."""
    known = np.isfinite(np.diag(bread))
    answer = np.full(bread.shape, np.nan)
    inner = bread[np.ix_(known, known)]
    answer[np.ix_(known, known)] = inner @ middle[np.ix_(known, known)] @ inner.T
    return answer


def inverse(matrix: Floats) -> Floats:
    """Invert a symmetric matrix; NaN where the data do not say.

    A parameter of which the data say next to nothing (a weight that went to 0) gets NaN and leaves
    the others their errors, as if it had been given; if the rest is singular, all are NaN.
    """
    answer = np.full(matrix.shape, np.nan)
    size = np.abs(np.diag(matrix))
    if not np.isfinite(matrix).all() or not (size > 0).any():
        return answer
    said = size > _SAYS_NOTHING * np.median(size[size > 0])
    scale = np.sqrt(size[said])
    correlation = matrix[np.ix_(said, said)] / np.outer(scale, scale)
    if np.linalg.cond(correlation) > _SINGULAR:
        return answer
    answer[np.ix_(said, said)] = np.linalg.inv(correlation) / np.outer(scale, scale)
    return answer
