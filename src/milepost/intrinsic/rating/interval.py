"""The rating of some decisions: the Elo whose agent makes them likeliest, with two intervals.

*How well were these games played?* The performance interval has the error of the turns, with the
dispersion φ of player-games, and that of the calibration. *How strong is the player?* The player
interval adds how players of equal Elo differ, and events, and one player's games. The error of the
turns follows the likelihood, which is lopsided where turns are few; the others are added in
quadrature on each side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import Ladder, drop_points, greatest
from milepost.intrinsic.rating.splines import EvenSpline, slope_shares_at

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


@dataclass(frozen=True, eq=False)
class GameSums:
    """Decisions on a ladder, summed by game: all that ratings ask of them, and small."""

    rungs: Floats
    """The ratings of the rungs."""
    ln_chosen: Floats
    """Weighted sum of the logarithms of the choices' probabilities, games × rungs."""
    information: Floats
    """Weighted sum of the expected information."""
    squared: Floats
    """The same with squared weights."""
    turns: Ints
    """How many decisions each game has."""

    @classmethod
    def of(cls, ladder: Ladder, games: Ints, count: int) -> GameSums:
        """Sum decisions by the number of their game, from 0; what has a negative one is left out.

        Numbers without decisions have sums of 0.
        """
        order = np.argsort(games, kind="stable")
        order = order[np.searchsorted(games[order], 0) :]
        turns = np.bincount(games[order], minlength=count)
        weights = ladder.weights[order, None]
        alike = bool((weights == 1.0).all())
        chosen, information = ladder.ln_chosen[order], ladder.information[order]
        if not alike:
            chosen, information = weights * chosen, weights * information
        first = _sums(information, turns)
        return cls(
            ladder.rungs,
            _sums(chosen, turns),
            first,
            first if alike else _sums(weights * information, turns),
            turns,
        )

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self.turns)

    def take(self, games: Any) -> GameSums:
        """Return some of the games, by number or by mask or by slice."""
        return GameSums(
            self.rungs,
            self.ln_chosen[games],
            self.information[games],
            self.squared[games],
            self.turns[games],
        )

    def information_at(self, rating: float) -> tuple[Floats, float]:
        """Return the information of each game at a rating, and the sum with squared weights."""
        low, share = _between(self.rungs, rating)
        each: Floats = (1 - share) * self.information[:, low] + share * self.information[:, low + 1]
        squared = (1 - share) * self.squared[:, low] + share * self.squared[:, low + 1]
        return each, float(squared.sum())

    def scores(self, rating: float) -> Floats:
        """Return the derivative of each game's log-likelihood by the rating."""
        answer: Floats = self.ln_chosen @ slope_shares_at(self.rungs, rating)
        return answer


def _sums(rows: Floats, counts: Ints) -> Floats:
    """Sum rows that stand together, so many each; none at all make 0."""
    answer = np.zeros((len(counts), rows.shape[1]))
    filled = counts > 0
    if len(rows):
        starts = (np.cumsum(counts) - counts)[filled]
        answer[filled] = np.add.reduceat(rows, starts, axis=0)
    return answer


def _between(rungs: Floats, rating: float) -> tuple[int, float]:
    """The rung under a rating, and the share of the next one above it."""
    place = max((rating - float(rungs[0])) / float(rungs[1] - rungs[0]), 0.0)
    low = min(int(place), len(rungs) - 2)
    return low, min(place - low, 1.0)


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
    games, game = np.unique(ladder.groups, return_inverse=True)
    sums = GameSums.of(ladder, game, len(games))
    return estimate_games(sums, variation, map_error, shares=shares, level=level)


def estimate_games(
    games: GameSums,
    variation: PlayerVariation,
    map_error: tuple[Floats, Floats],
    *,
    shares: Shares = ONE_PLAYER,
    level: float = 0.95,
) -> Estimate:
    """As `estimate`, of decisions that are summed by game; every one of the games has some."""
    likelihood = EvenSpline(games.rungs, games.ln_chosen.sum(axis=0))
    top = greatest(likelihood)
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    bounded = games.rungs[0] < top < games.rungs[-1]
    by_game, squared = games.information_at(top)
    information = float(by_game.sum())
    variance = _score_variance(games, variation, top, squared)
    # The drop is stretched by how much more the scores vary than under independent agents.
    stretch = variance / information if information > 0 else math.inf
    low, high = -math.inf, math.inf
    if math.isfinite(stretch):
        low, high = drop_points(likelihood, top, 0.5 * quantile**2 * max(stretch, 1e-12))
    se_turns = math.sqrt(variance) / information if information > 0 else math.inf
    games_share = float(by_game @ by_game) / information**2 if information > 0 else 1.0
    parts = variation_parts(variation, shares, games_share)
    se_map = float(np.interp(top, *map_error))
    rest = math.hypot(se_map, *parts)
    return Estimate(
        rating=top if bounded else math.nan,
        low=top - math.hypot(top - low, quantile * se_map),
        high=top + math.hypot(high - top, quantile * se_map),
        player_low=top - math.hypot(top - low, quantile * rest),
        player_high=top + math.hypot(high - top, quantile * rest),
        se=math.hypot(se_turns, se_map),
        se_player=math.hypot(se_turns, rest),
        se_turns=se_turns,
        se_calibration=se_map,
        se_games=parts[0],
        se_players=parts[1],
        se_events=parts[2],
        n=int(games.turns.sum()),
        games=len(games),
    )


def variation_parts(
    variation: PlayerVariation, shares: Shares, games_share: float
) -> tuple[float, float, float]:
    """Return the standard errors that form, players and events add to a player's strength."""
    return (
        variation.game_sd.used * math.sqrt(games_share),
        variation.player_sd.used * math.sqrt(shares.players),
        variation.event_sd.used * math.sqrt(shares.events),
    )


def _score_variance(
    games: GameSums, variation: PlayerVariation, rating: float, squared: float
) -> float:
    """Variance of the summed scores: of the player's own games, drawn to the calibration's.

    `squared` is the information with squared weights.
    """
    scores = games.scores(rating)
    expected = variation.game_dispersion.value * squared
    count = len(scores)
    # One game's score is 0 at its own best rating: the count less one makes up for the fit.
    own = float(scores @ scores) * count / (count - 1) if count > 1 else 0.0
    return ((count - 1) * own + GAMES_OF_PRIOR * expected) / (count - 1 + GAMES_OF_PRIOR)
