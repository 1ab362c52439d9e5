"""Phases: by hand on a few positions, and never going back."""

from __future__ import annotations

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.turns.phases import ENDGAME, MIDDLEGAME, OPENING, next_phase

ORDER = [OPENING, MIDDLEGAME, ENDGAME]


@pytest.mark.parametrize(
    ("fen", "phase"),
    [
        (chess.STARTING_FEN, OPENING),  # 14 pieces, 8 men on each back rank
        # White's back rank holds R, Q, R, K: four men, still the opening.
        ("rnbqkbnr/pppppppp/8/8/8/2NBBN2/PPPPPPPP/R2Q1RK1 w kq - 0 1", OPENING),
        # The queen has left it too: R, R, K are three.
        ("rnbqkbnr/pppppppp/8/8/8/2NBBN2/PPPPQPPP/R4RK1 w kq - 0 1", MIDDLEGAME),
        # Black's back rank counts as well: king and two rooks.
        ("r4rk1/ppppqppp/2nbbn2/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", MIDDLEGAME),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/R2QK2R w KQkq - 0 1", MIDDLEGAME),  # 7 + 3 = 10
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/R1BQK2R w KQkq - 0 1", OPENING),  # 7 + 4 = 11
        ("r2qk2r/pppppppp/8/8/8/8/PPPPPPPP/R2QK2R w KQkq - 0 1", ENDGAME),  # 3 + 3 = 6
        ("r2qk2r/pppppppp/8/8/8/8/PPPPPPPP/R1BQK2R w KQkq - 0 1", MIDDLEGAME),  # 3 + 4 = 7
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", ENDGAME),
    ],
)
def test_phase_by_hand(fen: str, phase: str) -> None:
    assert next_phase(chess.Board(fen), OPENING) == phase


@pytest.mark.parametrize("before", [MIDDLEGAME, ENDGAME])
def test_phase_is_not_left_again(before: str) -> None:
    assert next_phase(chess.Board(), before) == before


def test_endgame_is_reached_from_the_middlegame() -> None:
    assert next_phase(chess.Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1"), MIDDLEGAME) == ENDGAME


def test_pawns_and_kings_do_not_count() -> None:
    board = chess.Board("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1")
    assert next_phase(board, OPENING) == ENDGAME


def test_promotion_does_not_lead_back() -> None:
    phase = next_phase(chess.Board("r2qk2r/8/8/8/8/8/8/R2QK2R w KQkq - 0 1"), OPENING)
    more = chess.Board("rqqqk2r/8/8/8/8/8/8/RQQQK2R w KQkq - 0 1")
    assert next_phase(more, phase) == ENDGAME


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.integers(0, 10_000), max_size=150))
def test_phases_of_a_game_only_go_forward(choices: list[int]) -> None:
    board, phase = chess.Board(), OPENING
    for choice in choices:
        moves = list(board.legal_moves)
        if not moves:
            break
        captures = [move for move in moves if board.is_capture(move)]
        board.push((captures or moves)[choice % len(captures or moves)])
        following = next_phase(board, phase)
        assert ORDER.index(following) >= ORDER.index(phase)
        phase = following
