"""TrueSkill Through Time with a draw margin of every player's own, positive and drifting.

Four numbers a node: mean and standard deviation of the skill, and of the draw margin. The schedule
is that of `milepost.history.ttt.state`; each node's margin is kept positive by a factor of its own.
Dangauthier, Herbrich, Minka & Graepel (2007), section 4.

Columns of the messages: 0-1 to i (`first`), 2-3 to j (`second`), 4-5 to margin_j; for a draw in the
``between`` form 6-7 to margin_i. A draw in the ``two-factor`` form has in 0-5 its first factor's
messages to the performances of i and j and to margin_j, in 6-11 the second's to the performances
and to margin_i: the two factors share the performances, each visit renews both once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost.history.records import Floats, Records
from milepost.history.ttt.draw_factors import positive
from milepost.history.ttt.graph import (
    Chains,
    Graph,
    Notes,
    Sums,
    carry_back,
    exchange,
    graph_of,
    no_chains,
    receive_future,
    receive_past,
)
from milepost.history.ttt.own_passes import both_factors, linearise_own, pass_own
from milepost.history.ttt.state import SkillModel, shift_nodes
from milepost.history.ttt.told import Told, pass_on
from milepost.kernels import kernel


@dataclass(frozen=True)
class MarginModel(SkillModel):
    """The numbers of the model with individual draw margins; the common margin is not used."""

    margin_mu: float = 300.0
    """Prior mean of a margin."""
    margin_sigma: float = 100.0
    """Prior standard deviation of a margin."""
    margin_tau: float = 10.0
    """Standard deviation that a unit of time adds to a margin."""
    draw_form: str = "between"
    """``"between"`` or ``"two-factor"``."""


@dataclass
class TTTDState:
    """The messages of a history under way."""

    records: Records
    model: MarginModel
    graph: Graph
    chains: Chains
    """The skills."""
    margins: Chains
    """The draw margins."""
    positive: Floats
    """For each node, the message that its margin is positive."""
    message: Floats
    """For each game, its messages: see the module."""
    level: Floats
    """For each period, the newcomers' prior mean, counted from `mu`."""
    advantage: Floats
    """For each period, the first mover's advantage."""
    told: Told | None = None
    """What the skills are told from outside; `None` = nothing."""

    @property
    def exact(self) -> bool:
        """Whether draws have the exact form."""
        return self.model.draw_form == "between"

    @property
    def can_note(self) -> bool:
        """Whether a visit finds the stand-ins of its games: see `TTTState.can_note`."""
        return self.exact and not len(self.graph.weight)

    def forward(
        self, begin: int, end: int, since: int | None = None, notes: Notes | None = None
    ) -> int:
        """Go forward through the periods from `begin` up to `end`; see `TTTState.forward`."""
        low = int(self.graph.node_start[begin if since is None else since])
        model = self.model
        return _forward(
            self.graph, self.chains, self.margins, self.positive, self.message, low, begin, end,
            (model.sigma**-2, model.tau**2, 2.0 * model.beta**2, model.margin_sigma**-2,
             model.margin_mu, model.margin_tau**2),
            self.level, self.advantage, self.exact, notes,
        )  # fmt: skip

    def backward(self, begin: int, end: int, notes: Notes | None = None) -> int:
        """Go back through the periods from `end` down to `begin`; as `forward`."""
        model = self.model
        return _backward(
            self.graph, self.chains, self.margins, self.positive, self.message, begin, end,
            (model.tau**2, 2.0 * model.beta**2, model.margin_tau**2), self.advantage, self.exact,
            notes,
        )  # fmt: skip

    def exchange(self, borders: Sequence[int]) -> None:
        """Pass messages across the periods at which the second worker begins, the third ..."""
        first = self.graph.node_start[np.asarray(borders)]
        exchange(self.graph, self.chains, first, self.model.tau**2)
        exchange(self.graph, self.margins, first, self.model.margin_tau**2)

    def carry_back(self, end: int) -> None:
        """Bring what the future says up to date before the period `end`, without the games."""
        carry_back(self.graph, self.chains, end, self.model.tau**2)
        carry_back(self.graph, self.margins, end, self.model.margin_tau**2)

    def shift(self, by: Floats, begin: int, end: int) -> None:
        """Move the skill of every node of the periods from `begin` up to `end`.

        All messages to it move with it, but for what is told.
        """
        shift_nodes(self.graph, self.chains, self.told, self.message, by, begin, end)

    def linearise(self, begin: int, end: int, means: Floats, curvature: Floats, sums: Sums) -> None:
        """Write each game's Gaussian stand-in: see `milepost.history.solver.newton`."""
        linearise_own(
            self.graph, self.chains.belief, self.margins.belief, self.message, begin, end,
            2.0 * self.model.beta**2, self.advantage, self.exact, means, curvature, sums,
        )  # fmt: skip

    def gather_messages(self) -> None:
        """Begin again from the games' messages alone: a warm start."""
        for array in (*self.chains, *self.margins, self.positive):
            array[:] = 0.0
        _gather(
            self.graph, self.message, self.chains.belief, self.margins.belief,
            self.model.beta**2, self.exact,
        )  # fmt: skip
        pass_on(self.told, self.chains.belief)

    def snapshot(self) -> Floats:
        """Return the standard deviations, and the margins' means: see `TTTState.snapshot`."""
        margin = self.margins.belief
        return np.concatenate([
            1.0 / np.sqrt(self.chains.belief[:, 0]), 1.0 / np.sqrt(margin[:, 0]),
            margin[:, 1] / margin[:, 0],
        ])  # fmt: skip


def ttt_d_state(
    records: Records, model: MarginModel, *, level: Floats, advantage: Floats
) -> TTTDState:
    """Return the state before the first sweep."""
    columns = 8 if model.draw_form == "between" else 12
    return TTTDState(
        records, model, graph_of(records), no_chains(records.nodes), no_chains(records.nodes),
        np.zeros((records.nodes, 2)), np.zeros((records.games, columns)), level.copy(),
        advantage.copy(),
    )  # fmt: skip


@kernel
def _gather(
    graph: Graph, message: Floats, skill: Floats, margin: Floats, variance: float, exact: bool
) -> None:
    for game in range(len(message)):
        i, j, drawn = graph.first[game], graph.second[game], graph.drawn[game]
        weight = graph.weight[game] if len(graph.weight) else 1.0
        to_i, to_j = (message[game, 0], message[game, 1]), (message[game, 2], message[game, 3])
        if drawn and not exact:
            to_i = both_factors(message, game, 0, variance)
            to_j = both_factors(message, game, 2, variance)
        for k in range(2):
            skill[i, k] += weight * to_i[k]
            skill[j, k] += weight * to_j[k]
            margin[j, k] += weight * message[game, 4 + k]
            if drawn:
                margin[i, k] += weight * message[game, (6 if exact else 10) + k]


@kernel
def _keep_positive(margin: Floats, message: Floats, begin: int, end: int) -> int:
    """Renew the messages that the margins of some nodes are positive."""
    skipped = 0
    for node in range(begin, end):
        pi, tau = margin[node, 0] - message[node, 0], margin[node, 1] - message[node, 1]
        if not pi > 0.0:
            skipped += 1
            continue
        new_pi, new_tau = positive(tau / pi, 1.0 / pi)
        margin[node, 0] = pi + new_pi
        margin[node, 1] = tau + new_tau
        message[node, 0] = new_pi
        message[node, 1] = new_tau
    return skipped


@kernel
def _forward(
    graph: Graph, chains: Chains, margins: Chains, above_zero: Floats, message: Floats, low: int,
    begin: int, end: int, numbers: tuple[float, float, float, float, float, float], level: Floats,
    advantage: Floats, exact: bool, notes: Notes | None,
) -> int:  # fmt: skip
    precision, drift, noise, margin_precision, margin_mean, margin_drift = numbers
    skipped = 0
    for period in range(begin, end):
        receive_past(graph, chains, period, low, precision, level[period], drift)
        receive_past(graph, margins, period, low, margin_precision, margin_mean, margin_drift)
        skipped += _keep_positive(
            margins.belief, above_zero, graph.node_start[period], graph.node_start[period + 1]
        )
        skipped += pass_own(
            graph, chains.belief, margins.belief, message, graph.game_start[period],
            graph.game_start[period + 1], 1, noise, advantage[period], exact, notes, period,
        )  # fmt: skip
    return skipped


@kernel
def _backward(
    graph: Graph, chains: Chains, margins: Chains, above_zero: Floats, message: Floats, begin: int,
    end: int, numbers: tuple[float, float, float], advantage: Floats, exact: bool,
    notes: Notes | None,
) -> int:  # fmt: skip
    drift, noise, margin_drift = numbers
    skipped = 0
    high = graph.node_start[end]
    for period in range(end - 1, begin - 1, -1):
        receive_future(graph, chains, period, high, drift)
        receive_future(graph, margins, period, high, margin_drift)
        skipped += pass_own(
            graph, chains.belief, margins.belief, message, graph.game_start[period + 1] - 1,
            graph.game_start[period] - 1, -1, noise, advantage[period], exact, notes, period,
        )  # fmt: skip
        skipped += _keep_positive(
            margins.belief, above_zero, graph.node_start[period], graph.node_start[period + 1]
        )
    return skipped
