"""Pools: whose rating list a rating in a game's tags belongs to.

A rating means something beside ratings of the same list only. FIDE keeps one for each speed; a
server keeps its own, again one for each speed. The address of the game says which it is. A lichess
study or broadcast shows games over the board: its ratings are FIDE's.
"""

from __future__ import annotations

import polars as pl

OVER_THE_BOARD = "over the board"
ELO_POOL = OVER_THE_BOARD
"""The pool whose ratings the calibrations speak: FIDE's, slow games over the board."""
LICHESS, CHESS_COM, ONLINE = "lichess", "chess.com", "online"
_SPEED_NOT_KNOWN = "speed not known"
_ONLINE_WORDS = r"(?i)\bint$|\binternet\b|\bonline\b|playchess|chess24|tornelo"


def pool_of_turns() -> pl.Expr:
    """Return the pool of each turn or game, by its columns `site` and `speed`.

    ``"over the board"`` stands for slow games there, and for those that do not say their speed;
    other pools are named by place and speed: ``"lichess blitz"``, ``"over the board rapid"``.
    """
    site = pl.col("site").fill_null("")
    on_lichess = site.str.contains(r"(?i)lichess\.org")
    shown_there = site.str.contains(r"(?i)lichess\.org/(?:study|broadcast)/")
    where = (
        pl.when(on_lichess & ~shown_there)
        .then(pl.lit(LICHESS))
        .when(site.str.contains(r"(?i)chess\.com"))
        .then(pl.lit(CHESS_COM))
        .when(~on_lichess & site.str.contains(_ONLINE_WORDS))
        .then(pl.lit(ONLINE))
        .otherwise(pl.lit(OVER_THE_BOARD))
    )
    speed = pl.col("speed")
    slow = (where == OVER_THE_BOARD) & (speed.is_null() | (speed == "classical"))
    named = pl.concat_str(where, speed.fill_null(_SPEED_NOT_KNOWN), separator=" ")
    return pl.when(slow).then(where).otherwise(named).alias("pool")


def is_elo(pool: str) -> bool:
    """Whether ratings of a pool are Elos as the calibrations mean them."""
    return pool == ELO_POOL
