"""How far the means are from the fixed point: one Newton step over all players and times at once.

Every game's factor, seen from its cavities, acts on the two skills like a Gaussian observation of
their difference. With these stand-ins the history is one linear Gaussian model, in which message
passing would end at the exact means (Weiss & Freeman 2001); the difference between those and the
present means is the distance to the fixed point, to first order. It solves H d = g, H sparse,
symmetric and positive definite, by conjugate gradients (`milepost.history.solver.conjugate`).

What sweeps are slow at (the levels of weakly linked groups) is solved here like everything else,
and so are the paths that are learned with the skills: the newcomers' level by period
(L_first = 0, a random walk of `level_drift`) and the first mover's advantage (prior N(0, beta²),
one number, or a random walk by period of `advantage_drift`). Both are maxima of the evidence times
these priors: at the solution its gradient vanishes. Where skills are told something from outside
(`milepost.history.ttt.told`), the era is one path more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from milepost.history.records import Floats
from milepost.history.solver.conjugate import (
    InParallel,
    Paths,
    Ranges,
    Room,
    System,
    call,
    path_links,
    path_product,
    solve,
)
from milepost.history.ttt.graph import Chains, Graph, Longs, Notes, Sums, no_sums
from milepost.history.ttt.passes import settle
from milepost.history.ttt.told import Told
from milepost.kernels import kernel

ROUGH = 0.05
"""The accuracy of a step that is not the last one."""


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
    era: Floats
    """For each period; empty where nothing is told."""
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
    told: Told | None

    def linearise(self, begin: int, end: int, means: Floats, curvature: Floats, sums: Sums) -> None:
        """Write each game's Gaussian stand-in, and add it up at its nodes and its period."""
        ...


def newton_step(
    state: State, *, sigma: float, beta: float, tau: float, clock: Floats, learning: Learning,
    ranges: Ranges, in_parallel: InParallel, accuracy: float = 1e-4, enough: float = np.inf,
    notes: Notes | None = None, room: Room | None = None,
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
        Where the conjugate gradients stop: see `milepost.history.solver.conjugate.solve`.
    enough
        A step with a part larger than this, in points, is not the last one and may be rough.
    notes
        The games' stand-ins as the last visit noted them, which are used up; `None` = they are
        worked out anew.
    room
        What one step leaves to the next; its own answer lies there until then. `None` = nothing.
    """
    periods = len(clock)
    linear = linear_model(
        state, sigma=sigma, beta=beta, tau=tau, clock=clock, learning=learning, ranges=ranges,
        in_parallel=in_parallel, notes=notes, spans=None if room is None else room.spans,
    )  # fmt: skip
    found = solve(
        linear.system, linear.pull, linear.path_pull, accuracy=accuracy, rough=ROUGH,
        enough=enough, room=None if room is None else room.rows,
    )  # fmt: skip
    level, advantage, era = np.split(found.paths, [periods, 2 * periods])
    return Step(found.skills, level, advantage, era, found.iterations, found.residual)


class Linear(NamedTuple):
    """The linear Gaussian model that stands for a history at its present means."""

    system: System
    """The matrix H."""
    pull: Floats
    """The right side, for the nodes."""
    path_pull: Floats
    """The right side, for the paths."""


def linear_model(
    state: State, *, sigma: float, beta: float, tau: float, clock: Floats, learning: Learning,
    ranges: Ranges, in_parallel: InParallel, notes: Notes | None = None,
    spans: list[Longs] | None = None,
) -> Linear:  # fmt: skip
    """Return the equations of a Newton step: see `newton_step`."""
    graph, told = state.graph, state.told
    nodes, periods = len(graph.previous), len(clock)
    means, link = np.empty(nodes), np.empty(nodes)
    # A drift of zero ties nodes together; 1e-12 beta² is that tie to all digits that matter here,
    # and loose enough that rounding leaves the rest its digits.
    least = 1e-12 * beta**2
    in_parallel([
        call(_begin, graph, *part, state.chains.belief, tau**2, least, means, link)
        for part in ranges
    ])  # fmt: skip
    if notes is None:
        curvature, sums = np.empty(len(graph.first)), no_sums(nodes, periods)
        in_parallel([call(state.linearise, *part, means, curvature, sums) for part in ranges])
    else:
        curvature, sums = notes
        in_parallel([call(settle, graph, *part, means, notes) for part in ranges])
    prior = 1.0 / sigma**2
    in_parallel([
        call(_pull_of_lives, graph, *part, means, state.level, link, prior, sums.pull)
        for part in ranges
    ])  # fmt: skip
    paths = _paths(graph, clock, learning, counted=told is not None)
    right = [
        _level_pull(graph, paths, prior, means, state.level),
        _advantage_pull(paths, sums.lead_pull, state.advantage),
    ]
    if told is not None:
        force = told.force(means)
        sums.degree[:] += told.precision
        sums.pull[:] += force
        right.append(_era_pull(told, force))
    system = System(
        graph, curvature, sums.degree, sums.lead_degree, link, prior, paths, ranges, in_parallel,
        told, spans,
    )  # fmt: skip
    return Linear(system, sums.pull, np.concatenate(right))


def _era_pull(told: Told, force: Floats) -> Floats:
    if not told.learned:
        return np.zeros(len(told.era))
    return np.asarray(told.by_period(force) - path_product(told.era_link, told.era))


def _paths(graph: Graph, clock: Floats, learning: Learning, *, counted: bool) -> Paths:
    """The paths; newcomers are counted where that is asked for, or their level is learned."""
    newcomers = np.zeros(len(clock))
    if counted or learning.level_drift > 0.0:
        new = (graph.previous < 0).astype(np.float64)
        newcomers = np.add.reduceat(new, graph.node_start[:-1])
    by_period = learning.advantage == "by-period"
    gaps = np.diff(clock)
    return Paths(
        levelling=learning.level_drift > 0.0,
        leading=learning.advantage is not None,
        by_period=by_period,
        newcomers=newcomers,
        level_link=path_links(gaps, learning.level_drift),
        lead_link=path_links(gaps, learning.advantage_drift if by_period else 0.0),
        lead_prior=1.0 / learning.advantage_prior,
    )


def _level_pull(graph: Graph, paths: Paths, prior: float, means: Floats, level: Floats) -> Floats:
    if not paths.levelling:
        return np.zeros(len(level))
    new = np.flatnonzero(graph.previous < 0)
    period = np.searchsorted(graph.node_start, new, side="right") - 1
    sums = np.bincount(period, weights=means[new], minlength=len(level))
    pull = (sums - paths.newcomers * level) * prior - path_product(paths.level_link, level)
    pull[0] = 0.0
    return np.asarray(pull)


def _advantage_pull(paths: Paths, lead_pull: Floats, advantage: Floats) -> Floats:
    if not paths.leading:
        return np.zeros(len(advantage))
    pull = lead_pull - path_product(paths.lead_link, advantage)
    pull[0] -= paths.lead_prior * advantage[0]
    return pull if paths.by_period else np.full(len(advantage), pull.sum())


@kernel
def _begin(
    graph: Graph, begin: int, end: int, belief: Floats, drift: float, least: float, means: Floats,
    link: Floats,
) -> None:  # fmt: skip
    """Write the means of the nodes of some periods, and how firmly each is tied to the last one."""
    for node in range(graph.node_start[begin], graph.node_start[end]):
        means[node] = belief[node, 1] / belief[node, 0]
        link[node] = 1.0 / max(drift * graph.elapsed[node], least)


@kernel
def _pull_of_lives(
    graph: Graph, begin: int, end: int, means: Floats, level: Floats, link: Floats, prior: float,
    pull: Floats,
) -> None:  # fmt: skip
    """Add what the prior and the drift pull the nodes of some periods by."""
    previous, following = graph.previous, graph.following
    for period in range(begin, end):
        for place in range(graph.node_start[period], graph.node_start[period + 1]):
            node = np.uint64(place)
            # Where there is no neighbour in time the node itself stands there: no force, and no
            # branch that nobody could foresee.
            before = node if previous[node] < 0 else np.uint64(previous[node])
            after = node if following[node] < 0 else np.uint64(following[node])
            here = means[node]
            hold = prior if before == node else 0.0
            force = link[after] * (means[after] - here) - link[node] * (here - means[before])
            pull[node] += force - hold * (here - level[period])
