"""Ratings by the older readings: percentiles along a line (2011), and expected error (2012).

The likelihood is read off a ladder (`milepost.intrinsic.rating.interval`). These two are there for
maps that were chosen to be read so, and for comparison.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import norm

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.intrinsic.calibration.maps import RatingMap, read_error
from milepost.intrinsic.calibration.player_variation import Spread
from milepost.intrinsic.rating.interval import Estimate
from milepost.intrinsic.rating.likelihood_grid import RUNGS, greatest

ENOUGH_GAMES = 10
"""With fewer games the variance is that of single turns, plus the calibration's spread of form."""


def estimate_by_reading(
    spreads: Spreads,
    found: RatingMap,
    spread: Spread,
    map_error: tuple[Floats, Floats],
    *,
    players_share: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Return the rating of decisions as a map of 2011 or 2012 reads it; the interval is even."""
    if found.reading == "percentile":
        rating, variance = _read_percentile(spreads, found, spread)
    else:
        rating, se = read_error(spreads, found)
        variance = se**2
    inside = RUNGS[0] < rating < RUNGS[-1]
    se_map = float(np.interp(rating, *map_error))
    se_players = spread.players_sd * float(np.sqrt(players_share))
    se = float(np.sqrt(variance + se_map**2 + se_players**2))
    half = float(norm.ppf(0.5 + level / 2)) * se
    return Estimate(
        rating=rating if inside else float("nan"),
        low=rating - half,
        high=rating + half,
        se=se,
        se_turns=float(np.sqrt(variance)),
        se_calibration=se_map,
        se_players=se_players,
        n=len(spreads),
        games=spreads.number_of_groups,
    )


def _read_percentile(spreads: Spreads, found: RatingMap, spread: Spread) -> tuple[float, float]:
    """The Elo that brings the up shares nearest to even, and its variance by the delta method."""
    model, path = found.path.model, found.path
    prepared = prepare(spreads, model)
    shares = np.empty((len(spreads), len(RUNGS), len(GRID)))
    up = np.empty((len(spreads), len(GRID)))
    for column, rung in enumerate(RUNGS):
        said = evaluate(model, prepared, path.theta(rung))
        up_shares(said.before, said.ln_chosen, GRID, up)
        shares[:, column] = up
    weight = spreads.weights / spreads.weights.sum()
    gaps = CubicSpline(RUNGS, np.einsum("t,trq->rq", weight, shares) - GRID)
    rating = greatest(CubicSpline(RUNGS, -(gaps(RUNGS) ** 2).sum(axis=1)))
    slopes = gaps(rating, 1)
    here = CubicSpline(RUNGS, shares, axis=1)(rating) - GRID
    steep = float((slopes**2).sum())
    if not steep > 0:
        return rating, float("inf")
    pull = weight * (here @ slopes) / steep
    _, game = np.unique(spreads.groups, return_inverse=True)
    if spreads.number_of_groups >= ENOUGH_GAMES:
        count = spreads.number_of_groups
        return rating, float((np.bincount(game, weights=pull) ** 2).sum() * count / (count - 1))
    by_game = np.bincount(game, weights=weight)
    variance = spread.dispersion * float((pull**2).sum())
    return rating, variance + spread.form_sd**2 * float((by_game**2).sum())
