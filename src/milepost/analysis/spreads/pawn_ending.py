"""King and pawn against king: which moves keep the result, and how far the promotion is.

The one ending that everybody learns by heart, with its opposition and key squares, and one in which
values to a small depth are wrong: the search does not reach the promotion. There are so few
positions that all of them are solved when the first is asked for: a position is won for the pawn's
side if a move leads to one that is won, and if all moves of the bare king do. What is never reached
in this way is a draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import chess
import numpy as np
import numpy.typing as npt

_Steps = npt.NDArray[np.int16]
_Bools = npt.NDArray[np.bool_]
_NEVER = np.int16(1000)
"""Half-moves to the promotion where it cannot be forced."""
_ROOK_STEPS = 20.0
"""What a rook counts as more, where a queen would win too."""
_PLACES = [square for square in range(8, 56) if square % 8 < 4]
"""Where the pawn may stand in the tables; the rest of the board is the mirror image."""


def is_pawn_ending(board: chess.Board) -> bool:
    """Return whether there is one pawn on the board, and nothing else beside the kings."""
    return board.occupied.bit_count() == 3 and board.pawns.bit_count() == 1


def steps_to_promotion(board: chess.Board, moves: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return, for each move of such an ending, how many half-moves the promotion is away then.

    Infinity = it cannot be forced: the game is a draw. Zero = the move promotes, and the new queen
    stays. A promotion that stalemates, or to a bishop or knight, is a draw. A rook wins too, but
    nobody takes one where a queen wins: it counts as if it took ten moves more.
    """
    pawn_side = bool(board.occupied_co[chess.WHITE] & board.pawns)
    answer = np.full(len(moves), np.inf)
    for place, text in enumerate(moves):
        move = chess.Move.from_uci(text)
        if move.promotion is not None:
            if move.promotion in (chess.QUEEN, chess.ROOK):
                board.push(move)
                taken = any(board.is_capture(reply) for reply in board.legal_moves)
                drawn = taken or board.is_stalemate()
                board.pop()
                answer[place] = np.inf if drawn else 0.0
            continue
        if board.is_capture(move):
            continue
        board.push(move)
        answer[place] = _looked_up(board, pawn_side)
        board.pop()
    queens = [place for place, text in enumerate(moves) if text.endswith("q")]
    if any(answer[place] == 0 for place in queens):
        answer[[text.endswith("r") for text in moves]] += _ROOK_STEPS
    return answer


def _looked_up(board: chess.Board, pawn_side: chess.Color) -> float:
    pawn = board.pawns.bit_length() - 1
    ours, theirs = board.king(pawn_side), board.king(not pawn_side)
    assert ours is not None
    assert theirs is not None
    # The tables have a white pawn on one of the first four files.
    flip = (0 if pawn_side else 56) ^ (7 if chess.square_file(pawn) > 3 else 0)
    table = _solved()[int(board.turn != pawn_side)]
    steps = table[ours ^ flip, theirs ^ flip, _PLACES.index(pawn ^ flip)]
    return np.inf if steps >= _NEVER else float(steps)


@cache
def _solved() -> tuple[_Steps, _Steps]:
    """Half-moves to the promotion by white king, black king and pawn: White to move, then Black."""
    kings = _king_attacks()
    squares, places = np.arange(64), np.array(_PLACES)
    white, black, pawn = np.meshgrid(squares, squares, places, indexing="ij", sparse=True)
    number = np.arange(len(places))[None, None, :]
    last_rank = pawn >> 3 == 6
    guarded = np.zeros((64, 64), dtype=bool)  # [pawn, square]
    for square in _PLACES:
        guarded[square, list(chess.SquareSet(chess.BB_PAWN_ATTACKS[True][square]))] = True
    placed = (white != black) & ~kings[white, black] & (white != pawn) & (black != pawn)
    # With White to move Black must not stand in check.
    to_move = placed & ~guarded[pawn, black]
    won, lost = np.full(placed.shape, _NEVER), np.full(placed.shape, _NEVER)
    # A new queen that cannot be taken wins. Where it would stalemate, a rook does not.
    before = pawn + 8
    blocked = (before == white) | (before == black)
    stays = ~blocked & (~kings[black, before] | kings[white, before])
    won[to_move & last_rank & stays] = 1
    # From the second rank a pawn may step twice. In `places` a rank has four squares.
    one, two = np.minimum(number + 4, len(places) - 1), np.minimum(number + 8, len(places) - 1)
    single = ~blocked & ~last_rank
    double = single & (pawn >> 3 == 1) & (pawn + 16 != white) & (pawn + 16 != black)
    moved = [_stepped(file, up) for file in (-1, 0, 1) for up in (-1, 0, 1) if file or up]
    # Black's moves are the same in every pass; who can take the pawn draws, and so does stalemate.
    black_moves, open_ended = [], np.zeros(placed.shape, dtype=bool)
    for target, inside in moved:
        to = target[black]
        legal = placed & inside[black] & ~kings[white, to] & (white != to) & ~guarded[pawn, to]
        black_moves.append((to, legal))
        open_ended |= legal
    for to, legal in black_moves:
        open_ended &= ~(legal & (to == pawn))
    while True:
        # Black to move: lost if every move leads to a position that White wins.
        longest = np.zeros(placed.shape, dtype=np.int16)
        for to, legal in black_moves:
            np.maximum(longest, np.where(legal, won[white, to, number], 0), out=longest)
        new_lost = np.where(open_ended & (longest < _NEVER), longest + 1, _NEVER)
        # White to move: won if some move leads to one that Black has lost. Where a king would
        # stand beside the other or on the pawn, the tables say never.
        shortest = np.where(single, new_lost[white, black, one], _NEVER)
        np.minimum(shortest, np.where(double, new_lost[white, black, two], _NEVER), out=shortest)
        for target, inside in moved:
            after = new_lost[target[white], black, number]
            np.minimum(shortest, np.where(inside[white], after, _NEVER), out=shortest)
        new_won = np.minimum(won, np.where(to_move & (shortest < _NEVER), shortest + 1, _NEVER))
        if np.array_equal(new_won, won) and np.array_equal(new_lost, lost):
            return won, lost
        won, lost = new_won, new_lost


def _stepped(file: int, up: int) -> tuple[npt.NDArray[np.int64], _Bools]:
    """Where a king's step leads from each square, and whether it stays on the board."""
    squares = np.arange(64)
    files, ranks = (squares & 7) + file, (squares >> 3) + up
    inside = (files >= 0) & (files < 8) & (ranks >= 0) & (ranks < 8)
    return np.where(inside, files + 8 * ranks, squares), inside


def _king_attacks() -> _Bools:
    table = np.zeros((64, 64), dtype=bool)
    for square in range(64):
        table[square, list(chess.SquareSet(chess.BB_KING_ATTACKS[square]))] = True
    return table
