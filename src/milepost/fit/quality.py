"""Does the model hold? Percentile score, chi-square of its residuals, influence of decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.evaluation.summaries import up_share_cross_moments
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.methods.percentile import GRID, percentile_residuals, up_shares
from milepost.fit.problem import Problem, make_problem

if TYPE_CHECKING:
    from milepost.fit.result import FitResult


_DEPENDENT = 1e-9
"""Of the largest; less counts as nothing."""


@dataclass(frozen=True, eq=False)
class PercentileScore:
    """How far the up shares are from where they should be."""

    grid: Floats
    """The points q."""
    up: Floats
    """R_q, the mean up share at each point: q, if the model holds."""
    sd: Floats
    """Its standard deviation under the model."""
    rms: float
    """Root of the mean squared R_q - q: the percentile RMS."""
    chi_square: float
    """Residuals squared over their covariance under the model, parameters taken into account."""
    degrees: int
    """Its degrees of freedom: independent points less parameters that moved."""

    @property
    def p_value(self) -> float:
        """Probability of so large a chi-square, if the model holds."""
        return float(stats.chi2.sf(self.chi_square, self.degrees)) if self.degrees > 0 else np.nan

    def to_frame(self) -> pl.DataFrame:
        """Return a table: one row a point."""
        return pl.DataFrame({"q": self.grid, "up": self.up, "sd": self.sd})


def percentile_score(
    problem: Problem, theta: Floats, grid: Floats = GRID, said: Evaluated | None = None
) -> PercentileScore:
    """Return the percentile score of a model at its fitted parameters.

    The chi-square takes the covariance of the up shares under the model, Cov(up_q, up_q') =
    Σ_i p_i up_(q,i) up_(q',i) - q q' summed over decisions, and removes the directions in which
    the fitted parameters can move the residuals.
    """
    moving = theta[problem.free]
    if said is None or not len(said.probabilities):
        said = problem.evaluate(moving, probabilities=True)
    weights = problem.weights
    share = weights / weights.sum()
    spreads = problem.prepared.spreads
    up = np.empty((len(spreads), len(grid)))
    up_shares(said.before, said.ln_chosen, grid, up)
    mean = share @ up
    cross = np.zeros((len(grid), len(grid)))
    up_share_cross_moments(spreads.offsets, said.probabilities, share, grid, cross)
    residual = mean - grid
    slopes = percentile_residuals(said, weights, grid)[1][:, problem.free]
    # Points between which no choice falls move together: only as many count as are independent.
    values, vectors = np.linalg.eigh(cross)
    kept = values > _DEPENDENT * max(values.max(), 0.0)
    root = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
    white, columns = root @ residual, root @ slopes
    # Remove what the parameters can take up.
    basis, size, _ = np.linalg.svd(columns, full_matrices=False)
    basis = basis[:, size > _DEPENDENT * max(size.max(initial=0.0), 1e-300)]
    white = white - basis @ (basis.T @ white)
    return PercentileScore(
        grid=grid,
        up=mean,
        sd=np.sqrt(np.diag(cross)),
        rms=float(np.sqrt((residual**2).mean())),
        chi_square=float(white @ white),
        degrees=int(kept.sum()) - basis.shape[1],
    )


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
