"""The commands on an evaluation store: info, verify, compact, merge, export, import."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import show

store_app = typer.Typer(
    help="Look at, check, tidy, merge and move evaluation stores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The evaluation store.")]


@store_app.command()
def info(folder: Folder) -> None:
    """Show the set-ups in a store, with positions, moves, depths and bytes."""
    from milepost.analysis.store import EvaluationStore, readable_setup

    store = EvaluationStore(folder)
    files = store.files()
    counted = store.query(
        "select setup, count(distinct (position, played)) as positions, "
        "round(avg(len(moves)), 1) as moves, max(len(cp)) as depth, sum(nodes)::double as nodes "
        "from evaluations group by setup order by setup"
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
    from milepost.analysis.store import EvaluationStore

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
    from milepost.analysis.store import EvaluationStore

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
    from milepost.analysis.store import EvaluationStore

    store = EvaluationStore(folder, create=True)
    for other in others:
        typer.echo(f"{other}: {store.merge(EvaluationStore(other)):,} evaluations added")


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
    width: Annotated[int, typer.Option("--width", min=1, help="delta: moves a turn.")] = 10,
    turns: Annotated[
        list[str] | None,
        typer.Option("--turns", metavar="INPUT", help="delta: PGN or turns with the moves played."),
    ] = None,
) -> None:
    """Write the evaluations of a set-up as a table, or as the draft paper's text log."""
    import sys
    from pathlib import Path

    from milepost.analysis.deltalog import write_delta_log
    from milepost.analysis.inputs import load_turns
    from milepost.analysis.store import EvaluationStore
    from milepost.errors import InputError
    from milepost.files import provenance, write_table, write_text

    store = EvaluationStore(folder)
    digest = store.pick_setup(setup)
    evaluations = store.read(digest)
    if form != "delta":
        if turns:
            raise InputError("--turns is for --format delta")
        made = provenance("store export", {"setup": store.known_setups().get(digest)}, [])
        write_table(evaluations, output, form=form, made=made)
    else:
        import io

        played = load_turns(turns)[0] if turns else None
        text = io.StringIO()
        write_delta_log(evaluations, text, width=width, turns=played)
        if output == "-":
            sys.stdout.write(text.getvalue())
        else:
            write_text(Path(output), text.getvalue())
    typer.echo(f"{len(evaluations):,} evaluations of set-up {digest} -> {output}", err=True)


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
) -> None:
    """Take in evaluations that were made elsewhere, under a set-up that says so."""
    from pathlib import Path

    from milepost.analysis.imports import import_delta_log, import_eval_comments, import_shared
    from milepost.analysis.inputs import load_games_of
    from milepost.analysis.store import EvaluationStore
    from milepost.errors import InputError

    if kind not in ("eval", "delta", "scored"):
        raise InputError(f"--kind: expected eval, delta or scored, got {kind!r}")
    store = EvaluationStore(folder, create=True)
    for name in inputs:
        if kind == "eval":
            found = import_eval_comments(load_games_of([name]), store)
        elif kind == "delta":
            try:
                with Path(name).open(encoding="utf-8") as handle:
                    found = import_delta_log(handle, store, engine=engine)
            except OSError as error:
                raise InputError(f"cannot read {name}: {error.strerror}") from error
        else:
            found = import_shared(name, store)
        said = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
        typer.echo(f"{name}: set-up {found.setup.digest}: {said}")
