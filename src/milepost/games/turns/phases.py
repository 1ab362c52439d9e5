"""Opening, middlegame, endgame: which phase a position belongs to.

The rule looks at the board and at the game so far, never at an evaluation:

- the *endgame* begins when at most six pieces (queens, rooks, bishops, knights of both sides) are
  left;
- the *middlegame* begins when at most ten such pieces are left, or when one side has fewer than
  four men (king included) on its back rank;
- before that it is the *opening*.

A phase once reached is not left again, so a promotion does not lead back into the middlegame.
"""

from __future__ import annotations

import chess

OPENING, MIDDLEGAME, ENDGAME = "opening", "middlegame", "endgame"
ENDGAME_PIECES = 6
MIDDLEGAME_PIECES = 10
BACK_RANK_MEN = 4


def next_phase(board: chess.Board, phase: str) -> str:
    """Return the phase of a position, given the phase of the position before it."""
    if phase == ENDGAME:
        return ENDGAME
    pieces = (board.queens | board.rooks | board.bishops | board.knights).bit_count()
    if pieces <= ENDGAME_PIECES:
        return ENDGAME
    if phase == MIDDLEGAME or pieces <= MIDDLEGAME_PIECES:
        return MIDDLEGAME
    white = (board.occupied_co[chess.WHITE] & chess.BB_RANK_1).bit_count()
    black = (board.occupied_co[chess.BLACK] & chess.BB_RANK_8).bit_count()
    return MIDDLEGAME if min(white, black) < BACK_RANK_MEN else OPENING
