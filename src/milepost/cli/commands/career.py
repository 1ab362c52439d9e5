"""One player of a saved history: career, and the search for one."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands.questions import load, tell_of_scale, written


def career(
    folder: options.HistoryFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The player: a name or part of it.")],
    wins: Annotated[
        int, typer.Option("--wins", min=0, help="How many of the best wins to show.")
    ] = 5,
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Sum up a career: years, games, peak and best wins.

    Best wins are those over the strongest opponents of their time (by skill minus its uncertainty),
    one for each opponent. -o writes them to a table.
    """
    found = load(folder, scale)
    with show.warnings_told():
        key = found.find(name).key
    player = found.career(key, wins=wins)
    told = {"player": key, "wins": wins, "scale": scale}
    if written(player.wins, output, form, "career", told, folder):
        return
    typer.echo("\n".join(player.lines))
    if len(player.wins):
        rows = [
            (
                row["name"], row["time"], round(row["mean"]),
                None if row["sd"] is None else round(row["sd"]),
                f"{100 * row['chance']:.0f} %", row["event"],
            )
            for row in player.wins.iter_rows(named=True)
        ]  # fmt: skip
        show.print_table(
            ("best wins", "when", found.unit, "±", "chance", "event"), rows,
            whole=("when", "chance"), drop_first=("event",),
        )  # fmt: skip
        show.note("chance: of the win, by what is known now of both then")
    tell_of_scale(found)


def search(
    folder: options.HistoryFolder,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name, part of one, or a near miss.")
    ],
    most: Annotated[
        int | None,
        typer.Option("--top", min=1, help="How many players to show.", show_default="20"),
    ] = None,
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Find players in a history, even by a misspelt name."""
    import polars as pl

    found = load(folder, scale)
    table = found.search(name)
    if written(
        table if most is None else table.head(most), output, form, "search", {"name": name}, folder
    ):
        return
    if table.is_empty():
        typer.echo(f"nobody is called {name!r}, or nearly so")
        return
    shown = table.drop("player").rename(
        {"name": "player", "peak": f"peak, {found.unit}", "peak_sd": "±"}
    )
    show.print_frame(
        shown.with_columns(pl.col(pl.Float64).round(0).cast(pl.Int64)), most=most or 20
    )
    tell_of_scale(found)
