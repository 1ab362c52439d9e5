"""Evaluations read as those of a shallower plan: the right set-up, the right values."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import milepost as mp
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.plans import PLANS, Plan, make_plan
from milepost.analysis.spreads.build import make_decisions
from milepost.analysis.store.reading import find_reading
from milepost.errors import InputError


@pytest.fixture(scope="module")
def store(bundled_data: Path) -> mp.EvaluationStore:
    return mp.open_store(bundled_data / "sample" / "evaluations")


@pytest.fixture(scope="module")
def turns(bundled_data: Path) -> pl.DataFrame:
    found, _ = mp.read_turns(bundled_data / "sample" / "games.pgn")
    return found.head(400)


def test_a_whole_search_holds_the_shallower_ones() -> None:
    quick, bullet = make_plan("quick"), make_plan("bullet")
    assert quick.holds(bullet)
    assert quick.holds(quick)
    assert not bullet.holds(quick)
    assert make_plan("reference").holds(quick)
    assert not make_plan("standard").holds(bullet)  # its deep searches leave moves out
    assert not quick.holds(Plan("bullet", 6, hash_mb=32))  # another hash has other values
    for name in PLANS:
        assert make_plan(name).holds(bullet) == (name in {"bullet", "quick", "reference"})


def test_quick_is_read_as_bullet_under_the_set_up_of_bullet(store: mp.EvaluationStore) -> None:
    reading = find_reading(store, None, make_plan("bullet"))
    options = (("Hash", "16"), ("MultiPV", "256"), ("Threads", "1"))
    own = EngineSetup("Stockfish 15.1", "nn-ad9b42354671.nnue", options, "bullet depth 6 width 256")
    assert reading.setup == own.digest
    assert reading.stored == "402e5f08073ffa6d"
    assert reading.depth == 6
    assert reading.details["cut_from"] == "402e5f08073ffa6d, quick depth 10 width 256"
    for digest in (own.digest, reading.stored):
        assert find_reading(store, digest[:5], make_plan("bullet")) == reading
    assert find_reading(store, None, make_plan("quick")) == find_reading(store)


@pytest.mark.parametrize("name", ["standard", "reference", "single"])
def test_what_a_store_does_not_hold_is_refused(store: mp.EvaluationStore, name: str) -> None:
    with pytest.raises(InputError, match=f"no evaluations of the plan {name}"):
        find_reading(store, None, make_plan(name))


def test_a_cut_has_the_values_of_its_depth(store: mp.EvaluationStore, turns: pl.DataFrame) -> None:
    whole = make_decisions(turns, store, limit_pawns=1e3)
    cut = make_decisions(turns, store, limit_pawns=1e3, depth=6)
    assert len(cut.table) == len(whole.table)
    for row in range(len(cut.table)):
        old = dict(zip(whole.moves[row], whole.table["depth_values"][row][5], strict=True))
        assert [old[move] for move in cut.moves[row]] == cut.table["values"][row].to_list()
        assert cut.moves[row][cut.table["chosen"][row]] == cut.table["played"][row]
        assert len(cut.table["depth_values"][row]) == 6
        assert cut.table["values"][row].is_sorted(descending=True)


def test_decisions_of_a_quick_store_may_be_read_as_bullet(
    store: mp.EvaluationStore, turns: pl.DataFrame, tmp_path: Path
) -> None:
    quick, bullet = mp.decisions(turns, store), mp.decisions(turns, store, plan="bullet")
    assert quick.plan == make_plan("quick")
    assert bullet.plan == make_plan("bullet")
    assert bullet.setup_text.endswith("bullet depth 6 width 256")
    # The limit is on the values as they are read, so the turns are not quite the same.
    assert 0 < abs(len(quick) - len(bullet)) < 0.2 * len(quick)
    bullet.save(tmp_path / "bullet.parquet")
    again = mp.decisions(tmp_path / "bullet.parquet")
    assert again.setup == bullet.setup
    assert again.plan == bullet.plan
