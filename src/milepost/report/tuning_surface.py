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
_NUMBERS = (
    "beta", "tau", "margin_mu", "sigma", "draw", "first_mover", "margin_sigma", "margin_tau",
)  # fmt: skip
_FORM = "draw_form"
_ALWAYS = ("beta", "tau", "margin_mu")
"""Told of the best point even if they do not vary."""
_MOST_AXES = 3
_COLOURS = ("#0072B2", "#009E73")
"""Of the forms of a draw; the best point has its own."""
_MOST_CELLS = 150
"""Up to so many cells hold their number as text."""


def check_axes(vary: Sequence[str]) -> None:
    """Refuse what no picture can show.

    Parameters
    ----------
    vary
        The numbers with several values, and ``"draw_form"`` if there are several.

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

    With one varying number it is a line, one for each form of a draw; with three, or two and
    several forms, there is a map for each value of the third.

    Parameters
    ----------
    table
        The table of a `milepost.history.tuning.tune.Tuning`.
    by
        ``"evidence"`` or ``"prequential"``.
    title
        What stands above.

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
    vary = [
        name for name in (*_NUMBERS, _FORM) if name in grid.columns and grid[name].n_unique() > 1
    ]
    check_axes(vary)
    subtitle = [_about_best(points, value, vary)]
    if len([name for name in vary if name != _FORM]) < 2:
        return _line(points, vary, value, title, subtitle)
    return _maps(grid, vary, value, title, subtitle)


def _about_best(points: pl.DataFrame, value: str, vary: list[str]) -> str:
    best = points.sort(value, descending=value == "evidence").row(0, named=True)
    if points["best"].any():
        best = points.filter(pl.col("best")).row(0, named=True)
    told = [name for name in _NUMBERS if name in (*_ALWAYS, *vary) and best[name] is not None]
    numbers = ", ".join(f"{name} {best[name]:.4g}" for name in told)
    form = f", {best[_FORM]}" if _FORM in vary else ""
    return f"best ({best['point']}): {numbers}{form}, {_SHOWN[value]} {best[value]:.4f}"


def _line(
    points: pl.DataFrame, vary: list[str], value: str, title: str, subtitle: list[str]
) -> alt.TopLevelMixin:
    import altair as alt

    axis = vary[0]
    kind = "N" if axis == _FORM else "Q"
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
    if len(vary) == 2:
        colour = alt.Color(f"{_FORM}:N", title=_FORM, scale=alt.Scale(range=list(_COLOURS)))
        lines, dots = lines.encode(color=colour), dots.encode(color=colour)
    layers: list[Any] = [dots, mark] if kind == "N" else [lines, dots, mark]
    width = {"width": 200} if kind == "N" else {}
    return alt.layer(*layers).properties(title=_title(title, subtitle), **width)


def _maps(
    grid: pl.DataFrame, vary: list[str], value: str, title: str, subtitle: list[str]
) -> alt.TopLevelMixin:
    import altair as alt

    good = grid[value].max() if value == "evidence" else grid[value].min()
    # The worst corner would take all the colours: the root spreads those near the best.
    table = grid.with_columns(
        behind=(pl.col(value) - good).abs(),
        top=(pl.col(value) == good),
        text=pl.col(value).round(4),
    )
    across, up = vary[0], vary[1]
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
    if len(vary) == 3:
        # A form of a draw is a word, which a format of numbers would not show.
        header = alt.Header() if vary[2] == _FORM else alt.Header(format="~g")
        facets = chart.facet(column=alt.Column(f"{vary[2]}:O", title=vary[2], header=header))
        return facets.properties(title=_title(title, subtitle))
    return chart.properties(title=_title(title, subtitle))


def _title(title: str, subtitle: list[str]) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(title or "Tuning", subtitle=subtitle)
