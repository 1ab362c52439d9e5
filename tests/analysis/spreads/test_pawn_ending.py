"""King and pawn against king: the rules of chess themselves prove the tables."""

from __future__ import annotations

import math
import random

import chess
import numpy as np

from milepost.analysis.spreads.pawn_ending import (
    _solved,
    is_pawn_ending,
    steps_to_promotion,
)


def led_to(board: chess.Board) -> list[float]:
    return [float(x) for x in steps_to_promotion(board, [m.uci() for m in board.legal_moves])]


def random_ending(chance: random.Random) -> chess.Board:
    """Either side has the pawn, either side is to move."""
    while True:
        board = chess.Board(None)
        pawn, ours, theirs = chance.randrange(8, 56), *chance.sample(range(64), 2)
        side, turn = chance.random() < 0.5, chance.random() < 0.5
        if pawn in (ours, theirs):
            continue
        board.set_piece_at(pawn, chess.Piece(chess.PAWN, side))
        board.set_piece_at(ours, chess.Piece(chess.KING, side))
        board.set_piece_at(theirs, chess.Piece(chess.KING, not side))
        board.turn = turn
        if board.is_valid() and any(board.legal_moves):
            return board


def test_every_position_agrees_with_those_it_leads_to() -> None:
    """Wins come nearer to the promotion by some move, or by all; draws have no such move.

    Since half-moves to the promotion grow smaller, a position that is called won is won; and since
    no move leads from what is called a draw to a win, a draw is one. The moves are python-chess's.
    """
    chance = random.Random(19)
    wins = 0
    for _ in range(3000):
        board = random_ending(chance)
        ahead = bool(board.pawns & board.occupied_co[board.turn])
        for move in list(board.legal_moves):
            after = float(steps_to_promotion(board, [move.uci()])[0])
            if move.promotion is not None or board.is_capture(move):
                continue
            board.push(move)
            replies = led_to(board)
            if not replies:
                expected = math.inf  # a pawn and a king mate nobody: stalemate
            elif ahead:
                expected = max(replies) + 1  # the bare king replies
            else:
                expected = min(replies) + 1
            board.pop()
            assert after == expected, (board.fen(), move.uci())
            wins += math.isfinite(after)
    assert 3000 < wins < 20000


def test_promotions() -> None:
    alone = chess.Board("8/P7/8/8/8/8/8/k1K5 w - - 0 1")
    assert steps_to_promotion(alone, ["a7a8q", "a7a8r", "a7a8n"]).tolist() == [0, 20, math.inf]
    taken = chess.Board("1k6/P7/8/8/8/8/8/2K5 w - - 0 1")
    assert steps_to_promotion(taken, ["a7a8q"])[0] == math.inf
    # Black's king cannot move, so a queen on f8 would end the game as a draw; a rook wins.
    stalemate = chess.Board("8/5P1k/5K2/8/8/8/8/8 w - - 0 1")
    found = dict(
        zip(("f7f8q", "f7f8r"), steps_to_promotion(stalemate, ["f7f8q", "f7f8r"]), strict=True)
    )
    assert found["f7f8r"] == 0


def test_what_books_say() -> None:
    # The king on the sixth rank before its pawn wins, whoever is to move.
    for turn in "wb":
        board = chess.Board(f"4k3/8/4K3/4P3/8/8/8/8 {turn} - - 0 1")
        steps = led_to(board)
        assert np.isfinite(min(steps) if turn == "w" else max(steps))
    # A rook's pawn does not win against a king in the corner, and the opposition holds a draw.
    assert min(led_to(chess.Board("k7/8/K7/P7/8/8/8/8 w - - 0 1"))) == math.inf
    opposition = chess.Board("8/8/4k3/8/4K3/4P3/8/8 w - - 0 1")
    assert min(led_to(opposition)) == math.inf
    opposition.turn = chess.BLACK
    assert math.isfinite(max(led_to(opposition)))


def test_the_number_of_wins() -> None:
    """A signature; other programs' tables of 2 x 24 x 64 x 64 positions have the same wins."""
    assert sum(int((table < 1000).sum()) for table in _solved()) == 111_282


def test_other_endings_are_none() -> None:
    assert not is_pawn_ending(chess.Board())
    assert not is_pawn_ending(chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"))
    assert not is_pawn_ending(chess.Board("4k3/8/8/8/8/8/P6P/4K3 w - - 0 1"))
