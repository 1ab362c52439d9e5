"""The columns of `milepost.analysis.spreads.option_columns`, compiled: all positions in one call.

The board is 64 squares, a1 = 0, with men 1 to 6 (pawn, knight, bishop, rook, queen, king), negative
for Black. Rules are those that python-chess applies to a move that it is given; legality is not
asked. What is no FEN or no UCI is left to the plain code, which says what is wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.kernels import kernel

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Men = npt.NDArray[np.int8]
Squares = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float32]

_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = 1, 2, 3, 4, 5, 6
_WORTH = np.array([0, 1, 3, 3, 5, 9, 100])
_LETTERS = np.zeros(128, dtype=np.int8)
for _place, _letter in enumerate("PNBRQK", 1):
    _LETTERS[ord(_letter)] = _place
    _LETTERS[ord(_letter.lower())] = -_place
_KNIGHT_FILES = np.array([1, 2, 2, 1, -1, -2, -2, -1])
_KNIGHT_RANKS = np.array([2, 1, -1, -2, -2, -1, 1, 2])
# Straight ways first, then the slanting ones.
_WAY_FILES = np.array([0, 0, 1, -1, 1, 1, -1, -1])
_WAY_RANKS = np.array([1, -1, 0, 0, 1, -1, 1, -1])


def text_arrays(texts: pl.Series) -> tuple[Bytes, Longs]:
    """Return the bytes of some texts, and where each begins and the last one ends."""
    array = texts.fill_null("").to_arrow()
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    return letters, starts


def describe(
    positions: pl.Series, moves: pl.Series, counts: Longs, last: pl.Series, own: pl.Series,
    out: Floats,
) -> bool:  # fmt: skip
    """Fill the rows of `out`; return whether all could be read.

    Parameters
    ----------
    positions
        As FEN.
    moves
        All options, position after position.
    counts
        How many options each position has.
    last, own
        The opponent's last move and one's own before it; null = not known.
    out
        A row for each option.
    """
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    before, mine = _squares(*text_arrays(last)), _squares(*text_arrays(own))
    return _describe(
        *text_arrays(positions), *text_arrays(moves), ends, before, mine, out
    )  # fmt: skip


@kernel
def _square(letters: Bytes, at: int) -> int:
    """Return the square that two letters name; -1 = none."""
    file, rank = int(letters[at]) - 97, int(letters[at + 1]) - 49
    if 0 <= file < 8 and 0 <= rank < 8:
        return 8 * rank + file
    return -1


@kernel
def _promotion(letters: Bytes, begin: int, end: int) -> int:
    """Return what a move promotes to: 0 = nothing, -1 = this is no move."""
    if end - begin == 4:
        return 0
    if end - begin != 5:
        return -1
    man = letters[begin + 4]
    if man < 98 or man > 114:
        return -1
    kind = -_LETTERS[man]
    return int(kind) if 2 <= kind <= 5 else -1


@kernel
def _squares(letters: Bytes, starts: Longs) -> Squares:
    """Return from and to of some moves; -1 = not known."""
    found = np.full((len(starts) - 1, 2), -1, dtype=np.int16)
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        if _promotion(letters, begin, end) < 0:
            continue
        one, two = _square(letters, begin), _square(letters, begin + 2)
        if one >= 0 and two >= 0 and one != two:
            found[row, 0], found[row, 1] = one, two
    return found


@kernel
def _read_board(letters: Bytes, begin: int, end: int, board: Men) -> tuple[int, int, bool]:
    """Read a FEN: the side to move (1, -1), the en-passant square (-1 = none), and whether it is
    one."""
    board[:] = 0
    rank, file, at = 7, 0, begin
    while at < end and letters[at] != 32:
        letter = letters[at]
        if letter == 47:  # a slash
            if file != 8 or rank == 0:
                return 0, -1, False
            rank, file = rank - 1, 0
        elif 49 <= letter <= 56:
            file += letter - 48
        elif letter < 128 and _LETTERS[letter] != 0 and file < 8:
            board[8 * rank + file] = _LETTERS[letter]
            file += 1
        else:
            return 0, -1, False
        if file > 8:
            return 0, -1, False
        at += 1
    if rank != 0 or file != 8 or at + 1 >= end:
        return 0, -1, False
    side = 1 if letters[at + 1] == 119 else -1 if letters[at + 1] == 98 else 0
    # castling rights say nothing here; the field behind them is the en-passant square
    fields, passing = 0, -1
    at += 2
    while at < end and fields < 2:
        if letters[at] == 32:
            fields += 1
        at += 1
    if fields == 2 and at + 1 < end and letters[at] != 45:
        passing = _square(letters, at)
        if passing < 0:
            return 0, -1, False
    return side, passing, side != 0


@kernel
def _least_attacker(board: Men, square: int, side: int, leaving: int) -> int:
    """Return the worth of the least man of a side that attacks a square; 0 = none.

    The man on `leaving` does not count, but stands in the way of others.
    """
    file, rank = square % 8, square // 8
    least = 0
    behind = rank - side
    if 0 <= behind < 8:
        for step in (-1, 1):
            if 0 <= file + step < 8:
                at = 8 * behind + file + step
                if board[at] == side * _PAWN and at != leaving:
                    return 1
    for way in range(8):
        f, r = file + _KNIGHT_FILES[way], rank + _KNIGHT_RANKS[way]
        if (
            0 <= f < 8
            and 0 <= r < 8
            and board[8 * r + f] == side * _KNIGHT
            and 8 * r + f != leaving
        ):
            least = 3
    for way in range(8):
        f, r = file + _WAY_FILES[way], rank + _WAY_RANKS[way]
        near = True
        while 0 <= f < 8 and 0 <= r < 8:
            man = side * board[8 * r + f]
            if man != 0:
                slider = _ROOK if way < 4 else _BISHOP
                slides = man in (_QUEEN, slider)
                if (slides or (near and man == _KING)) and 8 * r + f != leaving:
                    worth = _WORTH[man]
                    if least == 0 or worth < least:
                        least = worth
                break
            f, r, near = f + _WAY_FILES[way], r + _WAY_RANKS[way], False
    return least


@kernel
def _in_danger(board: Men, square: int, side: int, worth: int, leaving: int) -> bool:
    """Whether a lesser man attacks a square, or any man and none of ours defends it."""
    if worth > 9:
        return False
    least = _least_attacker(board, square, -side, -1)
    if least == 0:
        return False
    return least < worth or _least_attacker(board, square, side, leaving) == 0


@kernel
def _gives_check(
    board: Men, after: Men, start: int, to: int, promoted: int, side: int, passing: bool,
    castles: bool, king: int,
) -> bool:  # fmt: skip
    """Whether the king at `king` is attacked when the move is made."""
    after[:] = board
    man = board[start]
    after[start] = 0
    if castles:
        rank = 8 * (start // 8)
        # As king takes rook, or as the king's own two squares.
        own_rook = board[to] == side * _ROOK
        short = to % 8 > start % 8
        rook = to if own_rook else rank + (7 if short else 0)
        after[rook] = 0
        after[rank + (6 if short else 2)] = side * _KING
        after[rank + (5 if short else 3)] = side * _ROOK
    else:
        after[to] = side * promoted if promoted else man
        if passing:
            after[to - 8 * side] = 0
    return _least_attacker(after, king, side, -1) != 0


@kernel
def _from_centre(square: int) -> int:
    file, rank = square % 8, square // 8
    return max(3 - file, file - 4, 3 - rank, rank - 4)


@kernel
def _distance(one: int, two: int) -> int:
    return max(abs(one % 8 - two % 8), abs(one // 8 - two // 8))


@kernel
def _describe(
    fens: Bytes, fen_starts: Longs, moves: Bytes, move_starts: Longs, ends: Longs, before: Squares,
    mine: Squares, out: Floats,
) -> bool:  # fmt: skip
    board, after = np.zeros(64, dtype=np.int8), np.zeros(64, dtype=np.int8)
    for turn in range(len(fen_starts) - 1):
        side, ep_square, good = _read_board(fens, fen_starts[turn], fen_starts[turn + 1], board)
        if not good:
            return False
        king = -1
        for square in range(64):
            if board[square] == -side * _KING:
                king = square
        last_to = before[turn, 1]
        for option in range(ends[turn], ends[turn + 1]):
            begin = move_starts[option]
            promoted = _promotion(moves, begin, move_starts[option + 1])
            if promoted < 0:
                return False
            start, to = _square(moves, begin), _square(moves, begin + 2)
            if start < 0 or to < 0 or start == to:
                return False
            man = abs(board[start])
            if man == 0:
                continue
            if board[start] * side < 0:
                return False
            worth = _WORTH[man]
            taken = abs(board[to])
            passing = man == _PAWN and to == ep_square and taken == 0
            passing = passing and (abs(to - start) == 7 or abs(to - start) == 9)
            castles = man == _KING and (
                abs(start % 8 - to % 8) > 1 or board[to] == side * _ROOK
            )  # fmt: skip
            takes = (taken != 0 or passing) and not castles
            prize = 1 if passing else _WORTH[taken] if takes else 0
            ranks = side * (to // 8 - start // 8)
            row = out[option]
            row[0] = takes
            row[1] = takes and to == last_to
            row[2] = takes and prize == worth
            row[3] = (
                king >= 0
                and to != king
                and _gives_check(board, after, start, to, promoted, side, passing, castles, king)
            )
            row[4] = promoted > 0
            row[5] = castles
            row[6] = man == _PAWN
            row[7] = man == _ROOK
            row[8] = man == _QUEEN
            row[9] = man == _KING and not castles
            row[10] = max(ranks, 0) / 7 if man != _PAWN and not castles else 0.0
            row[11] = max(-ranks, 0) / 7
            row[12] = _distance(start, to) / 7 if _BISHOP <= man <= _QUEEN else 0.0
            row[13] = _in_danger(board, start, side, worth, -1)
            row[14] = prize < worth and _in_danger(board, to, side, worth, start)
            if last_to >= 0:
                row[15] = 0.5 ** _distance(to, last_to)
            if mine[turn, 1] >= 0:
                row[16] = start == mine[turn, 1]
                row[17] = start == mine[turn, 1] and to == mine[turn, 0]
            row[18] = (_from_centre(start) - _from_centre(to)) / 3
    return True
