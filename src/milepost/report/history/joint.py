"""Charts of a joint history: curves on the scale of moves, and the level of an era."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.history.joint.moves_fit import ASSUMPTION
from milepost.history.periods import clock_of
from milepost.report.charts import INK, PALETTE, PAPER, year_axis
from milepost.report.history.curves import BANDS, curve_points
from milepost.report.labels import MOST, Frame, ends_of_lines, names_beside

if TYPE_CHECKING:
    import altair as alt

    from milepost.history import History


def joint_points(
    history: History, players: Sequence[str], *, first: Any = None, last: Any = None
) -> pl.DataFrame:
    """Return intrinsic Elo along players' lives, with what results alone say at the same slope.

    Returns
    -------
    polars.DataFrame
        player, time, mean, sd (intrinsic Elo), results (results alone: the era of the joint scale
        at its mean through the player's years, so that its shape can be compared), site, site_sd,
        turns, piece (of the curve: another begins behind a long time without games).
    """
    moves = history.moves
    if moves is None or moves.results_only is None:
        raise InputError("this history has no move evidence: there is no joint curve to draw")
    rows: list[dict[str, Any]] = []
    for typed in players:
        key = history.find(typed).key
        points = curve_points(history, [key], first=first, last=last)
        sites = {
            clock_of(row["time"], history.period): row
            for row in history.curves.filter(pl.col("player") == key).iter_rows(named=True)
            if row["moves_n"]
        }
        eras = [moves.at(time)[0] for time in points["time"]]
        level = sum(eras) / len(eras)
        for row in points.iter_rows(named=True):
            time = row["time"]
            belief = moves.intrinsic(history.skill(key, time), time)
            alone = moves.results_only.at(key, time).mean
            site = sites.get(time, {})
            rows.append({
                "player": row["player"], "time": time, "mean": belief.mean, "sd": belief.sd,
                "results": level + moves.slope * (alone - moves.mu),
                "site": site.get("moves_site"), "site_sd": site.get("moves_sd"),
                "turns": site.get("moves_n"), "piece": row["piece"],
            })  # fmt: skip
    kinds = {"player": pl.String, "time": pl.Float64, "mean": pl.Float64, "sd": pl.Float64,
             "results": pl.Float64, "site": pl.Float64, "site_sd": pl.Float64, "turns": pl.Int64,
             "piece": pl.Int64}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds)


def joint_chart(
    history: History, players: Sequence[str], *, band: str = "sd", first: Any = None,
    last: Any = None, title: str = "", subtitle: Sequence[str] = (), width: int = 640,
    height: int = 380, sites_with: int = 50, beside: bool = True,
) -> alt.TopLevelMixin:  # fmt: skip
    """Return joint curves with bands, results alone dashed, sites as points with bars.

    Several players are named where their lines end.

    Parameters
    ----------
    history
        A joint history.
    players
        Keys, names, or parts of them.
    band
        ``"sd"``, ``"95"`` or ``"none"``.
    first, last
        The time range.
    title, subtitle
        Title and subtitle; what the marks mean is added.
    width, height
        The size of the plot.
    sites_with
        Sites of fewer turns are not drawn: their bars would hide the rest.
    beside
        Whether to draw what results and moves say alone; without, the curves are easier to read.
    """
    points = joint_points(history, players, first=first, last=last)
    return joint_curves_chart(
        points, band=band, title=title, subtitle=subtitle, width=width, height=height,
        sites_with=sites_with, beside=beside,
    )  # fmt: skip


def joint_curves_chart(
    points: pl.DataFrame, *, band: str = "sd", title: str = "", subtitle: Sequence[str] = (),
    width: int = 640, height: int = 380, sites_with: int = 50, beside: bool = True,
) -> alt.TopLevelMixin:  # fmt: skip
    """Return the chart of `joint_chart` for points that `joint_points` returned."""
    import altair as alt

    if band not in BANDS:
        raise InputError(f"expected a band of {', '.join(BANDS)}; got {band!r}")
    wide = BANDS[band]
    table = points.with_columns(
        low=pl.col("mean") - wide * pl.col("sd"), high=pl.col("mean") + wide * pl.col("sd")
    )
    names = table["player"].unique(maintain_order=True).to_list()
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    colour = alt.Color(
        "player:N", title=None, scale=alt.Scale(domain=names, range=colours),
        legend=None,
    )  # fmt: skip
    times = table["time"].to_list()
    span = (min(times), max(times))
    x = year_axis("time", span)
    sites = table.filter(pl.col("turns") >= sites_with if beside else False).with_columns(
        below=pl.col("site") - pl.col("site_sd"), above=pl.col("site") + pl.col("site_sd")
    )
    drawn = [table["low"], table["high"], table["mean"], sites["site"]]
    ends = _ends([*drawn, table["results"]] if beside else drawn)

    def elo(field: str) -> alt.Y:
        return _elo(field, "Elo by results and moves", ends)

    base = alt.Chart(table).encode(x=x, color=colour, detail="piece:N")
    layers: list[Any] = []
    if wide:
        layers.append(
            base.mark_area(opacity=0.16, clip=True).encode(y=elo("low"), y2=alt.Y2("high:Q"))
        )
    if beside:
        dashed = base.mark_line(strokeDash=[6, 4], strokeWidth=1.3, clip=True)
        layers.append(dashed.encode(y=elo("results")))
    layers.append(base.mark_line(strokeWidth=2.4, clip=True).encode(y=elo("mean")))
    # A piece of a single period makes no line: a dot, with its band as a bar.
    alone = alt.Chart(table.filter(pl.len().over("player", "piece") == 1)).encode(x=x, color=colour)
    layers.append(alone.mark_point(filled=True, size=40, shape="diamond").encode(y=elo("mean")))
    if wide:
        layers.append(alone.mark_rule(opacity=0.4).encode(y=elo("low"), y2=alt.Y2("high:Q")))
    if not sites.is_empty():
        marks = alt.Chart(sites).encode(x=x, color=colour)
        layers.append(
            marks.mark_rule(opacity=0.35, clip=True).encode(y=elo("below"), y2=alt.Y2("above:Q"))
        )
        layers.append(marks.mark_point(filled=True, size=28, opacity=0.8).encode(y=elo("site")))
    if 1 < len(names) <= MOST:
        frame = Frame(width, height, span, ends)
        layers += names_beside(ends_of_lines(table), frame, x, elo, colour)
    elif len(names) > MOST:
        layers += _names_at_peaks(table, x, elo("mean"), colour)
    said = [f"Solid: results and moves together{_BAND_SAID[band]}."]
    if beside:
        said[0] += " Dashed: results alone, moved to the same average."
    if not sites.is_empty():
        said.append(
            f"Points: one year's moves alone, {sites_with} turns or more, ± 1 standard deviation."
        )
    lines = [*subtitle, *said, ASSUMPTION]
    name = title or (names[0] if len(names) == 1 else "Skill by results and moves")
    return alt.layer(*layers).properties(
        width=width, height=height, title=alt.TitleParams(name, subtitle=lines)
    )


def inflation_chart(
    table: pl.DataFrame, *, title: str = "", subtitle: Sequence[str] = (),
    beside: pl.DataFrame | None = None, width: int = 640, height: int = 300,
) -> alt.TopLevelMixin:  # fmt: skip
    """Return the level of a group through time with its 95 % band, and the turns beneath.

    Parameters
    ----------
    table
        What `History.inflation` returned.
    title, subtitle
        Title.
    beside
        Another level by time, drawn dotted: time, change, name.
    width, height
        The size of the upper plot.
    """
    import altair as alt

    rows = table.with_columns(
        time=pl.Series([clock_of(each, "year") for each in table["time"]]),
        low=pl.col("change") - 1.96 * pl.col("change_sd"),
        high=pl.col("change") + 1.96 * pl.col("change_sd"),
    )
    times = rows["time"].to_list()
    x = year_axis("time", (min(times), max(times)))
    curves = [
        rows.select("time", value="change", what=pl.lit("results and moves")),
        rows.select("time", value="change_results", what=pl.lit("results alone")),
    ]
    if beside is not None:
        curves.append(beside.select(pl.col("time").cast(pl.Float64), value="change", what="name"))
    lines = pl.concat(curves)
    names = lines["what"].unique(maintain_order=True).to_list()
    colours = [PALETTE[0], PALETTE[1], INK][: len(names)]
    colour = alt.Color(
        "what:N", title=None, legend=None, scale=alt.Scale(domain=names, range=colours)
    )
    ends = _ends([rows["low"], rows["high"], lines["value"]])

    def y(field: str) -> alt.Y:
        return _elo(field, "Elo above or below the reference", ends)

    band = alt.Chart(rows).mark_area(opacity=0.18, color=PALETTE[0]).encode(
        x=x, y=y("low"), y2=alt.Y2("high:Q")
    )  # fmt: skip
    dash = alt.StrokeDash(
        "what:N", legend=None,
        scale=alt.Scale(domain=names, range=[[1, 0], [6, 4], [2, 3]][: len(names)]),
    )  # fmt: skip
    curve = alt.Chart(lines).mark_line(strokeWidth=2.2).encode(
        x=x, y=y("value"), color=colour, strokeDash=dash
    )  # fmt: skip
    group = table["group"][0]
    lines_said = [*subtitle, "The band holds the true level with 95 % chance."]
    last = lines.drop_nulls("value").sort("time").unique("what", keep="last", maintain_order=True)
    named = names_beside(
        list(last.select("time", "value", "what").iter_rows()),
        Frame(width, height, (min(times), max(times)), ends), x, y, colour,
    )  # fmt: skip
    above = alt.layer(band, curve, *named).properties(
        width=width, height=height,
        title=alt.TitleParams(title or f"The level of {group_said(group)}", subtitle=lines_said),
    )  # fmt: skip
    turns = alt.Chart(rows.filter(pl.col("turns") > 0)).mark_bar(color="#777777", width=7).encode(
        x=x, y=alt.Y("turns:Q", title="moves judged", axis=alt.Axis(tickCount=3))
    )  # fmt: skip
    whole: alt.TopLevelMixin = alt.vconcat(
        above, turns.properties(width=width, height=70)
    ).resolve_scale(x="shared")
    return whole


_BAND_SAID = {
    "sd": ", with one standard deviation to either side", "95": ", with a 95 % band", "none": "",
}  # fmt: skip


def group_said(group: str) -> str:
    """Return the name of a group in words."""
    kind, _, number = group.partition(":")
    return f"the top {number}" if kind == "top" else "everybody" if group == "all" else group


def _names_at_peaks(table: pl.DataFrame, x: alt.X, y: alt.Y, colour: alt.Color) -> list[Any]:
    """The players' family names above their peaks, on a pale edge.

    A peak is a time that is high for sure: late years of a few games would draw names together.
    """
    import altair as alt

    sure = pl.col("mean") - pl.col("sd")
    peaks = table.sort(sure, descending=True).unique("player", keep="first", maintain_order=True)
    labels = alt.Chart(peaks).transform_calculate(who="split(datum.player, ',')[0]")
    labels = labels.encode(x=x, y=y, text="who:N")
    style: dict[str, Any] = {"dy": -9, "fontSize": 13, "fontWeight": "bold"}
    edge = labels.mark_text(stroke=PAPER, strokeWidth=4, **style)
    return [edge, labels.encode(color=colour).mark_text(**style)]


def _ends(drawn: Sequence[pl.Series]) -> tuple[float, float]:
    """Where the axis ends, in whole fifties: all that is drawn is inside; bars may be cut."""
    values = pl.concat([each.cast(pl.Float64) for each in drawn]).drop_nulls()
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return math.floor(low / 50.0) * 50.0, math.ceil(high / 50.0 + 0.2) * 50.0


def _elo(field: str, title: str, ends: tuple[float, float] | None = None) -> alt.Y:
    import altair as alt

    scale = alt.Scale(zero=False) if ends is None else alt.Scale(domain=list(ends), nice=False)
    return alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format="d"))
