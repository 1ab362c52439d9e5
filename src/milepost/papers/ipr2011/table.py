"""The 2011 paper's main table (section 6): s and c by milepost, projections, quality of fit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from scipy import stats

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
    chance_qfit,
    cohorts_of,
    elo_scale,
    milepost_decisions,
    share_off,
)
from milepost.papers.statistics import Estimate, pooled

_LEAST_LEVELS = 4


@experiment(
    "2011-mileposts", paper="2011", title="s, c, c_fit, s_fit, projections and Qfit by milepost"
)
def mileposts(folder: Folder) -> Outcome:
    """The table of its section 6 for every period, with c on the line of the reference."""
    frame = milepost_decisions(folder)
    reference = cohorts_of(frame.filter(pl.col("period") == REFERENCE))
    scale = elo_scale(reference)
    table = milepost_table(
        {p: cohorts_of(part) for p, part in by_period(frame).items() if p != REFERENCE}, scale
    )
    main = table.filter(pl.col("period") == REFERENCE)
    shown = main.select(pl.col("level").alias("Elo"), "s", "se_s", "c", "se_c", "s_fit", "se_s_fit")
    pairs = pl.concat(
        [
            table.select(
                pl.lit(kind).alias("statistic"),
                pl.col(f"{name}_projected").alias("projected"),
                pl.col(f"{name}_actual").alias("actual"),
            )
            for name, kind in (("mm", "match rate"), ("ad", "scaled difference"))
        ]
    )
    return Outcome(
        data=f"all periods; lines fitted on {REFERENCE}; repetitions, book, shared positions and "
        "positions over three pawns left out",
        n=len(frame),
        findings=(
            trend_finding(main),
            *band_finding(main, scale),
            match_finding(table),
            difference_finding(table),
            qfit_finding(table),
        ),
        tables={"Mileposts": table},
        charts={
            "s by Elo": points(shown, "Elo", "s", error="se_s"),
            "c by Elo": points(shown, "Elo", "c", error="se_c"),
            "s_fit by Elo": points(shown, "Elo", "s_fit", error="se_s_fit"),
            "Projected against actual match rate": points(
                pairs.filter(pl.col("statistic") == "match rate"), "actual", "projected"
            ),
            "Projected against actual scaled difference": points(
                pairs.filter(pl.col("statistic") == "scaled difference"), "actual", "projected"
            ),
        },
        notes=("values of s belong to this engine set-up; the paper's are of Rybka 3 to depth 13",),
    )


def milepost_table(others: Mapping[str, Mapping[float, Spreads]], scale: EloScale) -> pl.DataFrame:
    """Return the table of all periods: the reference's own, the others with c on its line."""
    found = [(REFERENCE, scale.fits)]
    found += [(p, fit_cohorts(each, line=scale.fits.line)) for p, each in others.items()]
    rows = []
    for period, fits in sorted(found, key=lambda each: each[0]):
        sds = pl.DataFrame(
            {
                "period": [period] * len(fits.levels),
                "games": [each.n_groups for each in fits.on_line],
                "mm_sd": [each.projection.mm_sd for each in fits.on_line],
                "ad_sd": [each.projection.ad_sd for each in fits.on_line],
                "qfit_chance": [chance_qfit(each.projection) for each in fits.on_line],
                "percentile_p": [each.percentiles.p_value for each in fits.on_line],
            }
        )
        rows.append(pl.concat([sds.select("period"), fits.to_frame(), sds.drop("period")],
                              how="horizontal"))  # fmt: skip
    return pl.concat(rows)


def trend_finding(main: pl.DataFrame) -> Finding:
    """Judge whether s falls as Elo rises."""
    claim = "s falls as Elo rises; with c on its line s_fit falls smoothly (Table 2)"
    if len(main) < _LEAST_LEVELS:
        return Finding(claim, f"{len(main)} mileposts", TOO_LITTLE)
    slopes = {n: _slope(main, n, f"se_{n}", log=True) for n in ("s", "s_fit")}
    free, fixed = slopes["s"], slopes["s_fit"]
    rank = float(stats.spearmanr(main["level"], main["s_fit"]).statistic)
    falls = fixed.z < -3 and free.z < -2
    return Finding(
        claim,
        f"ln s changes by {_per(free)} in 100 Elo free, {_per(fixed)} on the line; Spearman's "
        f"correlation of s_fit with Elo {rank:.2f} over {len(main)} mileposts",
        HOLDS if falls else (TOO_LITTLE if fixed.z < -1 else FAILS),
    )


def band_finding(main: pl.DataFrame, scale: EloScale) -> tuple[Finding, Finding]:
    """Judge whether c stays in a band so that a line serves, and whether it rises."""
    band = "c stays in a narrow band at all mileposts, so that a line serves (c_fit)"
    rise = "c rises slightly with Elo"
    if len(main) < _LEAST_LEVELS:
        few = f"{len(main)} mileposts"
        return Finding(band, few, TOO_LITTLE), Finding(rise, few, TOO_LITTLE)
    slope = Estimate(scale.fits.line[1], float(np.sqrt(scale.fits.line_covariance[1, 1])))
    line = scale.fits.line[0] + scale.fits.line[1] * main["level"].to_numpy()
    residual = (main["c"].to_numpy() - line) / main["se_c"].to_numpy()
    chi, degrees = float((residual**2).sum()), len(main) - 2
    p = float(stats.chi2.sf(chi, degrees))
    low, high = main["c"].to_numpy().min(), main["c"].to_numpy().max()
    about = (
        f"c from {low:.3f} to {high:.3f} (the paper's own fits: 0.43 to 0.545), standard errors "
        f"{main['se_c'].to_numpy().mean():.3f}; scatter about the line chi-square {chi:.1f} on "
        f"{degrees}, p {p:.2f}"
    )
    slopes = (
        f"c = {scale.fits.line[0]:.3f} + {100 * slope.value:.4f} ± {100 * slope.se:.4f} for each "
        f"100 Elo, z {slope.z:.1f}; a slope of {100 * slope.detectable:.4f} would be seen with a "
        "power of 80 %"
    )
    risen: Verdict = HOLDS if slope.z > 2 else (FAILS if slope.z < -2 else TOO_LITTLE)
    return Finding(band, about, HOLDS if p > 0.01 else FAILS), Finding(rise, slopes, risen)


def match_finding(table: pl.DataFrame) -> Finding:
    """Judge projected against actual match rates."""
    z = ((table["mm_actual"] - table["mm_projected"]) / table["mm_sd"]).to_numpy()
    off = 100 * (table["mm_projected"] - table["mm_actual"]).to_numpy()
    mean = pooled(off, 100 * table["mm_sd"].to_numpy())[0]
    near = bool(np.abs(off).max() <= 3.0 and (np.abs(z) < 3).all())
    return Finding(
        "projected match rates come close to the actual ones",
        f"off by {mean.show(2, sign=True)} points on average, {np.abs(off).max():.1f} at most, "
        f"largest |z| {np.abs(z).max():.1f} over {len(z)} cohorts",
        HOLDS if near and abs(mean.z) < 3 else FAILS,
    )


def difference_finding(table: pl.DataFrame) -> Finding:
    """Judge projected against actual scaled differences."""
    share = (table["ad_projected"] / table["ad_actual"] - 1).to_numpy()
    mean = share_off(table)
    errors = (table["ad_sd"] / table["ad_actual"]).to_numpy()
    near = abs(mean.z) < 3 and bool((np.abs(share) < 3 * errors).all())
    return Finding(
        "projected average differences come close to the actual ones",
        f"{mean.show(1, sign=True)} % over all turns, {100 * np.abs(share).max():.0f} % at most",
        HOLDS if near else FAILS,
    )


def qfit_finding(table: pl.DataFrame) -> Finding:
    """Judge Qfit against what chance alone makes of it, beside the test of the percentiles."""
    q, chance = table["qfit"].to_numpy(), table["qfit_chance"].to_numpy()
    p = table["percentile_p"].to_numpy()
    low = int((p < 0.05).sum())
    return Finding(
        "the fits are good: small Qfit at every milepost",
        f"Qfit {q.min():.2f} to {q.max():.2f}, mean {q.mean():.3f}, where a model without fault "
        f"would have {chance.mean():.3f} by chance; the sharper chi-square of the percentiles "
        f"refuses {low} of {len(p)} fits at 5 %",
        HOLDS if q.mean() < 1.5 * chance.mean() else FAILS,
    )


def _slope(main: pl.DataFrame, name: str, error: str, *, log: bool) -> Estimate:
    """The weighted slope of a column by Elo, a hundred points at a time."""
    y, se = main[name].to_numpy(), main[error].to_numpy()
    if log:
        y, se = np.log(y), se / y
    x = (main["level"].to_numpy() - main["level"].to_numpy().mean()) / 100
    weight = 1.0 / se**2
    x = x - (weight * x).sum() / weight.sum()
    bottom = float((weight * x**2).sum())
    slope = float((weight * x * y).sum()) / bottom
    left = y - (weight * y).sum() / weight.sum() - slope * x
    scatter = max(1.0, float((weight * left**2).sum()) / max(len(x) - 2, 1))
    return Estimate(slope, float(np.sqrt(scatter / bottom)))


def _per(slope: Estimate) -> str:
    return f"{slope.value:+.3f} ± {slope.se:.3f}"
