"""Analyse positions: one engine a core, nothing computed twice, nothing lost.

The jobs (position, and the played move where the plan looks at it) that the store does not hold yet
are handed to threads, each with an engine process of its own. An engine that dies, hangs or talks
nonsense is started anew and the position tried again; after the last try it is recorded as failed
and the rest goes on. Finished positions are written every few seconds.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chess
import polars as pl

from milepost.analysis.engines import EngineSetup, make_setup
from milepost.analysis.plans import Evaluation, Plan, evaluate
from milepost.analysis.store import EvaluationStore, evaluation_row, stored_position
from milepost.analysis.uci import UciEngine
from milepost.errors import EngineError, InputError
from milepost.tables import TURNS

TRIES = 3
SAVE_SECONDS = 5.0
"""Finished positions wait at most so long before they are on disk."""

Job = tuple[str, str | None]
"""A position as the store keeps it, and the played move if the plan looks at it."""


@dataclass(frozen=True)
class Outcome:
    """What became of a job."""

    job: Job
    evaluation: Evaluation | None
    """`None` if it failed."""
    reason: str | None
    """Why it failed."""
    seconds: float
    """How long the engine was busy with it."""


@dataclass
class RunState:
    """How far a run is, and what it found."""

    total: int = 0
    """Different positions wanted."""
    hits: int = 0
    """Positions that the store held already."""
    done: int = 0
    """Positions analysed in this run."""
    failed: list[tuple[str, str | None, str]] = field(default_factory=list)
    """Position, played move and reason of those given up."""
    restarts: int = 0
    """Engines that had to be started anew."""
    engine_seconds: float = 0.0
    """Time that engines were busy, added up."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Turns that were not wanted, by reason."""
    setup: EngineSetup | None = None
    """The set-up of the engine."""
    interrupted: bool = False
    """Whether the user stopped the run."""


Report = Callable[[RunState], None]


def wanted_jobs(
    turns: Any, plan: Plan, *, every_turn: bool = False
) -> tuple[list[Job], dict[str, int]]:
    """Return the different jobs that a turns table asks for, and the turns left out by reason.

    Book, repetition and only-move turns never become spreads, so they are not analysed unless
    `every_turn` says so. Chess960 turns are left out: their castling needs another set-up.
    """
    frame = TURNS.conform(turns)
    left_out: dict[str, int] = {}
    tests = [("Chess960", pl.col("variant").fill_null("standard") == "standard")]
    if not every_turn:
        tests += [
            (name, ~pl.col(column).fill_null(False))
            for name, column in (
                ("book", "book"),
                ("repetition", "repetition"),
                ("only move", "only_move"),
            )
        ]
    for name, test in tests:
        before = len(frame)
        frame = frame.filter(test)
        if before > len(frame):
            left_out[name] = before - len(frame)
    jobs: dict[Job, None] = {}
    for fen, played in frame.select("position", "played").iter_rows():
        jobs[stored_position(fen), played if plan.needs_played else None] = None
    return list(jobs), left_out


def engine_setup(program: str | Path, plan: Plan, options: dict[str, str]) -> EngineSetup:
    """Start an engine, ask who it is, and return its set-up for a plan.

    Raises
    ------
    EngineError
        If it does not start, or lacks an option.
    InputError
        If an option is one that the plan sets itself.
    """
    clash = sorted(set(plan.options) & set(options) - {"Hash"})
    if clash:
        raise InputError(f"--engine-option: {', '.join(clash)} is set by the plan")
    merged = {**plan.options, **options}
    with UciEngine(program) as engine:
        # Told from what it declares: to load its net just for this would take most of a second run.
        engine.check_options(merged)
        return make_setup(engine.name, engine.declared, merged, plan.text)


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
    report: Report | None = None,
    state: RunState | None = None,
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
    report
        Called after every position.
    state
        To be filled and returned; a new one if not given.

    Returns
    -------
    RunState
        An interrupt (Ctrl-C) ends the run within a second with all finished positions stored, and
        is noted there.
    """
    state = state or RunState()
    setup = engine_setup(program, plan, options or {})
    state.setup = setup
    store.add_setup(setup)
    known = store.keys(setup.digest)
    wanted = list(jobs)
    missing = [job for job in wanted if job not in known]
    state.total = len(wanted)
    state.hits = len(wanted) - len(missing)
    if cluster is None:
        outcomes = _run_threads(missing, program, plan, dict(setup.options), workers, state)
    else:
        from milepost.analysis.cluster import run_cluster

        outcomes = run_cluster(missing, engine, plan, dict(setup.options), state, address=cluster)
    # Closed at once, so that no engine outlives a failure to store.
    with contextlib.closing(outcomes):
        save_outcomes(outcomes, store, setup.digest, state, report)
    return state


def save_outcomes(
    outcomes: Iterator[Outcome],
    store: EvaluationStore,
    setup: str,
    state: RunState,
    report: Report | None,
) -> None:
    """Store what comes in, every few seconds and at the end, whatever the end is."""
    rows: list[dict[str, Any]] = []
    saved = time.monotonic()
    try:
        for outcome in outcomes:
            position, played = outcome.job
            state.engine_seconds += outcome.seconds
            if outcome.evaluation is None:
                state.failed.append((position, played, outcome.reason or "unknown"))
            else:
                rows.append(evaluation_row(position, played, setup, outcome.evaluation))
                state.done += 1
            if report:
                report(state)
            if time.monotonic() - saved > SAVE_SECONDS:
                store.append(rows)
                rows, saved = [], time.monotonic()
    except KeyboardInterrupt:
        state.interrupted = True
    finally:
        store.append(rows)


def _run_threads(
    jobs: list[Job],
    program: str | Path,
    plan: Plan,
    options: dict[str, str],
    workers: int,
    state: RunState,
) -> Generator[Outcome]:
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    pool = [
        EngineWorker(program, plan, options, waiting, finished)
        for _ in range(min(workers, len(jobs)))
    ]
    try:
        for worker in pool:
            worker.start()
        for _ in jobs:
            yield _next_outcome(finished)
            state.restarts = sum(worker.restarts for worker in pool)
    finally:
        for worker in pool:
            worker.stop()
        for worker in pool:
            worker.join()


def _next_outcome(finished: queue.SimpleQueue[Outcome]) -> Outcome:
    while True:
        try:
            # A timeout, so that an interrupt is noticed between two outcomes.
            return finished.get(timeout=0.2)
        except queue.Empty:
            continue


class EngineWorker(threading.Thread):
    """A thread with an engine of its own, which it restarts when need be."""

    def __init__(
        self,
        program: str | Path,
        plan: Plan,
        options: dict[str, str],
        waiting: queue.SimpleQueue[Job],
        finished: queue.SimpleQueue[Outcome],
    ):
        super().__init__(daemon=True)
        self.restarts = 0
        self._runner = JobRunner(program, plan, options)
        self._waiting = waiting
        self._finished = finished
        self._stopping = False

    def run(self) -> None:
        """Do jobs until there are no more."""
        while not self._stopping:
            try:
                job = self._waiting.get_nowait()
            except queue.Empty:
                break
            outcome = self._runner.run(job)
            self.restarts = self._runner.restarts
            if not self._stopping:
                self._finished.put(outcome)
        self._runner.close()

    def stop(self) -> None:
        """End the engine at once; its search fails and the thread leaves."""
        self._stopping = True
        self._runner.abort()


class JobRunner:
    """One engine, kept alive from job to job, with as many tries as a job may have."""

    def __init__(self, program: str | Path, plan: Plan, options: dict[str, str]):
        self.restarts = 0
        self._program = program
        self._plan = plan
        self._options = options
        self._engine: UciEngine | None = None
        self._aborted = False

    def run(self, job: Job) -> Outcome:
        """Do a job; failures become outcomes, never exceptions."""
        position, played = job
        begun = time.monotonic()
        reason = "stopped"
        if not chess.Board(position).is_valid():
            return Outcome(job, None, "not a legal position", 0.0)
        for _ in range(TRIES):
            if self._aborted:
                break
            try:
                found = evaluate(self._started(), self._plan, position, played)
                return Outcome(job, found, None, time.monotonic() - begun)
            except EngineError as error:
                reason = str(error)
                self.close()
                self.restarts += 1
        return Outcome(job, None, reason, time.monotonic() - begun)

    def _started(self) -> UciEngine:
        if self._engine is None:
            self._engine = UciEngine(self._program)
            self._engine.configure(self._options)
        return self._engine

    def close(self) -> None:
        """End the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.kill()

    def abort(self) -> None:
        """End the engine from another thread, in the middle of a search."""
        self._aborted = True
        engine = self._engine
        if engine is not None:
            engine.terminate()
