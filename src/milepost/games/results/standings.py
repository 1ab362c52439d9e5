"""Standings: points of each player in a results table, the oldest summary there is."""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.tables import RESULTS


def standings(results: Any) -> pl.DataFrame:
    """Return games, wins, draws, losses and points of each player, most points first.

    Parameters
    ----------
    results
        A results table (polars, pandas, Arrow).

    Returns
    -------
    polars.DataFrame
        `player`, `elo` (mean of those given), `games`, `wins`, `draws`, `losses`, `points`.
    """
    frame = RESULTS.conform(results)
    sides = [
        frame.select(
            pl.col(f"player_{number}").alias("player"),
            pl.col(f"elo_{number}").alias("elo"),
            score.alias("score"),
        )
        for number, score in ((1, pl.col("score")), (2, 1.0 - pl.col("score")))
    ]
    return (
        pl.concat(sides)
        .group_by("player")
        .agg(
            pl.col("elo").mean().round(0).cast(pl.Int32),
            pl.len().cast(pl.Int64).alias("games"),
            (pl.col("score") == 1.0).sum().cast(pl.Int64).alias("wins"),
            (pl.col("score") == 0.5).sum().cast(pl.Int64).alias("draws"),
            (pl.col("score") == 0.0).sum().cast(pl.Int64).alias("losses"),
            pl.col("score").sum().alias("points"),
        )
        .sort("points", "player", descending=[True, False])
    )
