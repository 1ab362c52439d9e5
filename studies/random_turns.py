"""Random turns of games: turns of every player's game in the order of a salted hash.

The first turns of the order are one of every player's game, then come the second ones, and so on:
so any number taken from its beginning is spread as thin over players and games as it can be. All
periods of docs/joint.md and the title matches are drawn like this: one design for all.

    python -m studies.random_turns TURNS OUT LAST [FIRST]

TURNS is a table of turns (``milepost turns``); OUT gets the turns of the order from FIRST (0) up to
LAST. Book moves, repetitions and forced moves are not drawn.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import polars as pl

SALT = "papers2026"


def in_order(turns: pl.DataFrame, salt: str = SALT) -> pl.DataFrame:
    """Return the turns that can be drawn, in the order of the draw.

    A column `nth` says for each which turn of its player's game it is in that order, from 1.
    """
    turns = turns.filter(~pl.col("book") & ~pl.col("repetition") & ~pl.col("only_move"))
    places = [
        hashlib.sha256(f"{salt}:{game}:{ply}".encode()).hexdigest()[:16]
        for game, ply in turns.select("game_id", "ply").iter_rows()
    ]
    nth = pl.col("place").rank("ordinal").over("game_id", "mover")
    turns = turns.with_columns(place=pl.Series(places, dtype=pl.String)).with_columns(nth=nth)
    return turns.sort("nth", "place").drop("place")


def main(source: Path, target: Path, last: int, first: int = 0) -> None:
    """Write some turns of the order."""
    drawn = in_order(pl.read_parquet(source))[first:last].drop("nth")
    drawn.write_parquet(target)
    games = drawn.select("game_id", "mover").unique().height
    print(f"{drawn.height:,} turns of {games:,} player-games -> {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *(int(each) for each in sys.argv[3:]))
