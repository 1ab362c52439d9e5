"""What a tuning found: a heat map as in Figure 2 of the 2007 paper, or a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.report.charts import HEAT, INK

if TYPE_CHECKING:
    import altair as alt

_SHOWN = {"evidence": "log evidence a game, in nats", "log_loss": "log-loss a game, in nats"}
_AXES = ("beta", "tau", "margin_mu")
_MOST_CELLS = 150
"""Up to so many cells hold their number as text."""


def tuning_chart(
    table: pl.DataFrame, *, by: str = "evidence", title: str = ""
) -> alt.TopLevelMixin:
    """Return the points of a tuning as a heat map over beta and tau, the best one marked.

    With one varying number it is a line; with several margins there is a map for each.

    Parameters
    ----------
    table
        The table of a `milepost.history.tuning.Tuning`.
    by
        ``"evidence"`` or ``"prequential"``.
    title
        What stands above.

    Raises
    ------
    InputError
        If nothing varies, or nothing was computed.
    """
    value = "evidence" if by == "evidence" else "log_loss"
    points = table.filter(pl.col(value).is_not_null(), pl.col(value).is_finite())
    grid = points.filter(pl.col("point") == "grid")
    if grid.is_empty():
        raise InputError("there is no point to draw")
    vary = [name for name in _AXES if grid[name].n_unique() > 1]
    if not vary:
        raise InputError("a plot of a tuning needs a number with several values")
    subtitle = [_about_best(points, value)]
    if len(vary) == 1:
        return _line(points, vary[0], value, title, subtitle)
    return _maps(grid, vary, value, title, subtitle)


def _about_best(points: pl.DataFrame, value: str) -> str:
    best = points.sort(value, descending=value == "evidence").row(0, named=True)
    if points["best"].any():
        best = points.filter(pl.col("best")).row(0, named=True)
    numbers = ", ".join(f"{n} {best[n]:.4g}" for n in _AXES if best[n] is not None)
    return f"best ({best['point']}): {numbers}, {_SHOWN[value]} {best[value]:.4f}"


def _line(
    points: pl.DataFrame, axis: str, value: str, title: str, subtitle: list[str]
) -> alt.TopLevelMixin:
    import altair as alt

    base = alt.Chart(points).encode(
        x=alt.X(f"{axis}:Q", title=axis, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{value}:Q", title=_SHOWN[value], scale=alt.Scale(zero=False)),
    )
    mark = base.transform_filter("datum.best").mark_point(
        shape="cross", size=180, color="#D55E00", filled=True
    )
    return alt.layer(base.mark_line(color="#0072B2"), base.mark_point(color="#0072B2"), mark
                     ).properties(title=_title(title, subtitle))  # fmt: skip


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
        facets = chart.facet(
            column=alt.Column(f"{vary[2]}:O", title="margin_mu", header=alt.Header(format="~g"))
        )
        return facets.properties(title=_title(title, subtitle))
    return chart.properties(title=_title(title, subtitle))


def _title(title: str, subtitle: list[str]) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(title or "Tuning", subtitle=subtitle)
