"""The turns of the shared analysis files, which are the real positions of these tests."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from milepost.tables import TURNS


def shared_turns(data: Path | pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a file in the shared schema, or of its table.

    The files begin behind the book and hold no turns with one legal move. Games are told apart by
    period, milepost and game; the players go by the names of the file.
    """
    frame = data if isinstance(data, pl.DataFrame) else pl.read_parquet(data)
    white = pl.col("ply") % 2 == 0

    def mover(suffix: str = "") -> pl.Expr:
        return pl.when(white).then(f"white{suffix}").otherwise(f"black{suffix}")

    def opponent(suffix: str = "") -> pl.Expr:
        return pl.when(white).then(f"black{suffix}").otherwise(f"white{suffix}")

    turns = frame.select(
        pl.concat_str("period", "milepost", "game", separator="/").alias("game_id"),
        "ply",
        pl.col("fen").str.extract(r" (\d+)$").cast(pl.Int32).alias("move_number"),
        mover().alias("mover"),
        opponent().alias("opponent"),
        pl.when(white).then(pl.lit("white")).otherwise(pl.lit("black")).alias("colour"),
        mover("_elo").alias("mover_elo"),
        opponent("_elo").alias("opponent_elo"),
        pl.col("fen").alias("position"),
        "played",
        pl.lit(False).alias("book"),
        pl.col("repeated").alias("repetition"),
        pl.lit(False).alias("only_move"),
        "event",
        pl.col("date").str.extract(r"^(\d{4})").cast(pl.Int32).alias("year"),
    )
    return TURNS.conform(turns).select(TURNS.names)
