"""The demo: the main job on the bundled sample."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli import options, show

_DEMO_GAMES = 6
_DEMO_DEPTH = 6
"""Seconds on any machine; `milepost analyse` goes to depth 10."""


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the tables go.")
    ] = "demo-output",
    workers: options.Workers = options.ALL_CORES,
) -> None:
    """Run the main job on the bundled sample and say where everything lies."""
    import polars as pl

    from milepost.files import read_table
    from milepost.games.convert import Target, write_games, write_results, write_turns
    from milepost.games.mapping import parse_mapping
    from milepost.games.players import find_players
    from milepost.games.standings import standings
    from milepost.tables import RESULTS

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)

    def target(name: str) -> Target:
        return Target(str(folder / name))

    with as_file(files("milepost") / "data") as data:
        sample = data / "sample" / "games.pgn"
        typer.echo(
            "Milepost demo: 84 games of 8 simulated players of known strength, three seasons"
        )
        summary = write_games([sample], target("games.parquet"), workers=workers)
        show.summarise(summary, str(folder / "games.parquet"), None, rows="games")
        summary = write_turns([sample], target("turns.parquet"), workers=workers)
        show.summarise(summary, str(folder / "turns.parquet"), None, rows="turns")
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
        write_games([data / "famous_games.pgn"], target("famous_games.csv"), workers=1)
        _analyse_some(sample, folder, workers)

    results = read_table(folder / "results.csv", RESULTS)
    names = find_players(pl.read_parquet(folder / "games.parquet")).select("key", "name").unique()
    table = standings(results).join(names, left_on="player", right_on="key", maintain_order="left")
    show.print_frame(
        table.select("name", pl.exclude("player", "name")),
        title="Results of the sample (ratings come with a later version)",
    )
    turns = pl.read_parquet(folder / "turns.parquet")
    phases = (
        turns.group_by("phase")
        .agg(
            pl.len().cast(pl.Int64).alias("turns"),
            (~pl.col("book")).sum().cast(pl.Int64).alias("behind the book"),
            pl.col("repetition").sum().cast(pl.Int64).alias("repetitions"),
            pl.col("only_move").sum().cast(pl.Int64).alias("only one move"),
            pl.col("eval_cp").is_not_null().sum().cast(pl.Int64).alias("with evaluation"),
            pl.col("seconds").median().alias("median seconds"),
        )
        .sort("turns", descending=True)
    )
    show.print_frame(phases, title="Turns of the sample by phase")
    titles = read_table(folder / "title_matches.csv", RESULTS)
    show.print_frame(
        standings(titles).drop("elo").head(8),
        title=f"World championship matches 1886-2024: {len(titles)} games, most points",
    )
    typer.echo("Tables:")
    for path in sorted(folder.glob("*.*")):
        if path.suffix in (".parquet", ".csv"):
            typer.echo(f"  {path}")
    typer.echo(f"Evaluations (milepost store info {folder / 'evaluations'}):")
    typer.echo(f"  {folder / 'evaluations'}")


def _analyse_some(sample: Path, folder: Path, workers: int) -> None:
    """Let an engine score a few games; without one, take the evaluations in the comments."""
    import polars as pl

    from milepost.analysis.engines import find_engine
    from milepost.analysis.imports import import_eval_comments
    from milepost.analysis.plans import make_plan
    from milepost.analysis.run import analyse, wanted_jobs
    from milepost.analysis.spreads import make_spreads
    from milepost.analysis.store import EvaluationStore
    from milepost.errors import EngineError
    from milepost.files import write_table

    games = pl.read_parquet(folder / "games.parquet")
    turns = pl.read_parquet(folder / "turns.parquet")
    store = EvaluationStore(folder / "evaluations", create=True)
    try:
        program = find_engine()
    except EngineError as error:
        typer.echo(f"{error}\nGoing on with the evaluations in the sample's comments.", err=True)
        setup = import_eval_comments(games, store).setup
    else:
        plan = make_plan("quick", depth=_DEMO_DEPTH)
        some = turns.filter(pl.col("game_id").is_in(games["game_id"].head(_DEMO_GAMES).implode()))
        jobs, _ = wanted_jobs(some, plan)
        with show.analysis_bar(quiet=False) as report:
            state = analyse(jobs, store, program, plan, workers=workers, report=report)
        assert state.setup is not None
        setup = state.setup
        typer.echo(
            f"{state.setup.name}: {state.total:,} positions of {_DEMO_GAMES} games, all moves to "
            f"depth {_DEMO_DEPTH}: {state.done:,} analysed, {state.hits:,} were in the store",
            err=True,
        )
        turns = some
    spreads = make_spreads(turns, store, setup=setup.digest)
    write_table(spreads.table, folder / "spreads.parquet")
    typer.echo(f"{len(spreads.table):,} spreads -> {folder / 'spreads.parquet'}", err=True)
