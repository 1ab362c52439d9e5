"""Whose rating list a game's ratings belong to."""

from __future__ import annotations

import polars as pl
import pytest

from milepost.games.pools import is_elo, pool_of_turns


@pytest.mark.parametrize(
    ("site", "speed", "pool"),
    [
        ("https://lichess.org/abcdefgh", "blitz", "lichess blitz"),
        ("https://lichess.org/abcdefgh", None, "lichess speed not known"),
        ("https://lichess.org/study/abc/def", "classical", "over the board"),
        ("https://lichess.org/broadcast/x/y/z", None, "over the board"),
        ("https://www.chess.com/game/live/1", "rapid", "chess.com rapid"),
        ("Chess.com", "bullet", "chess.com bullet"),
        ("chess24.com INT", "blitz", "online blitz"),
        ("Moscow RUS", "classical", "over the board"),
        ("Moscow RUS", "rapid", "over the board rapid"),
        (None, None, "over the board"),
    ],
)
def test_pools(site: str | None, speed: str | None, pool: str) -> None:
    frame = pl.DataFrame(
        {"site": [site], "speed": [speed]}, schema={"site": pl.String, "speed": pl.String}
    )
    assert frame.select(pool_of_turns())["pool"][0] == pool
    assert is_elo(pool) == (pool == "over the board")
