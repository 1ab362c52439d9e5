"""Threads with an engine each: jobs in, outcomes out, and an outcome for every job.

An engine that dies, hangs or talks nonsense is started anew and the job tried again; after the last
try the job has failed. So has one that meets a mistake of ours. Whatever happens to a thread, its
job is not waited for for ever.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import Evaluation, Plan, evaluate
from milepost.analysis.store.positions import is_legal, position_problem
from milepost.errors import EngineError, EngineSilentError

TRIES = 3
_LOOK_SECONDS = 0.2
"""How often it is looked whether the threads still live, and whether the user has interrupted."""

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
    silent: bool = False
    """Whether the engine, started anew every time, has never printed anything for it."""


class UnfitError(Exception):
    """An engine that must not be used, so that the run has to end: no job is to blame."""


def run_threads(
    jobs: list[Job],
    program: str | Path,
    plan: Plan,
    options: dict[str, str],
    workers: int,
    restarted: Callable[[int], None],
) -> Generator[Outcome]:
    """Do jobs in threads; outcomes come in any order, one for each job.

    Closing the generator ends all engines.

    Parameters
    ----------
    jobs
        What to do.
    program, plan, options
        The engine, what to search, and the UCI options.
    workers
        Threads, each with an engine of its own.
    restarted
        Called after each outcome with the number of engines that had to be started anew so far.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    pool = [
        EngineWorker(program, plan, options, waiting, finished)
        for _ in range(min(workers, len(jobs)))
    ]
    missing = dict.fromkeys(jobs)
    try:
        for worker in pool:
            worker.start()
        while missing:
            outcome = _next_outcome(finished, pool)
            if outcome is None:
                break
            del missing[outcome.job]
            restarted(sum(worker.restarts for worker in pool))
            yield outcome
        for job in missing:
            yield Outcome(job, None, "the thread that had it has died", 0.0)
    finally:
        for worker in pool:
            worker.stop()
        for worker in pool:
            if worker.ident is not None:  # else an interrupt came before it was started
                worker.join()


def _next_outcome(finished: queue.SimpleQueue[Outcome], pool: list[EngineWorker]) -> Outcome | None:
    """Return an outcome; `None` if nobody is left who could bring one."""
    while True:
        alive = any(worker.is_alive() for worker in pool)
        with contextlib.suppress(queue.Empty):
            # A timeout, so that an interrupt is noticed between two outcomes.
            return finished.get(timeout=_LOOK_SECONDS)
        if not alive:
            return None


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
        try:
            while not self._stopping:
                try:
                    job = self._waiting.get_nowait()
                except queue.Empty:
                    break
                outcome = self._runner.run(job)
                self.restarts = self._runner.restarts
                if not self._stopping:
                    self._finished.put(outcome)
        finally:
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
        self._silences = 0

    def run(self, job: Job) -> Outcome:
        """Do a job; failures become outcomes, never exceptions.

        Raises
        ------
        UnfitError
            The only exception, by subclasses that look at their engines.
        """
        begun = time.monotonic()
        self._silences = 0
        try:
            found, reason = self._try(job)
        except UnfitError:
            raise
        except Exception as error:  # a mistake of ours: this job has failed, others need not
            self.close()
            found, reason = None, f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - begun
        return Outcome(job, found, reason, seconds, silent=self._silences == TRIES)

    def _try(self, job: Job) -> tuple[Evaluation | None, str | None]:
        """Return the evaluation, or why there is none."""
        position, played = job
        problem = position_problem(position)
        if problem is None and played is not None and not is_legal(position, played):
            problem = f"the played move {played} is not legal there"
        if problem is not None:
            return None, problem
        reason = "stopped"
        for _ in range(TRIES):
            if self._aborted:
                break
            try:
                return evaluate(self._started(), self._plan, position, played), None
            except EngineError as error:
                reason = str(error)
                self._silences += isinstance(error, EngineSilentError)
                self.close()
                self.restarts += 1
        return None, reason

    def _started(self) -> UciEngine:
        if self._engine is None:
            self._engine = UciEngine(self._program)
            if self._aborted:  # while it was being started, so that nobody could end it
                raise EngineError("stopped")
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
