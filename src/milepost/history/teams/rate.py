"""One game of any number of sides with ties: the general model of the 2007 paper, for one game.

A player's performance is skill plus noise of variance beta², a side's performance the sum of its
players' performances, each times the weight of its part in the game. Sorted by score, neighbouring
sides are compared: the better one is ahead by more than the margin, or both are within it (a tie).
For two sides the posterior means and deviations are those of the exact posterior; for more they
are found by expectation propagation (EP) along the chain of neighbours, iterated to its fixed
point.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfinv

from milepost.errors import InputError, MilepostWarning
from milepost.history.teams.game import checked_weights
from milepost.history.teams.sides import GAME_TOLERANCE, MAX_PASSES, Floats, rank_sides


@dataclass(frozen=True)
class RatedGame:
    """What one game says about its players."""

    posteriors: list[list[tuple[float, float]]]
    """(mean, sd) of every player's skill after the game, in the order given."""
    log_evidence: float
    """Log probability of the result before the game: exact for two sides, else EP's."""
    converged: bool
    """Whether EP reached its fixed point (always, for two sides)."""
    passes: int
    """Passes along the chain of sides that it took."""


def draw_margin(draw_probability: float, players: int, beta: float) -> float:
    """Return the margin at which two equal sides with `players` players in all tie so often.

    ε = Φ⁻¹((1 + p)/2) · √(Σβ² over the players of both sides), written with the inverse error
    function, which keeps its digits for tiny p. Partial play weights do not enter (as in
    trueskill and trueskillthroughtime).
    """
    return math.sqrt(2.0 * players) * beta * float(erfinv(draw_probability))


def rate_game(
    teams: Sequence[Sequence[tuple[float, float]]],
    scores: Sequence[float],
    *,
    beta: float,
    tau: float = 0.0,
    draw_probability: float = 0.0,
    weights: Sequence[Sequence[float]] | None = None,
) -> RatedGame:
    """Rate one game of two or more sides, each of one or more players.

    Herbrich, Minka and Graepel (2006), with EP iterated to its fixed point. Sides that tie are
    chained in the order given, since the model compares neighbours only: in ties of three or more
    their order matters slightly.

    Parameters
    ----------
    teams
        For each side, the (mean, sd) of each player's skill before the game; an sd may be zero.
    scores
        The score of each side: higher is better, equal is a tie.
    beta
        Standard deviation of a performance around the skill.
    tau
        Drift: tau² is added to every player's variance before the game.
    draw_probability
        Probability that two equal sides tie; it sets the margin, see `draw_margin`.
    weights
        The part each player took in the game: a performance counts times its weight, noise
        included. A player of weight zero learns nothing.

    Returns
    -------
    RatedGame

    Raises
    ------
    InputError
        If shapes differ, a number is out of its range, or sides tie at a draw probability of zero.

    Warns
    -----
    MilepostWarning
        If EP did not reach its fixed point (the result then says so too).
    """
    means, variances = _checked_players(teams, tau)
    sizes = [len(team) for team in means]
    places = _checked_scores(scores, len(sizes))
    check_noise(beta, draw_probability)
    played = [np.ones(n) for n in sizes]
    if weights is not None:
        played = [np.array(side) for side in checked_weights(weights, sizes)]
    order = np.argsort(-places, kind="stable")
    ranked = places[order]
    tie = ranked[:-1] == ranked[1:]
    if draw_probability == 0.0 and bool(tie.any()):
        raise InputError("expected a draw_probability above 0 for a game with tied sides, got 0")
    players = np.asarray(sizes)[order]
    margin = np.array(
        [draw_margin(draw_probability, int(n), beta) for n in players[:-1] + players[1:]]
    )
    # On a scale whose origin lies among the sides, differences keep their digits.
    side_means = np.array([np.dot(w, m) for w, m in zip(played, means, strict=True)])
    origin = float(side_means.mean())
    side_variances = np.array(
        [np.dot(w * w, v + beta * beta) for w, v in zip(played, variances, strict=True)]
    )
    messages = np.zeros((len(sizes), 4))
    log_evidence, passes, moved = rank_sides(
        side_means[order] - origin,
        side_variances[order],
        margin,
        tie,
        messages,
        GAME_TOLERANCE,
        MAX_PASSES,
    )
    if not (math.isfinite(log_evidence) and bool(np.isfinite(messages).all())):
        raise InputError("the means are too many deviations apart to be compared in floats")
    if moved > GAME_TOLERANCE:
        warnings.warn(
            f"a game of {len(sizes)} sides did not converge: after {passes} passes the sides "
            f"still move by {moved:.2g} of their deviations",
            MilepostWarning,
            stacklevel=2,
        )
    posteriors: list[list[tuple[float, float]]] = [[] for _ in sizes]
    for row, side in zip(messages, order, strict=True):
        precision = row[0] + row[2]
        # What the game says of the side, relative to what was expected of it.
        surprise = row[1] + row[3] - precision * (side_means[side] - origin)
        bottom = 1.0 + precision * side_variances[side]
        w, v = played[side], variances[side]
        for i, before in enumerate(means[side]):
            # The variance that hides this player's skill: a sum, since a difference would lose
            # the noise beside a huge deviation.
            hiding = np.dot(w * w, np.where(np.arange(w.size) == i, 0.0, v) + beta * beta)
            mean = before + w[i] * v[i] * surprise / bottom
            variance = v[i] * (1.0 + precision * hiding) / bottom
            posteriors[side].append((float(mean), math.sqrt(variance)))
    return RatedGame(posteriors, log_evidence, moved <= GAME_TOLERANCE, passes)


def check_noise(beta: float, draw_probability: float) -> None:
    """Refuse a beta that is not positive, and a draw probability outside [0, 1).

    Raises
    ------
    InputError
    """
    if not (math.isfinite(beta) and beta > 0.0):
        raise InputError(f"expected a positive beta, got {beta}")
    if not 0.0 <= draw_probability < 1.0:
        raise InputError(f"expected a draw probability of at least 0, below 1: {draw_probability}")


def _checked_players(teams: Any, tau: float) -> tuple[list[Floats], list[Floats]]:
    """Return the means and, with the drift, the variances of each side's players."""
    if not (math.isfinite(tau) and tau >= 0.0):
        raise InputError(f"expected a tau of zero or more, got {tau}")
    if len(teams) < 2:
        raise InputError(f"expected at least two teams, got {len(teams)}")
    means, variances = [], []
    for team in teams:
        try:
            skills = np.array([(mean, sd) for mean, sd in team], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"expected a team as pairs of (mean, sd), got {team!r}") from error
        if skills.size == 0:
            raise InputError("expected at least one player in every team, got an empty team")
        if not np.isfinite(skills).all() or skills[:, 1].min() < 0.0:
            raise InputError(f"expected finite means and sds of zero or more, got {team!r}")
        if np.abs(skills).max() > 1e150:
            raise InputError(f"expected numbers whose squares are finite floats, got {team!r}")
        means.append(skills[:, 0])
        variances.append(skills[:, 1] ** 2 + tau * tau)
    return means, variances


def _checked_scores(scores: Any, sides: int) -> Floats:
    try:
        places = np.array([float(score) for score in scores])
    except (TypeError, ValueError) as error:
        raise InputError(f"expected a number as each side's score, got {scores!r}") from error
    if places.size != sides:
        raise InputError(f"expected one score for each of the {sides} teams, got {places.size}")
    if not np.isfinite(places).all():
        raise InputError(f"expected finite scores, got {scores!r}")
    return places
