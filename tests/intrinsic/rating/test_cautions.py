"""Cautions beside ratings that come from marks of the turns."""

from __future__ import annotations

import polars as pl
from tests.intrinsic.tables import SETUP, league_table, true_calibration

from milepost.api.decisions import score_doubts_told
from milepost.intrinsic.rating.rate import rate


def test_possible_errors_of_the_game_score_are_a_caution() -> None:
    table = league_table(2, 3, 12)
    doubted = (pl.col("mover") == "Player 0") & (pl.col("move_number") == 9)
    marked = table.with_columns(pl.when(doubted).then(True).alias("score_doubt"))
    found = rate(marked, true_calibration(), ["player"], setup=SETUP, competence=False)
    told = dict(found.select("player", "warnings").iter_rows())
    assert "possible errors of the game score: 3" in told["Player 0"]
    assert "game score" not in told["Player 1"]
    assert score_doubts_told(marked) == (
        "3 of 72 turns (416.7 in 10,000) may be errors of the game score: both sides overlook "
        "more than five pawns in a row"
    )
    # Nothing is told of tables that do not know, or know of none.
    assert score_doubts_told(table) == ""
    assert score_doubts_told(marked.with_columns(score_doubt=pl.lit(False))) == ""
