"""How far the means are from the fixed point: one Newton step over all players and times at once.

Every game's factor, seen from its cavities, acts on the two skills like a Gaussian observation of
their difference. With these stand-ins the history is one linear Gaussian model, in which message
passing would end at the exact means (Weiss & Freeman 2001); the difference between those and the
present means is the distance to the fixed point, to first order. It solves H d = g, H sparse,
symmetric and positive definite; conjugate gradients, preconditioned by the exact solution along
each player's life, need one cheap pass over the games an iteration.

What sweeps are slow at (the levels of weakly linked groups) is solved here like everything else,
and so are the paths that are learned with the skills: the newcomers' level by period
(L_first = 0, a random walk of `level_drift`) and the first mover's advantage (prior N(0, beta²),
one number, or a random walk by period of `advantage_drift`). Both are maxima of the evidence times
these priors: at the solution its gradient vanishes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from milepost.history.graph import Chains, Graph, Longs, Signs
from milepost.history.records import Floats, Ints
from milepost.kernels import kernel


@dataclass(frozen=True)
class Learning:
    """What is learned beside the skills."""

    level_drift: float = 0.0
    """Variance a unit of time adds to the newcomers' level; 0 = the level is not learned."""
    advantage: str | None = None
    """``"constant"``, ``"by-period"``, or `None`: the first mover's advantage is given."""
    advantage_drift: float = 0.0
    """Variance a unit of time adds to the advantage by period."""
    advantage_prior: float = 1.0
    """Prior variance of the advantage."""


class Step(NamedTuple):
    """A Newton step: add it to reach the fixed point, to first order."""

    skills: Floats
    """For each node."""
    level: Floats
    """For each period."""
    advantage: Floats
    """For each period."""
    iterations: int
    """Of the conjugate gradients."""
    residual: float
    """What is left of the equations' residual, relative."""


class State(Protocol):
    """What a model under way must offer."""

    graph: Graph
    chains: Chains
    level: Floats
    advantage: Floats

    def linearise(self, begin: int, end: int, curvature: Floats, slope: Floats) -> None:
        """Write each game's Gaussian stand-in: its precision, and its pulls on both players."""
        ...


Ranges = list[tuple[int, int]]
InParallel = Callable[[list[Callable[[], None]]], None]
MAX_ITERATIONS = 400


def newton_step(
    state: State, *, sigma: float, beta: float, tau: float, clock: Floats, learning: Learning,
    ranges: Ranges, in_parallel: InParallel, accuracy: float = 1e-4,
) -> Step:  # fmt: skip
    """Return the distance from the present means to those of the fixed point.

    Parameters
    ----------
    state
        The messages.
    sigma, beta, tau
        As in `milepost.history.fit`.
    clock
        The place of each period on the clock.
    learning
        Which paths are solved for too.
    ranges, in_parallel
        The periods that each worker takes, and how the workers are run.
    accuracy
        Where the conjugate gradients stop: the residual, relative to that at the beginning.
    """
    graph = state.graph
    nodes, periods = len(graph.previous), len(clock)
    curvature, slope = np.empty(len(graph.first)), np.empty((len(graph.first), 2))
    in_parallel([_call(state.linearise, *r, curvature, slope) for r in ranges])
    means = state.chains.belief[:, 1] / state.chains.belief[:, 0]
    # A drift of zero ties nodes together; 1e-8 beta² is that tie to all digits that matter here.
    tied = 1.0 / np.maximum(tau**2 * graph.elapsed, 1e-8 * beta**2)
    link = np.where(graph.previous >= 0, tied, 0.0)
    prior = 1.0 / sigma**2

    degree, pull, lead_pull, lead_degree = (
        np.zeros(nodes), np.zeros(nodes), np.zeros(periods), np.zeros(periods),
    )  # fmt: skip
    in_parallel([
        _call(_gather, graph.first, graph.second, graph.mover, graph.game_start, *r, curvature,
              slope, degree, pull, lead_degree, lead_pull)
        for r in ranges
    ])  # fmt: skip
    _pull_of_lives(graph.previous, graph.node_start, means, state.level, link, prior, pull)
    newcomers = np.add.reduceat((graph.previous < 0).astype(np.float64), graph.node_start[:-1])
    system = _System(graph, curvature, link, prior, newcomers, clock, learning, ranges, in_parallel)
    right = np.concatenate([pull, system.level_pull(means, state.level),
                            system.advantage_pull(lead_pull, state.advantage)])  # fmt: skip
    precondition = _Preconditioner(graph, degree, link, prior, system.diagonals(lead_degree))
    solution, iterations, residual = _conjugate_gradients(system, precondition, right, accuracy)
    return Step(
        solution[:nodes], solution[nodes : nodes + periods], solution[nodes + periods :],
        iterations, residual,
    )  # fmt: skip


def _call(function: Callable[..., None], *arguments: object) -> Callable[[], None]:
    return lambda: function(*arguments)


class _System:
    """The matrix H, as a product with a vector (skills, level, advantage)."""

    def __init__(
        self, graph: Graph, curvature: Floats, link: Floats, prior: float, newcomers: Floats,
        clock: Floats, learning: Learning, ranges: Ranges, in_parallel: InParallel,
    ):  # fmt: skip
        self.graph, self.curvature, self.link, self.prior = graph, curvature, link, prior
        self.newcomers, self.learning = newcomers, learning
        self.ranges, self.in_parallel = ranges, in_parallel
        gaps = np.diff(clock)
        self.by_period = learning.advantage == "by-period"
        self.level_link = _path_links(gaps, learning.level_drift)
        self.lead_link = _path_links(gaps, learning.advantage_drift if self.by_period else 0.0)
        self.nodes, self.periods = len(link), len(clock)

    def diagonals(self, lead_degree: Floats) -> tuple[Floats, Floats]:
        level = self.newcomers * self.prior + _path_product_diagonal(self.level_link)
        lead = lead_degree + _path_product_diagonal(self.lead_link)
        prior = 1.0 / self.learning.advantage_prior
        if self.by_period:
            lead[0] += prior
        else:
            lead[:] = lead_degree.sum() + prior
        # Infinite stands for "not an unknown": the preconditioner leaves it at zero.
        if not self.learning.level_drift:
            level[:] = np.inf
        if self.learning.advantage is None:
            lead[:] = np.inf
        level[0] = np.inf
        return level, lead

    def level_pull(self, means: Floats, level: Floats) -> Floats:
        if not self.learning.level_drift:
            return np.zeros(self.periods)
        new = np.flatnonzero(self.graph.previous < 0)
        period = np.searchsorted(self.graph.node_start, new, side="right") - 1
        sums = np.bincount(period, weights=means[new], minlength=self.periods)
        pull = (sums - self.newcomers * level) * self.prior - _path_product(self.level_link, level)
        pull[0] = 0.0
        return np.asarray(pull)

    def advantage_pull(self, lead_pull: Floats, advantage: Floats) -> Floats:
        if self.learning.advantage is None:
            return np.zeros(self.periods)
        prior = 1.0 / self.learning.advantage_prior
        pull = lead_pull - _path_product(self.lead_link, advantage)
        if self.by_period:
            pull[0] -= prior * advantage[0]
            return np.asarray(pull)
        return np.full(self.periods, pull.sum() - prior * advantage[0])

    def product(self, vector: Floats) -> Floats:
        out = np.zeros_like(vector)
        n, p = self.nodes, self.periods
        x, level, lead = vector[:n], vector[n : n + p], vector[n + p :]
        graph, learning = self.graph, self.learning
        lead_out = out[n + p :]
        leading = learning.advantage is not None
        self.in_parallel([
            _call(_product_of_games, graph.first, graph.second, graph.mover, graph.game_start, *r,
                  self.curvature, x, lead, leading, out[:n], lead_out)
            for r in self.ranges
        ])  # fmt: skip
        levelling = learning.level_drift > 0.0
        _product_of_lives(
            graph.previous, graph.node_start, x, level, self.link, self.prior, levelling, out[:n],
            out[n : n + p],
        )  # fmt: skip
        if levelling:
            out[n : n + p] += self.newcomers * self.prior * level
            out[n : n + p] += _path_product(self.level_link, level)
            out[n] = 0.0
        if leading:
            prior = 1.0 / learning.advantage_prior
            lead_out += _path_product(self.lead_link, lead)
            if self.by_period:
                lead_out[0] += prior * lead[0]
            else:
                lead_out[:] = lead_out.sum() + prior * lead[0]
        return out

    def inner(self, a: Floats, b: Floats) -> float:
        """The inner product; one constant advantage counts once, though it stands everywhere."""
        cut = len(a) if self.by_period else self.nodes + self.periods + 1
        return float(a[:cut] @ b[:cut])


class _Preconditioner:
    """Solve along each life exactly, with the games as if every opponent stood still."""

    def __init__(
        self, graph: Graph, degree: Floats, link: Floats, prior: float,
        diagonals: tuple[Floats, Floats],
    ):  # fmt: skip
        self.graph = graph
        self.pivot, self.factor = np.empty(len(link)), np.zeros(len(link))
        _factorise(graph.previous, graph.following, degree, link, prior, self.pivot, self.factor)
        self.rest = 1.0 / np.concatenate(diagonals)

    def apply(self, residual: Floats) -> Floats:
        out = residual.copy()
        nodes = len(self.pivot)
        _solve_lives(self.graph.previous, self.pivot, self.factor, out[:nodes])
        out[nodes:] *= self.rest
        return out


def _conjugate_gradients(
    system: _System, preconditioner: _Preconditioner, right: Floats, accuracy: float
) -> tuple[Floats, int, float]:
    x = np.zeros_like(right)
    residual = right.copy()
    z = preconditioner.apply(residual)
    direction = z.copy()
    size = start = system.inner(residual, z)
    for iteration in range(MAX_ITERATIONS):
        if not size > accuracy**2 * start:
            return x, iteration, float(np.sqrt(size / start)) if start > 0 else 0.0
        image = system.product(direction)
        length = size / system.inner(direction, image)
        x += length * direction
        residual -= length * image
        z = preconditioner.apply(residual)
        before, size = size, system.inner(residual, z)
        direction *= size / before
        direction += z
    return x, MAX_ITERATIONS, float(np.sqrt(size / start))


def _path_links(gaps: Floats, drift: float) -> Floats:
    if not drift:
        return np.zeros(len(gaps))
    return np.asarray(1.0 / (np.maximum(gaps, 1e-9) * drift))


def _path_product(link: Floats, path: Floats) -> Floats:
    step = link * np.diff(path)
    out = np.zeros_like(path)
    out[1:] += step
    out[:-1] -= step
    return out


def _path_product_diagonal(link: Floats) -> Floats:
    out = np.zeros(len(link) + 1)
    out[1:] += link
    out[:-1] += link
    return out


@kernel
def _gather(
    first: Ints, second: Ints, mover: Signs, game_start: Longs, begin: int, end: int,
    curvature: Floats, slope: Floats, degree: Floats, pull: Floats, lead_degree: Floats,
    lead_pull: Floats,
) -> None:  # fmt: skip
    """Sum the games' curvatures and slopes at the nodes."""
    for period in range(begin, end):
        for game in range(game_start[period], game_start[period + 1]):
            i, j = first[game], second[game]
            degree[i] += curvature[game]
            degree[j] += curvature[game]
            pull[i] += slope[game, 0]
            pull[j] += slope[game, 1]
            if mover[game]:
                lead_degree[period] += curvature[game]
                lead_pull[period] += 0.5 * (slope[game, 0] - slope[game, 1]) * mover[game]


@kernel
def _pull_of_lives(
    previous: Ints, node_start: Longs, means: Floats, level: Floats, link: Floats, prior: float,
    pull: Floats,
) -> None:  # fmt: skip
    """Add what the prior and the drift pull each node by."""
    for period in range(len(node_start) - 1):
        for node in range(node_start[period], node_start[period + 1]):
            before = previous[node]
            if before < 0:
                pull[node] -= prior * (means[node] - level[period])
            else:
                force = link[node] * (means[node] - means[before])
                pull[node] -= force
                pull[before] += force


@kernel
def _product_of_games(
    first: Ints, second: Ints, mover: Signs, game_start: Longs, begin: int, end: int,
    curvature: Floats, x: Floats, lead: Floats, leading: bool, out: Floats, lead_out: Floats,
) -> None:  # fmt: skip
    for period in range(begin, end):
        share = lead[period] if leading else 0.0
        total = 0.0
        for game in range(game_start[period], game_start[period + 1]):
            i, j = first[game], second[game]
            force = curvature[game] * (x[i] - x[j] + share * mover[game])
            out[i] += force
            out[j] -= force
            total += force * mover[game]
        if leading:
            lead_out[period] = total


@kernel
def _product_of_lives(
    previous: Ints, node_start: Longs, x: Floats, level: Floats, link: Floats, prior: float,
    levelling: bool, out: Floats, level_out: Floats,
) -> None:  # fmt: skip
    for period in range(len(node_start) - 1):
        share = level[period] if levelling else 0.0
        for node in range(node_start[period], node_start[period + 1]):
            before = previous[node]
            if before < 0:
                out[node] += prior * (x[node] - share)
                if levelling:
                    level_out[period] -= prior * x[node]
            else:
                force = link[node] * (x[node] - x[before])
                out[node] += force
                out[before] -= force


@kernel
def _factorise(
    previous: Ints, following: Ints, degree: Floats, link: Floats, prior: float, pivot: Floats,
    factor: Floats,
) -> None:  # fmt: skip
    """LDL' of the lives' tridiagonal blocks, in the form of a filter: nothing cancels."""
    known = np.empty(len(degree))
    for node in range(len(degree)):
        before = previous[node]
        if before < 0:
            known[node] = degree[node] + prior
        else:
            factor[node] = link[node] / (link[node] + known[before])
            known[node] = degree[node] + factor[node] * known[before]
        after = following[node]
        pivot[node] = known[node] + (link[after] if after >= 0 else 0.0)


@kernel
def _solve_lives(previous: Ints, pivot: Floats, factor: Floats, x: Floats) -> None:
    for node in range(len(x)):
        if previous[node] >= 0:
            x[node] += factor[node] * x[previous[node]]
    for node in range(len(x)):
        x[node] /= pivot[node]
    for node in range(len(x) - 1, -1, -1):
        if previous[node] >= 0:
            x[previous[node]] += factor[node] * x[node]
