"""Move evidence that meets the players of a results table: one person, one name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from milepost.games.players.names import normalise_names
from milepost.io.files import read_table
from milepost.io.sources import find_sources
from milepost.tables import as_frame, is_frame


def read_evidence(moves: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return the table of some move evidence, and name, size and digest of its file."""
    if isinstance(moves, str | Path):
        return read_table(moves), find_sources(moves).about()
    return getattr(moves, "table", moves), []


def named_as_in(moves: Any, results: pl.DataFrame) -> Any:
    """Return move evidence under the names of the results.

    Results name players in one spelling ("kasparov, garry"); a table of sites may have another
    ("Kasparov, Garry"). A name that the results do not have gives way to its plain form, if they
    have that.
    """
    if not is_frame(moves):
        return moves
    table = as_frame(moves)
    if table.schema.get("player") != pl.String:
        return moves
    known = pl.concat([results["player_1"], results["player_2"]]).unique()
    names = table["player"].drop_nulls().unique()
    strangers = names.filter(~names.is_in(known.implode()))
    plain = normalise_names(strangers)
    met = plain.is_in(known.implode()).fill_null(value=False)
    if not met.any():
        return moves
    return table.with_columns(pl.col("player").replace(strangers.filter(met), plain.filter(met)))
