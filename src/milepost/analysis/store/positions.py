"""Positions and moves as the store and the tables hold them: texts, which may be wrong.

python-chess is the judge of what is a position, and of what is legal there.
"""

from __future__ import annotations

from contextlib import suppress

import chess
import polars as pl

from milepost.errors import InputError

WHOLE_FEN = r"^(\S+ \S+ \S+ \S+ \S+) \S+$"
UNNAMED_MOVE = "0000"
"""Stands for a best move whose value is known but not its name; UCI's null move, never legal."""
STANDARD = "standard"
CHESS960 = "chess960"


def stored_position(fen: str) -> str:
    """Return the position as the store keeps it: the move number changes no value.

    The fifty-move counter stays: engines look at it.
    """
    fields = fen.split(" ")
    if len(fields) != 6:
        raise InputError(f"not a whole FEN: {fen!r}")
    return " ".join([*fields[:5], "1"])


def stored_positions(positions: pl.Series) -> pl.Series:
    """As `stored_position`, for a whole column; null where there is no whole FEN."""
    return (positions.str.extract(WHOLE_FEN) + " 1").alias("key")


def position_problem(fen: str) -> str | None:
    """Return what is wrong with a position; `None` if it is one of standard chess."""
    if len(fen.split(" ")) != 6:
        return f"not a whole FEN: {fen!r}"
    try:
        status = chess.Board(fen).status()
    except (ValueError, IndexError) as error:
        return f"not a position: {error}"
    if status == chess.STATUS_VALID:
        return None
    if status == chess.STATUS_BAD_CASTLING_RIGHTS:
        return "not a legal position: castling as in Chess960, or rights that are lost"
    return "not a legal position"


def legal_moves(fen: str) -> set[str]:
    """Return the legal moves of a position, in UCI notation."""
    return {move.uci() for move in chess.Board(fen).legal_moves}


def is_legal(fen: str, move: str | None) -> bool:
    """Whether a move in UCI notation is legal in a position."""
    try:
        return move is not None and chess.Board(fen).is_legal(chess.Move.from_uci(move))
    except (ValueError, IndexError):
        return False


def count_legal(positions: pl.Series) -> pl.Series:
    """Return how many legal moves each position has; null where there is no position."""
    counts: dict[str, int] = {}
    for fen in positions.drop_nulls().unique():
        with suppress(ValueError, IndexError):
            counts[fen] = chess.Board(fen).legal_moves.count()
    return pl.Series([counts.get(fen) for fen in positions], dtype=pl.Int32)


def variant_exclusions() -> list[tuple[str, pl.Expr]]:
    """Return the names of turns that are not of standard chess, each with whom it takes in."""
    variant = pl.col("variant").fill_null(STANDARD)
    return [
        ("Chess960", variant == CHESS960),
        ("of another variant", ~variant.is_in([STANDARD, CHESS960])),
    ]
