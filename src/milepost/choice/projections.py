"""What an agent would do on given decisions, beside what was done.

Match rate and scaled error with the variance of the model (reference: `ipr_math`, section 6): the
choice of one decision is one draw, so the squared error of a decision is Σ p δ² - (Σ p δ)², not a
sum over options as if they were drawn one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.choice.evaluation.evaluate import Evaluated, Prepared, evaluate
from milepost.choice.evaluation.summaries import rank_frequencies
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError

RANKS = 50
"""Qfit is taken over the first so many options (Regan & Haworth 2011)."""
SLIPS = (1.0, 3.0)
"""A slip gives away more than so much, in the unit of the values (pawns)."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Projected and actual statistics of some decisions."""

    n: int
    """Number of decisions."""
    outside: int
    """How many of them were chosen outside the listed options."""
    mm_projected: float
    """Share of decisions in which the first-listed best option is chosen, as projected."""
    mm_actual: float
    """… as it was."""
    mm_sd: float
    """Standard deviation of the projected share under the model."""
    ad_projected: float
    """Mean scaled difference of the choice to the best option, as projected."""
    ad_actual: float
    """… as it was."""
    ad_sd: float
    """Its standard deviation under the model."""
    correlation: float
    """Correlation of `z_mm` and `z_ad` under the model: they are no independent evidence."""
    frequencies_projected: Floats
    """M_i, share of decisions in which the i-th option is chosen, for every i."""
    frequencies_actual: Floats
    """… as they were."""
    frequencies_sd: Floats
    """Their standard deviations under the model."""
    slips_projected: tuple[float, ...]
    """Share of choices that give away more than each of `SLIPS`."""
    slips_actual: tuple[float, ...]
    """… as they were."""
    slips_sd: tuple[float, ...]
    """Their standard deviations under the model."""
    log_likelihood: float
    """Weighted sum of the logarithms of the chosen options' probabilities."""
    entropy: float
    """Mean entropy of the choices, in nats."""

    @property
    def z_mm(self) -> float:
        """How many standard deviations more often than projected the best option was chosen."""
        return _z(self.mm_actual - self.mm_projected, self.mm_sd)

    @property
    def z_ad(self) -> float:
        """How many standard deviations smaller than projected the mean error was."""
        return _z(self.ad_projected - self.ad_actual, self.ad_sd)

    @property
    def qfit(self) -> float:
        """10,000 × the mean squared difference of projected and actual frequencies, i = 0…49."""
        difference = self.frequencies_projected - self.frequencies_actual
        return float(10_000 * (difference[:RANKS] ** 2).sum() / RANKS)

    def to_frame(self) -> pl.DataFrame:
        """Return a table: one row a statistic."""
        rows: list[tuple[str, float, float, float | None, float | None]] = [
            ("match rate", self.mm_projected, self.mm_actual, self.mm_sd, self.z_mm),
            ("scaled difference", self.ad_projected, self.ad_actual, self.ad_sd, self.z_ad),
        ]
        for limit, projected, actual, sd in zip(
            SLIPS, self.slips_projected, self.slips_actual, self.slips_sd, strict=True
        ):
            z = _z(actual - projected, sd)
            rows.append((f"slips over {limit:g}", projected, actual, sd, z))
        return pl.DataFrame(
            rows, schema=["statistic", "projected", "actual", "sd", "z"], orient="row"
        )

    def __str__(self) -> str:
        """Show the table."""
        lines = [f"{self.n:,} decisions", f"{'':18}{'projected':>10}{'actual':>9}{'sd':>9}{'z':>8}"]
        for name, projected, actual, sd, z in self.to_frame().iter_rows():
            lines.append(f"{name:18}{projected:10.4f}{actual:9.4f}{sd:9.4f}{z:8.2f}")
        lines.append(
            f"correlation of the first two z: {self.correlation:.2f}; Qfit {self.qfit:.3f}"
        )
        return "\n".join(lines)


def project(
    model: ChoiceModel, prepared: Prepared, theta: Floats, said: Evaluated | None = None
) -> Projection:
    """Return what a model projects for prepared decisions, with what was chosen.

    `said` may be what `evaluate` gave for these parameters, with probabilities.
    """
    spreads = prepared.spreads
    weights = spreads.weights
    total = weights.sum()
    if not total > 0:
        raise InputError("there are no decisions to project")
    share = weights / total
    if said is None or not len(said.probabilities):
        said = evaluate(model, prepared, theta, probabilities=True)
    p = said.probabilities
    at = spreads.offsets[:-1] + spreads.chosen
    hit = spreads.chosen == 0
    error_variance = np.maximum(said.error_squared - said.error**2, 0.0)
    mm_variance = (share**2 * said.first * (1 - said.first)).sum()
    ad_variance = (share**2 * error_variance).sum()
    # Both z rise with skill: cov(hit, -δ) of a decision is p_0 E δ, since the first has δ = 0.
    covariance = (share**2 * said.first * said.error).sum()
    scale = np.sqrt(mm_variance * ad_variance)
    longest = max(int(spreads.counts.max()), RANKS)
    frequencies, variances = np.zeros(longest), np.zeros(longest)
    rank_frequencies(spreads.offsets, p, share, frequencies, variances)
    actual = np.bincount(spreads.chosen, weights=share, minlength=longest).astype(np.float64)
    slips = [_slips(prepared, p, share, at, limit) for limit in SLIPS]
    return Projection(
        n=len(spreads),
        outside=spreads.outside,
        mm_projected=float(share @ said.first),
        mm_actual=float(share @ hit),
        mm_sd=float(np.sqrt(mm_variance)),
        ad_projected=float(share @ said.error),
        ad_actual=float(share @ prepared.delta[at]),
        ad_sd=float(np.sqrt(ad_variance)),
        correlation=float(covariance / scale) if scale > 0 else 0.0,
        frequencies_projected=frequencies,
        frequencies_actual=actual,
        frequencies_sd=np.sqrt(variances),
        slips_projected=tuple(each[0] for each in slips),
        slips_actual=tuple(each[1] for each in slips),
        slips_sd=tuple(each[2] for each in slips),
        log_likelihood=float(weights @ said.ln_chosen),
        entropy=float(share @ said.entropy),
    )


def _slips(
    prepared: Prepared, p: Floats, share: Floats, at: Ints, limit: float
) -> tuple[float, float, float]:
    over = prepared.loss > limit
    each = np.add.reduceat(np.where(over, p, 0.0), prepared.spreads.offsets[:-1])
    variance = (share**2 * each * (1 - each)).sum()
    return float(share @ each), float(share @ over[at]), float(np.sqrt(max(variance, 0.0)))


def _z(difference: float, sd: float) -> float:
    if sd > 0:
        return difference / sd
    return 0.0 if abs(difference) < 1e-12 else float(np.copysign(np.inf, difference))
