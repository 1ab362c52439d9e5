"""Charts of a joint history: curves on the scale of moves, and the level of an era."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.history.joint.moves_fit import ASSUMPTION
from milepost.history.periods import clock_of
from milepost.report.charts import PALETTE, legend_below, year_axis
from milepost.report.history_curves import BANDS, curve_points
from milepost.report.labels import MOST, Frame, ends_of_lines, names_beside

if TYPE_CHECKING:
    import altair as alt

    from milepost.history import History

GAP_YEARS = 3.0
"""Curves are broken where a player has no games for longer than this."""


def joint_points(
    history: History, players: Sequence[str], *, first: Any = None, last: Any = None
) -> pl.DataFrame:
    """Return intrinsic Elo along players' lives, with what results alone say at the same slope.

    Returns
    -------
    polars.DataFrame
        player, time, mean, sd (intrinsic Elo), results (results alone: the era of the joint scale
        at its mean through the player's years, so that its shape can be compared), site, site_sd,
        turns, part (a number that changes in long gaps without games).
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
        part, since = 0, None
        for row in points.iter_rows(named=True):
            time = row["time"]
            if row["games"]:
                part += since is not None and time - since > GAP_YEARS
                since = time
            elif since is not None and _next_game(points, time) - since > GAP_YEARS:
                continue
            belief = moves.intrinsic(history.skill(key, time), time)
            alone = moves.results_only.at(key, time).mean
            site = sites.get(time, {})
            rows.append({
                "player": row["player"], "time": time, "mean": belief.mean, "sd": belief.sd,
                "results": level + moves.slope * (alone - moves.mu),
                "site": site.get("moves_site"), "site_sd": site.get("moves_sd"),
                "turns": site.get("moves_n"), "part": part,
            })  # fmt: skip
    kinds = {"player": pl.String, "time": pl.Float64, "mean": pl.Float64, "sd": pl.Float64,
             "results": pl.Float64, "site": pl.Float64, "site_sd": pl.Float64, "turns": pl.Int64,
             "part": pl.Int64}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds)


def joint_chart(
    history: History, players: Sequence[str], *, band: str = "sd", first: Any = None,
    last: Any = None, title: str = "", subtitle: Sequence[str] = (), width: int = 640,
    height: int = 380, sites_with: int = 50,
) -> alt.TopLevelMixin:  # fmt: skip
    """Return joint curves with bands, results alone dashed, sites as points with bars.

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
    """
    import altair as alt

    if band not in BANDS:
        raise InputError(f"expected a band of {', '.join(BANDS)}; got {band!r}")
    wide = BANDS[band]
    table = joint_points(history, players, first=first, last=last).with_columns(
        low=pl.col("mean") - wide * pl.col("sd"), high=pl.col("mean") + wide * pl.col("sd")
    )
    names = table["player"].unique(maintain_order=True).to_list()
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    colour = alt.Color(
        "player:N", title=None, scale=alt.Scale(domain=names, range=colours),
        legend=None if len(names) <= MOST else legend_below(),
    )  # fmt: skip
    times = table["time"].to_list()
    x = year_axis("time", (min(times), max(times)))
    base = alt.Chart(table).encode(x=x, color=colour, detail="part:N")
    layers: list[Any] = []
    if wide:
        layers.append(base.mark_area(opacity=0.16).encode(y=_elo("low"), y2=alt.Y2("high:Q")))
    layers.append(base.mark_line(strokeDash=[6, 4], strokeWidth=1.3).encode(y=_elo("results")))
    layers.append(base.mark_line(strokeWidth=2.4).encode(y=_elo("mean")))
    sites = table.filter(pl.col("turns") >= sites_with).with_columns(
        below=pl.col("site") - pl.col("site_sd"), above=pl.col("site") + pl.col("site_sd")
    )
    if not sites.is_empty():
        marks = alt.Chart(sites).encode(x=x, color=colour)
        layers.append(
            marks.mark_rule(opacity=0.35, clip=True).encode(y=_elo("below"), y2=alt.Y2("above:Q"))
        )
        layers.append(
            marks.mark_point(filled=True, size=28, opacity=0.8, clip=True).encode(y=_elo("site"))
        )
    if 1 < len(names) <= MOST:
        heights = [h for name in ("low", "high", "results") for h in table[name].drop_nulls()]
        frame = Frame(width, height, (min(times), max(times)), (min(heights), max(heights)))
        layers += names_beside(ends_of_lines(table), frame, x, _elo, colour)
    said = [
        f"solid: results and moves{_BAND_SAID[band]}; dashed: results alone, at the same mean level"
    ]
    if not sites.is_empty():
        said.append(f"points: what a year's moves say alone ({sites_with} turns or more) ± 1 sd")
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
    colour = alt.Color(
        "what:N", title=None, legend=legend_below(),
        scale=alt.Scale(domain=names, range=PALETTE[: len(names)]),
    )  # fmt: skip
    y = "change of level, Elo"
    band = alt.Chart(rows).mark_area(opacity=0.18, color=PALETTE[0]).encode(
        x=x, y=_elo("low", y), y2=alt.Y2("high:Q")
    )  # fmt: skip
    dash = alt.StrokeDash(
        "what:N", legend=None,
        scale=alt.Scale(domain=names, range=[[1, 0], [6, 4], [2, 3]][: len(names)]),
    )  # fmt: skip
    curve = alt.Chart(lines).mark_line(strokeWidth=2).encode(
        x=x, y=_elo("value", y), color=colour, strokeDash=dash
    )  # fmt: skip
    group = table["group"][0]
    lines_said = [*subtitle, "band: 95 %, beside the reference, where the change is 0"]
    above = alt.layer(band, curve).properties(
        width=width, height=height,
        title=alt.TitleParams(title or f"The level of {group_said(group)}", subtitle=lines_said),
    )  # fmt: skip
    turns = alt.Chart(rows.filter(pl.col("turns") > 0)).mark_bar(color="#777").encode(
        x=x, y=alt.Y("turns:Q", title="turns")
    )  # fmt: skip
    whole: alt.TopLevelMixin = alt.vconcat(
        above, turns.properties(width=width, height=70)
    ).resolve_scale(x="shared")
    return whole


_BAND_SAID = {"sd": " ± 1 standard deviation", "95": " and its 95 % band", "none": ""}


def group_said(group: str) -> str:
    """Return the name of a group in words."""
    kind, _, number = group.partition(":")
    return f"the top {number}" if kind == "top" else "everybody" if group == "all" else group


def _next_game(points: pl.DataFrame, time: float) -> float:
    later = points.filter((pl.col("time") > time) & (pl.col("games") > 0))["time"]
    return float(later[0]) if len(later) else float("inf")


def _elo(field: str, title: str = "intrinsic Elo") -> alt.Y:
    import altair as alt

    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False))
