"""Averages of several evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from milepost.analysis.engines import EngineSetup
from milepost.analysis.jury import add_jury, average, jury_setup
from milepost.analysis.store import EvaluationStore
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
    found = average([row("a", (10,)), row("a", (20,), (40,))], "jury")
    assert found["cp"] == [[15], [25]]  # depth 1: 10 and 20; last: 10 and 40


def test_a_value_missing_at_a_depth_leaves_that_depth_out() -> None:
    found = average([row("a", (None,), (10,)), row("a", (4,), (20,))], "jury")
    assert found["cp"] == [[None], [15]]


def test_mates_count_as_large_values() -> None:
    found = average([row("ab", (2, -3), mates=True), row("ab", (300, -300))], "jury")
    assert found["cp"] == [[(9998 + 300) // 2, round((-9997 - 300) / 2)]]
    assert found["mate"] == [[None, None]]


def test_the_jury_is_stored_beside_its_members(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "store", create=True)
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    store.append([row("a", (10,), setup=one.digest), row("a", (20,), setup=two.digest)])
    jury, new = add_jury(store, [one, two])
    assert new == 1
    assert store.read(jury.digest)["cp"].to_list() == [[[15]]]
    assert len(store.read()) == 3
    assert add_jury(store, [one, two]) == (jury, 0)


def test_a_jury_of_one_is_refused() -> None:
    one = EngineSetup("Engine", "", (), "quick")
    for members in ([one], [one, one]):
        with pytest.raises(InputError, match="at least two members"):
            jury_setup(members)


def test_the_jury_does_not_depend_on_the_order_of_its_members_digests() -> None:
    one, two = (EngineSetup(f"Engine {n}", "", (), "quick") for n in (1, 2))
    assert jury_setup([one, two]).options == jury_setup([two, one]).options
