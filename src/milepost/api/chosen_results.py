"""Which results a history is fitted to: files or frames, years, fast games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.load import read_results
from milepost.games.lost import LOST, first_lost
from milepost.games.results.choose import ChosenResults, are_chess, choose_results, white_of
from milepost.games.results.from_table import parse_mapping
from milepost.io.progress import Report
from milepost.io.sources import Sources, find_sources
from milepost.tables import ERRORS, RESULTS, as_frame

__all__ = ["ChosenResults", "are_paths", "choose"]


def choose(
    results: Any,
    *,
    mapping: str | Mapping[str, str] | None = None,
    keep_names: bool = False,
    aliases: Any = None,
    keep_duplicates: bool = False,
    skip_fast: bool = False,
    first: int | None = None,
    last: int | None = None,
    progress: Report | None = None,
) -> ChosenResults:
    """Read the results for a history, and leave out fast games and other years if asked.

    Parameters
    ----------
    results
        Files, or a frame with the columns of a results table.
    mapping
        For tables, and frames: which columns hold time, player_1, player_2, score. The names of a
        frame are left as they are.
    keep_names
        For tables: leave the players' names as they are.
    aliases
        A table with the columns spelling and name: who is who.
    keep_duplicates
        For games: keep those that are there twice.
    skip_fast
        Leave out fast games.
    first, last
        Only the results of these years, both included.
    progress
        Called while PGN is read.

    Raises
    ------
    InputError
        If something cannot be read, or nothing is left.
    """
    if isinstance(results, ChosenResults):
        return results
    if isinstance(results, Mapping):
        results = pl.DataFrame(results)
    bounds: dict[str, Any] = {"skip_fast": skip_fast, "first": first, "last": last}
    wanted = parse_mapping(mapping) if isinstance(mapping, str) else dict(mapping or {})
    sources = find_sources(results) if are_paths(results) else None
    if sources is None and not wanted and _is_results_table(results):
        if keep_names or aliases is not None or keep_duplicates:
            raise InputError("names and duplicates are settled when files are read: give files")
        table, errors = RESULTS.conform(results), ERRORS.empty()
    else:
        table, errors = read_results(
            results if sources is None else sources,
            mapping=wanted or None, keep_names=keep_names or sources is None, aliases=aliases,
            keep_duplicates=keep_duplicates, progress=progress,
        )  # fmt: skip
    if table.is_empty():
        raise InputError(_why_no_results(sources, errors))
    white = white_of(wanted)
    if white is not None and table["first_mover"].null_count() == len(table):
        table = table.with_columns(first_mover=pl.lit(white, dtype=pl.Int8))
    chosen = choose_results(table, **bounds)
    choices = {
        "map": mapping, "keep_names": keep_names, "keep_duplicates": keep_duplicates,
        "aliases": str(aliases) if isinstance(aliases, str | Path) else aliases is not None or None,
        **chosen.choices,
    }  # fmt: skip
    return replace(
        chosen,
        choices=choices,
        chess=white is not None or are_chess(table),
        inputs=() if sources is None else tuple(sources.about()),
        lost=errors.filter(pl.col("kind").is_in(LOST)).height,
        first_lost=first_lost(errors, most=_LOST_TOLD),
    )


_LOST_TOLD = 2
"""So many games or rows that could not be read are told with their reasons."""


def _why_no_results(sources: Sources | None, errors: pl.DataFrame) -> str:
    if lost := first_lost(errors):
        return f"no results could be read: {lost}"
    if sources is None:
        return "the table has no rows"
    names = ", ".join(source.name for source in sources)
    if sources.are_tables:
        return f"no results in {names}: the table has no rows"
    other = errors.filter(pl.col("kind") == "variant")["reason"].head(1).to_list()
    reason = f" ({other[0]})" if other else ""
    return f"no results in {names}: no game has a result and two named players{reason}"


def _is_results_table(results: Any) -> bool:
    """Whether a frame is a results table as it is; "1-0", or dates as text, have to be read."""
    frame = as_frame(results)
    if not {"time", "player_1", "player_2", "score"} <= set(frame.columns):
        return not {"white", "black", "result"} <= set(frame.columns)
    return not any(frame[name].dtype == pl.String for name in ("time", "score"))


def are_paths(results: Any) -> bool:
    """Return whether results are named by files."""
    if isinstance(results, str | Path | Sources):
        return True
    return isinstance(results, list | tuple) and all(isinstance(r, str | Path) for r in results)
