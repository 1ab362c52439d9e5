"""The games of `milepost.history.ttt.own_margins`: one by one, and all at once as Gaussians.

Nearly all histories have no weights and the exact form of draws; their games take a path of their
own, without what the others need. The columns of the messages: see
`milepost.history.ttt.own_margins`.
"""

from __future__ import annotations

import numpy as np

from milepost.history.records import Floats
from milepost.history.ttt.draw_factors import (
    between,
    between_derivatives,
    greater,
    greater_slope,
    through_noise,
)
from milepost.history.ttt.graph import Graph, Notes, Sums
from milepost.history.ttt.passes import visits
from milepost.kernels import inner_kernel, kernel


@inner_kernel
def _cavity(
    belief: Floats, node: int, message: Floats, game: int, column: int, own: float
) -> tuple[float, float]:
    pi = belief[node, 0] - own * message[game, column]
    tau = belief[node, 1] - own * message[game, column + 1]
    variance = 1.0 / pi
    return tau * variance, variance


@inner_kernel
def _replace(
    belief: Floats, node: int, message: Floats, game: int, column: int, weight: float, own: float,
    pi: float, tau: float,
) -> None:  # fmt: skip
    # As in `milepost.history.ttt.state`: of k copies of a game one is renewed at a time.
    step_pi, step_tau = own * (pi - message[game, column]), own * (tau - message[game, column + 1])
    belief[node, 0] += step_pi
    belief[node, 1] += step_tau
    message[game, column] = pi if own == weight else message[game, column] + step_pi / weight
    message[game, column + 1] = (
        tau if own == weight else message[game, column + 1] + step_tau / weight
    )


@inner_kernel
def both_factors(message: Floats, game: int, column: int, variance: float) -> tuple[float, float]:
    """Return what the two factors of a draw say about a skill, through its performance."""
    return through_noise(
        message[game, column] + message[game, column + 6],
        message[game, column + 1] + message[game, column + 7],
        variance,
    )


@kernel
def _two_factors(
    skill: Floats, margin: Floats, message: Floats, game: int, i: int, j: int, weight: float,
    own: float, lead: float, variance: float,
) -> int:  # fmt: skip
    """Visit a draw in the authors' form."""
    old_i = both_factors(message, game, 0, variance)
    old_j = both_factors(message, game, 2, variance)
    pi_i, tau_i = skill[i, 0] - own * old_i[0], skill[i, 1] - own * old_i[1]
    pi_j, tau_j = skill[j, 0] - own * old_j[0], skill[j, 1] - own * old_j[1]
    if not (pi_i > 0.0 and pi_j > 0.0):
        return 1
    # the performances before the game
    before_i = through_noise(pi_i, tau_i, variance)
    before_j = through_noise(pi_j, tau_j, variance)
    skipped = 0
    for factor in range(2):
        # margin_j - d > 0, then margin_i + d > 0; each sees the other's message
        column, other = 6 * factor, 6 - 6 * factor
        owner = j if factor == 0 else i
        see_i, see_j = before_i[0] + message[game, other], before_j[0] + message[game, other + 2]
        m_e, v_e = _cavity(margin, owner, message, game, column + 4, own)
        if not v_e > 0.0:
            skipped = 1
            continue
        new, _ = greater(
            (before_i[1] + message[game, other + 1]) / see_i, 1.0 / see_i,
            (before_j[1] + message[game, other + 3]) / see_j, 1.0 / see_j,
            m_e, v_e, lead, 0.0, 2.0 * factor - 1.0, 1.0,
        )  # fmt: skip
        for place in range(4):
            message[game, column + place] += (own / weight) * (
                new[place] - message[game, column + place]
            )
        _replace(margin, owner, message, game, column + 4, weight, own, new[4], new[5])
    new_i = both_factors(message, game, 0, variance)
    new_j = both_factors(message, game, 2, variance)
    skill[i, 0] += weight * (new_i[0] - old_i[0])
    skill[i, 1] += weight * (new_i[1] - old_i[1])
    skill[j, 0] += weight * (new_j[0] - old_j[0])
    skill[j, 1] += weight * (new_j[1] - old_j[1])
    return skipped


@inner_kernel
def _stand_in(apart: float, variance: float, g1: float, g2: float) -> tuple[float, float]:
    """Precision and pull of a game's stand-in, the pull counted from equal means."""
    left = 1.0 / (1.0 - g2 * variance)
    return g2 * left, (g2 * apart + g1) * left


@kernel
def pass_own(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, begin: int, end: int, step: int,
    noise: float, advantage: float, exact: bool, notes: Notes | None, period: int,
) -> int:  # fmt: skip
    """Visit the games from `begin` to before `end`; return how many cavities were improper.

    They are all of one period. Their stand-ins are added to `notes`.
    """
    first, second, drawns, movers = graph.first, graph.second, graph.drawn, graph.mover
    if len(graph.weight) or not exact:
        return _pass_any(graph, skill, margin, message, begin, end, step, noise, advantage, exact)
    skipped = 0
    lead_degree, lead_pull = 0.0, 0.0
    for place in range(begin, end, step):
        # Not signed: see `Indices`.
        game = np.uint64(place)
        i, j = first[game], second[game]
        lead = advantage * movers[game]
        # Whether there are notes is known when this is compiled.
        if notes is not None:
            notes.curvature[game] = 0.0
        # cavities: the beliefs without this game's own messages
        pi_i, tau_i = skill[i, 0] - message[game, 0], skill[i, 1] - message[game, 1]
        pi_j, tau_j = skill[j, 0] - message[game, 2], skill[j, 1] - message[game, 3]
        pi_ej, tau_ej = margin[j, 0] - message[game, 4], margin[j, 1] - message[game, 5]
        if not (pi_i > 0.0 and pi_j > 0.0 and pi_ej > 0.0):
            skipped += 1
            continue
        v_i, v_j, v_ej = 1.0 / pi_i, 1.0 / pi_j, 1.0 / pi_ej
        m_i, m_j, m_ej = tau_i * v_i, tau_j * v_j, tau_ej * v_ej
        if drawns[game]:
            pi_ei, tau_ei = margin[i, 0] - message[game, 6], margin[i, 1] - message[game, 7]
            if not pi_ei > 0.0:
                skipped += 1
                continue
            v_ei = 1.0 / pi_ei
            m_ei = tau_ei * v_ei
            messages, (g1, g2) = between(m_i, v_i, m_j, v_j, m_ei, v_ei, m_ej, v_ej, lead, noise)
            new_0, new_1, new_2, new_3, new_4, new_5, new_6, new_7 = messages
            margin[i, 0], margin[i, 1] = pi_ei + new_6, tau_ei + new_7
            message[game, 6], message[game, 7] = new_6, new_7
        else:
            few, (g1, g2) = greater(m_i, v_i, m_j, v_j, m_ej, v_ej, lead, noise, 1.0, -1.0)
            new_0, new_1, new_2, new_3, new_4, new_5 = few
        skill[i, 0], skill[i, 1] = pi_i + new_0, tau_i + new_1
        skill[j, 0], skill[j, 1] = pi_j + new_2, tau_j + new_3
        margin[j, 0], margin[j, 1] = pi_ej + new_4, tau_ej + new_5
        message[game, 0], message[game, 1] = new_0, new_1
        message[game, 2], message[game, 3] = new_2, new_3
        message[game, 4], message[game, 5] = new_4, new_5
        if notes is not None:
            stiff, force = _stand_in(m_i - m_j, v_i + v_j, g1, max(g2, 0.0))
            notes.curvature[game] = stiff
            notes.sums.degree[i] += stiff
            notes.sums.degree[j] += stiff
            notes.sums.pull[i] += force
            notes.sums.pull[j] -= force
            lead_degree += stiff * abs(movers[game])
            lead_pull += force * movers[game]
    if notes is not None:
        notes.sums.lead_degree[period] += lead_degree
        notes.sums.lead_pull[period] += lead_pull
    return skipped


@kernel
def _pass_any(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, begin: int, end: int, step: int,
    noise: float, advantage: float, exact: bool,
) -> int:  # fmt: skip
    """Visit games with weights, or with draws in the authors' form."""
    skipped = 0
    first, second, drawns, movers = graph.first, graph.second, graph.drawn, graph.mover
    weights = graph.weight
    for game in range(begin, end, step):
        i, j, drawn = first[game], second[game], drawns[game]
        weight = weights[game] if len(weights) else 1.0
        own = min(weight, 1.0)
        lead = advantage * movers[game]
        for _ in range(visits(weight)):
            if drawn and not exact:
                skipped += _two_factors(
                    skill, margin, message, game, i, j, weight, own, lead, 0.5 * noise
                )
                continue
            m_i, v_i = _cavity(skill, i, message, game, 0, own)
            m_j, v_j = _cavity(skill, j, message, game, 2, own)
            m_ej, v_ej = _cavity(margin, j, message, game, 4, own)
            if not (v_i > 0.0 and v_j > 0.0 and v_ej > 0.0):
                skipped += 1
                continue
            if drawn:
                m_ei, v_ei = _cavity(margin, i, message, game, 6, own)
                if not v_ei > 0.0:
                    skipped += 1
                    continue
                messages, _ = between(m_i, v_i, m_j, v_j, m_ei, v_ei, m_ej, v_ej, lead, noise)
                pi_i, tau_i, pi_j, tau_j, pi_ej, tau_ej, pi_ei, tau_ei = messages
                _replace(margin, i, message, game, 6, weight, own, pi_ei, tau_ei)
            else:
                few, _ = greater(m_i, v_i, m_j, v_j, m_ej, v_ej, lead, noise, 1.0, -1.0)
                pi_i, tau_i, pi_j, tau_j, pi_ej, tau_ej = few
            _replace(skill, i, message, game, 0, weight, own, pi_i, tau_i)
            _replace(skill, j, message, game, 2, weight, own, pi_j, tau_j)
            _replace(margin, j, message, game, 4, weight, own, pi_ej, tau_ej)
    return skipped


@kernel
def linearise_own(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, begin: int, end: int,
    noise: float, advantage: Floats, exact: bool, means: Floats, curvature: Floats, sums: Sums,
) -> None:  # fmt: skip
    first, second, drawns, movers = graph.first, graph.second, graph.drawn, graph.mover
    weights = graph.weight
    for period in range(begin, end):
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j, drawn = first[game], second[game], drawns[game]
            weight = weights[game] if len(weights) else 1.0
            own = min(weight, 1.0)
            lead = advantage[period] * movers[game]
            if drawn and not exact:
                stiff, pull_i, pull_j = _two_factor_force(
                    skill, message, game, i, j, weight, own, 0.5 * noise
                )
            else:
                stiff, pull_i, pull_j = _force(
                    skill, margin, message, game, i, j, weight, own, lead, noise, drawn,
                    means[i], means[j],
                )  # fmt: skip
            curvature[game] = stiff
            sums.degree[i] += stiff
            sums.degree[j] += stiff
            sums.pull[i] += pull_i
            sums.pull[j] += pull_j
            if movers[game]:
                sums.lead_degree[period] += stiff
                sums.lead_pull[period] += 0.5 * (pull_i - pull_j) * movers[game]


@kernel
def _force(
    skill: Floats, margin: Floats, message: Floats, game: int, i: int, j: int, weight: float,
    own: float, lead: float, noise: float, drawn: bool, x_i: float, x_j: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Curvature of a win, or of a draw in the exact form, and its pulls on i and j."""
    m_i, v_i = _cavity(skill, i, message, game, 0, own)
    m_j, v_j = _cavity(skill, j, message, game, 2, own)
    m_ej, v_ej = _cavity(margin, j, message, game, 4, own)
    if drawn:
        m_ei, v_ei = _cavity(margin, i, message, game, 6, own)
        _, l_a, l_b, l_aa, l_ab, l_bb = between_derivatives(
            m_i - m_j + lead, v_i + v_j + noise, m_ei, v_ei, m_ej, v_ej
        )
        g1, g2 = l_b - l_a, max(-(l_aa - 2.0 * l_ab + l_bb), 0.0)
    else:
        g1, g2 = greater_slope(m_i, v_i, m_j, v_j, m_ej, v_ej, lead, noise, 1.0, -1.0)
    left = weight / (1.0 - g2 * (v_i + v_j))
    if weight < 1.0:
        return (
            g2 * left,
            weight * (g2 * (m_i - x_i) + g1) / (1.0 - g2 * v_i),
            weight * (g2 * (m_j - x_j) - g1) / (1.0 - g2 * v_j),
        )
    pull = (g2 * (m_i - m_j - x_i + x_j) + g1) * left
    return g2 * left, pull, -pull


@kernel
def _two_factor_force(
    skill: Floats, message: Floats, game: int, i: int, j: int, weight: float, own: float,
    variance: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Curvature of a draw in the authors' form and its pulls on i and j, from the messages.

    The curvature, which only shapes the step, is that of a factor on the difference with the same
    message to i and j on average.
    """
    to_i, to_j = both_factors(message, game, 0, variance), both_factors(message, game, 2, variance)
    v_i, v_j = 1.0 / (skill[i, 0] - own * to_i[0]), 1.0 / (skill[j, 0] - own * to_j[0])
    pull_i = to_i[1] - to_i[0] * skill[i, 1] / skill[i, 0]
    pull_j = to_j[1] - to_j[0] * skill[j, 1] / skill[j, 0]
    g2 = 0.5 * (to_i[0] / (1.0 + to_i[0] * v_i) + to_j[0] / (1.0 + to_j[0] * v_j))
    return weight * g2 / max(1.0 - g2 * (v_i + v_j), 0.1), weight * pull_i, weight * pull_j
