"""By what turns may be gathered for a rating."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from milepost.errors import InputError
from milepost.io.suggest import did_you_mean

BAND = 200
"""Opponents are gathered in bands of so many points."""
NOT_KNOWN = "not known"
_RESULTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}
_CLOCKS = ((60, "under 1 min"), (300, "1-5 min"), (900, "5-15 min"), (3600, "15-60 min"))
_MOVES = ((16, "up to 16"), (24, "17-24"), (32, "25-32"), (40, "33-40"), (60, "41-60"))
_BAND = pl.col("opponent_elo").cast(pl.Int64) // BAND * BAND
GROUPINGS: dict[str, tuple[tuple[str, ...], pl.Expr]] = {
    "player": (("mover",), pl.col("mover")),
    "game": (("game_id",), pl.col("game_id")),
    "event": (("event",), pl.col("event")),
    "year": (("year",), pl.col("year").cast(pl.String)),
    "phase": (("phase",), pl.col("phase")),
    "colour": (("colour",), pl.col("colour")),
    "opponent-band": (
        ("opponent_elo",),
        _BAND.cast(pl.String) + "-" + (_BAND + BAND - 1).cast(pl.String),
    ),
    "opponent": (("opponent",), pl.col("opponent")),
    "time-control": (("speed",), pl.col("speed")),
    "result": (
        ("score",),
        pl.col("score")
        .cast(pl.Float64)
        .replace_strict(_RESULTS, default=None, return_dtype=pl.String),
    ),
    "clock": (("clock_before",), pl.lit("over 60 min")),
    "move-range": (("move_number",), pl.lit("over 60")),
    "milepost": (
        ("mover_elo",),
        ((pl.col("mover_elo").cast(pl.Float64) / 100).round() * 100).cast(pl.Int64),
    ),
}
"""Each grouping by its name on the command line: the columns of the turns it needs, its value."""


def _stepped(
    column: str, steps: tuple[tuple[int, str], ...], last: pl.Expr, *, to: bool
) -> pl.Expr:
    value = last
    for limit, label in reversed(steps):
        number = pl.col(column).cast(pl.Float64)
        inside = number <= limit if to else number < limit
        value = pl.when(inside).then(pl.lit(label)).otherwise(value)
    return pl.when(pl.col(column).is_null()).then(None).otherwise(value)


for _name, _steps, _to in (("clock", _CLOCKS, False), ("move-range", _MOVES, True)):
    _columns, _last = GROUPINGS[_name]
    GROUPINGS[_name] = (_columns, _stepped(_columns[0], _steps, _last, to=_to))

_ORDERS = {
    "phase": ["opening", "middlegame", "endgame"],
    "clock": [label for _, label in _CLOCKS] + ["over 60 min"],
    "move-range": [label for _, label in _MOVES] + ["over 60"],
    "result": ["win", "draw", "loss"],
    "colour": ["white", "black"],
    "time-control": ["classical", "rapid", "blitz", "bullet", "correspondence"],
}


def columns_needed(by: Sequence[str]) -> list[str]:
    """Return the columns of the turns table that groupings need.

    Raises
    ------
    InputError
        If a grouping is not known.
    """
    unknown = [name for name in by if name not in GROUPINGS]
    if unknown:
        raise InputError(
            f"no grouping {unknown[0]!r}: there are {', '.join(GROUPINGS)}"
            f"{did_you_mean(unknown[0], GROUPINGS)}"
        )
    return [column for name in by for column in GROUPINGS[name][0]]


def add_groups(decisions: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the decisions with a column for each grouping, under its own name.

    What a turn does not say is `NOT_KNOWN` there.
    """
    columns_needed(by)
    return decisions.with_columns(
        GROUPINGS[name][1].cast(pl.String).fill_null(NOT_KNOWN).alias(f"by {name}") for name in by
    )


def in_order(table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return a table of ratings in the natural order of its groups."""
    keys = []
    for name in by:
        order = _ORDERS.get(name)
        if order is None:
            keys.append(pl.col(name))
        else:
            places = {label: place for place, label in enumerate(order)}
            place = pl.col(name).replace_strict(places, default=len(order), return_dtype=pl.Int64)
            keys.append(place)
    return table.sort(keys, nulls_last=True) if keys else table
