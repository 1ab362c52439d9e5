"""What the streaming baselines share: games of two players as arrays, and outcomes by a logistic.

Elo and Glicko-2 predict an expected score, never a draw. To compare them with models that do, a
margin is fitted beside them (Rao and Kupper 1967): with x the difference in rating plus the
first mover's advantage,

    P(win)  = 1 / (1 + 10^(-(x - margin)/scale)),
    P(loss) = 1 / (1 + 10^( (x + margin)/scale)),
    P(draw) = 1 - P(win) - P(loss).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from milepost.errors import InputError, MilepostWarning

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Stream(NamedTuple):
    """Games of two players in the order given, checked."""

    one: Indices
    """Number of the first player of each game."""
    two: Indices
    """Number of the second player."""
    score: Floats
    """1, 0.5 or 0: the first player's score."""
    players: int
    """How many players there are, numbered from 0."""


def checked_stream(
    player_1: ArrayLike, player_2: ArrayLike, scores: ArrayLike, players: int | None
) -> Stream:
    """Return the games as arrays of one length, or say what is wrong with them.

    Raises
    ------
    InputError
        If lengths differ, a player's number is not whole, negative or not below `players`, a
        player meets himself or herself, or a score is none of 1, 0.5 and 0.
    """
    one, two = _whole(player_1, "player_1"), _whole(player_2, "player_2")
    score = np.asarray(scores, dtype=np.float64)
    if not (one.shape == two.shape == score.shape and one.ndim == 1):
        raise InputError(
            "expected player_1, player_2 and scores as arrays of one length, got shapes "
            f"{one.shape}, {two.shape}, {score.shape}"
        )
    both = np.concatenate([one, two])
    found = int(both.max(initial=-1)) + 1
    count = found if players is None else players
    if both.min(initial=0) < 0 or found > count:
        raise InputError(f"expected players' numbers from 0 up to {count - 1}")
    if np.any(one == two):
        raise InputError("expected two different players in every game")
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise InputError("expected the scores 1, 0.5 and 0 only")
    return Stream(one, two, score, count)


def checked_periods(periods: ArrayLike, games: int) -> Floats:
    """Return the games' periods as numbers that never decrease.

    Raises
    ------
    InputError
        If there is not one for each game, or one is below the one before it or not finite.
    """
    values = np.asarray(periods, dtype=np.float64)
    if values.shape != (games,):
        raise InputError(f"expected a period for each of {games} games, got shape {values.shape}")
    if not np.isfinite(values).all() or np.any(np.diff(values) < 0.0):
        raise InputError("expected finite periods that never decrease from game to game")
    return values


def positive(**values: float) -> None:
    """Refuse parameters that are not positive and finite, by their names.

    Raises
    ------
    InputError
    """
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"expected a positive {name}, got {value}")


def logistic_outcomes(
    difference: ArrayLike, *, margin: float, advantage: ArrayLike = 0.0, scale: float = 400.0
) -> Floats:
    """Return the probabilities of a win, a draw and a loss of the first player.

    Parameters
    ----------
    difference
        First player's rating less the second's.
    margin
        The margin, in rating points: zero or more.
    advantage
        What moving first is worth, in rating points: one number, or one for each game (negative
        where the second player moved first).
    scale
        Points that multiply the odds by ten.

    Returns
    -------
    array
        A row (win, draw, loss) for each difference.
    """
    positive(scale=scale)
    if not (math.isfinite(margin) and margin >= 0.0):
        raise InputError(f"expected a margin of zero or more, got {margin}")
    points = math.log(10.0) / scale
    u = (np.asarray(difference, dtype=np.float64) + np.asarray(advantage)) * points
    logs = _log_outcomes(np.atleast_1d(u), margin * points)
    return np.asarray(np.exp(np.stack(logs, axis=-1)))


@dataclass(frozen=True)
class FittedMargin:
    """How rating differences turn into wins, draws and losses, fitted to games."""

    margin: float
    """The margin, in rating points."""
    advantage: float
    """What moving first is worth, in rating points."""
    slope: float
    """What a point of difference is worth, in points of the scale; 1 if it was not fitted."""
    log_loss: float
    """Mean negative log-likelihood of the games it was fitted to, in nats."""
    converged: bool
    """Whether the fit reached its optimum."""


def fit_logistic_margin(
    difference: ArrayLike,
    scores: ArrayLike,
    *,
    mover: ArrayLike = 1.0,
    scale: float = 400.0,
    fit_slope: bool = False,
) -> FittedMargin:
    """Fit the margin and the first mover's advantage by maximum likelihood.

    The likelihood is log-concave in all parameters, so the optimum is the only one. Fit on games
    earlier than those to be predicted.

    Parameters
    ----------
    difference, scores
        First player's rating less the second's, and the first player's score, for each game.
    mover
        1 where the first player moved first, -1 where the second did, 0 where nobody did.
    scale
        Points that multiply the odds by ten.
    fit_slope
        Whether differences are stretched by a factor fitted too.

    Raises
    ------
    InputError
        If there is no game, shapes differ, or a score is none of 1, 0.5 and 0.

    Warns
    -----
    MilepostWarning
        If the optimum was not reached, as where all games of a kind have one outcome.
    """
    positive(scale=scale)
    points = math.log(10.0) / scale
    u = np.asarray(difference, dtype=np.float64) * points
    score = np.asarray(scores, dtype=np.float64)
    first = np.broadcast_to(np.asarray(mover, dtype=np.float64), u.shape)
    if u.ndim != 1 or u.shape != score.shape or u.size == 0 or not np.isfinite(u).all():
        raise InputError("expected a finite difference and a score for each of at least one game")
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise InputError("expected the scores 1, 0.5 and 0 only")
    outcome = np.where(score == 1.0, 0, np.where(score == 0.5, 1, 2))

    def loss(x: Floats) -> tuple[float, Floats]:
        margin, advantage, slope = x
        logs = _log_outcomes(slope * u + advantage * first, margin)
        win, draw, lose = (np.exp(log) for log in logs)
        # Derivatives of the three logs by u and by the margin: win 1-W, W-1; loss L-1, L-1;
        # draw L-W, coth(margin)-D.
        by_u = np.choose(outcome, [1.0 - win, lose - win, lose - 1.0])
        by_margin = np.choose(outcome, [win - 1.0, 1.0 / math.tanh(margin) - draw, lose - 1.0])
        value = -float(np.choose(outcome, logs).mean())
        slopes = [by_margin.mean(), (by_u * first).mean(), (by_u * u).mean()]
        return value, -np.array(slopes)

    bounds = [(1e-9, 50.0), (-50.0, 50.0), (None, None) if fit_slope else (1.0, 1.0)]
    start = np.array([max(float((score == 0.5).mean()), 1e-3), 0.0, 1.0])
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12)
    if not found.success:
        warnings.warn(f"the margin's fit stopped: {found.message}", MilepostWarning, stacklevel=2)
    margin, advantage, slope = (float(value) for value in found.x)
    return FittedMargin(
        margin / points, advantage / points, slope, float(found.fun), bool(found.success)
    )


def _log_outcomes(u: Floats, margin: float) -> tuple[Floats, Floats, Floats]:
    """Logs of win, draw and loss; the draw as sinh m / (cosh u + cosh m), never a difference."""
    win = -np.logaddexp(0.0, margin - u)
    lose = -np.logaddexp(0.0, margin + u)
    # log sinh m = m + log(1 - exp(-2 m)) - log 2; the last term cancels with the cosh's.
    top = margin + math.log(-math.expm1(-2.0 * margin)) if margin > 0.0 else -math.inf
    bottom = np.logaddexp(np.logaddexp(u, -u), float(np.logaddexp(margin, -margin)))
    return win, top - bottom, lose


def _whole(values: ArrayLike, name: str) -> Indices:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"expected whole numbers as {name}, got {array.dtype}")
    return array.astype(np.int64)
