"""The different spellings in some games, so that each is looked at once and not in every game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.games.pgn.coded import Coded, Codes, distinct

SIDES = ("white", "black")


@dataclass(frozen=True)
class Spellings:
    """Names as written, with the FIDE ids beside them, and which of them games have."""

    names: pl.DataFrame
    """The columns `spelling` and `fide_id`; a row may stand there twice, or be no game's."""
    white: Codes
    """The row of White's name, for each game."""
    black: Codes
    """The row of Black's name."""

    @classmethod
    def of_columns(cls, columns: Mapping[str, Coded]) -> Spellings:
        """Return the spellings in the columns white, black and their FIDE ids."""
        (white, of_white), (black, of_black) = (
            distinct({"spelling": columns[side], "fide_id": columns[f"{side}_fide_id"]})
            for side in SIDES
        )
        return cls(pl.concat([white, black]), of_white, of_black + np.uint32(len(white)))

    @classmethod
    def of_games(cls, games: pl.DataFrame) -> Spellings:
        """Return the spellings in a games table."""
        columns = {side: Coded.of_rows(games[side]) for side in SIDES}
        for side in SIDES:
            ids = Coded.of_rows(games[f"{side}_fide_id"].cast(pl.String))
            columns[f"{side}_fide_id"] = Coded(ids.values.cast(pl.Int64), ids.codes)
        return cls.of_columns(columns)

    @property
    def sides(self) -> dict[str, pl.Series]:
        """The rows of the names by side."""
        return {"white": pl.Series(self.white), "black": pl.Series(self.black)}
