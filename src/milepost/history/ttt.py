"""TrueSkill Through Time for two players: expectation propagation over the whole history.

One sweep goes forward through the periods and back again, over a period's games once each way.
The first pass forward, with no message from the future yet, is the TrueSkill filter game by game.
Dangauthier, Herbrich, Minka & Graepel (2007), section 3; messages in natural form.

A game of weight k > 1 stands for k copies of it, each with the same message (so that weight 2 and
the game twice have one fixed point); a game of weight k < 1 contributes its message to the power k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from milepost.history.gaussians import draw_moments, win_moments
from milepost.history.graph import (
    Bools,
    Chains,
    Graph,
    Signs,
    exchange,
    graph_of,
    no_chains,
    receive_future,
    receive_past,
    shift_chains,
)
from milepost.history.records import Floats, Ints, Records
from milepost.kernels import kernel


@dataclass(frozen=True)
class SkillModel:
    """The numbers of the model, all on the rating scale."""

    sigma: float
    """Standard deviation of a newcomer's skill."""
    beta: float
    """Standard deviation of a performance around the skill."""
    tau: float
    """Standard deviation that a unit of time adds to a skill."""
    margin: float
    """The common draw margin: a smaller difference of performances is a draw."""


@dataclass
class TTTState:
    """The messages of a history under way."""

    records: Records
    model: SkillModel
    graph: Graph
    chains: Chains
    message: Floats
    """For each game, the message to `first` and to `second`: precision, precision times mean."""
    level: Floats
    """For each period, the newcomers' prior mean, counted from `mu`."""
    advantage: Floats
    """For each period, the first mover's advantage."""

    def forward(self, begin: int, end: int, since: int | None = None) -> int:
        """Go forward through the periods from `begin` up to `end`.

        Nodes before the period `since` (default: `begin`) send no new messages. Returns how many
        updates were left out because a cavity was not a proper Gaussian.
        """
        low = int(self.graph.node_start[begin if since is None else since])
        model = self.model
        return _forward(
            self.graph, self.chains, self.message, low, begin, end, model.sigma**-2, model.tau**2,
            model.margin, 2.0 * model.beta**2, self.level, self.advantage,
        )  # fmt: skip

    def backward(self, begin: int, end: int) -> int:
        """Go back through the periods from `end` down to `begin`; returns as `forward`."""
        model = self.model
        return _backward(
            self.graph, self.chains, self.message, begin, end, model.tau**2, model.margin,
            2.0 * model.beta**2, self.advantage,
        )  # fmt: skip

    def exchange(self, border_period: int) -> None:
        """Pass messages between the nodes before and after a border that two workers share."""
        exchange(
            self.graph, self.chains, int(self.graph.node_start[border_period]), self.model.tau**2
        )

    def shift(self, by: Floats) -> None:
        """Move the skill of every node, with all messages to it."""
        shift_chains(self.chains, by)
        _shift_messages(self.graph.first, self.graph.second, self.message, by)

    def linearise(self, begin: int, end: int, curvature: Floats, slope: Floats) -> None:
        """Write each game's Gaussian stand-in: see `milepost.history.newton`."""
        _linearise(
            self.graph, self.chains, self.message, begin, end, self.model.margin,
            2.0 * self.model.beta**2, self.advantage, curvature, slope,
        )  # fmt: skip

    def gather_messages(self) -> None:
        """Begin again from the games' messages alone: a warm start."""
        for array in self.chains:
            array[:] = 0.0
        _gather(self.graph, self.message, self.chains.belief)

    def snapshot(self) -> Floats:
        """Return the standard deviation of every node, to see what a sweep still changes.

        The means are left to the Newton step, which knows their distance, not only their step.
        """
        return np.asarray(1.0 / np.sqrt(self.chains.belief[:, 0]))


def ttt_state(records: Records, model: SkillModel, *, level: Floats, advantage: Floats) -> TTTState:
    """Return the state before the first sweep."""
    return TTTState(
        records, model, graph_of(records), no_chains(records.nodes),
        np.zeros((records.games, 4)), level.copy(), advantage.copy(),
    )  # fmt: skip


@kernel
def _messages(
    pi_i: float, tau_i: float, pi_j: float, tau_j: float, lead: float, drawn: bool, margin: float,
    noise: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Return the messages of one game to `first` and `second`, from their cavities."""
    both = 1.0 / (pi_i * pi_j)
    v_i, v_j = both * pi_j, both * pi_i
    m_i, m_j = tau_i * v_i, tau_j * v_j
    # moments of the performance difference, truncated by the result
    cc = v_i + v_j + noise
    c = math.sqrt(cc)
    scale = 1.0 / c
    t = (m_i - m_j + lead) * scale
    if drawn:
        v, w = draw_moments(t, margin * scale)
    else:
        v, w = win_moments(t - margin * scale)
    # no division by w, which may vanish
    left_i, left_j = cc - w * v_i, cc - w * v_j
    both = 1.0 / (left_i * left_j)
    to_i, to_j = left_j * both, left_i * both
    return w * to_i, (w * m_i + c * v) * to_i, w * to_j, (w * m_j - c * v) * to_j


@kernel
def visits(weight: float) -> int:
    """Return how often a game of that weight is visited in a pass."""
    return 1 if weight <= 1.0 else min(math.ceil(weight), 8)


@kernel
def _pass(
    first: Ints, second: Ints, drawn: Bools, mover: Signs, weights: Floats, belief: Floats,
    message: Floats, begin: int, end: int, step: int, margin: float, noise: float, advantage: float,
) -> int:  # fmt: skip
    """Visit the games from `begin` to before `end`; return how many cavities were improper."""
    skipped = 0
    weighted = len(weights) > 0
    for game in range(begin, end, step):
        i, j = first[game], second[game]
        weight = weights[game] if weighted else 1.0
        own = min(weight, 1.0)
        # A game of weight k moves like k games one after the other, not like k at once.
        share = own / weight
        for _ in range(visits(weight)):
            old_0, old_1, old_2, old_3 = (
                message[game, 0], message[game, 1], message[game, 2], message[game, 3],
            )  # fmt: skip
            # cavity: the belief without this game's own message (one copy of it)
            pi_i, tau_i = belief[i, 0] - own * old_0, belief[i, 1] - own * old_1
            pi_j, tau_j = belief[j, 0] - own * old_2, belief[j, 1] - own * old_3
            if not (pi_i > 0.0 and pi_j > 0.0):
                skipped += 1
                continue
            new_0, new_1, new_2, new_3 = _messages(
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


@kernel
def _forward(
    graph: Graph, chains: Chains, message: Floats, low: int, begin: int, end: int, precision: float,
    drift: float, margin: float, noise: float, level: Floats, advantage: Floats,
) -> int:  # fmt: skip
    skipped = 0
    for period in range(begin, end):
        receive_past(graph, chains, period, low, precision, level[period], drift)
        skipped += _pass(
            graph.first, graph.second, graph.drawn, graph.mover, graph.weight, chains.belief,
            message, graph.game_start[period], graph.game_start[period + 1], 1, margin, noise,
            advantage[period],
        )  # fmt: skip
    return skipped


@kernel
def _backward(
    graph: Graph, chains: Chains, message: Floats, begin: int, end: int, drift: float,
    margin: float, noise: float, advantage: Floats,
) -> int:  # fmt: skip
    skipped = 0
    high = graph.node_start[end]
    for period in range(end - 1, begin - 1, -1):
        receive_future(graph, chains, period, high, drift)
        skipped += _pass(
            graph.first, graph.second, graph.drawn, graph.mover, graph.weight, chains.belief,
            message, graph.game_start[period + 1] - 1, graph.game_start[period] - 1, -1, margin,
            noise, advantage[period],
        )  # fmt: skip
    return skipped


@kernel
def _gather(graph: Graph, message: Floats, belief: Floats) -> None:
    for game in range(len(message)):
        weight = graph.weight[game] if len(graph.weight) else 1.0
        i, j = graph.first[game], graph.second[game]
        belief[i, 0] += weight * message[game, 0]
        belief[i, 1] += weight * message[game, 1]
        belief[j, 0] += weight * message[game, 2]
        belief[j, 1] += weight * message[game, 3]


@kernel
def _shift_messages(first: Ints, second: Ints, message: Floats, by: Floats) -> None:
    for game in range(len(message)):
        message[game, 1] += message[game, 0] * by[first[game]]
        message[game, 3] += message[game, 2] * by[second[game]]


@kernel
def _linearise(
    graph: Graph, chains: Chains, message: Floats, begin: int, end: int, margin: float,
    noise: float, advantage: Floats, curvature: Floats, slope: Floats,
) -> None:  # fmt: skip
    belief = chains.belief
    for period in range(begin, end):
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = graph.first[game], graph.second[game]
            weight = graph.weight[game] if len(graph.weight) else 1.0
            own = min(weight, 1.0)
            v_i = 1.0 / (belief[i, 0] - own * message[game, 0])
            v_j = 1.0 / (belief[j, 0] - own * message[game, 2])
            m_i = (belief[i, 1] - own * message[game, 1]) * v_i
            m_j = (belief[j, 1] - own * message[game, 3]) * v_j
            cc = v_i + v_j + noise
            c = math.sqrt(cc)
            t = (m_i - m_j + advantage[period] * graph.mover[game]) / c
            if graph.drawn[game]:
                v, w = draw_moments(t, margin / c)
            else:
                v, w = win_moments(t - margin / c)
            # curvature kappa of log Z gives a factor on the skills of kappa / (1 - kappa (v_i+v_j))
            left = weight / (cc - w * (v_i + v_j))
            curvature[game] = w * left
            x_i, x_j = belief[i, 1] / belief[i, 0], belief[j, 1] / belief[j, 0]
            if weight < 1.0:
                # A message to a power is no factor on the difference: it pulls as it stands.
                slope[game, 0] = weight * (w * (m_i - x_i) + c * v) / (cc - w * v_i)
                slope[game, 1] = weight * (w * (m_j - x_j) - c * v) / (cc - w * v_j)
            else:
                slope[game, 0] = (w * (m_i - m_j - x_i + x_j) + c * v) * left
                slope[game, 1] = -slope[game, 0]
