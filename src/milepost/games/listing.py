"""The players of any input: PGN headers or a games table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from milepost.files import read_table
from milepost.games.loading import are_tables
from milepost.games.players import NameCounts, find_players, resolve_players
from milepost.games.results import HEADER_BATCH, read_headers
from milepost.games.sources import find_sources
from milepost.games.stream import GameStream
from milepost.games.work import Report
from milepost.tables import GAMES


def list_players(
    inputs: Iterable[str | Path], *, aliases: Any = None, report: Report | None = None
) -> pl.DataFrame:
    """Return the players table of PGN files (headers only) or games tables.

    Parameters
    ----------
    inputs
        See `milepost.games.sources.find_sources`.
    aliases
        See `milepost.games.players.find_players`.
    report
        Called with the progress.
    """
    names = list(inputs)
    sources = find_sources(names)
    if are_tables(sources):
        games = pl.concat(
            [read_table(source.name, GAMES) for source in sources], how="diagonal_relaxed"
        )
        return find_players(games, aliases=aliases)
    counts = NameCounts()
    with GameStream(names, read_headers, batch_games=HEADER_BATCH, report=report) as stream:
        for games in stream.frames():
            counts.add(games)
    return resolve_players(counts.table(), aliases=aliases)
