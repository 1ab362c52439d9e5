"""Write the opening book that comes with the package, from main lines typed by hand.

    python scripts/write_book.py

The lines stand in `scripts/opening_lines.txt`; they are common knowledge, of no collection.
"""

from __future__ import annotations

import sys
from pathlib import Path

import chess

from milepost.games.book import count_openings, write_book

LINES = Path(__file__).with_name("opening_lines.txt")
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "book.bin"
PLIES = 16


def read_lines(path: Path = LINES) -> list[tuple[chess.Board, list[tuple[chess.Move, float]]]]:
    """Return the lines: the first position, and the moves with their weight."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        if not text or text.startswith("#"):
            continue
        weight, *moves = text.split()
        board = chess.Board()
        for move in moves:
            board.push_san(move)
        moves_with_weight = [(move, float(weight)) for move in board.move_stack]
        lines.append((chess.Board(), moves_with_weight))
    return lines


def main() -> None:
    """Write it."""
    lines = read_lines()
    entries = write_book(count_openings(lines, PLIES), OUTPUT)
    sys.stdout.write(f"{len(lines)} lines, {entries} entries -> {OUTPUT.name}\n")


if __name__ == "__main__":
    main()
