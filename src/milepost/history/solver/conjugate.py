"""The linear equations of a Newton step, by conjugate gradients.

H has a row for every node (its games, its prior or drift), then one for the newcomers' level and
one for the first mover's advantage of every period. The preconditioner solves along each player's
life exactly, with the games as if every opponent stood still. An iteration is three steps, which
the workers share: the games (by periods), then the lives and the update (by players).

Where skills are told something (`milepost.history.ttt.told`), a row for the era of every period
follows, and the preconditioner gets a second part (`milepost.history.solver.coarse`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milepost.history.records import Floats, Ints
from milepost.history.solver.coarse import Coarse, coarse_of
from milepost.history.solver.matrix import (
    Lives,
    advance,
    clear,
    factorise,
    largest_size,
    product_of_games,
    product_of_level,
    product_of_lives,
)
from milepost.history.ttt.graph import Graph, Longs
from milepost.history.ttt.told import Told
from milepost.kernels import kernel

Ranges = list[tuple[int, int]]
"""The periods that each worker takes."""
InParallel = Callable[[list[Callable[[], None]]], None]
"""How the workers are run: one task each."""
MAX_ITERATIONS = 400


class Solution(NamedTuple):
    """Where the conjugate gradients stopped."""

    skills: Floats
    """For each node."""
    paths: Floats
    """For each period the level, then for each the advantage, then for each the era if there is
    one."""
    iterations: int
    """How many there were."""
    residual: float
    """What is left of the residual, relative."""


class Paths(NamedTuple):
    """The unknowns by period: the newcomers' level, and the first mover's advantage."""

    levelling: bool
    """Whether the level is an unknown."""
    leading: bool
    """Whether the advantage is an unknown."""
    by_period: bool
    """Whether the advantage is a path; else one number, which stands in every period."""
    newcomers: Floats
    """For each period, how many players appear."""
    level_link: Floats
    """From period to period, the precision of the level's drift."""
    lead_link: Floats
    """From period to period, the precision of the advantage's drift."""
    lead_prior: float
    """Prior precision of the advantage."""


class Room(NamedTuple):
    """What the solutions of several systems of one history can share."""

    rows: Floats
    """Four rows of nodes to work in."""
    spans: list[Longs]
    """See `spans_of_lives`."""


def room_of(graph: Graph, workers: int) -> Room:
    """Return room for a history."""
    spans = spans_of_lives(graph.player, graph.node_start, workers)
    return Room(np.empty((4, len(graph.player))), spans)


class System:
    """The matrix H and its preconditioner, for a number of workers."""

    def __init__(
        self, graph: Graph, curvature: Floats, degree: Floats, lead_degree: Floats, link: Floats,
        prior: float, paths: Paths, ranges: Ranges, in_parallel: InParallel,
        told: Told | None = None, spans: list[Longs] | None = None,
    ):  # fmt: skip
        self.graph, self.curvature, self.link, self.prior = graph, curvature, link, prior
        self.paths, self.ranges, self.in_parallel = paths, ranges, in_parallel
        self.learns = paths.levelling or paths.leading or told is not None
        self.nodes, self.periods = len(link), len(graph.node_start) - 1
        self.spans = spans or spans_of_lives(graph.player, graph.node_start, len(ranges))
        self.lives = Lives(
            np.empty(self.nodes, dtype=np.uint32), np.empty(self.nodes, dtype=np.uint32),
            np.empty(self.nodes), np.empty(self.nodes), np.empty(self.nodes),
            np.empty(self.nodes),
        )  # fmt: skip
        in_parallel([
            call(factorise, spans, graph.previous, graph.following, degree, link, prior,
                 self.lives)
            for spans in self.spans
        ])  # fmt: skip
        self.rest = 1.0 / self._diagonals(lead_degree)
        self.told = told
        self.coarse: Coarse | None = None
        if told is not None:
            self.coarse = coarse_of(
                graph, link, prior, told, paths.newcomers, paths.level_link, paths.levelling
            )
            # Level and era are left to the coarse part.
            self.rest[: self.periods] = 0.0
            self.rest = np.concatenate([self.rest, np.zeros(self.periods)])

    def _diagonals(self, lead_degree: Floats) -> Floats:
        paths = self.paths
        level = paths.newcomers * self.prior + _path_diagonal(paths.level_link)
        lead = lead_degree + _path_diagonal(paths.lead_link)
        if paths.by_period:
            lead[0] += paths.lead_prior
        else:
            lead[:] = lead_degree.sum() + paths.lead_prior
        # Infinite stands for "not an unknown": the preconditioner leaves it at zero.
        if not paths.levelling:
            level[:] = np.inf
        if not paths.leading:
            lead[:] = np.inf
        level[0] = np.inf
        return np.concatenate([level, lead])

    def product(
        self, z: Floats, share: float, direction: Floats, image: Floats, path: Floats,
        path_image: Floats,
    ) -> float:  # fmt: skip
        """Make z + share * direction the new direction; write H times it; return its square in H.

        The square is summed as a sum of squares: no cancellation can make it negative.
        """
        graph, paths, periods = self.graph, self.paths, self.periods
        if self.learns:
            path_image[:] = 0.0
        level, lead = path[:periods], path[periods : 2 * periods]
        level_image, lead_image = path_image[:periods], path_image[periods : 2 * periods]
        squares: list[float] = [0.0] * (2 * len(self.ranges))
        self.in_parallel([
            keep(squares, place, product_of_games, graph.first, graph.second, graph.mover,
                 graph.game_start, graph.node_start, *part, self.curvature, z, share, lead,
                 paths.leading, direction, image, lead_image)
            for place, part in enumerate(self.ranges)
        ])  # fmt: skip
        self.in_parallel([
            keep(squares, len(self.ranges) + place, product_of_lives, spans, self.lives.past,
                 self.lives.future, self.link, self.lives.next_link, self.prior, direction, image)
            for place, spans in enumerate(self.spans)
        ])  # fmt: skip
        total = sum(squares)
        if paths.levelling:
            total += product_of_level(
                graph.previous, graph.node_start, self.prior, direction, level, image, level_image
            )
            own = paths.newcomers * self.prior * level + path_product(paths.level_link, level)
            level_image += own
            level_image[0] = 0.0
            total += float(np.sum(level * own))
        if paths.leading:
            own = path_product(paths.lead_link, lead)
            own[0] += paths.lead_prior * lead[0]
            total += float(np.sum(lead * own))
            lead_image += own
            if not paths.by_period:
                lead_image[:] = lead_image.sum()
        if self.told is not None:
            total += self._product_of_told(
                self.told, direction, path[2 * periods :], image, path_image[2 * periods :]
            )
        return total

    def _product_of_told(
        self, told: Told, direction: Floats, era: Floats, image: Floats, era_image: Floats
    ) -> float:
        """What observations of skill plus era do to both; returns its part of the square."""
        total = told.product(direction, era, image, era_image)
        if told.learned:
            own = path_product(told.era_link, era)
            era_image += own
            total += float(np.sum(era * own))
        return total

    def advance(
        self, length: float, direction: Floats, image: Floats, x: Floats, residual: Floats,
        z: Floats,
    ) -> float:  # fmt: skip
        """Go `length` along the direction, precondition the residual; return its size."""
        sizes: list[float] = [0.0] * len(self.spans)
        self.in_parallel([
            keep(sizes, place, advance, spans, self.lives, length, direction, image, x, residual,
                 z)
            for place, spans in enumerate(self.spans)
        ])  # fmt: skip
        return sum(sizes)

    def advance_paths(
        self, length: float, direction: Floats, image: Floats, x: Floats, residual: Floats,
        z: Floats,
    ) -> float:  # fmt: skip
        """The same for the paths. One constant advantage counts once, though it stands often."""
        if not self.learns:
            return 0.0
        x += length * direction
        residual -= length * image
        z[:] = self.rest * residual
        cut = 2 * self.periods if self.paths.by_period else self.periods + 1
        return float(np.sum(residual[:cut] * z[:cut]))

    def precondition_coarsely(
        self, residual: Floats, z: Floats, path_residual: Floats, path_z: Floats
    ) -> float:
        """Add the second part of the preconditioner; return its part of the residual's size."""
        if self.coarse is None:
            return 0.0
        return self.coarse.add(residual, z, path_residual, path_z)


def solve(
    system: System, pull: Floats, path_pull: Floats, *, accuracy: float, rough: float,
    enough: float, room: Floats | None = None,
) -> Solution:  # fmt: skip
    """Solve H x = pull.

    Parameters
    ----------
    system
        The equations.
    pull, path_pull
        The right side: for the nodes, and for the paths. Both are overwritten.
    accuracy
        Where to stop: the size of the residual, relative to that after the first iteration. (Before
        it a life tied stiffly together may pull itself apart with a force beside which all else
        looks small; the preconditioner solves that at once.)
    rough, enough
        Where the solution is larger than `enough`, in points, this accuracy will do.
    room
        Four rows of nodes to work in, of which the first is the solution; `None` = fresh memory,
        which is dear.
    """
    room = np.empty((4, len(pull))) if room is None else room
    shares = len(pull) * np.arange(len(system.ranges) + 1) // len(system.ranges)
    system.in_parallel([call(clear, room, *part) for part in itertools.pairwise(shares)])
    x, z, direction, image = room
    paths, path_z, path, path_image = (np.zeros_like(path_pull) for _ in range(4))
    size = system.advance(0.0, direction, image, x, pull, z)
    size += system.advance_paths(0.0, path, path_image, paths, path_pull, path_z)
    size += system.precondition_coarsely(pull, z, path_pull, path_z)
    start, share = size, 0.0
    for iteration in range(MAX_ITERATIONS):
        if not size > 0.0:
            return Solution(x, paths, iteration, 0.0)
        if system.learns:
            path *= share
            path += path_z
        square = system.product(z, share, direction, image, path, path_image)
        length = size / square
        before = size
        size = system.advance(length, direction, image, x, pull, z)
        size += system.advance_paths(length, path, path_image, paths, path_pull, path_z)
        size += system.precondition_coarsely(pull, z, path_pull, path_z)
        share = size / before
        if iteration == 0:
            start = size
        left = math.sqrt(size / start) if start > 0.0 else size
        done = left <= accuracy or not math.isfinite(size)
        if done or (iteration and left <= rough and max(largest(x), largest(paths)) > enough):
            return Solution(x, paths, iteration + 1, left)
    return Solution(x, paths, MAX_ITERATIONS, left)


def largest(values: Floats) -> float:
    """Return the largest absolute value; NaN if there is one."""
    return float(np.int64(largest_size(values.view(np.int64))).view(np.float64))


def call(function: Callable[..., object], *arguments: object) -> Callable[[], None]:
    """Return a task that calls a function."""

    def task() -> None:
        function(*arguments)

    return task


def keep(
    answers: list[float], place: int, function: Callable[..., float], *arguments: object
) -> Callable[[], None]:
    """Return a task that calls a function and keeps its answer."""

    def task() -> None:
        answers[place] = function(*arguments)

    return task


def spans_of_lives(player: Ints, node_start: Longs, workers: int) -> list[Longs]:
    """Deal the players out to the workers: for each the spans of nodes of its players, in time.

    Each gets neighbouring players with about as many nodes in all. So its nodes of a period are
    neighbours, and two workers hardly ever write to the same line of the cache.
    """
    nodes = len(player)
    if workers == 1:
        return [np.array([[0, nodes]])]
    shares = nodes * np.arange(1, workers) // workers
    cuts = np.searchsorted(np.cumsum(np.bincount(player)), shares, side="right")
    bounds = np.empty((len(node_start) - 1, workers + 1), dtype=np.int64)
    bounds[:, 0], bounds[:, -1] = node_start[:-1], node_start[1:]
    _cut_periods(player, node_start, cuts, bounds)
    spans = [bounds[:, w : w + 2] for w in range(workers)]
    return [np.ascontiguousarray(span[span[:, 0] < span[:, 1]]) for span in spans]


@kernel
def _cut_periods(player: Ints, node_start: Longs, cuts: Longs, bounds: Longs) -> None:
    for period in range(len(bounds)):
        begin, end = node_start[period], node_start[period + 1]
        for place in range(len(cuts)):
            begin += np.searchsorted(player[begin:end], cuts[place])
            bounds[period, place + 1] = begin


def path_links(gaps: Floats, drift: float) -> Floats:
    """Return the precisions of a path's drift from period to period; 0 = there is no path."""
    if not drift:
        return np.zeros(len(gaps))
    return np.asarray(1.0 / (np.maximum(gaps, 1e-9) * drift))


def path_product(link: Floats, path: Floats) -> Floats:
    """Return what the drift of a path pulls back by."""
    step = link * np.diff(path)
    out = np.zeros_like(path)
    out[1:] += step
    out[:-1] -= step
    return out


def _path_diagonal(link: Floats) -> Floats:
    out = np.zeros(len(link) + 1)
    out[1:] += link
    out[:-1] += link
    return out
