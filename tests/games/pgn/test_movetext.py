"""Moves, clocks and evaluations of one game: against python-chess, and odd texts by hand."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.pgn.movetext import read_moves, result_token

ScanGames = Callable[..., list[Any]]
SCHOLAR = ["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"]


def python_chess_games(path: Path, count: int) -> list[chess.pgn.Game]:
    with path.open(encoding="utf-8") as handle:
        every = iter(lambda: chess.pgn.read_game(handle), None)
        return [game for game in islice(every, count) if game is not None]


# Real games


@pytest.mark.parametrize(
    "name",
    [
        "mileposts/1976-1979/2400.pgn",
        "mileposts/2011-2014/1600.pgn",
        "lichess/rapid_classical_clk_eval.pgn",
        "lichess/broadcast_otb_clk_2025.pgn",
        "lichess/blitz_one_account.pgn",
        "engines/tcec_superfinals_sample.pgn",
    ],
)
def test_main_lines_are_those_of_python_chess(
    shared_data: Path, scan_games: ScanGames, name: str
) -> None:
    truth = python_chess_games(shared_data / name, 60)
    scanned = scan_games((shared_data / name).read_bytes())[: len(truth)]
    assert len(truth) == len(scanned) > 20
    for game, (tags, movetext, _) in zip(truth, scanned, strict=True):
        line = read_moves(movetext, fen=tags.get("FEN"))
        nodes = list(game.mainline())
        assert line.error is None
        assert line.doubts == []
        assert line.moves == [node.move.uci() for node in nodes]
        assert line.clocks == [node.clock() for node in nodes]
        assert line.elapsed == [node.emt() for node in nodes]
        scores = [None if (score := node.eval()) is None else score.white() for node in nodes]
        assert line.eval_cp == [score and score.score() for score in scores]
        assert line.eval_mate == [score and score.mate() for score in scores]
        assert line.result_token == game.headers["Result"]
        assert line.last_move_number == (nodes[-1].parent.board().fullmove_number if nodes else 0)


def test_evaluations_and_clocks_were_there_to_compare(
    shared_data: Path, scan_games: ScanGames
) -> None:
    path = shared_data / "lichess" / "rapid_classical_clk_eval.pgn"
    lines = [read_moves(game.movetext) for game in scan_games(path.read_bytes())[:60]]
    for values in ("clocks", "eval_cp", "eval_mate"):
        assert any(value is not None for line in lines for value in getattr(line, values))


# Beside the moves


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("[%clk 1:30:43]", 5443.0),  # 3600 + 30 * 60 + 43
        ("[%clk 0:00:09.5]", 9.5),
        ("[%clk  0:05:00 ]", 300.0),
        ("good [%clk 0:05:00] move [%csl Ra1]", 300.0),
        ("[%clk 5:00]", None),
        ("[%clk -0:00:01]", None),
        ("[%clk " + "9" * 400 + ":00:00]", None),
    ],
)
def test_clock(text: str, seconds: float | None) -> None:
    line = read_moves(f"1. e4 {{ {text} }} e5 1-0".encode())
    assert line.clocks == [seconds, None]
    assert line.moves == ["e2e4", "e7e5"]


def test_time_spent_is_kept_apart_from_the_clock() -> None:
    line = read_moves(b"1. e4 {[%emt 0:01:05][%clk 0:58:55]} e5 {[%emt 0:00:02.5]} *")
    assert line.elapsed == [65.0, 2.5]
    assert line.clocks == [3535.0, None]


@pytest.mark.parametrize(
    ("text", "eval_cp", "eval_mate"),
    [
        ("[%eval 0.17]", 17, None),
        ("[%eval -1.5]", -150, None),
        ("[%eval +2]", 200, None),
        ("[%eval 0.35,23]", 35, None),
        ("[%eval .5]", 50, None),
        ("[%eval #3]", None, 3),
        ("[%eval #-12,40]", None, -12),
        ("[%eval #99999999999]", None, None),  # would not fit a 32-bit column
        ("[%eval 99999999999]", None, None),
        ("[%eval nan]", None, None),
    ],
)
def test_evaluation(text: str, eval_cp: int | None, eval_mate: int | None) -> None:
    line = read_moves(f"1. e4 {{{text}}} e5 1-0".encode())
    assert line.eval_cp == [eval_cp, None]
    assert line.eval_mate == [eval_mate, None]


def test_comment_before_the_first_move_belongs_to_no_move() -> None:
    line = read_moves(b"{[%clk 1:00:00]} 1. e4 *")
    assert line.clocks == [None]


def test_comment_inside_a_variation_belongs_to_no_move_of_the_main_line() -> None:
    line = read_moves(b"1. e4 {[%clk 0:01:00]} (1. d4 {[%clk 0:09:00] [%eval 9.0]} d5) 1... e5 *")
    assert line.clocks == [60.0, None]
    assert line.eval_cp == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 $1 e5 $2 2. Qh5 $146 Nc6 3. Bc4 Nf6 4. Qxf7# $18 1-0",
        "1. e4! e5? 2. Qh5!? Nc6?! 3. Bc4!! Nf6?? 4. Qxf7#!! 1-0",
        "1.e4 e5 2.Qh5 Nc6 3.Bc4 Nf6 4.Qxf7# 1-0",
        "e4 e5 Qh5 Nc6 Bc4 Nf6 Qxf7 1-0",
        "1. e2e4 e7e5 2. Qd1h5 Nb8c6 3. Bf1-c4 Ng8-f6 4. Qh5xf7 1-0",
        "1. e4 (1. d4 d5 (1... Nf6 2. c4 (2. Nf3)) 2. c4) e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7 1-0",
        "1. e4 (1. -- e5) e5 (1... Z0 2. d4) 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0",
        "1. e4 {one\ntwo\n\nthree} e5 {a (b) c 1-0} 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0",
        "1. e4 ; the best } { move (\ne5 2. Qh5 ;(\nNc6 3. Bc4 Nf6 4. Qxf7# 1-0",
        "1. e4 e5\n% 2. d4 d5 {\n2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0",
        "1. e4 e5\n\n\n2. Qh5 Nc6\n \t \n3. Bc4 Nf6\n\n4. Qxf7# 1-0",
        "1. e4 e5\n\x0c\n2. Qh5 Nc6\n\xa0\n3. Bc4 Nf6\n4. Qxf7# 1-0",
        "1. e4 e5\r\n\r\n2. Qh5 Nc6\r\n3. Bc4 Nf6 4. Qxf7#\r\n1-0\r\n",
        "1. e4 {\n[Event \"no\"]\n} e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0",
        "1. e4 1... e5 2. Qh5 2... Nc6 3. Bc4 Nf6 4. Qxf7 1-0",
    ],
    ids=["nags", "suffixes", "tight", "no numbers", "long algebraic", "nested", "null in variation",
         "long comments", "remarks", "escapes", "blank lines", "form feed", "crlf", "tag", "dots"],
)  # fmt: skip
def test_same_game_in_many_forms(text: str) -> None:
    line = read_moves(text.encode())
    assert line.error is None
    assert line.doubts == []
    assert line.moves == SCHOLAR
    assert line.result_token in {"1-0"}
    assert line.mated == "1-0"
    assert line.last_move_number == 4


# Where reading stops


def test_illegal_move_ends_the_game_and_keeps_the_moves_before() -> None:
    line = read_moves(b"1. e4 e5 2. Qh6 Nc6 3. Bc4 1-0")
    assert line.moves == ["e2e4", "e7e5"]
    assert line.error is not None
    assert line.error.startswith("ply 3: ")
    assert "Qh6" in line.error


def test_ambiguous_move_ends_the_game() -> None:
    # After 1. Nf3 and 2. d3 both the knight on b1 and the one on f3 can go to d2.
    line = read_moves(b"1. Nf3 d5 2. d3 d4 3. Nd2 *")
    assert len(line.moves) == 4
    assert "ambiguous" in str(line.error)


@pytest.mark.parametrize("token", ["--", "Z0", "0000", "@@@@"])
def test_null_move_in_the_main_line_ends_the_game(token: str) -> None:
    line = read_moves(f"1. e4 {token} 2. d4 d5 1-0".encode())
    assert line.moves == ["e2e4"]
    assert line.error == "null move at ply 2"


def test_move_behind_the_result_ends_the_game() -> None:
    line = read_moves(b"1. e4 e5 1-0 2. d4 d5 0-1")
    assert line.moves == ["e2e4", "e7e5"]
    assert line.error == "a move behind the result 1-0"
    assert line.result_token in {"1-0"}


def test_comment_that_is_never_closed() -> None:
    line = read_moves(b"1. e4 e5 {good 2. d4 d5 1-0")
    assert line.moves == ["e2e4", "e7e5"]
    assert "not closed" in str(line.error)


def test_number_too_long_for_python_ends_the_game() -> None:
    line = read_moves(b"1. e4 $" + b"1" * 5_000 + b" e5 *")
    assert line.moves == ["e2e4"]
    assert line.error is not None


# Doubts


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1. e4 hello e5 1-0", "hello"),
        ("1. e4 e5 Event: x 1-0", "Event:"),
        ("1. e4 e5 <diagram> 1-0", "<diagram>"),
        ("1. e4 e5 (never closed 1-0", "never"),
    ],
)
def test_text_that_is_no_move_is_a_doubt(text: str, word: str) -> None:
    line = read_moves(text.encode())
    assert any("no move" in doubt and word in doubt for doubt in line.doubts), line.doubts


def test_no_result_behind_the_moves_is_a_doubt() -> None:
    line = read_moves(b"1. e4 e5 2. d4")
    assert line.error is None
    assert line.doubts == ["no result behind the moves: cut short?"]


@pytest.mark.parametrize("text", ["1-0", " *", "{forfeit} 0-1"])
def test_game_without_moves_is_no_doubt(text: str) -> None:
    line = read_moves(text.encode())
    assert (line.moves, line.error, line.doubts) == ([], None, [])
    assert line.last_move_number == 0


# Set-up positions and Chess960


def test_black_to_move_in_a_set_up_position() -> None:
    line = read_moves(b"41... Kd7 42. Kd2 *", fen="4k3/8/8/8/8/8/8/4K3 b - - 3 41")
    assert line.moves == ["e8d7", "e1d2"]
    assert line.last_move_number == 42


@pytest.mark.parametrize(
    "fen",
    ["x", "8/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/8/4K3 q - - 0 1", "4k3/8/8/8/8/8/8/4R3 w - -",
     "4k2R/8/8/8/8/8/8/4K3 w - - 0 1"],
    ids=["no fen", "no kings", "no side", "one king", "king can be taken"],
)  # fmt: skip
def test_fen_that_is_no_legal_position(fen: str) -> None:
    line = read_moves(b"1. Kd2 *", fen=fen)
    assert line.moves == []
    assert "FEN tag is not a" in str(line.error)


def test_chess960_castling_is_king_takes_rook() -> None:
    # Bishops f1/f8 and knights g1/g8 gone: king e1 and rook h1 stand as usual, which python-chess
    # writes as e1h1 in Chess960.
    fen = "rnbqk2r/pppppppp/8/8/8/8/PPPPPPPP/RNBQK2R w KQkq - 0 1"
    assert read_moves(b"1. O-O O-O *", fen=fen, chess960=True).moves == ["e1h1", "e8h8"]
    assert read_moves(b"1. O-O 0-0 *", fen=fen).moves == ["e1g1", "e8g8"]


def test_chess960_castling_from_an_unusual_place() -> None:
    # King b1, rooks a1 and h1: castling long puts the king on c1 and the rook on d1.
    fen = "rk5r/pppppppp/8/8/8/8/PPPPPPPP/RK5R w KQkq - 0 1"
    line = read_moves(b"1. O-O-O O-O *", fen=fen, chess960=True)
    assert line.error is None
    assert line.moves == ["b1a1", "b8h8"]


# Anything at all


PIECES = st.sampled_from(
    ["1. ", "e4 ", "e5 ", "Nf3 ", "O-O ", "-- ", "{", "}", "(", ")", ";", "\n", "\n\n", "$5 ", "$",
     "1-0 ", "* ", "%", "[", '[Event "x"]', "[%clk 0:00:01]", "[%eval #1]", "é", "\x00", "²", "_"]
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=400)
@given(st.lists(PIECES, max_size=25))
def test_any_text_is_read_without_an_exception(pieces: list[str]) -> None:
    line = read_moves("".join(pieces).encode())
    board = chess.Board()
    for uci in line.moves:
        board.push_uci(uci)  # raises if it is not legal
    lengths = {len(line.clocks), len(line.elapsed), len(line.eval_cp), len(line.eval_mate)}
    assert lengths == {len(line.moves)}


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    line = read_moves(data)
    assert len(line.moves) == len(line.clocks) == len(line.eval_cp)


@pytest.mark.parametrize("letter", "_=.")
def test_long_runs_of_signs_are_not_searched_from_each_of_them(letter: str) -> None:
    # With time growing as the square, this would take an hour: the test would never end.
    assert read_moves(b"1. e4 " + letter.encode() * 400_000 + b" 1-0").moves == ["e2e4"]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.floats(0, 359_999).map(lambda seconds: math.floor(seconds * 10) / 10))
def test_clocks_written_by_python_chess_are_read_back(seconds: float) -> None:
    game = chess.pgn.Game()
    game.add_main_variation(chess.Move.from_uci("e2e4")).set_clock(seconds)
    written = io.StringIO()
    print(game.mainline(), game.headers["Result"], file=written)
    node = game.next()
    assert node is not None
    assert read_moves(written.getvalue().encode()).clocks == [node.clock()]


@pytest.mark.parametrize(
    ("text", "token"),
    [("1. e4 1-0\n\n", "1-0"), ("1. e4 1/2-1/2", "1/2-1/2"), ("*", "*"), ("1. e4", None),
     ("1. e4 0-1 {x}", None), ("", None)],
)  # fmt: skip
def test_result_token_stands_at_the_end(text: str, token: str | None) -> None:
    assert result_token(text.encode()) == token


def test_nothing_behind_the_tags_is_a_doubt() -> None:
    assert read_moves(b"").doubts == ["no result and no moves behind the tags: cut short?"]
