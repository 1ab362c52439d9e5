"""The demo: the main job on the bundled sample."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli import options, show


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
