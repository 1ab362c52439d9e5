"""Predicting results from what came before only: the filter's evidence, and period by period.

The EP evidence of a whole history says how well the model explains it. How well the model predicts
is another question, and here every game is predicted by beliefs that have not seen it or anything
after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr

from milepost.errors import InputError
from milepost.history.numerics.gaussians import log_below, log_draw
from milepost.history.numerics.orthant import quadrant
from milepost.history.prediction.newcomers import Company, Follower
from milepost.history.records import Floats, Records
from milepost.history.ttt.draw_factors import between_derivatives, greater_log_z
from milepost.history.ttt.graph import Graph
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.own_passes import both_factors
from milepost.history.ttt.state import TTTState
from milepost.io.progress import Progress, Report
from milepost.kernels import kernel


@kernel
def _one_margin(
    graph: Graph, skill: Floats, begin: int, end: int, margin: float, noise: float,
    advantage: float, out: Floats,
) -> None:  # fmt: skip
    first, second, drawn, mover = graph.first, graph.second, graph.drawn, graph.mover
    for game in range(begin, end):
        i, j = first[game], second[game]
        c = math.sqrt(1.0 / skill[i, 0] + 1.0 / skill[j, 0] + noise)
        apart = skill[i, 1] / skill[i, 0] - skill[j, 1] / skill[j, 0] + advantage * mover[game]
        t = apart / c
        out[game] = log_draw(t, margin / c) if drawn[game] else log_below(t - margin / c)


@kernel
def _own_margins(
    graph: Graph, skill: Floats, margin: Floats, begin: int, end: int, noise: float,
    advantage: float, out: Floats,
) -> None:  # fmt: skip
    first, second, drawn, mover = graph.first, graph.second, graph.drawn, graph.mover
    for game in range(begin, end):
        i, j = first[game], second[game]
        v_i, v_j = 1.0 / skill[i, 0], 1.0 / skill[j, 0]
        lead = advantage * mover[game]
        e_i, e_j = 1.0 / margin[i, 0], 1.0 / margin[j, 0]
        if drawn[game]:
            out[game] = between_derivatives(
                skill[i, 1] * v_i - skill[j, 1] * v_j + lead, v_i + v_j + noise,
                margin[i, 1] * e_i, e_i, margin[j, 1] * e_j, e_j,
            )[0]  # fmt: skip
        else:
            out[game] = greater_log_z(
                skill[i, 1] * v_i, v_i, skill[j, 1] * v_j, v_j, margin[j, 1] * e_j, e_j, lead,
                noise, 1.0, -1.0,
            )  # fmt: skip


@kernel
def _draws(
    apart: Floats, cc: Floats, margin_1: Floats, variance_1: Floats, margin_2: Floats,
    variance_2: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the exact chance that neither leads by more than the other's margin."""
    for game in range(len(apart)):
        s_1, s_2 = math.sqrt(cc[game] + variance_1[game]), math.sqrt(cc[game] + variance_2[game])
        out[game], _ = quadrant(
            (margin_2[game] - apart[game]) / s_2, (margin_1[game] + apart[game]) / s_1,
            -cc[game] / (s_1 * s_2),
        )  # fmt: skip


def _log_probabilities(
    state: TTTState | TTTDState, skill: Floats, margin: Floats | None, period: int, out: Floats
) -> None:
    graph = state.graph
    begin, end = int(graph.game_start[period]), int(graph.game_start[period + 1])
    noise = 2.0 * state.model.beta**2
    lead = float(state.advantage[period])
    if margin is None:
        _one_margin(graph, skill, begin, end, state.model.margin, noise, lead, out)
    else:
        _own_margins(graph, skill, margin, begin, end, noise, lead, out)


@dataclass(frozen=True)
class Forecast:
    """What was known before each period of its games, in the order of the records.

    Player 1 is the results table's player_1, whoever won.
    """

    win: Floats
    """Probability that player 1 wins."""
    draw: Floats
    """Probability of a draw."""
    loss: Floats
    """Probability that player 2 wins; the three sum to 1."""
    mean_1: Floats
    """Mean of player 1's skill, counted from mu."""
    sd_1: Floats
    """Its standard deviation, drift included."""
    mean_2: Floats
    """Mean of player 2's skill, counted from mu."""
    sd_2: Floats
    """Its standard deviation, drift included."""
    margin_1: Floats
    """Mean of player 1's own draw margin; the common margin where there is but one."""
    margin_2: Floats
    """Mean of player 2's own draw margin."""


def predict_forward(
    state: TTTState | TTTDState, *, window: int = 0, rounds: int = 1, start: int = 0
) -> Floats:
    """Go through a fresh history once, each period predicted by what came before it only.

    Parameters
    ----------
    state
        The state before its first sweep; changed in place.
    window
        After each period, the last `window` periods are swept back and forth again, so that the
        past is smoothed (but never by the future). 0 = the filter alone.
    rounds
        How many such sweeps after each period.
    start
        From which period on to smooth; before it the filter is enough.

    Returns
    -------
    numpy.ndarray
        The log probability of each game's result, in the order of the records.

    Raises
    ------
    InputError
        If the window is negative.
    """
    out = np.empty(state.records.games)
    margins = state.margins if isinstance(state, TTTDState) else None

    def keep(period: int) -> None:
        # The forward messages are what was known before the period's first game.
        before = None if margins is None else margins.forward
        _log_probabilities(state, state.chains.forward, before, period, out)

    _go_forward(state, window, rounds, start, keep)
    return out


def forecast(
    state: TTTState | TTTDState, *, window: int = 0, rounds: int = 1, start: int = 0,
    company: Company | None = None, told: Floats | None = None,
    progress: Report | None = None,
) -> Forecast:  # fmt: skip
    """Go through a fresh history as `predict_forward` does; return chances and beliefs.

    Parameters
    ----------
    state, window, rounds, start
        See `predict_forward`.
    company
        What a newcomer's first opponents say, once the first period is over; `None` = nothing.
    told
        For each node, what is known from outside before the period's games: precision, and
        precision times mean (counted from mu); zeros = nothing. Predictions use it.
    progress
        Called after each period with the periods done.

    Raises
    ------
    InputError
        If the window is negative, or `told` is not of the right shape.
    """
    records = state.records
    outside = np.zeros((records.nodes, 2)) if told is None else told
    if outside.shape != (records.nodes, 2) or not np.all(outside[:, 0] >= 0.0):
        raise InputError("expected a precision of zero or more and a product for each node")
    follower = None if company is None else Follower(state, company)
    margins = state.margins if isinstance(state, TTTDState) else None
    skill = np.empty((records.nodes, 2))
    margin = np.empty((records.nodes, 2))

    def prepare(period: int) -> None:
        nodes = _nodes_of(records, period)
        state.chains.belief[nodes] += outside[nodes]
        if follower is not None:
            follower.before(period, outside[nodes, 0] > 0.0)

    def keep(period: int) -> None:
        nodes = _nodes_of(records, period)
        skill[nodes] = state.chains.forward[nodes] + outside[nodes]
        if margins is not None:
            margin[nodes] = margins.forward[nodes]

    def finish(period: int) -> None:
        if follower is not None:
            follower.after(period)
        if progress is not None:
            progress(Progress(period + 1, len(records.clock)))

    _go_forward(state, window, rounds, start, keep, prepare, finish)
    return _forecast_of(state, skill, None if margins is None else margin)


def _nodes_of(records: Records, period: int) -> slice:
    return slice(int(records.node_start[period]), int(records.node_start[period + 1]))


def _nothing(_: int) -> None:
    """Do nothing at a period."""


def _go_forward(
    state: TTTState | TTTDState, window: int, rounds: int, start: int,
    keep: Callable[[int], None], prepare: Callable[[int], None] = _nothing,
    finish: Callable[[int], None] = _nothing,
) -> None:  # fmt: skip
    """Visit the periods in order; `keep` is called when a period's forward messages are new."""
    if window < 0:
        raise InputError(f"expected a window of zero or more periods, got {window}")
    for period in range(state.records.periods):
        prepare(period)
        state.forward(period, period + 1, since=0)
        keep(period)
        if window and period >= start:
            begin = max(0, period + 1 - window)
            for _ in range(rounds):
                state.backward(begin, period + 1)
                state.forward(begin, period + 1)
        finish(period)


def _forecast_of(state: TTTState | TTTDState, skill: Floats, margin: Floats | None) -> Forecast:
    records, noise = state.records, 2.0 * state.model.beta**2
    one = np.where(records.swapped, records.second, records.first)
    two = np.where(records.swapped, records.first, records.second)
    mean, variance = skill[:, 1] / skill[:, 0], 1.0 / skill[:, 0]
    if margin is None:
        margin_mean, margin_variance = np.full(len(skill), state.model.margin), np.zeros(len(skill))
    else:
        margin_mean, margin_variance = margin[:, 1] / margin[:, 0], 1.0 / margin[:, 0]
    period = np.repeat(np.arange(records.periods), np.diff(records.game_start))
    sign = np.where(records.swapped, -1.0, 1.0) * records.mover
    apart = mean[one] - mean[two] + sign * state.advantage[period]
    cc = variance[one] + variance[two] + noise
    win = ndtr((apart - margin_mean[two]) / np.sqrt(cc + margin_variance[two]))
    loss = ndtr((-apart - margin_mean[one]) / np.sqrt(cc + margin_variance[one]))
    draw = np.maximum(1.0 - win - loss, 0.0)
    if margin is not None:
        _draws(
            apart, cc, margin_mean[one], margin_variance[one], margin_mean[two],
            margin_variance[two], draw,
        )  # fmt: skip
    # A Gaussian margin may be negative, and then both could win: what is left is shared out.
    total = win + draw + loss
    return Forecast(
        win / total, draw / total, loss / total, mean[one], np.sqrt(variance[one]), mean[two],
        np.sqrt(variance[two]), margin_mean[one], margin_mean[two],
    )  # fmt: skip


def filter_log_evidence(state: TTTState | TTTDState) -> float:
    """Return the sum of the filter's predictions, each game given all games before it.

    `state` is one that went forward once and not back; what was known before each game is the
    forward message and the messages of the games before it.
    """
    graph, model = state.graph, state.model
    noise = 2.0 * model.beta**2
    out = np.empty(state.records.games)
    skill = state.chains.forward.copy()
    if isinstance(state, TTTDState):
        margin = state.margins.forward + state.positive
        _own_margins_in_order(
            graph, skill, margin, state.message, noise, state.advantage, state.exact, out
        )
    else:
        _one_margin_in_order(graph, skill, state.message, model.margin, noise, state.advantage, out)
    weight = state.records.weight
    return float(out @ weight) if len(weight) else math.fsum(out)


@kernel
def _add(known: Floats, node: int, weight: float, pi: float, tau: float) -> None:
    known[node, 0] += weight * pi
    known[node, 1] += weight * tau


@kernel
def _one_margin_in_order(
    graph: Graph, skill: Floats, message: Floats, margin: float, noise: float, advantage: Floats,
    out: Floats,
) -> None:  # fmt: skip
    for period in range(len(graph.game_start) - 1):
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            _one_margin(graph, skill, game, game + 1, margin, noise, advantage[period], out)
            weight = graph.weight[game] if len(graph.weight) else 1.0
            _add(skill, graph.first[game], weight, message[game, 0], message[game, 1])
            _add(skill, graph.second[game], weight, message[game, 2], message[game, 3])


@kernel
def _own_margins_in_order(
    graph: Graph, skill: Floats, margin: Floats, message: Floats, noise: float, advantage: Floats,
    exact: bool, out: Floats,
) -> None:  # fmt: skip
    for period in range(len(graph.game_start) - 1):
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = graph.first[game], graph.second[game]
            _own_margins(graph, skill, margin, game, game + 1, noise, advantage[period], out)
            weight = graph.weight[game] if len(graph.weight) else 1.0
            if graph.drawn[game] and not exact:
                pi, tau = both_factors(message, game, 0, 0.5 * noise)
                _add(skill, i, weight, pi, tau)
                pi, tau = both_factors(message, game, 2, 0.5 * noise)
                _add(skill, j, weight, pi, tau)
                _add(margin, i, weight, message[game, 10], message[game, 11])
            else:
                _add(skill, i, weight, message[game, 0], message[game, 1])
                _add(skill, j, weight, message[game, 2], message[game, 3])
                if graph.drawn[game]:
                    _add(margin, i, weight, message[game, 6], message[game, 7])
            _add(margin, j, weight, message[game, 4], message[game, 5])


def log_loss_by_period(records: Records, log_probability: Floats) -> pl.DataFrame:
    """Return games and mean log-loss of each period, from what `predict_forward` returned."""
    starts = records.game_start[:-1]
    weight = records.weight if len(records.weight) else np.ones(records.games)
    sums = np.add.reduceat(log_probability * weight, starts)
    weights = np.add.reduceat(weight, starts)
    return pl.DataFrame({
        "time": records.label,
        "games": np.diff(records.game_start),
        "log_loss": -sums / weights,
    })  # fmt: skip
