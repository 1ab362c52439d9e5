"""Statistics that experiments of several papers share: numbers with clustered errors.

What `milepost.fit`, `milepost.intrinsic` or `milepost.history` have is taken from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from milepost.choice import Spreads
from milepost.choice.spreads import Floats
from milepost.fit.uncertainty.covariance import clustered


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number with its standard error."""

    value: float
    """The number."""
    se: float
    """Its standard error."""

    @property
    def z(self) -> float:
        """How many standard errors it is from 0."""
        return self.value / self.se if self.se > 0 else float(np.copysign(np.inf, self.value))

    @property
    def p(self) -> float:
        """Probability of so large a |z| if the truth is 0."""
        return float(2 * stats.norm.sf(abs(self.z)))

    @property
    def detectable(self) -> float:
        """The true size that a test at 5 % would see in 80 of 100 such samples."""
        return float(stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * self.se

    def show(self, places: int = 3, *, sign: bool = False) -> str:
        """Return it as "value ± error"."""
        return f"{self.value:{'+' if sign else ''}.{places}f} ± {self.se:.{places}f}"


def regress(design: Floats, y: Floats, groups: Any) -> tuple[Floats, Floats]:
    """Return least squares coefficients and their covariance, clustered by group."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    bread = np.linalg.pinv(design.T @ design)
    beta = bread @ (design.T @ y)
    scores = design * (y - design @ beta)[:, None]
    covariance: Floats = bread @ clustered(scores, codes, design.shape[1]) @ bread
    return beta, covariance


def mean_of(values: Floats, groups: Any) -> Estimate:
    """Return a mean with its standard error, clustered by group."""
    beta, covariance = regress(np.ones((len(values), 1)), values, groups)
    return Estimate(float(beta[0]), float(np.sqrt(covariance[0, 0])))


def pooled(values: Floats, errors: Floats) -> tuple[Estimate, float, int]:
    """Return the mean weighted by precision, the chi-square of the scatter, its degrees."""
    weight = 1.0 / errors**2
    mean = float((weight * values).sum() / weight.sum())
    scatter = float((weight * (values - mean) ** 2).sum())
    return Estimate(mean, float(weight.sum() ** -0.5)), scatter, len(values) - 1


def mean_by_cluster(weight: Floats, value: Floats) -> tuple[float, float]:
    """Return the weighted mean of clusters, and its standard error."""
    mean = float(np.average(value, weights=weight))
    apart = weight * (value - mean)
    few = len(value) / max(len(value) - 1, 1)
    return mean, float(np.sqrt(few * np.sum(apart**2)) / weight.sum())


def slope_by_cluster(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted slope over clusters, and its standard error."""
    x = x - np.average(x, weights=weight)
    level = np.average(y, weights=weight)
    slope = float(np.sum(weight * x * y) / np.sum(weight * x**2))
    apart = y - level - slope * x
    few = len(x) / (len(x) - 2)
    error = np.sqrt(few * np.sum((weight * x * apart) ** 2)) / np.sum(weight * x**2)
    return slope, float(error)


def first_options(spreads: Spreads, width: int, *, bounded: bool) -> Spreads:
    """Return the decisions with their first options only.

    Parameters
    ----------
    spreads
        The decisions.
    width
        How many options stay.
    bounded
        Whether the others are known to be worse, and choices among them to be outside; else those
        choices are left out, and nothing is known of other options.
    """
    kept = spreads if bounded else spreads.take(spreads.chosen < width)
    counts = np.minimum(kept.counts, width)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(kept.offsets[:-1] - offsets[:-1], counts) + np.arange(offsets[-1])
    return Spreads.from_arrays(
        offsets,
        kept.values[rows],
        np.where(kept.chosen < width, kept.chosen, -1),
        groups=kept.groups,
        weights=kept.weights,
        rating=kept.rating,
        unlisted=kept.counts - counts if bounded else None,
    )
