"""The commands that bring games in: games, results, turns."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show


def games(
    inputs: options.Inputs,
    output: options.Output,
    form: options.Format = None,
    errors: options.Errors = None,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    strict: options.Strict = False,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Read PGN into a table of games, moves included."""
    from milepost.api.games import Target, write_games

    target = Target(output, form, errors)
    show.refuse_nothing(None, inputs)
    with show.progress("reading", quiet=quiet) as tell:
        summary = write_games(
            inputs,
            target,
            aliases=aliases,
            keep_duplicates=keep_duplicates,
            workers=workers,
            progress=tell,
        )
    show.refuse_unread(summary, inputs, target.errors_path)
    if not quiet:
        show.summarise(summary, output, target.errors_path, rows="games")
    show.leave_if_strict(summary, strict=strict)


def results(
    inputs: options.Inputs,
    output: options.Output,
    mapping: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN,...",
            help="Which columns of a table hold time, player_1, player_2, score (or points_1 and "
            "points_2), first_mover and so on; FIELD:=VALUE gives every row the same value.",
        ),
    ] = None,
    require_moves: Annotated[
        bool,
        typer.Option("--require-moves", help="Leave out games without moves (forfeits)."),
    ] = False,
    keep_names: Annotated[
        bool,
        typer.Option("--keep-names", help="Leave the names in a table as they are."),
    ] = False,
    form: options.Format = None,
    errors: options.Errors = None,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Read who beat whom, from PGN or any table."""
    from milepost.api.games import Target, parse_mapping, write_results

    target = Target(output, form, errors)
    show.refuse_nothing(None, inputs)
    with show.progress("reading", quiet=quiet) as tell:
        summary = write_results(
            inputs,
            target,
            mapping=parse_mapping(mapping) if mapping else None,
            require_moves=require_moves,
            keep_names=keep_names,
            aliases=aliases,
            keep_duplicates=keep_duplicates,
            progress=tell,
        )
    show.refuse_unread(summary, inputs, target.errors_path)
    if not quiet:
        show.summarise(summary, output, target.errors_path, rows="results")
    show.leave_if_strict(summary, strict=strict)


def turns(
    inputs: options.Inputs,
    output: options.Output,
    book_moves: Annotated[
        int,
        typer.Option(
            "--book-moves", min=0, help="Opening moves per side to mark as book (2009 paper: 12)."
        ),
    ] = 8,
    form: options.Format = None,
    errors: options.Errors = None,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    strict: options.Strict = False,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Read PGN into a table of decisions with their positions."""
    from milepost.api.games import Target, write_turns

    target = Target(output, form, errors)
    show.refuse_nothing(None, inputs)
    with show.progress("reading", quiet=quiet) as tell:
        summary = write_turns(
            inputs,
            target,
            book_moves=book_moves,
            aliases=aliases,
            keep_duplicates=keep_duplicates,
            workers=workers,
            progress=tell,
        )
    show.refuse_unread(summary, inputs, target.errors_path)
    if not quiet:
        show.summarise(summary, output, target.errors_path, rows="turns")
    show.leave_if_strict(summary, strict=strict)
