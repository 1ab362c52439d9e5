"""The command that goes from games to a row of a results file: fit-row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    from milepost.api.fit_rows import FitRow, RowOutcome
    from milepost.io.progress import Progress


def fit_row(
    inputs: options.Inputs,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="CSV", help="The results file; each game file adds a row."
        ),
    ],
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="The evaluation store.",
            show_default="beside the results file",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace earlier rows of the same file.")
    ] = False,
    plan: options.Plan = "quick",
    depth: options.Depth = None,
    engine: options.Engine = None,
    engine_option: options.EngineOptions = None,
    book_moves: Annotated[
        int, typer.Option("--book-moves", min=0, help="Opening moves to skip per side.")
    ] = 8,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Analyse game files and add one row of fits for each.

    A row holds s, c, error and match rate, fitted as in the 2011 paper. Positions already in the
    store are not analysed again. For intervals, other models and groups use milepost fit.
    """
    from milepost.api import fit_rows as rows

    how = rows.RowEngine(plan, depth, engine, tuple(engine_option or ()))
    others = rows.rows_of_other_setups(output, how)
    if others:
        some = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
        show.say(
            f"warning: rows of {len(others)} files in {output} are of another engine set-up "
            f"({some}): their s and c do not compare with these",
            err=True,
        )
    tellers = [show.Teller()]

    def to_the_last(news: Progress) -> None:
        tellers[-1](news)

    outcomes = rows.fit_rows(
        inputs,
        output,
        store=store,
        engine=how,
        book_moves=book_moves,
        replace=replace,
        workers=workers,
        progress=to_the_last,
    )
    without = 0
    while True:
        # Each file has a bar of its own; between them it is told what became of the last one.
        with show.progress("reading and analysing", quiet=quiet) as tell:
            tellers.append(tell)
            outcome = next(outcomes, None)
        if outcome is None:
            break
        without += outcome.row is None
        _tell(outcome, output, quiet=quiet)
    if without:
        raise typer.Exit(1)


def _tell(outcome: RowOutcome, results: str, *, quiet: bool) -> None:
    """Say what became of a file."""
    from milepost.api import fit_rows as rows

    name = outcome.filename
    if outcome.errors is not None:
        show.tell_wrong(outcome.errors, quiet=quiet)
    if outcome.row is None:
        show.say(f"milepost: {outcome.what}", err=True)
        return
    if not quiet:
        total, there, done = outcome.positions
        show.say(
            f"{name}: {total:,} positions, {there:,} in the store already, {done:,} analysed",
            err=True,
        )
    for warning in outcome.row.warnings:
        show.say(f"warning: {name}: {warning}", err=True)
    if outcome.earlier:
        show.say(
            f"warning: {name}: {results} has other rows of this file ({outcome.earlier}); "
            "--replace takes them out",
            err=True,
        )
    if outcome.what == rows.THERE_ALREADY:
        show.say(f"{name}: the very same row is in {results} already", err=True)
    elif not quiet:
        show.say(f"{name}: row {outcome.what} -> {results}", err=True)
    if not quiet:
        _show(outcome.row)


def _show(row: FitRow) -> None:
    """The row for people, with the intervals that the file has no columns for."""
    spans = {
        name: f"{low:.3g}-{high:.3g}" if low < high else "not known: too few games"
        for name, (low, high) in row.fit.interval().items()
    }
    lines = [[name, cell, spans.get(name, "")] for name, cell in row.to_dict().items()]
    show.print_table(["", "value", "95 %"], lines)
