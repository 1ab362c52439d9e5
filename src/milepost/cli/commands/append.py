"""`milepost fit --append`: from games to a row of a results file, in one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import show

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from milepost.analysis.plans import Plan
    from milepost.analysis.run.state import RunState
    from milepost.intrinsic.rating.fit_row import FitRow

Append = Annotated[
    str | None,
    typer.Option(
        "--append",
        metavar="CSV",
        help="Analyse games with an engine (what the store holds already is not done again), fit s "
        "and c as the 2011 paper, and append one row a file to this CSV.",
    ),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="--append: earlier rows of the same file go.")
]
PlanName = Annotated[
    str, typer.Option("--plan", help="--append: quick, standard, reference, single or multipv.")
]
Depth = Annotated[
    int | None, typer.Option("--depth", min=1, help="--append: another depth than the plan's own.")
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="--append: a UCI engine [default: STOCKFISH_EXECUTABLE, stockfish on the PATH, "
        "/usr/games].",
    ),
]
EngineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--engine-option", metavar="NAME=VALUE", help="--append: a UCI option; repeatable."
    ),
]
BookMoves = Annotated[
    int, typer.Option("--book-moves", min=0, help="--append: moves a side that are left out.")
]
ONLY_HERE = ("replace", "plan", "depth", "engine", "engine_option", "book_moves")
"""Options that mean nothing without ``--append``."""
_ALSO_HERE = ("inputs", "append", "store", "workers", "quiet")


def check_options(context: typer.Context, *, appending: bool) -> None:
    """Refuse options that would be ignored.

    Raises
    ------
    InputError
        Naming the first one.
    """
    from milepost.errors import InputError

    for name in context.params:
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        option = "--" + {"fields": "map", "form": "format"}.get(name, name).replace("_", "-")
        if appending and name not in (*ONLY_HERE, *_ALSO_HERE):
            raise InputError(f"{option} does not go with --append, whose fit is the 2011 paper's")
        if not appending and name in ONLY_HERE:
            raise InputError(f"{option} goes with --append only")


def append_fits(
    inputs: list[str],
    results: str,
    *,
    store: str | None,
    replace: bool,
    plan: str,
    depth: int | None,
    engine: str | None,
    engine_option: list[str] | None,
    book_moves: int,
    workers: int,
    quiet: bool,
) -> None:
    """Analyse each file of games, fit it, append its row; end with 1 if a file gave none."""
    from pathlib import Path

    from milepost.analysis.engine.setup import find_engine, parse_engine_options
    from milepost.analysis.plans import make_plan
    from milepost.analysis.run.run import engine_setup
    from milepost.errors import InputError, OutputError
    from milepost.intrinsic.rating.fit_row import other_setups, read_rows
    from milepost.io.sources import find_sources

    target = Path(results)
    if target.suffix.lower() != ".csv":
        raise OutputError(f"--append {results}: the name of a results file ends in .csv")
    read_rows(target)  # another header is told before an engine works
    sources = find_sources(inputs)
    program, wanted = find_engine(engine), make_plan(plan, depth=depth)
    uci_options = parse_engine_options(engine_option or [])
    digest = engine_setup(program, wanted, uci_options).digest
    others = other_setups(target, digest)
    if others:
        some = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
        typer.echo(
            f"warning: {len(others)} rows of {results} are of another engine set-up ({some}): "
            "their s and c do not compare with these",
            err=True,
        )
    where = Path(store) if store is not None else target.with_name(f"{target.stem}.store")
    without = 0
    for source in sources:
        try:
            turns, state = _analyse(
                source.name, where, program, wanted, uci_options, book_moves, workers, quiet=quiet
            )
            _fit_and_append(
                source.name, turns, state, where, target, book_moves, replace=replace, quiet=quiet
            )
        except InputError as error:
            # The other files still get their rows.
            without += 1
            typer.echo(f"milepost: {error}", err=True)
    if without:
        raise typer.Exit(1)


def _analyse(
    name: str,
    where: Path,
    program: Path,
    plan: Plan,
    uci_options: dict[str, str],
    book_moves: int,
    workers: int,
    *,
    quiet: bool,
) -> tuple[pl.DataFrame, RunState]:
    """The turns of a file, all of them in the store."""
    from milepost.analysis.run.run import analyse, wanted_jobs
    from milepost.analysis.store.store import EvaluationStore
    from milepost.errors import InputError
    from milepost.games.load import load_turns
    from milepost.intrinsic.rating.fit_row import refuse_few

    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = load_turns([name], book_moves=book_moves, workers=workers, progress=tell)
    show.tell_wrong(wrong, quiet=quiet)
    jobs, left_out = wanted_jobs(turns, plan)
    refuse_few(name, len(turns) - sum(left_out.values()))  # before an engine works in vain
    store = EvaluationStore(where, create=True)
    with show.progress("analysing", quiet=quiet, unit="positions") as tell:
        state = analyse(
            jobs, store, program, plan, options=uci_options, workers=workers, progress=tell
        )
    if not quiet:
        typer.echo(
            f"{name}: {state.total:,} positions, {state.hits:,} in the store already, "
            f"{state.done:,} analysed -> {store.folder}",
            err=True,
        )
    if state.interrupted:
        typer.echo("\nmilepost: interrupted; the same command goes on where this one stopped",
                   err=True)  # fmt: skip
        raise typer.Exit(130)
    if state.failed:
        position, _, reason = state.failed[0]
        raise InputError(
            f"{name}: {len(state.failed):,} of {state.total:,} positions failed ({position}: "
            f"{reason}): no row; the same command tries them again"
        )
    return turns, state


def _fit_and_append(
    name: str,
    turns: pl.DataFrame,
    state: RunState,
    where: Path,
    target: Path,
    book_moves: int,
    *,
    replace: bool,
    quiet: bool,
) -> None:
    from milepost.analysis.spreads.build import make_spreads
    from milepost.analysis.store.store import EvaluationStore
    from milepost.intrinsic.rating.fit_row import (
        APPENDED,
        THERE_ALREADY,
        append_row,
        fit_row,
        read_rows,
    )
    from milepost.io.provenance import table_inputs
    from milepost.io.sources import find_sources

    assert state.setup is not None
    store = EvaluationStore(where)
    found = make_spreads(turns, store, setup=state.setup.digest)
    row = fit_row(name, found.table, turns)
    made: dict[str, Any] = {
        "digest": state.setup.digest,
        "setup": store.known_setups().get(state.setup.digest, {}),
        "book_moves": book_moves,
        "inputs": table_inputs(find_sources([name])),
        "turns": found.counts,
    }
    earlier = sum(each[0] == name for each in read_rows(target))
    what = append_row(target, row, made=made, replace=replace)
    for warning in row.warnings:
        typer.echo(f"warning: {name}: {warning}", err=True)
    if what == APPENDED and earlier:
        typer.echo(
            f"warning: {name}: {target} has other rows of this file ({earlier}); --replace takes "
            "them out",
            err=True,
        )
    if what == THERE_ALREADY:
        typer.echo(f"{name}: the very same row is in {target} already", err=True)
    elif not quiet:
        typer.echo(f"{name}: row {what} -> {target}", err=True)
    if not quiet:
        _show(row)


def _show(row: FitRow) -> None:
    """The row for people, with the intervals that the file has no columns for."""
    from milepost.intrinsic.rating.fit_row import COLUMNS

    bounds = row.fit.interval()
    spans = {
        name: f"{low:.3g}-{high:.3g}" if low < high else "not known: too few games"
        for name, (low, high) in bounds.items()
    }
    lines = [[name, cell, spans.get(name, "")] for name, cell in
             zip(COLUMNS, row.cells, strict=True)]  # fmt: skip
    show.print_table(["", "value", "95 %"], lines)
