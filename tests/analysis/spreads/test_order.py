"""Turns in any order make the same decisions: neighbours are found by counting, or by joins."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from milepost.analysis.spreads.build import make_decisions
from milepost.analysis.spreads.game_order import GameOrder
from milepost.analysis.spreads.option_values import option_values, pawns
from milepost.analysis.store.store import EvaluationStore
from milepost.games.load import read_turns

SAMPLE = Path(str(files("milepost") / "data" / "sample"))


def test_turns_in_any_order_make_the_same_decisions() -> None:
    turns, _ = read_turns(SAMPLE / "games.pgn")
    store = EvaluationStore(SAMPLE / "evaluations")
    shuffled = turns.sample(fraction=1.0, shuffle=True, seed=5)
    assert GameOrder.of(turns) is not None
    assert GameOrder.of(shuffled) is None
    key = ["game_id", "ply"]
    one, two = (
        make_decisions(turns, store, limit_pawns=20),
        make_decisions(shuffled, store, limit_pawns=20),
    )
    assert one.counts == two.counts
    assert one.table.sort(key).equals(two.table.sort(key))


def test_gaps_have_no_neighbours() -> None:
    turns = pl.DataFrame({"game_id": ["a", "a", "a", "b"], "ply": [1, 3, 4, 5]})
    order = GameOrder.of(turns)
    assert order is not None
    assert order.before(1).tolist() == [-1, -1, 1, -1]
    assert order.before(2).tolist() == [-1, 0, -1, -1]


def test_a_game_that_goes_on_after_another_is_in_no_order() -> None:
    assert GameOrder.of(pl.DataFrame({"game_id": ["a", "b", "a"], "ply": [1, 1, 2]})) is None
    assert GameOrder.of(pl.DataFrame({"game_id": ["a", "a"], "ply": [2, 1]})) is None


def test_values_are_those_of_the_plain_formula() -> None:
    rng = np.random.default_rng(3)
    cp = [int(value) for value in rng.integers(-40_000, 40_000, 60)]
    mate = [int(value) if place % 4 == 0 else None for place, value in
            enumerate(rng.integers(-300, 300, 60))]  # fmt: skip
    row = pl.DataFrame(
        {"moves": [[f"a1a{place}" for place in range(60)]], "cp": [[cp]], "mate": [[mate]]},
        schema_overrides={"cp": pl.List(pl.List(pl.Int32)), "mate": pl.List(pl.List(pl.Int16))},
    )
    expected = pawns(pl.Series(cp), pl.Series(mate, dtype=pl.Int16))
    assert option_values(row)["values"][0].to_list() == sorted(expected.tolist(), reverse=True)
