"""Against a bare king: how far each move drives it, by the method that people learn.

Values of an engine do not show the way there: all moves keep the win. What people are taught is to
make the king's room smaller and to bring one's own king near. So after each move, and the reply
that is worst for us, two things are counted: the squares that the bare king can still walk to, and
the distance between the kings.
"""

from __future__ import annotations

from collections.abc import Sequence

import chess
import numpy as np
import numpy.typing as npt

KING_STEP = 1.5
"""What a step between the kings counts, in squares of room."""
_AGAIN = 10.0
"""A position that stood before leads nowhere, and to a draw: it counts as so much more room."""
_LEAVES = 200.0
"""Counts as room where the bare king takes the last man that could mate."""


def is_bare(board: chess.Board) -> bool:
    """Return whether the side to move can mate by the method: a bare king, and men that suffice.

    A rook or queen, or two minor pieces. With pawns alone the way leads through a promotion, and
    driving the king would give the pawn away.
    """
    ours = board.occupied_co[board.turn]
    minors = ((board.knights | board.bishops) & ours).bit_count()
    suffice = bool((board.rooks | board.queens) & ours) or minors >= 2
    return suffice and board.occupied_co[not board.turn].bit_count() == 1


def king_room(board: chess.Board, moves: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return, for each move against a bare king, the room that it leaves; less is nearer to mate.

    A mate leaves none; a stalemate, or a man left to be taken for nothing, more than any other.
    """
    rooms = np.empty(len(moves))
    for place, text in enumerate(moves):
        board.push(chess.Move.from_uci(text))
        replies = list(board.legal_moves)
        if not replies:
            rooms[place] = 0.0 if board.is_check() else _LEAVES
        else:
            rooms[place] = max(_after(board, reply) for reply in replies)
            if board.is_repetition(2):
                rooms[place] += _AGAIN
        board.pop()
    return rooms


def _after(board: chess.Board, reply: chess.Move) -> float:
    if board.is_capture(reply):
        return _LEAVES
    board.push(reply)
    ours, theirs = board.king(board.turn), board.king(not board.turn)
    assert ours is not None
    assert theirs is not None
    room = _reachable(board, theirs)
    steps = chess.square_distance(ours, theirs)
    board.pop()
    return room + KING_STEP * steps


def _reachable(board: chess.Board, king: chess.Square) -> int:
    """How many squares the king can walk to, if nothing else moves."""
    us = board.turn
    # The king hides nothing behind itself from a rook or queen.
    occupied = board.occupied & ~chess.BB_SQUARES[king]
    closed = chess.BB_EMPTY
    for square in chess.scan_forward(board.occupied_co[us]):
        piece = board.piece_type_at(square)
        if piece in (chess.ROOK, chess.QUEEN):
            closed |= chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & occupied]
            closed |= chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & occupied]
        if piece in (chess.BISHOP, chess.QUEEN):
            closed |= chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & occupied]
        if piece in (chess.KNIGHT, chess.KING, chess.PAWN):
            closed |= board.attacks_mask(square)
    closed |= board.occupied_co[us]
    reached = edge = chess.BB_SQUARES[king]
    while edge:
        steps = chess.BB_EMPTY
        for square in chess.scan_forward(edge):
            steps |= chess.BB_KING_ATTACKS[square]
        edge = steps & ~closed & ~reached
        reached |= edge
    return reached.bit_count()
