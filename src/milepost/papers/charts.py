"""Charts of the experiments: points with error bars, lines, bars. They draw; they compute nothing.

Every chart takes a table whose columns are named as the reader should see them.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.report.charts import PALETTE

WIDTH, HEIGHT = 520, 300


def points(
    table: pl.DataFrame,
    x: str,
    y: str,
    *,
    error: str | None = None,
    colour: str | None = None,
    line: bool = False,
    zero: bool = False,
    x_zero: bool = False,
    rule: float | None = None,
) -> Any:
    """Return points over a number, with bars of two standard errors to either side.

    Parameters
    ----------
    table
        One row a point.
    x, y
        The columns to draw.
    error
        The column with the standard error of `y`.
    colour
        The column that parts the points into groups.
    line
        Whether to join the points of a group.
    zero, x_zero
        Whether the axes begin at zero.
    rule
        Where to draw a level line.
    """
    import altair as alt

    shown = table.with_columns(pl.col(x).cast(pl.Float64), pl.col(y).cast(pl.Float64))
    parts: dict[str, Any] = {
        "x": alt.X(
            field(x),
            type="quantitative",
            title=x,
            scale=alt.Scale(zero=x_zero, padding=12),
            # Ratings and years are no amounts: no comma in them.
            axis=alt.Axis(format="d") if x in {"Elo", "Year"} else alt.Axis(),
        ),
    }
    if colour is not None:
        parts["color"] = alt.Color(
            field(colour), type="nominal", title=colour, sort=order_of(shown, colour)
        )
    height = alt.Y(field(y), type="quantitative", title=y, scale=alt.Scale(zero=zero))
    layers = []
    if rule is not None:
        level = alt.Chart(pl.DataFrame({"level": [rule]})).mark_rule(strokeDash=[4, 3])
        layers.append(level.encode(y=alt.Y("level:Q", title=y)))
    if error is not None:
        shown = shown.with_columns(
            (pl.col(y) - 2 * pl.col(error)).alias("low"),
            (pl.col(y) + 2 * pl.col(error)).alias("high"),
        )
    base = alt.Chart(shown).encode(**parts)
    if error is not None:
        bars = base.mark_rule(opacity=0.6).encode(
            y=alt.Y("low:Q", title=y, scale=alt.Scale(zero=zero)), y2="high:Q"
        )
        layers.append(bars)
    if line:
        layers.append(base.mark_line(strokeWidth=1.5).encode(y=height))
    layers.append(base.mark_point(filled=True).encode(y=height))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def curves(table: pl.DataFrame, x: str, y: str, colour: str, *, zero: bool = True) -> Any:
    """Return lines over a number, one a group."""
    import altair as alt

    return (
        alt.Chart(table)
        .mark_line()
        .encode(
            x=alt.X(field(x), type="quantitative", title=x, scale=alt.Scale(zero=False)),
            y=alt.Y(field(y), type="quantitative", title=y, scale=alt.Scale(zero=zero)),
            color=_many(table, colour),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _many(table: pl.DataFrame, colour: str) -> Any:
    """The house's colours for a few groups; for more, steps of its scale for heat maps."""
    import altair as alt

    names = order_of(table, colour)
    if len(names) <= len(PALETTE):
        return alt.Color(field(colour), type="nominal", title=colour, sort=names)
    steps = alt.Scale(scheme="cividis")
    return alt.Color(field(colour), type="ordinal", title=colour, sort=names, scale=steps)


_LONGEST = 320
"""Pixels that a name beside a chart may take before it is cut."""


def named_points(
    table: pl.DataFrame, name: str, x: str, error: str, *, rule: float | None = None
) -> Any:
    """Return one row a name, a point with bars of two standard errors to either side."""
    import altair as alt

    shown = table.with_columns(
        pl.col(x).cast(pl.Float64),
        (pl.col(x) - 2 * pl.col(error)).alias("low"),
        (pl.col(x) + 2 * pl.col(error)).alias("high"),
    )
    rows = alt.Y(
        field(name), type="nominal", title=None, sort=order_of(shown, name),
        axis=alt.Axis(labelLimit=_LONGEST),
    )  # fmt: skip
    base = alt.Chart(shown).encode(y=rows)
    across = alt.Scale(zero=False)
    layers = [
        base.mark_rule(opacity=0.6).encode(x=alt.X("low:Q", title=x, scale=across), x2="high:Q"),
        base.mark_point(filled=True).encode(
            x=alt.X(field(x), type="quantitative", title=x, scale=across)
        ),
    ]
    if rule is not None:
        level = alt.Chart(pl.DataFrame({"level": [rule]})).mark_rule(strokeDash=[4, 3])
        layers.insert(0, level.encode(x=alt.X("level:Q", title=x)))
    return alt.layer(*layers).properties(width=WIDTH)


def order_of(table: pl.DataFrame, column: str) -> list[Any]:
    """Return the names in a column in the order of their first rows."""
    return table[column].unique(maintain_order=True).to_list()


def field(name: str) -> str:
    """Return a column's name as the chart grammar wants it: its marks are plain."""
    return name.replace("\\", "\\\\").replace(".", "\\.").replace("[", "\\[").replace(":", "\\:")
