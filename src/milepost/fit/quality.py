"""Does the model hold? The percentile score and the chi-square of its residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.evaluation.summaries import up_share_cross_moments
from milepost.choice.spreads import Floats
from milepost.fit.methods.percentile import GRID, percentile_residuals, up_shares
from milepost.fit.problem import Problem

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

        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.chi_square)) if self.degrees > 0 else np.nan

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
