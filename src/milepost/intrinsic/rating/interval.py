"""The rating of some decisions: the Elo whose agent makes them likeliest, with an honest interval.

Three parts make the error: that of the turns (their scores clustered by game), that of the
calibration, and the spread between real players of equal Elo. The first follows the likelihood,
which is lopsided where turns are few; the others are added in quadrature on each side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from milepost.choice.spreads import Floats
from milepost.intrinsic.calibration.player_variation import Spread
from milepost.intrinsic.rating.likelihood_grid import Ladder, drop_points, greatest

GAMES_OF_PRIOR = 20.0
"""The variance of a player's scores, clustered by his games, is drawn to that of the calibration
as if that had been seen in so many games: of few games it says little, of one nothing."""


@dataclass(frozen=True)
class Estimate:
    """A rating and its errors."""

    rating: float
    """The likeliest Elo; NaN = the decisions set no bound."""
    low: float
    """Lower end of the interval; -inf = no bound."""
    high: float
    """Upper end; inf = no bound."""
    se: float
    """Standard error, all parts."""
    se_turns: float
    """The part of the turns, clustered by game."""
    se_calibration: float
    """The part of the calibration."""
    se_players: float
    """The part of the spread between players of equal Elo."""
    n: int
    """Decisions."""
    games: int
    """Games they come from."""


def estimate(
    ladder: Ladder,
    spread: Spread,
    map_error: tuple[Floats, Floats],
    *,
    players_share: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Return the rating of decisions on a ladder.

    Parameters
    ----------
    ladder
        The decisions.
    spread
        How real players vary; see `measure_spread`.
    map_error
        Ratings, and the standard error of the calibration there.
    players_share
        Σ (share of the turns)² over the players: 1 for one player, 1/k for k players alike, whose
        spread averages out.
    level
        Probability of the interval.
    """
    likelihood = ladder.log_likelihood()
    top = greatest(likelihood)
    quantile = float(norm.ppf(0.5 + level / 2))
    bounded = ladder.rungs[0] < top < ladder.rungs[-1]
    information = float(ladder.weights @ ladder.information_at(top))
    variance = _score_variance(ladder, spread, top)
    # The drop is stretched by how much more the scores vary than under independent agents.
    stretch = variance / information if information > 0 else np.inf
    low, high = -np.inf, np.inf
    if np.isfinite(stretch):
        low, high = drop_points(likelihood, top, 0.5 * quantile**2 * max(stretch, 1e-12))
    se_turns = float(np.sqrt(variance)) / information if information > 0 else float("inf")
    se_map = float(np.interp(top, *map_error))
    se_players = spread.players_sd * float(np.sqrt(players_share))
    other = quantile**2 * (se_map**2 + se_players**2)
    return Estimate(
        rating=top if bounded else float("nan"),
        low=top - float(np.sqrt((top - low) ** 2 + other)),
        high=top + float(np.sqrt((high - top) ** 2 + other)),
        se=float(np.sqrt(se_turns**2 + se_map**2 + se_players**2)),
        se_turns=se_turns,
        se_calibration=se_map,
        se_players=se_players,
        n=len(ladder),
        games=len(np.unique(ladder.groups)),
    )


def _score_variance(ladder: Ladder, spread: Spread, rating: float) -> float:
    """Variance of the summed scores: of the player's own games, drawn to the calibration's."""
    _, game = np.unique(ladder.groups, return_inverse=True)
    scores = np.bincount(game, weights=ladder.scores(rating) * ladder.weights)
    information = ladder.information_at(rating)
    by_game = np.bincount(game, weights=information * ladder.weights)
    expected = spread.dispersion * float(ladder.weights**2 @ information)
    expected += spread.form_sd**2 * float((by_game**2).sum())
    count = len(scores)
    # One game's score is 0 at its own best rating: the count less one makes up for the fit.
    own = float((scores**2).sum()) * count / (count - 1) if count > 1 else 0.0
    return ((count - 1) * own + GAMES_OF_PRIOR * expected) / (count - 1 + GAMES_OF_PRIOR)
