"""The columns of `milepost.analysis.spreads.option_columns`, compiled: all positions in one call.

The board is 64 squares, a1 = 0, with men 1 to 6 (pawn, knight, bishop, rook, queen, king), negative
for Black. Rules are those that python-chess applies to a move that it is given; legality is not
asked. What is no FEN or no UCI is left to the plain code, which says what is wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.io.arrow_buffers import Bytes, Longs, read_only, text_arrays
from milepost.kernels import kernel

Men = npt.NDArray[np.int8]
Guards = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Counts = npt.NDArray[np.float64]
Texts = tuple[Bytes, Longs, Longs]

_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = 1, 2, 3, 4, 5, 6
_WORTHS = np.array([0, 1, 3, 3, 5, 9, 100], dtype=np.int8)
_LETTERS = np.zeros(128, dtype=np.int8)
for _place, _letter in enumerate("PNBRQK", 1):
    _LETTERS[ord(_letter)] = _place
    _LETTERS[ord(_letter.lower())] = -_place
_BITS = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
_NOWHERE = np.uint64(0)
# Straight ways first, then the slanting ones.
_WAY_FILES = np.array([0, 0, 1, -1, 1, 1, -1, -1])
_WAY_RANKS = np.array([1, -1, 0, 0, 1, -1, 1, -1])
_WAY_SQUARES = 8 * _WAY_RANKS + _WAY_FILES
_NEAR = (0.5 ** np.arange(8)).astype(np.float32)
_SEVENTHS = (np.arange(8) / 7).astype(np.float32)
_THIRDS = (np.arange(-3, 4) / 3).astype(np.float32)
"""What squares nearer to the centre count, from three farther to three nearer."""
_CENTRE = np.array(
    [max(abs(2 * (square % 8) - 7), abs(2 * (square // 8) - 7)) // 2 for square in range(64)],
    dtype=np.int8,
)
"""Squares from the centre."""
_UNATTACKED = 127
"""More than any man is worth."""


def _ways() -> npt.NDArray[np.int8]:
    """Return which way leads from each square to each other; -1 = none."""
    files, ranks = np.arange(64) % 8, np.arange(64) // 8
    across, up = np.sign(files - files[:, None]), np.sign(ranks - ranks[:, None])
    far = abs(files - files[:, None]), abs(ranks - ranks[:, None])
    straight = (far[0] == far[1]) | (far[0] == 0) | (far[1] == 0)
    ways = np.full((64, 64), -1, dtype=np.int8)
    for way in range(8):
        ways[straight & (across == _WAY_FILES[way]) & (up == _WAY_RANKS[way])] = way
    return ways


_WAY_TO = _ways()


def _free_squares() -> npt.NDArray[np.int8]:
    """Return how many squares lie between each square and the edge on each way."""
    files, ranks = np.arange(64) % 8, np.arange(64) // 8
    across, up = ({0: 8 + 0 * each, 1: 7 - each, -1: each} for each in (files, ranks))
    ways = zip(_WAY_FILES.tolist(), _WAY_RANKS.tolist(), strict=True)
    return np.array([np.minimum(across[f], up[r]) for f, r in ways], dtype=np.int8).T.copy()


_FREE = _free_squares()


def _leaps() -> npt.NDArray[np.int8]:
    """Return the squares that a black pawn, a white one, a knight, a king attack; -1 = no more."""
    wide = [(f, r) for f in (-2, -1, 1, 2) for r in (-2, -1, 1, 2) if abs(f) != abs(r)]
    near = [(f, r) for f in (-1, 0, 1) for r in (-1, 0, 1) if f or r]
    leaps = np.full((4, 64, 9), -1, dtype=np.int8)
    for row, steps in enumerate(([(-1, -1), (1, -1)], [(-1, 1), (1, 1)], wide, near)):
        for square in range(64):
            reached = [(square % 8 + f, square // 8 + r) for f, r in steps]
            there = [8 * r + f for f, r in reached if 0 <= f < 8 and 0 <= r < 8]
            leaps[row, square, : len(there)] = there
    return leaps


_LEAPS = _leaps()


def describe(
    positions: pl.Series, moves: Texts, starts: Longs, last: pl.Series, own: pl.Series, out: Floats,
    about: Counts,
) -> bool:  # fmt: skip
    """Fill `out` and `about`; return whether all could be read.

    Parameters
    ----------
    positions
        As FEN.
    moves
        All options, position after position: letters, and where each begins and ends in them.
    starts
        Where the options of each position begin among them, and the end.
    last, own
        The opponent's last move and one's own before it; null = not known.
    out
        A row for each of the columns, a column for each option; all 0.
    about
        A row each for the men on the board, those that are no pawns or kings, and the number of the
        move (0 = it has none); a column for each position.
    """
    letters, begins, ends = moves
    return _describe(
        *text_arrays(positions), read_only(letters), read_only(begins), read_only(ends),
        read_only(starts), *text_arrays(last), *text_arrays(own), out, about,
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
def _squares(letters: Bytes, begin: int, end: int) -> tuple[int, int]:
    """Return from and to of a move; -1 = not known."""
    if _promotion(letters, begin, end) >= 0:
        one, two = _square(letters, begin), _square(letters, begin + 2)
        if one >= 0 and two >= 0 and one != two:
            return one, two
    return -1, -1


@kernel
def read_board(letters: Bytes, begin: int, end: int, board: Men) -> tuple[int, int, bool]:
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
def _look_around(board: Men, side: int, least: Men, guards: Guards) -> None:
    """Note the worth of the least enemy that attacks each square, and who of us guards it."""
    least[:] = _UNATTACKED
    guards[:] = 0
    for start in range(64):
        piece = board[start]
        if piece == 0:
            continue
        man, ours = abs(piece), piece * side > 0
        worth, bit = _WORTHS[man], _BITS[start]
        if _BISHOP <= man <= _QUEEN:
            for way in range(4 if man == _BISHOP else 0, 4 if man == _ROOK else 8):
                square, step = start, _WAY_SQUARES[way]
                for _ in range(_FREE[start, way]):
                    square += step
                    if ours:
                        guards[square] |= bit
                    elif worth < least[square]:
                        least[square] = worth
                    if board[square] != 0:
                        break
            continue
        leaps = _LEAPS[int(piece > 0) if man == _PAWN else 2 if man == _KNIGHT else 3, start]
        place = 0
        while leaps[place] >= 0:
            square = leaps[place]
            if ours:
                guards[square] |= bit
            elif worth < least[square]:
                least[square] = worth
            place += 1


@kernel
def _in_danger(square: int, worth: int, leaving: int, least: Men, guards: Guards) -> bool:
    """Whether a lesser man attacks a square, or any man and none of ours defends it.

    The man on `leaving` does not defend, but stands in the way of others.
    """
    if worth > 9 or least[square] == _UNATTACKED:
        return False
    others = guards[square]
    if leaving >= 0:
        others &= ~_BITS[leaving]
    return bool(least[square] < worth or others == 0)


@kernel
def _attacks_along(board: Men, king: int, towards: int, side: int) -> bool:
    """Whether the first man that the king sees towards a square attacks it along that line."""
    way = _WAY_TO[king, towards]
    if way < 0:
        return False
    files, ranks = _WAY_FILES[way], _WAY_RANKS[way]
    f, r = (king & 7) + files, (king >> 3) + ranks
    while 0 <= f < 8 and 0 <= r < 8:
        man = side * board[8 * r + f]
        if man != 0:
            return bool(man in (_QUEEN, _ROOK if way < 4 else _BISHOP))
        f, r = f + files, r + ranks
    return False


@kernel
def _steps_to(man: int, start: int, to: int, side: int) -> bool:
    """Whether a pawn, knight or king attacks a square."""
    files, ranks = abs((to & 7) - (start & 7)), (to >> 3) - (start >> 3)
    if man == _PAWN:
        return files == 1 and ranks == side
    far, near = max(files, abs(ranks)), min(files, abs(ranks))
    return (man == _KNIGHT and far == 2 and near == 1) or (man == _KING and far == 1)


@kernel
def _is_attacked(board: Men, square: int, side: int) -> bool:
    """Whether a side attacks a square."""
    for start in range(64):
        man = side * board[start]
        if man > 0 and (
            _steps_to(man, start, square, side)
            or (
                _BISHOP <= man <= _QUEEN
                and start != square
                and _attacks_along(board, square, start, side)
            )
        ):
            return True
    return False


@kernel
def _look_from_king(board: Men, king: int, side: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return what a king sees straight and aslant, and which of our men hide a line of attack."""
    straight, slanting, hiding = _NOWHERE, _NOWHERE, _NOWHERE
    for way in range(8):
        square, step, hidden = king, _WAY_SQUARES[way], -1
        for _ in range(_FREE[king, way]):
            square += step
            man = side * board[square]
            if hidden >= 0:
                if man != 0:
                    if man in (_QUEEN, _ROOK if way < 4 else _BISHOP):
                        hiding |= _BITS[hidden]
                    break
                continue
            if way < 4:
                straight |= _BITS[square]
            else:
                slanting |= _BITS[square]
            if man < 0:
                break
            if man > 0:
                hidden = square
    return straight, slanting, hiding


@kernel
def _plainly_checks(board: Men, start: int, to: int, man: int, side: int, king: int) -> bool:
    """Whether a plain move attacks a king that was not attacked: the man that moves, or one behind.

    The board is as before afterwards.
    """
    if _BISHOP <= man <= _QUEEN:
        if _WAY_TO[king, to] < 0 and _WAY_TO[king, start] < 0:
            return False
    elif _steps_to(man, to, king, side):
        return True
    elif _WAY_TO[king, start] < 0:
        return False
    moved, taken = board[start], board[to]
    board[start] = 0
    board[to] = side * man
    attacked = _attacks_along(board, king, to, side) or _attacks_along(board, king, start, side)
    board[start] = moved
    board[to] = taken
    return attacked


@kernel
def _gives_check(
    board: Men, after: Men, start: int, to: int, promoted: int, side: int, passing: bool,
    castles: bool, king: int,
) -> bool:  # fmt: skip
    """Whether the king at `king` is attacked when the move is made, whatever it is."""
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
    return _is_attacked(after, king, side)


@kernel
def _distance(one: int, two: int) -> int:
    return max(abs((one & 7) - (two & 7)), abs((one >> 3) - (two >> 3)))


@kernel
def _last_number(letters: Bytes, begin: int, end: int) -> float:
    """Return the number that is the last word; 0 = it is none."""
    number, at, unit = 0.0, end - 1, 1.0
    while at >= begin and 48 <= letters[at] <= 57:
        number += unit * (letters[at] - 48)
        unit *= 10.0
        at -= 1
    return number if begin <= at < end - 1 and letters[at] == 32 else 0.0


@kernel
def _count_men(board: Men, side: int) -> tuple[int, int, int]:
    """Return the square of the king not to move (-1 = none), the men, and those beside pawns."""
    king, men, pieces = -1, 0, 0
    for square in range(64):
        if board[square] != 0:
            men += 1
            pieces += _KNIGHT <= abs(board[square]) <= _QUEEN
            if board[square] == -side * _KING:
                king = square
    return king, men, pieces


@kernel
def _describe(  # noqa: PLR0912, PLR0915 - in pieces it takes nearly twice as long
    fens: Bytes, fen_starts: Longs, moves: Bytes, begins: Longs, ends: Longs, starts: Longs,
    last: Bytes, last_starts: Longs, own: Bytes, own_starts: Longs, out: Floats, about: Counts,
) -> bool:  # fmt: skip
    board, after = np.zeros(64, dtype=np.int8), np.zeros(64, dtype=np.int8)
    least, guards = np.zeros(64, dtype=np.int8), np.zeros(64, dtype=np.uint64)
    for turn in range(len(fen_starts) - 1):
        begin, end = fen_starts[turn], fen_starts[turn + 1]
        side, ep_square, good = read_board(fens, begin, end, board)
        if not good:
            return False
        king, men, pieces = _count_men(board, side)
        about[0, turn], about[1, turn] = men, pieces
        about[2, turn] = _last_number(fens, begin, end)
        _look_around(board, side, least, guards)
        attacked = king >= 0 and guards[king] != 0
        straight, slanting, hiding = _look_from_king(board, max(king, 0), side)
        _, last_to = _squares(last, last_starts[turn], last_starts[turn + 1])
        own_from, own_to = _squares(own, own_starts[turn], own_starts[turn + 1])
        for option in range(starts[turn], starts[turn + 1]):
            begin = begins[option]
            promoted = _promotion(moves, begin, ends[option])
            if promoted < 0:
                return False
            start, to = _square(moves, begin), _square(moves, begin + 2)
            if start < 0 or to < 0 or start == to or board[start] * side < 0:
                return False
            man = abs(board[start])
            if man == 0:
                continue
            worth, taken = _WORTHS[man], abs(board[to])
            passing = man == _PAWN and to == ep_square and taken == 0
            passing = passing and (abs(to - start) == 7 or abs(to - start) == 9)
            castles = man == _KING and (
                abs((start & 7) - (to & 7)) > 1 or board[to] == side * _ROOK
            )
            takes = (taken != 0 or passing) and not castles
            prize = 1 if passing else _WORTHS[taken] if takes else 0
            ranks = side * ((to >> 3) - (start >> 3))
            if takes:
                out[0, option] = 1.0
                out[1, option] = to == last_to
                out[2, option] = prize == worth
            if king >= 0 and to != king:
                if attacked or passing or castles:
                    out[3, option] = _gives_check(
                        board, after, start, to, promoted, side, passing, castles, king
                    )
                elif promoted or hiding & _BITS[start] != _NOWHERE:
                    kind = promoted if promoted else man
                    out[3, option] = _plainly_checks(board, start, to, kind, side, king)
                elif _BISHOP <= man <= _QUEEN:
                    # Nothing that it leaves behind can check: it must see the king itself.
                    along = straight if man != _BISHOP else _NOWHERE
                    aslant = slanting if man != _ROOK else _NOWHERE
                    out[3, option] = (along | aslant) & _BITS[to] != _NOWHERE
                else:
                    out[3, option] = _steps_to(man, to, king, side)
            out[4, option] = promoted > 0
            if castles:
                out[5, option] = 1.0
            elif man == _PAWN:
                out[6, option] = 1.0
            elif man >= _ROOK:
                out[3 + man, option] = 1.0
            if ranks < 0:
                out[11, option] = _SEVENTHS[-ranks]
            elif man != _PAWN and not castles:
                out[10, option] = _SEVENTHS[ranks]
            if _BISHOP <= man <= _QUEEN:
                out[12, option] = _SEVENTHS[_distance(start, to)]
            if _in_danger(start, worth, -1, least, guards):
                out[13, option] = 1.0
            if prize < worth and _in_danger(to, worth, start, least, guards):
                out[14, option] = 1.0
            if last_to >= 0:
                out[15, option] = _NEAR[_distance(to, last_to)]
            if start == own_to:
                out[16, option] = 1.0
                out[17, option] = to == own_from
            out[18, option] = _THIRDS[3 + _CENTRE[start] - _CENTRE[to]]
    return True
