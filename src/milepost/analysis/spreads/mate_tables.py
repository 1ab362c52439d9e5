"""King and rook, or king and queen, against the bare king: how many moves the mate is away.

Everybody who plays for a while can do this, by a method; a search to a small depth cannot, since
all moves keep the win. All positions of such an ending are solved when the first is asked for. The
board is its own mirror image in both directions, so the bare king need only stand in one quarter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import chess
import numpy as np
import numpy.typing as npt

_Moves = npt.NDArray[np.int8]
_Bools = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]
_NEVER = np.int8(100)
"""Moves to the mate where it cannot be forced."""
_QUARTER = [square for square in range(32) if square % 8 < 4]
"""Where the bare king may stand in the tables."""
_ROOK = [(1, 0), (-1, 0), (0, 1), (0, -1)]
_BISHOP = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
_RAYS = {chess.ROOK: _ROOK, chess.QUEEN: _ROOK + _BISHOP}
_KING = _ROOK + _BISHOP


def mating_piece(board: chess.Board) -> chess.PieceType | None:
    """Return what is on the board beside the kings: a rook or a queen, and nothing else."""
    if board.occupied.bit_count() != 3:
        return None
    return chess.ROOK if board.rooks else chess.QUEEN if board.queens else None


def moves_to_mate(
    board: chess.Board, moves: Sequence[str], piece: chess.PieceType
) -> npt.NDArray[np.float64]:
    """Return, for each move of such an ending, in how many moves the bare king is mated then.

    0 = the move mates. Infinity = never: stalemate, or the piece is lost.
    """
    strong = bool((board.rooks | board.queens) & board.occupied_co[chess.WHITE])
    answer = np.full(len(moves), np.inf)
    for place, text in enumerate(moves):
        board.push(chess.Move.from_uci(text))
        if board.occupied.bit_count() == 3:
            answer[place] = _looked_up(board, strong, piece)
        board.pop()
    return answer


def _looked_up(board: chess.Board, strong: chess.Color, piece: chess.PieceType) -> float:
    ours, theirs = board.king(strong), board.king(not strong)
    assert ours is not None
    assert theirs is not None
    man = (board.rooks | board.queens).bit_length() - 1
    flip = _flip(theirs)
    table = _solved(piece)[int(board.turn != strong)]
    moves = table[_QUARTER.index(theirs ^ flip), ours ^ flip, man ^ flip]
    return np.inf if moves >= _NEVER else float(moves)


def _flip(square: int) -> int:
    """What to change in the squares so that this one comes into the first quarter."""
    return (7 if square % 8 > 3 else 0) ^ (56 if square > 31 else 0)


@cache
def _solved(piece: chess.PieceType) -> tuple[_Moves, _Moves]:
    """Moves to the mate by bare king, other king and man: the man's side to move, then the king."""
    bare, king, man = np.meshgrid(
        np.array(_QUARTER), np.arange(64), np.arange(64), indexing="ij", sparse=True
    )
    near = np.array([[chess.square_distance(a, b) <= 1 for b in range(64)] for a in range(64)])
    attacked = _attacked(piece)
    apart = ~near[bare, king] & (man != king) & (man != bare)
    checked = attacked[man, king, bare]
    # Every move as the number of the position that it leads to. One more cell stands for moves
    # that do not exist: for us it is no mate, for the bare king no way out.
    nowhere = apart.size
    number = np.full(64, -1)
    number[_QUARTER] = np.arange(len(_QUARTER))
    place = number[bare]
    ours = np.stack(
        [
            np.where(allowed, (place * 64 + to_king) * 64 + to_man, nowhere).ravel()
            for to_king, to_man, allowed in _our_moves(bare, king, man, piece)
        ]
    )
    flips = np.array([_flip(square) for square in range(64)])
    theirs = []
    mobile, takes = np.zeros(apart.shape, dtype=bool), np.zeros(apart.shape, dtype=bool)
    for file, rank in _KING:
        to, inside = _shifted(bare, file, rank)
        legal = apart & inside & ~near[to, king] & (~attacked[man, king, to] | (to == man))
        mobile |= legal
        takes |= legal & (to == man)
        flip = flips[to]
        led_to = (number[to ^ flip] * 64 + (king ^ flip)) * 64 + (man ^ flip)
        theirs.append(np.where(legal, led_to, nowhere).ravel())
    replies = np.stack(theirs)
    to_move, open_ended = (apart & ~checked).ravel(), (apart & mobile & ~takes).ravel()
    # Mated: in check without a move. (A king beside the other or a man that is taken is no loss.)
    mated = (apart & ~mobile & checked).ravel()
    lost = np.append(np.where(mated, np.int8(0), _NEVER), _NEVER)
    won = np.append(np.full(nowhere, _NEVER), np.int8(0))
    while True:
        nearest = lost[ours].min(axis=0)
        new_won = won.copy()
        new_won[:-1] = np.where(to_move & (nearest < _NEVER), nearest + 1, _NEVER)
        # Mated by the longest way, and only if all ways lead there.
        new_lost = lost.copy()
        new_lost[:-1][open_ended] = new_won[replies].max(axis=0)[open_ended]
        if np.array_equal(new_won, won) and np.array_equal(new_lost, lost):
            return won[:-1].reshape(apart.shape), lost[:-1].reshape(apart.shape)
        won, lost = new_won, new_lost


def _our_moves(
    bare: _Ints, king: _Ints, man: _Ints, piece: chess.PieceType
) -> Iterator[tuple[_Ints, _Ints, _Bools]]:
    """Moves of the side with the man: where king and man are then, and where the move exists."""
    for file, rank in _KING:
        to, inside = _shifted(king, file, rank)
        yield to, man, inside & (to != man)
    for file, rank in _RAYS[piece]:
        free = np.ones((len(_QUARTER), 64, 64), dtype=bool)
        to = man
        for _ in range(7):
            to, inside = _shifted(to, file, rank)
            free = free & inside & (to != king) & (to != bare)
            yield king, to, free


def _shifted(squares: _Ints, file: int, rank: int) -> tuple[_Ints, _Bools]:
    """Squares a step further, and whether they are on the board; else they stay."""
    files, ranks = (squares & 7) + file, (squares >> 3) + rank
    inside = (files >= 0) & (files < 8) & (ranks >= 0) & (ranks < 8)
    return np.where(inside, files + 8 * ranks, squares), inside


def _attacked(piece: chess.PieceType) -> _Bools:
    """Which squares a man attacks past its own king: [man, king, square].

    The bare king hides nothing behind itself.
    """
    table = np.zeros((64, 64, 64), dtype=bool)
    man, king = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    for file, rank in _RAYS[piece]:
        free = np.ones((64, 64), dtype=bool)
        to = man
        for _ in range(7):
            to, inside = _shifted(to, file, rank)
            free = free & inside & (to != king)
            table[man[free], king[free], to[free]] = True
    return table
