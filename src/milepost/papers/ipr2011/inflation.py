"""Have ratings inflated (2011 paper, section 7)? s_fit at a given Elo, period against period."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from milepost.choice import Spreads
from milepost.fit import fit_cohorts
from milepost.papers.charts import points
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    Outcome,
    Verdict,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import (
    REFERENCE,
    EloScale,
    by_period,
    cohorts_of,
    elo_scale,
    milepost_decisions,
)
from milepost.papers.statistics import Estimate

MEANINGFUL_DRIFT = 100.0
"""Elo over thirty years: a test that cannot see so much says nothing about inflation."""


@experiment(
    "2011-inflation", paper="2011", title="Is s_fit at a given Elo the same in all periods?"
)
def inflation(folder: Folder) -> Outcome:
    """Compare s_fit at equal Elo between periods: no inflation, no deflation."""
    frame = milepost_decisions(folder)
    scale = elo_scale(cohorts_of(frame.filter(pl.col("period") == REFERENCE)))
    others = {p: cohorts_of(part) for p, part in by_period(frame).items() if p != REFERENCE}
    table = drift_table(others, scale)
    finding, periods = drift_finding(table, scale)
    shown = periods.select(
        pl.col("period"), pl.col("year").alias("Year"), pl.col("elo").alias("Elo over the rating"),
        "se",
    )  # fmt: skip
    return Outcome(
        data=f"periods before {REFERENCE}, each milepost against the line of {REFERENCE}",
        n=int(table["n"].sum()),
        findings=(finding,),
        tables={"By milepost": table, "By period": periods},
        charts={
            "Play at a given Elo, by period": points(
                shown, "Year", "Elo over the rating", error="se", rule=0.0
            )
        },
        notes=(
            "over the rating: play of that Elo was better than in the reference",
            f"{len(table)} cohorts; errors clustered over few whole games are rough",
        ),
    )


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


def drift_finding(table: pl.DataFrame, scale: EloScale) -> tuple[Finding, pl.DataFrame]:
    """Judge whether play at a given Elo drifted with the years; return the periods' means too."""
    claim = "no rating inflation: s_fit at a given Elo is the same in all periods (section 7)"
    periods = []
    for (period,), part in table.group_by("period", maintain_order=True):
        x = np.array([1.0, float(part["level"].mean()) - scale.middle])  # type: ignore[arg-type]
        # Cohorts weigh alike: an error clustered over 18 games is itself hardly known.
        own = float((part["se in Elo"] ** 2).sum()) / len(part) ** 2
        line = float(x @ scale.covariance @ x) / scale.line[1] ** 2
        first, last = (int(each) for each in str(period).split("-"))
        periods.append(
            {
                "period": period,
                "year": (first + last) / 2,
                "elo": float(part["shift in Elo"].mean()),  # type: ignore[arg-type]
                "se": float(np.sqrt(own)),
                "line_se": float(np.sqrt(line)),
                "cohorts": len(part),
            }
        )
    means = pl.DataFrame(periods)
    first, last = (int(each) for each in REFERENCE.split("-"))
    # A trend through the reference: the error of its line is common to all periods.
    years = (first + last) / 2 - means["year"].to_numpy()
    weight = 1.0 / means["se"].to_numpy() ** 2
    top = float((weight * years * means["elo"].to_numpy()).sum())
    bottom = float((weight * years**2).sum())
    common = float((weight * years).sum()) * float(means["line_se"].max()) / bottom  # type: ignore[arg-type]
    thirty = Estimate(30 * top / bottom, 30 * float(np.sqrt(1 / bottom + common**2)))
    each = ", ".join(
        f"{row['period']} {row['elo']:+.0f} ± {np.hypot(row['se'], row['line_se']):.0f}"
        for row in periods
    )
    found = (
        f"play at a given Elo against {REFERENCE}: {each} Elo; so ratings inflated by "
        f"{thirty.value:+.0f} ± {thirty.se:.0f} Elo in 30 years (p {thirty.p:.2f}); the test sees "
        f"{thirty.detectable:.0f} Elo with a power of 80 %"
    )
    verdict: Verdict = HOLDS
    if abs(thirty.z) > 2:
        verdict = FAILS
    elif thirty.detectable > MEANINGFUL_DRIFT:
        verdict = TOO_LITTLE
    return Finding(claim, found, verdict), means
