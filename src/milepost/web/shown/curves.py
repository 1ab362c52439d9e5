"""Charts that only pages have: the level of a pool, the error of a map, surprise by move."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.history.periods import clock_of
from milepost.report.charts import INK, PALETTE, year_axis

if TYPE_CHECKING:
    import altair as alt

_BLUE, _ORANGE = PALETTE[0], PALETTE[1]


def pool_chart(levels: pl.DataFrame, period: str | float, unit: str) -> alt.TopLevelMixin:
    """Return the level of a pool over time: median, middle half, and the ten best."""
    import altair as alt

    times = [clock_of(time, period) for time in levels["time"]]
    table = levels.drop("time").with_columns(pl.Series("time", times, dtype=pl.Float64))
    x = year_axis("time", (min(times), max(times)))
    y: Any = {"title": unit, "scale": alt.Scale(zero=False)}
    base = alt.Chart(table).encode(x=x)
    names = ["median of all", "mean of the ten best"]
    lines = [("median", names[0], [1, 0]), ("best", names[1], [6, 3])]
    if not table["best"].drop_nulls().len():
        names, lines = names[:1], lines[:1]
    shades = alt.Scale(domain=names, range=[_BLUE, _ORANGE][: len(names)])
    colour = alt.Color("what:N", title=None, legend=alt.Legend(orient="top"), scale=shades)
    return alt.layer(
        base.mark_area(opacity=0.18, color=_BLUE).encode(y=alt.Y("lower:Q", **y), y2="upper:Q"),
        *(
            base.transform_calculate(what=f"'{name}'")
            .mark_line(strokeDash=dash, point=len(table) < 3)
            .encode(y=alt.Y(f"{field}:Q", **y), color=colour)
            for field, name, dash in lines
        ),
    ).properties(width=640, height=300, title="Level of the pool")


def map_error_chart(ratings: Any, errors: Any, inside: tuple[float, float]) -> alt.TopLevelMixin:
    """Return the standard error that a calibration adds, by rating."""
    import altair as alt

    table = pl.DataFrame({"rating": ratings, "error": errors}).filter(
        pl.col("rating").is_between(1000, 3200)
    )
    low, high = inside
    edges = pl.DataFrame({"low": [low], "high": [high]})
    x = alt.X("rating:Q", title="Elo", scale=alt.Scale(zero=False, nice=False),
              axis=alt.Axis(format="d"))  # fmt: skip
    return alt.layer(
        alt.Chart(edges)
        .mark_rect(opacity=0.12, color=_BLUE)
        .encode(x=alt.X("low:Q", title="Elo"), x2="high:Q"),
        alt.Chart(table)
        .mark_line(color=INK)
        .encode(x=x, y=alt.Y("error:Q", title="standard error, Elo points")),
    ).properties(width=640, height=260, title="Error of the map; shaded: where it was fitted")


def error_chart(accuracy: pl.DataFrame) -> alt.TopLevelMixin:
    """Return the error of maps, and of what people use instead, by number of turns."""
    import altair as alt

    chart: alt.Chart = (
        alt.Chart(accuracy)
        .mark_line(point=True)
        .encode(
            x=alt.X("turns:O", title="turns", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rmse:Q", title="error on held-out games, Elo points"),
            color=alt.Color("map:N", title=None, legend=alt.Legend(orient="bottom", columns=3)),
            strokeDash=alt.StrokeDash("map:N", title=None, legend=None),
        )
        .properties(width=560, height=300, title="How far off a rating is, by number of turns")
    )
    return chart


def surprise_chart(turns: pl.DataFrame) -> alt.TopLevelMixin:
    """Return how surprising each move was to players of the mover's Elo, beside what is usual.

    Surprise is -log2 of the chance of the move, in bits; its mean over what equals would play is
    the entropy of the turn. A chart of information: a rare move need not be a bad one.
    """
    import altair as alt

    table = turns.select(
        (pl.col("ply") / 2 + 1).alias("move"),
        pl.col("colour"),
        (-pl.col("chance").clip(1e-6, 1).log(2)).alias("surprise"),
        (pl.col("entropy") / math.log(2)).alias("usual"),
        pl.col("san"),
    )
    names = ["white", "black"]
    x = alt.X("move:Q", title="move", scale=alt.Scale(nice=False), axis=alt.Axis(format="d"))
    y = alt.Y("surprise:Q", title="surprise, bits")
    base = alt.Chart(table)
    colour = alt.Color("colour:N", title=None, legend=alt.Legend(orient="top"),
                       scale=alt.Scale(domain=names, range=[_ORANGE, _BLUE]))  # fmt: skip
    shape = alt.Shape("colour:N", title=None,
                      scale=alt.Scale(domain=names, range=["circle", "square"]))  # fmt: skip
    return alt.layer(
        base.mark_bar(width=3, opacity=0.25, color=INK).encode(x=x, y=alt.Y("usual:Q", title="")),
        base.mark_point(opacity=1, size=40).encode(x=x, y=y, color=colour, shape=shape),
    ).properties(
        width=640,
        height=260,
        title=alt.TitleParams(
            "How surprising each move was",
            subtitle="points: the move played; bars: what is usual in that turn; one bit = one "
            "toss of a coin",
        ),
    )
