"""The 2007 paper on draws: Spassky's and Fischer's margins; draws with time and with skill."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from milepost.history import TTTD, History
from milepost.history.numerics.gaussians import below
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    MissingDataError,
    Outcome,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide, too_little
from milepost.papers.statistics import Estimate, slope_by_cluster
from milepost.papers.ttt2007.data import (
    ABOUT,
    THIN_BEFORE,
    games_of,
    history_of,
    need_players,
    verdict_of,
)
from milepost.report.charts import legend_below, year_axis
from milepost.report.history.curves import curve_points, curves_chart

_SPASSKY, _FISCHER = "Spassky, Boris V", "Fischer, Robert James"
_CROWNED = 1972
"""Fischer's last year before his long absence."""
_DRAWISH = 1975
"""From this year on, the paper says, Spassky drew ever more."""
_TOP = 50
"""How many of the best of each year make up the top, for a like selection in all years."""
_FEW = 10
"""With fewer players there is no correlation worth telling."""
_EVEN = 100.0
"""Points that two players may be apart to be called equal."""


@experiment("2007-margins", paper="2007", title="The draw margins of Spassky and Fischer")
def run_margins(folder: Folder) -> Outcome:
    """Compare the two players' margins, and see how each moves."""
    history = history_of(folder, "1850-2006", "ttt-d")
    need_players(history, _SPASSKY, _FISCHER)
    points = curve_points(history, [_SPASSKY, _FISCHER], last=1992)
    rows = points.filter(pl.col("games") > 0)
    at = {
        player: {r["time"]: (r["margin_mean"], r["margin_sd"]) for r in part.iter_rows(named=True)}
        for (player,), part in rows.group_by("player", maintain_order=True)
    }
    both = sorted(set(at[_SPASSKY]) & set(at[_FISCHER]))
    if not both:
        raise MissingDataError("the table holds no year with games of both Spassky and Fischer")
    year = 1972.0 if 1972.0 in both else both[-1]
    over = _above(at[_SPASSKY][year], at[_FISCHER][year])
    assert isinstance(history.model, TTTD)
    drift = history.model.margin_tau
    spassky = _change(at[_SPASSKY], drift)
    fischer = _change({t: m for t, m in at[_FISCHER].items() if t <= _CROWNED}, drift)
    plain = curve_points(history_of(folder, "1850-2006", "ttt"), [_SPASSKY, _FISCHER], last=1992)
    findings = (
        decide(
            "2007-spassky",
            f"{year:.0f}: {_said(at[_SPASSKY][year])} against {_said(at[_FISCHER][year])}; "
            f"probability {over:.3f}",
            verdict_of(over),
        ),
        decide(
            "2007-fischer-margin",
            f"{fischer['said']}: change {fischer['change']:.0f} ± {fischer['error']:.0f} at most",
            verdict_of(_below(fischer)),
            Estimate(fischer["change"], fischer["error"]),
        ),
        decide(
            "2007-spassky-rises",
            f"{spassky['said']}: change {spassky['change']:.0f} ± {spassky['error']:.0f} at most",
            verdict_of(1.0 - _below(spassky)),
            Estimate(spassky["change"], spassky["error"]),
        ),
        _fixed_margin_finding(points, plain),
    )
    return Outcome(
        data=ABOUT,
        n=int(rows["games"].sum()),
        unit="games of the two",
        findings=findings,
        tables={"Margins by year": rows.drop("games").hstack([rows["games"]])},
        charts={
            "Spassky and Fischer": curves_chart(
                points, beside=plain, title="TTT-D (solid, dashed) and TTT (dotted)"
            )
        },
        notes=(
            (
                "Margins begin at N(300, 100²) and drift by 10 points a year: numbers of ours, "
                "for the paper does not print its own. A slower or faster drift would bend "
                "these curves more or less."
            ),
            (
                "A change's error is told as a bound: that of two independent years, or of the "
                "drift alone if that is less; the two years are not independent, so the true "
                "one is smaller."
            ),
        ),
    )


def _fixed_margin_finding(points: pl.DataFrame, plain: pl.DataFrame) -> Finding:
    """Judge whether a fixed margin makes Spassky stronger in his drawish years."""
    late = (pl.col("player") == _SPASSKY) & (pl.col("time") >= _DRAWISH) & (pl.col("games") > 0)
    both = plain.filter(late).join(points.filter(late), on="time", suffix="_d")
    if not len(both):
        return too_little("2007-spassky-skill", f"no games of his since {_DRAWISH}", unit="years")
    gap = float((both["mean"] - both["mean_d"]).to_numpy().mean())
    error = max(float(both[name].to_numpy().mean()) for name in ("sd", "sd_d"))
    return decide(
        "2007-spassky-skill",
        f"{gap:+.0f} points over {len(both)} years since {_DRAWISH}; mean error {error:.0f}",
        HOLDS if gap > error else (FAILS if gap < 0 else TOO_LITTLE),
        Estimate(gap, error),
    )


@experiment("2007-draws", paper="2007", title="Draws with time and with skill")
def run_draws(folder: Folder) -> Outcome:
    """See whether draws rise with time, at like selection, and with skill."""
    history = history_of(folder, "1850-2006", "ttt-d")
    games = _with_skills(games_of(folder), history)
    plain = _by_year(games)
    top = _by_year(games.filter(pl.col("rank").list.max() <= _TOP))
    slope_all, slope_top = _slope(plain), _slope(top)
    recent = games.filter(
        pl.col("time") >= THIN_BEFORE, (pl.col("mean_1") - pl.col("mean_2")).abs() <= _EVEN
    )
    bins = _by_skill(recent)
    skill, skill_error = _clustered_slope(recent)
    link = _margin_and_skill(history)
    since = _slope(top.filter(pl.col("year") >= 1960))
    late = _slope(_by_year(games.filter(pl.col("time") >= THIN_BEFORE)))
    findings = (
        decide(
            "2007-draws-all",
            f"{_per_decade(slope_all)} in 1850-2006 (probability of a rise "
            f"{_chance(slope_all):.3f}); {_per_decade(late)} since {THIN_BEFORE}, when the table "
            "takes in ever weaker players",
            verdict_of(_chance(slope_all)),
            Estimate(100 * slope_all[0], 100 * slope_all[1]),
        ),
        decide(
            "2007-draws-top",
            f"{_per_decade(slope_top)} in 1850-2006; since 1960 {_per_decade(since)}",
            verdict_of(_chance(slope_top)),
            Estimate(100 * slope_top[0], 100 * slope_top[1]),
        ),
        decide(
            "2007-draws-skill",
            f"{recent.height:,} games since {THIN_BEFORE} of players at most {_EVEN:.0f} points "
            f"apart: {100 * bins['drawn'][0]:.0f} % in the lowest tenth by skill, "
            f"{100 * bins['drawn'][-1]:.0f} % in the highest; "
            f"{100 * skill:.2f} ± {100 * skill_error:.2f} % a hundred points",
            verdict_of(_chance((skill, skill_error))),
            Estimate(100 * skill, 100 * skill_error),
        ),
        decide(
            "2007-margin-skill",
            f"correlation of margin and skill in 2000: {link[0]:.2f} ± {link[1]:.2f} ({link[2]:,} "
            "players with 30 games or more in that year)",
            verdict_of(_chance(link[:2])) if link[2] >= _FEW else TOO_LITTLE,
            Estimate(link[0], link[1]),
        ),
    )
    return Outcome(
        data=ABOUT,
        n=games.height,
        unit="games",
        findings=findings,
        tables={"By year, the best": top, "By year, all": plain, "By skill": bins},
        charts={"Draws by year": _time_chart(plain, top), "Draws by skill": _skill_chart(bins)},
        notes=(
            "Slopes are weighted by games; their errors take years as clusters.",
            (
                f"Which games the claim is about is our reading: all, or those of the {_TOP} "
                "best of each year. Each has its verdict, over the whole span; the slope since "
                "1960 (a year picked by eye) decides neither."
            ),
            (
                "Skills are TTT-D's, smoothed: they have seen the games counted here. A draw "
                "says little about skill, but a margin learned from draws is bound to go with "
                "them."
            ),
        ),
    )


def _above(one: tuple[float, float], two: tuple[float, float]) -> float:
    return below((one[0] - two[0]) / math.hypot(one[1], two[1]))


def _said(belief: tuple[float, float]) -> str:
    return f"{belief[0]:.0f} ± {belief[1]:.0f}"


def _change(margins: dict[float, tuple[float, float]], drift: float) -> dict[str, Any]:
    """The change from the first year to the last, and a bound of its error.

    The error is at most that of two independent years, and at most what the drift allows before
    any game is seen.
    """
    first, last = min(margins), max(margins)
    return {
        "said": f"{_said(margins[first])} in {first:.0f}, {_said(margins[last])} in {last:.0f}",
        "change": margins[last][0] - margins[first][0],
        "error": min(
            math.hypot(margins[last][1], margins[first][1]),
            drift * math.sqrt(max(last - first, 1.0)),
        ),
    }


def _below(change: dict[str, Any]) -> float:
    return below(-change["change"] / change["error"])


def _chance(slope: tuple[float, float]) -> float:
    return below(slope[0] / slope[1])


def _per_decade(slope: tuple[float, float]) -> str:
    return f"{1000 * slope[0]:+.1f} ± {1000 * slope[1]:.1f} % a decade"


def _with_skills(games: pl.DataFrame, history: History) -> pl.DataFrame:
    """The games with both players' means and ranks in the year."""
    curves = history.curves.select(
        pl.col("time").cast(pl.Int32),
        "player",
        "mean",
        rank=pl.col("mean").rank("ordinal", descending=True).over("time"),
    )
    for side in ("1", "2"):
        here = curves.rename({"player": f"player_{side}", "mean": f"mean_{side}",
                              "rank": f"rank_{side}"})  # fmt: skip
        games = games.join(here, on=["time", f"player_{side}"], how="left", maintain_order="left")
    return games.with_columns(rank=pl.concat_list("rank_1", "rank_2"))


def _by_year(games: pl.DataFrame) -> pl.DataFrame:
    drawn = (pl.col("score") == 0.5).mean()
    table = games.group_by(year="time").agg(games=pl.len(), drawn=drawn).sort("year")
    return table.filter(pl.col("games") >= 10)


def _slope(years: pl.DataFrame) -> tuple[float, float]:
    """Draws by year: the weighted slope, with an error that takes each year as a cluster."""
    x, y, w = (years[name].cast(pl.Float64).to_numpy() for name in ("year", "drawn", "games"))
    if len(x) < 3:
        raise MissingDataError("there are fewer than three years with ten games")
    return slope_by_cluster(x, y, w)


def _by_skill(games: pl.DataFrame) -> pl.DataFrame:
    level = ((pl.col("mean_1") + pl.col("mean_2")) / 2).alias("skill")
    table = games.select(level, drawn=pl.col("score") == 0.5)
    tenth = (pl.col("skill").rank("ordinal") * 10 // (pl.len() + 1)).alias("tenth")
    bins = table.group_by(tenth).agg(
        skill=pl.col("skill").mean(), games=pl.len(), drawn=pl.col("drawn").mean()
    )
    error = (pl.col("drawn") * (1 - pl.col("drawn")) / pl.col("games")).sqrt()
    return bins.sort("tenth").with_columns(error=error)


def _clustered_slope(games: pl.DataFrame) -> tuple[float, float]:
    """Draws for each hundred points of skill, within years; years are the clusters."""
    table = games.select(
        "time",
        skill=(pl.col("mean_1") + pl.col("mean_2")) / 200,
        drawn=(pl.col("score") == 0.5).cast(pl.Float64),
    )
    if table["time"].n_unique() < 3:
        raise MissingDataError(f"there are fewer than three years since {THIN_BEFORE}")
    table = table.with_columns(
        x=pl.col("skill") - pl.col("skill").mean().over("time"),
        y=pl.col("drawn") - pl.col("drawn").mean().over("time"),
    )
    square = float((table["x"] ** 2).sum())
    slope = float((table["x"] * table["y"]).sum()) / square
    by_year = table.group_by("time").agg(
        s=(pl.col("x") * (pl.col("y") - slope * pl.col("x"))).sum()
    )
    few = by_year.height / (by_year.height - 1)
    return slope, math.sqrt(few * float((by_year["s"] ** 2).sum())) / square


def _margin_and_skill(history: History) -> tuple[float, float, int]:
    """The correlation in 2000, with the error of Fisher's transformation."""
    rows = history.curves.filter(pl.col("time") == 2000, pl.col("games") >= 30)
    if rows.height < _FEW:
        return math.nan, math.nan, rows.height
    link = float(np.corrcoef(rows["mean"].to_numpy(), rows["margin_mean"].to_numpy())[0, 1])
    return link, (1.0 - link**2) / math.sqrt(rows.height - 3), rows.height


def _time_chart(plain: pl.DataFrame, top: pl.DataFrame) -> Any:
    import altair as alt

    both = pl.concat([
        plain.with_columns(who=pl.lit("all games")),
        top.with_columns(who=pl.lit(f"both among the {_TOP} best of the year")),
    ])  # fmt: skip
    return (
        alt.Chart(both)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=year_axis(),
            y=alt.Y("drawn:Q", title="share of draws", axis=alt.Axis(format="%")),
            color=alt.Color("who:N", legend=legend_below()),
        )
        .properties(title="Draws by year (years with ten games or more)")
    )


def _skill_chart(bins: pl.DataFrame) -> Any:
    import altair as alt

    table = bins.with_columns(
        low=pl.col("drawn") - 1.96 * pl.col("error"), high=pl.col("drawn") + 1.96 * pl.col("error")
    )
    x = alt.X("skill:Q", title="mean skill of the two players", scale=alt.Scale(zero=False))
    y = alt.Y("drawn:Q", title="share of draws", axis=alt.Axis(format="%"))
    bars = alt.Chart(table).mark_rule(color="#0072B2").encode(x=x, y="low:Q", y2="high:Q")
    points = alt.Chart(table).mark_point(color="#0072B2").encode(x=x, y=y)
    return alt.layer(bars, points).properties(title=f"Equal players since {THIN_BEFORE}, by tenths")
