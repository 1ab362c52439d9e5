"""The room that a move leaves a bare king."""

from __future__ import annotations

import chess
import pytest

from milepost.analysis.spreads.bare_king import is_bare, king_room


def rooms(fen: str) -> dict[str, float]:
    board = chess.Board(fen)
    assert is_bare(board)
    moves = [move.uci() for move in board.legal_moves]
    return dict(zip(moves, king_room(board, moves), strict=True))


def test_cutting_the_king_off_leaves_less_room() -> None:
    found = rooms("8/8/8/4k3/8/8/R7/4K3 w - - 0 1")
    assert found["a2a4"] < found["a2a3"] < found["a2a1"]


def test_a_mate_leaves_none_and_a_stalemate_most() -> None:
    found = rooms("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    assert found["g6g7"] == 0  # mate
    assert found["f6f7"] == found["g6f7"] == max(found.values())  # stalemates
    assert found["g6g5"] < found["g6f7"]


def test_a_rook_left_to_be_taken_counts_as_lost() -> None:
    found = rooms("8/8/8/4k3/8/8/R7/K7 w - - 0 1")
    board = chess.Board("8/8/8/4k3/8/8/R7/K7 w - - 0 1")
    assert found["a2e2"] < 200
    assert king_room(board, ["a2a5"])[0] < 200
    assert max(found.values()) < 200
    assert rooms("8/8/8/8/8/3k4/8/K1R5 w - - 0 1")["c1c3"] == 200


def test_going_back_to_an_earlier_position_counts_as_more_room() -> None:
    board = chess.Board("8/8/8/4k3/8/8/R7/4K3 w - - 0 1")
    fresh = king_room(board, ["a2a4"])[0]
    for text in ("a2a4", "e5d5", "a4a2", "d5e5"):
        board.push_uci(text)
    assert king_room(board, ["a2a4"])[0] > fresh


def test_it_is_for_bare_kings_only() -> None:
    assert not is_bare(chess.Board())


@pytest.mark.parametrize(
    ("men", "by_the_method"),
    [("R", True), ("Q", True), ("BN", True), ("P", False), ("BP", False), ("RP", True)],
)
def test_the_method_is_for_men_that_can_mate(men: str, by_the_method: bool) -> None:
    """With pawns alone the king must not be driven: the pawn has to be led to its promotion."""
    board = chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 0 1")
    for square, man in zip((chess.B3, chess.C3), men, strict=False):
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    assert is_bare(board) is by_the_method
