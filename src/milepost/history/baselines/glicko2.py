"""Glicko-2 by rating periods (Glickman, "Example of the Glicko-2 system", 2013), as a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from milepost.errors import InputError
from milepost.history.baselines.streams import (
    Floats,
    Indices,
    checked_periods,
    checked_stream,
    positive,
)
from milepost.kernels import kernel

_SCALE = 400.0 / math.log(10.0)
"""Points in one unit of the internal scale: the paper's 173.7178."""


@dataclass(frozen=True)
class Glicko2Run:
    """Ratings at the start of every game's period, and after the last period with games."""

    rating_1: Floats
    """The first player's rating when the game's period began."""
    deviation_1: Floats
    """Its rating deviation then, grown over the periods without games."""
    rating_2: Floats
    """The second player's rating when the game's period began."""
    deviation_2: Floats
    """Its rating deviation then."""
    difference: Floats
    """The first rating less the second, shrunk by g of both deviations: for `logistic_outcomes`."""
    expected: Floats
    """The first player's expected score, from that difference."""
    ratings: Floats
    """Every player's rating after his or her last period with games."""
    deviations: Floats
    """Every player's rating deviation then."""
    volatilities: Floats
    """Every player's volatility then."""
    games: Indices
    """How many games every player has."""


def run_glicko2(
    player_1: ArrayLike,
    player_2: ArrayLike,
    scores: ArrayLike,
    periods: ArrayLike,
    *,
    players: int | None = None,
    rating: ArrayLike = 1500.0,
    deviation: ArrayLike = 350.0,
    volatility: ArrayLike = 0.06,
    tau: float = 0.5,
) -> Glicko2Run:
    """Rate games of two players, all games of a rating period at once.

    Within a period everyone is judged by the ratings at its start. A player without games keeps
    rating and volatility, and the deviation grows by the volatility each period (step 6 of the
    paper). For the probabilities of win, draw and loss fit a margin to earlier games
    (`fit_logistic_margin`) and give the differences to `logistic_outcomes`; they hold Glickman's
    g(√(RD₁² + RD₂²)), by which an uncertain difference predicts less.

    Parameters
    ----------
    player_1, player_2
        Players' numbers, from 0.
    scores
        The first player's scores: 1, 0.5 or 0.
    periods
        The number of each game's rating period: whole, never decreasing. Gaps are idle periods.
    players
        How many players there are; by default as many as the games name.
    rating, deviation, volatility
        A newcomer's, or one for every player.
    tau
        The constant that holds volatility back: 0.3 to 1.2, by the paper.

    Returns
    -------
    Glicko2Run

    Raises
    ------
    InputError
        If the arrays do not fit together, or a parameter is out of its range.
    """
    from scipy.special import expit  # without overflow, however far apart two players are

    stream = checked_stream(player_1, player_2, scores, players)
    clock = checked_periods(periods, stream.score.size)
    if np.any(clock != np.round(clock)):
        raise InputError("expected whole numbers as rating periods")
    positive(tau=tau)
    state = np.empty((stream.players, 3))
    start = ((rating, "rating"), (deviation, "deviation"), (volatility, "volatility"))
    for column, (value, name) in enumerate(start):
        given = np.asarray(value, dtype=np.float64)
        if given.shape not in ((), (stream.players,)) or not np.isfinite(given).all():
            raise InputError(f"expected a finite {name}, or one for each player")
        if column and np.any(given <= 0.0):
            raise InputError(f"expected a positive {name}")
        state[:, column] = given
    state[:, 0] = (state[:, 0] - 1500.0) / _SCALE
    state[:, 1] /= _SCALE
    games = np.zeros(stream.players, dtype=np.int64)
    before = np.empty((stream.score.size, 5))
    _run(stream.one, stream.two, stream.score, clock, state, games, before, tau)
    return Glicko2Run(
        rating_1=1500.0 + _SCALE * before[:, 0],
        deviation_1=_SCALE * before[:, 1],
        rating_2=1500.0 + _SCALE * before[:, 2],
        deviation_2=_SCALE * before[:, 3],
        difference=_SCALE * before[:, 4],
        expected=expit(before[:, 4]),
        ratings=1500.0 + _SCALE * state[:, 0],
        deviations=_SCALE * state[:, 1],
        volatilities=state[:, 2],
        games=games,
    )


@kernel
def _g(phi2: float) -> float:
    """The paper's g, of a squared deviation: how much an uncertain opponent counts."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi2 / (math.pi * math.pi))


@kernel
def _pull(x: float, delta2: float, spread: float, a: float, tau: float) -> float:
    """The paper's f(x) of step 5, where spread is phi² + v."""
    e = math.exp(x)
    return e * (delta2 - spread - e) / (2.0 * (spread + e) ** 2) - (x - a) / (tau * tau)


@kernel
def _new_volatility(sigma: float, delta2: float, spread: float, tau: float) -> float:
    """Step 5 of the paper: the zero of f by the Illinois variant of regula falsi."""
    a = math.log(sigma * sigma)
    low = a
    if delta2 > spread:
        high = math.log(delta2 - spread)
    else:
        high = a - tau
        while _pull(high, delta2, spread, a, tau) < 0.0:
            high -= tau
    f_low = _pull(low, delta2, spread, a, tau)
    f_high = _pull(high, delta2, spread, a, tau)
    # The paper stops at 1e-6; 1e-12 costs two more steps. The bracket always shrinks.
    for _ in range(200):
        if abs(high - low) <= 1e-12 or f_high == 0.0:
            break
        middle = low + (low - high) * f_low / (f_high - f_low)
        f_middle = _pull(middle, delta2, spread, a, tau)
        if f_middle * f_high <= 0.0:
            low, f_low = high, f_high
        else:
            f_low *= 0.5
        high, f_high = middle, f_middle
    return math.exp(0.5 * high)


@kernel
def _run(
    one: Indices,
    two: Indices,
    score: Floats,
    clock: Floats,
    state: Floats,
    games: Indices,
    before: Floats,
    tau: float,
) -> None:
    players = state.shape[0]
    last = np.full(players, np.nan)
    information = np.zeros(players)
    surprise = np.zeros(players)
    active = np.empty(players, dtype=np.int64)
    start = 0
    while start < score.size:
        end = start
        number = 0
        # Who plays in this period, with deviations grown over the periods without games.
        while end < score.size and clock[end] == clock[start]:
            for player in (one[end], two[end]):
                if last[player] != clock[start]:
                    idle = clock[start] - last[player] - 1.0
                    if idle > 0.0:
                        growth = idle * state[player, 2] ** 2
                        state[player, 1] = math.sqrt(state[player, 1] ** 2 + growth)
                    last[player] = clock[start]
                    information[player] = 0.0
                    surprise[player] = 0.0
                    active[number] = player
                    number += 1
            end += 1
        # Steps 3 and 4: every game, by the ratings at the start of the period.
        for g in range(start, end):
            i, j = one[g], two[g]
            gap = state[i, 0] - state[j, 0]
            before[g, 0], before[g, 1] = state[i, 0], state[i, 1]
            before[g, 2], before[g, 3] = state[j, 0], state[j, 1]
            before[g, 4] = gap * _g(state[i, 1] ** 2 + state[j, 1] ** 2)
            for player, other, side, won in ((i, j, gap, score[g]), (j, i, -gap, 1.0 - score[g])):
                g_other = _g(state[other, 1] ** 2)
                expected = 1.0 / (1.0 + math.exp(-g_other * side))
                information[player] += g_other * g_other * expected * (1.0 - expected)
                surprise[player] += g_other * (won - expected)
                games[player] += 1
        # Steps 5 to 7: new volatilities, deviations and ratings.
        for k in range(number):
            player = active[k]
            phi2 = state[player, 1] ** 2
            if information[player] > 1e-60:
                v = 1.0 / information[player]
                delta = v * surprise[player]
                sigma = _new_volatility(state[player, 2], delta * delta, phi2 + v, tau)
            else:
                # Some 24,000 points apart the logistic is flat and step 5 would overflow: an
                # upset then moves the rating, but says nothing about the volatility.
                sigma = state[player, 2]
            phi2 = 1.0 / (1.0 / (phi2 + sigma * sigma) + information[player])
            state[player, 0] += phi2 * surprise[player]
            state[player, 1] = math.sqrt(phi2)
            state[player, 2] = sigma
        start = end
