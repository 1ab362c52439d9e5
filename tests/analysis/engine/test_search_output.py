"""An engine's output, taken apart."""

from __future__ import annotations

import pytest

from milepost.analysis.engine.search_output import SearchLog, Value, parse_search
from milepost.errors import EngineAnswerError

USUAL = "info depth 3 seldepth 3 multipv 1"


def line(depth: int, rank: int, score: str, move: str, extra: str = "") -> str:
    """One info line in Stockfish's order of words."""
    return (
        f"info depth {depth} seldepth {depth + 3} multipv {rank} score {score}{extra} "
        f"nodes {depth * 100 + rank} nps 1000 hashfull 0 tbhits 0 time 1 pv {move} e7e5"
    )


def log(*lines: str, best: str = "bestmove e2e4 ponder e7e5") -> SearchLog:
    """Parse these lines."""
    return parse_search("\n".join([*lines, best, ""]).encode())


def test_every_depth_and_move_is_kept() -> None:
    found = log(
        line(1, 1, "cp 20", "e2e4"), line(1, 2, "cp 10", "d2d4"), line(2, 1, "cp 5", "d2d4")
    )
    assert found.values == {
        (1, "e2e4"): Value(20, None),
        (1, "d2d4"): Value(10, None),
        (2, "d2d4"): Value(5, None),
    }
    assert found.depth == 2
    assert found.nodes == 201
    assert found.best == "e2e4"


def test_the_last_of_reprinted_lines_counts() -> None:
    found = log(line(3, 1, "cp 20", "e2e4"), line(3, 1, "cp 31", "e2e4"))
    assert found.values[3, "e2e4"] == Value(31, None)


def test_bounds_are_no_values() -> None:
    found = log(
        line(3, 1, "cp 20", "e2e4"),
        line(4, 1, "cp 60", "e2e4", " lowerbound"),
        line(4, 2, "cp 9", "d2d4", " upperbound"),
    )
    assert set(found.values) == {(3, "e2e4")}


def test_mates_stay_mates_and_order_with_centipawns() -> None:
    found = log(
        line(5, 1, "mate 5", "a2a3"),
        line(5, 2, "mate 2", "b2b3"),
        line(5, 3, "cp 30000", "c2c3"),
        line(5, 4, "cp -40", "d2d3"),
        line(5, 5, "mate -9", "e2e3"),
        line(5, 6, "mate -1", "f2f3"),
    )
    assert found.moves_at(5) == ["b2b3", "a2a3", "c2c3", "d2d3", "e2e3", "f2f3"]
    assert found.values[5, "f2f3"] == Value(None, -1)


def test_the_engines_order_stands_in_ties() -> None:
    found = log(line(5, 1, "cp 0", "h2h3"), line(5, 2, "cp 0", "a2a3"), line(5, 3, "cp 0", "d2d3"))
    assert found.moves_at(5) == ["h2h3", "a2a3", "d2d3"]


def test_words_in_another_order_and_fewer_of_them() -> None:
    found = log(
        "info depth 4 score cp 12 time 3 nodes 55 pv g1f3 g8f6",
        "info depth 4 multipv 2 pv d2d4 score cp 7",
        "info string depth 9 score nonsense",
        "info depth 5 currmove e2e4 currmovenumber 1",
        "info nodes 1000 nps 5",
    )
    assert found.values == {(4, "g1f3"): Value(12, None), (4, "d2d4"): Value(7, None)}


def test_no_legal_move() -> None:
    found = log("info depth 0 score mate 0", best="bestmove (none)")
    assert found.best is None
    assert found.values == {}


@pytest.mark.parametrize(
    "lines",
    [
        ["info depth x score cp 3 pv e2e4", "bestmove e2e4"],
        ["info depth 3 score cp three pv e2e4", "bestmove e2e4"],
        ["info depth 3 score pawns 3 pv e2e4", "bestmove e2e4"],
        ["info depth 3 score cp 3 pv banana", "bestmove e2e4"],
        ["info depth 3 score cp 99999999999 pv e2e4", "bestmove e2e4"],
        ["info depth 3 score mate 99999 pv e2e4", "bestmove e2e4"],
        ["info depth 99999 score cp 3 pv e2e4", "bestmove e2e4"],
        [f"info depth 3 score cp 3 nodes {'9' * 30} pv e2e4", "bestmove e2e4"],
        [f"{USUAL} score cp {'9' * 5000} nodes 1 nps 1 pv e2e4", "bestmove e2e4"],
        [f"{USUAL} score cp 3 nodes 1 nps 1 pv banana", "bestmove e2e4"],
        [f"{USUAL} score cp 3 nodes 1 nps 1 pv \udcff\udcfe", "bestmove e2e4"],
        ["bestmove"],
        ["bestmove banana"],
        ["info depth 1 seldepth 1 multipv 1 score cp 3 nodes 1 pv e2e4"],
    ],
)
def test_nonsense_is_an_error(lines: list[str]) -> None:
    with pytest.raises(EngineAnswerError):
        parse_search("\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))


def test_words_may_stand_in_any_order() -> None:
    output = (
        b"info multipv 1 depth 4 score cp 7 nodes 9 pv e2e4 e7e5\n"
        b"info time 3 pv d2d4 d7d5 multipv 2 score mate 3 depth 4\n"
        b"info string depth 4 multipv 3 score cp 1 pv a2a3\n"
        b"info score cp 5 pv h2h3\n"  # at which depth?
        b"info depth 5 currmove e2e4 currmovenumber 1\n"
        b"bestmove e2e4\n"
    )
    log = parse_search(output)
    assert log.values == {(4, "e2e4"): Value(7, None), (4, "d2d4"): Value(None, 3)}
    assert log.ranks == {(4, "e2e4"): 1, (4, "d2d4"): 2}


def test_bytes_that_are_no_text_behind_the_move() -> None:
    usual = b"info depth 1 seldepth 1 multipv 1 score cp 3 nodes 1 nps 1 pv e2e4 \xff\xfe\n"
    other = b"info depth 2 score cp 4 pv e2e4 \xff\xfe\n"
    log = parse_search(usual + other + b"bestmove e2e4 ponder \xff\n")
    assert log.values == {(1, "e2e4"): Value(3, None), (2, "e2e4"): Value(4, None)}
    with pytest.raises(EngineAnswerError):
        parse_search(b"info depth 2 score cp 4 pv \xff\xfe\nbestmove e2e4\n")
