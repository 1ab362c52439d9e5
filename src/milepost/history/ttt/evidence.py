"""The log evidence of a history: the EP free energy, not a sum over games that saw their future.

log p(results) = sum over games [log Z_g + sum over its messages (Psi(cavity) - Psi(belief))]
               + sum over nodes [Psi(forward + games) - Psi(forward)],

Psi(pi, tau) = tau² / (2 pi) - log(pi) / 2. The second sum is the exact integral of all Gaussian
stand-ins over each player's life, by a forward recursion. At the fixed point the whole is
stationary in the messages, so that a small distance from it costs only its square. Minka (2005),
"Divergence measures and message passing", section 5.

With individual draw margins the factors that keep margins positive are part of the model as the
authors write it, and so their normalisation is part of the evidence (with prior margins
N(300, 100²), 0.0014 nats a player).
"""

from __future__ import annotations

import math

import numpy as np

from milepost.history.numerics.gaussians import (
    draws_in_table,
    log_below,
    log_z_parts,
    log_z_parts_of_two,
    wins_in_table,
)
from milepost.history.numerics.lanes import (
    Pair,
    both_above,
    firsts,
    pair,
    pair_at,
    parts,
    roots,
    seconds,
)
from milepost.history.records import Floats
from milepost.history.ttt.draw_factors import between_derivatives, greater_log_z, through_noise
from milepost.history.ttt.graph import Chains, Graph
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.own_passes import both_factors
from milepost.history.ttt.state import TTTState
from milepost.kernels import fused_kernel, inner_kernel, kernel


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


def local_log_evidence(state: TTTState, chains: Chains) -> float:
    """Return a slice's part of the EP log evidence, where messages from outside are in `chains`.

    At the fixed point what a life carries forward is its message from the past, so that the
    integral over the lives is a sum over nodes.
    """
    model = state.model
    games = _games_part(
        state.graph, state.chains, state.message, model.margin, 2.0 * model.beta**2,
        state.advantage,
    )  # fmt: skip
    return games + _nodes_part(chains)


@kernel
def _nodes_part(chains: Chains) -> float:
    total = 0.0
    belief, forward, backward = chains.belief, chains.forward, chains.backward
    for node in range(len(belief)):
        total += log_partition_change(
            forward[node, 0], forward[node, 1],
            belief[node, 0] - forward[node, 0] - backward[node, 0],
            belief[node, 1] - forward[node, 1] - backward[node, 1],
        )  # fmt: skip
    return total


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


@fused_kernel
def _games_part(
    graph: Graph, chains: Chains, message: Floats, margin: float, noise: float, advantage: Floats
) -> float:
    total = 0.0
    belief, weights = chains.belief, graph.weight
    first, second, drawn, mover = graph.first, graph.second, graph.drawn, graph.mover
    for period in range(len(graph.game_start) - 1):
        lost = 0.0
        part = 0.0
        place, end = graph.game_start[period], graph.game_start[period + 1]
        while place < end:
            game = np.uint64(place)
            place += 1
            known, log_z = False, 0.0
            if place < end and not len(weights) and drawn[game] == drawn[place]:
                other = np.uint64(place)
                known, log_z = _log_z_of_two(
                    pair_at(belief, first[game], 0), pair_at(belief, second[game], 0),
                    pair_at(belief, first[other], 0), pair_at(belief, second[other], 0),
                    pair_at(message, game, 0), pair_at(message, game, 2),
                    pair_at(message, other, 0), pair_at(message, other, 2),
                    advantage[period] * mover[game], advantage[period] * mover[other],
                    drawn[game], margin, noise,
                )  # fmt: skip
            if known:
                place += 1
            else:
                weight = weights[game] if len(weights) else 1.0
                log_z = weight * _log_z_of_one(
                    pair_at(belief, first[game], 0), pair_at(belief, second[game], 0),
                    pair_at(message, game, 0), pair_at(message, game, 2), min(weight, 1.0),
                    advantage[period] * mover[game], drawn[game], margin, noise,
                )  # fmt: skip
            # Millions of terms: compensated summation (Kahan) keeps them all.
            term = log_z - lost
            after = part + term
            lost = (after - part) - term
            part = after
        total += part
    return total


@inner_kernel
def _log_z_of_one(
    belief_i: Pair, belief_j: Pair, to_i: Pair, to_j: Pair, own: float, lead: float, drawn: bool,
    margin: float, noise: float,
) -> float:  # fmt: skip
    """Log Z of a game, minus what its messages change."""
    (pi_i, tau_i), (pi_j, tau_j) = parts(belief_i - own * to_i), parts(belief_j - own * to_j)
    (more_i, push_i), (more_j, push_j) = parts(to_i), parts(to_j)
    v_i, v_j = 1.0 / pi_i, 1.0 / pi_j
    m_i, m_j = tau_i * v_i, tau_j * v_j
    scale = 1.0 / math.sqrt(v_i + v_j + noise)
    exponent, over = log_z_parts((m_i - m_j + lead) * scale, margin * scale, drawn)
    # minus what both messages change (`log_partition_change`), all logarithms in one
    news_i, news_j = push_i - more_i * m_i, push_j - more_j * m_j
    moved = m_i * (push_i + news_i) + m_j * (push_j + news_j)
    moved += news_i * news_i / (pi_i + more_i) + news_j * news_j / (pi_j + more_j)
    grown_i, grown_j = 1.0 + more_i * v_i, 1.0 + more_j * v_j
    # An improper belief has no logarithm: two of them must not make a proper one.
    grown = grown_i * grown_j if grown_i > 0.0 else np.nan
    moved += math.log(over * over / grown)
    return exponent - 0.5 * moved


@inner_kernel
def _log_z_of_two(
    belief_i: Pair, belief_j: Pair, belief_k: Pair, belief_m: Pair, to_i: Pair, to_j: Pair,
    to_k: Pair, to_m: Pair, lead_1: float, lead_2: float, drawn: bool, margin: float, noise: float,
) -> tuple[bool, float]:  # fmt: skip
    """The sum of `_log_z_of_one` over two games of one kind (i against j, k against m).

    Before it, whether they are as usual; if not, there is no sum.
    """
    of_i, of_j, of_k, of_m = belief_i - to_i, belief_j - to_j, belief_k - to_k, belief_m - to_m
    pi_1, tau_1, pi_2, tau_2 = (
        firsts(of_i, of_k), seconds(of_i, of_k), firsts(of_j, of_m), seconds(of_j, of_m),
    )  # fmt: skip
    more_1, push_1, more_2, push_2 = (
        firsts(to_i, to_k), seconds(to_i, to_k), firsts(to_j, to_m), seconds(to_j, to_m),
    )  # fmt: skip
    all_1, all_2 = pi_1 + more_1, pi_2 + more_2
    proper = both_above(pi_1, 0.0) and both_above(pi_2, 0.0)
    if not (proper and both_above(all_1, 0.0) and both_above(all_2, 0.0)):
        return False, 0.0
    # one over a product of two serves both
    p, shrunk = pi_1 * pi_2, 1.0 / (all_1 * all_2)
    inverse = 1.0 / p
    m_1, m_2 = tau_1 * (pi_2 * inverse), tau_2 * (pi_1 * inverse)
    scale = 1.0 / roots((pi_1 + pi_2) * inverse + noise)
    t, alpha = (m_1 - m_2 + pair(lead_1, lead_2)) * scale, margin * scale
    x = t if drawn else t - alpha
    if not (draws_in_table(t, alpha) if drawn else wins_in_table(x)):
        return False, 0.0
    exponent, over = log_z_parts_of_two(x, alpha, drawn)
    news_1, news_2 = push_1 - more_1 * m_1, push_2 - more_2 * m_2
    moved = m_1 * (push_1 + news_1) + m_2 * (push_2 + news_2)
    moved = moved + (news_1 * news_1 * all_2 + news_2 * news_2 * all_1) * shrunk
    (one, other), (log_1, log_2) = parts(exponent - 0.5 * moved), parts(over * over * (p * shrunk))
    return True, one + other - 0.5 * math.log(log_1 * log_2)


def ttt_d_log_evidence(state: TTTDState) -> float:
    """Return the EP log evidence of all results, in nats."""
    model = state.model
    total = _own_margins_part(
        state.graph, state.chains.belief, state.margins.belief, state.message, 2.0 * model.beta**2,
        state.advantage, state.exact,
    )  # fmt: skip
    total += _positive_part(state.margins.belief, state.positive)
    total += chains_part(state.graph, state.chains, model.sigma**-2, state.level, model.tau**2)
    margin_level = state.level * 0.0 + model.margin_mu
    return total + chains_part(
        state.graph, state.margins, model.margin_sigma**-2, margin_level, model.margin_tau**2
    )


@kernel
def _positive_part(margin: Floats, message: Floats) -> float:
    total = 0.0
    for node in range(len(margin)):
        pi, tau = margin[node, 0] - message[node, 0], margin[node, 1] - message[node, 1]
        total += log_below(tau / pi**0.5)
        total -= log_partition_change(pi, tau, message[node, 0], message[node, 1])
    return total


@kernel
def _cavity(
    belief: Floats, node: int, message: Floats, game: int, column: int, own: float
) -> tuple[float, float, float]:
    """Mean, variance, and what the message adds to the cavity's log partition."""
    pi = belief[node, 0] - own * message[game, column]
    tau = belief[node, 1] - own * message[game, column + 1]
    change = log_partition_change(pi, tau, message[game, column], message[game, column + 1])
    return tau / pi, 1.0 / pi, change


@kernel
def _own_margins_part(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, noise: float, advantage: Floats,
    exact: bool,
) -> float:  # fmt: skip
    total = 0.0
    first, second, drawns, movers = graph.first, graph.second, graph.drawn, graph.mover
    weights = graph.weight
    for period in range(len(graph.game_start) - 1):
        part = 0.0
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j, drawn = first[game], second[game], drawns[game]
            weight = weights[game] if len(weights) else 1.0
            own = min(weight, 1.0)
            lead = advantage[period] * movers[game]
            if drawn and not exact:
                part += weight * _two_factors_part(
                    skill, margin, message, game, i, j, own, lead, 0.5 * noise
                )
                continue
            m_i, v_i, out_i = _cavity(skill, i, message, game, 0, own)
            m_j, v_j, out_j = _cavity(skill, j, message, game, 2, own)
            m_ej, v_ej, out_ej = _cavity(margin, j, message, game, 4, own)
            log_z = -out_i - out_j - out_ej
            if drawn:
                m_ei, v_ei, out_ei = _cavity(margin, i, message, game, 6, own)
                log_z += between_derivatives(
                    m_i - m_j + lead, v_i + v_j + noise, m_ei, v_ei, m_ej, v_ej
                )[0]
                log_z -= out_ei
            else:
                log_z += greater_log_z(m_i, v_i, m_j, v_j, m_ej, v_ej, lead, noise, 1.0, -1.0)
            part += weight * log_z
        total += part
    return total


@kernel
def _two_factors_part(
    skill: Floats, margin: Floats, message: Floats, game: int, i: int, j: int, own: float,
    lead: float, variance: float,
) -> float:  # fmt: skip
    """A draw in the authors' form: its two factors and the two performances they share."""
    log_z = 0.0
    before = np.empty((2, 2))
    for player in range(2):
        node = i if player == 0 else j
        pi, tau = both_factors(message, game, 2 * player, variance)
        cavity_pi, cavity_tau = skill[node, 0] - own * pi, skill[node, 1] - own * tau
        log_z -= log_partition_change(cavity_pi, cavity_tau, pi, tau)
        before[player] = through_noise(cavity_pi, cavity_tau, variance)
        log_z += log_partition_change(
            before[player, 0], before[player, 1],
            message[game, 2 * player] + message[game, 2 * player + 6],
            message[game, 2 * player + 1] + message[game, 2 * player + 7],
        )  # fmt: skip
    for factor in range(2):
        column, other = 6 * factor, 6 - 6 * factor
        pi_i, tau_i = before[0, 0] + message[game, other], before[0, 1] + message[game, other + 1]
        pi_j = before[1, 0] + message[game, other + 2]
        tau_j = before[1, 1] + message[game, other + 3]
        m_e, v_e, out_e = _cavity(margin, j if factor == 0 else i, message, game, column + 4, own)
        log_z += greater_log_z(
            tau_i / pi_i, 1.0 / pi_i, tau_j / pi_j, 1.0 / pi_j, m_e, v_e, lead, 0.0,
            2.0 * factor - 1.0, 1.0,
        )  # fmt: skip
        log_z -= out_e
        log_z -= log_partition_change(pi_i, tau_i, message[game, column], message[game, column + 1])
        log_z -= log_partition_change(
            pi_j, tau_j, message[game, column + 2], message[game, column + 3]
        )
    return log_z
