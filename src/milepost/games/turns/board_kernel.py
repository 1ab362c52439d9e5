"""The rules of chess, compiled: a board of 64 squares that moves are looked for and played on.

a1 = 0, h8 = 63; men are 1 to 6 (pawn, knight, bishop, rook, queen, king), negative for Black. Sides
are 1 and -1. Only the usual rules and castling of the usual array: python-chess does the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milepost.kernels import kernel

Men = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = 1, 2, 3, 4, 5, 6
FIRST_POSITION = np.zeros(64, dtype=np.int8)
FIRST_POSITION[:8] = (ROOK, KNIGHT, BISHOP, QUEEN, KING, BISHOP, KNIGHT, ROOK)
FIRST_POSITION[8:16] = PAWN
FIRST_POSITION[48:56] = -PAWN
FIRST_POSITION[56:] = -FIRST_POSITION[:8]
ALL_RIGHTS = 15
"""Castling rights in the order of a FEN: 1 = K, 2 = Q, 4 = k, 8 = q."""
# Whoever leaves or enters such a square ends these rights.
_RIGHTS_OF = np.zeros(64, dtype=np.int64)
_RIGHTS_OF[[0, 4, 7, 56, 60, 63]] = (2, 3, 1, 8, 12, 4)
_KNIGHT_FILES = np.array([1, 2, 2, 1, -1, -2, -2, -1])
_KNIGHT_RANKS = np.array([2, 1, -1, -2, -2, -1, 1, 2])
# Straight ways first, then the slanting ones.
_WAY_FILES = np.array([0, 0, 1, -1, 1, 1, -1, -1])
_WAY_RANKS = np.array([1, -1, 0, 0, 1, -1, 1, -1])


@kernel
def is_attacked(board: Men, square: int, by: int) -> bool:
    """Whether a side attacks a square."""
    file, rank = square % 8, square // 8
    behind = rank - by
    if 0 <= behind < 8:
        if file > 0 and board[8 * behind + file - 1] == by * PAWN:
            return True
        if file < 7 and board[8 * behind + file + 1] == by * PAWN:
            return True
    for way in range(8):
        f, r = file + _KNIGHT_FILES[way], rank + _KNIGHT_RANKS[way]
        if 0 <= f < 8 and 0 <= r < 8 and board[8 * r + f] == by * KNIGHT:
            return True
    for way in range(8):
        f, r = file + _WAY_FILES[way], rank + _WAY_RANKS[way]
        near = True
        while 0 <= f < 8 and 0 <= r < 8:
            man = by * board[8 * r + f]
            if man != 0:
                slides = man in (QUEEN, ROOK if way < 4 else BISHOP)
                if slides or (near and man == KING):
                    return True
                break
            f, r, near = f + _WAY_FILES[way], r + _WAY_RANKS[way], False
    return False


@kernel
def is_safe(board: Men, start: int, to: int, taken_at: int, side: int, king: int) -> bool:
    """Whether a move leaves the own king unattacked; the board is as before afterwards."""
    man, taken = board[start], board[taken_at]
    board[taken_at] = 0
    board[start] = 0
    board[to] = man
    safe = not is_attacked(board, to if start == king else king, -side)
    board[to] = 0
    board[start] = man
    board[taken_at] = taken
    return safe


@kernel
def reaches(board: Men, kind: int, start: int, to: int) -> bool:
    """Whether a piece (no pawn) gets from one square to another if nobody stands in its way."""
    files, ranks = to % 8 - start % 8, to // 8 - start // 8
    far, near = max(abs(files), abs(ranks)), min(abs(files), abs(ranks))
    if far == 0:
        return False
    if kind == KNIGHT:
        return far == 2 and near == 1
    if kind == KING:
        return far == 1
    straight, slanting = near == 0, near == far
    if not ((straight and kind != BISHOP) or (slanting and kind != ROOK)):
        return False
    step = (files > 0) - (files < 0) + 8 * ((ranks > 0) - (ranks < 0))
    square = start + step
    while square != to:
        if board[square] != 0:
            return False
        square += step
    return True


@kernel
def find_piece(
    board: Men, kind: int, file: int, rank: int, to: int, side: int, king: int
) -> int:  # fmt: skip
    """Return where the piece stands that can legally go to a square; -1 = none, or several.

    `file` and `rank` say where it may stand, if they are not negative.
    """
    if side * board[to] > 0:
        return -1
    place = -1
    for start in range(64):
        if board[start] != side * kind:
            continue
        if (file >= 0 and start % 8 != file) or (rank >= 0 and start // 8 != rank):
            continue
        if reaches(board, kind, start, to) and is_safe(board, start, to, to, side, king):
            if place >= 0:
                return -1
            place = start
    return place


@kernel
def find_pawn(board: Men, file: int, to: int, passing: int, side: int, king: int) -> int:
    """Return where the pawn of a file stands that can legally go to a square; -1 = none.

    `passing` is the square behind a pawn that has just gone two squares, or -1.
    """
    start = 8 * (to // 8 - side) + file
    if start < 8 or start > 55:
        return -1
    taken_at = to
    if file != to % 8:
        if abs(file - to % 8) != 1:
            return -1
        if to == passing:
            taken_at = to - 8 * side
        elif side * board[to] >= 0:
            return -1
    elif board[to] != 0:
        return -1
    elif board[start] == 0 and to // 8 == (3 if side > 0 else 4):
        start -= 8 * side
    if board[start] != side * PAWN or not is_safe(board, start, to, taken_at, side, king):
        return -1
    return start


@kernel
def may_castle(board: Men, rights: int, short: bool, side: int) -> bool:
    """Whether castling is legal."""
    right = (1 if short else 2) if side > 0 else (4 if short else 8)
    if not rights & right:
        return False
    king = 4 if side > 0 else 60
    for between in range(king + 1, king + 3) if short else range(king - 3, king):
        if board[between] != 0:
            return False
    step = 1 if short else -1
    return not (
        is_attacked(board, king, -side)
        or is_attacked(board, king + step, -side)
        or is_attacked(board, king + 2 * step, -side)
    )


@kernel
def can_take_passing(board: Men, passing: int, side: int, king: int) -> bool:
    """Whether a pawn can legally be taken en passant."""
    if passing < 0:
        return False
    file = passing % 8
    return (file > 0 and find_pawn(board, file - 1, passing, passing, side, king) >= 0) or (
        file < 7 and find_pawn(board, file + 1, passing, passing, side, king) >= 0
    )


@kernel
def _count_of_pawn(board: Men, start: int, passing: int, side: int, king: int) -> int:
    file, rank = start % 8, start // 8
    ahead = start + 8 * side
    each = 4 if rank + side in (0, 7) else 1  # a promotion is four moves
    count = 0
    for to in (ahead - 1, ahead, ahead + 1):
        onward = 0 <= to < 64 and to // 8 == rank + side
        if onward and find_pawn(board, file, to, passing, side, king) == start:
            count += each
    if rank == (1 if side > 0 else 6) and board[ahead] == 0:
        count += find_pawn(board, file, ahead + 8 * side, passing, side, king) == start
    return count


@kernel
def _count_of_piece(board: Men, start: int, side: int, king: int, enough: int) -> int:
    man = side * board[start]
    steps = _KNIGHT_FILES if man == KNIGHT else _WAY_FILES
    rises = _KNIGHT_RANKS if man == KNIGHT else _WAY_RANKS
    count = 0
    for way in range(4 if man == BISHOP else 0, 4 if man == ROOK else 8):
        f, r = start % 8 + steps[way], start // 8 + rises[way]
        while 0 <= f < 8 and 0 <= r < 8 and count < enough:
            to = 8 * r + f
            if side * board[to] > 0:
                break
            count += is_safe(board, start, to, to, side, king)
            if board[to] != 0 or man in (KNIGHT, KING):
                break
            f, r = f + steps[way], r + rises[way]
    return count


@kernel
def count_moves(board: Men, passing: int, side: int, king: int, enough: int) -> int:
    """Count legal moves, no further than there are enough; castling apart.

    Where castling is legal the king and the rook have other moves, so that no position has castling
    as its first or second.
    """
    count = 0
    for start in range(64):
        man = side * board[start]
        if man == PAWN:
            count += _count_of_pawn(board, start, passing, side, king)
        elif man > 0:
            count += _count_of_piece(board, start, side, king, enough)
        if count >= enough:
            break
    return count


@kernel
def play_move(
    board: Men, start: int, to: int, promoted: int, passing: int, rights: int
) -> tuple[int, int, bool]:  # fmt: skip
    """Play a legal move; return the square passed by a pawn (or -1), the rights, whether it counts.

    A move counts that takes or moves a pawn: the clock of the fifty moves begins anew.
    """
    man = board[start]
    side = 1 if man > 0 else -1
    kind = abs(man)
    counts = kind == PAWN or board[to] != 0
    board[to] = side * promoted if promoted else man
    board[start] = 0
    passed = -1
    if kind == PAWN:
        if to == passing:
            board[to - 8 * side] = 0
        elif abs(to - start) == 16:
            passed = start + 8 * side
    elif kind == KING and abs(to - start) == 2:
        short = to > start
        rank = 8 * (start // 8)
        board[rank + (7 if short else 0)] = 0
        board[rank + (5 if short else 3)] = side * ROOK
    return passed, rights & ~(_RIGHTS_OF[start] | _RIGHTS_OF[to]), counts
