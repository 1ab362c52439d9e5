"""The 2007 paper on the top: playing strength over 150 years, and its rise since the 1980s."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from milepost.history import History
from milepost.history.numerics.gaussians import below
from milepost.papers.experiment import MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide
from milepost.papers.ttt2007.data import ABOUT, history_of, verdict_of
from milepost.report.charts import legend_below, year_axis

_TOP, _GAMES = 20, 10
"""The top: so many players of each year, with so many games in it."""
_BEGIN, _BEFORE, _SINCE, _END = 1900, 1950, 1980, 2006
_FIXED, _LEARNED = "newcomers always alike (the paper)", "newcomers' level learned"


@experiment("2007-top", paper="2007", title="The top's rise, and how far it can be told")
def run(folder: Folder) -> Outcome:
    """Follow the mean of the best twenty, with and without the paper's view of newcomers."""
    fixed = history_of(folder, "1850-2006", "ttt")
    learned = history_of(folder, "1850-2006", "ttt", newcomers="learn")
    top = pl.concat([_top(fixed, _FIXED), _top(learned, _LEARNED)])
    rise = {name: _rise(top, name, _BEGIN, _END) for name in (_FIXED, _LEARNED)}
    rates = {
        name: (_rise(top, name, _BEFORE, _SINCE), _rise(top, name, _SINCE, _END))
        for name in (_FIXED, _LEARNED)
    }
    faster = [_faster(*rates[name]) for name in (_FIXED, _LEARNED)]
    gain = (learned.log_evidence - fixed.log_evidence) / fixed.games
    level = dict(learned.paths.select("time", "newcomer_mean").iter_rows())
    findings = (
        decide(
            "2007-strength",
            f"mean of the best {_TOP}, {_BEGIN} to {_END}: {_said(rise[_FIXED])} points; with a "
            f"learned level of newcomers {_said(rise[_LEARNED])}. Before {_BEGIN} there are too "
            "few players a year",
            verdict_of(min(_chance(each) for each in rise.values())),
        ),
        decide(
            "2007-since-1980",
            f"points a decade: {_rate(rates[_FIXED][0])} in {_BEFORE}-{_SINCE}, "
            f"{_rate(rates[_FIXED][1])} in {_SINCE}-{_END}; with a learned level of newcomers "
            f"{_rate(rates[_LEARNED][0])} and {_rate(rates[_LEARNED][1])}",
            verdict_of(min(faster)),
        ),
    )
    return Outcome(
        data=f"{ABOUT}; the top: the best {_TOP} of each year with {_GAMES} games or more in it",
        n=fixed.games,
        unit="games",
        findings=findings,
        tables={"The top by year": top},
        charts={"The top by year": _chart(top)},
        notes=(
            (
                "A level through time is not in the results: it comes from overlapping careers, "
                "from skills that drift without trend, and from newcomers being alike at all "
                f"times. With their level learned by year, evidence is {gain:.4f} nats a game "
                f"higher, newcomers of 2000 begin at {level.get(2000, math.nan):.0f} where those "
                f"of 1990 begin at {level.get(1990, math.nan):.0f} (the table takes in club "
                "players then), and the top rises by less: part of the rise is the table growing "
                "wider. A learned level errs the other way where beginners improve as a rule."
            ),
            (
                "Errors are those of the players' skills, taken as independent; an error that "
                "all skills of an era share is not in them."
            ),
        ),
    )


def _top(history: History, name: str) -> pl.DataFrame:
    rows = history.curves.filter(pl.col("games") >= _GAMES).sort("mean", descending=True)
    best = rows.group_by("time", maintain_order=True).head(_TOP)
    table = best.group_by(year="time").agg(
        players=pl.len(), mean=pl.col("mean").mean(), error=(pl.col("sd") ** 2).sum().sqrt()
    )
    table = table.with_columns(pl.col("error") / pl.col("players"), newcomers=pl.lit(name))
    return table.filter(pl.col("players") == _TOP).sort("year")


def _rise(top: pl.DataFrame, name: str, first: int, last: int) -> tuple[float, float, int]:
    """How far the top rose from one time to another, the means of five years at each end."""
    rows = top.filter(pl.col("newcomers") == name)
    ends = []
    for low, high in ((first, first + 4), (last - 4, last)):
        part = rows.filter(pl.col("year").is_between(low, high))
        if part.is_empty():
            raise MissingDataError(
                f"no year of {low}-{high} has {_TOP} players with {_GAMES} games"
            )
        # Neighbouring years know the same games: five of them are no surer than one.
        ends.append((float(part["mean"].mean()), float(part["error"].mean())))  # type: ignore[arg-type]
    change = ends[1][0] - ends[0][0]
    return change, math.hypot(ends[0][1], ends[1][1]), last - first - 4


def _chance(rise: tuple[float, float, int]) -> float:
    return below(rise[0] / rise[1])


def _faster(before: tuple[float, float, int], since: tuple[float, float, int]) -> float:
    apart = since[0] / since[2] - before[0] / before[2]
    error = math.hypot(since[1] / since[2], before[1] / before[2])
    return below(apart / error)


def _said(rise: tuple[float, float, int]) -> str:
    return f"{rise[0]:+.0f} ± {rise[1]:.0f}"


def _rate(rise: tuple[float, float, int]) -> str:
    return f"{10 * rise[0] / rise[2]:.0f} ± {10 * rise[1] / rise[2]:.0f}"


def _chart(top: pl.DataFrame) -> Any:
    import altair as alt

    table = top.filter(pl.col("year") >= _BEGIN).with_columns(
        low=pl.col("mean") - 1.96 * pl.col("error"), high=pl.col("mean") + 1.96 * pl.col("error")
    )
    x = year_axis()
    colour = alt.Color("newcomers:N", legend=legend_below())
    height = alt.Y("mean:Q", title="skill", scale=alt.Scale(zero=False))
    band = alt.Chart(table).mark_area(opacity=0.2).encode(
        x=x, y=alt.Y("low:Q", title="skill", scale=alt.Scale(zero=False)), y2="high:Q",
        color=colour,
    )  # fmt: skip
    line = alt.Chart(table).mark_line().encode(x=x, y=height, color=colour)
    return alt.layer(band, line).properties(title=f"Mean skill of the best {_TOP} of each year")
