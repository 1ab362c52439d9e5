"""Charts of a review: groups beside equals, and the level through time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.report.charts import INK, PALETTE

if TYPE_CHECKING:
    import altair as alt

_MANY_YEARS = 4.0
_FEW_MONTHS = 0.5
"""Years, from and up to which the axis of time shows years alone, or days too."""
_FEW_DAYS = 10.0
"""Up to so many days, ticks stand at whole ones."""


def gaps_chart(groups: pl.DataFrame) -> alt.TopLevelMixin:
    """Return how far above or below equals each group was played: `group`, `gap`, `gap_low` …"""
    import altair as alt

    order = groups["group"].to_list()
    ends = [
        value
        for name in ("gap", "gap_low", "gap_high")
        for value in groups[name].to_list()
        if value is not None
    ]
    reach = min(max([abs(end) for end in ends] + [100.0]), 1000.0)
    frame = groups.with_columns(
        pl.col("gap_low").fill_null(-reach).clip(-reach, reach).alias("from"),
        pl.col("gap_high").fill_null(reach).clip(-reach, reach).alias("to"),
        pl.format("{} turns", pl.col("turns")).alias("label"),
        # A dot beyond the ends would stand outside of the plot: its bar tells enough.
        pl.when(pl.col("gap").abs() <= reach).then("gap").alias("dot"),
        pl.col("gap").clip(-0.9 * reach, 0.9 * reach).alias("text"),
    ).select("group", "dot", "text", "from", "to", "label")
    y = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelFontSize=14, labelLimit=220))
    scale = alt.Scale(domain=[-reach, reach])
    base = alt.Chart(frame)
    bars = base.mark_rule(strokeWidth=5, color=PALETTE[0], opacity=0.45).encode(
        y=y,
        x=alt.X("from:Q", scale=scale, title="Elo above equals", axis=alt.Axis(format="d")),
        x2="to:Q",
    )
    points = base.mark_point(size=110, color=PALETTE[0], opacity=1).encode(
        y=y, x=alt.X("dot:Q", scale=scale)
    )
    texts = base.mark_text(dy=-13, fontSize=12, color="#555555").encode(
        y=y, x=alt.X("text:Q", scale=scale), text="label:N"
    )
    zero = alt.Chart(pl.DataFrame({"x": [0.0]})).mark_rule(color=INK, strokeDash=[4, 3])
    line = zero.encode(x=alt.X("x:Q", scale=scale))
    return alt.layer(line, bars, points, texts).properties(width=560, height=alt.Step(46))


def trend_chart(trend: pl.DataFrame) -> alt.TopLevelMixin:
    """Return the level through time with its band, one line a pool."""
    import altair as alt

    year = pl.col("time").floor()
    days = ((pl.col("time") - year) * 365.25).round().cast(pl.Int64)
    first = pl.date(year.cast(pl.Int32), 1, 1)
    shown = trend.with_columns(
        (first + pl.duration(days=days)).dt.to_string("%Y-%m-%d").alias("at")
    )
    base = alt.Chart(shown)
    times = trend["time"].to_list()
    years = max(times) - min(times)
    form = "%Y" if years > _MANY_YEARS else "%b %Y" if years > _FEW_MONTHS else "%-d %b %Y"
    ticks: Any = 5
    if 365.25 * years <= _FEW_DAYS:  # parts of a day would all read alike
        ticks = alt.TimeIntervalStep(interval="day", step=max(1, math.ceil(365.25 * years / 5)))
    x = alt.X("at:T", title=None, axis=alt.Axis(format=form, tickCount=ticks, labelOverlap=True))
    colour = alt.Color("pool:N", legend=None if trend["pool"].n_unique() == 1 else alt.Legend())
    band = base.mark_area(opacity=0.2).encode(
        x=x,
        y=alt.Y("low:Q", title="Elo", scale=alt.Scale(zero=False), axis=alt.Axis(format="d")),
        y2="high:Q",
        color=colour,
    )
    line = base.mark_line().encode(x=x, y=alt.Y("mean:Q"), color=colour)
    return alt.layer(band, line).properties(width=560, height=260)
