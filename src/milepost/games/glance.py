"""Moves at a glance: what a player without any time sees of a position.

No engine and nothing heavy: it must work while everything else is still being loaded.
"""

from __future__ import annotations

import chess

_PAWNS = {
    chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0,
}  # fmt: skip
_PAWN_COUNTS = 3.0
"""A move that wins a pawn more at a glance is so many times likelier."""
_MOST_PAWNS = 9
_MATE = 1e9


def glance(board: chess.Board) -> list[tuple[chess.Move, float]]:
    """Return the legal moves with weights: mates, captures that pay, nothing left to be taken.

    A man that can be taken where it goes counts as lost; if it is protected, for what it is worth
    more than the least man that could take it. Nothing else on the board is looked at.
    """
    return [(move, _weight(board, move)) for move in board.legal_moves]


def _weight(board: chess.Board, move: chess.Move) -> float:
    taken = board.piece_type_at(move.to_square)
    gain = _PAWNS[chess.PAWN] if board.is_en_passant(move) else _PAWNS.get(taken or 0, 0)
    man = move.promotion or board.piece_type_at(move.from_square)
    assert man is not None
    if move.promotion:
        gain += _PAWNS[man] - _PAWNS[chess.PAWN]
    after = board.copy(stack=False)
    after.push(move)
    if after.is_checkmate():
        return _MATE
    takers = [after.piece_type_at(square) for square in after.attackers(after.turn, move.to_square)]
    if takers:
        lost = _PAWNS[man]
        if after.is_attacked_by(not after.turn, move.to_square):
            lost = max(lost - min(_PAWNS[taker] for taker in takers if taker), 0)
        gain -= lost
    return float(_PAWN_COUNTS ** max(min(gain, _MOST_PAWNS), -_MOST_PAWNS))
