"""The games of `milepost.history.ttt.state`: one after the other, and all at once as Gaussians.

Nearly all histories have no weights; their games take a path of their own, without what weights
need. Products and sums are fused (one rounding instead of two), which costs nothing in accuracy.
"""

from __future__ import annotations

import math

import numpy as np

from milepost.history.numerics.gaussians import draw_moments, win_moments
from milepost.history.records import Floats
from milepost.history.ttt.graph import Bools, Graph, Indices, Notes, Signs, Sums
from milepost.kernels import fused_kernel, inner_kernel, kernel


@inner_kernel
def _messages(
    pi_i: float, tau_i: float, pi_j: float, tau_j: float, lead: float, drawn: bool, margin: float,
    noise: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Return the messages of one game to `first` and `second`, from their cavities.

    Then precision and pull of its Gaussian stand-in, the pull counted from equal means.
    """
    # With P = pi_i pi_j and Q = pi_i + pi_j + noise P, the variance of the difference is Q / P.
    # What takes long is the way from the first number to the last, not their count: root and
    # divisions are written so that they do not wait for each other.
    p = pi_i * pi_j
    q = pi_i + pi_j + noise * p
    pq = p * q
    root = math.sqrt(pq)
    inverse = root * (1.0 / pq)
    x_i, x_j = tau_i * pi_j, tau_j * pi_i
    # moments of the performance difference, truncated by the result
    apart, bound = x_i - x_j + lead * p, margin * p
    if drawn:
        v, w = draw_moments(apart * inverse, bound * inverse)
    else:
        v, w = win_moments((apart - bound) * inverse)
    # no division by w, which may vanish
    to_i, to_j = 1.0 / (q - w * pi_j), 1.0 / (q - w * pi_i)
    push, wp = root * v, w * p
    # curvature kappa of log Z gives a factor on the skills of kappa / (1 - kappa (v_i + v_j))
    left = 1.0 / (q - w * (pi_i + pi_j))
    return (
        wp * to_i, (w * x_i + push) * to_i, wp * to_j, (w * x_j - push) * to_j,
        wp * left, (w * (x_i - x_j) + push) * left,
    )  # fmt: skip


@kernel
def visits(weight: float) -> int:
    """Return how often a game of that weight is visited in a pass."""
    return 1 if weight <= 1.0 else min(math.ceil(weight), 8)


@fused_kernel
def pass_games(
    first: Indices, second: Indices, drawn: Bools, mover: Signs, belief: Floats, message: Floats,
    begin: int, end: int, step: int, margin: float, noise: float, advantage: float,
) -> int:  # fmt: skip
    """Visit the games from `begin` to before `end`; return how many cavities were improper."""
    skipped = 0
    for place in range(begin, end, step):
        # Not signed: see `Indices`.
        game = np.uint64(place)
        i, j = first[game], second[game]
        # cavity: the belief without this game's own message
        pi_i, tau_i = belief[i, 0] - message[game, 0], belief[i, 1] - message[game, 1]
        pi_j, tau_j = belief[j, 0] - message[game, 2], belief[j, 1] - message[game, 3]
        if not (pi_i > 0.0 and pi_j > 0.0):
            skipped += 1
            continue
        new_0, new_1, new_2, new_3, _, _ = _messages(
            pi_i, tau_i, pi_j, tau_j, advantage * mover[game], drawn[game], margin, noise
        )
        belief[i, 0], belief[i, 1] = pi_i + new_0, tau_i + new_1
        belief[j, 0], belief[j, 1] = pi_j + new_2, tau_j + new_3
        message[game, 0], message[game, 1] = new_0, new_1
        message[game, 2], message[game, 3] = new_2, new_3
    return skipped


@fused_kernel
def pass_and_note(
    first: Indices, second: Indices, drawn: Bools, mover: Signs, belief: Floats, message: Floats,
    begin: int, end: int, step: int, margin: float, noise: float, advantage: float,
    curvature: Floats, degree: Floats, pull: Floats,
) -> tuple[int, float, float]:  # fmt: skip
    """Visit games as `pass_games` does, and note their stand-ins: see `Notes`.

    Returns beside the number of improper cavities what the stand-ins of games with a first mover
    add up to: precision and pull.
    """
    skipped = 0
    lead_degree, lead_pull = 0.0, 0.0
    for place in range(begin, end, step):
        game = np.uint64(place)
        i, j = first[game], second[game]
        pi_i, tau_i = belief[i, 0] - message[game, 0], belief[i, 1] - message[game, 1]
        pi_j, tau_j = belief[j, 0] - message[game, 2], belief[j, 1] - message[game, 3]
        if not (pi_i > 0.0 and pi_j > 0.0):
            skipped += 1
            curvature[game] = 0.0
            continue
        new_0, new_1, new_2, new_3, stiff, force = _messages(
            pi_i, tau_i, pi_j, tau_j, advantage * mover[game], drawn[game], margin, noise
        )
        belief[i, 0], belief[i, 1] = pi_i + new_0, tau_i + new_1
        belief[j, 0], belief[j, 1] = pi_j + new_2, tau_j + new_3
        message[game, 0], message[game, 1] = new_0, new_1
        message[game, 2], message[game, 3] = new_2, new_3
        curvature[game] = stiff
        degree[i] += stiff
        degree[j] += stiff
        pull[i] += force
        pull[j] -= force
        lead_degree += stiff * abs(mover[game])
        lead_pull += force * mover[game]
    return skipped, lead_degree, lead_pull


@kernel
def pass_weighted(
    first: Indices, second: Indices, drawn: Bools, mover: Signs, weights: Floats, belief: Floats,
    message: Floats, begin: int, end: int, step: int, margin: float, noise: float, advantage: float,
) -> int:  # fmt: skip
    """Visit games with weights, as `pass_games` does those without."""
    skipped = 0
    for game in range(begin, end, step):
        i, j = first[game], second[game]
        weight = weights[game]
        own = min(weight, 1.0)
        # A game of weight k moves like k games one after the other, not like k at once.
        share = own / weight
        for _ in range(visits(weight)):
            old_0, old_1, old_2, old_3 = (
                message[game, 0], message[game, 1], message[game, 2], message[game, 3],
            )  # fmt: skip
            # cavity: the belief without one copy of this game's message
            pi_i, tau_i = belief[i, 0] - own * old_0, belief[i, 1] - own * old_1
            pi_j, tau_j = belief[j, 0] - own * old_2, belief[j, 1] - own * old_3
            if not (pi_i > 0.0 and pi_j > 0.0):
                skipped += 1
                continue
            new_0, new_1, new_2, new_3, _, _ = _messages(
                pi_i, tau_i, pi_j, tau_j, advantage * mover[game], drawn[game], margin, noise
            )
            belief[i, 0] = pi_i + own * new_0
            belief[i, 1] = tau_i + own * new_1
            belief[j, 0] = pi_j + own * new_2
            belief[j, 1] = tau_j + own * new_3
            if share < 1.0:
                new_0, new_1 = old_0 + share * (new_0 - old_0), old_1 + share * (new_1 - old_1)
                new_2, new_3 = old_2 + share * (new_2 - old_2), old_3 + share * (new_3 - old_3)
            message[game, 0], message[game, 1] = new_0, new_1
            message[game, 2], message[game, 3] = new_2, new_3
    return skipped


@fused_kernel
def settle(graph: Graph, begin: int, end: int, means: Floats, notes: Notes) -> None:
    """Let the noted pulls of some periods be counted from the present means."""
    first, second, mover = graph.first, graph.second, graph.mover
    curvature, (_, pull, _, lead_pull) = notes
    for period in range(begin, end):
        led = 0.0
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = first[game], second[game]
            force = curvature[game] * (means[i] - means[j])
            pull[i] -= force
            pull[j] += force
            led += force * mover[game]
        lead_pull[period] -= led


@fused_kernel
def linearise(
    graph: Graph, belief: Floats, message: Floats, begin: int, end: int, margin: float,
    noise: float, advantage: Floats, means: Floats, curvature: Floats, sums: Sums,
) -> None:  # fmt: skip
    """Write each game's Gaussian stand-in, and add it up: see `milepost.history.solver.newton`."""
    first, second, drawn, mover = graph.first, graph.second, graph.drawn, graph.mover
    weights = graph.weight
    degree, pull = sums.degree, sums.pull
    for period in range(begin, end):
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = first[game], second[game]
            weight = weights[game] if len(weights) else 1.0
            own = min(weight, 1.0)
            pi_i = belief[i, 0] - own * message[game, 0]
            tau_i = belief[i, 1] - own * message[game, 1]
            pi_j = belief[j, 0] - own * message[game, 2]
            tau_j = belief[j, 1] - own * message[game, 3]
            both = 1.0 / (pi_i * pi_j)
            v_i, v_j = both * pi_j, both * pi_i
            m_i, m_j = tau_i * v_i, tau_j * v_j
            cc = v_i + v_j + noise
            c = math.sqrt(cc)
            scale = 1.0 / c
            t = (m_i - m_j + advantage[period] * mover[game]) * scale
            if drawn[game]:
                v, w = draw_moments(t, margin * scale)
            else:
                v, w = win_moments(t - margin * scale)
            # curvature kappa of log Z gives a factor on the skills of kappa / (1 - kappa (v_i+v_j))
            left = weight / (cc - w * (v_i + v_j))
            stiff = w * left
            x_i, x_j = means[i], means[j]
            if weight < 1.0:
                # A message to a power is no factor on the difference: it pulls as it stands.
                pull_i = weight * (w * (m_i - x_i) + c * v) / (cc - w * v_i)
                pull_j = weight * (w * (m_j - x_j) - c * v) / (cc - w * v_j)
            else:
                pull_i = (w * (m_i - m_j - x_i + x_j) + c * v) * left
                pull_j = -pull_i
            curvature[game] = stiff
            degree[i] += stiff
            degree[j] += stiff
            pull[i] += pull_i
            pull[j] += pull_j
            if mover[game]:
                sums.lead_degree[period] += stiff
                sums.lead_pull[period] += 0.5 * (pull_i - pull_j) * mover[game]
