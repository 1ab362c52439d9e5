"""Does the model hold? Percentile score, chi-square of its residuals, influence of decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice.evaluate import Evaluated
from milepost.choice.spreads import Floats
from milepost.choice.summaries import up_share_cross_moments
from milepost.fit.percentiles import GRID, percentile_residuals, up_shares
from milepost.fit.problem import Problem


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
    """Its degrees of freedom: points less parameters that moved."""

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
    # Remove what the parameters can take up: project in the metric of the covariance.
    root = np.linalg.pinv(np.linalg.cholesky(cross + 1e-14 * np.trace(cross) * np.eye(len(grid))))
    white, columns = root @ residual, root @ slopes
    if columns.shape[1]:
        basis, _ = np.linalg.qr(columns)
        white = white - basis @ (basis.T @ white)
    return PercentileScore(
        grid=grid,
        up=mean,
        sd=np.sqrt(np.diag(cross)),
        rms=float(np.sqrt((residual**2).mean())),
        chi_square=float(white @ white),
        degrees=len(grid) - columns.shape[1],
    )


def influence(problem: Problem, moving: Floats, covariance: Floats) -> Floats:
    """Return how far each decision moves the parameters of a likelihood fit, in standard errors.

    The length of I⁻¹ × score in the metric of the covariance: one step of leaving the decision out.
    """
    said = problem.evaluate(moving)
    scores = (problem.weights[:, None] * said.d_ln_chosen)[:, problem.free]
    answer: Floats = np.sqrt(np.einsum("tj,jk,tk->t", scores, covariance, scores))
    return answer
