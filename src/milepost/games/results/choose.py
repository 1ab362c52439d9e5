"""Which results count: those of some years, without the fast games if asked; and what to say of it.

Also whether results are of chess, by what they show of themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from milepost.errors import InputError

GAMES_COLUMNS = frozenset({"white", "black", "result", "moves"})
"""What a games table has."""
_FAST = ("rapid", "blitz", "bullet", "true", "yes", "1")
"""Speeds that are fast; the last three are what a flag looks like when read as text."""


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


def choose_results(
    results: pl.DataFrame, *, skip_fast: bool = False, first: int | None = None,
    last: int | None = None, fast_known: bool = True,
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
    fast_known
        Whether the column speed tells which games are fast.

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
    fast = results["speed"].str.to_lowercase().is_in(_FAST).fill_null(False)
    number = int(fast.sum()) if fast_known else None
    said.append(_about_fast(results["speed"].null_count(), number, skipped=skip_fast))
    if skip_fast:
        results = results.filter(~fast)
    if results.is_empty():
        raise InputError("no results are left: " + "; ".join(said))
    choices = {
        "fast": "left out" if skip_fast else "counted", "fast_games": number,
        "from": first, "to": last,
    }  # fmt: skip
    return ChosenResults(results, tuple(said), choices)


def _about_fast(unknown: int, fast: int | None, *, skipped: bool) -> str:
    if fast is None:
        return "fast games count like the others; not all tables tell which they are"
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


def speed_from_flag(
    fields: Mapping[str, str], columns: Iterable[Set[str]]
) -> tuple[dict[str, str], bool]:
    """Read a column `fast` as the speed, where all tables have one and no other speed.

    Parameters
    ----------
    fields
        The mapping given by the user.
    columns
        The names of the columns of each table.

    Returns
    -------
    (dict, bool)
        The mapping with the speed, and whether it is clear which games are fast.
    """
    tables = list(columns)
    if {"speed", "speed:"} & fields.keys():
        return dict(fields), True
    flagged = ["fast" in names for names in tables]
    if not any(flagged):
        return dict(fields), True
    if all(flagged) and not any("speed" in names or names >= GAMES_COLUMNS for names in tables):
        return {**fields, "speed": "fast"}, True
    return dict(fields), False


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
