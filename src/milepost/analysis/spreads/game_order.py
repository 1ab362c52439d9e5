"""Turns that stand game by game, in the order of play: who stood before whom is seen by counting.

Turns of PGN stand so. Of other tables it is not known; there neighbours are found by joins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.io.arrow_buffers import Longs

_NONE = -1


@dataclass(frozen=True)
class GameOrder:
    """Where the games begin among some turns, and the plies of the turns."""

    first: Longs
    """The row of the first turn of each turn's game."""
    ply: Longs
    """The ply of each turn; it rises within a game."""

    @classmethod
    def of(cls, turns: pl.DataFrame) -> GameOrder | None:
        """Return the order of turns (`game_id`, `ply`); `None` if they stand in no such order."""
        games, plies = turns["game_id"], turns["ply"]
        if not len(turns) or games.null_count() or plies.null_count():
            return None
        begins: npt.NDArray[np.bool_] = np.ones(len(turns), dtype=np.bool_)
        begins[1:] = (games != games.shift())[1:].to_numpy()
        if games.filter(pl.Series(begins)).n_unique() != int(begins.sum()):
            return None  # a game that goes on after another one
        ply = plies.cast(pl.Int64).to_numpy()
        if not (begins[1:] | (np.diff(ply) > 0)).all():
            return None
        rows = np.arange(len(turns))
        return cls(np.maximum.accumulate(np.where(begins, rows, 0)), ply)

    def before(self, plies: int) -> Longs:
        """Return the row of the turn so many plies before each turn; -1 = it is not there."""
        rows = np.arange(len(self.ply))
        found = np.full(len(rows), _NONE)
        # Plies rise, so it stands no further away than that.
        for back in range(1, plies + 1):
            other = np.maximum(rows - back, 0)
            there = (rows - back >= self.first) & (self.ply[other] == self.ply - plies)
            found[there] = other[there]
        return found
