"""From games through the engine to one row of fits a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from milepost.analysis.engine.setup import find_engine, parse_engine_options
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.run.run import analyse, engine_setup, wanted_jobs
from milepost.analysis.run.state import RunState
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError, OutputError
from milepost.games.load import read_turns
from milepost.games.turns.replay import BOOK_MOVES
from milepost.intrinsic.rating.fit_row import (
    APPENDED,
    THERE_ALREADY,
    FitRow,
    append_row,
    other_setups,
    read_rows,
    refuse_few,
)
from milepost.intrinsic.rating.fit_row import fit_row as fit_row_of
from milepost.io.progress import Report
from milepost.io.sources import Inputs, Source, find_sources

__all__ = [
    "THERE_ALREADY",
    "FitRow",
    "RowEngine",
    "RowOutcome",
    "fit_rows",
    "rows_of_other_setups",
]


@dataclass(frozen=True, eq=False)
class RowOutcome:
    """What became of one file of games."""

    filename: str
    """The file, as it was named."""
    row: FitRow | None
    """Its row; None = it got none."""
    what: str
    """``"appended"``, ``"replaced"``, ``"there already"``; or why there is no row."""
    earlier: int = 0
    """Other rows of the same file that stay in the results."""
    errors: pl.DataFrame | None = None
    """What was wrong with the games; see `milepost.tables.ERRORS`."""
    positions: tuple[int, int, int] = (0, 0, 0)
    """Positions in all, in the store already, analysed now."""


@dataclass(frozen=True)
class RowEngine:
    """Which engine scores the moves, and how."""

    plan: str = "quick"
    """The plan, one of `milepost.analysis.plans.PLANS`."""
    depth: int | None = None
    """Another depth than the plan's own."""
    program: str | None = None
    """A UCI engine [default: where it is usually found]."""
    options: tuple[str, ...] = ()
    """UCI options as ``Name=Value``."""


def fit_rows(
    inputs: Inputs,
    results: str | Path,
    *,
    store: str | Path | None = None,
    engine: RowEngine | None = None,
    book_moves: int = BOOK_MOVES,
    replace: bool = False,
    workers: int = 1,
    progress: Report | None = None,
) -> Iterator[RowOutcome]:
    """Go from games through the engine to one row a file in a results file (CSV).

    What the store holds already is not analysed again; s and c are fitted as in the 2011 paper.

    Parameters
    ----------
    inputs
        Files of games.
    results
        The CSV to which rows are added; see `milepost.intrinsic.rating.fit_row.COLUMNS`.
    store
        The evaluation store [default: beside the results].
    engine
        Which engine, and how it searches.
    book_moves
        Moves a side that are left out.
    replace
        Whether earlier rows of the same file go.
    workers
        Processes and engines at a time.
    progress
        Called while games are read and analysed.

    Yields
    ------
    RowOutcome
        One a file; a file that gives no row does not keep the others from theirs.

    Raises
    ------
    OutputError
        If the results file is none.
    InputError
        If it has another header.
    KeyboardInterrupt
        If the analysis was interrupted; it goes on from there when called again.
    """
    target = Path(results)
    if target.suffix.lower() != ".csv":
        raise OutputError(f"{results}: the name of a results file ends in .csv")
    read_rows(target)  # another header is told before an engine works
    wanted = engine or RowEngine()
    program, plan = find_engine(wanted.program), make_plan(wanted.plan, depth=wanted.depth)
    options = parse_engine_options(wanted.options)
    where = Path(store) if store is not None else target.with_name(f"{target.stem}.store")
    for source in find_sources(inputs):
        try:
            turns, errors = read_turns(
                [source.name], book_moves=book_moves, workers=workers, progress=progress
            )
            run = _analyse(source.name, turns, where, program, plan, options, workers, progress)
            yield _append(source, turns, errors, run, where, target, book_moves, replace)
        except InputError as error:
            yield RowOutcome(source.name, None, str(error))


def rows_of_other_setups(results: str | Path, engine: RowEngine | None = None) -> list[str]:
    """Return the files whose rows in the results were made with another engine set-up."""
    wanted = engine or RowEngine()
    plan = make_plan(wanted.plan, depth=wanted.depth)
    options = parse_engine_options(wanted.options)
    digest = engine_setup(find_engine(wanted.program), plan, options).digest
    return other_setups(results, digest)


def _analyse(
    name: str,
    turns: pl.DataFrame,
    where: Path,
    program: Path,
    plan: Plan,
    options: dict[str, str],
    workers: int,
    progress: Report | None,
) -> RunState:
    """Let the engine score what the store does not hold."""
    jobs, left_out = wanted_jobs(turns, plan)
    refuse_few(name, len(turns) - sum(left_out.values()))  # before an engine works in vain
    store = EvaluationStore(where, create=True)
    run = analyse(jobs, store, program, plan, options=options, workers=workers, progress=progress)
    if run.interrupted:
        raise KeyboardInterrupt
    if run.failed:
        position, _, reason = run.failed[0]
        raise InputError(
            f"{name}: {len(run.failed):,} of {run.total:,} positions failed ({position}: "
            f"{reason}): no row; the same again tries them anew"
        )
    return run


def _append(
    source: Source,
    turns: pl.DataFrame,
    errors: pl.DataFrame,
    run: RunState,
    where: Path,
    target: Path,
    book_moves: int,
    replace: bool,
) -> RowOutcome:
    """Fit one file, and add its row."""
    assert run.setup is not None
    store = EvaluationStore(where)
    spreads = make_spreads(turns, store, setup=run.setup.digest)
    row = fit_row_of(source.name, spreads.table, turns)
    made = {
        "digest": run.setup.digest,
        "setup": store.known_setups().get(run.setup.digest, {}),
        "book_moves": book_moves,
        "inputs": [source.about()],
        "turns": spreads.counts,
    }
    earlier = sum(cells[0] == source.name for cells in read_rows(target))
    what = append_row(target, row, made=made, replace=replace)
    return RowOutcome(
        source.name,
        row,
        what,
        earlier=earlier if what == APPENDED else 0,
        errors=errors,
        positions=(run.total, run.hits, run.done),
    )
