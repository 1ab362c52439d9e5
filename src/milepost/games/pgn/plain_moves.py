"""The moves of plain PGN games, compiled: many games in one call, each read to its end or not.

Nearly all games are plain: from the usual array, moves in the export notation with or without
numbers, comments in braces, NAGs, and a result at the end. Here they are replayed some fifty times
as fast as by python-chess, with the same positions. Anything else is left to
`milepost.games.pgn.movetext.read_moves`, which reads all that PGN may hold and says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from milepost.games.pgn.comment_kernel import TOLD, read_commands, skip_comment
from milepost.games.pgn.mainline import Mainline
from milepost.games.turns.board_kernel import (
    ALL_RIGHTS,
    FIRST_POSITION,
    KING,
    PAWN,
    Bytes,
    Men,
    can_take_passing,
    count_moves,
    find_pawn,
    find_piece,
    is_attacked,
    may_castle,
    play_move,
)
from milepost.games.turns.phases import (
    BACK_RANK_MEN,
    ENDGAME,
    ENDGAME_PIECES,
    MIDDLEGAME,
    MIDDLEGAME_PIECES,
    OPENING,
)
from milepost.io.arrow_buffers import as_series
from milepost.kernels import kernel

Longs = npt.NDArray[np.int64]

_RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_PHASES = (OPENING, MIDDLEGAME, ENDGAME)
_LETTERS = np.frombuffer(b" PNBRQK", dtype=np.uint8)
_KINDS = np.zeros(256, dtype=np.int8)
_KINDS[_LETTERS[1:]] = np.arange(1, 7)
_FEN_LETTERS = 96
"""More than any FEN has."""
_SPACE, _NEWLINE, _RETURN, _TAB = 32, 10, 13, 9
# Where the state of a game is kept: side to move (1, -1), square passed by a pawn, castling rights,
# moves since the last capture, phase; and beside `_KING` the squares of both kings.
_SIDE, _PASSING, _RIGHTS, _CLOCK, _PHASE, _KING = 0, 1, 2, 3, 4, 6


@dataclass(frozen=True)
class PlainMoves:
    """What was read of some games; their turns follow each other."""

    whole: npt.NDArray[np.bool_]
    """Which games were read to their end: of the others nothing is kept."""
    first: Longs
    """Where the turns of each game begin; and the end."""
    results: npt.NDArray[np.int8]
    """Which of `_RESULTS` stands behind the moves."""
    mated: npt.NDArray[np.bool_]
    """Whether the last move mates."""
    moves: Bytes
    """The moves in UCI, each with a blank behind it."""
    move_ends: Longs
    """Where each move ends in `moves`, blank included."""
    told: npt.NDArray[np.float64]
    """What comments tell behind each move, one row for each of `TOLD`; NaN = nothing."""
    fens: Bytes
    """The positions before the moves."""
    fen_ends: Longs
    flags: npt.NDArray[np.int8]
    """Of each turn: the phase, whether the position was there before, whether one move is legal."""

    def mainline(self, game: int) -> Mainline:
        """Return one game as `read_moves` does, but for what its comments tell: see `told`."""
        first, end = int(self.first[game]), int(self.first[game + 1])
        begin = int(self.move_ends[first - 1]) if first else 0
        moves = self.moves[begin : int(self.move_ends[end - 1])].tobytes().decode("ascii").split()
        line = Mainline(moves, result_token=_RESULTS[self.results[game]])
        line.last_move_number = (len(moves) + 1) // 2
        if self.mated[game]:
            line.mated = "1-0" if len(moves) % 2 else "0-1"
        return line

    def told_in(self, game: int) -> npt.NDArray[np.float64]:
        """Return what the comments of a game tell, one row for each of `TOLD`."""
        return self.told[:, self.first[game] : self.first[game + 1]]

    def turns(self, games: Longs, rows: Longs, book_plies: int) -> pl.DataFrame:
        """Return the turns of some games, in the columns of `REPLAY_SCHEMA`.

        Parameters
        ----------
        games, rows
            Which games, and the row of each in its frame.
        book_plies
            Half-moves that are marked as book.
        """
        counts = self.first[games + 1] - self.first[games]
        ply = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.repeat(self.first[games], counts) + ply
        phase, repetition, only = self.flags[place].T
        return pl.DataFrame({
            "row": np.repeat(rows, counts).astype(np.int32), "ply": ply.astype(np.int32),
            "move_number": (ply // 2 + 1).astype(np.int32), "white_moves": ply % 2 == 0,
            "position": _texts(self.fens, self.fen_ends).gather(place),
            "played": _texts(self.moves, self.move_ends).gather(place).str.strip_chars_end(" "),
            "phase": pl.Series(_PHASES).gather(phase.astype(np.int64)), "book": ply < book_plies,
            "repetition": repetition.astype(np.bool_), "only_move": only.astype(np.bool_),
        })  # fmt: skip


def _texts(letters: Bytes, ends: Longs) -> pl.Series:
    starts = pa.py_buffer(np.concatenate([np.zeros(1, dtype=np.int64), ends]))
    used = letters[: ends[-1] if len(ends) else 0]
    array = pa.LargeStringArray.from_buffers(len(ends), starts, pa.py_buffer(used))
    return as_series("", array)


def read_plain_moves(text: bytes, begins: Longs, ends: Longs, *, turns: bool) -> PlainMoves:
    """Replay the games whose movetexts stand in the text, as far as they are plain.

    Parameters
    ----------
    text
        The text.
    begins, ends
        Where the movetext of each game begins and ends. All begin from the usual array.
    turns
        Whether the positions are wanted.
    """
    games = len(begins)
    most = int((ends - begins).sum()) // 3 + games  # two letters and a blank are the least
    whole, mated = np.zeros(games, dtype=np.bool_), np.zeros(games, dtype=np.bool_)
    first, results = np.zeros(games + 1, dtype=np.int64), np.zeros(games, dtype=np.int8)
    moves, move_ends = np.empty(6 * most, dtype=np.uint8), np.empty(most, dtype=np.int64)
    told = np.empty((len(TOLD), most))
    positions = most if turns else 0
    fens = np.empty(_FEN_LETTERS * positions, dtype=np.uint8)
    fen_ends, flags = np.empty(positions, dtype=np.int64), np.empty((positions, 3), dtype=np.int8)
    _read_games(
        np.frombuffer(text, dtype=np.uint8), begins, ends, whole, first, results, mated, moves,
        move_ends, told, fens, fen_ends, flags,
    )  # fmt: skip
    count = int(first[-1])
    return PlainMoves(
        whole, first, results, mated, moves, move_ends[:count], told[:, :count], fens,
        fen_ends[: count if turns else 0], flags[: count if turns else 0],
    )  # fmt: skip


@kernel
def _is_blank(letter: int) -> bool:
    return letter in (_SPACE, _NEWLINE, _RETURN, _TAB)


@kernel
def _write_number(number: int, out: Bytes, at: int) -> int:
    size = 10
    while size <= number:
        size *= 10
    while size > 1:
        size //= 10
        out[at] = 48 + number // size % 10
        at += 1
    return at


@kernel
def _write_position(
    board: Men, side: int, rights: int, passing: int, king: int, out: Bytes, at: int
) -> int:  # fmt: skip
    """Write a FEN without its two counters; return where it ends."""
    for rank in range(7, -1, -1):
        empty = 0
        for file in range(8):
            man = board[8 * rank + file]
            if man == 0:
                empty += 1
                continue
            if empty:
                out[at] = 48 + empty
                at += 1
                empty = 0
            out[at] = _LETTERS[man] if man > 0 else _LETTERS[-man] + 32
            at += 1
        if empty:
            out[at] = 48 + empty
            at += 1
        out[at] = 47 if rank else _SPACE
        at += 1
    out[at] = 119 if side > 0 else 98
    out[at + 1] = _SPACE
    at += 2
    for bit, letter in ((1, 75), (2, 81), (4, 107), (8, 113)):
        if rights & bit:
            out[at] = letter
            at += 1
    if rights == 0:
        out[at] = 45
        at += 1
    out[at] = _SPACE
    at += 1
    if can_take_passing(board, passing, side, king):
        out[at] = 97 + passing % 8
        out[at + 1] = 49 + passing // 8
        at += 2
    else:
        out[at] = 45
        at += 1
    return at


@kernel
def _was_there(
    fens: Bytes, fen_ends: Longs, lengths: Longs, turn: int, begin: int, end: int, clock: int
) -> bool:  # fmt: skip
    """Whether an earlier position of the game reads the same; no capture or pawn move lies between.

    `begin` and `end` are those of the FEN without its counters.
    """
    for back in range(4, clock + 1, 2):
        other = turn - back
        if lengths[other] != end - begin:
            continue
        start = fen_ends[other - 1] if other > 0 else 0
        same = True
        for letter in range(end - begin):
            if fens[start + letter] != fens[begin + letter]:
                same = False
                break
        if same:
            return True
    return False


@kernel
def _phase(board: Men, phase: int) -> int:
    """The rule of `milepost.games.turns.phases`: 0, 1, 2 are its three phases."""
    pieces, white, black = 0, 0, 0
    for square in range(64):
        if abs(board[square]) not in (0, PAWN, KING):
            pieces += 1
    for file in range(8):
        white += board[file] > 0
        black += board[56 + file] < 0
    if phase == 2 or pieces <= ENDGAME_PIECES:
        return 2
    if phase == 1 or pieces <= MIDDLEGAME_PIECES or min(white, black) < BACK_RANK_MEN:
        return 1
    return 0


@kernel
def _result(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return which result stands here (-1 = none), and where it ends."""
    if text[at] == 42:
        return 3, at + 1
    if at + 3 <= end and text[at + 1] == 45:
        if text[at] == 49 and text[at + 2] == 48:
            return 0, at + 3
        if text[at] == 48 and text[at + 2] == 49:
            return 1, at + 3
    if at + 7 <= end:
        draw = True
        for place, letter in enumerate((49, 47, 50, 45, 49, 47, 50)):
            draw = draw and text[at + place] == letter
        if draw:
            return 2, at + 7
    return -1, at


@kernel
def _castling(text: Bytes, at: int, length: int, board: Men, state: Longs) -> tuple[int, int]:
    """Read ``O-O`` or ``O-O-O``: from and to."""
    if length not in (3, 5):
        return -1, -1
    for place in range(1, length):
        if text[at + place] != (45 if place % 2 else 79):
            return -1, -1
    side, short = state[_SIDE], length == 3
    if not may_castle(board, state[_RIGHTS], short, side):
        return -1, -1
    king = 4 if side > 0 else 60
    return king, king + 2 if short else king - 2


@kernel
def _pawn_move(text: Bytes, at: int, length: int, board: Men, to: int, state: Longs) -> int:
    """Read ``e4`` or ``dxe4``: from."""
    column = to % 8
    if length != 2:
        column = int(text[at]) - 97
        if length != 4 or text[at + 1] != 120 or not 0 <= column < 8 or column == to % 8:
            return -1
    side = state[_SIDE]
    return find_pawn(board, column, to, state[_PASSING], side, state[_KING + side])


@kernel
def _piece_move(text: Bytes, at: int, length: int, board: Men, to: int, state: Longs) -> int:
    """Read ``Nf3``, ``Nxf3``, ``Ngf3``, ``N1f3`` or ``Ng1f3``: from."""
    column, row, place, stop = -1, -1, at + 1, at + length - 2
    if place < stop and 97 <= text[place] <= 104:
        column = int(text[place]) - 97
        place += 1
    if place < stop and 49 <= text[place] <= 56:
        row = int(text[place]) - 49
        place += 1
    if place < stop and text[place] == 120:
        place += 1
    if place != stop:
        return -1
    side = state[_SIDE]
    return find_piece(board, _KINDS[text[at]], column, row, to, side, state[_KING + side])


@kernel
def _end_of_move(text: Bytes, at: int, end: int) -> int:
    """Pass over ``+``, ``#``, ``!`` and ``?`` behind a move; -1 if something else follows."""
    if at < end and text[at] in (43, 35):
        at += 1
    for _ in range(2):
        if at < end and text[at] in (33, 63):
            at += 1
    return at if at == end or _is_blank(text[at]) or text[at] in (36, 123) else -1


@kernel
def _find_move(
    text: Bytes, at: int, end: int, board: Men, state: Longs
) -> tuple[int, int, int, int]:  # fmt: skip
    """Read a move: from, to, what it promotes to, and where its text ends; from = -1 if it is none.

    Only the export notation, and only what is legal and means one move.
    """
    begin = at
    while at < end and at - begin < 8 and not (
        _is_blank(text[at]) or text[at] in (33, 35, 36, 43, 61, 63, 123)
    ):  # fmt: skip
        at += 1
    length, kind, promoted = at - begin, _KINDS[text[begin]], 0
    if text[begin] == 79:  # the letter O
        start, to = _castling(text, begin, length, board, state)
        return start, to, 0, _end_of_move(text, at, end)
    if length < (3 if kind else 2) or kind == PAWN:
        return -1, -1, 0, at
    file, rank = int(text[at - 2]) - 97, int(text[at - 1]) - 49
    if not (0 <= file < 8 and 0 <= rank < 8):
        return -1, -1, 0, at
    to = 8 * rank + file
    if kind:
        start = _piece_move(text, begin, length, board, to, state)
    else:
        start = _pawn_move(text, begin, length, board, to, state)
        if rank in (0, 7):
            promoted = int(_KINDS[text[at + 1]]) if at + 1 < end and text[at] == 61 else 0
            start = start if PAWN < promoted < KING else -1
            at += 2
    return start, to, promoted, _end_of_move(text, at, end)


@kernel
def _skip_nag(text: Bytes, at: int, end: int) -> int:
    """Return where a NAG ends; -1 if it is none."""
    begin = at + 1
    at += 1
    while at < end and 48 <= text[at] <= 57:
        at += 1
    plain = 0 < at - begin <= 3 and (at == end or _is_blank(text[at]) or text[at] == 123)
    return at if plain else -1


@kernel
def _skip_number(text: Bytes, at: int, end: int) -> int:
    """Return where the number of a move and its dots end; -1 if it is none."""
    begin = at
    while at < end and 48 <= text[at] <= 57:
        at += 1
    if at - begin > 3 or at == end or text[at] != 46:
        return -1
    while at < end and text[at] == 46:
        at += 1
    return at


@kernel
def _write_turn(
    board: Men, state: Longs, turn: int, ply: int, fens: Bytes, fen_ends: Longs, lengths: Longs,
    flags: npt.NDArray[np.int8],
) -> None:  # fmt: skip
    """Write down the position before a move, and what is known about it."""
    side, passing, clock = state[_SIDE], state[_PASSING], state[_CLOCK]
    king = state[_KING + side]
    begin = fen_ends[turn - 1] if turn else 0
    end = _write_position(board, side, state[_RIGHTS], passing, king, fens, begin)
    lengths[turn] = end - begin
    state[_PHASE] = _phase(board, state[_PHASE])
    flags[turn, 0] = state[_PHASE]
    flags[turn, 1] = _was_there(fens, fen_ends, lengths, turn, begin, end, min(clock, ply))
    flags[turn, 2] = count_moves(board, passing, side, king, 2) < 2
    fens[end] = _SPACE
    end = _write_number(clock, fens, end + 1)
    fens[end] = _SPACE
    fen_ends[turn] = _write_number(ply // 2 + 1, fens, end + 1)


@kernel
def _write_move(
    start: int, to: int, promoted: int, turn: int, moves: Bytes, move_ends: Longs
) -> None:  # fmt: skip
    place = move_ends[turn - 1] if turn else 0
    for square in (start, to):
        moves[place] = 97 + square % 8
        moves[place + 1] = 49 + square // 8
        place += 2
    if promoted:
        moves[place] = _LETTERS[promoted] + 32
        place += 1
    moves[place] = _SPACE
    move_ends[turn] = place + 1


@kernel
def _play(board: Men, state: Longs, start: int, to: int, promoted: int) -> None:
    side = state[_SIDE]
    if start == state[_KING + side]:
        state[_KING + side] = to
    state[_PASSING], state[_RIGHTS], counts = play_move(
        board, start, to, promoted, state[_PASSING], state[_RIGHTS]
    )
    state[_CLOCK] = 0 if counts else state[_CLOCK] + 1
    state[_SIDE] = -side


@kernel
def _read_game(
    text: Bytes, at: int, end: int, board: Men, state: Longs, first: int, moves: Bytes,
    move_ends: Longs, told: npt.NDArray[np.float64], fens: Bytes, fen_ends: Longs, lengths: Longs,
    flags: npt.NDArray[np.int8],
) -> tuple[int, int]:  # fmt: skip
    """Read one game: the turns that there are then, and its result (-1 = not plain)."""
    turn, result = first, -1
    while 0 <= at < end:
        letter = text[at]
        if _is_blank(letter):
            at += 1
        elif result >= 0:
            return turn, -1  # something stands behind the result
        elif letter == 123:  # a comment
            begin = at
            at, commands = skip_comment(text, at, end)
            if (
                commands == 1
                and turn > first
                and not read_commands(text, begin + 1, at - 1, turn - 1, told)
            ):
                return turn, -1
        elif letter == 36:
            at = _skip_nag(text, at, end)
        elif 48 <= letter <= 57 or letter == 42:
            result, at = _result(text, at, end)
            if result < 0:
                at = _skip_number(text, at, end)
        else:
            start, to, promoted, at = _find_move(text, at, end, board, state)
            if start < 0 or turn >= len(move_ends):
                return turn, -1
            if len(fen_ends):
                _write_turn(board, state, turn, turn - first, fens, fen_ends, lengths, flags)
            _write_move(start, to, promoted, turn, moves, move_ends)
            told[:, turn] = np.nan
            _play(board, state, start, to, promoted)
            turn += 1
    return turn, result if at >= 0 and turn > first else -1


@kernel
def _read_games(
    text: Bytes, begins: Longs, ends: Longs, whole: npt.NDArray[np.bool_], first: Longs,
    results: npt.NDArray[np.int8], mated: npt.NDArray[np.bool_], moves: Bytes, move_ends: Longs,
    told: npt.NDArray[np.float64], fens: Bytes, fen_ends: Longs, flags: npt.NDArray[np.int8],
) -> None:  # fmt: skip
    """Read all games."""
    board, state = np.zeros(64, dtype=np.int8), np.zeros(_KING + 2, dtype=np.int64)
    lengths = np.zeros(len(fen_ends), dtype=np.int64)
    for game in range(len(begins)):
        board[:] = FIRST_POSITION
        state[:] = 0
        state[_SIDE], state[_PASSING], state[_RIGHTS] = 1, -1, ALL_RIGHTS
        state[_KING - 1], state[_KING + 1] = 60, 4
        turn, result = _read_game(
            text, begins[game], ends[game], board, state, first[game], moves, move_ends,
            told, fens, fen_ends, lengths, flags,
        )  # fmt: skip
        first[game + 1] = first[game]
        if result >= 0:
            side, passing = state[_SIDE], state[_PASSING]
            king = state[_KING + side]
            whole[game], results[game], first[game + 1] = True, result, turn
            mated[game] = (
                is_attacked(board, king, -side) and count_moves(board, passing, side, king, 1) == 0
            )
