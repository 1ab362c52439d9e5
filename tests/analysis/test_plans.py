"""Search plans, with searches made up by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import chess
import pytest

from milepost.analysis.engine.search_output import SearchLog, Value
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import (
    Evaluation,
    Plan,
    _evaluate_standard,
    _for_the_other_side,
    evaluate,
    make_plan,
)
from milepost.errors import EngineAnswerError, InputError


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
STANDARD_NUMBERS: tuple[dict[str, Any], ...] = (
    {"first_depth": 7},
    {"margin_cp": 100},
    {"at_least": 6},
)


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


def test_standard_is_content_with_fewer_moves_than_the_first_few() -> None:
    search = MadeUpSearch({"a": 900, "b": 100}, {"a": 900, "b": 20})
    found = _evaluate_standard(search, Plan("standard", 13, at_least=5), None)
    assert search.asked == [(8, ()), (13, ("a", "b"))]
    assert found.deepest == {"a": 13, "b": 13}


def test_a_change_of_how_standard_searches_is_another_set_up() -> None:
    plan = Plan("standard", 13)
    others = [Plan("standard", 12), *(replace(plan, **each) for each in STANDARD_NUMBERS)]
    assert len({each.text for each in (plan, *others)}) == 1 + len(others)


def test_plans_by_name() -> None:
    assert make_plan("quick") == Plan("quick", 10, 256)
    assert make_plan("reference").depth == 13
    assert make_plan("multipv").width == 10
    assert make_plan("multipv", depth=9, width=5).text == "multipv depth 9 width 5"
    assert make_plan("single").options["MultiPV"] == "1"
    assert make_plan("standard").text == "standard 8+13 margin 150 at least 5"


@pytest.mark.parametrize(
    ("name", "depth", "width"),
    [
        ("slow", None, None),
        ("quick", None, 5),
        ("standard", 8, None),
        ("quick", 0, None),
        ("multipv", None, 0),
        ("apart", 1, None),
    ],
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


class MadeUpEngine:
    """An engine that answers with texts made up by hand, by the position or the moves asked for."""

    name = "Made-up"
    most_lines = 500

    def __init__(self, answer: Callable[[str, tuple[str, ...]], str]):
        self.answer = answer

    def configure(self, options: dict[str, str]) -> None:
        """Takes everything."""

    def search(self, fen: str, limit: str, *, moves: tuple[str, ...] = (), timeout: float) -> bytes:
        assert limit
        assert timeout
        return (self.answer(fen, moves) + "bestmove e2e4\n").encode()


def info(depth: int, rank: int, cp: int, move: str) -> str:
    """One line of an engine."""
    return f"info depth {depth} multipv {rank} score cp {cp} nodes 5 pv {move}\n"


def run(answer: Callable[[str, tuple[str, ...]], str], plan: Plan, played: str) -> Evaluation:
    """Evaluate the usual position with a made-up engine."""
    return evaluate(cast(UciEngine, MadeUpEngine(answer)), plan, chess.STARTING_FEN, played)


def test_an_engine_that_ignores_searchmoves_is_refused() -> None:
    legal = sorted(move.uci() for move in chess.Board().legal_moves)
    every = [
        "".join(info(depth, rank, -rank, move) for rank, move in enumerate(legal, start=1))
        for depth in (1, 2)
    ]
    plan = Plan("standard", 2, first_depth=1, margin_cp=5, at_least=1)
    assert legal[-1] == "h2h4"
    with pytest.raises(EngineAnswerError, match="does not keep to searchmoves"):
        run(lambda _, only: every[1] if only else every[0], plan, "h2h4")
    # One that gives as many moves as it was asked for, but its own best ones.
    few = "".join(info(2, rank, -rank, move) for rank, move in enumerate(legal[:7], start=1))
    with pytest.raises(EngineAnswerError, match="does not keep to searchmoves"):
        run(lambda _, only: few if only else every[0], plan, "h2h4")


SINGLE = {
    True: info(1, 1, 30, "d2d4") + info(2, 1, 25, "g1f3") + info(3, 1, 28, "e2e4"),
    False: info(1, 1, -50, "e7e5") + info(2, 1, -20, "e7e5") + info(3, 1, -10, "e7e5"),
}


def test_single_has_the_best_and_the_played_move_and_no_other() -> None:
    plan = Plan("single", 3, 1)

    def answer(fen: str, _: tuple[str, ...]) -> str:
        return SINGLE[fen == chess.STARTING_FEN]

    found = run(answer, plan, "d2d4")
    assert found.moves == ("e2e4", "d2d4")
    # At depth 1 the position itself was searched with d2d4 in front: that value stays.
    assert found.values == {
        (3, "e2e4"): Value(28, None),
        (1, "d2d4"): Value(30, None),
        (2, "d2d4"): Value(20, None),
        (3, "d2d4"): Value(10, None),
    }
    assert run(answer, plan, "e2e4").moves == ("e2e4",)
    assert run(answer, plan, "a2a3").moves == ("e2e4", "a2a3")


def test_apart_values_each_move_by_the_position_behind_it() -> None:
    fen = "6k1/8/8/8/8/8/q4PPP/6K1 b - - 0 1"

    def answer(behind: str, _: tuple[str, ...]) -> str:
        replies = [move.uci() for move in chess.Board(behind).legal_moves]
        if len(replies) == 1:
            return info(1, 1, -40, replies[0])  # an engine that stops where there is no choice
        return info(1, 1, -20, replies[0]) + info(2, 1, -30, replies[-1])

    found = evaluate(cast(UciEngine, MadeUpEngine(answer)), Plan("apart", 3, 1), fen)
    assert set(found.moves) == {move.uci() for move in chess.Board(fen).legal_moves}
    assert set(found.deepest.values()) == {3}
    for mate in ("a2a1", "a2b1"):
        assert found.values[2, mate] == found.values[3, mate] == Value(None, 1)
    assert set(found.moves[:2]) == {"a2a1", "a2b1"}
    assert (found.values[2, "g8f7"], found.values[3, "g8f7"]) == (Value(20, None), Value(30, None))
    # With air for the king the same check leaves one reply: its shallow value stands for deeper.
    airy = fen.replace("PPP", "PP1").replace("/8/q", "/7P/q")
    forced = evaluate(cast(UciEngine, MadeUpEngine(answer)), Plan("apart", 3, 1), airy)
    assert forced.values[2, "a2a1"] == forced.values[3, "a2a1"] == Value(40, None)


def test_depths_beyond_the_plan_are_no_values() -> None:
    text = info(1, 1, 5, "e2e4") + info(9, 1, 7, "d2d4")
    found = run(lambda *_: text, Plan("multipv", 1, 1), "e2e4")
    assert found.values == {(1, "e2e4"): Value(5, None)}
