"""Ratings by the older readings: percentiles along a line (2011), and expected error (2012).

The likelihood is read off a ladder (`milepost.intrinsic.rating.interval`). These two are there for
maps that were chosen to be read so, and for comparison.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.intrinsic.calibration.maps import RatingMap, read_error
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.interval import ONE_PLAYER, Estimate, Shares, variation_parts
from milepost.intrinsic.rating.likelihood_grid import RUNGS, greatest
from milepost.intrinsic.rating.splines import EvenSpline

ENOUGH_GAMES = 10
"""With fewer games the variance is that of single turns, times the dispersion of player-games."""


def estimate_by_reading(
    spreads: Spreads,
    found: RatingMap,
    variation: PlayerVariation,
    map_error: tuple[Floats, Floats],
    *,
    shares: Shares = ONE_PLAYER,
    level: float = 0.95,
) -> Estimate:
    """Return the rating of decisions as a map of 2011 or 2012 reads it; the intervals are even."""
    if found.reading == "percentile":
        rating, variance = _read_percentile(spreads, found, variation)
    else:
        rating, se = read_error(spreads, found)
        variance = se**2
    inside = RUNGS[0] < rating < RUNGS[-1]
    by_game = np.bincount(np.unique(spreads.groups, return_inverse=True)[1].ravel())
    parts = variation_parts(variation, shares, float((by_game**2).sum()) / len(spreads) ** 2)
    se_map = float(np.interp(rating, *map_error))
    se = float(np.sqrt(variance + se_map**2))
    se_player = float(np.hypot(se, np.linalg.norm(parts)))
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    return Estimate(
        rating=rating if inside else float("nan"),
        low=rating - quantile * se,
        high=rating + quantile * se,
        player_low=rating - quantile * se_player,
        player_high=rating + quantile * se_player,
        se=se,
        se_player=se_player,
        se_turns=float(np.sqrt(variance)),
        se_calibration=se_map,
        se_games=parts[0],
        se_players=parts[1],
        se_events=parts[2],
        n=len(spreads),
        games=spreads.number_of_groups,
    )


def _read_percentile(
    spreads: Spreads, found: RatingMap, variation: PlayerVariation
) -> tuple[float, float]:
    """The Elo that brings the up shares nearest to even, and its variance by the delta method."""

    model, path = found.path.model, found.path
    prepared = prepare(spreads, model)
    shares = np.empty((len(spreads), len(GRID), len(RUNGS)))
    up = np.empty((len(spreads), len(GRID)))
    for column, rung in enumerate(RUNGS):
        said = evaluate(model, prepared, path.theta(rung))
        up_shares(said.before, said.ln_chosen, GRID, up)
        shares[:, :, column] = up
    weight = spreads.weights / spreads.weights.sum()
    gaps = EvenSpline(RUNGS, np.einsum("t,tqr->qr", weight, shares) - GRID[:, None])
    rating = greatest(EvenSpline(RUNGS, -(gaps(RUNGS) ** 2).sum(axis=0)))
    slopes = gaps.slope(rating)
    here = EvenSpline(RUNGS, shares)(rating) - GRID
    steep = float((slopes**2).sum())
    if not steep > 0:
        return rating, float("inf")
    pull = weight * (here @ slopes) / steep
    _, game = np.unique(spreads.groups, return_inverse=True)
    if spreads.number_of_groups >= ENOUGH_GAMES:
        count = spreads.number_of_groups
        return rating, float((np.bincount(game, weights=pull) ** 2).sum() * count / (count - 1))
    return rating, variation.game_dispersion.value * float((pull**2).sum())
