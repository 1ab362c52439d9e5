"""Turns for the analysis, from PGN, a games table or a turns table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from milepost.errors import InputError
from milepost.files import read_table
from milepost.games.convert import read_games, read_turns
from milepost.games.loading import are_tables
from milepost.games.sources import find_sources
from milepost.games.turns import BOOK_MOVES, turns_of_games
from milepost.games.work import Report
from milepost.tables import ERRORS, GAMES, TURNS


def load_turns(
    inputs: Iterable[str | Path],
    *,
    book_moves: int = BOOK_MOVES,
    workers: int = 1,
    report: Report | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the turns of PGN files, games tables or turns tables.

    Parameters
    ----------
    inputs
        See `milepost.games.sources.find_sources`.
    book_moves
        Moves a side that are marked as book, for PGN and games tables.
    workers
        Processes to read PGN with.
    report
        Called with the progress of reading PGN.

    Returns
    -------
    turns, errors
        See `milepost.tables.TURNS` and `milepost.tables.ERRORS`.
    """
    names = [str(each) for each in inputs]
    sources = find_sources(names)
    if not are_tables(sources):
        return read_turns(names, book_moves=book_moves, workers=workers, report=report)
    frames = []
    for source in sources:
        columns = set(read_table(source.name).columns)
        if {"position", "played"} <= columns:
            frames.append(read_table(source.name, TURNS))
        elif {"moves", "white", "black"} <= columns:
            games = read_table(source.name, GAMES)
            frames.append(turns_of_games(games, book_moves=book_moves))
        else:
            raise InputError(f"{source.name} is neither a turns nor a games table")
    return pl.concat([frame.select(TURNS.names) for frame in frames]), ERRORS.empty()


def load_games_of(
    inputs: Iterable[str | Path], *, workers: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the games of PGN files or games tables, and what was wrong with them."""
    names = [str(each) for each in inputs]
    sources = find_sources(names)
    if not are_tables(sources):
        return read_games(names, workers=workers)
    frames = [read_table(source.name, GAMES) for source in sources]
    return pl.concat(frames, how="diagonal_relaxed"), ERRORS.empty()
