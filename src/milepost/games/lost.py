"""Games and rows that could not be read: which kinds of errors they are, and the first in words."""

from __future__ import annotations

import polars as pl

from milepost.io.sources import TABLE_ENDINGS, plain_name

LOST = ("broken", "unreadable")
"""The kinds of errors by which a game, or the rest of it, is lost."""
NO_FILE = "the table"
"""What stands for the name of a table that never was in a file."""


def first_lost(errors: pl.DataFrame, *, most: int = 1) -> str:
    """Return the first that could not be read, with place and reason; empty if all could.

    Parameters
    ----------
    errors
        See `milepost.tables.ERRORS`.
    most
        How many to tell at most.
    """
    told: list[str] = []
    last_source = None
    lost = errors.filter(pl.col("kind").is_in(LOST)).head(most)
    for source, line, reason in lost.select("source", "line", "reason").iter_rows():
        told.append(_in_words(source, line, reason, named=source != last_source))
        last_source = source
    return "; ".join(told)


def _in_words(source: str, line: int | None, reason: str, *, named: bool) -> str:
    if reason.startswith(f"{source} "):  # a damaged file: the reason names it
        return reason
    is_table = source == NO_FILE or plain_name(source).endswith(TABLE_ENDINGS)
    place = "" if line is None else f"{'row' if is_table else 'line'} {line}"
    return f"{', '.join(part for part in (source if named else '', place) if part)}: {reason}"
