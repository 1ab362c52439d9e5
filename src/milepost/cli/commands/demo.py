"""The demo: the main job on the bundled sample, from games to ratings and plots."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.commands.rate import MEANINGS, beside

_DRAWN = (
    "Steinitz, William", "Lasker, Emanuel", "Alekhine, Alexander", "Botvinnik, Mikhail",
    "Fischer, Robert James", "Karpov, Anatoly", "Kasparov, Gary", "Carlsen, Magnus",
)  # fmt: skip
"""The champions of the demo's picture: as many as there are colours."""
_ENGINE_TURNS = 12
"""Turns of a famous game that the demo lets an engine score: seconds on any machine."""


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the files.")
    ] = "demo-output",
    workers: options.Workers = options.ALL_CORES,
) -> None:
    """Try it: rate a sample of games and draw the charts.

    Takes about half a minute of one core, the first time a little more. Works without a chess
    engine. Ends with a list of the files it wrote.
    """
    from milepost.api.games import Target, parse_mapping, write_games, write_results, write_turns

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)

    def target(name: str) -> Target:
        return Target(str(folder / name))

    with as_file(files("milepost") / "data") as data:
        sample = data / "sample" / "games.pgn"
        typer.echo("Milepost demo: a league of 8 simulated players whose Elo is known")
        games = write_games([sample], target("games.parquet"), workers=workers)
        turns = write_turns([sample], target("turns.parquet"), workers=workers)
        show.note(
            f"read {games.kept:,} games of {games.players:,} players, {turns.rows:,} turns, "
            f"{games.lost:,} errors"
        )
        write_results([sample], target("results.csv"))
        matches = parse_mapping(
            "time=year,player_1=champion,player_2=challenger,wins=wins,draws=draws,losses=losses"
        )
        write_results(
            [data / "world_championships.csv"],
            target("title_matches.csv"),
            mapping=matches,
            keep_names=True,
        )
        write_turns([data / "famous_games.pgn"], target("famous_turns.parquet"), workers=1)
        store = folder / "evaluations"
        if not store.exists():
            shutil.copytree(data / "sample" / "evaluations", store)
    _analyse_some(folder, workers)
    _show_results(folder)
    _show_champions(folder)
    _show_ratings(folder)
    typer.echo("Files written:")
    for name, what in (
        ("ratings.html", "the ratings, with charts: open it in a browser"),
        ("ratings.svg", "the ratings as a picture"),
        ("ratings.csv", "the ratings as a table"),
        ("champions.svg", "the champions' skill by results, 1850-2023"),
        ("games.parquet", "the games"),
        ("turns.parquet", "every decision"),
        ("spreads.parquet", "every decision with the worth of every option"),
        ("results.csv", "who beat whom"),
        ("title_matches.csv", "world championship games"),
        ("famous_turns.parquet", "every decision of a few famous games"),
        ("evaluations", "the engine's evaluations (milepost store info)"),
    ):
        typer.echo(f"  {folder / name}: {what}")
    typer.echo(
        f"\nNext: open {folder / 'ratings.html'}. For games of your own:\n"
        '  milepost review games.pgn --player "Your Name"\n'
        "  milepost serve    (the same in the browser)"
    )


def _analyse_some(folder: Path, workers: int) -> None:
    """Let an engine score a few turns of a famous game; what is in the store is not done again."""
    import polars as pl

    from milepost import api
    from milepost.errors import EngineError

    turns = pl.read_parquet(folder / "famous_turns.parquet").filter(~pl.col("book"))
    try:
        with show.progress("analysing", unit="positions") as tell:
            analysis = api.analyses.analyse(
                turns.head(_ENGINE_TURNS), folder / "evaluations", workers=workers, progress=tell
            )
    except EngineError as error:
        show.say(f"{error}\nGoing on with the evaluations of the sample.", err=True)
        return
    run = analysis.runs[0]
    assert run.setup is not None
    show.say(
        f"{run.setup.name}: {run.total:,} positions of a famous game, all moves at every depth: "
        f"{run.done:,} analysed, {run.hits:,} were in the store",
        err=True,
    )


def _show_results(folder: Path) -> None:
    import polars as pl

    from milepost import api

    results, _ = api.games.read_results(folder / "games.parquet")
    names = api.games.list_players(folder / "games.parquet").select("key", "name").unique()
    table = api.games.standings(results).join(
        names, left_on="player", right_on="key", maintain_order="left"
    )
    show.print_frame(
        table.select("name", pl.exclude("player", "name")), title="Results of the league"
    )


def _show_champions(folder: Path) -> None:
    """Skill through time by millions of results: figures that come with the package."""
    from milepost.api.champions import champions
    from milepost.report.charts import save_chart
    from milepost.report.history.curves import curves_chart

    known = champions()
    show.print_frame(
        known.best.head(12),
        title=f"Highest skill of all time, in Elo, from {known.games:,} results of 1850-2023 "
        "(figures that come with the package)",
    )
    show.say(
        "± is one standard deviation, with the level of each era taken as known. It is not: "
        "see docs/history.md"
    )
    chart = curves_chart(
        known.curves.filter(known.curves["player"].is_in(_DRAWN)),
        title="World champions, from their results",
        subtitle=[f"{known.games:,} results of 1850-2023; skill on the scale of the printed Elos"],
        unit="Elo",
        width=760,
    )
    save_chart(chart, folder / "champions.svg")


def _show_ratings(folder: Path) -> None:
    from milepost import api
    from milepost.report.charts import save_chart

    decisions = api.decisions.decisions(folder / "turns.parquet", folder / "evaluations")
    decisions.save(folder / "spreads.parquet")
    ratings = api.ratings.rate(decisions, calibration="stockfish15.1-quick")
    ratings.save(folder / "ratings.csv")
    ratings.report(folder / "ratings.html")
    table = ratings.shown.sort("rating", descending=True, nulls_last=True)
    save_chart(ratings.plot(), folder / "ratings.svg")
    rows: list[list[Any]] = [
        [
            row["player"],
            f"{row['rating']:.0f}",
            f"{row['low']:.0f}-{row['high']:.0f}",
            f"{row['player_low']:.0f}-{row['player_high']:.0f}",
            f"{row['elo']:.0f}",
            "yes" if row["player_low"] <= row["elo"] <= row["player_high"] else "no",
            row["n"],
            row["games"],
            beside(row["mm_actual"], row["mm_projected"], 100, 1),
            beside(row["ad_actual"], row["ad_projected"], 1, 3),
        ]
        for row in table.iter_rows(named=True)
        if row["rating"] is not None and row["low"] is not None and row["high"] is not None
    ]
    columns = ["player", "IPR", "performance", "the player", "true Elo", "covered", "turns",
               "games", "match %", "error"]  # fmt: skip
    show.print_table(
        columns,
        rows,
        title="Ratings from moves (IPR: intrinsic performance rating), with 95 % intervals.",
        meanings=MEANINGS
        | {
            "covered": "Covered: the true Elo lies in the player's interval.",
            "games": "Games: those with a turn to rate.",
        },
        whole=columns[1:],
        drop_first=("games", "error", "match %"),
        elsewhere="ratings.csv has them",
    )
