"""Numbers of the last moves, told from the bytes: against the moves that were replayed."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games import read_games
from milepost.games.pgn.blocks import scan_blocks
from milepost.games.pgn.movetext import last_move_numbers

HEAD = b'[Event "x"]\n[White "a"]\n\n'


def numbers_of(data: bytes) -> list[int]:
    return [
        number
        for block in scan_blocks(io.BytesIO(data))
        for number in last_move_numbers(block).tolist()
    ]


@pytest.mark.parametrize(
    "name",
    [
        "mileposts/1991-1994/2100.pgn",
        "mileposts/2006-2009/1900.pgn",
        "lichess/broadcast_otb_clk_2025.pgn",
        "lichess/rapid_classical_clk_eval.pgn",
        "engines/tcec_superfinals_sample.pgn",
    ],
)
def test_numbers_are_those_of_the_replayed_games(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    text = (shared_data / name).read_bytes()
    some = b"\n\n[Event ".join(text.split(b"\n\n[Event ")[:80]) + b"\n\n"
    path = tmp_path / "some.pgn"
    path.write_bytes(some)
    games, _ = read_games([path], keep_duplicates=True)
    assert numbers_of(some) == games["full_moves"].to_list()


@pytest.mark.parametrize(
    ("movetext", "number"),
    [
        ("", 0),
        ("1-0", 0),
        (" 0-1", 0),
        ("1. e4 *", 1),
        ("1. e4 e5 2. d4 d5 3. c4 1/2-1/2", 3),
        ("1.e4 e5 2.d4 d5 3.c4 1/2-1/2", 3),
        ("1. e4 e5 {the end of a long remark, 99. Kd8} 2. d4 {98. Kd7} 1-0", 2),
        ("1. e4 (1. d4 d5 2. c4 (2. Nf3 Nf6 77. Ka1)) 1... e5 2. d4 d5 1-0", 2),
        ("1. e4 e5 2. d4 d5 ; 55. Ka1\n1-0", 2),
        ("1. e4 e5 2. d4 d5\n% 55. Ka1\n1-0", 2),
        ("41... Kd7 42. Kd2 *", 42),
        ("41... Kd7 {a long comment, longer than the tail that is looked at first} *", 41),
        ("e4 e5 d4 d5 c4 1-0", 3),  # without numbers the moves are counted: five half-moves
        ("e4 e5 O-O 0-0 1-0", 2),
        ("123. Kd2 Kd7 124. Kd1 1/2-1/2", 124),
        ("1. e4 {never closed 2. d4", 1),
        ("1. e4 e5 2. Nf3 $1 Nc6 $146 3. Bb5 a6!? 1/2-1/2", 3),
    ],
)
def test_last_number_by_hand(movetext: str, number: int) -> None:
    assert numbers_of(HEAD + movetext.encode() + b"\n") == [number]
    # And between other games, where the tail of one borders on the head of the next.
    between = HEAD + b"1. e4 e5 2. d4 1-0\n\n"
    three = between + HEAD + movetext.encode() + b"\n\n" + between
    assert numbers_of(three) == [2, number, 2]


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.integers(1, 400),
    st.booleans(),
    st.sampled_from(["", " {[%clk 0:00:01.5]}", " $7", " (9. Ka1 Ka8)", " {a} {b 77. c}"]),
    st.sampled_from(["1-0", "1/2-1/2", "*", "", "{White won on time 88. x} 1-0"]),
    st.sampled_from([". ", "."]),
)
def test_last_number_in_any_decoration(
    last: int, with_reply: bool, beside: str, result: str, dot: str
) -> None:
    moves = [f"{number}{dot}Nf3{beside} Nf6{beside}" for number in range(max(1, last - 3), last)]
    moves.append(f"{last}{dot}Ng1{beside}" + (f" {last}...Ng8{beside}" if with_reply else ""))
    assert numbers_of(HEAD + " ".join([*moves, result]).encode() + b"\n\n") == [last]


def test_number_is_that_of_the_full_reader_in_odd_games(
    read_pgn: Callable[[bytes], tuple[pl.DataFrame, pl.DataFrame]],
) -> None:
    text = (
        HEAD + b"1. e4 (1. d4) e5\n\n2. d4 {3. c4} *\n\n"
        b'[Event "x"]\n[White "b"]\n[FEN "4k3/8/8/8/8/8/8/4K3 b - - 3 41"]\n\n41... Kd7 42. Kd2 *\n'
    )
    games, _ = read_pgn(text)
    assert numbers_of(text) == games["full_moves"].to_list() == [2, 42]
