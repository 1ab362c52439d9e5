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
from milepost.history.ttt.draw_factors import (
    between,
    between_derivatives,
    greater,
    greater_slope,
    positive,
    through_noise,
)
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
from milepost.history.ttt.passes import visits
from milepost.history.ttt.state import SkillModel
from milepost.history.ttt.told import Told, hold_still, pass_on
from milepost.kernels import inner_kernel, kernel


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
        graph = self.graph
        low, high = int(graph.node_start[begin]), int(graph.node_start[end])
        shift_chains(self.chains, by, low, high)
        hold_still(self.told, self.chains.belief, by, low, high)
        _shift_messages(
            graph.first, graph.second, self.message, by, int(graph.game_start[begin]),
            int(graph.game_start[end]),
        )  # fmt: skip

    def linearise(self, begin: int, end: int, means: Floats, curvature: Floats, sums: Sums) -> None:
        """Write each game's Gaussian stand-in: see `milepost.history.solver.newton`."""
        _linearise(
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


@inner_kernel
def _cavity(
    belief: Floats, node: int, message: Floats, game: int, column: int, own: float
) -> tuple[float, float]:
    pi = belief[node, 0] - own * message[game, column]
    tau = belief[node, 1] - own * message[game, column + 1]
    return tau / pi, 1.0 / pi


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
def _note(
    notes: Notes, game: int, i: int, j: int, period: int, stiff: float, force: float, mover: int
) -> None:
    sums = notes.sums
    notes.curvature[game] = stiff
    sums.degree[i] += stiff
    sums.degree[j] += stiff
    sums.pull[i] += force
    sums.pull[j] -= force
    if mover:
        sums.lead_degree[period] += stiff
        sums.lead_pull[period] += force * mover


@kernel
def _pass(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, begin: int, end: int, step: int,
    noise: float, advantage: float, exact: bool, notes: Notes | None, period: int,
) -> int:  # fmt: skip
    """Visit the games from `begin` to before `end`; return how many cavities were improper.

    They are all of one period. Their stand-ins are added to `notes`.
    """
    skipped = 0
    first, second, drawns, movers = graph.first, graph.second, graph.drawn, graph.mover
    weights = graph.weight
    for game in range(begin, end, step):
        i, j, drawn = first[game], second[game], drawns[game]
        weight = weights[game] if len(weights) else 1.0
        own = min(weight, 1.0)
        lead = advantage * movers[game]
        if notes is not None:
            notes.curvature[game] = 0.0
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
                messages, (g1, g2) = between(
                    m_i, v_i, m_j, v_j, m_ei, v_ei, m_ej, v_ej, lead, noise
                )
                pi_i, tau_i, pi_j, tau_j, pi_ej, tau_ej, pi_ei, tau_ei = messages
                _replace(margin, i, message, game, 6, weight, own, pi_ei, tau_ei)
            else:
                few, (g1, g2) = greater(m_i, v_i, m_j, v_j, m_ej, v_ej, lead, noise, 1.0, -1.0)
                pi_i, tau_i, pi_j, tau_j, pi_ej, tau_ej = few
            if notes is not None:
                g2 = max(g2, 0.0)
                left = 1.0 / (1.0 - g2 * (v_i + v_j))
                stiff, force = g2 * left, (g2 * (m_i - m_j) + g1) * left
                _note(notes, game, i, j, period, stiff, force, movers[game])
            _replace(skill, i, message, game, 0, weight, own, pi_i, tau_i)
            _replace(skill, j, message, game, 2, weight, own, pi_j, tau_j)
            _replace(margin, j, message, game, 4, weight, own, pi_ej, tau_ej)
    return skipped


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
        skipped += _pass(
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
        skipped += _pass(
            graph, chains.belief, margins.belief, message, graph.game_start[period + 1] - 1,
            graph.game_start[period] - 1, -1, noise, advantage[period], exact, notes, period,
        )  # fmt: skip
        skipped += _keep_positive(
            margins.belief, above_zero, graph.node_start[period], graph.node_start[period + 1]
        )
    return skipped


@kernel
def _shift_messages(
    first: Indices, second: Indices, message: Floats, by: Floats, begin: int, end: int
) -> None:
    two_factors = message.shape[1] > 8
    for place in range(begin, end):
        game = np.uint64(place)
        message[game, 1] += message[game, 0] * by[first[game]]
        message[game, 3] += message[game, 2] * by[second[game]]
        if two_factors:
            message[game, 7] += message[game, 6] * by[first[game]]
            message[game, 9] += message[game, 8] * by[second[game]]


@kernel
def _linearise(
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
