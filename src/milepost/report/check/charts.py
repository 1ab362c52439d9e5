"""The charts of fair-play reports; `milepost.fairplay` has their numbers.

Nothing is red, nothing is told by colour alone, and nobody is ordered by index.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.fairplay.evidence.simulate import PowerCell
from milepost.fairplay.words import support
from milepost.games.rounds import round_number
from milepost.report.charts import INK, PALETTE, PAPER

if TYPE_CHECKING:
    pass

MOST_NAMED = 40
"""With more players than these the chart of indices numbers them instead of naming them."""
_BLUE = PALETTE[0]
_GROUPS = (PALETTE[0], PALETTE[4], PALETTE[2], PALETTE[6])
"""Colours for assistants: the house's, less those that are near red."""
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_BAND, _BAND_INNER = "#E9E9E9", "#D2D2D2"
_QUIET, _EDGE = "#555555", "#9A9A9A"
_WIDTH, _HEIGHT = 400, 250
_LN_10 = math.log(10)
_E, _WORST = "evidence ratio E", "worst-case ratio"
_BY_E, _BY_MATCH = "evidence ratio", "match rate alone"


def qq_chart(
    quantiles: pl.DataFrame, marked: Mapping[str, float] | None = None, who: str = "this event"
) -> Any:
    """Return the event's z beside those of honest players, with the 95 % band of each place.

    Parameters
    ----------
    quantiles
        See `milepost.fairplay.screen.EventAsAWhole.quantiles`.
    marked
        What to write beside the point of a z: label → z.
    who
        Whose players they are.
    """
    import altair as alt

    x_title = "z expected of honest players"
    y_title = f"z of the players of {who}"
    values = [*quantiles["found"], *quantiles["low"], *quantiles["high"]]
    low, high = math.floor(min(values)), math.ceil(max(values))
    edge = max(abs(low), abs(high), 2)
    wide = max(2.0, 1.1 * max(abs(value) for value in quantiles["expected"]))
    x = alt.X("expected:Q", title=x_title, scale=alt.Scale(domain=[-wide, wide], nice=False))
    y_scale = alt.Scale(domain=[-edge, edge], nice=False)
    base = alt.Chart(quantiles)
    # An area needs two places to span; a few players get a bar each.
    few = len(quantiles) < 4
    band = (
        base.mark_rule(color=_BAND_INNER, strokeWidth=12)
        if few
        else base.mark_area(color=_BAND, opacity=1)
    )
    layers: list[Any] = [
        band.encode(x=x, y=alt.Y("low:Q", title=y_title, scale=y_scale), y2=alt.Y2("high:Q")),
    ]
    if not few:
        layers += [
            base.mark_line(color=_EDGE, strokeWidth=0.8).encode(
                x=x, y=alt.Y(f"{side}:Q", title=y_title, scale=y_scale)
            )
            for side in ("low", "high")
        ]
    reach = min(wide, edge)
    diagonal = pl.DataFrame({"expected": [-reach, reach]})
    found = alt.Y("found:Q", title=y_title, scale=y_scale)
    layers += [
        alt.Chart(diagonal)
        .mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1)
        .encode(x=x, y=alt.Y("expected:Q", title=y_title, scale=y_scale)),
        base.mark_point(color=_BLUE, opacity=1, size=36).encode(x=x, y=found),
    ]
    for label, z in (marked or {}).items():
        place = int((quantiles["found"] - z).abs().arg_min() or 0)
        layers += _marked(quantiles[place], label, x, found, right=place > len(quantiles) / 2)
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, autosize=_fit())


def index_chart(players: pl.DataFrame, marked: Sequence[str] = (), *, named: bool = True) -> Any:
    """Return the index of every player, ordered by rating and name, never by index.

    Parameters
    ----------
    players
        `label`, `elo` and `index` of each player; those without an index are left out.
    marked
        The labels of tested players.
    named
        Whether to write every name, where there are not too many.
    """
    import altair as alt

    shown = (
        players.filter(pl.col("index").is_not_null())
        .sort(["elo", "label"], descending=[True, False], nulls_last=True)
        .with_row_index("place", offset=1)
    )
    low = min(35.0, 5.0 * math.floor(min(shown["index"]) / 5))
    high = max(65.0, 5.0 * math.ceil(max(shown["index"]) / 5))
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    named = named and len(shown) <= MOST_NAMED
    value = alt.X if named else alt.Y
    value_2 = alt.X2 if named else alt.Y2
    axis = alt.Axis(values=list(range(int(low), int(high) + 1, 5)), grid=False)
    title = "index (honest: mean 50, sd 5)"
    bands = pl.DataFrame({"from": [40.0, 45.0], "to": [60.0, 55.0], "tone": [_BAND, _BAND_INNER]})
    layers: list[Any] = [
        alt.Chart(bands)
        .mark_rect(opacity=1)
        .encode(
            value("from:Q", title=title, scale=scale, axis=axis),
            value_2("to:Q"),
            color=alt.Color("tone:N", scale=None),
        ),
        alt.Chart(pl.DataFrame({"mean": [50.0]}))
        .mark_rule(color=_QUIET, strokeDash=[4, 3])
        .encode(value("mean:Q", title=title, scale=scale, axis=axis)),
    ]
    where: Any
    if named:
        order = shown["label"].to_list()
        where = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=220, grid=True))
    else:
        where = alt.X(
            "place:Q",
            title="players of the event, by rating (1 = highest)",
            scale=alt.Scale(domain=[0, len(shown) + 1], nice=False),
            axis=alt.Axis(format="d", values=_thinned(len(shown)), grid=False),
        )
    dots = value("index:Q", title=title, scale=scale, axis=axis)
    tested = pl.col("label").is_in(list(marked))
    layers.append(
        alt.Chart(shown.filter(~tested)).mark_point(color=_BLUE, opacity=1).encode(where, dots)
    )
    for row in shown.filter(tested).iter_slices(1):
        x, y = (dots, where) if named else (where, dots)
        # The name stands at the axis already where all are named.
        note = "tested" if named else str(row["label"][0])
        right = not named and row["place"][0] > len(shown) / 2
        layers += _marked(row, note, x, y, right=right)
    chart = alt.layer(*layers)
    if named:
        return chart.properties(width=300, height=max(17 * len(shown), 60))
    return chart.properties(width=_WIDTH, height=_HEIGHT, autosize=_fit())


def round_labels(rounds: Sequence[str | None]) -> list[str]:
    """Return what to call rounds: by number, where a tag such as 7.1 also names the board.

    In matches the part behind the point tells games apart, and stays.
    """
    numbers = [round_number(text) for text in rounds]
    if None not in numbers and len(set(numbers)) == len(numbers):
        return [str(number) for number in numbers]
    return [text or "" for text in rounds]


def evidence_chart(sequence: pl.DataFrame) -> Any:
    """Return the evidence ratio after each game on a log scale, with the words of its size.

    Parameters
    ----------
    sequence
        See `milepost.fairplay.full.FullTest.sequence`.
    """
    import altair as alt

    count = len(sequence)
    rounds = round_labels(sequence["round"].to_list())
    in_order = all(rounds) and len(set(rounds)) == count
    points = pl.concat(
        [
            pl.DataFrame(
                {
                    "game": range(1, count + 1),
                    "size": (sequence[column] / _LN_10).to_list(),
                    "what": [what] * count,
                },
                schema={"game": pl.Int64, "size": pl.Float64, "what": pl.String},
            )
            for column, what in (("ln_e", _E), ("ln_e_worst", _WORST))
        ]
    )
    top = max(3.7, math.ceil(max(points["size"]) + 0.2))
    bottom = min(-1.0, math.floor(min(points["size"])))
    step = max(1, round((top - bottom) / 8))
    ticks = [tick for tick in range(math.ceil(bottom), math.floor(top) + 1) if tick % step == 0]
    y_axis = alt.Axis(
        values=ticks,
        labelExpr="abs(datum.value) > 4 ? '10^' + datum.value : format(pow(10, datum.value), ',')",
        grid=False,
    )
    y_scale = alt.Scale(domain=[bottom, top], nice=False, zero=False)
    y_title = "ratio (log scale)"
    # The words stand at the right, where no line comes.
    labels = {number + 1: text for number, text in enumerate(rounds)} if in_order else {}
    x = alt.X(
        "game:Q",
        title="round" if in_order else "games, in order",
        scale=alt.Scale(domain=[0.6, 0.6 + 1.45 * count], nice=False),
        axis=alt.Axis(
            values=_thinned(count),
            grid=False,
            labelExpr=_label_expression(labels) if labels else "format(datum.value, 'd')",
        ),
    )
    lines = pl.DataFrame({"size": [0.0, 1.0, 2.0, 3.0]})
    words = pl.DataFrame(
        {
            "at": [0.0, 1.0, 2.0, 3.0],
            "word": [support((level + 0.5) * _LN_10).split(" support")[0] for level in range(4)],
        }
    )
    below = pl.DataFrame({"at": [0.0], "word": ["for statement 1"]})
    what = [_E, _WORST]
    return (
        alt.layer(
            alt.Chart(lines)
            .mark_rule(color=_EDGE, strokeWidth=0.8)
            .encode(y=alt.Y("size:Q", title=y_title, scale=y_scale, axis=y_axis)),
            *(
                alt.Chart(frame)
                .mark_text(align="right", dy=dy, fontSize=11, color=_QUIET)
                .encode(
                    x=alt.value(alt.expr("width - 2")),
                    y=alt.Y("at:Q", title=y_title, scale=y_scale, axis=y_axis),
                    text="word:N",
                )
                for frame, dy in ((words, -7), (below, 9))
            ),
            alt.Chart(points)
            .mark_line(point=alt.OverlayMarkDef(size=36, filled=True, opacity=1))
            .encode(
                x=x,
                y=alt.Y("size:Q", title=y_title, scale=y_scale, axis=y_axis),
                color=alt.Color(
                    "what:N",
                    title=None,
                    scale=alt.Scale(domain=what, range=[_BLUE, _QUIET]),
                    legend=alt.Legend(orient="bottom", symbolType="stroke", symbolStrokeWidth=2),
                ),
                strokeDash=alt.StrokeDash(
                    "what:N", title=None, scale=alt.Scale(domain=what, range=[[1, 0], [5, 3]])
                ),
            ),
        )
        .resolve_scale(x="shared")
        .properties(width=_WIDTH, height=_HEIGHT, autosize=_fit())
    )


def power_chart(cells: Sequence[PowerCell]) -> Any:
    """Return how often help would be noticed on just these turns, a panel a false-alarm rate.

    Parameters
    ----------
    cells
        See `milepost.fairplay.full.FullTest.power`.
    """
    import altair as alt

    rows = [
        {
            "share": cell.share,
            "panel": _rate_text(cell.false_alarms),
            "assistant": cell.assistant,
            "method": method,
            "noticed": 100 * value,
        }
        for cell in cells
        for method, value in ((_BY_E, cell.power), (_BY_MATCH, cell.power_match))
    ]
    frame = pl.DataFrame(rows)
    names = list(dict.fromkeys(cell.assistant for cell in cells))
    rates = sorted({cell.false_alarms for cell in cells}, reverse=True)
    panels = [_rate_text(rate) for rate in rates]
    shares = sorted({cell.share for cell in cells})
    x = alt.X(
        "share:Q",
        title="share of turns helped",
        scale=alt.Scale(type="log", domain=[min(shares) * 0.9, max(shares) * 1.1], nice=False),
        axis=alt.Axis(values=shares, format="%", grid=False, labelOverlap=True),
    )
    y = alt.Y(
        "noticed:Q",
        title="noticed, of 100 cases",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
    )
    who = alt.Legend(orient="bottom", columns=2, symbolOpacity=1, symbolSize=70)
    how = alt.Legend(orient="top", symbolType="stroke", symbolStrokeColor=INK, symbolSize=300)
    colours = alt.Scale(domain=names, range=_taken(_GROUPS, len(names)))
    shapes = alt.Scale(domain=names, range=_taken(_SHAPES, len(names)))
    dashes = alt.Scale(domain=[_BY_E, _BY_MATCH], range=[[1, 0], [5, 3]])
    base = alt.Chart().encode(
        x=x,
        y=y,
        detail="method:N",
        color=alt.Color("assistant:N", title=None, scale=colours, legend=who),
    )
    layered = alt.layer(
        base.mark_line().encode(
            strokeDash=alt.StrokeDash("method:N", title=None, scale=dashes, legend=how)
        ),
        base.mark_point(filled=True, size=36, opacity=1).encode(
            shape=alt.Shape("assistant:N", title=None, scale=shapes, legend=who)
        ),
        data=frame,
    ).properties(width=150 if len(panels) > 1 else 320, height=135)
    return layered.facet(column=alt.Column("panel:N", title=None, sort=panels), spacing=24)


def _taken(values: Sequence[str], count: int) -> list[str]:
    """The first ones, round and round."""
    return [values[place % len(values)] for place in range(count)]


def _marked(row: pl.DataFrame, label: str, x: Any, y: Any, *, right: bool) -> list[Any]:
    """A large open diamond with a text beside it: it stands out without any colour."""
    import altair as alt

    base = alt.Chart(row.head(1).with_columns(pl.lit(label).alias("note")))
    side: Any = {"align": "right", "dx": -10} if right else {"align": "left", "dx": 10}
    return [
        base.mark_point(
            shape="diamond", filled=True, fill=PAPER, stroke=INK, strokeWidth=2, size=110,
            opacity=1,
        ).encode(x, y),
        base.mark_text(fontWeight="bold", **side).encode(x, y, text="note:N"),
    ]  # fmt: skip


def _fit() -> Any:
    import altair as alt

    return alt.AutoSizeParams(type="fit", contains="padding")


def _thinned(count: int) -> list[int]:
    """Ticks of games, not more than about twelve."""
    step = max(1, math.ceil(count / 12))
    return list(range(1, count + 1, step))


def _label_expression(labels: Mapping[int, str]) -> str:
    """Labels by place, as an expression of the chart language; the texts stand in it as JSON."""
    texts = json.dumps([labels[place] for place in sorted(labels)], ensure_ascii=True)
    return f"{texts}[datum.value - 1]"


def _rate_text(rate: float) -> str:
    return f"one false alarm in {round(1 / rate):,}"
