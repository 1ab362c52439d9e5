"""Skill through time from games of teams: expectation propagation on the general graph.

The slower sibling of the two-player core: any number of sides, ties, teams and partial play.
A player's skill starts at N(mu, sigma²) and drifts by tau² per unit of time; all games at one time
see the same skill. Sweeps forward and backward through time repeat until the estimated distance to
the fixed point is below the tolerance (ttt_math.md, "Through time" and "Evidence").
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from milepost.errors import InputError, MilepostWarning
from milepost.history.beliefs import Lives, own_steps
from milepost.history.solver.convergence import sweep_news
from milepost.history.teams.anderson import Anderson
from milepost.history.teams.game import Game
from milepost.history.teams.graph import Built, Graph, build_graph, share_of_ties
from milepost.history.teams.rate import check_noise
from milepost.history.teams.sides import GAME_TOLERANCE, Floats
from milepost.history.teams.sweeps import State, free_energy, smooth, sweep_backward, sweep_forward
from milepost.io.progress import Report
from milepost.tables import CURVES


@dataclass(frozen=True)
class TeamHistory:
    """Every player's skill over time, from games of teams."""

    curves: pl.DataFrame
    """One row for each player and time with games: the columns of the curves table."""
    log_evidence: float
    """EP's evidence of all results; after the filter, the sum of its predictions."""
    converged: bool
    """Whether the fixed point was reached within the tolerance (the filter: one pass, always)."""
    sweeps: int
    """Sweeps made, forward and backward; 1 for the filter."""
    remaining_error: float
    """Estimated distance to the fixed point in rating points; 0 for the filter."""
    draw_probability: float
    """Probability of a tie between equal neighbours that the margins come from."""
    lives: Lives
    """What is known about each player at any moment."""


def fit_teams(
    games: Sequence[Game],
    *,
    mu: float = 1200.0,
    sigma: float = 400.0,
    beta: float = 480.0,
    tau: float = 60.0,
    draw: float | Literal["share"] = "share",
    period: str | float | None = None,
    stage: Literal["converged", "filter"] = "converged",
    tolerance: float = 1e-3,
    max_sweeps: int = 1000,
    progress: Report | None = None,
) -> TeamHistory:
    """Fit every player's skill over time to games of teams, with any number of ranked sides.

    Games of one period see one skill per player; at the fixed point their order does not matter.
    Between periods the skill drifts by a variance of tau² times the time elapsed: in the unit of
    the times if they are numbers, in years if they are dates. If no game has a time, each is a step
    of its own: a player's consecutive games are one unit apart, whatever games lie between, and
    times are numbered from 1.

    Parameters
    ----------
    games
        In any order.
    mu, sigma
        Mean and standard deviation of a newcomer's skill.
    beta
        Standard deviation of one performance.
    tau
        Drift per square root of a unit of time.
    draw
        Probability of a tie between equal neighbours, or "share": the share of tied neighbours.
    period
        "year", "month", "day", "game" or a length, as in `milepost.history.fit`; `None` = the
        times as they are.
    stage
        "converged", or "filter" for one pass forward: what was known right after each time.
    tolerance
        Largest estimated distance to the fixed point, in rating points.
    max_sweeps
        Sweeps after which to stop all the same, with a warning.
    progress
        Called after each sweep with a `milepost.history.Sweep`.

    Raises
    ------
    InputError
        If a parameter is out of its range, times are of different kinds, or sides tie at a draw
        probability of zero.

    Warns
    -----
    MilepostWarning
        If the fixed point was not reached.
    """
    if draw != "share" and not isinstance(draw, int | float):
        raise InputError(f'expected a probability or "share" as draw, got {draw!r}')
    probability = share_of_ties(games) if draw == "share" else float(draw)
    check_noise(beta, probability)
    if not (math.isfinite(mu) and math.isfinite(sigma) and sigma > 0.0):
        raise InputError(f"expected a finite mu and a positive sigma, got {mu} and {sigma}")
    if not (math.isfinite(tau) and tau >= 0.0):
        raise InputError(f"expected a tau of zero or more, got {tau}")
    if not max(abs(mu), sigma, beta, tau) < 1e100:
        raise InputError("expected parameters below 1e100, whose squares are finite floats")
    # A sweep adds about beta/sigma of itself to a precision: beyond this, rounding swallows it and
    # the sweeps would stop far from the fixed point without noticing.
    if sigma > 1e10 * beta:
        raise InputError(f"expected a sigma of at most 1e10 beta, got {sigma} and {beta}")
    if not tolerance > 0.0 or max_sweeps < 1:
        raise InputError(
            f"expected a positive tolerance and sweep limit: {tolerance}, {max_sweeps}"
        )
    if stage not in ("converged", "filter"):
        raise InputError(f'expected "converged" or "filter" as the stage, got {stage!r}')
    built = build_graph(
        games, mu=mu, beta=beta, tau=tau, draw_probability=probability, period=period
    )
    graph, nodes = built.graph, built.labels.height
    state = State(
        prior=np.array([sigma**-2, 0.0]),
        forward=np.zeros((nodes, 2)),
        backward=np.zeros((nodes, 2)),
        said=np.zeros((nodes, 2)),
        seats=np.zeros((graph.seat_node.size, 2)),
        sides=np.zeros((graph.side_centre.size, 4)),
    )
    beta2 = beta * beta
    log_evidence, worst = sweep_forward(graph, state, beta2)
    if stage == "filter":
        converged = worst <= GAME_TOLERANCE
        if not converged:
            _warn("a game", worst)
        curves = _curves(built.labels, *_moments(state), mu)
        lives = _lives(built, state, mu, tau)
        return TeamHistory(curves, log_evidence, converged, 1, 0.0, probability, lives)
    outcome = _converge(graph, state, beta2, tolerance, max_sweeps, progress)
    converged = outcome.remaining_error <= tolerance and outcome.within_games <= GAME_TOLERANCE
    if not converged:
        _warn(f"the history after {outcome.sweeps} sweeps", outcome.remaining_error)
    # The evidence plays every game once more; the curves are those before.
    curves = _curves(built.labels, *_moments(state), mu)
    lives = _lives(built, state, mu, tau)
    log_evidence = free_energy(graph, state, beta2)
    return TeamHistory(
        curves, log_evidence, converged, outcome.sweeps, outcome.remaining_error, probability, lives
    )


class _Outcome(NamedTuple):
    """How the sweeps ended."""

    sweeps: int
    remaining_error: float
    within_games: float
    """The worst last move within a game, in deviations of its sides."""


def _converge(
    graph: Graph,
    state: State,
    beta2: float,
    tolerance: float,
    max_sweeps: int,
    progress: Report | None,
) -> _Outcome:
    """Sweep and jump until the estimated distance to the fixed point is below the tolerance.

    The distance is estimated by the jump that Anderson's acceleration proposes after each sweep,
    and by what steps as fast as the last two would still add up to. The largest of both in the
    last two sweeps counts: one small estimate may be luck.
    """
    memory = Anderson()
    worst, step, estimate, remaining = 0.0, math.inf, math.inf, math.inf
    start = np.zeros_like(state.seats)
    before = _moments(state)
    for sweep in range(1, max_sweeps + 1):
        if sweep > 1:
            start = state.seats.copy()
            worst = sweep_forward(graph, state, beta2)[1]
        worst = max(worst, sweep_backward(graph, state, beta2))
        smooth(graph, state)
        after = _moments(state)
        last_step, step = step, _distance(before, after)
        if sweep > 1:
            _jump(graph, state, memory, start)
        before = _moments(state)
        last_estimate = estimate
        estimate = max(_distance(after, before), _still_to_come(step, last_step))
        remaining = max(estimate, last_estimate)
        if progress is not None:
            progress(sweep_news(sweep, remaining))
        if remaining <= tolerance:
            break
    return _Outcome(sweep, remaining, worst)


def _jump(graph: Graph, state: State, memory: Anderson, start: Floats) -> None:
    """Move the messages to where the sweeps lead.

    As logs of precisions and as means, so that none can become improper; messages too weak to
    matter, whose means are ill-defined, stay where the sweep left them.
    """
    belief = (state.forward + state.backward + state.said)[graph.seat_node, 0]
    weak = np.minimum(state.seats[:, 0], start[:, 0]) < 1e-9 * belief
    weight = np.where(weak, 0.0, state.seats[:, 0] / belief)
    # In the least squares a message weighs as much as it moves the belief, in deviations.
    scale = np.stack([weight, weight * np.sqrt(belief)])
    here = _unbounded(state.seats, weak)
    guess = memory.jump(_unbounded(start, weak).ravel(), here.ravel(), scale.ravel())
    jump = np.where(weak, 0.0, guess.reshape(here.shape) - here)
    if not bool(np.isfinite(jump).all()):
        return
    # A precision changes by no more than a factor exp(1.5) at once: the whole jump is shortened.
    longest = 1.5 / max(float(np.max(np.abs(jump[0]), initial=0.0)), 1.5)
    precision = state.seats[:, 0] * np.exp(longest * jump[0])
    moved = precision * (here[1] + longest * jump[1])
    state.seats[:, 0] = precision
    state.seats[:, 1] = np.where(weak, state.seats[:, 1], moved)
    smooth(graph, state)


def _unbounded(seats: Floats, weak: NDArray[np.bool_]) -> Floats:
    """Logs of the precisions, then the means."""
    precision = np.where(weak, 1.0, seats[:, 0])
    return np.stack([np.log(precision), np.where(weak, 0.0, seats[:, 1]) / precision])


def _moments(state: State) -> tuple[Floats, Floats]:
    """Return the means, less mu, and the standard deviations of all beliefs."""
    belief = state.forward + state.backward + state.said
    return belief[:, 1] / belief[:, 0], belief[:, 0] ** -0.5


def _distance(one: tuple[Floats, Floats], two: tuple[Floats, Floats]) -> float:
    return float(np.max(np.abs(np.subtract(one, two)), initial=0.0))


def _still_to_come(step: float, last_step: float) -> float:
    """What steps that shrink like the last two still add up to: step · r/(1 - r)."""
    if step == 0.0:
        return 0.0
    # Neither a lucky small ratio is believed nor one too close to 1 to be told from it.
    ratio = min(max(step / last_step, 0.3), 0.98) if last_step > 0.0 else 0.98
    return step * ratio / (1.0 - ratio)


def _warn(what: str, error: float) -> None:
    text = f"{what} did not converge: about {error:.3g} from the fixed point"
    warnings.warn(text, MilepostWarning, stacklevel=3)


def _curves(labels: pl.DataFrame, mean: Floats, sd: Floats, mu: float) -> pl.DataFrame:
    frame = labels.select(
        "player", "time", pl.Series("mean", mean + mu), pl.Series("sd", sd), "games"
    )
    return CURVES.conform(frame.sort("player", "time", maintain_order=True))


def _lives(built: Built, state: State, mu: float, tau: float) -> Lives:
    """What the messages say about each player's past and future, as `lives_of` has it."""
    past, future = state.forward + state.said, state.backward + state.said
    new = built.graph.previous < 0
    future[new] += state.forward[new]
    rows = built.labels.select("player", "clock").with_row_index("node").sort("player", "node")
    counts = rows.group_by("player", maintain_order=True).len()
    order = rows["node"].to_numpy()
    return Lives(
        names=counts["player"],
        start=np.concatenate([[0], counts["len"].cast(pl.Int64).cum_sum().to_numpy()]),
        clock=rows["clock"].to_numpy(),
        table=np.concatenate([past, future], axis=1)[order],
        offset=mu,
        drift=tau**2,
        steps=own_steps(counts["len"].to_numpy()) if built.by_game else None,
    )
