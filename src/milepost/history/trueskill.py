"""TrueSkill, the filter: Gaussian beliefs about two players, renewed game by game."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from milepost.errors import InputError
from milepost.history.baselines.streams import (
    Floats,
    Indices,
    checked_periods,
    checked_stream,
    positive,
)
from milepost.history.teams.rate import check_noise, draw_margin
from milepost.history.teams.sides import above_margin, within_margin
from milepost.kernels import kernel


@dataclass(frozen=True)
class TrueSkillRun:
    """Beliefs before every game, in the order given, and after the last one played."""

    mean_1: Floats
    """Mean of the first player's skill before each game."""
    sd_1: Floats
    """Standard deviation of it, drift included."""
    mean_2: Floats
    """Mean of the second player's skill before each game."""
    sd_2: Floats
    """Standard deviation of it, drift included."""
    log_evidence: Floats
    """Log probability of each result by those beliefs; its mean is minus the log-loss."""
    margin: float
    """The draw margin."""
    beta: float
    """The noise of a performance."""
    advantage: float
    """What it is worth to be the first player."""
    means: Floats
    """Mean of every player's skill after all games."""
    sds: Floats
    """Standard deviation of every player's skill after all games."""
    games: Indices
    """How many games every player has."""

    @property
    def outcomes(self) -> Floats:
        """A row (win, draw, loss) of the first player's probabilities before each game."""
        c = np.sqrt(self.sd_1**2 + self.sd_2**2 + 2.0 * self.beta**2)
        return gaussian_outcomes(self.mean_1 - self.mean_2 + self.advantage, c, margin=self.margin)


def gaussian_outcomes(difference: ArrayLike, spread: ArrayLike, *, margin: float) -> Floats:
    """Return the probabilities of a win, a draw and a loss of the first player.

    P(win) = Φ((d - ε)/c), P(loss) = Φ((-d - ε)/c), P(draw) = 1 - P(win) - P(loss), where d is the
    difference of the means and c² the sum of both variances and 2β².

    Parameters
    ----------
    difference
        First player's mean less the second's, with any advantage.
    spread
        The c of each game.
    margin
        The draw margin ε.
    """
    d, c = np.atleast_1d(np.asarray(difference, dtype=np.float64)), np.asarray(spread)
    win, not_loss = log_ndtr((d - margin) / c), log_ndtr((d + margin) / c)
    loss, not_win = log_ndtr(-(d + margin) / c), log_ndtr(-(d - margin) / c)
    # The draw is a difference of two integrals, taken in the tail where both are small.
    above = np.where(d > 0.0, not_win, not_loss)
    share = -np.expm1(np.minimum(np.where(d > 0.0, loss, win) - above, 0.0))
    return np.stack([np.exp(win), np.exp(above) * share, np.exp(loss)], axis=-1)


def run_trueskill(
    player_1: ArrayLike,
    player_2: ArrayLike,
    scores: ArrayLike,
    *,
    periods: ArrayLike | None = None,
    players: int | None = None,
    mu: float = 1200.0,
    sigma: float = 400.0,
    beta: float = 480.0,
    tau: float = 60.0,
    draw_probability: float | None = None,
    advantage: float = 0.0,
    rng: np.random.Generator | None = None,
) -> TrueSkillRun:
    """Filter games of two players one by one (Herbrich, Minka and Graepel 2006).

    Parameters
    ----------
    player_1, player_2
        Players' numbers, from 0.
    scores
        The first player's scores: 1, 0.5 or 0.
    periods
        When each game was played: numbers that never decrease. A skill then drifts by tau² times
        the time since the player's last game. `None` = by tau² before each of the player's games,
        the first included (as the package trueskill and `rate_game` have it).
    players
        How many players there are; by default as many as the games name.
    mu, sigma, beta, tau
        Mean and standard deviation of a newcomer's skill, noise of a performance, and drift.
    draw_probability
        Probability that equals draw, which sets the margin; by default the share of draws.
    advantage
        What it is worth to be the first player, in points.
    rng
        Plays the games of each period (without periods: all games) in a random order.

    Returns
    -------
    TrueSkillRun

    Raises
    ------
    InputError
        If the arrays do not fit together, a parameter is out of its range, or there are draws at
        a draw probability of zero.
    """
    stream = checked_stream(player_1, player_2, scores, players)
    number = stream.score.size
    clock = None if periods is None else checked_periods(periods, number)
    positive(sigma=sigma)
    if not (math.isfinite(tau) and tau >= 0.0 and math.isfinite(mu) and math.isfinite(advantage)):
        raise InputError("expected a finite mu and advantage, and a tau of zero or more")
    draws = int((stream.score == 0.5).sum())
    if draw_probability is None:
        # All draws would make the margin infinite: half a game then counts as decided.
        draw_probability = min(draws, number - 0.5) / number if number else 0.0
    check_noise(beta, draw_probability)
    if draws and draw_probability == 0.0:
        raise InputError("expected a draw probability above 0 for games with draws, got 0")
    margin = draw_margin(draw_probability, 2, beta)
    order = np.arange(number)
    if rng is not None:
        shuffled = rng.permutation(number)
        # Shuffled, then sorted by period again: a random order within each period.
        order = shuffled if clock is None else shuffled[np.argsort(clock[shuffled], kind="stable")]
    belief = np.tile(np.array([mu, sigma * sigma]), (stream.players, 1))
    games = np.zeros(stream.players, dtype=np.int64)
    before = np.empty((number, 5))
    _run(
        stream.one,
        stream.two,
        stream.score,
        np.zeros(number) if clock is None else clock,
        order,
        belief,
        games,
        before,
        np.array([beta * beta, tau * tau, margin, advantage]),
        clock is None,
    )
    return TrueSkillRun(
        mean_1=before[:, 0],
        sd_1=np.sqrt(before[:, 1]),
        mean_2=before[:, 2],
        sd_2=np.sqrt(before[:, 3]),
        log_evidence=before[:, 4],
        margin=margin,
        beta=beta,
        advantage=advantage,
        means=belief[:, 0],
        sds=np.sqrt(belief[:, 1]),
        games=games,
    )


@kernel
def _run(
    one: Indices,
    two: Indices,
    score: Floats,
    clock: Floats,
    order: Indices,
    belief: Floats,
    games: Indices,
    before: Floats,
    settings: Floats,
    by_game: bool,
) -> None:
    beta2, drift, margin, advantage = settings[0], settings[1], settings[2], settings[3]
    last = np.zeros(games.size)
    for g in order:
        i, j = one[g], two[g]
        for player in (i, j):
            elapsed = 1.0
            if not by_game:
                elapsed = clock[g] - last[player] if games[player] > 0 else 0.0
            belief[player, 1] += drift * elapsed
            last[player] = clock[g]
            games[player] += 1
        m_i, v_i = belief[i, 0], belief[i, 1]
        m_j, v_j = belief[j, 0], belief[j, 1]
        before[g, 0], before[g, 1] = m_i, v_i
        before[g, 2], before[g, 3] = m_j, v_j
        c2 = v_i + v_j + 2.0 * beta2
        c = math.sqrt(c2)
        t = (m_i - m_j + advantage) / c
        if score[g] == 0.5:
            log_z, v, _, rest = within_margin(t, margin / c)
        elif score[g] == 1.0:
            log_z, v, _, rest = above_margin(t - margin / c)
        else:
            log_z, v, _, rest = above_margin(-t - margin / c)
            v = -v
        before[g, 4] = log_z
        belief[i, 0] = m_i + v_i / c * v
        belief[j, 0] = m_j - v_j / c * v
        # v_i (1 - w v_i/c²), written so that it keeps its digits when w is close to 1.
        belief[i, 1] = v_i * (v_j + 2.0 * beta2 + v_i * rest) / c2
        belief[j, 1] = v_j * (v_i + 2.0 * beta2 + v_j * rest) / c2
