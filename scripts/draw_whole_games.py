"""Draw the whole games from which the shipped calibration's spread of players was measured.

    python scripts/draw_whole_games.py turns.parquet -o whole.parquet
    milepost analyse whole.parquet --store whole-games

`turns.parquet` is what `milepost turns mileposts/2011-2014` writes. Up to five players of each
hundred of Elo who have at least four games, and four games of each; in an order by hash, so that a
run of the engine that was cut short has evaluated a random part of the games.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import polars as pl

PLAYERS, GAMES = 5, 4


def draw(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of the drawn games that count."""
    counted = turns.filter(~pl.col("book") & ~pl.col("repetition") & ~pl.col("only_move"))
    players = (
        counted.group_by("mover")
        .agg(pl.col("game_id").n_unique().alias("games"), pl.col("mover_elo").mean().alias("elo"))
        .filter(pl.col("games") >= GAMES)
        .with_columns(
            (pl.col("elo") / 100).round().alias("band"), pl.col("mover").hash(seed=7).alias("place")
        )
        .sort("place")
        .group_by("band", maintain_order=True)
        .head(PLAYERS)
    )
    key = pl.col("mover") + pl.col("game_id")
    games = (
        counted.filter(pl.col("mover").is_in(players["mover"].to_list()))
        .select("mover", "game_id")
        .unique()
        .with_columns(key.hash(seed=7).alias("place"))
        .sort("place")
        .group_by("mover", maintain_order=True)
        .head(GAMES)
    )
    drawn = counted.join(games.select("mover", "game_id"), on=["mover", "game_id"], how="inner")
    return drawn.with_columns(key.hash(seed=9).alias("place")).sort("place", "ply").drop("place")


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the games."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args(arguments)
    found = draw(pl.read_parquet(options.turns))
    found.write_parquet(options.output)
    print(f"{len(found):,} turns of {found['game_id'].n_unique():,} games -> {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
