"""The 2011 paper's main table (section 7): s and c by milepost, projections, quality of fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice import Spreads
from milepost.fit import fit_cohorts
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.papers.charts import points
from milepost.papers.experiment import Finding, Outcome, experiment
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
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, mean_by_cluster, pooled

_LEAST_LEVELS = 4
_BAND = (0.430, 0.545)
"""The paper's band of c."""


@experiment(
    "2011-mileposts", paper="2011", title="s, c, c_fit, s_fit, projections and Qfit by milepost"
)
def mileposts(folder: Folder) -> Outcome:
    """The table of its section 7 for every period, with c on the line of the reference."""
    frame = milepost_decisions(folder)
    reference = cohorts_of(frame.filter(pl.col("period") == REFERENCE))
    scale = elo_scale(reference)
    table = milepost_table(
        {p: cohorts_of(part) for p, part in by_period(frame).items() if p != REFERENCE}, scale
    )
    main = table.filter(pl.col("period") == REFERENCE)
    both = beside_published(table)
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
        data=f"all periods; lines fitted on {REFERENCE}; repetitions, book and "
        "positions over three pawns left out",
        n=len(frame),
        findings=(
            trend_finding(main),
            *line_findings(main, scale),
            *projection_findings(table),
        ),
        tables={"Mileposts": table, "Beside the paper's table": both},
        charts=_published_charts(both)
        | {
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
    n = int(main["n"].sum())
    if len(main) < _LEAST_LEVELS:
        return too_little("2011-trend", f"{len(main)} mileposts", n=n)
    free, fixed = (_slope(main, name, f"se_{name}", log=True) for name in ("s", "s_fit"))
    rank = float(stats.spearmanr(main["level"], main["s_fit"]).statistic)
    return judge(
        "2011-trend",
        Estimate(-fixed.value, fixed.se),
        f"ln s changes by {fixed.show(3, sign=True)} in 100 Elo on the line of c, "
        f"{free.show(3, sign=True)} with c free; Spearman's correlation of s_fit with Elo "
        f"{rank:.2f} over {len(main)} mileposts",
        n=n,
    )


def line_findings(main: pl.DataFrame, scale: EloScale) -> tuple[Finding, Finding]:
    """Judge whether c stays in the paper's band, and whether it rises."""
    n = int(main["n"].sum())
    if len(main) < _LEAST_LEVELS:
        few = f"{len(main)} mileposts"
        return too_little("2011-band", few, n=n), too_little("2011-c-line", few, n=n)
    line, covariance = scale.fits.line, scale.fits.line_covariance
    ends = []
    for level in (main["level"].to_numpy().min(), main["level"].to_numpy().max()):
        x = np.array([1.0, level])
        ends.append(
            Estimate(line[0] + line[1] * level, float(np.sqrt(max(x @ covariance @ x, 0.0))))
        )
    middle = 0.5 * (_BAND[0] + _BAND[1])
    far = max(ends, key=lambda end: abs(end.value - middle))
    values = main["c"].to_numpy()
    residual = (values - line[0] - line[1] * main["level"].to_numpy()) / main["se_c"].to_numpy()
    chi, degrees = float((residual**2).sum()), len(main) - 2
    slope = Estimate(100 * line[1], 100 * float(np.sqrt(covariance[1, 1])))
    return (
        judge(
            "2011-band",
            far,
            f"on the line {ends[0].show()} at the lowest milepost, {ends[1].show()} at the "
            "highest; "
            f"single fits {values.min():.3f} to {values.max():.3f} with standard errors "
            f"{main['se_c'].to_numpy().mean():.3f}; scatter about the line chi-square {chi:.1f} on "
            f"{degrees}, p {stats.chi2.sf(chi, degrees):.2f}",
            n=n,
        ),
        judge("2011-c-line", slope, f"{slope.show(4, sign=True)} in 100 Elo", n=n),
    )


def projection_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge projected match rates and differences, and Qfit, over all cohorts."""
    n = int(table["n"].sum())
    off = 100 * (table["mm_projected"] - table["mm_actual"]).to_numpy()
    match = pooled(off, 100 * table["mm_sd"].to_numpy())[0]
    share = 100 * (table["ad_projected"] / table["ad_actual"] - 1).to_numpy()
    difference = share_off(table)
    q, chance = table["qfit"].to_numpy(), table["qfit_chance"].to_numpy()
    # Weighted by turns: the paper's sets have 5,000 and more, most of ours far fewer.
    weight = table["n"].to_numpy().astype(np.float64)
    over = Estimate(*mean_by_cluster(weight, q - chance))
    refused = int((table["percentile_p"].to_numpy() < 0.05).sum())
    return (
        judge(
            "2011-match", match,
            f"{match.show(2, sign=True)} points on average, {np.abs(off).max():.1f} at most over "
            f"{len(off)} cohorts", n=n,
        ),
        judge(
            "2011-difference", difference,
            f"{difference.show(1, sign=True)} % over all turns, {np.abs(share).max():.0f} % at "
            "most", n=n,
        ),
        judge(
            "2011-qfit", over,
            f"Qfit {q.min():.2f} to {q.max():.2f}, mean {q.mean():.3f}; by chance "
            f"{chance.mean():.3f}; weighted by turns {over.show(3, sign=True)} over chance. The "
            f"sharper chi-square of the percentiles refuses {refused} of {len(q)} fits at 5 %", n=n,
        ),
    )  # fmt: skip


def beside_published(table: pl.DataFrame) -> pl.DataFrame:
    """Return our fits and the paper's by period and milepost; ours without a row there too."""
    published = load_calibration("rybka3-d13").mileposts.rename({"milepost": "level"})
    names = ["s", "c", "c_fit", "s_fit", "mm_projected", "mm_actual", "ad_projected", "ad_actual",
             "qfit"]  # fmt: skip
    ours = table.select("period", "level", "n", "games", *names)
    paper = published.select("period", "level", *[pl.col(x).alias(f"{x}, 2011") for x in names])
    both = ours.join(paper, on=["period", "level"], how="full", coalesce=True)
    order = ["period", "level", "n", "games"]
    for name in names:
        order += [name, f"{name}, 2011"]
    return both.select(order).sort("period", "level", descending=[False, True])


def _published_charts(both: pl.DataFrame) -> dict[str, Any]:
    """The paper's table and ours as points over Elo: c with its line, s_fit, match rates."""
    charts = {}
    for title, name in (
        ("c by milepost", "c"), ("The line of c", "c_fit"), ("s_fit by milepost", "s_fit"),
        ("Actual match rate", "mm_actual"), ("Actual scaled difference", "ad_actual"),
        ("Qfit by milepost", "qfit"),
    ):  # fmt: skip
        parts = [
            both.select(
                pl.col("level").alias("Elo"), pl.col(column).alias(title),
                (pl.lit(who) + pl.col("period")).alias("Set"),
            ).drop_nulls()
            for who, column in (("2011 paper, ", f"{name}, 2011"), ("ours, ", name))
        ]  # fmt: skip
        charts[f"Beside the paper: {title}"] = points(
            pl.concat(parts), "Elo", title, colour="Set", line=name == "c_fit"
        )
    return charts


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
