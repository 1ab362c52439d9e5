"""The commands on an evaluation store: info, verify, compact, merge, export, import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import show

if TYPE_CHECKING:
    import polars as pl

    from milepost.analysis.exchange.rows import Imported
    from milepost.analysis.store.store import EvaluationStore

DELTA = "delta"
"""The text log of the draft paper: a format of exports, and a kind of imports."""
MOST_REFUSED = 20
"""So many refused rows are named."""

store_app = typer.Typer(
    help="Look at, check, tidy, merge and move evaluation stores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The evaluation store.")]


@store_app.command()
def info(folder: Folder) -> None:
    """Show the set-ups in a store, with positions, moves, depths and bytes."""
    from milepost.analysis.engine.setup import readable_setup
    from milepost.analysis.store.store import EvaluationStore

    store = EvaluationStore(folder)
    files = store.files()
    counted = store.query(
        # What two machines have analysed lies there twice and counts once.
        "select setup, count(*) as positions, round(avg(len(moves)), 1) as moves, "
        "max(len(cp)) as depth, sum(nodes)::double as nodes "
        "from (select distinct on (setup, position, played) * from evaluations) "
        "group by setup order by setup"
    )
    setups = store.known_setups()
    rows = [
        (digest, readable_setup(setups.get(digest)), positions, moves, depth, (nodes or 0) / 1e6)
        for digest, positions, moves, depth, nodes in counted.iter_rows()
    ]
    size = sum(path.stat().st_size for path in files)
    positions = sum(row[2] for row in rows)
    show.print_table(("set-up", "engine and plan", "positions", "moves", "depth", "Mnodes"), rows)
    each = f", {size / positions:.0f} bytes a position" if positions else ""
    typer.echo(f"{len(files)} files, {size:,} bytes{each}")


@store_app.command()
def verify(folder: Folder) -> None:
    """Check every file of a store against the digest in its name; exit code 1 if one is bad."""
    from milepost.analysis.store.store import EvaluationStore

    store = EvaluationStore(folder)
    problems = store.verify()
    for problem in problems:
        typer.echo(f"{problem.path}: {problem.reason}")
    typer.echo(f"{len(problems)} bad files" if problems else "all files are as they were written")
    if problems:
        raise typer.Exit(1)


@store_app.command()
def compact(folder: Folder) -> None:
    """Put all evaluations into one file, each once."""
    from milepost.analysis.store.store import EvaluationStore

    store = EvaluationStore(folder)
    before = len(store.files())
    path = store.compact()
    typer.echo(f"{before} files -> {path or 'nothing in the store'}")


@store_app.command()
def merge(
    folder: Folder,
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="Stores to take from.")],
) -> None:
    """Add to a store what others have and it has not."""
    from milepost.analysis.store.store import EvaluationStore

    sources = [(other, EvaluationStore(other)) for other in others]  # before anything is made
    store = EvaluationStore(folder, create=True)
    for name, source in sources:
        differing = store.count_differing(source)
        typer.echo(f"{name}: {store.merge(source):,} evaluations added")
        if differing:
            typer.echo(
                f"warning: {differing:,} evaluations of {name} have the set-up and position of "
                "ours but other values; ours stay",
                err=True,
            )


@store_app.command()
def export(
    folder: Folder,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to; - is standard output.")
    ],
    setup: Annotated[
        str | None,
        typer.Option("--setup", help="Digest of the set-up, if the store holds several."),
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
        typer.Option("--width", min=1, help="delta: moves a turn.", show_default="10"),
    ] = None,
    turns: Annotated[
        list[str] | None,
        typer.Option("--turns", metavar="INPUT", help="delta: PGN or turns with the moves played."),
    ] = None,
) -> None:
    """Write the evaluations of a set-up as a table, or as the draft paper's text log."""
    from milepost.analysis.store.store import EvaluationStore
    from milepost.errors import InputError
    from milepost.io.files import write_table
    from milepost.io.provenance import provenance

    _check_format(output, form)
    if form != DELTA and (turns or width is not None):
        raise InputError(f"{'--turns' if turns else '--width'} is for --format {DELTA}")
    store = EvaluationStore(folder)
    digest = store.pick_setup(setup)
    evaluations = store.read(digest)
    if form != DELTA:
        made = provenance("store export", {"setup": store.known_setups().get(digest)}, [])
        write_table(evaluations, output, form=form, made=made)
        typer.echo(f"{len(evaluations):,} evaluations of set-up {digest} -> {output}", err=True)
    else:
        said = _export_delta(evaluations, output, width or 10, turns)
        typer.echo(f"{said} of set-up {digest} -> {output}", err=True)


def _check_format(output: str, form: str | None) -> None:
    """Refuse an unknown format before anything is read, and name all that are known."""
    from milepost.errors import OutputError
    from milepost.io.files import FORMATS, format_of

    known = ", ".join((*FORMATS, DELTA))
    if form is not None:
        if form not in (*FORMATS, DELTA):
            raise OutputError(f"unknown format {form!r}; known are {known}")
        return
    try:
        format_of(output)
    except OutputError as error:
        raise OutputError(f"{error}; or say --format: {known}") from error


def _export_delta(
    evaluations: pl.DataFrame, output: str, width: int, turns: list[str] | None
) -> str:
    """Write the log; return what was written and what was not."""
    import io
    import sys
    from pathlib import Path

    from milepost.analysis.exchange.delta_text import write_delta_log
    from milepost.games.load import load_turns
    from milepost.io.files import write_text

    text = io.StringIO()
    played = load_turns(turns)[0] if turns else None
    written = write_delta_log(evaluations, text, width=width, turns=played)
    if output == "-":
        sys.stdout.write(text.getvalue())
    else:
        write_text(Path(output), text.getvalue())
    if played is None:
        return f"{written:,} evaluations"
    return f"{written:,} turns ({len(played) - written:,} without an evaluation)"


@store_app.command("import")
def import_(
    folder: Folder,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files with evaluations made elsewhere.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="eval: %eval comments of PGN or games tables; delta: the text log; scored: tables "
            "of fen, played, moves and cp (Stockfish 15.1, all moves to depth 10).",
        ),
    ],
    engine: Annotated[
        str, typer.Option("--engine", help="delta: the name of the engine that made the log.")
    ] = "unknown engine",
    turns: Annotated[
        list[str] | None,
        typer.Option(
            "--turns",
            metavar="INPUT",
            help="delta: PGN or turns with the positions, in the order of a log without them.",
        ),
    ] = None,
    book_moves: Annotated[
        int | None,
        typer.Option(
            "--book-moves",
            min=0,
            help="delta: moves a side that are book in --turns, if the log leaves them out.",
            show_default="8",
        ),
    ] = None,
) -> None:
    """Take in evaluations that were made elsewhere, under a set-up that says so.

    Rows that cannot be what they claim to be are refused by number, and the exit code is then 1;
    all others are stored.
    """
    from milepost.analysis.exchange.eval_comments import import_eval_comments
    from milepost.analysis.exchange.scored_tables import import_shared
    from milepost.analysis.store.store import EvaluationStore
    from milepost.errors import InputError
    from milepost.games.load import load_games_of, load_turns
    from milepost.games.turns.replay import BOOK_MOVES

    if kind not in ("eval", DELTA, "scored"):
        raise InputError(f"--kind: expected eval, delta or scored, got {kind!r}")
    if turns and (kind != DELTA or len(inputs) > 1):
        raise InputError("--turns is for one log at a time, with --kind delta")
    if book_moves is not None and not turns:
        raise InputError("--book-moves is for --turns")
    played = None
    if turns:
        played, wrong = load_turns(
            turns, book_moves=BOOK_MOVES if book_moves is None else book_moves
        )
        show.tell_wrong(wrong, quiet=False)
    store = EvaluationStore(folder, create=True)
    refused = 0
    for name in inputs:
        if kind == "eval":
            games, wrong = load_games_of([name])
            show.tell_wrong(wrong, quiet=False)
            found = import_eval_comments(games, store)
        elif kind == DELTA:
            found = _import_delta(name, store, engine, played)
        else:
            found = import_shared(name, store)
        said = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
        typer.echo(f"{name}: set-up {found.setup.digest}: {said}")
        refused += len(found.refused)
        for each in found.refused[:MOST_REFUSED]:
            where = "line" if kind == DELTA else "row"
            typer.echo(f"  refused: {where} {each.place}: {each.reason}", err=True)
        if len(found.refused) > MOST_REFUSED:
            typer.echo(f"  ... and {len(found.refused) - MOST_REFUSED:,} more", err=True)
    if refused:
        raise typer.Exit(1)


def _import_delta(
    name: str, store: EvaluationStore, engine: str, turns: pl.DataFrame | None
) -> Imported:
    import io
    from pathlib import Path

    from milepost.analysis.exchange.delta_text import import_delta_log
    from milepost.errors import InputError

    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no text in UTF-8, so no delta log") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    return import_delta_log(io.StringIO(text), store, engine=engine, turns=turns)
