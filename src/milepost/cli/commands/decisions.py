"""What the commands on decisions share: options, reading decisions, tables of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import show

if TYPE_CHECKING:
    import polars as pl

Store = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR", help="The evaluation store, for games and turns."),
]
Setup = Annotated[
    str | None, typer.Option("--setup", help="Digest of the set-up, if the store holds several.")
]
Fields = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,...",
        help="For a table with one row an option: which column is the decision, the value, "
        "chosen, and perhaps the group (a game, a day), the weight, the rating.",
    ),
]
Outside = Annotated[
    str,
    typer.Option(
        "--outside",
        help="Choices outside the listed options: bound (as good as the worst) or exclude.",
    ),
]


def read_decisions(
    inputs: list[str],
    store: str | None,
    setup: str | None,
    by: list[str],
    *,
    workers: int,
    quiet: bool,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The decisions of a table as it is, or of games and a store; and what made them."""
    import polars as pl

    from milepost.errors import InputError
    from milepost.io.files import read_table
    from milepost.io.sources import are_tables, find_sources

    sources = find_sources(inputs)
    if store is None:
        if not are_tables(sources):
            raise InputError("games need a store of evaluations: --store DIR (milepost analyse)")
        frames = [read_table(source.name) for source in sources]
        return pl.concat(frames, how="diagonal_relaxed"), {}
    from milepost.analysis.spreads.build import make_spreads
    from milepost.analysis.store.store import EvaluationStore
    from milepost.games.load import load_turns

    opened = EvaluationStore(store)
    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = load_turns(inputs, workers=workers, progress=tell)
    found = make_spreads(turns, opened, setup=setup)
    if not quiet:
        counts = ", ".join(f"{count:,} {name}" for name, count in found.counts.items() if count)
        typer.echo(f"set-up {found.setup}: {counts}", err=True)
    if len(wrong):
        typer.echo(f"{len(wrong):,} things were wrong with the games: see milepost turns", err=True)
    extra = [name for name in by if name in turns.columns and name not in found.table.columns]
    table = found.table
    if extra:
        columns = turns.select("game_id", "ply", *extra)
        table = table.join(columns, on=["game_id", "ply"], how="left", maintain_order="left")
    known = opened.known_setups().get(found.setup, found.setup)
    return table, {"setup": known, "digest": found.setup}


def show_numbers(table: pl.DataFrame, title: str) -> None:
    """Print a table for people, its numbers with four digits."""
    rows = [[_number(value) for value in row] for row in table.rows()]
    show.print_table(table.columns, rows, title=title)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return f"{value:.4g}"
