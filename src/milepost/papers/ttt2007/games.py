"""The 2007 paper's data: games a year (its Figure 2), and the size of the graph."""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide
from milepost.papers.ttt2007.data import ABOUT, SPANS, THIN_BEFORE, games_of, history_of
from milepost.report.charts import PALETTE, year_axis

_PAPER_GAMES = 3_500_000
_PAPER_VARIABLES, _PAPER_FACTORS = 11_700_000, 15_200_000
"""Of the graph of TTT, from memory, not read off the paper again. They are what 3 variables and 4
factors a game, and one of each a player and year, come to with 3.5 million games and the 1.2
million skills that its authors told of later."""


@experiment("2007-games", paper="2007", title="Games a year, and the size of the graph")
def run(folder: Folder) -> Outcome:
    """Count games, players and the graph's parts."""
    games = games_of(folder, "all years")
    by_year = games.group_by(year="time").agg(
        games=pl.len(), drawn=(pl.col("score") == 0.5).mean(), fast=pl.col("fast").sum()
    )
    by_year = by_year.sort("year")
    sizes = _sizes(folder)
    paper = sizes.row(0, named=True)
    whole = sizes.row(1, named=True)
    recent = by_year.filter(pl.col("year").is_between(THIN_BEFORE, 2006))["games"].sum()
    share = recent / paper["games"]
    early, late = _mean_games(by_year, 1850, 1900), _mean_games(by_year, 1997, 2006)
    findings = (
        decide(
            "2007-recorded",
            f"{early:.0f} a year in 1850-1900, {late:,.0f} in 1997-2006; {100 * share:.0f} % of "
            f"the games of 1850-2006 are of {THIN_BEFORE} and later",
            HOLDS if late > 10 * early else FAILS,
        ),
        decide(
            "2007-size",
            f"this table has {paper['games']:,} games by {paper['players']:,} players in those "
            f"years, and before {THIN_BEFORE} the best-known events only",
            HOLDS if paper["games"] >= _PAPER_GAMES else TOO_LITTLE,
        ),
        decide(
            "2007-graph",
            f"all years: {whole['variables']:,} variables, {whole['factors']:,} factors "
            f"({100 * whole['variables'] / _PAPER_VARIABLES:.0f} % of the paper's variables), "
            f"{whole['sweeps']} sweeps, {'converged' if whole['converged'] else 'NOT converged'}",
            _graph_verdict(whole),
        ),
    )
    return Outcome(
        data=ABOUT,
        n=games.height,
        unit="games",
        findings=findings,
        tables={"Sizes": sizes, "By decade": _by_decade(games), "By year": by_year},
        charts={"Games a year": _chart(by_year)},
        notes=(
            (
                "A graph of TTT has three variables a game (two performances, their "
                "difference), four factors a game (two performances, the difference, the "
                "result), and a skill and the factor before it for each player and year with "
                "games."
            ),
            "The paper's graph of TTT-D is not compared: we do not know how it was counted.",
        ),
    )


def _mean_games(by_year: pl.DataFrame, first: int, last: int) -> float:
    total = by_year.filter(pl.col("year").is_between(first, last))["games"].sum()
    return float(total) / (last - first + 1)


def _graph_verdict(size: dict[str, Any]) -> Any:
    if not size["converged"]:
        return FAILS
    return HOLDS if size["variables"] >= 0.5 * _PAPER_VARIABLES else TOO_LITTLE


def _sizes(folder: Folder) -> pl.DataFrame:
    rows = []
    for span in SPANS:
        found = history_of(folder, span, "ttt")
        rows.append({
            "years": span, "games": found.games, "players": found.players,
            "player_years": found.nodes, "variables": 3 * found.games + found.nodes,
            "factors": 4 * found.games + found.nodes, "sweeps": found.sweeps,
            "converged": found.converged,
        })  # fmt: skip
    rows.append({
        "years": "the paper", "games": _PAPER_GAMES, "players": None, "player_years": None,
        "variables": _PAPER_VARIABLES, "factors": _PAPER_FACTORS, "sweeps": None,
        "converged": None,
    })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _by_decade(games: pl.DataFrame) -> pl.DataFrame:
    decade = (pl.col("time") // 10 * 10).alias("decade")
    drawn = (pl.col("score") == 0.5).mean().alias("drawn")
    return (
        games.group_by(decade)
        .agg(pl.len().alias("games"), drawn, pl.col("fast").sum())
        .sort("decade")
    )


def _chart(by_year: pl.DataFrame) -> Any:
    import altair as alt

    # A logarithmic axis has no zero for the area to stand on: it stands on one game.
    tens = [10**power for power in range(len(str(max(by_year["games"]))) + 1)]
    scale = alt.Scale(type="log", domain=[1, tens[-1]])
    return (
        alt.Chart(by_year)
        .mark_area(
            line={"color": PALETTE[0]}, opacity=0.35, color=PALETTE[0], interpolate="step-after"
        )
        .encode(
            x=year_axis(),
            y=alt.Y(
                "games:Q",
                title="games (logarithmic)",
                scale=scale,
                axis=alt.Axis(values=tens, format=","),
            ),
            y2=alt.Y2Datum(1),
        )
        .properties(title="Games a year")
    )
