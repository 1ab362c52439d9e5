"""Rook or queen against the bare king: the rules of chess themselves prove the tables."""

from __future__ import annotations

import math
import random

import chess
import numpy as np
import pytest

from milepost.analysis.spreads.known_endings import known_ending, solve_endings
from milepost.analysis.spreads.mate_tables import _solved, mating_piece, moves_to_mate
from milepost.intrinsic.choosing.technique import known_ending_probabilities

MEN = (chess.ROOK, chess.QUEEN)


def random_ending(man: chess.PieceType, chance: random.Random) -> chess.Board:
    """Either side has the man, either side is to move."""
    while True:
        board = chess.Board(None)
        ours, theirs, place = chance.sample(range(64), 3)
        side, turn = chance.random() < 0.5, chance.random() < 0.5
        board.set_piece_at(place, chess.Piece(man, side))
        board.set_piece_at(ours, chess.Piece(chess.KING, side))
        board.set_piece_at(theirs, chess.Piece(chess.KING, not side))
        board.turn = turn
        if board.is_valid() and any(board.legal_moves):
            return board


@pytest.mark.parametrize("man", MEN)
def test_every_position_agrees_with_those_it_leads_to(man: chess.PieceType) -> None:
    """A mate in n has a move after which all replies lead to mates in n - 1 or less."""
    chance = random.Random(23)
    for _ in range(400):
        board = random_ending(man, chance)
        strong = board.occupied_co[board.turn].bit_count() == 2
        for move in list(board.legal_moves)[:12]:
            after = float(moves_to_mate(board, [move.uci()], man)[0])
            board.push(move)
            replies = [reply.uci() for reply in board.legal_moves]
            if board.occupied.bit_count() < 3:
                expected = math.inf
            elif not replies:
                expected = 0.0 if board.is_checkmate() else math.inf
            else:
                led_to = moves_to_mate(board, replies, man)
                expected = led_to.max() if strong else led_to.min() + 1
            board.pop()
            assert after == expected, (board.fen(), move.uci())


def test_the_longest_mates() -> None:
    """16 moves with a rook and 10 with a queen, as is known since the first tables of endings."""
    for man, longest in zip(MEN, (16, 10), strict=True):
        ours, theirs = _solved(man)
        assert ours[ours < 100].max() == theirs[theirs < 100].max() == longest


@pytest.mark.parametrize("man", MEN)
@pytest.mark.parametrize("elo", [1600, 1800, 2200])
def test_the_mate_comes_in_time_against_the_best_defence(man: chess.PieceType, elo: int) -> None:
    """An agent that gives away a tenth of the time, were it not for what it has learnt."""
    chance, rng = random.Random(3), np.random.default_rng(3)
    most = 0
    for _ in range(8):
        board = random_ending(man, chance)
        while board.turn != (board.occupied_co[chess.WHITE].bit_count() == 2):
            board = random_ending(man, chance)
        strong, moves = board.turn, 0
        while not board.is_checkmate():
            texts = [move.uci() for move in board.legal_moves]
            ending = known_ending(board, texts)
            assert ending is not None
            if board.turn == strong:
                agent = np.full(len(texts), 0.1 / len(texts))
                shares = known_ending_probabilities(ending, agent, elo)
                assert shares.sum() == pytest.approx(1)
                moves += 1
                board.push_uci(texts[int(rng.choice(len(texts), p=shares / shares.sum()))])
            else:
                board.push_uci(texts[int(np.argmax(ending.away))])
            assert board.occupied.bit_count() == 3
            assert moves <= 50
        most = max(most, moves)
    assert most > 5


def test_which_endings_they_are() -> None:
    solve_endings()
    assert mating_piece(chess.Board()) is None
    assert known_ending(chess.Board(), ["e2e4"]) is None
    assert known_ending(chess.Board("4k3/8/8/8/8/8/8/B3K3 w - - 0 1"), ["e1e2"]) is None
    assert known_ending(chess.Board("4k3/8/8/8/8/8/8/R2QK3 w - - 0 1"), ["e1e2"]) is None
    behind = known_ending(chess.Board("4k3/8/8/8/8/8/8/R3K3 b - - 0 1"), ["e8e7"])
    assert behind is not None
    assert not behind.ahead
    stalemate = chess.Board("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1")
    assert moves_to_mate(stalemate, ["g1g6", "g1g7"], chess.QUEEN).tolist() == [math.inf, 0]
