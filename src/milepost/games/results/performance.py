"""Performance by results: the Elo at which a player's points were to be expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, ndtri

from milepost.tables import RESULTS

_STEEP = math.log(10.0) / 400.0
"""Elo's logistic: 400 points are ten to one."""
_FAR = 4000.0
"""A performance lies within so many points of the opponents; else it has no bound."""

PERFORMANCES: dict[str, Any] = {
    "player": pl.String, "games": pl.Int64, "points": pl.Float64, "opponents": pl.Float64,
    "rated_games": pl.Int64, "performance": pl.Float64, "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip


def result_performances(results: Any, *, level: float = 0.95) -> pl.DataFrame:
    """Return each player's performance by results, with its interval, most points first.

    The performance R solves Σ 1 / (1 + 10^((Rᵢ - R) / 400)) = points, over the games against
    opponents whose Elo Rᵢ is known: the likeliest R under Elo's logistic. Its standard error is one
    over the root of the information Σ p (1 - p) (ln 10 / 400)², as if every point were won or lost;
    draws vary less, so the interval is rather too wide. All or no points have no bound.

    Parameters
    ----------
    results
        A results table (polars, pandas, Arrow).
    level
        Probability of the interval.

    Returns
    -------
    polars.DataFrame
        `player`, `games`, `points`, `opponents` (mean of the Elos known), `rated_games` (those with
        one), `performance`, `low`, `high` (null = no bound, or no Elo known).
    """
    frame = RESULTS.conform(results)
    sides = [
        frame.select(
            pl.col(f"player_{own}").alias("player"),
            pl.col(f"elo_{other}").cast(pl.Float64).alias("elo"),
            score.alias("score"),
        )
        for own, other, score in ((1, 2, pl.col("score")), (2, 1, 1.0 - pl.col("score")))
    ]
    rows = []
    for (player,), games in pl.concat(sides).drop_nulls("player").group_by("player"):
        rated = games.drop_nulls("elo")
        middle, low, high = _performance(
            rated["elo"].to_numpy(), float(rated["score"].sum()), level
        )
        opponents = rated["elo"].mean()
        rows.append((player, len(games), float(games["score"].sum()), opponents, len(rated),
                     middle, low, high))  # fmt: skip
    table = pl.DataFrame(rows, schema=PERFORMANCES, orient="row")
    return table.sort("points", "player", descending=[True, False])


def _performance(
    opponents: Any, points: float, level: float
) -> tuple[float | None, float | None, float | None]:
    if not len(opponents) or points <= 0.0 or points >= len(opponents):
        return None, None, None
    from scipy.optimize import brentq

    def surplus(rating: float) -> float:
        return float(expit(_STEEP * (rating - opponents)).sum() - points)

    middle = float(brentq(surplus, opponents.min() - _FAR, opponents.max() + _FAR, xtol=1e-9))
    chance = expit(_STEEP * (middle - opponents))
    error = 1.0 / (_STEEP * math.sqrt(float(np.sum(chance * (1.0 - chance)))))
    reach = float(ndtri(0.5 + level / 2.0)) * error
    return middle, middle - reach, middle + reach
