"""What the experiments on the 2011 paper share: its decisions, and a scale of Elo.

The mileposts are Regan & Haworth's: games between two players of about the same round Elo, in
periods. The period 2011-2014 is our reference: the line of c and the relation of s to Elo come from
it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milepost.choice import Projection, Spreads
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import RANKS
from milepost.choice.spreads import Floats
from milepost.fit import CohortFits, FitResult, fit_cohorts
from milepost.fit.agent import fit_model
from milepost.papers.experiment import MissingDataError
from milepost.papers.folder import Folder
from milepost.papers.statistics import Estimate

REFERENCE = "2011-2014"
"""The period that lines are fitted on."""
EXTRA = ("phase", "score", "move_number", "year")
FEWEST = 100
"""Cohorts with fewer turns are not fitted."""
_ROUNDS = 6
_SETTLED = 0.5
"""Elo: c on its line and s on its own agree."""


def milepost_decisions(
    folder: Folder, periods: Sequence[str] | None = None, **options: Any
) -> pl.DataFrame:
    """Return the decisions of the mileposts with `period` and `milepost`.

    Parameters
    ----------
    folder
        The data.
    periods
        The periods wanted [default: all that are there].
    **options
        See `milepost.analysis.spreads.build.make_spreads`.

    Raises
    ------
    MissingDataError
        If there are none.
    """
    wanted = periods
    if wanted is None:
        base = folder.path("mileposts")
        wanted = [name for name in folder.names("mileposts") if (base / name).is_dir()]
    found = []
    for period in wanted:
        table = folder.decisions("mileposts", period, extra=EXTRA, **options)
        milepost = (pl.col("mover_elo") / 100).round() * 100
        table = table.filter(pl.col("mover_elo").is_not_null())
        found.append(table.with_columns(pl.lit(period).alias("period"), milepost.alias("milepost")))
    if not found or not sum(map(len, found)):
        raise MissingDataError("the store holds no evaluations of the mileposts' turns")
    return pl.concat(found)


def reference_decisions(folder: Folder, **options: Any) -> pl.DataFrame:
    """Return the decisions of the reference period."""
    return milepost_decisions(folder, [REFERENCE], **options)


def cohorts_of(frame: pl.DataFrame, *, fewest: int = FEWEST) -> dict[float, Spreads]:
    """Return the decisions of each milepost that has enough of them.

    Raises
    ------
    MissingDataError
        If no milepost has.
    """
    found = {
        float(str(key[0])): Spreads.from_table(part)
        for key, part in frame.sort("milepost").group_by("milepost", maintain_order=True)
        if len(part) >= fewest
    }
    if not found:
        raise MissingDataError(f"no milepost has {fewest} evaluated turns")
    return found


def by_period(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the decisions of each period."""
    return {str(key[0]): part for key, part in frame.group_by("period", maintain_order=True)}


def chance_qfit(projection: Projection) -> float:
    """Return what Qfit is on average if the model is right: the variance of the frequencies."""
    return float(10_000 * (projection.frequencies_sd[:RANKS] ** 2).sum() / RANKS)


def share_off(table: pl.DataFrame) -> Estimate:
    """Return by how many per cent projected differences exceed actual ones, over all turns.

    From the columns n, ad_projected, ad_actual, ad_sd. Sums, not means of ratios: those favour
    cohorts whose actual difference happens to be large.
    """
    n = table["n"].to_numpy()
    actual = float(n @ table["ad_actual"].to_numpy())
    projected = float(n @ table["ad_projected"].to_numpy())
    error = float(np.sqrt(((n * table["ad_sd"].to_numpy()) ** 2).sum()))
    return Estimate(100 * (projected / actual - 1), 100 * error / actual)


@dataclass(frozen=True, eq=False)
class EloScale:
    """From s to Elo: c on a line of Elo, and ln s on a line of Elo, both of the reference."""

    fits: CohortFits
    """The fits of the reference's mileposts."""
    model: ChoiceModel
    """The model."""
    line: tuple[float, float]
    """ln s = line[0] + line[1] × (Elo - middle)."""
    covariance: Floats
    """Its covariance."""
    middle: float
    """The middle of the mileposts."""

    def c(self, elo: float) -> float:
        """Return c on its line, held within the mileposts: beyond them the line is a guess."""
        held = float(np.clip(elo, self.fits.levels[0], self.fits.levels[-1]))
        return self.fits.line[0] + self.fits.line[1] * held

    def ln_s(self, elo: float) -> float:
        """Return ln s on its line."""
        return self.line[0] + self.line[1] * (elo - self.middle)

    def elo(self, ln_s: float) -> float:
        """Return the Elo of ln s."""
        return self.middle + (ln_s - self.line[0]) / self.line[1]

    def rate(self, spreads: Spreads) -> tuple[Estimate, FitResult]:
        """Return the Elo of some decisions: s fitted with c on its line at that same Elo.

        The error holds that of s and that of the line.
        """
        elo = self.middle
        for _ in range(_ROUNDS):
            fit = fit_model(spreads, self.model, fixed={"c": self.c(elo)})
            new = self.elo(float(fit.theta[0]))
            settled = abs(new - elo) < _SETTLED
            elo = new
            if settled:
                break
        x = np.array([1.0, elo - self.middle])
        variance = float(fit.working_covariance[0, 0]) + float(x @ self.covariance @ x)
        return Estimate(elo, float(np.sqrt(variance)) / abs(self.line[1])), fit


def elo_scale(cohorts: dict[float, Spreads], model: ChoiceModel | None = None) -> EloScale:
    """Fit the scale of Elo to the mileposts of the reference."""
    fits = fit_cohorts(cohorts, model)
    values = np.array([float(each.theta[0]) for each in fits.on_line])
    errors = np.array([float(np.sqrt(each.working_covariance[0, 0])) for each in fits.on_line])
    middle = float(np.mean(fits.levels))
    design = np.stack([np.ones(len(values)), fits.levels - middle], axis=1)
    weight = 1.0 / errors**2
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    beta = bread @ (design.T @ (weight * values))
    scatter = float((weight * (values - design @ beta) ** 2).sum()) / max(len(values) - 2, 1)
    line = (float(beta[0]), float(beta[1]))
    covariance = np.asarray(bread * max(scatter, 1.0), dtype=np.float64)
    return EloScale(fits, model or ChoiceModel(), line, covariance, middle)
