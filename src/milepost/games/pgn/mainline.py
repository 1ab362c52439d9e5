"""The main line of a game as it is read, and what comments tell behind its moves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import chess

# So many digits at most: longer numbers are damage, and would not fit the columns.
_CLOCK = re.compile(r"\[%(clk|emt)\s+(\d{1,6}):(\d{1,6}):(\d{1,6}(?:\.\d*)?)\s*\]")
_EVAL = re.compile(r"\[%eval\s+(?:#([+-]?\d{1,9})|([+-]?(?:\d+(?:\.\d*)?|\.\d+)))(?:,\s*\d+)?\s*\]")

Record = Callable[["chess.Move", str], None]
Watch = Callable[["chess.Board"], Record]


@dataclass
class Mainline:
    """The moves that were played, and what stood beside them."""

    moves: list[str] = field(default_factory=list)
    """In UCI notation."""
    clocks: list[float | None] = field(default_factory=list)
    """Seconds left after each move."""
    elapsed: list[float | None] = field(default_factory=list)
    """Seconds spent on each move."""
    eval_cp: list[int | None] = field(default_factory=list)
    """Centipawns for White after each move."""
    eval_mate: list[int | None] = field(default_factory=list)
    """Mate in n for White after each move, negative if Black mates."""
    result_token: str | None = None
    """The result behind the moves."""
    last_move_number: int = 0
    """The number of the last move, as players count."""
    mated: str | None = None
    """The result that the board shows, if the last move mates."""
    error: str | None = None
    """Why reading stopped; the moves before are kept."""
    doubts: list[str] = field(default_factory=list)
    """What is odd about a game that was read to its end."""


def add_comment(line: Mainline, comment: str, ply: int = -1) -> None:
    """Note the clock, the time spent and the evaluation that a comment tells behind a move."""
    for kind, hours, minutes, seconds in _CLOCK.findall(comment):
        value = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        (line.clocks if kind == "clk" else line.elapsed)[ply] = value
    if found := _EVAL.search(comment):
        if found.group(1) is not None:
            line.eval_mate[ply] = int(found.group(1))
        elif abs(pawns := float(found.group(2))) < 10_000:
            line.eval_cp[ply] = round(pawns * 100)
