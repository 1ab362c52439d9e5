"""What a tuning found: heat maps as in Figure 2 of the 2007 paper, or lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.report.charts import HEAT, INK

if TYPE_CHECKING:
    import altair as alt

_SHOWN = {"evidence": "log evidence a game, in nats", "log_loss": "log-loss a game, in nats"}
_ABOUT = ("point", "evidence", "log_loss", "sweeps", "converged", "best")
"""Columns that are no options."""
_ALWAYS = ("beta", "tau", "margin_mu")
"""Told of the best point even if they do not vary."""
_MOST_AXES = 3
_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9")
"""Of the words that are compared; the best point has its own."""
_MOST_CELLS = 150
"""Up to so many cells hold their number as text."""


def check_axes(vary: Sequence[str]) -> None:
    """Refuse what no picture can show.

    Parameters
    ----------
    vary
        The options with several values.

    Raises
    ------
    InputError
        If nothing varies, or more than three do.
    """
    if not vary:
        raise InputError("a plot of a tuning needs a number with several values")
    if len(vary) > _MOST_AXES:
        raise InputError(
            f"a plot of a tuning shows at most {_MOST_AXES} that vary, and here "
            f"{', '.join(vary)} do: give fewer of them several values"
        )


def tuning_chart(
    table: pl.DataFrame, *, by: str = "evidence", title: str = ""
) -> alt.TopLevelMixin:
    """Return the points of a tuning as a heat map over two numbers, the best one marked.

    With one varying number it is a line, one for each word (as the form of a draw); with three, or
    two and several words, there is a map for each value of the third.

    Parameters
    ----------
    table
        The table of a `milepost.history.tuning.tune.Tuning`.
    by
        ``"evidence"`` or ``"prequential"``.
    title
        Title.

    Raises
    ------
    InputError
        If nothing varies or more than three do, or nothing was computed.
    """
    value = "evidence" if by == "evidence" else "log_loss"
    points = table.filter(pl.col(value).is_not_null(), pl.col(value).is_finite())
    grid = points.filter(pl.col("point") == "grid")
    if grid.is_empty():
        raise InputError("there is no point to draw")
    tried = [name for name in grid.columns if name not in _ABOUT]
    vary = [name for name in tried if grid[name].n_unique() > 1]
    check_axes(vary)
    subtitle = [_about_best(points, value, vary)]
    numbers = [name for name in vary if grid[name].dtype != pl.String]
    words = [name for name in vary if name not in numbers]
    # Words are a colour or a column, not an axis: several of them are one.
    word = ", ".join(words)
    if len(words) > 1:
        joined = pl.concat_str([pl.col(name).fill_null("none") for name in words], separator=", ")
        points, grid = (
            points.with_columns(joined.alias(word)),
            grid.with_columns(joined.alias(word)),
        )
    if len(numbers) < 2:
        return _line(points, numbers, word, value, title, subtitle)
    return _maps(grid, numbers, word, value, title, subtitle)


def _about_best(points: pl.DataFrame, value: str, vary: list[str]) -> str:
    best = points.sort(value, descending=value == "evidence").row(0, named=True)
    if points["best"].any():
        best = points.filter(pl.col("best")).row(0, named=True)
    shown = [name for name in points.columns if name in (*_ALWAYS, *vary)]
    told = [
        str(best[name]) if isinstance(best[name], str) else f"{name} {best[name]:.4g}"
        for name in shown
        if best[name] is not None
    ]
    return f"best ({best['point']}): {', '.join(told)}, {_SHOWN[value]} {best[value]:.4f}"


def _line(
    points: pl.DataFrame, numbers: list[str], word: str, value: str, title: str,
    subtitle: list[str],
) -> alt.TopLevelMixin:  # fmt: skip
    import altair as alt

    axis = numbers[0] if numbers else word
    kind = "Q" if numbers else "N"
    across = alt.X(f"{axis}:{kind}", title=axis, axis=alt.Axis(labelAngle=0))
    base = alt.Chart(points).encode(
        x=across if kind == "N" else across.scale(zero=False),
        y=alt.Y(f"{value}:Q", title=_SHOWN[value], scale=alt.Scale(zero=False)),
    )
    mark = base.transform_filter("datum.best").mark_point(
        shape="cross", size=180, color="#D55E00", filled=True
    )
    first = _COLOURS[0]
    lines, dots = base.mark_line(color=first), base.mark_point(color=first)
    if numbers and word:
        colour = alt.Color(f"{word}:N", title=word, scale=alt.Scale(range=list(_COLOURS)))
        lines, dots = lines.encode(color=colour), dots.encode(color=colour)
    layers: list[Any] = [dots, mark] if kind == "N" else [lines, dots, mark]
    width = {"width": 200} if kind == "N" else {}
    return alt.layer(*layers).properties(title=_title(title, subtitle), **width)


def _maps(
    grid: pl.DataFrame, numbers: list[str], word: str, value: str, title: str,
    subtitle: list[str],
) -> alt.TopLevelMixin:  # fmt: skip
    import altair as alt

    good = grid[value].max() if value == "evidence" else grid[value].min()
    # The worst corner would take all the colours: the root spreads those near the best.
    table = grid.with_columns(
        behind=(pl.col(value) - good).abs(),
        top=(pl.col(value) == good),
        text=pl.col(value).round(4),
    )
    across, up = numbers[0], numbers[1]
    base = alt.Chart(table).encode(
        x=alt.X(f"{across}:O", title=across, axis=alt.Axis(labelAngle=0, format="~g")),
        y=alt.Y(f"{up}:O", title=up, sort="descending", axis=alt.Axis(format="~g")),
    )
    ramp = alt.Scale(scheme=HEAT, type="sqrt", reverse=True)
    layers: list[Any] = [
        base.mark_rect().encode(
            color=alt.Color("behind:Q", title=["nats a game", "behind the best"], scale=ramp)
        )
    ]
    if table.height <= _MOST_CELLS:
        worst = float(str(table["behind"].max()))
        dark = alt.when(alt.datum.behind > 0.3 * worst).then(alt.value("white"))
        layers.append(
            base.mark_text(fontSize=10).encode(
                text=alt.Text("text:Q", format=".4f"), color=dark.otherwise(alt.value(INK))
            )
        )
    layers.append(
        base.transform_filter("datum.top").mark_rect(fill=None, stroke="#D55E00", strokeWidth=3)
    )
    width = 62 * table[across].n_unique()
    chart = alt.layer(*layers).properties(width=width, height=34 * table[up].n_unique())
    third = word or (numbers[2] if len(numbers) > 2 else "")
    if third:
        # A word would not be shown by a format of numbers.
        header = alt.Header() if word else alt.Header(format="~g")
        facets = chart.facet(column=alt.Column(f"{third}:O", title=third, header=header))
        return facets.properties(title=_title(title, subtitle))
    return chart.properties(title=_title(title, subtitle))


def _title(title: str, subtitle: list[str]) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(title or "Tuning", subtitle=subtitle)
