"""Analyse positions on a Ray cluster: one engine a CPU, whichever machine the CPU is in.

The driver keeps the list of jobs and is the only writer. Every worker is a Ray actor with an engine
of its own, which it looks for on its own machine; an engine that is not the driver's, by the digest
of its set-up, is refused, so that values of two engines never mix. Ray starts lost workers anew,
where there is room; their jobs go back to the list and to whoever is free, because Ray itself would
try them again only on the same worker, which may have to wait for a machine that never comes back.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from milepost import __version__
from milepost.analysis.plans import Plan
from milepost.analysis.run.actor import EngineActor, Refusal
from milepost.analysis.run.state import RunState
from milepost.analysis.run.threads import Job, Outcome
from milepost.errors import EngineError, InputError, WorkerError
from milepost.io.cluster import connected, import_ray

IN_FLIGHT = 2
"""Jobs that a worker has at a time: one in work, one at hand when that is done."""
LOSSES = 5
"""A job whose worker was lost so many times is given up: it may be what kills them."""
WAIT_SECONDS = 1.0
LOOK_SECONDS = 5.0
"""How often the driver looks for CPUs that have joined."""
PATIENCE_SECONDS = 60.0
"""After so long without any worker, a warning is logged."""
STOP_SECONDS = 0.5
"""What the workers have to end their engines when the run is over."""

_log = logging.getLogger(__name__)


def run_cluster(
    jobs: list[Job],
    program: str | None,
    plan: Plan,
    options: dict[str, str],
    state: RunState,
    *,
    address: str | None = "auto",
) -> Generator[Outcome]:
    """Do jobs on all CPUs of a Ray cluster; outcomes come in any order.

    CPUs that join while the run goes on are used. A lost worker or machine only slows the run.
    Closing the generator, or an interrupt, ends all workers and their engines.

    Parameters
    ----------
    jobs
        What to do.
    program
        The engine as the user named it, or `None`; every machine looks for it by
        `milepost.analysis.engine.setup.find_engine`.
    plan
        What to search.
    options
        All UCI options to set, those of the plan among them.
    state
        Its `setup` is what every engine must have; restarts are counted there.
    address
        ``HOST:PORT`` of a cluster's head; ``auto`` for the one that RAY_ADDRESS names or that runs
        on this machine, else a new one here; `None` for a new one here in any case. A connection
        that this process has already is used, and left open.

    Raises
    ------
    InputError
        If Ray is not installed.
    WorkerError
        If there is no cluster at the address, or a machine cannot start a worker.
    EngineError
        If a machine has no engine, or another one than the driver.
    """
    if state.setup is None:
        raise InputError("run_cluster: the state has no engine set-up to compare with")
    if not jobs:
        return
    ray = import_ray()
    with connected(ray, address):
        pool = _Pool(ray, (program, plan, options, state.setup.digest, __version__))
        try:
            yield from _run_pool(pool, jobs, state)
        finally:
            pool.stop()


@dataclass(eq=False)
class _Worker:
    """A worker as the driver sees it."""

    actor: Any
    there: bool = False
    """Whether it has answered since it was started."""
    load: int = 0
    """Jobs that it has."""


class _Pool:
    """The workers, and what each of them is asked for at present."""

    def __init__(self, ray: ModuleType, arguments: tuple[Any, ...]):
        self._ray = ray
        self._arguments = arguments
        self._workers: list[_Worker] = []
        self._asked: dict[Any, tuple[_Worker, Job | None]] = {}
        """By the reference of the answer: who, and which job, or `None` for a check."""
        # Another concurrency group, so that `abort` need not wait for the end of a search.
        self._make = ray.remote(
            num_cpus=1, max_restarts=-1, max_task_retries=0, concurrency_groups={"control": 1}
        )(EngineActor)
        self._looked = self._heard = time.monotonic()
        self.grow()

    def grow(self) -> None:
        """Have as many workers as the cluster has CPUs.

        Those of lost machines are not taken away: Ray starts them anew when there is room again.
        """
        self._looked = time.monotonic()
        for _ in range(int(self._ray.cluster_resources().get("CPU", 0)) - len(self._workers)):
            worker = _Worker(self._make.remote(*self._arguments))
            self._workers.append(worker)
            self._check(worker)

    def _check(self, worker: _Worker) -> None:
        # The answer comes once Ray has started the worker, however long that takes.
        self._asked[worker.actor.check.remote()] = (worker, None)

    def give(self, waiting: deque[Job]) -> None:
        """Give jobs to the workers, each worker a first one before any gets a second."""
        for load in range(IN_FLIGHT):
            for worker in self._workers:
                if waiting and worker.there and worker.load <= load:
                    job = waiting.popleft()
                    self._asked[worker.actor.run.remote(job)] = (worker, job)
                    worker.load += 1

    def answers(self) -> Iterator[tuple[Job, tuple[Outcome, int] | None]]:
        """Wait a little; yield jobs with what came of them, or `None` if their worker was lost."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self.grow()
        ready: list[Any] = []
        if self._asked:
            ready, _ = self._ray.wait(list(self._asked), num_returns=1, timeout=WAIT_SECONDS)
        else:
            time.sleep(WAIT_SECONDS)
        if ready:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > PATIENCE_SECONDS:
            self._heard = time.monotonic()
            _log.warning("the cluster has not answered for %g seconds", PATIENCE_SECONDS)
        for reference in ready:
            worker, job = self._asked.pop(reference)
            answer = self._answer(reference, worker)
            if job is None:
                worker.there = worker.there or answer is not _LOST
                continue
            worker.load -= 1
            yield job, None if answer is _LOST else answer

    def _answer(self, reference: Any, worker: _Worker) -> Any:
        from ray.exceptions import ActorDiedError, RayActorError, RayError, RayTaskError

        try:
            answer = self._ray.get(reference)
        except RayTaskError:
            raise  # a mistake in our own code
        except RayError as error:
            if isinstance(error, RayActorError) and error.actor_init_failed:
                raise WorkerError(f"a machine cannot start a worker: {error}") from error
            worker.there = False
            if isinstance(error, ActorDiedError):  # Ray does not start this one anew
                self._workers = [each for each in self._workers if each is not worker]
            elif not any(who is worker and job is None for who, job in self._asked.values()):
                _log.info("a worker was lost: %s", error)
                self._check(worker)
            return _LOST
        if isinstance(answer, Refusal):
            raise EngineError(f"cluster machine {answer.node}: {answer.reason}")
        return answer

    def stop(self) -> None:
        """End the engines, then the workers."""
        calls = [
            worker.actor.abort.options(concurrency_group="control").remote()
            for worker in self._workers
        ]
        if calls:
            self._ray.wait(calls, num_returns=len(calls), timeout=STOP_SECONDS)
        for worker in self._workers:
            self._ray.kill(worker.actor, no_restart=True)


_LOST = object()


def _run_pool(pool: _Pool, jobs: list[Job], state: RunState) -> Iterator[Outcome]:
    waiting = deque(jobs)
    losses: Counter[Job] = Counter()
    left = len(jobs)
    while left:
        pool.give(waiting)
        for job, answer in pool.answers():
            if answer is not None:
                outcome, restarts = answer
            elif losses[job] + 1 < LOSSES:
                losses[job] += 1
                waiting.appendleft(job)
                continue
            else:
                reason = f"its worker was lost {LOSSES} times"
                outcome, restarts = Outcome(job, None, reason, 0.0), 1
            state.restarts += restarts
            left -= 1
            yield outcome
