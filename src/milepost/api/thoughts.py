"""What the bot knows of a position before it chooses a move."""

from __future__ import annotations

from dataclasses import dataclass

import chess
import numpy as np

from milepost.analysis.engine.search_output import Value
from milepost.analysis.spreads.one_position import PositionOptions
from milepost.games.glance import glance
from milepost.intrinsic.choosing.choose import Choice

BOOK, HASTE, NO_VALUES = "book", "haste", "no values"
"""Where a move came from, besides the regimes of `milepost.intrinsic.choosing.choose`."""


@dataclass(frozen=True, eq=False)
class Thought:
    """What the bot knows of a position, before it chooses."""

    board: chess.Board
    """The position."""
    elo: float
    """The Elo that it was thought about with."""
    source: str
    """agent, decided, technique; haste: no plan was finished; no values: the engine was lost."""
    plan: str | None
    """The plan whose calibration chose; None = none was finished."""
    options: PositionOptions
    """The moves and their values."""
    choice: Choice
    """How probable each of them is."""
    seconds: float = 0.0
    """How long the engine took."""
    nodes: int = 0
    """Nodes it searched."""

    @property
    def order(self) -> list[int]:
        """The places of the moves, the likeliest first."""
        return sorted(
            range(len(self.options.moves)),
            key=lambda place: (-self.choice.probabilities[place], self.choice.losses[place]),
        )


def blind_thought(board: chess.Board, elo: float, seconds: float = 0.0) -> Thought:
    """Return a thought without values, at a glance, so that a legal move comes."""
    seen = glance(board)
    moves = [move.uci() for move, _ in seen]
    shares = np.array([weight for _, weight in seen])
    zeros = np.zeros(len(moves))
    nothing = tuple(Value(0, None) for _ in moves)
    options = PositionOptions(tuple(moves), zeros, zeros[:, None], {}, {}, nothing)
    choice = Choice(shares / shares.sum(), zeros, NO_VALUES, 0)
    return Thought(board, elo, NO_VALUES, None, options, choice, seconds)
