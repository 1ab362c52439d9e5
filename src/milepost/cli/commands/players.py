"""The command players: who is who, and who may be one person twice."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show


def players(
    inputs: options.Inputs,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write all players to this table."),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            "--duplicates", metavar="FILE", help="Write the likely duplicates to this table."
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--top", min=0, help="Rows to print of each list; 0 = all.")
    ] = 30,
    aliases: options.Aliases = None,
    quiet: options.Quiet = False,
) -> None:
    """List the players, their spellings and likely duplicates."""
    from milepost.api.games import likely_duplicates, list_players, pairs, people
    from milepost.io.files import write_table

    with show.progress("reading", quiet=quiet) as tell:
        spellings = list_players(inputs, aliases=aliases, progress=tell)
    alike = likely_duplicates(spellings)
    if output:
        write_table(spellings, output)
    if duplicates:
        write_table(alike, duplicates)
    persons = people(spellings)
    shown = persons.rename(
        {
            "fide_ids": "FIDE id",
            "first_year": "from",
            "last_year": "to",
            "joined_by": "joined by",
        }
    )
    show.print_frame(shown, title=f"{len(persons):,} players", most=most or None)
    if len(alike):
        title = f"{len(alike):,} likely duplicates (not joined; an alias file can join them)"
        rows = pairs(spellings, alike).rows()
        columns = ("one", "or the other", "reason", "games", "years")
        show.print_table(columns, rows[: most or None], title=title, whole=("reason",))
        if most and len(rows) > most:
            typer.echo(f"... and {len(rows) - most:,} more")
