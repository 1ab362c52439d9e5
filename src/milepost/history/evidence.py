"""The log evidence of a history: the EP free energy, not a sum over games that saw their future.

log p(results) = sum over games [log Z_g + sum over its messages (Psi(cavity) - Psi(belief))]
               + sum over nodes [Psi(forward + games) - Psi(forward)],

Psi(pi, tau) = tau² / (2 pi) - log(pi) / 2. The second sum is the exact integral of all Gaussian
stand-ins over each player's life, by a forward recursion. At the fixed point the whole is
stationary in the messages, so that a small distance from it costs only its square. Minka (2005),
"Divergence measures and message passing", section 5.
"""

from __future__ import annotations

import math

import numpy as np

from milepost.history.gaussians import log_below, log_draw
from milepost.history.graph import Chains, Graph
from milepost.history.records import Floats
from milepost.history.ttt import TTTState
from milepost.kernels import kernel


def ttt_log_evidence(state: TTTState) -> float:
    """Return the EP log evidence of all results, in nats."""
    model = state.model
    games = _games_part(
        state.graph, state.chains, state.message, model.margin, 2.0 * model.beta**2,
        state.advantage,
    )  # fmt: skip
    return games + chains_part(
        state.graph, state.chains, model.sigma**-2, state.level, model.tau**2
    )


@kernel
def log_partition_change(pi: float, tau: float, more_pi: float, more_tau: float) -> float:
    """Return Psi(pi + more_pi, tau + more_tau) - Psi(pi, tau), without cancelling large terms."""
    mean = tau / pi
    total = pi + more_pi
    # (tau + more)²/total - tau²/pi, written around the mean of the first Gaussian
    news = more_tau - more_pi * mean
    quadratic = news * news / total + mean * (2.0 * more_tau - more_pi * mean)
    return 0.5 * quadratic - 0.5 * math.log1p(more_pi / pi)


@kernel
def chains_part(
    graph: Graph, chains: Chains, precision: float, level: Floats, drift: float
) -> float:
    """Integrate the games' Gaussian messages over all lives, exactly."""
    total = 0.0
    carried = np.empty((len(graph.previous), 2))
    for period in range(len(graph.node_start) - 1):
        for node in range(graph.node_start[period], graph.node_start[period + 1]):
            before = graph.previous[node]
            if before < 0:
                pi, tau = precision, precision * level[period]
            else:
                shrink = 1.0 / (1.0 + carried[before, 0] * drift * graph.elapsed[node])
                pi, tau = carried[before, 0] * shrink, carried[before, 1] * shrink
            games_pi = chains.belief[node, 0] - chains.forward[node, 0] - chains.backward[node, 0]
            games_tau = chains.belief[node, 1] - chains.forward[node, 1] - chains.backward[node, 1]
            total += log_partition_change(pi, tau, games_pi, games_tau)
            carried[node, 0] = pi + games_pi
            carried[node, 1] = tau + games_tau
    return total


@kernel
def _games_part(
    graph: Graph, chains: Chains, message: Floats, margin: float, noise: float, advantage: Floats
) -> float:
    total = 0.0
    belief, weights = chains.belief, graph.weight
    first, second, drawn, mover = graph.first, graph.second, graph.drawn, graph.mover
    for period in range(len(graph.game_start) - 1):
        lost = 0.0
        part = 0.0
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = first[game], second[game]
            weight = weights[game] if len(weights) else 1.0
            own = min(weight, 1.0)
            pi_i = belief[i, 0] - own * message[game, 0]
            tau_i = belief[i, 1] - own * message[game, 1]
            pi_j = belief[j, 0] - own * message[game, 2]
            tau_j = belief[j, 1] - own * message[game, 3]
            c = math.sqrt(1.0 / pi_i + 1.0 / pi_j + noise)
            t = (tau_i / pi_i - tau_j / pi_j + advantage[period] * mover[game]) / c
            log_z = log_draw(t, margin / c) if drawn[game] else log_below(t - margin / c)
            log_z -= log_partition_change(pi_i, tau_i, message[game, 0], message[game, 1])
            log_z -= log_partition_change(pi_j, tau_j, message[game, 2], message[game, 3])
            # Millions of terms: compensated summation (Kahan) keeps them all.
            term = weight * log_z - lost
            grown = part + term
            lost = (grown - part) - term
            part = grown
        total += part
    return total
