"""Opening books in the Polyglot format, which most chess programs read.

An entry is sixteen bytes: the position's key, a move, a weight, and four bytes for learning, which
stay 0 (`chess.polyglot` reads them). Entries are sorted by key; within a position by weight.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

import chess
import chess.polyglot

from milepost.errors import InputError

OWN_BOOK = "own"
"""The book that comes with the package."""
_SHIPPED = ("milepost.data", "book.bin")
_ENTRY = struct.Struct(">QHHI")
_MOST_WEIGHT = 0xFFFF
_PROMOTIONS = {None: 0, chess.KNIGHT: 1, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 4}
Counts = Mapping[int, Mapping[int, float]]
"""Weights by the position's key and the move as Polyglot writes it."""


class Book:
    """A book that is open for reading."""

    def __init__(self, path: str | Path):
        """Open a Polyglot file.

        Raises
        ------
        InputError
            If it is none, or cannot be read.
        """
        self.path = str(path)
        try:
            size = Path(path).stat().st_size
            if Path(path).is_dir():
                raise InputError(f"{path} is no Polyglot book: it is a folder; name a file in it")
            if not size:
                raise InputError(f"{path} is no Polyglot book: it is empty")
            if size % _ENTRY.size:
                raise InputError(f"{path} is no Polyglot book: entries have {_ENTRY.size} bytes")
            self._reader = chess.polyglot.open_reader(str(path))
        except OSError as error:
            raise InputError(f"the book {path} cannot be read: {error.strerror}") from error

    def entries(self, board: chess.Board) -> list[tuple[chess.Move, int]]:
        """Return the legal moves that it has for a position, with their weights."""
        found = [(entry.move, entry.weight) for entry in self._reader.find_all(board)]
        return [(move, weight) for move, weight in found if weight > 0]

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._reader)

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()


def open_book(name: str | Path) -> Book:
    """Open a book: a Polyglot file, or ``"own"``, the one that comes with the package."""
    if str(name) != OWN_BOOK:
        return Book(name)
    package, file = _SHIPPED
    with resources.as_file(resources.files(package).joinpath(file)) as path:
        return Book(path)


def polyglot_move(board: chess.Board, move: chess.Move) -> int:
    """Return a move as Polyglot writes it: castling is the king taking its own rook."""
    target = move.to_square
    if board.is_castling(move):
        kingside = chess.square_file(target) > chess.square_file(move.from_square)
        target = chess.square(7 if kingside else 0, chess.square_rank(move.from_square))
    return target | (move.from_square << 6) | (_PROMOTIONS[move.promotion] << 12)


def count_openings(
    games: Iterable[tuple[chess.Board, Iterable[tuple[chess.Move, float]]]], plies: int
) -> dict[int, dict[int, float]]:
    """Count the moves of the openings of some games.

    Parameters
    ----------
    games
        For each game the first position, and its moves with the weight of each; 0 = it does not
        count.
    plies
        Half-moves of each game that count.
    """
    counts: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for start, moves in games:
        board = start.copy()
        for ply, (move, weight) in enumerate(moves):
            if ply >= plies:
                break
            if weight > 0:
                counts[chess.polyglot.zobrist_hash(board)][polyglot_move(board, move)] += weight
            board.push(move)
    return counts


def write_book(counts: Counts, path: str | Path, *, least: float = 1) -> int:
    """Write a book, atomically; return the number of its entries. Without any, nothing is written.

    Weights are in proportion to the counts within a position, the greatest at most 65,535.

    Parameters
    ----------
    counts
        See `count_openings`.
    path
        The file.
    least
        Moves that were played less often in a position are left out.
    """
    entries = []
    for key, moves in counts.items():
        kept = {move: count for move, count in moves.items() if count >= least}
        top = max(kept.values(), default=0)
        scale = min(1.0, _MOST_WEIGHT / top) if top else 1.0
        for move, count in kept.items():
            weight = max(round(count * scale), 1)
            entries.append((key, -weight, move))
    if not entries:
        return 0
    entries.sort()
    data = b"".join(_ENTRY.pack(key, move, -weight, 0) for key, weight, move in entries)
    from milepost.io.files import write_bytes  # heavy, and readers of books do without it

    write_bytes(Path(path), data)
    return len(entries)
