"""The common draw margin by maximum evidence.

The share of draws gives the margin under which equal sides would draw so often. Unequal sides draw
less, so that the share of all games understates it. Here the margin is moved to where the EP
evidence is largest: at the fixed point the evidence does not change, to first order, with the
messages (Minka 2001, section 4.4), so that its derivative by the margin is the sum of the games'
own, each seen from its cavities.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from milepost.history.models import TTT, Smoothed
from milepost.history.numerics.gaussians import draw_slopes, win_moments
from milepost.history.records import Floats
from milepost.history.solver.convergence import Adjust, Convergence, converge
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.from_model import learning_of
from milepost.history.ttt.graph import Graph
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.state import TTTState
from milepost.io.progress import Report
from milepost.kernels import kernel


@kernel
def _slopes(
    graph: Graph, belief: Floats, message: Floats, margin: float, noise: float, advantage: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Add up first and second derivatives of the games' log normalisers by the margin."""
    for period in range(len(graph.game_start) - 1):
        lead = advantage[period]
        for game in range(graph.game_start[period], graph.game_start[period + 1]):
            i, j = graph.first[game], graph.second[game]
            pi_1, pi_2 = belief[i, 0] - message[game, 0], belief[j, 0] - message[game, 2]
            if pi_1 <= 0.0 or pi_2 <= 0.0:
                continue
            apart = (belief[i, 1] - message[game, 1]) / pi_1
            apart += lead * graph.mover[game] - (belief[j, 1] - message[game, 3]) / pi_2
            c = math.sqrt(1.0 / pi_1 + 1.0 / pi_2 + noise)
            t, e = apart / c, margin / c
            weight = graph.weight[game] if len(graph.weight) else 1.0
            if graph.drawn[game]:
                first, second = draw_slopes(t, e)
            else:
                v, w = win_moments(t - e)
                first, second = -v, -w
            out[0] += weight * first / c
            out[1] += weight * second / c**2


def margin_slopes(state: TTTState) -> tuple[float, float]:
    """Return the evidence's first derivative by the margin, and the games' own second one."""
    out = np.zeros(2)
    model = state.model
    _slopes(
        state.graph, state.chains.belief, state.message, model.margin, 2.0 * model.beta**2,
        state.advantage, out,
    )  # fmt: skip
    return float(out[0]), float(out[1])


def converge_model(
    state: TTTState | TTTDState, model: Smoothed, sweeping: Sweeping, progress: Report | None = None
) -> Convergence:
    """Bring a state to the fixed point of its model, and a margin that is learned to its place.

    Warns
    -----
    ConvergenceWarning
        If the messages, or the margin, did not settle.
    """
    adjust = None
    if isinstance(state, TTTState) and isinstance(model, TTT) and model.learns_margin:
        adjust = moving_margin(state)
    return converge(
        state, tolerance=sweeping.distance(model.beta), max_sweeps=sweeping.max_sweeps,
        learning=learning_of(model), progress=progress, workers=sweeping.workers, adjust=adjust,
    )  # fmt: skip


def moving_margin(state: TTTState) -> Adjust | None:
    """Return what moves the margin to where the evidence is largest, one step a call.

    The margin of the share of draws, which the state has, is the mean of a prior N(·, beta²) that
    keeps a handful of games from saying anything. Without draws, and with draws only, the margin
    stays as it is: `None`.
    """
    drawn = state.records.drawn
    if not drawn.any() or drawn.all():
        return None
    expected, prior = state.model.margin, state.model.beta**-2

    def move() -> float:
        margin = state.model.margin
        slope, curvature = margin_slopes(state)
        slope, curvature = slope - prior * (margin - expected), curvature - prior
        if not curvature < 0.0:
            return math.inf
        # The skills follow the margin, which this step does not know: it is a little too short or
        # too long, and repeated. It never leaves the positive numbers, nor more than doubles.
        found = min(max(margin - slope / curvature, 0.5 * margin), 2.0 * margin)
        state.model = replace(state.model, margin=found)
        return abs(found - margin)

    return move
