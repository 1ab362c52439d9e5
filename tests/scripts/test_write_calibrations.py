"""The script behind the shipped calibrations: which games its maps are fitted to."""

from __future__ import annotations

import polars as pl
from scripts.write_calibrations import every_other_game


def test_every_other_game_of_each_event_is_taken() -> None:
    # Two events in turns; games of several turns, one id in both events.
    table = pl.DataFrame(
        {
            "event": ["a", "a", "a", "b", "a", "b", "b", "a"],
            "game_id": ["1", "1", "2", "1", "3", "2", "3", "4"],
            "ply": [20, 21, 20, 20, 20, 20, 20, 20],
        }
    )
    chosen = every_other_game(table)
    assert chosen.rows() == [("a", "1", 20), ("a", "1", 21), ("b", "1", 20), ("a", "3", 20),
                             ("b", "3", 20)]  # fmt: skip
