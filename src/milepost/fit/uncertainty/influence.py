"""Influence: how far each decision moves a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.fit.problem import make_problem
from milepost.fit.result import FitResult


def influence(spreads: Spreads, result: FitResult, grid: Floats = GRID) -> Floats:
    """Return how far each decision moves the parameters of a fit, in standard errors.

    The length, in the metric of the fit's covariance, of the step that leaving the decision out
    makes, to first order: I⁻¹ × score for likelihood fits; for percentile fits
    (J'J)⁻¹ J' (up - R) / T, which is bounded: no single blunder moves those much. Parameters of
    which the data say nothing are left out.

    Raises
    ------
    InputError
        For other methods, or where the fit has no covariance.
    """
    problem = replace(
        make_problem(spreads, result.model), start=result.theta.copy(), free=result.free.copy()
    )
    known = np.isfinite(np.diag(result.working_covariance))
    if not known.any():
        raise InputError("the fit has no covariance to measure influence by")
    moving = result.theta[result.free]
    weights = problem.weights
    if result.method == "likelihood":
        said = problem.evaluate(moving, information=True)
        total = np.einsum("t,tjk->jk", weights, said.information)
        bread = total[np.ix_(result.free, result.free)][np.ix_(known, known)]
        pulls = (weights[:, None] * said.d_ln_chosen)[:, result.free][:, known]
    elif result.method == "percentile":
        said = problem.evaluate(moving, up_grid=grid)
        share = weights / weights.sum()
        slopes = (said.up_slopes / weights.sum())[:, result.free][:, known]
        up = np.empty((len(spreads), len(grid)))
        up_shares(said.before, said.ln_chosen, grid, up)
        bread = slopes.T @ slopes
        pulls = share[:, None] * (up - share @ up) @ slopes
    else:
        raise InputError(f"influence is known for likelihood and percentile, not {result.method}")
    steps = pulls @ np.linalg.inv(bread)
    metric = np.linalg.inv(result.working_covariance[np.ix_(known, known)])
    answer: Floats = np.sqrt(np.einsum("tj,jk,tk->t", steps, metric, steps))
    return answer
