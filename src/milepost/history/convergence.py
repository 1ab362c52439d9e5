"""Sweeps until the fixed point is near, and known to be near.

Every sweep is followed by a Newton step over all means at once (`milepost.history.newton`). The
step is the estimate of how far the means still are from the fixed point: a last step alone says
little, for weakly linked groups move slowly. For what Newton does not see (standard deviations,
draw margins) the last step s and the ratio r of the last two give s r / (1 - r). When the estimate
is above the tolerance the step is taken, shortened if the one before it did not bring the estimate
down, and the next sweep begins from there.

Two workers take the periods up to a border and from it on; the messages across the border pass
between sweeps. The fixed point is the same, and the answer does not depend on their timing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from milepost.errors import InputError, MilepostWarning
from milepost.history.graph import Chains, Graph
from milepost.history.newton import InParallel, Learning, Ranges, Step, newton_step
from milepost.history.records import Floats, Records
from milepost.history.ttt import SkillModel


class ConvergenceWarning(MilepostWarning):
    """A history stopped before it was as near to its fixed point as asked."""


@dataclass(frozen=True)
class Sweep:
    """What a progress callback is told after each sweep."""

    number: int
    """How many sweeps were made."""
    remaining_error: float
    """Estimated distance to the fixed point, in rating points: the largest over all nodes."""
    skipped: int
    """Updates left out in this sweep because a cavity was not a proper Gaussian."""


Progress = Callable[[Sweep], None]


@dataclass(frozen=True)
class Convergence:
    """How the sweeps ended."""

    converged: bool
    """Whether the estimated distance came below the tolerance."""
    sweeps: int
    """How many sweeps were made."""
    remaining_error: float
    """Estimated distance to the fixed point, in rating points: the largest over all nodes."""
    skipped: int
    """Updates left out in the last sweep because a cavity was not a proper Gaussian."""


class SweepState(Protocol):
    """What a model must offer to be brought to its fixed point."""

    records: Records
    graph: Graph
    chains: Chains
    level: Floats
    advantage: Floats

    @property
    def model(self) -> SkillModel:
        """The model's numbers."""
        ...

    def forward(self, begin: int, end: int) -> int:
        """Go forward through periods."""
        ...

    def backward(self, begin: int, end: int) -> int:
        """Go back through periods."""
        ...

    def exchange(self, border_period: int) -> None:
        """Pass messages across a border between workers."""
        ...

    def shift(self, by: Floats) -> None:
        """Move the skill of every node."""
        ...

    def linearise(self, begin: int, end: int, curvature: Floats, slope: Floats) -> None:
        """Write each game's Gaussian stand-in."""
        ...

    def snapshot(self) -> Floats:
        """Return what a sweep changes besides the means of the skills."""
        ...


def converge(
    state: SweepState, *, tolerance: float, max_sweeps: int, learning: Learning,
    progress: Progress | None = None, workers: int = 1,
) -> Convergence:  # fmt: skip
    """Sweep until the estimated distance to the fixed point is below the tolerance.

    Parameters
    ----------
    state
        The messages; they are changed in place.
    tolerance
        The distance, in rating points.
    max_sweeps
        Where to give up.
    learning
        What is learned beside the skills.
    progress
        Called after every sweep.
    workers
        1 or 2: threads.

    Warns
    -----
    ConvergenceWarning
        If `max_sweeps` were not enough.
    """
    if max_sweeps < 1:
        raise InputError(f"expected at least one sweep, got max_sweeps={max_sweeps}")
    ranges = _ranges(state.graph, workers)
    with ThreadPoolExecutor(max_workers=len(ranges)) as pool:
        outcome = _converge(
            state, tolerance, max_sweeps, learning, progress, ranges, _parallel(pool, ranges)
        )
    if not outcome.converged:
        warnings.warn(
            f"after {outcome.sweeps} sweeps the history is still about "
            f"{outcome.remaining_error:.3g} points from its fixed point (asked: {tolerance:.3g})",
            ConvergenceWarning,
            stacklevel=4,
        )
    return outcome


def _converge(
    state: SweepState, tolerance: float, max_sweeps: int, learning: Learning,
    progress: Progress | None, ranges: Ranges, in_parallel: InParallel,
) -> Convergence:  # fmt: skip
    trust = 1.0
    distance = step = np.inf
    remaining = np.inf
    before: Floats | None = None
    for number in range(1, max_sweeps + 1):
        skipped = _sweep(state, ranges, in_parallel, in_order=number == 1)
        newton = _newton(state, learning, ranges, in_parallel)
        after = state.snapshot()
        last_distance, distance = distance, _largest(newton)
        # A step that brought no gain is taken more carefully the next time.
        trust = min(1.0, 2.0 * trust) if distance < last_distance else 0.5 * trust
        last_step, step = step, np.inf if before is None else float(np.max(np.abs(after - before)))
        before = after
        remaining = max(distance, _geometric(step, last_step))
        if progress is not None:
            progress(Sweep(number, remaining, skipped))
        if remaining <= tolerance:
            # The step is free and still an improvement.
            _take(state, newton, 1.0)
            return Convergence(True, number, remaining, skipped)
        if np.isfinite(distance) and number < max_sweeps:
            _take(state, newton, trust)
    return Convergence(False, max_sweeps, float(remaining), skipped)


def _sweep(state: SweepState, ranges: Ranges, in_parallel: InParallel, *, in_order: bool) -> int:
    """One sweep; in order (the very first) the forward pass is the filter and is not divided."""
    counts: list[int] = []
    forward, backward = state.forward, state.backward
    parts = [(0, ranges[-1][1])] if in_order else ranges
    in_parallel([lambda r=r: counts.append(forward(*r)) for r in parts])  # type: ignore[misc]
    for begin, _ in ranges[1:]:
        state.exchange(begin)
    in_parallel([lambda r=r: counts.append(backward(*r)) for r in ranges])  # type: ignore[misc]
    for begin, _ in ranges[1:]:
        state.exchange(begin)
    return sum(counts)


def _newton(state: SweepState, learning: Learning, ranges: Ranges, in_parallel: InParallel) -> Step:
    model = state.model
    # The newcomers' level moves whole eras: its equations are stiffer and need more care.
    return newton_step(
        state, sigma=model.sigma, beta=model.beta, tau=model.tau, clock=state.records.clock,
        learning=learning, ranges=ranges, in_parallel=in_parallel,
        accuracy=1e-4 if learning.level_drift else 1e-3,
    )  # fmt: skip


def _take(state: SweepState, step: Step, share: float) -> None:
    state.shift(share * step.skills)
    state.level += share * step.level
    state.advantage += share * step.advantage


def _largest(step: Step) -> float:
    return float(max(np.max(np.abs(part)) for part in step[:3]))


def _geometric(step: float, last_step: float) -> float:
    """Return what a geometric series still has to go after its last step."""
    if not np.isfinite(step) or not np.isfinite(last_step):
        return step
    if step == 0.0:
        return 0.0
    ratio = min(step / last_step, 0.98) if last_step > 0 else 0.98
    # One lucky small ratio is not believed.
    ratio = max(ratio, 0.3)
    return step * ratio / (1.0 - ratio)


def _ranges(graph: Graph, workers: int) -> Ranges:
    """Cut the periods in one or two parts with about as many games each."""
    periods = len(graph.game_start) - 1
    if workers not in (1, 2):
        raise InputError(f"expected 1 or 2 workers, got {workers!r}")
    border = int(np.searchsorted(graph.game_start, graph.game_start[-1] // 2))
    if workers == 1 or not 0 < border < periods:
        return [(0, periods)]
    return [(0, border), (border, periods)]


def _parallel(pool: ThreadPoolExecutor, ranges: Ranges) -> InParallel:
    def run(tasks: list[Callable[[], None]]) -> None:
        if len(ranges) == 1:
            for task in tasks:
                task()
            return
        # The first part runs here: one hand-over less.
        others = [pool.submit(task) for task in tasks[1:]]
        tasks[0]()
        for other in others:
            other.result()

    return run
