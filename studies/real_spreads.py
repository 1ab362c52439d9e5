"""The evaluated turns of ``../shared/data/analysis`` as spreads, for benchmarks and tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from milepost.choice import Spreads

ANALYSIS = Path(__file__).resolve().parents[2] / "shared" / "data" / "analysis"
RANDOM_TURNS = ANALYSIS / "random_turns_2011-2014.parquet"
LIMIT_CP = 300
"""Turns whose best move is worth more are left out, as the 2011 paper does."""


def read_turns(path: Path = RANDOM_TURNS) -> pl.DataFrame:
    """Return the turns that the paper would use, each with its mover's rating."""
    frame = pl.read_parquet(path)
    best = pl.col("cp").list.last().list.first()
    white = pl.col("fen").str.contains(" w ", literal=True)
    return frame.filter(~pl.col("repeated") & (best.abs() <= LIMIT_CP)).with_columns(
        pl.when(white).then("white_elo").otherwise("black_elo").cast(pl.Float64).alias("elo"),
        (pl.col("milepost") * 100_000 + pl.col("game")).alias("game_key"),
    )


def spreads_of(frame: pl.DataFrame) -> Spreads:
    """Return the turns as spreads, in pawns, with all depths, grouped by game."""
    moves = frame["moves"].to_list()
    counts = np.array([len(each) for each in moves], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    depths = len(frame["cp"][0])
    flat = frame["cp"].explode(empty_as_null=False).explode(empty_as_null=False).to_numpy()
    table = np.empty((offsets[-1], depths))
    starts = offsets[:-1] * depths
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    for depth in range(depths):
        table[:, depth] = flat[np.repeat(starts + depth * counts, counts) + within] / 100.0
    chosen = [each.index(played) for each, played in zip(moves, frame["played"], strict=True)]
    return Spreads.from_arrays(
        offsets,
        table[:, -1],
        np.array(chosen, dtype=np.int64),
        groups=frame["game_key"].to_numpy(),
        rating=frame["elo"].to_numpy(),
        depth_values=table,
    )
