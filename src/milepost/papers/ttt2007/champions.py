"""The strongest players of the 2007 paper: Morphy, and Kasparov, Kramnik and Anand in 2006."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from milepost.history import History
from milepost.papers.experiment import FAILS, HOLDS, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide
from milepost.papers.ttt2007.data import (
    ABOUT,
    SPANS,
    games_of,
    history_of,
    need_players,
    verdict_of,
)
from milepost.report.charts import year_axis

_MORPHY = "Morphy, Paul"
_KASPAROV, _KRAMNIK, _ANAND = "Kasparov, Gary", "Kramnik, Vladimir", "Anand, Viswanathan"
_FISCHER, _SPASSKY = "Fischer, Robert James", "Spassky, Boris V"
_CONTENDER = 0.05
"""A player is a contender if he was the stronger with more than this probability."""
_OPPONENTS = 10
"""A player with fewer opponents is not ranked: of some only the games won were written down."""


@experiment("2007-champions", paper="2007", title="Morphy, Kasparov, Kramnik, Anand")
def run(folder: Folder) -> Outcome:
    """Compare champions with their rivals, in both models and both spans of years."""
    history = history_of(folder, "1850-2006", "ttt-d")
    need_players(history, _MORPHY, _KASPAROV, _KRAMNIK, _ANAND)
    ranked = _ranked(history, games_of(folder))
    best = _best_by_year(ranked, 1850, 1939, _MORPHY)
    summit = _peak(history, _MORPHY)
    rivals = best.with_columns(
        morphy=pl.Series(
            [
                history.compare(
                    _MORPHY, row["player"], summit["time"], row["year"]
                ).probability_as_fitted
                for row in best.iter_rows(named=True)
            ],
            dtype=pl.Float64,
        )
    )
    then = rivals.filter(pl.col("year") <= 1866)
    after = rivals.filter(pl.col("year") >= 1859)
    first, later = _lowest(then), _lowest(after)
    pairs = _pairs(folder)
    chance = _chance(pairs, "1850-2006", "TTT-D", "Kasparov over Kramnik, 2006")
    all_years = _chance(pairs, "all years", "TTT-D", "Kasparov over Kramnik, 2006")
    anand = _chance(pairs, "1850-2006", "TTT-D", "Anand over Kasparov, 2006")
    need_players(history, _FISCHER, _SPASSKY)
    fischer = history.compare(_FISCHER, _SPASSKY, 1972, 1972).probability_as_fitted
    tops = _tops(ranked)
    first_two = tops.head(2).to_dicts()
    over = history.compare(
        first_two[0]["player"], first_two[1]["player"], first_two[0]["time"], first_two[1]["time"]
    ).probability_as_fitted
    findings = (
        decide(
            "2007-morphy",
            f"his skill in {summit['time']} ({summit['mean']:.0f} ± {summit['sd']:.0f}) is above "
            f"the best other of each year 1850-66 with a probability of at least "
            f"{first['morphy']:.3f} (against {first['player']} in {first['year']})",
            verdict_of(first["morphy"]),
        ),
        decide(
            "2007-morphy-80",
            f"his mean is above that of the best of each year 1859-1939 in "
            f"{after.filter(pl.col('mean') < summit['mean']).height} of {after.height} years, "
            f"with a probability of 0.95 in {after.filter(pl.col('morphy') >= 0.95).height}; "
            f"nearest is {later['player']} in {later['year']} ({later['mean']:.0f} ± "
            f"{later['sd']:.0f}): {later['morphy']:.2f}",
            verdict_of(later["morphy"]),
        ),
        decide(
            "2007-fischer-spassky",
            f"probability that Fischer was the stronger in 1972: {fischer:.3f} (TTT-D)",
            verdict_of(fischer),
        ),
        decide(
            "2007-kramnik",
            f"probability that he was stronger: {chance:.2f} (TTT-D, 1850-2006), {all_years:.2f} "
            "with the years after as well; the lower of the two decides. The other model is in "
            "the table",
            verdict_of(min(chance, all_years)),
        ),
        decide(
            "2007-anand",
            f"probability that he was stronger than Kasparov: {anand:.2f} (TTT-D, 1850-2006); "
            f"above {_CONTENDER} he is one, a limit of ours",
            HOLDS if anand > _CONTENDER else FAILS,
        ),
        decide(
            "2007-kasparov",
            f"highest peaks: {_said(first_two[0])}, then {_said(first_two[1])}; probability that "
            f"the first was higher {over:.2f}",
            verdict_of(over if first_two[0]["player"] == _KASPAROV else 1.0 - over),
        ),
    )
    return Outcome(
        data=f"{ABOUT}; ranked are players with {_OPPONENTS} opponents or more in all",
        n=history.games,
        unit="games",
        findings=findings,
        tables={"Pairs": pairs, "Highest peaks": tops, "Best of each year, and Morphy": rivals},
        charts={"Morphy and the best of each year": _morphy_chart(rivals, summit)},
        notes=(
            (
                "Before 1990 the table holds famous events only, and of the 1850s few games: of "
                "Louis Eichborn 29 games are left, nearly all of them won against Anderssen, so "
                "he would be the strongest of the century. Players with fewer than ten "
                "opponents are therefore not ranked."
            ),
            (
                "Skills of different eras are tied together by overlapping careers and by the "
                "assumption that newcomers of all times are alike; the probabilities count "
                "neither."
            ),
            "Kasparov retired in 2005; the few later games are fast ones.",
        ),
    )


def _ranked(history: History, games: pl.DataFrame) -> pl.DataFrame:
    """The curves of players with enough opponents."""
    pairs = pl.concat([
        games.select(player="player_1", other="player_2"),
        games.select(player="player_2", other="player_1"),
    ])  # fmt: skip
    opponents = pairs.group_by("player").agg(pl.col("other").n_unique())
    enough = opponents.filter(pl.col("other") >= _OPPONENTS)["player"]
    return history.curves.filter(pl.col("player").is_in(enough.implode()))


def _best_by_year(ranked: pl.DataFrame, first: int, last: int, without: str) -> pl.DataFrame:
    curves = ranked.filter(pl.col("time").is_between(first, last), pl.col("player") != without)
    best = curves.sort("mean", descending=True).group_by("time", maintain_order=True).first()
    return best.sort("time").select(pl.col("time").alias("year"), "player", "mean", "sd", "games")


def _peak(history: History, player: str) -> dict[str, Any]:
    """The year that a player has most games of."""
    curve = history.curves.filter(pl.col("player") == player)
    return curve.sort("games", descending=True).row(0, named=True)


def _lowest(rivals: pl.DataFrame) -> dict[str, Any]:
    if rivals.is_empty():
        return {"player": "nobody", "year": 0, "mean": math.nan, "sd": math.nan, "morphy": 0.5}
    return rivals.sort("morphy").row(0, named=True)


def _tops(ranked: pl.DataFrame) -> pl.DataFrame:
    rows = ranked.filter(pl.col("games") >= 10).sort("mean", descending=True)
    top = rows.group_by("player", maintain_order=True).first()
    return top.select("player", "time", "mean", "sd", "games").head(20)


def _pairs(folder: Folder) -> pl.DataFrame:
    rows = []
    for span in SPANS:
        for model, name in (("ttt", "TTT"), ("ttt-d", "TTT-D")):
            history = history_of(folder, span, model)
            for one, two in ((_KASPAROV, _KRAMNIK), (_KASPAROV, _ANAND), (_ANAND, _KASPAROV)):
                answer = history.compare(one, two, 2006, 2006)
                pair = f"{one.split(',')[0]} over {two.split(',')[0]}, 2006"
                rows.append({
                    "years": span, "model": name, "pair": pair,
                    "difference": answer.difference.mean, "sd": answer.difference.sd,
                    "probability": answer.probability_as_fitted,
                })  # fmt: skip
    return pl.DataFrame(rows)


def _chance(pairs: pl.DataFrame, span: str, model: str, pair: str) -> float:
    found = pairs.filter(pl.col("years") == span, pl.col("model") == model, pl.col("pair") == pair)
    return float(found["probability"][0])


def _said(row: dict[str, Any]) -> str:
    return f"{row['player']} {row['time']} ({row['mean']:.0f} ± {row['sd']:.0f})"


def _morphy_chart(rivals: pl.DataFrame, summit: dict[str, Any]) -> Any:
    import altair as alt

    table = rivals.with_columns(
        low=pl.col("mean") - pl.col("sd"), high=pl.col("mean") + pl.col("sd")
    )
    x = year_axis()
    bars = alt.Chart(table).mark_rule(color="#0072B2", opacity=0.5).encode(
        x=x, y=alt.Y("low:Q", title="skill", scale=alt.Scale(zero=False)), y2="high:Q"
    )  # fmt: skip
    points = alt.Chart(table).mark_point(color="#0072B2").encode(x=x, y="mean:Q")
    level = pl.DataFrame({
        "mean": [summit["mean"]], "low": [summit["mean"] - summit["sd"]],
        "high": [summit["mean"] + summit["sd"]],
    })  # fmt: skip
    band = alt.Chart(level).mark_rect(color="#D55E00", opacity=0.15).encode(y="low:Q", y2="high:Q")
    line = alt.Chart(level).mark_rule(color="#D55E00", strokeWidth=2).encode(y="mean:Q")
    name = f"Morphy in {summit['time']} (line) and the best other of each year, ± 1 sd"
    return alt.layer(band, line, bars, points).properties(title=name)
