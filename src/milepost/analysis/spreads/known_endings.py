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


def known_ending(board: chess.Board, moves: Sequence[str]) -> KnownEnding | None:
    """Return what moves lead to, if the ending is one of those; None = it is not."""
    ahead = board.occupied_co[board.turn].bit_count() == 2
    if is_pawn_ending(board):
        return KnownEnding(steps_to_promotion(board, moves) / 2, ahead)
    piece = mating_piece(board)
    return None if piece is None else KnownEnding(moves_to_mate(board, moves, piece), ahead)


def solve_endings() -> None:
    """Solve them all now, since it takes a moment: not while a clock runs."""
    for man, move in (("P", "e1d1"), ("R", "e1d1"), ("Q", "e1d1")):
        known_ending(chess.Board(f"4k3/8/8/8/8/{man}7/8/4K3 w - - 0 1"), [move])
