"""The common draw margin by maximum evidence.

The share of draws gives the margin under which equal sides would draw so often. Unequal sides draw
less, so that the share of all games understates it. Here the margin is moved to where the EP
evidence is largest: at the fixed point the evidence does not change, to first order, with the
messages (Minka 2001, section 4.4), so that its derivative by the margin is the sum of the games'
own, each seen from its cavities.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from milepost.history.models import TTT, Smoothed
from milepost.history.numerics.gaussians import log_below, log_draw
from milepost.history.records import Floats
from milepost.history.solver.convergence import Convergence, ConvergenceWarning, converge
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.from_model import learning_of
from milepost.history.ttt.graph import Graph
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.state import TTTState
from milepost.io.progress import Progress, Report
from milepost.kernels import kernel

ROUGH = 100.0
"""How much farther from the fixed point a history may be while its margin is still moving."""
ENOUGH = 1e-4
"""The margin is found when the next step is below this, in beta."""
NEAR = 1e-3
"""From such a step on, in beta, the history is brought to its own tolerance."""
MOST_STEPS = 30
"""Where the search for the margin is given up."""
_ROOT_2PI = math.sqrt(2.0 * math.pi)


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
                log_z = log_draw(t, e)
                near = math.exp(-0.5 * (e - t) ** 2 - log_z) / _ROOT_2PI
                far = math.exp(-0.5 * (e + t) ** 2 - log_z) / _ROOT_2PI
                first = near + far
                second = -(e - t) * near - (e + t) * far - first * first
            else:
                x = t - e
                first = -math.exp(-0.5 * x * x - log_below(x)) / _ROOT_2PI
                second = first * (x - first)
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
    """Bring a state to the fixed point of its model, and a margin that is learned to its place."""
    made = 0

    def sweep(tolerance: float) -> Convergence:
        nonlocal made
        before = made

        def tell(news: Progress) -> None:
            if progress is not None:
                progress(replace(news, done=before + news.done))

        ended = converge(
            state, tolerance=tolerance, max_sweeps=max(sweeping.max_sweeps - made, 1),
            learning=learning_of(model), progress=tell, workers=sweeping.workers,
        )  # fmt: skip
        made += ended.sweeps
        return replace(ended, sweeps=made)

    tolerance = sweeping.distance(model.beta)
    if isinstance(state, TTTState) and isinstance(model, TTT) and model.learns_margin:
        return converge_with_margin(state, sweep, tolerance)
    return sweep(tolerance)


def converge_with_margin(
    state: TTTState, sweep: Callable[[float], Convergence], tolerance: float
) -> Convergence:
    """Bring a history and its margin to where the evidence is largest.

    Parameters
    ----------
    state
        The messages, with the margin of the share of draws: the mean of a prior N(·, beta²), which
        keeps a handful of games from saying anything. Without draws, and with draws only, the
        margin stays as it is.
    sweep
        Brings the messages to within a distance of the fixed point of the present margin.
    tolerance
        That distance, in the end.

    Warns
    -----
    ConvergenceWarning
        If the margin did not settle, or the messages did not.
    """
    drawn = state.records.drawn
    if not drawn.any() or drawn.all():
        return sweep(tolerance)
    beta, last = state.model.beta, math.inf
    expected, prior = state.model.margin, state.model.beta**-2
    ended = sweep(ROUGH * tolerance)
    for _ in range(MOST_STEPS):
        slope, curvature = margin_slopes(state)
        if not (ended.converged and curvature < 0.0):
            return replace(ended, converged=False)
        margin = state.model.margin
        slope, curvature = slope - prior * (margin - expected), curvature - prior
        # The skills follow the margin, which this step does not know: it is a little too short or
        # too long, and repeated. It never leaves the positive numbers, nor more than doubles.
        found = min(max(margin - slope / curvature, 0.5 * margin), 2.0 * margin)
        step = abs(found - margin)
        state.model = replace(state.model, margin=found)
        near = step <= NEAR * beta
        ended = sweep(tolerance if near else ROUGH * tolerance)
        if step <= ENOUGH * beta or (near and step >= last):
            return ended
        last = step
    warnings.warn(
        f"the draw margin did not settle: after {ended.sweeps} sweeps it still moves by "
        f"{last:.3g} points",
        ConvergenceWarning,
        stacklevel=5,
    )
    return replace(ended, converged=False)
