"""The rating of some decisions: the Elo whose agent makes them likeliest, with two intervals.

*How well were these games played?* The performance interval has the error of the turns, with the
dispersion φ of player-games, and that of the calibration. *How strong is the player?* The player
interval adds how players of equal Elo differ, and events, and one player's games. The error of the
turns follows the likelihood, which is lopsided where turns are few; the others are added in
quadrature on each side.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from statistics import NormalDist

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import Ladder, drop_points, greatest

GAMES_OF_PRIOR = 20.0
"""The variance of a player's scores, clustered by his games, is drawn to that of the calibration
as if that had been seen in so many games: of few games it says little, of one nothing."""


@dataclass(frozen=True)
class Estimate:
    """A rating, its two intervals and its errors."""

    rating: float
    """The likeliest Elo; NaN = the decisions set no bound."""
    low: float
    """Lower end of the performance interval; -inf = no bound."""
    high: float
    """Its upper end; inf = no bound."""
    player_low: float
    """Lower end of the player interval."""
    player_high: float
    """Its upper end."""
    se: float
    """Standard error of the performance: turns and calibration."""
    se_player: float
    """Standard error of the player's strength: all parts."""
    se_turns: float
    """The part of the turns, clustered by game."""
    se_calibration: float
    """The part of the calibration."""
    se_games: float
    """The part of form, beyond the dispersion of games."""
    se_players: float
    """The part of the variation between players of equal Elo."""
    se_events: float
    """The part of the variation between events."""
    n: int
    """Decisions."""
    games: int
    """Games they come from."""

    @classmethod
    def nothing(cls, n: int, games: int) -> Estimate:
        """Return what is known of too few decisions."""
        unknown = {each.name: float("nan") for each in fields(cls)}
        return cls(**(unknown | {"n": n, "games": games}))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Shares:
    """Over how many players and events some decisions are spread: Σ (share of the turns)².

    1 for one, 1/k for k alike, whose variation averages out.
    """

    players: float = 1.0
    """Over the players."""
    events: float = 1.0
    """Over the events."""


ONE_PLAYER = Shares()


def estimate(
    ladder: Ladder,
    variation: PlayerVariation,
    map_error: tuple[Floats, Floats],
    *,
    shares: Shares = ONE_PLAYER,
    level: float = 0.95,
) -> Estimate:
    """Return the rating of decisions on a ladder.

    Parameters
    ----------
    ladder
        The decisions.
    variation
        How real players vary.
    map_error
        Ratings, and the standard error of the calibration there.
    shares
        Over how many players and events the decisions are spread.
    level
        Probability of the intervals.
    """
    likelihood = ladder.log_likelihood()
    top = greatest(likelihood)
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    bounded = ladder.rungs[0] < top < ladder.rungs[-1]
    _, game = np.unique(ladder.groups, return_inverse=True)
    by_turn = ladder.information_at(top) * ladder.weights
    by_game = np.bincount(game, weights=by_turn)
    information = float(by_game.sum())
    variance = _score_variance(ladder, variation, top, game)
    # The drop is stretched by how much more the scores vary than under independent agents.
    stretch = variance / information if information > 0 else np.inf
    low, high = -np.inf, np.inf
    if np.isfinite(stretch):
        low, high = drop_points(likelihood, top, 0.5 * quantile**2 * max(stretch, 1e-12))
    se_turns = float(np.sqrt(variance)) / information if information > 0 else float("inf")
    games_share = float((by_game**2).sum()) / information**2 if information > 0 else 1.0
    parts = variation_parts(variation, shares, games_share)
    se_map = float(np.interp(top, *map_error))
    rest = float(np.hypot(se_map, np.linalg.norm(parts)))
    return Estimate(
        rating=top if bounded else float("nan"),
        low=top - float(np.hypot(top - low, quantile * se_map)),
        high=top + float(np.hypot(high - top, quantile * se_map)),
        player_low=top - float(np.hypot(top - low, quantile * rest)),
        player_high=top + float(np.hypot(high - top, quantile * rest)),
        se=float(np.hypot(se_turns, se_map)),
        se_player=float(np.hypot(se_turns, rest)),
        se_turns=se_turns,
        se_calibration=se_map,
        se_games=parts[0],
        se_players=parts[1],
        se_events=parts[2],
        n=len(ladder),
        games=len(by_game),
    )


def variation_parts(
    variation: PlayerVariation, shares: Shares, games_share: float
) -> tuple[float, float, float]:
    """Return the standard errors that form, players and events add to a player's strength."""
    return (
        variation.game_sd.used * float(np.sqrt(games_share)),
        variation.player_sd.used * float(np.sqrt(shares.players)),
        variation.event_sd.used * float(np.sqrt(shares.events)),
    )


def _score_variance(ladder: Ladder, variation: PlayerVariation, rating: float, game: Ints) -> float:
    """Variance of the summed scores: of the player's own games, drawn to the calibration's."""
    scores = np.bincount(game, weights=ladder.scores(rating) * ladder.weights)
    information = ladder.information_at(rating)
    expected = variation.game_dispersion.value * float(ladder.weights**2 @ information)
    count = len(scores)
    # One game's score is 0 at its own best rating: the count less one makes up for the fit.
    own = float((scores**2).sum()) * count / (count - 1) if count > 1 else 0.0
    return ((count - 1) * own + GAMES_OF_PRIOR * expected) / (count - 1 + GAMES_OF_PRIOR)
