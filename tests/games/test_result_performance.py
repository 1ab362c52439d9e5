"""Performance by results against brute force and worked examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import milepost as mp


def results(scores: list[float], elos: Sequence[int | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time": [2000.0] * len(scores),
            "player_1": ["me"] * len(scores),
            "player_2": [f"o{i}" for i in range(len(scores))],
            "score": [float(score) for score in scores],
            "elo_1": [None] * len(scores),
            "elo_2": elos,
        },
        schema_overrides={"elo_1": pl.Int32, "elo_2": pl.Int32},
    )


def mine(table: pl.DataFrame) -> dict[str, float]:
    return mp.result_performances(table).filter(pl.col("player") == "me").row(0, named=True)


def test_even_score_against_equals_is_their_rating() -> None:
    assert mine(results([0.5] * 4, [2000] * 4))["performance"] == pytest.approx(2000)


def test_the_logistic_by_hand() -> None:
    # 3 of 4 against 2000: odds 3 to 1, so 400 log10(3) above them.
    row = mine(results([1, 1, 0.5, 0.5], [2000] * 4))
    assert row["performance"] == pytest.approx(2000 + 400 * math.log10(3))
    # The information of a game is p (1 - p) (ln 10 / 400)^2.
    error = 1 / (math.log(10) / 400 * math.sqrt(4 * 0.75 * 0.25))
    assert row["high"] - row["performance"] == pytest.approx(1.959964 * error, rel=1e-6)


def test_mixed_opponents_by_brute_force() -> None:
    elos, scores = [1800, 2100, 2300, 2450], [1, 0.5, 1, 0]
    grid = np.arange(1500, 3000, 0.01)
    expected = sum(1 / (1 + 10 ** ((elo - grid) / 400)) for elo in elos)
    best = grid[np.argmin(np.abs(expected - sum(scores)))]
    assert mine(results(scores, elos))["performance"] == pytest.approx(best, abs=0.02)


def test_all_or_no_points_have_no_bound_and_unknown_elos_are_left_out() -> None:
    assert mine(results([1, 1], [2000, 2100]))["performance"] is None
    assert mine(results([0, 0], [2000, 2100]))["performance"] is None
    row = mine(results([1, 0.5, 0.5], [None, 2000, 2000]))
    assert (row["games"], row["rated_games"], row["points"]) == (3, 2, 2.0)
    assert row["performance"] == pytest.approx(2000)
    assert mine(results([1], [None]))["opponents"] is None


def test_the_level_of_a_pool() -> None:
    table = {"time": [1990, 1990, 1991], "player_1": ["A", "B", "A"], "player_2": ["B", "C", "C"],
             "score": [1.0, 1.0, 0.5]}  # fmt: skip
    history = mp.fit_history(pl.DataFrame(table), mp.TTT(beta=200.0, tau=25.0))
    levels = mp.api.histories.pool_levels(history)
    curves = history.curves.filter(pl.col("time") == 1990)
    assert levels["players"].to_list() == [3, 2]
    assert levels["games"].to_list() == [2, 1]
    assert levels["median"][0] == pytest.approx(float(np.median(curves["mean"])))
