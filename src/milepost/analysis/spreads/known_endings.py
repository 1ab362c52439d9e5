"""Endings that people learn and that are solved here: what each move leads to.

King and pawn against king (`milepost.analysis.spreads.pawn_ending`), king and rook or queen against
the bare king (`milepost.analysis.spreads.mate_tables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import chess
import numpy as np
import numpy.typing as npt

from milepost.analysis.spreads.mate_tables import mating_piece, moves_to_mate
from milepost.analysis.spreads.pawn_ending import is_pawn_ending, steps_to_promotion


@dataclass(frozen=True, eq=False)
class KnownEnding:
    """What the moves of such an ending lead to."""

    away: npt.NDArray[np.float64]
    """In how many moves the stronger side mates or promotes after each move; infinity = never."""
    ahead: bool
    """Whether the side to move is the stronger one."""
    takes: npt.NDArray[np.bool_]
    """Which moves decide about the last man at once: they take it or, if it is one's own, let it be
    taken."""


def known_ending(board: chess.Board, moves: Sequence[str]) -> KnownEnding | None:
    """Return what moves lead to, if the ending is one of those; None = it is not."""
    ahead = board.occupied_co[board.turn].bit_count() == 2
    piece = mating_piece(board)
    if is_pawn_ending(board):
        away = steps_to_promotion(board, moves) / 2
    elif piece is not None:
        away = moves_to_mate(board, moves, piece)
    else:
        return None
    takes = np.array([_takes(board, chess.Move.from_uci(move)) for move in moves], dtype=bool)
    return KnownEnding(away, ahead, takes)


def _takes(board: chess.Board, move: chess.Move) -> bool:
    if board.is_capture(move):
        return True
    board.push(move)
    taken = any(board.is_capture(reply) for reply in board.legal_moves)
    board.pop()
    return taken


def solve_endings() -> None:
    """Solve them all now, since it takes a moment: not while a clock runs."""
    for man, move in (("P", "e1d1"), ("R", "e1d1"), ("Q", "e1d1")):
        known_ending(chess.Board(f"4k3/8/8/8/8/{man}7/8/4K3 w - - 0 1"), [move])
