"""The command spreads: turns and their evaluations joined into the table that every fit reads."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show


def spreads(
    inputs: options.Inputs,
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="The evaluation store.")],
    output: options.Output,
    setup: Annotated[
        str | None,
        typer.Option("--setup", help="Digest of the set-up, if the store holds several."),
    ] = None,
    limit_pawns: Annotated[
        float,
        typer.Option("--limit", min=0.0, help="Leave out turns whose best value is beyond this."),
    ] = 3.0,
    downweight: Annotated[
        bool,
        typer.Option("--downweight", help="Let such turns count less instead of leaving them out."),
    ] = False,
    mate_pawns: Annotated[
        float, typer.Option("--mate", min=20.0, help="What a mate counts, in pawns.")
    ] = 300.0,
    keep_book: Annotated[bool, typer.Option("--keep-book", help="Keep book turns.")] = False,
    keep_repetitions: Annotated[
        bool, typer.Option("--keep-repetitions", help="Keep positions that stood before.")
    ] = False,
    book_moves: Annotated[
        int, typer.Option("--book-moves", min=0, help="Moves a side that are book and left out.")
    ] = 8,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Join turns with their evaluations into the spreads table that every fit reads."""
    from milepost.analysis.spreads.build import make_spreads
    from milepost.analysis.store.store import EvaluationStore
    from milepost.games.load import read_turns
    from milepost.io.files import format_of, write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    format_of(output, form)
    opened = EvaluationStore(store)
    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = read_turns(inputs, book_moves=book_moves, workers=workers, progress=tell)
    show.tell_wrong(wrong, quiet=quiet)
    found = make_spreads(
        turns,
        opened,
        setup=setup,
        limit_pawns=limit_pawns,
        downweight=downweight,
        mate_pawns=mate_pawns,
        keep_book=keep_book,
        keep_repetitions=keep_repetitions,
    )
    made = provenance(
        "spreads",
        {
            "setup": opened.known_setups().get(found.setup, found.setup),
            "limit_pawns": limit_pawns,
            "downweight": downweight,
            "mate_pawns": mate_pawns,
            "keep_book": keep_book,
            "keep_repetitions": keep_repetitions,
            "book_moves": book_moves,
        },
        table_inputs(find_sources(inputs)),
    )
    write_table(found.table, output, form=form, made=made)
    if not quiet:
        typer.echo(f"set-up {found.setup}; {len(found.table):,} spreads -> {output}", err=True)
        for name, count in found.counts.items():
            typer.echo(f"  {count:>9,} {name}", err=True)
