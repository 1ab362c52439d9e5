"""The games of `milepost.history.ttt.state`: one after the other, and all at once as Gaussians.

Nearly all histories have no weights; their games take a path of their own, without what weights
need, and two by two. Products and sums are fused (one rounding instead of two), which costs nothing
in accuracy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from milepost.history.numerics.gaussians import (
    draw_moments,
    draw_moments_of_two,
    draws_in_table,
    win_moments,
    win_moments_of_two,
    wins_in_table,
)
from milepost.history.numerics.lanes import (
    Index,
    Pair,
    both_above,
    firsts,
    pair,
    pair_at,
    parts,
    roots,
    seconds,
    set_pair,
)
from milepost.history.records import Floats
from milepost.history.ttt.graph import Bools, Graph, Indices, Notes, Signs, Sums
from milepost.kernels import fused_kernel, inner_kernel, kernel


class Meeting(NamedTuple):
    """What two players bring to a game, before its result counts: numbers, or pairs of two games.

    With P = pi_i pi_j and Q = pi_i + pi_j + noise P, the variance of the difference is Q / P.
    """

    pi_i: Any
    pi_j: Any
    p: Any
    q: Any
    root: Any
    """The square root of PQ."""
    inverse: Any
    """One over it."""
    x_i: Any
    """The mean of `first`, times P."""
    x_j: Any
    """The mean of `second`, times P."""
    apart: Any
    """What is expected of the difference of the performances, times P."""


@inner_kernel
def _meet(
    pi_i: Any, tau_i: Any, pi_j: Any, tau_j: Any, p: Any, q: Any, root: Any, lead: Any
) -> Meeting:
    # What takes long is the way from the first number to the last, not their count: root and
    # divisions are written so that they do not wait for each other.
    inverse = root * (1.0 / (p * q))
    x_i, x_j = tau_i * pi_j, tau_j * pi_i
    return Meeting(pi_i, pi_j, p, q, root, inverse, x_i, x_j, x_i - x_j + lead * p)


@inner_kernel
def _answer(meeting: Meeting, v: Any, w: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return the messages of a game to `first` and `second`, from its moments.

    Then precision and pull of its Gaussian stand-in, the pull counted from equal means.
    """
    pi_i, pi_j, p, q, root, _, x_i, x_j, _ = meeting
    # no division by w, which may vanish
    to_i, to_j = 1.0 / (q - w * pi_j), 1.0 / (q - w * pi_i)
    push, wp = root * v, w * p
    # curvature kappa of log Z gives a factor on the skills of kappa / (1 - kappa (v_i + v_j))
    left = 1.0 / (q - w * (pi_i + pi_j))
    return (
        wp * to_i, (w * x_i + push) * to_i, wp * to_j, (w * x_j - push) * to_j,
        wp * left, (w * (x_i - x_j) + push) * left,
    )  # fmt: skip


@inner_kernel
def _messages(
    pi_i: float, tau_i: float, pi_j: float, tau_j: float, lead: float, drawn: bool, margin: float,
    noise: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Return what `_answer` does for one game, from the cavities of its players."""
    p = pi_i * pi_j
    q = pi_i + pi_j + noise * p
    met = _meet(pi_i, tau_i, pi_j, tau_j, p, q, math.sqrt(p * q), lead)
    # moments of the performance difference, truncated by the result
    bound = margin * p
    if drawn:
        v, w = draw_moments(met.apart * met.inverse, bound * met.inverse)
    else:
        v, w = win_moments((met.apart - bound) * met.inverse)
    return _answer(met, v, w)


@kernel
def visits(weight: float) -> int:
    """Return how often a game of that weight is visited in a pass."""
    return 1 if weight <= 1.0 else min(math.ceil(weight), 8)


@inner_kernel
def _moments_of_two(meetings: Meeting, drawn: bool, margin: float) -> tuple[bool, Pair, Pair]:
    """Return v and w of two games of one kind, and before them whether the tables hold both."""
    bound = margin * meetings.p
    if drawn:
        t, alpha = meetings.apart * meetings.inverse, bound * meetings.inverse
        if draws_in_table(t, alpha):
            v, w = draw_moments_of_two(t, alpha)
            return True, v, w
    else:
        x = (meetings.apart - bound) * meetings.inverse
        if wins_in_table(x):
            v, w = win_moments_of_two(x)
            return True, v, w
    return False, bound, bound


@inner_kernel
def _signed(value: float, mover: int) -> float:
    """Return value times mover."""
    # Not as a product: a whole number that is made a float waits for what was in its register.
    return value if mover > 0 else (-value if mover < 0 else 0.0)


@inner_kernel
def _if_led(value: float, mover: int) -> float:
    return value if mover != 0 else 0.0


@inner_kernel
def _send(
    belief: Floats, message: Floats, node: Index, game: Index, column: int, cavity: Pair,
    news: Pair,
) -> None:  # fmt: skip
    set_pair(belief, node, 0, cavity + news)
    set_pair(message, game, column, news)


@inner_kernel
def _note(
    curvature: Floats, degree: Any, pull: Any, game: Index, i: Index, j: Index, stiff: float,
    force: float,
) -> None:  # fmt: skip
    curvature[game] = stiff
    degree[i] += stiff
    degree[j] += stiff
    pull[i] += force
    pull[j] -= force


@fused_kernel
def pass_games(
    first: Indices, second: Indices, drawn: Bools, mover: Signs, belief: Floats, message: Floats,
    begin: int, end: int, step: int, margin: float, noise: float, advantage: float,
    curvature: Floats | None, degree: Floats | None, pull: Floats | None,
) -> tuple[int, float, float]:  # fmt: skip
    """Visit the games from `begin` to before `end`: two at once, if they have no player in common.

    The order of the games is such that most go by twos (`milepost.history.numbering.lay_in_rounds`)
    and find the same as one by one. Their stand-ins are noted unless `curvature` is `None`, which
    is known when this is compiled: see `Notes`.

    Returns how many cavities were improper, and what the stand-ins of games with a first mover add
    up to: precision and pull.
    """
    skipped = 0
    lead_degree, lead_pull = 0.0, 0.0
    place = begin
    while place != end:
        # Not signed: see `Indices`.
        game = np.uint64(place)
        i, j = first[game], second[game]
        # cavity: the belief without this game's own message
        of_i = pair_at(belief, i, 0) - pair_at(message, game, 0)
        of_j = pair_at(belief, j, 0) - pair_at(message, game, 2)
        place += step
        if place != end:
            other = np.uint64(place)
            k, m = first[other], second[other]
            if drawn[game] == drawn[other] and i != k and i != m and j != k and j != m:  # noqa: PLR1714
                of_k = pair_at(belief, k, 0) - pair_at(message, other, 0)
                of_m = pair_at(belief, m, 0) - pair_at(message, other, 2)
                pi_1, pi_2 = firsts(of_i, of_k), firsts(of_j, of_m)
                p = pi_1 * pi_2
                q = pi_1 + pi_2 + noise * p
                lead = pair(_signed(advantage, mover[game]), _signed(advantage, mover[other]))
                met = _meet(
                    pi_1, seconds(of_i, of_k), pi_2, seconds(of_j, of_m), p, q, roots(p * q), lead
                )
                known, v, w = _moments_of_two(met, drawn[game], margin)
                if known and both_above(pi_1, 0.0) and both_above(pi_2, 0.0):
                    new_0, new_1, new_2, new_3, stiff, force = _answer(met, v, w)
                    _send(belief, message, i, game, 0, of_i, firsts(new_0, new_1))
                    _send(belief, message, j, game, 2, of_j, firsts(new_2, new_3))
                    _send(belief, message, k, other, 0, of_k, seconds(new_0, new_1))
                    _send(belief, message, m, other, 2, of_m, seconds(new_2, new_3))
                    if curvature is not None:
                        (stiff_1, stiff_2), (force_1, force_2) = parts(stiff), parts(force)
                        _note(curvature, degree, pull, game, i, j, stiff_1, force_1)
                        _note(curvature, degree, pull, other, k, m, stiff_2, force_2)
                        lead_degree += _if_led(stiff_1, mover[game]) + _if_led(
                            stiff_2, mover[other]
                        )
                        lead_pull += _signed(force_1, mover[game]) + _signed(force_2, mover[other])
                    place += step
                    continue
        (pi_i, tau_i), (pi_j, tau_j) = parts(of_i), parts(of_j)
        if not (pi_i > 0.0 and pi_j > 0.0):
            skipped += 1
            if curvature is not None:
                curvature[game] = 0.0
            continue
        to_i, more_i, to_j, more_j, stiff_1, force_1 = _messages(
            pi_i, tau_i, pi_j, tau_j, _signed(advantage, mover[game]), drawn[game], margin, noise
        )
        _send(belief, message, i, game, 0, of_i, pair(to_i, more_i))
        _send(belief, message, j, game, 2, of_j, pair(to_j, more_j))
        if curvature is not None:
            _note(curvature, degree, pull, game, i, j, stiff_1, force_1)
            lead_degree += _if_led(stiff_1, mover[game])
            lead_pull += _signed(force_1, mover[game])
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
