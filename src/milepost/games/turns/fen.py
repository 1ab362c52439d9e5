"""The FEN of every position of a game, written faster than from scratch each time.

A move changes the men on two ranks at most: where it begins and where it ends. Castling stays on
one rank, and a pawn taken en passant stands on the rank that the taking pawn leaves. So the other
six ranks keep their text. A test asserts that it is python-chess's `Board.fen` to the letter.
"""

from __future__ import annotations

import functools

import chess

_PIECES = ((0, "pP"), (8, "nN"), (16, "bB"), (24, "rR"), (32, "qQ"), (40, "kK"))
_STANDARD_RIGHTS = {
    chess.BB_H1: "K",
    chess.BB_A1: "Q",
    chess.BB_H8: "k",
    chess.BB_A8: "q",
}


class FenWriter:
    """Writes the FEN of a board that is being played on."""

    def __init__(self, board: chess.Board):
        """Begin with a position; whoever plays on the board says so with `will_play`."""
        self._board = board
        self._ranks = [self._rank(rank) for rank in range(7, -1, -1)]
        # From the usual array, castling rights are never left over from a king or rook that moved.
        self._usual = not board.chess960 and board.fen() == chess.STARTING_FEN
        self._rights: dict[int, str] = {}
        self._pending: chess.Move | None = None

    def will_play(self, move: chess.Move) -> None:
        """Note the move that is played next on the board."""
        self._pending = move

    def _follow(self) -> None:
        if self._pending is not None:
            for rank in {self._pending.from_square >> 3, self._pending.to_square >> 3}:
                self._ranks[7 - rank] = self._rank(rank)
            self._pending = None

    def placement(self) -> str:
        """Return all of the FEN but the two counters: what a repetition compares."""
        self._follow()
        board = self._board
        en_passant = "-"
        if board.ep_square is not None and board.has_legal_en_passant():
            en_passant = chess.SQUARE_NAMES[board.ep_square]
        side = "w" if board.turn else "b"
        return f"{'/'.join(self._ranks)} {side} {self._castling()} {en_passant}"

    def _castling(self) -> str:
        board = self._board
        if not self._usual:
            return board.castling_xfen()
        rights = board.castling_rights
        if rights not in self._rights:
            text = "".join(letter for corner, letter in _STANDARD_RIGHTS.items() if rights & corner)
            self._rights[rights] = text or "-"
        return self._rights[rights]

    def _rank(self, rank: int) -> str:
        board = self._board
        shift = 8 * rank
        men = (
            (board.pawns >> shift & 0xFF)
            | (board.knights >> shift & 0xFF) << 8
            | (board.bishops >> shift & 0xFF) << 16
            | (board.rooks >> shift & 0xFF) << 24
            | (board.queens >> shift & 0xFF) << 32
            | (board.kings >> shift & 0xFF) << 40
            | (board.occupied_co[chess.WHITE] >> shift & 0xFF) << 48
        )
        return _rank_text(men)


@functools.lru_cache(maxsize=1 << 17)
def _rank_text(men: int) -> str:
    """The text of one rank, whose men stand in seven bytes: six kinds, and which are White's."""
    letters: list[str] = []
    empty = 0
    for file in range(8):
        letter = next((both for shift, both in _PIECES if men >> shift >> file & 1), None)
        if letter is None:
            empty += 1
            continue
        if empty:
            letters.append(str(empty))
            empty = 0
        letters.append(letter[men >> 48 >> file & 1])
    if empty:
        letters.append(str(empty))
    return "".join(letters)
