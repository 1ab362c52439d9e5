"""Evaluations as the turns of a delta log; its text: `milepost.analysis.deltalog`.

A turn of a delta log holds the worth of the best move and how much less the others are worth. Each
move has one value, that of its greatest depth, lowered as in the spreads where a shallower one
would stand above a deeper one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from milepost.analysis.optionvalues import MATE_PAWNS, ROOM_FOR_MATES, option_values
from milepost.analysis.searchlog import Value
from milepost.analysis.store import stored_position
from milepost.errors import InputError
from milepost.tables import EVALUATIONS, TURNS

WIDTH = 10
"""Moves listed for each turn."""

MATE_CP = round(MATE_PAWNS * 100)
LEAST_MATE_CP = MATE_CP - round(ROOM_FOR_MATES * 100)


@dataclass(frozen=True)
class DeltaTurn:
    """One turn of a delta log."""

    engine_move: str
    """The engine's move."""
    value: Value
    """What it is worth for the mover."""
    deltas_cp: tuple[int, ...]
    """How many centipawns less each listed move is worth; the first is 0."""
    played: str | None = None
    """The played move; `None` = nobody played."""
    chosen: int | None = None
    """Its place among those listed; `None` = outside, or nobody played."""
    outside_cp: int | None = None
    """The delta of a played move outside; `None` = not known, or not outside."""
    moves: tuple[str, ...] = ()
    """The names of those listed; empty = not given."""
    position: str | None = None
    """The position as FEN; `None` = not given."""
    depth: int | None = None
    """The greatest depth; `None` = not given."""
    line: int | None = None
    """The line of the file on which the turn ends."""
    number: int | None = field(default=None, compare=False)
    """Its place among the turns of the file, from 0, those that were refused counted."""


def delta_turns(
    evaluations: Any, *, width: int | None = WIDTH, turns: Any = None
) -> list[DeltaTurn]:
    """Return evaluations as the turns of a delta log.

    Parameters
    ----------
    evaluations
        A table of evaluations, of one set-up; see `milepost.tables.EVALUATIONS`.
    width
        How many moves are listed for each; `None` = all of them.
    turns
        A turns table: return these turns, as far as they were analysed, with the moves played in
        them. Without it each evaluation is returned, with the played move if it has one.

    Raises
    ------
    InputError
        If the width is not at least 1.
    """
    if width is not None and width < 1:
        raise InputError(f"the width must be at least 1, got {width}")
    frame = EVALUATIONS.conform(evaluations).filter(
        pl.col("moves").list.len() > 0, pl.col("cp").list.len() > 0
    )
    worth = option_values(frame)
    found: dict[tuple[str, str | None], tuple[list[str], list[int], int]] = {}
    for position, played, depth, moves, values in zip(
        frame["position"],
        frame["played"],
        frame["cp"].list.len(),
        worth["moves"],
        worth["values"],
        strict=True,
    ):
        cents = [round(value * 100) for value in values]
        found.setdefault((position, played), (list(moves), cents, depth))
    if turns is None:
        asked = [(position, position, played) for position, played in found]
    else:
        asked = [
            (fen, stored_position(fen), played)
            for fen, played in TURNS.conform(turns).select("position", "played").iter_rows()
        ]
    entries = []
    for fen, position, played in asked:
        evaluation = found.get((position, played)) or found.get((position, None))
        if evaluation is not None:
            entries.append(_entry(fen, played, *evaluation, width))
    return entries


def _entry(
    fen: str, played: str | None, moves: list[str], cents: list[int], depth: int, width: int | None
) -> DeltaTurn:
    listed = len(moves) if width is None else min(width, len(moves))
    deltas = [cents[0] - value for value in cents]
    place = moves.index(played) if played in moves else None
    inside = place is not None and place < listed
    return DeltaTurn(
        engine_move=moves[0],
        value=cents_value(cents[0]),
        deltas_cp=tuple(deltas[:listed]),
        played=played,
        chosen=place if inside else None,
        outside_cp=None if inside or place is None else deltas[place],
        moves=tuple(moves[:listed]),
        position=fen,
        depth=depth,
    )


def value_cents(value: Value) -> int:
    """Return a value as centipawns, a mate in n as ±(30000 - n)."""
    if value.mate is None:
        return value.cp or 0
    size = MATE_CP - abs(value.mate)
    return size if value.mate > 0 else -size


def cents_value(cents: int) -> Value:
    """Return what `value_cents` was made from."""
    if abs(cents) <= LEAST_MATE_CP:
        return Value(cents, None)
    moves = MATE_CP - abs(cents)
    return Value(None, moves if cents > 0 else -moves)
