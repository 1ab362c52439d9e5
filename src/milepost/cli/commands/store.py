"""The commands on an evaluation store: info, verify, compact, merge, endgames, export, import."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show
from milepost.cli.help import Command, Group

DELTA = "delta"
"""The text log of the draft paper: a format of exports, and a kind of imports."""
MOST_REFUSED = 20
"""So many refused rows are named."""

store_app = typer.Typer(
    cls=Group,
    help="Look at, check, tidy, merge and move evaluation stores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The evaluation store.")]


@store_app.command(cls=Command)
def info(folder: Folder) -> None:
    """Show what a store holds: engines, plans, positions, size."""
    from milepost.api.analyses import store_info

    about = store_info(folder)
    rows = [
        (row["setup"], row["plan"], row["positions"], row["moves"], row["depth"],
         (row["nodes"] or 0) / 1e6)
        for row in about.setups.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("set-up", "plan", "positions", "moves", "depth", "Mnodes")
    show.print_table(columns, rows, whole=("set-up", "plan"))
    for digest, engine in about.setups.select("setup", "engine").iter_rows():
        show.say(f"{digest}: {engine}")
    each = f", {about.bytes / about.positions:.0f} bytes a position" if about.positions else ""
    typer.echo(f"{about.files} files, {about.bytes:,} bytes{each}")


@store_app.command(cls=Command)
def verify(folder: Folder) -> None:
    """Check that every file is as it was written.

    Compares each file with the digest in its name; exits with code 1 if one is bad.
    """
    from milepost.api.analyses import open_store

    problems = open_store(folder).verify()
    for problem in problems:
        typer.echo(f"{problem.path}: {problem.reason}")
    typer.echo(f"{len(problems)} bad files" if problems else "all files are as they were written")
    if problems:
        raise typer.Exit(1)


@store_app.command(cls=Command)
def compact(folder: Folder) -> None:
    """Put all evaluations into one file, each once."""
    from milepost.api.analyses import open_store

    store = open_store(folder)
    before = len(store.files())
    path = store.compact()
    typer.echo(f"{before} files -> {path or 'nothing in the store'}")


@store_app.command(cls=Command)
def merge(
    folder: Folder,
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER...", help="Stores to take evaluations from.")
    ],
) -> None:
    """Copy evaluations from other stores into one.

    Makes the store if there is none. Evaluations it already has are kept.
    """
    from milepost.api.analyses import merge_stores

    for merged in merge_stores(folder, others):
        typer.echo(f"{merged.name}: {merged.added:,} evaluations added")
        if merged.differing:
            show.say(
                f"warning: {merged.differing:,} evaluations of {merged.name} have the set-up and "
                "position of ours but other values; ours stay",
                err=True,
            )


@store_app.command(cls=Command)
def endgames(
    folder: Folder,
    syzygy: Annotated[
        str, typer.Option("--syzygy", metavar="TABLES", help="The folder with Syzygy tables.")
    ],
    setup: Annotated[
        str | None,
        typer.Option("--setup", help="Digest of the set-up, if the store holds several."),
    ] = None,
) -> None:
    """Let Syzygy tables judge the endgames.

    Stores the evaluations again with the tables' values, as a set-up of their own, whose digest
    names the tables.
    """
    from milepost.api.analyses import judge_endgames

    found = judge_endgames(folder, syzygy, setup=setup)
    typer.echo(
        f"{found.judged:,} evaluations judged by the tables, {found.kept:,} left as they were: "
        f"set-up {found.setup.digest}"
    )


@store_app.command(cls=Command)
def export(
    folder: Folder,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", help="The table to write; - is standard output."
        ),
    ],
    setup: Annotated[
        str | None,
        typer.Option(
            "--setup",
            help="Which engine set-up to use, if the store holds several (milepost store info "
            "lists them).",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, csv or ndjson (by the ending of OUT), or delta: the text log.",
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, help="delta: how many moves per turn.", show_default="10"),
    ] = None,
    turns: Annotated[
        list[str] | None,
        typer.Option(
            "--turns",
            metavar="INPUT",
            help="delta: PGN files or turns that say which moves were played.",
        ),
    ] = None,
) -> None:
    """Write evaluations as a table or as a text log."""
    from milepost.api.analyses import check_export, export_evaluations
    from milepost.errors import InputError

    check_export(output, form)
    if form != DELTA and (turns or width is not None):
        raise InputError(f"{'--turns' if turns else '--width'} is for --format {DELTA}")
    written = export_evaluations(
        folder, output, setup=setup, form=form, width=width or 10, turns=turns
    )
    what = f"{written.rows:,} evaluations"
    if written.without is not None:
        what = f"{written.rows:,} turns ({written.without:,} without an evaluation)"
    show.say(f"{what} of set-up {written.setup} -> {output}", err=True)


@store_app.command("import", cls=Command)
def import_(
    folder: Folder,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files with evaluations made elsewhere.")
    ],
    kind: Annotated[
        str,
        options.choice(
            "--kind",
            ("eval", "delta", "scored"),
            help="What they are: eval (%eval comments in PGN or games tables), delta (the text "
            "log) or scored (tables of fen, played, moves and cp: Stockfish 15.1, all moves to "
            "depth 10).",
            listed=False,
        ),
    ],
    engine: Annotated[
        str, typer.Option("--engine", help="delta: which engine made the log.")
    ] = "unknown engine",
    turns: Annotated[
        list[str] | None,
        typer.Option(
            "--turns",
            metavar="INPUT",
            help="delta: PGN files or turns with the positions, in the order of a log that lacks "
            "them.",
        ),
    ] = None,
    book_moves: Annotated[
        int | None,
        typer.Option(
            "--book-moves",
            min=0,
            help="delta: opening moves per side that the log leaves out.",
            show_default="8",
        ),
    ] = None,
) -> None:
    """Take in evaluations that were made elsewhere.

    They get a set-up of their own, so that they never mix with yours. Rows that cannot be right are
    refused by number, the rest is saved; the exit code is then 1.
    """
    from milepost.api.analyses import IMPORTS, import_evaluations
    from milepost.api.games import read_turns
    from milepost.errors import InputError

    if kind not in IMPORTS:
        raise InputError(f"--kind: expected eval, delta or scored, got {kind!r}")
    if turns and (kind != DELTA or len(inputs) > 1):
        raise InputError("--turns is for one log at a time, with --kind delta")
    if book_moves is not None and not turns:
        raise InputError("--book-moves is for --turns")
    played = None
    if turns:
        played, wrong = read_turns(turns, book_moves=8 if book_moves is None else book_moves)
        show.tell_wrong(wrong, quiet=False)
    refused = 0
    for file in import_evaluations(folder, inputs, kind, engine=engine, turns=played):
        if len(file.errors):
            show.tell_wrong(file.errors, quiet=False)
        found = file.imported
        said = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
        typer.echo(f"{file.name}: set-up {found.setup.digest}: {said}")
        refused += len(found.refused)
        for row in found.refused[:MOST_REFUSED]:
            where = "line" if kind == DELTA else "row"
            show.say(f"  refused: {where} {row.place}: {row.reason}", err=True)
        if len(found.refused) > MOST_REFUSED:
            show.say(f"  ... and {len(found.refused) - MOST_REFUSED:,} more", err=True)
    if refused:
        raise typer.Exit(1)
