"""Small results for the tests of histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl


def table(rows: Sequence[tuple[Any, str | None, str | None, float | None]]) -> pl.DataFrame:
    """Results from rows (time, player_1, player_2, score)."""
    return pl.DataFrame(rows, schema=["time", "player_1", "player_2", "score"], orient="row")


def simulated(
    games: int, players: int, periods: int, seed: int = 1, *, draws: float = 0.3
) -> pl.DataFrame:
    """Games between random pairs, with drifting skills; player_1 moves first, worth 40 points."""
    rng = np.random.default_rng(seed)
    start = rng.normal(0, 200, players)
    drift = rng.normal(0, 40, (periods, players)).cumsum(axis=0)
    time = np.sort(rng.integers(0, periods, games))
    one = rng.integers(0, players, games)
    two = (one + rng.integers(1, players, games)) % players
    rows = np.arange(games)
    skill = start + drift[time]
    performed = skill[rows, one] - skill[rows, two] + 40 + rng.normal(0, 400, games)
    margin = 400 * draws
    score = np.where(performed > margin, 1.0, np.where(performed < -margin, 0.0, 0.5))
    return pl.DataFrame({
        "time": 1900 + time,
        "player_1": [f"p{i:04}" for i in one],
        "player_2": [f"p{i:04}" for i in two],
        "score": score,
        "first_mover": np.ones(games, dtype=np.int8),
    })  # fmt: skip
