"""Search plans, with searches made up by hand."""

from __future__ import annotations

import pytest

from milepost.analysis.plans import Plan, _evaluate_standard, _for_the_other_side, make_plan
from milepost.analysis.searchlog import SearchLog, Value
from milepost.errors import InputError


class MadeUpSearch:
    """Gives values from a table, and notes what it was asked."""

    def __init__(self, shallow: dict[str, int], deep: dict[str, int]):
        self.tables = {8: shallow, 13: deep}
        self.asked: list[tuple[int, tuple[str, ...]]] = []

    def __call__(self, depth: int, width: int, only: tuple[str, ...] = ()) -> SearchLog:
        self.asked.append((depth, only))
        chosen = only or tuple(self.tables[8])
        values = {(depth, move): Value(self.tables[depth][move], None) for move in chosen}
        order = sorted(chosen, key=lambda move: -self.tables[depth][move])
        ranks = {(depth, move): place for place, move in enumerate(order, start=1)}
        return SearchLog(values, ranks, order[0], 10)


STANDARD = Plan("standard", 13, at_least=1)


def test_standard_searches_the_promising_moves_deeper() -> None:
    search = MadeUpSearch({"a": 50, "b": -90, "c": -101, "d": -400}, {"a": 40, "b": 45})
    found = _evaluate_standard(search, STANDARD, None)
    assert search.asked == [(8, ()), (13, ("a", "b"))]  # c is 151 behind
    assert found.moves == ("b", "a", "c", "d")
    assert found.deepest == {"a": 13, "b": 13, "c": 8, "d": 8}
    assert found.values[13, "b"] == Value(45, None)
    assert (13, "c") not in found.values  # never copied from another depth
    assert found.nodes == 20


def test_standard_searches_the_first_few_however_far_behind() -> None:
    search = MadeUpSearch({"a": 900, "b": 100, "c": 50, "d": 40}, {"a": 900, "b": 90, "c": 60})
    found = _evaluate_standard(search, Plan("standard", 13, at_least=3), None)
    assert search.asked[1] == (13, ("a", "b", "c"))
    assert found.deepest["d"] == 8


def test_standard_searches_the_played_move_deeper_however_bad() -> None:
    search = MadeUpSearch({"a": 50, "d": -400}, {"a": 40, "d": -500})
    found = _evaluate_standard(search, STANDARD, "d")
    assert search.asked[1] == (13, ("a", "d"))
    assert found.deepest["d"] == 13


def test_standard_searches_what_now_stands_above_until_nothing_does() -> None:
    # a falls to -200: now b (-110 at depth 8) stands above it; b falls too: now c does.
    search = MadeUpSearch(
        {"a": 50, "b": -110, "c": -150, "d": -190, "e": -300},
        {"a": -200, "b": -160, "c": -140, "d": -195},
    )
    found = _evaluate_standard(search, STANDARD, None)
    asked = [only for _, only in search.asked]
    assert asked == [(), ("a",), ("b", "c", "d")]
    assert found.moves == ("c", "b", "d", "a", "e")


def test_a_shallower_move_is_never_listed_above_a_deeper_one() -> None:
    search = MadeUpSearch({"a": 50, "b": -90, "c": -101}, {"a": 40, "b": -300})
    found = _evaluate_standard(search, STANDARD, None)
    assert found.moves == ("a", "b", "c")  # c's -101 at depth 8 is no claim against b's -300


def test_plans_by_name() -> None:
    assert make_plan("quick") == Plan("quick", 10, 256)
    assert make_plan("reference").depth == 13
    assert make_plan("multipv").width == 10
    assert make_plan("multipv", depth=9, width=5).text == "multipv depth 9 width 5"
    assert make_plan("single").options["MultiPV"] == "1"
    assert make_plan("standard").text == "standard 8+13 margin 150 at least 5"


@pytest.mark.parametrize(
    ("name", "depth", "width"), [("slow", None, None), ("quick", None, 5), ("standard", 8, None)]
)
def test_plans_that_cannot_be(name: str, depth: int | None, width: int | None) -> None:
    with pytest.raises(InputError):
        make_plan(name, depth=depth, width=width)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (Value(30, None), Value(-30, None)),
        (Value(None, 3), Value(None, -3)),  # they mate in three
        (Value(None, -2), Value(None, 3)),  # they are mated in two more moves, after this one
    ],
)
def test_a_value_seen_from_the_other_side(theirs: Value, ours: Value) -> None:
    assert _for_the_other_side(theirs) == ours
