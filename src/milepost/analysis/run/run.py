"""Analyse positions: one engine a core, nothing computed twice, nothing lost.

The jobs (position, and the played move where the plan looks at it) that the store does not hold yet
are handed to threads, each with an engine process of its own. An engine that dies, hangs or talks
nonsense is started anew and the position tried again; after the last try it is recorded as failed
and the rest goes on. Finished positions are written every few seconds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import chess
import polars as pl

from milepost.analysis.engine.setup import EngineSetup, make_setup
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import ALL_MOVES, Evaluation, Plan
from milepost.analysis.run.cluster import run_cluster
from milepost.analysis.run.state import RunState
from milepost.analysis.run.threads import TRIES, Job, Outcome, run_threads
from milepost.analysis.store.positions import stored_position, variant_exclusions
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import EngineError, EngineSilentError, InputError, OutputError
from milepost.io.progress import Progress, Report
from milepost.tables import TURNS

SAVE_SECONDS = 5.0
"""Finished positions wait at most so long before they are on disk."""
_SILENT_JOBS = 2
"""An engine that was silent about so many positions, and answered none, is given up."""
_NEEDLESS = ("Threads", "Hash", "MultiPV")
"""Options of a plan that an engine may lack."""


def wanted_jobs(
    turns: Any, plan: Plan, *, every_turn: bool = False
) -> tuple[list[Job], dict[str, int]]:
    """Return the different jobs that a turns table asks for, and the turns left out by reason.

    Book, repetition and only-move turns and those without a played move never become spreads, so
    they are not analysed unless `every_turn` says so. Turns without a position, of Chess960 and of
    other variants are always left out: castling in Chess960 needs another set-up. What is no
    position stays: it will be among the failed ones.
    """
    frame = TURNS.conform(turns).with_columns(
        pl.when(pl.col("played") != "").then("played").alias("played")
    )
    left_out: dict[str, int] = {}
    tests = [*variant_exclusions(), ("without a position", pl.col("position").is_null())]
    if not every_turn:
        tests += [
            ("book", pl.col("book").fill_null(False)),
            ("repetition", pl.col("repetition").fill_null(False)),
            ("only move", pl.col("only_move").fill_null(False)),
            ("without a played move", pl.col("played").is_null()),
        ]
    for name, test in tests:
        before = len(frame)
        frame = frame.filter(~test)
        if before > len(frame):
            left_out[name] = before - len(frame)
    jobs: dict[Job, None] = {}
    for fen, played in frame.select("position", "played").iter_rows():
        try:
            position = stored_position(fen)
        except InputError:
            position = fen
        jobs[position, played if plan.needs_played else None] = None
    return list(jobs), left_out


def engine_setup(program: str | Path, plan: Plan, options: dict[str, str]) -> EngineSetup:
    """Start an engine, ask who it is, and return its set-up for a plan.

    An engine without the options Threads or Hash, or MultiPV where one line is enough, is taken as
    it is; its set-up then lacks them. Options of the user are tried out by a search: a value that
    an engine seems to take may still end it, such as the name of a net that is not there.

    Raises
    ------
    EngineError
        If it does not start, lacks an option, or does not take its value.
    InputError
        If an option is one that the plan sets itself.
    """
    clash = sorted(set(plan.options) & set(options) - {"Hash"})
    if clash:
        raise InputError(f"the engine option {', '.join(clash)} is set by the plan")
    merged = {**plan.options, **options}
    with UciEngine(program) as engine:
        for name in _NEEDLESS:
            # Without the option it has one thread, one line, or a table that nobody can size.
            needed = name in options or (name == "MultiPV" and plan.width > 1)
            if name not in engine.declared and not needed:
                del merged[name]
        if "MultiPV" in merged and plan.width == ALL_MOVES:
            merged["MultiPV"] = str(min(plan.width, engine.most_lines))
        # Told from what it declares: to load its net just for this would take most of a second run.
        merged = engine.check_options(merged)
        if options:
            _try_out(engine, merged, plan)
        return make_setup(engine.name, engine.declared, merged, plan.text)


def _try_out(engine: UciEngine, options: dict[str, str], plan: Plan) -> None:
    try:
        engine.configure(options)
        engine.search(chess.STARTING_FEN, "depth 1", timeout=plan.timeout)
    except EngineError as error:
        given = ", ".join(f"{name}={value}" for name, value in options.items())
        raise type(error)(f"{error} (tried out with {given})") from error


def analyse(
    jobs: Iterable[Job],
    store: EvaluationStore,
    program: str | Path,
    plan: Plan,
    *,
    options: dict[str, str] | None = None,
    workers: int = 1,
    cluster: str | None = None,
    engine: str | None = None,
    setup: EngineSetup | None = None,
    progress: Report | None = None,
) -> RunState:
    """Analyse the jobs that the store does not hold, and store them.

    Parameters
    ----------
    jobs
        See `wanted_jobs`.
    store
        Where evaluations are kept.
    program
        The engine's program.
    plan
        What to search.
    options
        UCI options beside those of the plan.
    workers
        Engines at a time, on this machine.
    cluster
        Run on a Ray cluster instead: its address, or ``auto``.
    engine
        The engine as the user named it, looked for anew on every machine of a cluster.
    setup
        What `engine_setup` has returned for this program, plan and options, if it was asked before.
    progress
        Called after every position that the store did not hold.

    Returns
    -------
    RunState
        An interrupt (Ctrl-C) ends the run within a second with all finished positions stored, and
        is noted there.

    Raises
    ------
    OutputError
        If the store cannot be written; what was stored before stays, and the same call goes on
        from there.
    EngineSilentError
        If the engine answers no search at all.
    """
    setup = setup or engine_setup(program, plan, options or {})
    state = RunState(setup=setup)
    store.add_setup(setup)
    known = store.keys(setup.digest)
    wanted = list(dict.fromkeys(jobs))
    missing = [job for job in wanted if job not in known]
    state.total = len(wanted)
    state.hits = len(wanted) - len(missing)
    if missing:
        store.check_writable()
    if cluster is None:

        def restarted(count: int) -> None:
            state.restarts = count

        outcomes = run_threads(missing, program, plan, dict(setup.options), workers, restarted)
    else:
        outcomes = run_cluster(missing, engine, plan, dict(setup.options), state, address=cluster)
    # Closed at once, so that no engine outlives a failure to store.
    with contextlib.closing(outcomes):
        save_outcomes(outcomes, store, setup.digest, state, progress)
    return state


def save_outcomes(
    outcomes: Iterator[Outcome],
    store: EvaluationStore,
    setup: str,
    state: RunState,
    progress: Report | None,
) -> None:
    """Store what comes in, every few seconds and at the end, whatever the end is."""
    rows: list[dict[str, Any]] = []
    silent = 0
    begun = saved = time.monotonic()

    def save() -> None:
        nonlocal rows, saved
        try:
            store.append(rows)
        except OutputError as error:
            lost, rows = len(rows), []  # tried once: the end of the run shall not try them again
            state.done -= lost
            raise OutputError(
                f"{error}; {lost:,} finished positions are not stored, the same command does them "
                "again"
            ) from error
        rows, saved = [], time.monotonic()

    try:
        for outcome in outcomes:
            position, played = outcome.job
            state.engine_seconds += outcome.seconds
            silent += outcome.silent
            if silent >= min(_SILENT_JOBS, state.total) and not state.done:
                raise EngineSilentError(
                    f"{outcome.reason}; started {TRIES} times for each of {silent} positions, it "
                    "never answered a search: does it need other options?"
                )
            if outcome.evaluation is None:
                state.failed.append((position, played, outcome.reason or "unknown"))
            else:
                rows.append(evaluation_row(position, played, setup, outcome.evaluation))
                state.done += 1
            if progress:
                progress(_news(state, time.monotonic() - begun))
            if time.monotonic() - saved > SAVE_SECONDS:
                save()
    except KeyboardInterrupt:
        state.interrupted = True
    finally:
        save()


def _news(state: RunState, seconds: float) -> Progress:
    rate = state.done / max(seconds, 1e-9)
    note = f"{state.hits:,} were in the store, {rate:.2f} a second"
    return Progress(state.done + len(state.failed), state.total - state.hits, note)


def evaluation_row(
    position: str, played: str | None, setup: str, evaluation: Evaluation
) -> dict[str, Any]:
    """Return an evaluation as a row of the evaluations table."""
    depth = max((at for at, _ in evaluation.values), default=0)
    rows = [
        [evaluation.values.get((at, move)) for move in evaluation.moves]
        for at in range(1, depth + 1)
    ]
    return {
        "position": position,
        "played": played,
        "setup": setup,
        "moves": list(evaluation.moves),
        "cp": [[None if value is None else value.cp for value in row] for row in rows],
        "mate": [[None if value is None else value.mate for value in row] for row in rows],
        "nodes": evaluation.nodes,
    }
