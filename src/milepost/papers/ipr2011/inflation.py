"""Have ratings inflated (2011 paper, section 7)? s_fit at a given Elo, period against period."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from milepost.choice import Spreads
from milepost.fit import fit_cohorts
from milepost.papers.charts import points
from milepost.papers.experiment import Finding, MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import (
    FEWEST,
    REFERENCE,
    EloScale,
    by_period,
    cohorts_of,
    elo_scale,
    milepost_decisions,
)
from milepost.papers.ipr2011.rater import Rater, rater_of
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, pooled

LEVELS = (2200.0, 2700.0)
"""The mileposts that periods are compared at: the 1970s have none below."""
_LEAST_CELLS = 6
_AHEAD = 30.0
"""Years: the span that a drift is told for."""


@experiment(
    "2011-inflation", paper="2011", title="Is s_fit at a given Elo the same in all periods?"
)
def inflation(folder: Folder) -> Outcome:
    """Compare play at equal Elo between periods, by s_fit and by all depths."""
    frame = milepost_decisions(folder)
    scale = elo_scale(cohorts_of(frame.filter(pl.col("period") == REFERENCE)))
    shared = frame.filter(pl.col("milepost").is_between(*LEVELS))
    periods = {p: cohorts_of(part) for p, part in by_period(shared).items()}
    by_s = drift_table(periods, scale).rename({"shift in Elo": "over", "se in Elo": "se of over"})
    rater = rater_of(folder)
    by_moves = moves_table(shared, rater)
    later = _later(folder, rater)
    findings = (
        s_finding(by_s),
        *drift_findings(by_moves, rater.name),
    )
    means = [period_means(by_s, "s_fit"), period_means(by_moves, "all depths")]
    means += [] if later is None else [period_means(later, "all depths")]
    shown = pl.concat(means)
    return Outcome(
        data=f"mileposts {LEVELS[0]:.0f} to {LEVELS[1]:.0f} of all periods, one sampling design",
        n=len(shared),
        findings=findings,
        tables={"By milepost, s_fit": by_s, "By milepost, all depths": by_moves, "Periods": shown},
        charts={
            "Play at a given Elo, by period": points(
                shown, "Year", "Elo over the rating", error="se", colour="measure", rule=0.0
            )
        },
        notes=(
            "over the rating: play of that Elo was better than the scale's own",
            (
                "a drift is a line through the cells of period and milepost, each milepost with a "
                "level of its own, so that only changes within a milepost count; errors are "
                "widened by the scatter about it"
            ),
            (
                "events of 2016-2019, where they were drawn, are shown but do not enter: other "
                "events, other pairings"
            ),
        ),
    )


def moves_table(frame: pl.DataFrame, rater: Rater) -> pl.DataFrame:
    """Return, for each period and milepost, the Elo by moves less the mean rating."""
    rows = []
    parts = frame.sort("period", "milepost").group_by("period", "milepost", maintain_order=True)
    for (period, level), part in parts:
        elo = rater.rate(part) if len(part) >= FEWEST else None
        if elo is None:
            continue
        mean = float(part["mover_elo"].to_numpy().mean())
        rows.append(
            (period, level, len(part), part["game_id"].n_unique(), elo.value - mean, elo.se)
        )
    names = ["period", "level", "n", "games", "over", "se of over"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _later(folder: Folder, rater: Rater) -> pl.DataFrame | None:
    """The events of 2016-2019, if turns of theirs were drawn."""
    if folder.drawn is None:
        return None
    try:
        frame = folder.decisions("events")
    except MissingDataError:
        return None
    milepost = (pl.col("mover_elo") / 100).round() * 100
    frame = frame.with_columns(milepost.alias("milepost"), pl.lit("2016-2019").alias("period"))
    return moves_table(frame.filter(pl.col("milepost").is_between(*LEVELS)), rater)


def drift_table(others: Mapping[str, Mapping[float, Spreads]], scale: EloScale) -> pl.DataFrame:
    """Return, for each period and milepost, ln s_fit less that of the reference's line."""
    rows = []
    for period, cohorts in sorted(others.items()):
        fits = fit_cohorts(cohorts, line=scale.fits.line)
        for level, fit in zip(fits.levels, fits.on_line, strict=True):
            shift = float(fit.theta[0]) - scale.ln_s(float(level))
            se = float(np.sqrt(fit.working_covariance[0, 0]))
            slope = abs(scale.line[1])
            rows.append(
                {
                    "period": period,
                    "level": float(level),
                    "n": fit.n,
                    "games": fit.n_groups,
                    "s_fit": fit.s,
                    "shift of ln s": shift,
                    "se": se,
                    "shift in Elo": -shift / slope,
                    "se in Elo": se / slope,
                }
            )
    return pl.DataFrame(rows)


def drift_of(table: pl.DataFrame) -> Estimate | None:
    """Return by how much ratings inflated in thirty years: play at a given Elo, the sign turned.

    From the columns period, level, over and its error; None with too few cells.
    """
    if len(table) < _LEAST_CELLS or table["period"].n_unique() < 2:
        return None
    years = np.array([_year(str(each)) for each in table["period"]])
    levels = table["level"].to_numpy()
    design = np.stack([years - years.mean(), *(levels == each for each in np.unique(levels))], 1)
    weight = 1.0 / table["se of over"].to_numpy() ** 2
    design = design.astype(np.float64)
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    over = table["over"].to_numpy()
    beta = bread @ (design.T @ (weight * over))
    degrees = len(over) - design.shape[1]
    scatter = float((weight * (over - design @ beta) ** 2).sum()) / max(degrees, 1)
    error = float(np.sqrt(bread[0, 0] * max(scatter, 1.0)))
    return Estimate(-_AHEAD * float(beta[0]), _AHEAD * error)


def s_finding(table: pl.DataFrame) -> Finding:
    """Judge whether s_fit at a given Elo is the same in all periods."""
    drift, n = drift_of(table), int(table["n"].sum())
    if drift is None:
        return too_little("2011-same-s", f"{len(table)} cells of period and milepost", n=n)
    return judge("2011-same-s", drift, f"{drift.show(0, sign=True)} Elo in 30 years", n=n)


def drift_findings(table: pl.DataFrame, measure: str) -> tuple[Finding, Finding]:
    """Judge inflation and deflation by the sharper measure."""
    keys = ("2011-inflation", "2011-deflation")
    drift, n = drift_of(table), int(table["n"].sum())
    if drift is None:
        few = [too_little(key, f"{len(table)} cells", n=n) for key in keys]
        return few[0], few[1]
    means = ", ".join(
        f"{row['period']} {row['Elo over the rating']:+.0f} ± {row['se']:.0f}"
        for row in period_means(table, "").iter_rows(named=True)
    )
    found = f"{drift.show(0, sign=True)} Elo in 30 years by {measure}; play over rating: {means}"
    seen = f"{found}; {drift.detectable:.0f} would be seen with a power of 80 %"
    return (
        judge(keys[0], drift, seen, n=n),
        judge(keys[1], Estimate(-drift.value, drift.se), seen, n=n),
    )


def period_means(table: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the mean of each period over its mileposts, weighted by precision."""
    rows = []
    for (period,), part in table.group_by("period", maintain_order=True):
        mean = pooled(part["over"].to_numpy(), part["se of over"].to_numpy())[0]
        year = _year(str(period))
        rows.append((period, measure, year, mean.value, mean.se, int(part["n"].sum())))
    names = ["period", "measure", "Year", "Elo over the rating", "se", "n"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _year(period: str) -> float:
    first, last = (int(each) for each in period.split("-"))
    return (first + last) / 2
