"""Averages of several evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.jury import Member, add_jury, average, jury_setup, parse_member
from milepost.analysis.plans import make_plan
from milepost.analysis.spreads.option_values import pawns
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError


def row(
    moves: str, *depths: tuple[int | None, ...], setup: str = "s", mates: bool = False
) -> dict[str, Any]:
    """An evaluation: moves by letter, then the values at each depth."""
    table = [list(depth) for depth in depths]
    empty = [[None] * len(depth) for depth in depths]
    return {
        "position": "p", "played": None, "setup": setup, "moves": list(moves), "nodes": 5,
        "cp": empty if mates else table, "mate": table if mates else empty,
    }  # fmt: skip


def test_values_are_averaged_depth_by_depth_and_ordered_by_the_last() -> None:
    found = average([row("ab", (10, 5), (30, 20)), row("ab", (20, 5), (10, 40))], "jury")
    assert found["moves"] == ["b", "a"]
    assert found["cp"] == [[5, 15], [30, 20]]
    assert found["nodes"] == 10
    assert found["setup"] == "jury"


def test_equal_averages_stand_in_the_first_members_order() -> None:
    found = average([row("xa", (7, 7)), row("ax", (7, 7))], "jury")
    assert found["moves"] == ["x", "a"]


def test_moves_that_a_member_lacks_are_left_out() -> None:
    assert average([row("abc", (3, 2, 1)), row("ca", (9, 9))], "jury")["moves"] == ["a", "c"]


def test_other_depths_end_with_the_average_of_the_final_values() -> None:
    found = average([row("a", (10,)), row("a", (20,), (30,), (40,))], "jury")
    # Depth 1: 10 and 20; nothing at depth 2, where only one was; the verdict: 10 and 40.
    assert found["cp"] == [[15], [None], [25]]


def test_a_shallow_value_never_stands_in_for_a_deep_one_nor_above_it() -> None:
    # c has fallen out of the first member's best few: 216 at depth 1 is no value at depth 2.
    one = row("abc", (40, 30, 216), (30, 20, None))
    two = row("abc", (40, 30, 20), (10, 20, 24))
    found = average([one, two], "jury")
    assert found["moves"] == ["a", "b", "c"]
    assert found["cp"] == [[40, 30, 118], [20, 20, None]]
    # So too if the members went to different depths.
    deeper = average([one, row("abc", (1, 2, 3), (4, 5, 6), (7, 8, 9))], "jury")
    assert deeper["moves"] == ["a", "b", "c"]
    assert deeper["cp"] == [[20, 16, 110], [17, 12, None], [18, 14, None]]


def test_moves_without_any_depth_in_common_are_left_out() -> None:
    found = average([row("ab", (1, 5), (2, None)), row("ab", (3, None), (4, 6))], "jury")
    assert (found["moves"], found["cp"]) == (["a"], [[2], [3]])


def test_nodes_that_are_not_known(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    imported = row("a", (20,), setup=two.digest) | {"nodes": None}
    store.append([row("a", (10,), setup=one.digest), imported])
    jury, new = add_jury(store, [one, two])
    assert new == 1
    assert store.read(jury.digest)["nodes"].to_list() == [None]


def test_members_that_share_no_move_give_no_average(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    store.append([row("a", (10,), setup=one.digest), row("b", (20,), setup=two.digest)])
    assert add_jury(store, [one, two])[1] == 0


def test_a_value_missing_at_a_depth_leaves_that_depth_out() -> None:
    found = average([row("a", (None,), (10,)), row("a", (4,), (20,))], "jury")
    assert found["cp"] == [[None], [15]]


def test_mates_count_as_large_values() -> None:
    found = average([row("ab", (2, -3), mates=True), row("ab", (300, -300))], "jury")
    assert found["cp"] == [[(29998 + 300) // 2, round((-29997 - 300) / 2)]]
    assert found["mate"] == [[None, None]]


def test_a_mate_is_worth_more_than_a_tablebase_win() -> None:
    # Stockfish gives 20,000 centipawns for a tablebase win.
    mate = row("ab", (5, None), mates=True) | {"cp": [[None, 19_990]]}
    members = [mate, {**mate, "moves": ["b", "a"], "cp": [[19_980, None]], "mate": [[None, 7]]}]
    found = average(members, "jury")
    assert found["moves"] == ["a", "b"]
    # Where all see the mate it stays one; so the spreads value it as those of the members.
    assert (found["mate"], found["cp"]) == ([[6, None]], [[None, 19_985]])


def test_juries_and_spreads_value_a_mate_alike() -> None:
    for cp, mate in ((None, 3), (None, -3), (None, 0), (None, 5_000), (12, None), (-40_000, None)):
        both = pawns(pl.Series([cp], dtype=pl.Int32), pl.Series([mate], dtype=pl.Int16))
        assert Value(cp, mate).cents == round(100 * both[0])


@given(st.integers(-30_000, 29_999))
def test_a_value_is_had_again_from_its_cents(cents: int) -> None:
    assert Value.of_cents(cents).cents == cents


def test_members_differ_as_a_text_says() -> None:
    first = Member(make_plan("multipv", depth=9, width=4, timeout=7.0), "fish")
    assert parse_member("depth=12", first) == Member(
        make_plan("multipv", depth=12, width=4, timeout=7.0), "fish"
    )
    other = parse_member("plan=quick;engine=bird", first)
    assert other == Member(make_plan("quick", timeout=7.0), "bird")


def test_the_jury_is_stored_beside_its_members(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    store.append([row("a", (10,), setup=one.digest), row("a", (20,), setup=two.digest)])
    jury, new = add_jury(store, [one, two])
    assert new == 1
    assert store.read(jury.digest)["cp"].to_list() == [[[15]]]
    assert len(store.read()) == 3
    assert add_jury(store, [one, two]) == (jury, 0)


def test_a_plan_that_looks_at_the_played_move_sits_with_one_that_does_not(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    quick, standard = (EngineSetup("Engine", "", (), plan) for plan in ("quick", "standard"))
    twice = [row("ab", (20, 10), setup=standard.digest) | {"played": move} for move in "ab"]
    store.append([row("ab", (10, 0), setup=quick.digest), *twice])
    jury, new = add_jury(store, [quick, standard])
    assert new == 2
    assert store.keys(jury.digest) == {("p", "a"), ("p", "b")}


def test_a_jury_of_one_is_refused() -> None:
    one = EngineSetup("Engine", "", (), "quick")
    for members in ([one], [one, one]):
        with pytest.raises(InputError, match="at least two members"):
            jury_setup(members)


def test_the_jury_does_not_depend_on_the_order_of_its_members_digests() -> None:
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    assert jury_setup([one, two]).options == jury_setup([two, one]).options
