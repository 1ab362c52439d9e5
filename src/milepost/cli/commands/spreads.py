"""The command spreads: turns and their evaluations joined into the table that every fit reads."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show


def spreads(
    inputs: options.Inputs,
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="The evaluation store.")],
    output: options.Output,
    setup: Annotated[
        str | None,
        typer.Option(
            "--setup",
            help="Which engine set-up to use, if the store holds several: its plan, such as quick, "
            "or the start of its key (milepost store info lists them).",
        ),
    ] = None,
    limit_pawns: Annotated[
        float,
        typer.Option(
            "--limit",
            min=0.0,
            help="Leave out positions where one side is further ahead than this, in pawns.",
        ),
    ] = 3.0,
    downweight: Annotated[
        bool,
        typer.Option("--downweight", help="Count such positions less instead of leaving them out."),
    ] = False,
    mate_pawns: Annotated[
        float, typer.Option("--mate", min=20.0, help="What a mate counts, in pawns.")
    ] = 300.0,
    keep_book: Annotated[bool, typer.Option("--keep-book", help="Keep opening moves.")] = False,
    keep_repetitions: Annotated[
        bool, typer.Option("--keep-repetitions", help="Keep repeated positions.")
    ] = False,
    drop_score_doubts: Annotated[
        bool,
        typer.Option(
            "--drop-score-doubts",
            help="Leave out likely errors in the game score: both sides miss more than five pawns"
            " in a row.",
        ),
    ] = False,
    book_moves: Annotated[
        int, typer.Option("--book-moves", min=0, help="Opening moves to skip per side.")
    ] = 8,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Write what every option of every turn was worth.

    Joins turns and evaluations into the table that rate, fit and others read.
    """
    from milepost import api
    from milepost.io.files import format_of

    format_of(output, form)
    rules = api.decisions.TurnRules(
        limit_pawns=limit_pawns, downweight=downweight, mate_pawns=mate_pawns,
        keep_book=keep_book, keep_repetitions=keep_repetitions,
        keep_score_doubts=not drop_score_doubts,
    )  # fmt: skip
    decisions = shared.read_decisions(
        inputs, store, setup=setup, workers=workers, quiet=quiet, rules=rules,
        book_moves=book_moves,
    )  # fmt: skip
    decisions.save(output, form=form)
    if not quiet:
        show.say(f"{len(decisions):,} spreads -> {output}", err=True)
        for name, count in decisions.counts.items():
            show.say(f"  {count:>9,} {name}", err=True)
