"""FENs written rank by rank: those of python-chess to the letter."""

from __future__ import annotations

from pathlib import Path

import chess
import chess.pgn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.turns.fen import FenWriter

CHOICES = st.lists(st.integers(0, 10_000), max_size=120)

SET_UPS = [
    "4k3/P6P/8/8/8/8/p6p/4K3 w - - 0 1",  # promotions on both ends
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # a pinned en-passant capture
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "4k3/8/8/8/8/8/8/R3K3 w Q - 99 150",
]


def without_counters(board: chess.Board) -> str:
    return " ".join(board.fen().split()[:4])


def play_at_random(board: chess.Board, choices: list[int]) -> None:
    """Play legal moves by number and compare before each of them."""
    writer = FenWriter(board)
    assert writer.placement() == without_counters(board)
    for choice in choices:
        moves = list(board.legal_moves)
        if not moves:
            break
        # Castling, promotion and en passant are rare at random: they come first, often.
        special = [m for m in moves if board.is_castling(m) or board.is_en_passant(m)]
        move = special[0] if special and choice % 2 else moves[choice % len(moves)]
        writer.will_play(move)
        board.push(move)
        assert writer.placement() == without_counters(board), board.move_stack


@pytest.mark.parametrize("name", ["sample/games.pgn", "famous_games.pgn"])
def test_all_positions_of_the_bundled_games(bundled_data: Path, name: str) -> None:
    positions = 0
    with (bundled_data / name).open(encoding="utf-8") as handle:
        while (game := chess.pgn.read_game(handle)) is not None:
            board = game.board()
            writer = FenWriter(board)
            for move in game.mainline_moves():
                writer.will_play(move)
                board.push(move)
                assert writer.placement() == without_counters(board)
                positions += 1
    assert positions > 400


@settings(deadline=None, derandomize=True, max_examples=60)
@given(CHOICES)
def test_random_games(choices: list[int]) -> None:
    play_at_random(chess.Board(), choices)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(CHOICES, st.integers(0, 959))
def test_random_chess960_games(choices: list[int], array: int) -> None:
    play_at_random(chess.Board.from_chess960_pos(array), choices)


@pytest.mark.parametrize("fen", SET_UPS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(CHOICES)
def test_random_games_from_set_up_positions(fen: str, choices: list[int]) -> None:
    play_at_random(chess.Board(fen), choices)


def test_positions_that_were_not_asked_for_are_followed_move_by_move() -> None:
    # `placement` may be called at any time, also twice at one position.
    board = chess.Board()
    writer = FenWriter(board)
    for uci in ("e2e4", "c7c5"):
        move = chess.Move.from_uci(uci)
        writer.will_play(move)
        board.push(move)
        assert writer.placement() == writer.placement() == without_counters(board)
