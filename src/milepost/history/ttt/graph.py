"""The factor graph of a history as arrays, and the messages along the players' lives.

All beliefs are Gaussians in natural form: column 0 the precision pi, column 1 precision times mean.
Means are counted from the prior mean `mu`, so that sums of many terms keep their digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milepost.history.numerics.lanes import chosen, pair, pair_at, parts, set_pair
from milepost.history.records import Floats, Ints, Records
from milepost.kernels import kernel

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]
Indices = npt.NDArray[np.uint32]
"""Numbers of nodes that are never negative: a kernel need not check that they are not."""


class Graph(NamedTuple):
    """What does not change while messages run."""

    first: Indices
    """For each game, the winner's node (in a draw: player_1's)."""
    second: Indices
    """For each game, the other node."""
    drawn: Bools
    """For each game, whether it was drawn."""
    mover: Signs
    """For each game, 1 if `first` moved first, -1 if `second` did, else 0."""
    weight: Floats
    """For each game, its weight; empty = all 1."""
    game_start: Longs
    """Where each period's games begin."""
    node_start: Longs
    """Where each period's nodes begin."""
    previous: Ints
    """For each node, the player's node before it; -1 = none."""
    following: Ints
    """For each node, the player's node after it; -1 = none."""
    elapsed: Floats
    """For each node, the time since the node before it."""
    player: Ints
    """For each node, its player; they rise within a period."""


class Chains(NamedTuple):
    """One Gaussian quantity through the players' lives: skill, or draw margin."""

    belief: Floats
    """For each node, everything known: forward, backward and the games' messages."""
    forward: Floats
    """For each node, the message from the past (or the prior)."""
    backward: Floats
    """For each node, the message from the future."""


class Sums(NamedTuple):
    """What the games' Gaussian stand-ins add up to: see `milepost.history.solver.newton`."""

    degree: Floats
    """For each node, the precision of its games."""
    pull: Floats
    """For each node, what its games pull it by."""
    lead_degree: Floats
    """For each period, the precision of the games with a first mover."""
    lead_pull: Floats
    """For each period, what they pull the first mover's advantage by."""


class Notes(NamedTuple):
    """The games' Gaussian stand-ins as their last visit found them, pulls counted from means of 0.

    A visit knows all that a stand-in needs, so that nothing has to be worked out again for a Newton
    step: see `milepost.history.solver.newton`.
    """

    curvature: Floats
    """For each game, the precision of its stand-in."""
    sums: Sums
    """What the stand-ins add up to."""


def no_sums(nodes: int, periods: int) -> Sums:
    """Return sums of no games."""
    return Sums(np.zeros(nodes), np.zeros(nodes), np.zeros(periods), np.zeros(periods))


@kernel
def clear_sums(graph: Graph, begin: int, end: int, sums: Sums) -> None:
    """Let the sums of some periods be those of no games."""
    low, high = graph.node_start[begin], graph.node_start[end]
    sums.degree[low:high] = 0.0
    sums.pull[low:high] = 0.0
    sums.lead_degree[begin:end] = 0.0
    sums.lead_pull[begin:end] = 0.0


def graph_of(records: Records) -> Graph:
    """Return the arrays of the records that the kernels need."""
    return Graph(
        records.first.view(np.uint32), records.second.view(np.uint32), records.drawn,
        records.mover, records.weight,
        records.game_start, records.node_start, records.previous, records.following,
        records.elapsed, records.node_player,
    )  # fmt: skip


def no_chains(nodes: int) -> Chains:
    """Return chains that know nothing yet."""
    return Chains(np.zeros((nodes, 2)), np.zeros((nodes, 2)), np.zeros((nodes, 2)))


@kernel
def receive_past(
    graph: Graph, chains: Chains, period: int, low: int, precision: float, mean: float, drift: float
) -> None:
    """Bring the forward messages of a period's nodes up to date.

    Nodes whose predecessor lies before node `low` keep the message they have: another worker's.
    `precision` and `mean` are the prior of players who appear for the first time; `drift` is the
    variance a unit of time adds.
    """
    belief, forward, backward = chains
    previous, elapsed = graph.previous, graph.elapsed
    prior = pair(precision, precision * mean)
    for place in range(graph.node_start[period], graph.node_start[period + 1]):
        node = np.uint64(place)
        before = previous[node]
        if 0 <= before < low:
            continue
        # Nobody could foresee who is new: both ways are gone, and one is taken.
        source = node if before < 0 else np.uint64(before)
        past = pair_at(belief, source, 0) - pair_at(backward, source, 0)
        pi, _ = parts(past)
        shrink = 1.0 / (1.0 + pi * drift * elapsed[node])
        news = chosen(before < 0, prior, past * shrink)
        set_pair(belief, node, 0, pair_at(belief, node, 0) + (news - pair_at(forward, node, 0)))
        set_pair(forward, node, 0, news)


@kernel
def receive_future(graph: Graph, chains: Chains, period: int, high: int, drift: float) -> None:
    """Bring the backward messages of a period's nodes up to date; those from `high` on stay."""
    belief, forward, backward = chains
    following, elapsed = graph.following, graph.elapsed
    for place in range(graph.node_start[period], graph.node_start[period + 1]):
        node = np.uint64(place)
        after = following[node]
        if after >= high:
            continue
        # As in `receive_past`; whoever plays no more keeps what he has (of another slice, or none).
        source = node if after < 0 else np.uint64(after)
        future = pair_at(belief, source, 0) - pair_at(forward, source, 0)
        pi, _ = parts(future)
        shrink = 1.0 / (1.0 + pi * drift * elapsed[source])
        old = pair_at(backward, node, 0)
        news = chosen(after < 0, old, future * shrink)
        set_pair(belief, node, 0, pair_at(belief, node, 0) + (news - old))
        set_pair(backward, node, 0, news)


@kernel
def carry_back(graph: Graph, chains: Chains, end: int, drift: float) -> None:
    """Bring the backward messages of all periods before `end` up to date; no game is visited."""
    for period in range(end - 1, -1, -1):
        receive_future(graph, chains, period, len(graph.following), drift)


@kernel
def exchange(graph: Graph, chains: Chains, borders: Longs, drift: float) -> None:
    """Pass the messages across the borders between workers' nodes, both ways.

    `borders` are the first nodes of the second worker, the third ..., in rising order.
    """
    slice_start, ahead = 0, 0
    for node in range(borders[0], len(graph.previous)):
        if ahead < len(borders) and node == borders[ahead]:
            slice_start = borders[ahead]
            ahead += 1
        before = graph.previous[node]
        # One question instead of two: -1 is greater than all nodes if it has no sign.
        if np.uint32(before) >= slice_start:
            continue
        gap = drift * graph.elapsed[node]
        pi = chains.belief[before, 0] - chains.backward[before, 0]
        tau = chains.belief[before, 1] - chains.backward[before, 1]
        back_pi = chains.belief[node, 0] - chains.forward[node, 0]
        back_tau = chains.belief[node, 1] - chains.forward[node, 1]
        shrink = 1.0 / (1.0 + pi * gap)
        chains.belief[node, 0] += pi * shrink - chains.forward[node, 0]
        chains.belief[node, 1] += tau * shrink - chains.forward[node, 1]
        chains.forward[node, 0] = pi * shrink
        chains.forward[node, 1] = tau * shrink
        shrink = 1.0 / (1.0 + back_pi * gap)
        chains.belief[before, 0] += back_pi * shrink - chains.backward[before, 0]
        chains.belief[before, 1] += back_tau * shrink - chains.backward[before, 1]
        chains.backward[before, 0] = back_pi * shrink
        chains.backward[before, 1] = back_tau * shrink


@kernel
def shift_chains(chains: Chains, shift: Floats, begin: int, end: int) -> None:
    """Move every node by `shift`: beliefs and messages as if the whole scale moved there."""
    for node in range(begin, end):
        for array in (chains.belief, chains.forward, chains.backward):
            array[node, 1] += array[node, 0] * shift[node]
