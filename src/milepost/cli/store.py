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
    from milepost.analysis.store import EvaluationStore

    store = EvaluationStore(folder)
    files = store.files()
    counted = store.query(
        "select setup, count(distinct (position, played)) as positions, "
        "round(avg(len(moves)), 1) as moves, max(len(cp)) as depth, sum(nodes)::double as nodes "
        "from evaluations group by setup order by setup"
    )
    setups = store.known_setups()
    rows = [
        (digest, _readable(setups.get(digest)), positions, moves, depth, nodes / 1e6)
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


def _readable(about: dict[str, object] | None) -> str:
    if about is None:
        return "?"
    options = about.get("options")
    hash_mb = options.get("Hash") if isinstance(options, dict) else None
    memory = f", hash {hash_mb}" if hash_mb else ""
    return f"{about['name']}, {about['plan']}{memory}"
