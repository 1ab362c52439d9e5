"""The linear equations of a Newton step, by conjugate gradients.

H has a row for every node (its games, its prior or drift), then one for the newcomers' level and
one for the first mover's advantage of every period. The preconditioner solves along each player's
life exactly, with the games as if every opponent stood still. An iteration is three steps, which
the workers share: the games (by periods), then the lives and the update (by players).

Where skills are told something (`milepost.history.ttt.told`), a row for the era of every period
follows, and the preconditioner gets a second part (`milepost.history.solver.coarse`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milepost.history.records import Floats, Ints
from milepost.history.solver.coarse import Coarse, coarse_of
from milepost.history.ttt.graph import Graph, Indices, Longs, Signs
from milepost.history.ttt.told import Told
from milepost.kernels import fused_kernel, kernel

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


class System:
    """The matrix H and its preconditioner, for a number of workers."""

    def __init__(
        self, graph: Graph, curvature: Floats, degree: Floats, lead_degree: Floats, link: Floats,
        prior: float, paths: Paths, ranges: Ranges, in_parallel: InParallel,
        told: Told | None = None,
    ):  # fmt: skip
        self.graph, self.curvature, self.link, self.prior = graph, curvature, link, prior
        self.paths, self.ranges, self.in_parallel = paths, ranges, in_parallel
        self.nodes, self.periods = len(link), len(graph.node_start) - 1
        self.lists = lists_of_lives(graph.previous, len(ranges))
        self.inverse, self.factor = np.empty(self.nodes), np.zeros(self.nodes)
        in_parallel([
            call(_factorise, nodes, graph.previous, graph.following, degree, link, prior,
                 self.inverse, self.factor)
            for nodes in self.lists
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
        path_image[:] = 0.0
        level, lead = path[:periods], path[periods : 2 * periods]
        level_image, lead_image = path_image[:periods], path_image[periods : 2 * periods]
        squares: list[float] = [0.0] * (2 * len(self.ranges))
        self.in_parallel([
            keep(squares, place, _product_of_games, graph.first, graph.second, graph.mover,
                 graph.game_start, graph.node_start, *part, self.curvature, z, share, lead,
                 paths.leading, direction, image, lead_image)
            for place, part in enumerate(self.ranges)
        ])  # fmt: skip
        self.in_parallel([
            keep(squares, len(self.ranges) + place, _product_of_lives, nodes, graph.previous,
                 self.link, self.prior, direction, image)
            for place, nodes in enumerate(self.lists)
        ])  # fmt: skip
        total = sum(squares)
        if paths.levelling:
            total += _product_of_level(
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
        sizes: list[float] = [0.0] * len(self.lists)
        self.in_parallel([
            keep(sizes, place, _advance, nodes, self.graph.previous, self.graph.following,
                 self.inverse, self.factor, length, direction, image, x, residual, z)
            for place, nodes in enumerate(self.lists)
        ])  # fmt: skip
        return sum(sizes)

    def advance_paths(
        self, length: float, direction: Floats, image: Floats, x: Floats, residual: Floats,
        z: Floats,
    ) -> float:  # fmt: skip
        """The same for the paths. One constant advantage counts once, though it stands often."""
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
    enough: float,
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
    """
    x, z, direction, image = (np.zeros_like(pull) for _ in range(4))
    paths, path_z, path, path_image = (np.zeros_like(path_pull) for _ in range(4))
    size = system.advance(0.0, direction, image, x, pull, z)
    size += system.advance_paths(0.0, path, path_image, paths, path_pull, path_z)
    size += system.precondition_coarsely(pull, z, path_pull, path_z)
    start, share = size, 0.0
    for iteration in range(MAX_ITERATIONS):
        if not size > 0.0:
            return Solution(x, paths, iteration, 0.0)
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
    return float(np.max(np.abs(values), initial=0.0))


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


def lists_of_lives(previous: Ints, workers: int) -> list[Ints]:
    """Deal the players out to the workers: for each the nodes of its players, in order of time."""
    if workers == 1:
        return [np.arange(len(previous), dtype=np.int32)]
    worker = np.empty(len(previous), dtype=np.int32)
    _deal(previous, workers, worker)
    return [np.flatnonzero(worker == w).astype(np.int32) for w in range(workers)]


@kernel
def _deal(previous: Ints, workers: int, worker: Ints) -> None:
    new = 0
    for node in range(len(previous)):
        before = previous[node]
        if before < 0:
            worker[node] = new % workers
            new += 1
        else:
            worker[node] = worker[before]


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


@fused_kernel
def _product_of_games(
    first: Indices, second: Indices, mover: Signs, game_start: Longs, node_start: Longs, begin: int,
    end: int, curvature: Floats, z: Floats, share: float, lead: Floats, leading: bool,
    direction: Floats, image: Floats, lead_image: Floats,
) -> float:  # fmt: skip
    square = 0.0
    for node in range(node_start[begin], node_start[end]):
        direction[node] = z[node] + share * direction[node]
        image[node] = 0.0
    if not leading:
        for game in range(game_start[begin], game_start[end]):
            i, j = first[game], second[game]
            apart = direction[i] - direction[j]
            force = curvature[game] * apart
            image[i] += force
            image[j] -= force
            square += force * apart
        return square
    for period in range(begin, end):
        total = 0.0
        for game in range(game_start[period], game_start[period + 1]):
            i, j = first[game], second[game]
            apart = direction[i] - direction[j] + lead[period] * mover[game]
            force = curvature[game] * apart
            image[i] += force
            image[j] -= force
            square += force * apart
            total += force * mover[game]
        lead_image[period] = total
    return square


@fused_kernel
def _product_of_lives(
    nodes: Ints, previous: Ints, link: Floats, prior: float, direction: Floats, image: Floats
) -> float:
    square = 0.0
    for node in nodes:
        before = previous[node]
        if before < 0:
            force = prior * direction[node]
            image[node] += force
            square += force * direction[node]
        else:
            apart = direction[node] - direction[before]
            force = link[node] * apart
            image[node] += force
            image[before] -= force
            square += force * apart
    return square


@kernel
def _product_of_level(
    previous: Ints, node_start: Longs, prior: float, direction: Floats, level: Floats,
    image: Floats, level_image: Floats,
) -> float:  # fmt: skip
    """What newcomers and their level do to each other; returns the mixed part of the square."""
    mixed = 0.0
    for period in range(len(level)):
        for node in range(node_start[period], node_start[period + 1]):
            if previous[node] < 0:
                image[node] -= prior * level[period]
                level_image[period] -= prior * direction[node]
                mixed -= 2.0 * prior * level[period] * direction[node]
    return mixed


@kernel
def _factorise(
    nodes: Ints, previous: Ints, following: Ints, degree: Floats, link: Floats, prior: float,
    inverse: Floats, factor: Floats,
) -> None:  # fmt: skip
    """LDL' of the lives' tridiagonal blocks, in the form of a filter: nothing cancels."""
    for node in nodes:
        before = previous[node]
        # `inverse` holds what is known so far until its node is followed.
        if before < 0:
            known = degree[node] + prior
        else:
            factor[node] = link[node] / (link[node] + inverse[before])
            known = degree[node] + factor[node] * inverse[before]
            inverse[before] = 1.0 / (inverse[before] + link[node])
        inverse[node] = known
    for node in nodes:
        if following[node] < 0:
            inverse[node] = 1.0 / inverse[node]


@fused_kernel
def _advance(
    nodes: Ints, previous: Ints, following: Ints, inverse: Floats, factor: Floats, length: float,
    direction: Floats, image: Floats, x: Floats, residual: Floats, z: Floats,
) -> float:  # fmt: skip
    # forward along the lives
    for node in nodes:
        x[node] += length * direction[node]
        left = residual[node] - length * image[node]
        residual[node] = left
        before = previous[node]
        z[node] = left + factor[node] * z[before] if before >= 0 else left
    # and back
    size = 0.0
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        after = following[node]
        solved = z[node] * inverse[node]
        if after >= 0:
            solved += factor[after] * z[after]
        z[node] = solved
        size += residual[node] * solved
    return size
