"""Which results count: those of some years, without the fast games if asked; and what to say of it.

Also whether results are of chess, by what they show of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.pgn.speeds import fast_games


@dataclass(frozen=True)
class ChosenResults:
    """The results to be used, and what was decided about the others."""

    table: pl.DataFrame
    """The results table."""
    said: tuple[str, ...] = ()
    """Lines that tell what counts and what does not."""
    choices: Mapping[str, Any] = field(default_factory=dict)
    """The same for the provenance."""
    chess: bool = False
    """Whether these are games of chess."""
    inputs: tuple[Mapping[str, Any], ...] = ()
    """Name, size and digest of the files that they are from."""
    lost: int = 0
    """Games or rows that could not be read."""
    first_lost: str = ""
    """The first of them, with places and reasons."""


def choose_results(
    results: pl.DataFrame, *, skip_fast: bool = False, first: int | None = None,
    last: int | None = None,
) -> ChosenResults:  # fmt: skip
    """Leave out fast games and other years.

    Parameters
    ----------
    results
        A results table.
    skip_fast
        Leave out games of the speed rapid, blitz or bullet, or flagged as fast.
    first, last
        The years, both included; `None` = without bound.

    Raises
    ------
    InputError
        If nothing is left.
    """
    said: list[str] = []
    if first is not None or last is not None:
        before = len(results)
        results = _of_years(results, first, last)
        years = f"{'' if first is None else first}-{'' if last is None else last}"
        said.append(f"years {years}: {len(results):,} of {before:,} results")
    # A frame of the caller's own may have a speed and no flag yet.
    fast = results.select(fast_games(results.columns).alias("fast"))["fast"]
    number = int(fast.sum())
    said.append(_about_fast(fast.null_count(), number, skipped=skip_fast))
    if skip_fast:
        results = results.filter(~fast.fill_null(False))
    if results.is_empty():
        raise InputError("no results are left: " + "; ".join(said))
    choices = {
        "fast": "left out" if skip_fast else "counted", "fast_games": number,
        "from": first, "to": last,
    }  # fmt: skip
    return ChosenResults(results, tuple(said), choices)


def _about_fast(unknown: int, fast: int, *, skipped: bool) -> str:
    line = f"{fast:,} fast games (flagged fast, or rapid, blitz, bullet) "
    line += "are left out" if skipped else "count like the others"
    return line + (f"; of {unknown:,} games the speed is not known" if unknown else "")


def _of_years(results: pl.DataFrame, first: int | None, last: int | None) -> pl.DataFrame:
    time = pl.col("time")
    year = time.dt.year() if results["time"].dtype.is_temporal() else time.floor()
    test = pl.lit(True)
    if first is not None:
        test = test & (year >= first)
    if last is not None:
        test = test & (year <= last)
    return results.filter(test)


def white_of(fields: Mapping[str, str]) -> int | None:
    """Return which player of a mapping is White by the columns' names: 1, 2, or `None`."""
    sides = [fields.get(f"player_{side}", "").lower() for side in (1, 2)]
    for white, black, player in ((sides[0], sides[1], 1), (sides[1], sides[0], 2)):
        if white.startswith("white") and black.startswith("black"):
            return player
    return None


def are_chess(results: pl.DataFrame) -> bool:
    """Return whether a results table was made of games of chess.

    Such a table says of every game who moved first and how many moves it had.
    """
    shown = results.select(pl.col("first_mover", "full_moves").is_not_null().all()).row(0)
    return len(results) > 0 and all(shown)
