"""Kernels of the general graph: one game's messages, sweeps through time, and the evidence.

Skills are taken less the prior mean; a message is a pair (precision, precision times mean).
Comparisons of sides are log-concave, so every message has a positive precision and every belief
stays proper: nothing needs damping.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milepost.history.teams.graph import Graph
from milepost.history.teams.sides import GAME_TOLERANCE, MAX_PASSES, Floats, log_overlap, rank_sides
from milepost.kernels import kernel


class State(NamedTuple):
    """All messages, as (precision, precision times mean) of skills less mu."""

    prior: Floats
    forward: Floats
    backward: Floats
    said: Floats
    """What all games of a node say of it."""
    seats: Floats
    """What a game says of one of its seats."""
    sides: Floats
    """The messages within a game, kept as a warm start (see `rank_sides`)."""


@kernel
def _cavity(graph: Graph, state: State, seat: int) -> tuple[float, float]:
    """Mean and variance of a player's skill by everything but this game."""
    node = graph.seat_node[seat]
    outside = state.forward[node, 0] + state.backward[node, 0]
    total = outside + state.said[node, 0]
    precision = total - state.seats[seat, 0]
    shift = state.forward[node, 1] + state.backward[node, 1]
    shift += state.said[node, 1] - state.seats[seat, 1]
    if precision < 1e-3 * total:
        # The game outweighs all the rest: the difference has lost its digits, so sum the others.
        precision = outside
        shift = state.forward[node, 1] + state.backward[node, 1]
        for k in range(graph.node_seats[node], graph.node_seats[node + 1]):
            other = graph.seats_by_node[k]
            if other != seat:
                precision += state.seats[other, 0]
                shift += state.seats[other, 1]
    return shift / precision, 1.0 / precision


@kernel
def _play(graph: Graph, state: State, game: int, beta2: float) -> tuple[float, float]:
    """Renew all messages of one game; return its log evidence and the last move within it."""
    first, end = graph.game_sides[game], graph.game_sides[game + 1]
    start = graph.side_seats[first]
    seats = graph.side_seats[end] - start
    mean = np.empty(seats)
    variance = np.empty(seats)
    side_mean = graph.side_centre[first:end].copy()
    side_variance = np.zeros(end - first)
    for side in range(first, end):
        for seat in range(graph.side_seats[side], graph.side_seats[side + 1]):
            m, v = _cavity(graph, state, seat)
            mean[seat - start], variance[seat - start] = m, v
            w = graph.seat_weight[seat]
            side_mean[side - first] += w * m
            side_variance[side - first] += w * w * (v + beta2)
    messages = state.sides[first:end]
    log_evidence, _, moved = rank_sides(
        side_mean,
        side_variance,
        graph.pair_margin[first : end - 1],
        graph.pair_tie[first : end - 1],
        messages,
        GAME_TOLERANCE,
        MAX_PASSES,
    )
    for side in range(first, end):
        row = side - first
        precision = messages[row, 0] + messages[row, 2]
        surprise = messages[row, 1] + messages[row, 3] - precision * side_mean[row]
        for seat in range(graph.side_seats[side], graph.side_seats[side + 1]):
            w = graph.seat_weight[seat]
            hiding = side_variance[row] - w * w * variance[seat - start]
            if hiding < 1e-3 * side_variance[row]:
                # As in `_cavity`: sum the others' variances instead.
                hiding = w * w * beta2
                for k in range(graph.side_seats[side], graph.side_seats[side + 1]):
                    if k != seat:
                        hiding += graph.seat_weight[k] ** 2 * (variance[k - start] + beta2)
            bottom = 1.0 + precision * hiding
            new_precision = w * w * precision / bottom
            new_shift = w * surprise / bottom + new_precision * mean[seat - start]
            node = graph.seat_node[seat]
            state.said[node, 0] += new_precision - state.seats[seat, 0]
            state.said[node, 1] += new_shift - state.seats[seat, 1]
            state.seats[seat, 0] = new_precision
            state.seats[seat, 1] = new_shift
    return log_evidence, moved


@kernel
def _gather(graph: Graph, state: State, node: int) -> None:
    """Sum the messages of a node's games afresh, so that rounding does not pile up."""
    state.said[node] = 0.0
    for k in range(graph.node_seats[node], graph.node_seats[node + 1]):
        state.said[node] += state.seats[graph.seats_by_node[k]]


@kernel
def sweep_forward(graph: Graph, state: State, beta2: float) -> tuple[float, float]:
    """Go through time once; the first time this is the filter. Returns evidence, worst move."""
    log_evidence = 0.0
    worst = 0.0
    for batch in range(graph.batch_nodes.size - 1):
        for node in range(graph.batch_nodes[batch], graph.batch_nodes[batch + 1]):
            _gather(graph, state, node)
            before = graph.previous[node]
            if before < 0:
                state.forward[node] = state.prior
            else:
                known = state.forward[before] + state.said[before]
                state.forward[node] = known / (1.0 + known[0] * graph.drift[node])
        for game in range(graph.batch_games[batch], graph.batch_games[batch + 1]):
            result = _play(graph, state, game, beta2)
            log_evidence += result[0]
            worst = max(worst, result[1])
    return log_evidence, worst


@kernel
def sweep_backward(graph: Graph, state: State, beta2: float) -> float:
    """Go back through time once; return the worst move within a game."""
    worst = 0.0
    for batch in range(graph.batch_nodes.size - 2, -1, -1):
        for node in range(graph.batch_nodes[batch], graph.batch_nodes[batch + 1]):
            _gather(graph, state, node)
        for game in range(graph.batch_games[batch + 1] - 1, graph.batch_games[batch] - 1, -1):
            worst = max(worst, _play(graph, state, game, beta2)[1])
        for node in range(graph.batch_nodes[batch], graph.batch_nodes[batch + 1]):
            before = graph.previous[node]
            if before >= 0:
                known = state.backward[node] + state.said[node]
                state.backward[before] = known / (1.0 + known[0] * graph.drift[node])
    return worst


@kernel
def smooth(graph: Graph, state: State) -> None:
    """Bring the chains of skills up to date with what the games say: exact, games untouched."""
    nodes = graph.previous.size
    state.backward[:] = 0.0
    for node in range(nodes):
        _gather(graph, state, node)
        before = graph.previous[node]
        if before < 0:
            state.forward[node] = state.prior
        else:
            known = state.forward[before] + state.said[before]
            state.forward[node] = known / (1.0 + known[0] * graph.drift[node])
    # Nodes are numbered in the order of time: the next one of a player is done before.
    for node in range(nodes - 1, -1, -1):
        before = graph.previous[node]
        if before >= 0:
            known = state.backward[node] + state.said[node]
            state.backward[before] = known / (1.0 + known[0] * graph.drift[node])


@kernel
def free_energy(graph: Graph, state: State, beta2: float) -> float:
    """Return EP's log evidence: stationary in all messages at the fixed point (ttt_math.md).

    Each game's evidence over what its messages alone would give, and the chains of skills with all
    messages. Every node is taken around its own mean: the constants this leaves out cancel.
    """
    log_evidence = 0.0
    for game in range(graph.game_sides.size - 1):
        log_evidence += _play(graph, state, game, beta2)[0]
    # The games have moved their messages by less than the tolerance.
    smooth(graph, state)
    for node in range(graph.previous.size):
        belief = state.forward[node] + state.backward[node] + state.said[node]
        centre = belief[1] / belief[0]
        m = state.forward[node, 1] / state.forward[node, 0] - centre
        log_evidence += _around(m, 1.0 / state.forward[node, 0], state.said[node], centre)
        for k in range(graph.node_seats[node], graph.node_seats[node + 1]):
            seat = graph.seats_by_node[k]
            m, v = _cavity(graph, state, seat)
            log_evidence -= _around(m - centre, v, state.seats[seat], centre)
    return log_evidence


@kernel
def _around(mean: float, variance: float, message: Floats, centre: float) -> float:
    """Log integral of N(mean, variance) times a message, both around `centre`."""
    precision = float(message[0])
    shift = float(message[1]) - precision * centre
    constant = shift * mean - 0.5 * precision * mean * mean
    return log_overlap(variance, precision, shift - precision * mean) + constant
