"""TrueSkill Through Time for two players: expectation propagation over the whole history.

One sweep goes forward through the periods and back again, over a period's games once each way.
The first pass forward, with no message from the future yet, is the TrueSkill filter game by game.
Dangauthier, Herbrich, Minka & Graepel (2007), section 3; messages in natural form.

A game of weight k > 1 stands for k copies of it, each with the same message (so that weight 2 and
the game twice have one fixed point); a game of weight k < 1 contributes its message to the power k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost.history.records import Floats, Records
from milepost.history.ttt.graph import (
    Chains,
    Graph,
    Indices,
    Notes,
    Sums,
    carry_back,
    exchange,
    graph_of,
    no_chains,
    receive_future,
    receive_past,
    shift_chains,
)
from milepost.history.ttt.passes import linearise, pass_games, pass_weighted
from milepost.history.ttt.told import Told, hold_still, pass_on
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
    told: Told | None = None
    """What the skills are told from outside; `None` = nothing."""

    @property
    def can_note(self) -> bool:
        """Whether a visit finds the stand-ins of its games: those with weights need another."""
        return not len(self.graph.weight)

    def forward(
        self, begin: int, end: int, since: int | None = None, notes: Notes | None = None
    ) -> int:
        """Go forward through the periods from `begin` up to `end`.

        Nodes before the period `since` (default: `begin`) send no new messages. The games' stand-
        ins are added to `notes`. Returns how many updates were left out because a cavity was not a
        proper Gaussian.
        """
        low = int(self.graph.node_start[begin if since is None else since])
        model = self.model
        return _forward(
            self.graph, self.chains, self.message, low, begin, end, model.sigma**-2, model.tau**2,
            model.margin, 2.0 * model.beta**2, self.level, self.advantage, notes,
        )  # fmt: skip

    def backward(self, begin: int, end: int, notes: Notes | None = None) -> int:
        """Go back through the periods from `end` down to `begin`; as `forward`."""
        model = self.model
        return _backward(
            self.graph, self.chains, self.message, begin, end, model.tau**2, model.margin,
            2.0 * model.beta**2, self.advantage, notes,
        )  # fmt: skip

    def exchange(self, borders: Sequence[int]) -> None:
        """Pass messages across the periods at which the second worker begins, the third ..."""
        first = self.graph.node_start[np.asarray(borders)]
        exchange(self.graph, self.chains, first, self.model.tau**2)

    def carry_back(self, end: int) -> None:
        """Bring what the future says up to date before the period `end`, without the games."""
        carry_back(self.graph, self.chains, end, self.model.tau**2)

    def shift(self, by: Floats, begin: int, end: int) -> None:
        """Move the skill of every node of the periods from `begin` up to `end`.

        All messages to it move with it, but for what is told.
        """
        shift_nodes(self.graph, self.chains, self.told, self.message, by, begin, end)

    def linearise(self, begin: int, end: int, means: Floats, curvature: Floats, sums: Sums) -> None:
        """Write each game's Gaussian stand-in: see `milepost.history.solver.newton`."""
        linearise(
            self.graph, self.chains.belief, self.message, begin, end, self.model.margin,
            2.0 * self.model.beta**2, self.advantage, means, curvature, sums,
        )  # fmt: skip

    def gather_messages(self) -> None:
        """Begin again from the games' messages alone: a warm start."""
        for array in self.chains:
            array[:] = 0.0
        _gather(self.graph, self.message, self.chains.belief)
        pass_on(self.told, self.chains.belief)

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
def _pass(
    graph: Graph, belief: Floats, message: Floats, begin: int, end: int, step: int, margin: float,
    noise: float, advantage: float, notes: Notes | None, period: int,
) -> int:  # fmt: skip
    if len(graph.weight):
        return pass_weighted(
            graph.first, graph.second, graph.drawn, graph.mover, graph.weight, belief, message,
            begin, end, step, margin, noise, advantage,
        )  # fmt: skip
    # Whether there are notes is known when this is compiled.
    if notes is None:
        skipped, _, _ = pass_games(
            graph.first, graph.second, graph.drawn, graph.mover, belief, message, begin, end, step,
            margin, noise, advantage, None, None, None,
        )  # fmt: skip
        return skipped
    skipped, lead_degree, lead_pull = pass_games(
        graph.first, graph.second, graph.drawn, graph.mover, belief, message, begin, end, step,
        margin, noise, advantage, notes.curvature, notes.sums.degree, notes.sums.pull,
    )  # fmt: skip
    notes.sums.lead_degree[period] += lead_degree
    notes.sums.lead_pull[period] += lead_pull
    return skipped


@kernel
def _forward(
    graph: Graph, chains: Chains, message: Floats, low: int, begin: int, end: int, precision: float,
    drift: float, margin: float, noise: float, level: Floats, advantage: Floats,
    notes: Notes | None,
) -> int:  # fmt: skip
    skipped = 0
    for period in range(begin, end):
        receive_past(graph, chains, period, low, precision, level[period], drift)
        skipped += _pass(
            graph, chains.belief, message, graph.game_start[period], graph.game_start[period + 1],
            1, margin, noise, advantage[period], notes, period,
        )  # fmt: skip
    return skipped


@kernel
def _backward(
    graph: Graph, chains: Chains, message: Floats, begin: int, end: int, drift: float,
    margin: float, noise: float, advantage: Floats, notes: Notes | None,
) -> int:  # fmt: skip
    skipped = 0
    high = graph.node_start[end]
    for period in range(end - 1, begin - 1, -1):
        receive_future(graph, chains, period, high, drift)
        skipped += _pass(
            graph, chains.belief, message, graph.game_start[period + 1] - 1,
            graph.game_start[period] - 1, -1, margin, noise, advantage[period], notes,
            period,
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


def shift_nodes(
    graph: Graph, chains: Chains, told: Told | None, message: Floats, by: Floats, begin: int,
    end: int,
) -> None:  # fmt: skip
    """Move the skill of every node of the periods from `begin` up to `end`.

    All messages to it move with it, but for what is told.
    """
    low, high = int(graph.node_start[begin]), int(graph.node_start[end])
    shift_chains(chains, by, low, high)
    hold_still(told, chains.belief, by, low, high)
    games = int(graph.game_start[begin]), int(graph.game_start[end])
    _shift_messages(graph.first, graph.second, message, by, *games)


@kernel
def _shift_messages(
    first: Indices, second: Indices, message: Floats, by: Floats, begin: int, end: int
) -> None:
    # Draws of own margins in the authors' form have two factors: see `own_margins`.
    two_factors = message.shape[1] > 8
    for place in range(begin, end):
        game = np.uint64(place)
        message[game, 1] += message[game, 0] * by[first[game]]
        message[game, 3] += message[game, 2] * by[second[game]]
        if two_factors:
            message[game, 7] += message[game, 6] * by[first[game]]
            message[game, 9] += message[game, 8] * by[second[game]]
