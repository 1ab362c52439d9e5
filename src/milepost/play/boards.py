"""The board of a position that a GUI sent, and what the book has for it; nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping

import chess

from milepost.errors import InputError
from milepost.games.book import OWN_BOOK, open_book
from milepost.games.positions import board_from_text
from milepost.play.protocol import Position


def board_of(position: Position) -> tuple[chess.Board, str | None]:
    """Return the board of a position, and what was wrong with it; a move that is not legal ends it.

    What is no position at all becomes the first position of chess: the answer shall be a move.
    """
    try:
        board = board_from_text(position.fen) if position.fen else chess.Board()
    except InputError as error:
        return chess.Board(), f"{error}; playing from the starting position"
    for text in position.moves:
        try:
            move = board.parse_uci(text)
        except ValueError:
            return board, f"not a legal move: {text}; playing from {board.fen()}"
        board.push(move)
    return board, None


def book_moves(options: Mapping[str, str], board: chess.Board) -> list[tuple[chess.Move, float]]:
    """Return the moves of the book that the options name, with weights; none = it has none here."""
    if options["OwnBook"] != "true" or board.ply() >= 2 * int(options["BookDepth"]):
        return []
    try:
        book = open_book(options["BookFile"] or OWN_BOOK)
    except InputError:
        return []  # told when the bot is made
    try:
        return [(move, float(weight)) for move, weight in book.entries(board)]
    finally:
        book.close()
