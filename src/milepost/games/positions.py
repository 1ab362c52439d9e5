"""Positions as people give them: read, and refused in words that say what is wrong."""

from __future__ import annotations

import chess

from milepost.errors import InputError

STARTPOS = "startpos"
"""What people write for the starting position, as UCI does."""
_LOOKS_LIKE = f"a FEN looks like {chess.STARTING_FEN}, and {STARTPOS} is that position"
_WRONG = {
    chess.STATUS_EMPTY: "the board is empty",
    chess.STATUS_NO_WHITE_KING: "there is no white king",
    chess.STATUS_NO_BLACK_KING: "there is no black king",
    chess.STATUS_TOO_MANY_KINGS: "a side has more than one king",
    chess.STATUS_TOO_MANY_WHITE_PAWNS: "White has more than eight pawns",
    chess.STATUS_TOO_MANY_BLACK_PAWNS: "Black has more than eight pawns",
    chess.STATUS_PAWNS_ON_BACKRANK: "a pawn stands on the first or the last rank",
    chess.STATUS_TOO_MANY_WHITE_PIECES: "White has more than sixteen men",
    chess.STATUS_TOO_MANY_BLACK_PIECES: "Black has more than sixteen men",
    chess.STATUS_BAD_CASTLING_RIGHTS: "the castling rights do not fit the kings and rooks",
    chess.STATUS_INVALID_EP_SQUARE: "no pawn can have just passed the en passant square",
    chess.STATUS_TOO_MANY_CHECKERS: "more men give check than one move can",
    chess.STATUS_IMPOSSIBLE_CHECK: "no move can have given this check",
}
"""What python-chess finds wrong with a position, in words."""


def board_from_text(text: str) -> chess.Board:
    """Return the board of a FEN, or of ``startpos``.

    Raises
    ------
    InputError
        Saying what is wrong with it.
    """
    fields = text.split()
    if not fields:
        raise InputError(f"no position is given: {_LOOKS_LIKE}")
    if fields == [STARTPOS]:
        return chess.Board()
    if len(fields) == 4:  # as GUIs and the web often give it
        fields += ["0", "1"]
    try:
        board = chess.Board(" ".join(fields))
    except ValueError as error:
        raise InputError(f"not a position: {error}; {_LOOKS_LIKE}") from error
    refuse_illegal(board, text)
    return board


def what_was_assumed(text: str) -> str:
    """Return what was taken for fields that a FEN lacks, in words; empty = nothing that matters."""
    fields = text.split()
    if len(fields) > 2 or fields == [STARTPOS]:
        return ""
    if len(fields) == 2:
        return "the FEN does not say who may castle: nobody is assumed"
    return "the FEN is the board alone: White to move and no castling are assumed"


def refuse_illegal(board: chess.Board, text: str = "") -> None:
    """Raise an `InputError` that says what is wrong, if a position is not legal.

    `text` is how it was given, which a board does not keep.
    """
    wrong = what_is_wrong(board)
    if wrong:
        raise InputError(f"not a legal position: {wrong} ({text or board.fen()})")


def what_is_wrong(board: chess.Board) -> str:
    """Return why a position is not legal, in words; empty = it is."""
    status = board.status()
    if status & chess.STATUS_BAD_CASTLING_RIGHTS:
        shuffled = board.copy(stack=False)
        shuffled.chess960 = True
        if shuffled.is_valid() and shuffled.has_chess960_castling_rights():
            return "its castling rights are those of Chess960, and only classical chess is known"
    if status & chess.STATUS_EMPTY:
        return _WRONG[chess.STATUS_EMPTY]
    found = [words for flag, words in _WRONG.items() if status & flag]
    if status & chess.STATUS_OPPOSITE_CHECK:
        mover, other = ("White", "Black") if board.turn else ("Black", "White")
        found.append(f"{mover} is to move, but {other}'s king is in check")
    if status and not found:
        found.append("it cannot come about in a game")
    return "; ".join(found)


def why_no_move(board: chess.Board) -> str:
    """Return why the side to move has no legal move, in words; empty = it has one."""
    if any(board.legal_moves):
        return ""
    side = "White" if board.turn else "Black"
    end = "is checkmated" if board.is_check() else "is stalemated"
    return f"there is no legal move: {side} {end} in {board.fen()}"


def least_plies(board: chess.Board) -> int:
    """Return how many half-moves a position needs at least, by its men alone.

    Every man that has left its first square has moved, and every man that is missing was taken by
    a move of the other side; castling moves two men at once. Move numbers of positions that were
    set up by hand are often 1, whatever stands on the board.
    """
    start = chess.Board()
    moves = {}
    for side in chess.COLORS:
        own = board.occupied_co[side]
        same = sum(
            board.pieces_mask(kind, side) & start.pieces_mask(kind, side)
            for kind in chess.PIECE_TYPES
        )
        moved = (own & ~same).bit_count()
        king = board.king(side)
        castled = king is not None and king != (chess.E1 if side else chess.E8)
        taken = 16 - board.occupied_co[not side].bit_count()
        moves[side] = max(moved - castled, taken)
    return max(2 * moves[chess.WHITE] - 1, 2 * moves[chess.BLACK], 0)
