"""Skill curves with their bands, as in Figures 3 and 4 of the 2007 paper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost.errors import InputError
from milepost.history.eras import CAUTION_YEARS
from milepost.history.models import TTT, TTTD, TrueSkill
from milepost.history.periods import LONG_GAP, clock_of
from milepost.report.charts import PALETTE, legend_below, year_axis
from milepost.report.labels import MOST, Frame, ends_of_lines, names_beside

if TYPE_CHECKING:
    import altair as alt

    from milepost.history import History

BANDS = {"sd": 1.0, "95": 1.959964, "none": 0.0}
"""How many standard deviations a band reaches to either side, by its name."""
STRAY_GAMES = 10
"""Years of fewer games than this in all, and of under a tenth of those of the longest piece, that
lie apart from the others are taken as a namesake's and not drawn."""
_APART = 3.0
"""Years: games are apart from others that are further away than this."""
_MOST_YEARS = 2000
"""A curve gets no more points than this beside those of its games."""


def curve_points(
    history: History, players: Sequence[str], *, first: Any = None, last: Any = None,
    gap: float | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Return what a history believes about players along their lives.

    There is a point for every period with games and, between a player's first and last one, for
    every whole unit of time without (a year, for dates): there the belief is wider. In a long gap
    there are none: another piece of the curve begins behind it. A piece of a few games beside a
    long one is left out: it is hardly ever the same person (`STRAY_GAMES`). Models that answer no
    questions, and histories whose clock counts games, have the periods alone.

    Parameters
    ----------
    history
        The history.
    players
        The players: their keys, names, or parts of them.
    first, last
        The time range; `None` = the whole life.
    gap
        Times without games longer than this break a curve; `None` = five years, where the times
        are years or dates.

    Returns
    -------
    polars.DataFrame
        player (the name as written), time (a number: years, for dates), mean, sd, games,
        margin_mean, margin_sd, piece (the number of the piece of the curve).

    Raises
    ------
    InputError
        If nothing is left of a player's curve, or he is not known.
    """
    period = history.period
    low = -math.inf if first is None else clock_of(first, period)
    high = math.inf if last is None else clock_of(last, period)
    between = period != "game" and isinstance(history.model, TTT | TTTD | TrueSkill)
    in_years = isinstance(period, str) or history.curves["time"].dtype.is_temporal()
    long = math.inf if period == "game" else LONG_GAP if in_years else math.inf
    long = long if gap is None else gap
    rows: list[dict[str, Any]] = []
    for typed in players:
        key = history.key_of(typed)
        player = history.name_of(key)
        curve = history.curves.filter(pl.col("player") == key)
        nodes: dict[float, Mapping[str, Any]] = {
            clock_of(row["time"], period): row for row in curve.iter_rows(named=True)
        }
        times = set(nodes)
        if between and max(nodes) - min(nodes) <= _MOST_YEARS:
            times |= {float(t) for t in range(math.ceil(min(nodes)), math.ceil(max(nodes)))}
        nodes, gaps = _without_strays(nodes, long)
        times = {t for t in times if min(nodes) <= t <= max(nodes)}
        times -= {t for t in times for a, b in gaps if a < t < b}
        shown = sorted(t for t in times if low <= t <= high)
        if not shown:
            raise InputError(f"{player} has no games in this time")
        for time in shown:
            row = nodes.get(time)
            if row is None:
                belief = history.skill(key, time)
                row = {"mean": belief.mean, "sd": belief.sd, "games": 0}
            rows.append({
                "player": player, "time": time, "mean": row["mean"], "sd": row["sd"],
                "games": row["games"], "margin_mean": row.get("margin_mean"),
                "margin_sd": row.get("margin_sd"),
                "piece": sum(end <= time for _, end in gaps),
            })  # fmt: skip
    kinds = {"player": pl.String, "time": pl.Float64, "mean": pl.Float64, "sd": pl.Float64,
             "games": pl.Int64, "margin_mean": pl.Float64, "margin_sd": pl.Float64,
             "piece": pl.Int64}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds)


def _without_strays(
    nodes: Mapping[float, Mapping[str, Any]], long: float
) -> tuple[dict[float, Mapping[str, Any]], list[tuple[float, float]]]:
    """The periods of a curve without those of strays, and the long gaps between them.

    Names are not persons. A few games many years from all others are most often a namesake's.
    """
    starts = sorted(nodes)
    apart = min(_APART, long) if long <= LONG_GAP else long
    cuts = [place for place in range(1, len(starts)) if starts[place] - starts[place - 1] > apart]
    pieces = [starts[a:b] for a, b in itertools.pairwise([0, *cuts, len(starts)])]
    games = [sum(nodes[time]["games"] or 0 for time in piece) for piece in pieces]
    least = min(STRAY_GAMES, 0.1 * max(games))
    kept = [piece for piece, count in zip(pieces, games, strict=True) if count >= least]
    gaps = [(one[-1], two[0]) for one, two in itertools.pairwise(kept) if two[0] - one[-1] > long]
    return {time: nodes[time] for piece in kept for time in piece}, gaps


def pieces_of(points: pl.DataFrame, gap: float = LONG_GAP) -> pl.DataFrame:
    """Return points of curves with the numbers of the pieces that long gaps leave."""
    apart = (pl.col("time").diff() > gap).fill_null(False).over("player")
    ordered = points.sort("player", "time", maintain_order=True)
    return ordered.with_columns(piece=apart.cast(pl.Int64).cum_sum().over("player"))


def curves_chart(
    points: pl.DataFrame,
    *,
    band: str = "sd",
    beside: pl.DataFrame | None = None,
    margins: bool = True,
    title: str = "",
    subtitle: Sequence[str] = (),
    unit: str = "points",
    width: int = 640,
    height: int = 380,
) -> alt.TopLevelMixin:
    """Return skill curves: solid the mean with its band, dashed the mean plus the draw margin.

    Parameters
    ----------
    points
        What `curve_points` returned.
    band
        ``"sd"`` (one standard deviation to either side), ``"95"`` (the central 95 %) or ``"none"``.
    beside
        Points of another history, drawn dotted.
    margins
        Whether to draw the dashed curves where there are margins.
    title, subtitle
        Title and subtitle; what the lines mean is added.
    unit
        What the numbers are.
    width, height
        The size of the plot.
    """
    import altair as alt

    if band not in BANDS:
        raise InputError(f"expected a band of {', '.join(BANDS)}; got {band!r}")
    wide = BANDS[band]
    dashed = margins and points["margin_mean"].drop_nulls().len() > 0
    players = points["player"].unique(maintain_order=True).to_list()
    whole = [] if "piece" in points.columns else [pl.lit(0).alias("piece")]
    table = points.with_columns(
        *whole,
        low=pl.col("mean") - wide * pl.col("sd"),
        high=pl.col("mean") + wide * pl.col("sd"),
        hard=pl.col("mean") + pl.col("margin_mean"),
    )
    direct = 1 < len(players) <= MOST
    colour = alt.Color(
        "player:N",
        title=None,
        scale=alt.Scale(
            domain=players, range=[PALETTE[i % len(PALETTE)] for i in range(len(players))]
        ),
        legend=None if len(players) == 1 or direct else legend_below(),
    )
    ends = _ends(table, beside, margins=dashed)
    times = table["time"].to_list()
    x = year_axis("time", (min(times), max(times)))

    def height_of(field: str) -> alt.Y:
        name = f"skill ({unit})"
        return alt.Y(
            f"{field}:Q", title=name, scale=alt.Scale(zero=False, domain=list(ends)),
            axis=alt.Axis(format="d"),
        )  # fmt: skip

    pieces = alt.Detail("piece:N")
    base = alt.Chart(table).encode(x=x, color=colour, detail=pieces)
    layers: list[Any] = []
    said = [f"line: mean{_BAND_SAID[band]}"]
    if wide and table["sd"].drop_nulls().len():
        layers.append(base.mark_area(opacity=0.18).encode(y=height_of("low"), y2=alt.Y2("high:Q")))
    if dashed:
        hard = alt.Chart(table.filter(pl.col("hard").is_not_null())).encode(
            x=x, color=colour, detail=pieces
        )
        layers.append(
            hard.mark_line(strokeDash=[7, 4], strokeWidth=1.5).encode(y=height_of("hard"))
        )
        said.append("dashed: mean + draw margin")
    if beside is not None:
        other = alt.Chart(beside).encode(x=x, color=colour, detail=pieces)
        layers.append(
            other.mark_line(strokeDash=[2, 3], strokeWidth=1.8).encode(y=height_of("mean"))
        )
        said.append("dotted: mean of the other history")
    layers.append(base.mark_line().encode(y=height_of("mean")))
    # A piece of a single period makes no line: a dot, with its band as a bar.
    alone = table.filter(pl.len().over("player", "piece") == 1)
    if len(alone):
        dots = alt.Chart(alone).encode(x=x, color=colour)
        layers.append(dots.mark_point(filled=True, size=35).encode(y=height_of("mean")))
        if wide and alone["sd"].drop_nulls().len():
            bars = dots.mark_rule(opacity=0.5).encode(y=height_of("low"), y2=alt.Y2("high:Q"))
            layers.append(bars)
    if table["piece"].max() != table["piece"].min():
        said.append("line broken where there are no games for years")
    if direct:
        frame = Frame(width, height, (min(times), max(times)), ends)
        layers += names_beside(ends_of_lines(table), frame, x, height_of, colour)
    elif len(players) > len(PALETTE):  # colours come twice: names stand at the peaks
        layers.append(_names_at_peaks(table, x, height_of("mean")))
    lines = [*subtitle, "; ".join(said)]
    if len(players) > 1 and float(table["time"].max() - table["time"].min()) > CAUTION_YEARS:  # type: ignore[operator,arg-type]
        lines.append("Comparing levels more than ten years apart rests on assumptions.")
    name = title or (players[0] if len(players) == 1 else "Skill through time")
    return alt.layer(*layers).properties(
        width=width, height=height, title=alt.TitleParams(name, subtitle=lines)
    )


def _names_at_peaks(table: pl.DataFrame, x: alt.X, y: alt.Y) -> Any:
    """Surnames above the highest points, for many lines."""
    import altair as alt

    peaks = table.sort("mean", "time", descending=[True, False]).unique(
        "player", keep="first", maintain_order=True
    )
    labels = alt.Chart(peaks).encode(x=x, y=y, text="who:N")
    return labels.transform_calculate(who="split(datum.player, ',')[0]").mark_text(dy=-9)


def _ends(
    table: pl.DataFrame, beside: pl.DataFrame | None, *, margins: bool
) -> tuple[float, float]:
    """The ends of the vertical axis, in whole hundreds: all lines and bands are inside."""
    names = ["mean", "low", "high", *(["hard"] if margins else [])]
    values = [value for name in names for value in table[name].drop_nulls().to_list()]
    values += [] if beside is None else beside["mean"].drop_nulls().to_list()
    step = 100.0 if max(values) - min(values) >= _HUNDREDS else 1.0
    low, high = math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step
    return (low, high) if low < high else (low - step, high + step)


_HUNDREDS = 150.0
"""From this range on the axis ends in whole hundreds."""


_BAND_SAID = {"sd": "; band: ± 1 standard deviation", "95": "; band: 95 %", "none": ""}
