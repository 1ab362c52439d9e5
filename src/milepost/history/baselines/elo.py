"""Elo's rating, game by game: the plainest baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from milepost.errors import InputError
from milepost.history.baselines.streams import Floats, Indices, checked_stream, positive
from milepost.kernels import kernel


@dataclass(frozen=True)
class EloRun:
    """Ratings before every game, and after the last one."""

    rating_1: Floats
    """The first player's rating before each game."""
    rating_2: Floats
    """The second player's rating before each game."""
    expected: Floats
    """The first player's expected score in each game, the advantage included."""
    ratings: Floats
    """Every player's rating after all games."""
    games: Indices
    """How many games every player has."""

    @property
    def difference(self) -> Floats:
        """The first player's rating less the second's, for `logistic_outcomes`."""
        return self.rating_1 - self.rating_2


def run_elo(
    player_1: ArrayLike,
    player_2: ArrayLike,
    scores: ArrayLike,
    *,
    players: int | None = None,
    k: float = 20.0,
    provisional_k: float | None = None,
    provisional_games: int = 30,
    scale: float = 400.0,
    initial: ArrayLike = 1500.0,
    advantage: ArrayLike = 0.0,
) -> EloRun:
    """Rate games of two players one by one in the order given.

    A rating moves by K times (score - expected score), where the expected score is
    1/(1 + 10^(-difference/scale)) and a draw scores a half (Elo 1978). For the probabilities of
    win, draw and loss fit a margin to earlier games (`fit_logistic_margin`) and give the
    differences to `logistic_outcomes`.

    Parameters
    ----------
    player_1, player_2
        Players' numbers, from 0.
    scores
        The first player's scores: 1, 0.5 or 0.
    players
        How many players there are; by default as many as the games name.
    k
        The factor K.
    provisional_k, provisional_games
        Another K for a player's first games, as FIDE has (40 for 30 games); `None` = the same.
    scale
        Points that multiply the odds by ten.
    initial
        The rating of a newcomer, or one for every player.
    advantage
        What moving first is worth, in points: one number if the first player always does, or one
        for each game (negative where the second player moved first).

    Returns
    -------
    EloRun

    Raises
    ------
    InputError
        If the arrays do not fit together, or a parameter is out of its range.
    """
    stream = checked_stream(player_1, player_2, scores, players)
    early = k if provisional_k is None else provisional_k
    positive(k=k, provisional_k=early, scale=scale)
    ratings = _spread(initial, stream.players, "initial rating", "player")
    bonus = _spread(advantage, stream.score.size, "advantage", "game")
    games = np.zeros(stream.players, dtype=np.int64)
    before = np.empty((stream.score.size, 3))
    _run(
        stream.one,
        stream.two,
        stream.score,
        bonus,
        ratings,
        games,
        before,
        np.array([k, early, float(provisional_games), scale]),
    )
    return EloRun(before[:, 0], before[:, 1], before[:, 2], ratings, games)


def _spread(value: ArrayLike, size: int, what: str, each: str) -> Floats:
    """One number, or one for each, as a fresh array."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (size,)) or not np.isfinite(array).all():
        raise InputError(f"expected a finite {what}, or one for each {each}")
    return np.array(np.broadcast_to(array, (size,)))


@kernel
def _run(
    one: Indices,
    two: Indices,
    score: Floats,
    bonus: Floats,
    ratings: Floats,
    games: Indices,
    before: Floats,
    settings: Floats,
) -> None:
    k, early, provisional, scale = settings[0], settings[1], settings[2], settings[3]
    for g in range(score.size):
        i, j = one[g], two[g]
        expected = 1.0 / (1.0 + 10.0 ** (-(ratings[i] - ratings[j] + bonus[g]) / scale))
        before[g, 0] = ratings[i]
        before[g, 1] = ratings[j]
        before[g, 2] = expected
        surprise = score[g] - expected
        ratings[i] += (early if games[i] < provisional else k) * surprise
        ratings[j] -= (early if games[j] < provisional else k) * surprise
        games[i] += 1
        games[j] += 1
