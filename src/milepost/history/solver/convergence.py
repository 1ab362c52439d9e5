"""Sweeps until the fixed point is near, and known to be near.

Every sweep is followed by a Newton step over all means at once (`milepost.history.solver.newton`).
The step says how far the means were from the fixed point: a last sweep's change alone says little,
for weakly linked groups move slowly. After the step they are nearer; how much, the ratio r of
the last Newton steps s tells: s r / (1 - r). What Newton does not see (standard deviations, draw
margins) is judged likewise by its changes from sweep to sweep. A step is shortened if the one
before it did not bring the next one down. When both estimates are below the tolerance, the last
step is taken and that is the answer.

Several workers take a slice of time each, with about as many games; messages cross the borders
twice a sweep. The fixed point is the same, and the answer does not depend on the workers' timing.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from milepost.errors import InputError, MilepostWarning
from milepost.history.records import Floats, Records
from milepost.history.solver.conjugate import (
    InParallel,
    Ranges,
    Room,
    call,
    largest,
    room_of,
)
from milepost.history.solver.newton import Learning, Linear, Step, linear_model, newton_step
from milepost.history.ttt.graph import Chains, Graph, Notes, Sums, clear_sums, no_sums
from milepost.history.ttt.state import SkillModel
from milepost.history.ttt.told import Told, move_era
from milepost.io.progress import Progress, Report

Adjust = Callable[[], float]
"""Moves what else is learned, between two sweeps; returns by how many points."""
LEAST = 0.15
"""Steps are never taken to shrink by more than this factor."""


class ConvergenceWarning(MilepostWarning):
    """A history stopped before it was as near to its fixed point as asked."""


@dataclass(frozen=True)
class Sweep(Progress):
    """What a progress callback is told after each sweep: `done` counts the sweeps."""

    remaining_error: float = np.inf
    """Estimated distance to the fixed point, in rating points: the largest over all nodes."""
    skipped: int = 0
    """Updates left out in this sweep because a cavity was not a proper Gaussian."""


def sweep_news(number: int, remaining_error: float, skipped: int = 0) -> Sweep:
    """Return what a progress callback is told after a sweep."""
    note = f"about {remaining_error:.3g} points to go" if np.isfinite(remaining_error) else ""
    return Sweep(number, None, note, remaining_error, skipped)


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
    told: Told | None

    @property
    def model(self) -> SkillModel:
        """The model's numbers."""
        ...

    @property
    def can_note(self) -> bool:
        """Whether a visit finds the stand-ins of its games."""
        ...

    def forward(
        self, begin: int, end: int, since: int | None = None, notes: Notes | None = None
    ) -> int:
        """Go forward through periods."""
        ...

    def backward(self, begin: int, end: int, notes: Notes | None = None) -> int:
        """Go back through periods."""
        ...

    def exchange(self, borders: Sequence[int]) -> None:
        """Pass messages across the borders between workers."""
        ...

    def carry_back(self, end: int) -> None:
        """Bring what the future says up to date before a period, without the games."""
        ...

    def shift(self, by: Floats, begin: int, end: int) -> None:
        """Move the skill of every node of some periods."""
        ...

    def linearise(self, begin: int, end: int, means: Floats, curvature: Floats, sums: Sums) -> None:
        """Write each game's Gaussian stand-in."""
        ...

    def snapshot(self) -> Floats:
        """Return what a sweep changes besides the means of the skills."""
        ...


def converge(
    state: SweepState, *, tolerance: float, max_sweeps: int, learning: Learning,
    progress: Report | None = None, workers: int = 1, adjust: Adjust | None = None,
) -> Convergence:  # fmt: skip
    """Sweep until the estimated distance to the fixed point is below the tolerance.

    Parameters
    ----------
    state
        The messages; they are changed in place.
    tolerance
        The distance, in rating points.
    max_sweeps
        Maximum sweeps.
    learning
        What is learned beside the skills.
    progress
        Called after every sweep.
    workers
        How many threads.
    adjust
        Called between two sweeps. The fixed point is near only when its last move was at most half
        of the tolerance.

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
            state, tolerance, max_sweeps, learning, progress, ranges, _parallel(pool, ranges),
            adjust,
        )  # fmt: skip
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
    progress: Report | None, ranges: Ranges, in_parallel: InParallel, adjust: Adjust | None,
) -> Convergence:  # fmt: skip
    trust = 1.0
    moved = 0.0 if adjust is None else np.inf
    remaining = np.inf
    changes: list[float] = []
    distances: list[float] = []
    before: Floats | None = None
    notes = _notes(state)
    room = room_of(state.graph, len(ranges))
    for number in range(1, max_sweeps + 1):
        skipped = _sweep(state, ranges, in_parallel, notes, first=number == 1)
        after = state.snapshot()
        if before is not None:
            changes.append(largest(np.subtract(after, before, out=before)))
        before = after
        ahead = still_to_go(changes)
        # A step is found well where it may be the last one, roughly where it cannot be.
        enough = tolerance * (1.0 - LEAST) / LEAST if ahead <= tolerance else 0.0
        newton = _newton(state, learning, ranges, in_parallel, enough, notes, room)
        distances.append(_largest(newton, state.told))
        # A step that brought no gain is taken more carefully the next time.
        gained = len(distances) < 2 or distances[-1] < distances[-2]
        trust = min(1.0, 2.0 * trust) if gained else 0.5 * trust
        # The step itself bounds it, where rounding leaves no ratio to go by.
        remaining = max(min(still_to_go(distances), distances[-1]), ahead, 2.0 * moved)
        if progress is not None:
            progress(sweep_news(number, remaining, skipped))
        if remaining <= tolerance:
            # The step is free and still an improvement.
            _take(state, newton, 1.0, ranges, in_parallel)
            return Convergence(True, number, remaining, skipped)
        if np.isfinite(distances[-1]) and number < max_sweeps:
            _take(state, newton, trust, ranges, in_parallel)
            if adjust is not None:
                moved = adjust()
    return Convergence(False, max_sweeps, float(remaining), skipped)


def _notes(state: SweepState) -> Notes | None:
    """Room for the games' stand-ins; `None` = they cannot be noted."""
    if not state.can_note:
        return None
    return Notes(np.empty(state.records.games), no_sums(state.records.nodes, state.records.periods))


def _sweep(
    state: SweepState, ranges: Ranges, in_parallel: InParallel, notes: Notes | None, *, first: bool
) -> int:
    """One sweep: forward and back; of several workers every second one goes back and forward.

    So two neighbours come to their border at once, and news crosses it: between the first and the
    second in the middle of the sweep, between the second and the third at its end, and so on. The
    very first way forward is the filter and is not divided. The second way notes the games' stand-
    ins for the Newton step that follows.
    """
    counts: list[int] = []
    borders = [begin for begin, _ in ranges[1:]]
    ways: list[Callable[..., int]] = [state.forward, state.backward]
    if notes is not None:
        in_parallel([call(clear_sums, state.graph, *part, notes.sums) for part in ranges])

    def go(ways: Sequence[Callable[..., int]], notes: Notes | None = None) -> None:
        def task(place: int) -> Callable[[], None]:
            return lambda: counts.append(ways[place % 2](*ranges[place], notes=notes))

        in_parallel([task(place) for place in range(len(ranges))])
        if borders:
            state.exchange(borders)

    if first:
        counts.append(state.forward(0, ranges[-1][1]))
        go((state.backward, state.backward), notes)
        if borders:
            # All but the last worker came to its border before the future was there.
            state.carry_back(borders[-1])
    else:
        go(ways)
        go(ways[::-1], notes)
    return sum(counts)


def _newton(
    state: SweepState, learning: Learning, ranges: Ranges, in_parallel: InParallel, enough: float,
    notes: Notes | None, room: Room | None = None,
) -> Step:  # fmt: skip
    model = state.model
    # The newcomers' level moves whole eras: its equations are stiffer and need more care.
    return newton_step(
        state, sigma=model.sigma, beta=model.beta, tau=model.tau, clock=state.records.clock,
        learning=learning, ranges=ranges, in_parallel=in_parallel,
        accuracy=1e-4 if learning.level_drift else 1e-3, enough=enough, notes=notes,
        room=room,
    )  # fmt: skip


def improve(state: SweepState, learning: Learning, *, first: bool) -> int:
    """Make one sweep and take its Newton step; return how many updates were left out.

    For a slice of a history whose borders change between sweeps: see
    `milepost.history.slices.rounds`.
    """
    ranges = [(0, state.records.periods)]
    notes = _notes(state)
    skipped = _sweep(state, ranges, _one_by_one, notes, first=first)
    newton = _newton(state, learning, ranges, _one_by_one, 0.0, notes)
    if np.isfinite(_largest(newton, state.told)):
        _take(state, newton, 1.0, ranges, _one_by_one)
    return skipped


def linear_model_of(state: SweepState, learning: Learning) -> Linear:
    """Return the linear Gaussian model that stands for a history at its fixed point."""
    model = state.model
    return linear_model(
        state, sigma=model.sigma, beta=model.beta, tau=model.tau, clock=state.records.clock,
        learning=learning, ranges=[(0, len(state.records.clock))], in_parallel=_one_by_one,
    )  # fmt: skip


def _one_by_one(tasks: list[Callable[[], None]]) -> None:
    for task in tasks:
        task()


def _take(
    state: SweepState, step: Step, share: float, ranges: Ranges, in_parallel: InParallel
) -> None:
    by = share * step.skills
    in_parallel([call(state.shift, by, *part) for part in ranges])
    state.level += share * step.level
    state.advantage += share * step.advantage
    if state.told is not None:
        move_era(state.told, state.chains.belief, share * step.era)


def _largest(step: Step, told: Told | None) -> float:
    parts = [largest(part) for part in step[:3]]
    return max(parts) if told is None else max(*parts, told.step_size(step.era))


def still_to_go(steps: list[float]) -> float:
    """Return what a geometric series still has to go after its last step."""
    if steps and steps[-1] == 0.0:
        return 0.0
    if len(steps) < 2 or not np.isfinite(steps[-1]):
        return np.inf
    ratios = [
        late / early if early > 0.0 else 1.0 for early, late in itertools.pairwise(steps[-3:])
    ]
    # One lucky small ratio is not believed; the larger of two is, if it is not too small.
    ratio = min(max(LEAST if len(ratios) > 1 else 0.3, *ratios), 0.98)
    return steps[-1] * ratio / (1.0 - ratio)


def _ranges(graph: Graph, workers: int) -> Ranges:
    """Cut the periods in parts with about as many games each; no more parts than periods."""
    if workers < 1:
        raise InputError(f"expected at least one worker, got {workers!r}")
    shares = graph.game_start[-1] * np.arange(1, workers) // workers
    periods = len(graph.game_start) - 1
    cuts = np.unique([0, *np.searchsorted(graph.game_start, shares), periods])
    return [(int(begin), int(end)) for begin, end in itertools.pairwise(cuts)]


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
