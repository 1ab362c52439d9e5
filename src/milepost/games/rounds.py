"""The number of a round, from the text that stands in the Round tag."""

from __future__ import annotations

import re

import polars as pl

_NUMBER = r"^\s*([0-9]{1,9})(?:[^0-9]|$)"
"""The digits at the beginning; what follows is a board, a game of a match, or a remark. More than
nine digits are an id or a time, no round."""


def round_number(text: str | None) -> int | None:
    """Return the number of a round; `None` where the text does not begin with one.

    >>> round_number("3.2"), round_number("11"), round_number("?")
    (3, 11, None)
    """
    match = re.match(_NUMBER, text or "")
    return int(match.group(1)) if match else None


def round_numbers(rounds: pl.Expr) -> pl.Expr:
    """As `round_number`, for a whole column."""
    return rounds.str.extract(_NUMBER).cast(pl.Int32, strict=False)
