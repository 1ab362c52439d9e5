"""The charts of the page about ratings; `intrinsic.rating.diagnostics` has their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.report.charts import FAINT, INK, PALETTE, PAPER
from milepost.report.labels import HALO, MOST, Frame, names_beside, put_apart

if TYPE_CHECKING:
    import altair as alt

MOST_BARS = 40
"""More groups than these would make a chart that nobody reads."""
_BLUE, _ORANGE, _GREEN = PALETTE[0], PALETTE[1], PALETTE[2]
_BY_MOVES, _OWN = "from moves", "own Elo"
_PERFORMANCE, _PLAYER = "how well these games were played", "how strong the player is"
_BAND_COLOUR, _LINE_COLOUR = "#93c4e6", "#4d7896"
_ACTUAL, _AT_RATING, _AT_ELO = "these games", "model at the rating", "model at own Elo"
_EDGE = 100
_MARGIN = 25
_MOVES_WIDTH, _MOVES_HEIGHT = 640, 320
_CURVE_SIZE = (640, 440)
_LIFT = 13


def bars_chart(ratings: pl.DataFrame, order: Sequence[str], level: float) -> alt.TopLevelMixin:
    """Return ratings as points with both intervals, thick and thin, own Elo beside them.

    Parameters
    ----------
    ratings
        See `milepost.intrinsic.rating.diagnostics.Pictures.ratings`: most turns first.
    order
        The labels from top to bottom.
    level
        Probability of the intervals, to be said.
    """
    import altair as alt

    shown = ratings.head(MOST_BARS)
    rows = [label for label in order if label in set(shown["label"])]
    low, high = _ends(shown, "rating", "low", "high", "player_low", "player_high", "elo")
    closed = _closed(shown, low, high).with_columns(
        pl.col("player_low").fill_null(low), pl.col("player_high").fill_null(high)
    )
    y = alt.Y("label:N", sort=rows, title=None, axis=alt.Axis(labelLimit=260, grid=True))
    x = _x("rating", "Elo", low, high)
    points = [_BY_MOVES, _OWN]
    legend = alt.Legend(orient="top")
    colour, shape, filling = (
        channel("what:N", title=None, scale=alt.Scale(domain=points, range=marks), legend=legend)
        for channel, marks in (
            (alt.Stroke, [_BLUE, _ORANGE]),
            (alt.Shape, ["circle", "diamond"]),
            (alt.Fill, [_BLUE, PAPER]),
        )
    )
    interval = alt.Color(
        "interval:N",
        title=None,
        scale=alt.Scale(domain=[_PERFORMANCE, _PLAYER], range=[_BAND_COLOUR, _LINE_COLOUR]),
        legend=alt.Legend(
            orient="top", symbolType="stroke", symbolStrokeWidth=4, labelLimit=260, offset=4
        ),
    )
    base = alt.Chart(closed)
    intervals = [
        base.transform_calculate(interval=f"'{name}'")
        .mark_rule(strokeWidth=width)
        .encode(
            y=y, x=_x(f"{side}low", "Elo", low, high), x2=alt.X2(f"{side}high:Q"), color=interval
        )
        for name, side, width in ((_PLAYER, "player_", 1.5), (_PERFORMANCE, "", 7))
    ]
    layers: list[Any] = [
        base.transform_calculate(what=f"'{_BY_MOVES}'")
        .mark_point(size=60, opacity=1)
        .encode(y=y, x=x, stroke=colour, shape=shape, fill=filling),
    ]
    known = closed.filter(pl.col("elo").is_not_null())
    if len(known):
        layers.append(
            alt.Chart(known)
            .transform_calculate(what=f"'{_OWN}'")
            .mark_point(strokeWidth=2, size=60, opacity=1)
            .encode(y=y, x=_x("elo", "Elo", low, high), stroke=colour, shape=shape, fill=filling)
        )
    layers += _arrows(closed, low, high, _BLUE, y=y)
    # Intervals and points have a legend each.
    chart: alt.LayerChart = alt.layer(alt.layer(*intervals), alt.layer(*layers)).resolve_scale(
        color="independent"
    )
    return chart.properties(
        width=560,
        height=max(22 * len(rows), 60),
        title=f"Ratings from moves, with {level:.0%} intervals",
    )


def curve_chart(curve: pl.DataFrame, on_curve: pl.DataFrame, level: float) -> alt.TopLevelMixin:
    """Return the expected error by rating, and the groups with most turns on it."""
    import altair as alt

    low, high = float(curve["rating"][0]), float(curve["rating"][-1])
    closed = _closed(on_curve, low, high)
    y_title = "mean error per turn (scaled pawns)"
    from_zero = alt.Scale(zero=True, domainMin=0)
    x = _x("rating", "Elo", low, high)
    lines = []
    for inside, dash in ((None, [5, 4]), (True, [1, 0])):
        part = curve if inside is None else curve.filter(pl.col("inside"))
        lines.append(
            alt.Chart(part)
            .mark_line(color=INK, strokeDash=dash)
            .encode(x=x, y=alt.Y("expected:Q", title=y_title, scale=from_zero))
        )
    labels = closed["label"].to_list()
    crowded = len(labels) > MOST
    legend = alt.Legend(orient="bottom", columns=3, symbolOpacity=1.0) if crowded else None
    colour = alt.Color(
        "label:N",
        title=None,
        sort=labels,
        scale=alt.Scale(
            domain=labels, range=[PALETTE[i % len(PALETTE)] for i in range(len(labels))]
        ),
        legend=legend,
    )
    # Colours come round after eight: the shape tells those apart that share one.
    shape = alt.Shape(
        "label:N",
        title=None,
        sort=labels,
        scale=alt.Scale(domain=labels, range=[_shape(i) for i in range(len(labels))]),
        legend=legend,
    )
    groups = alt.Chart(closed).encode(color=colour)
    at = alt.Y("actual:Q", title=y_title, scale=from_zero)
    return alt.layer(
        *lines,
        groups.mark_rule(strokeWidth=2, opacity=0.3).encode(
            x=_x("low", "Elo", low, high), x2=alt.X2("high:Q"), y=at
        ),
        groups.mark_point(
            shape="cross", filled=False, size=110, strokeWidth=1.8, opacity=0.9
        ).encode(x=x, y=alt.Y("expected:Q", title=y_title, scale=from_zero)),
        groups.mark_point(size=80, opacity=1).encode(x=x, y=at, shape=shape),
        *_arrows(closed, low, high, INK, y=at),
        *([] if crowded or len(labels) == 1 else _named(closed, curve, (low, high), x, colour)),
    ).properties(
        width=_CURVE_SIZE[0],
        height=_CURVE_SIZE[1],
        title=alt.TitleParams(
            "How large are the errors at each Elo?",
            subtitle=[
                f"Line: what the model expects. Filled: errors made, with {level:.0%} intervals.",
                "Crosses: what the model expects on exactly these turns.",
            ],
        ),
    )


def _named(
    groups: pl.DataFrame, curve: pl.DataFrame, ends: tuple[float, float], x: alt.X,
    colour: alt.Color,
) -> list[Any]:  # fmt: skip
    """Names beside the marks of the groups."""
    import altair as alt

    highest = max(
        float(value)
        for column in (groups["actual"], groups["expected"], curve["expected"])
        for value in column.drop_nulls()
    )
    frame = Frame(*_CURVE_SIZE, ends, (0.0, highest))
    # Above its mark a name does not hide the interval.
    lift = _LIFT * highest / _CURVE_SIZE[1]
    points = list(groups.select("rating", pl.col("actual") + lift, "label").iter_rows())
    return names_beside(
        points, frame, x, lambda field: alt.Y(f"{field}:Q", scale=alt.Scale(domainMin=0)), colour
    )


def percentiles_chart(points: pl.DataFrame) -> alt.TopLevelMixin:
    """Return the up shares against q, a panel a group, with diagonal and band."""
    import altair as alt

    panels = points.with_columns(
        pl.format("{} ({} turns)", "label", "n").alias("panel"),
        pl.col("low").clip(0, 1),
        pl.col("high").clip(0, 1),
    )
    names = panels["panel"].unique(maintain_order=True).to_list()
    x = alt.X(
        "q:Q",
        title="share the model expects",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=_FIFTHS),
    )
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart()
    axis = alt.Axis(values=_FIFTHS)
    title = "share in these games"
    layered = alt.layer(
        base.mark_area(color=FAINT).encode(
            x=x, y=alt.Y("low:Q", title=title, scale=scale, axis=axis), y2=alt.Y2("high:Q")
        ),
        base.mark_line(color=INK, strokeDash=[3, 3], strokeWidth=1).encode(
            x=x, y=alt.Y("q:Q", title=title, scale=scale, axis=axis)
        ),
        base.mark_line(color=_BLUE, point=alt.OverlayMarkDef(size=14)).encode(
            x=x, y=alt.Y("up:Q", title=title, scale=scale, axis=axis)
        ),
        data=panels,
    ).properties(width=230 if len(names) > 1 else 360, height=230 if len(names) > 1 else 360)
    return layered.facet(
        facet=alt.Facet("panel:N", title=None, sort=names), columns=2 if len(names) in {2, 4} else 3
    )


def moves_chart(by_move: pl.DataFrame) -> alt.TopLevelMixin:
    """Return actual and projected error by stretches of moves."""
    import altair as alt

    order = by_move["moves"].to_list()
    x = alt.X("moves:O", sort=order, title="moves", axis=alt.Axis(labelAngle=0))
    title = "mean error per turn (scaled pawns)"
    from_zero = alt.Scale(zero=True, domainMin=0)
    names = [_ACTUAL, _AT_RATING]
    if by_move["at_elo"].null_count() < len(by_move):
        names.append(_AT_ELO)
    scale = alt.Scale(domain=names, range=[_BLUE, INK, _ORANGE][: len(names)])
    colour = alt.Color("what:N", title=None, scale=scale, legend=None)
    base = alt.Chart(by_move)
    layers: list[Any] = []
    for field, name, dash in (("at_rating", _AT_RATING, [1, 0]), ("at_elo", _AT_ELO, [5, 4])):
        if name not in names:
            continue
        line = alt.Chart(by_move.filter(pl.col(field).is_not_null()))
        layers.append(
            line.transform_calculate(what=f"'{name}'")
            .mark_line(strokeDash=dash, point=len(by_move) == 1)
            .encode(x=x, y=alt.Y(f"{field}:Q", title=title, scale=from_zero), color=colour)
        )
    bars = alt.Chart(
        by_move.filter(pl.col("low").is_not_null()).with_columns(pl.col("low").clip(lower_bound=0))
    )
    counts = base.encode(x=x, y=alt.value(_MOVES_HEIGHT - 10), text="n:Q")
    layers += [
        bars.mark_rule(color=_BLUE, strokeWidth=2, opacity=0.5).encode(
            x=x, y=alt.Y("low:Q", title=title, scale=from_zero), y2=alt.Y2("high:Q")
        ),
        base.transform_calculate(what=f"'{_ACTUAL}'")
        .mark_point()
        .encode(x=x, y=alt.Y("actual:Q", title=title, scale=from_zero), color=colour),
        counts.mark_text(fontSize=11, **HALO),
        counts.mark_text(fontSize=11, color="#555555"),
    ]
    layers += _line_names(by_move, names, x, colour)
    return alt.layer(*layers).properties(
        width=_MOVES_WIDTH,
        height=_MOVES_HEIGHT,
        title=alt.TitleParams(
            "Errors by move number",
            subtitle="Points: these games, with 95 % bars; at the bottom: turns.",
        ),
    )


def _line_names(by_move: pl.DataFrame, names: list[str], x: alt.X, colour: alt.Color) -> list[Any]:
    """Names at the right ends of the lines, and of the points."""
    import altair as alt

    last = by_move.row(len(by_move) - 1, named=True)
    fields = {_ACTUAL: "actual", _AT_RATING: "at_rating", _AT_ELO: "at_elo"}
    highest = max(
        float(value) for name in (*fields.values(), "high") for value in by_move[name].drop_nulls()
    )
    known = [(name, last[fields[name]]) for name in names if last[fields[name]] is not None]
    frame = Frame(_MOVES_WIDTH, _MOVES_HEIGHT, (0.0, 1.0), (0.0, highest))
    heights = put_apart([(1.0, value, name) for name, value in known], frame)
    table = pl.DataFrame(
        {"moves": [last["moves"]] * len(known), "what": [name for name, _ in known], "at": heights}
    )
    return [
        alt.Chart(table)
        .mark_text(align="left", dx=_MOVES_WIDTH / (2 * len(by_move)) - 14, fontWeight="bold")
        .encode(
            x=x, y=alt.Y("at:Q", scale=alt.Scale(zero=True, domainMin=0)), text="what:N",
            color=colour,
        )
    ]  # fmt: skip


_FIFTHS = [0, 0.2, 0.4, 0.6, 0.8, 1]


def _shape(place: int) -> str:
    return "circle" if place < len(PALETTE) else "square"


def _ends(frame: pl.DataFrame, *columns: str) -> tuple[float, float]:
    """Ends of an axis that holds all values of the columns, in whole hundreds."""
    values = [value for name in columns for value in frame[name].drop_nulls().to_list()]
    # A margin at least, so that what is bounded does not touch the edge.
    low = ((min(values) - _MARGIN) // _EDGE) * _EDGE
    high = -((-max(values) - _MARGIN) // _EDGE) * _EDGE
    return float(low), float(high)


def _closed(frame: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Intervals drawn to the edges where they have no bound; `no_low`, `no_high` say where."""
    return frame.with_columns(
        pl.col("low").is_null().alias("no_low"),
        pl.col("high").is_null().alias("no_high"),
        pl.col("low").fill_null(low).clip(low, high),
        pl.col("high").fill_null(high).clip(low, high),
    )


def _arrows(frame: pl.DataFrame, low: float, high: float, colour: str, *, y: alt.Y) -> list[Any]:
    """Arrowheads at the edges, where an interval has no bound."""
    import altair as alt

    layers = []
    for side, shape in (("low", "triangle-left"), ("high", "triangle-right")):
        endless = frame.filter(pl.col(f"no_{side}"))
        if len(endless):
            mark = alt.Chart(endless).mark_point(shape=shape, color=colour, size=70, opacity=0.8)
            layers.append(mark.encode(x=_x(side, "Elo", low, high), y=y))
    return layers


def _x(field: str, title: str, low: float, high: float) -> alt.X:
    import altair as alt

    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=[low, high], zero=False, nice=False),
        axis=alt.Axis(format="d", tickCount=10),
    )
