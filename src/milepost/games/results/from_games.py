"""Results: who beat whom, from a games table or from the headers of games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from milepost.errors import TableError
from milepost.games.pgn.coded import Coded
from milepost.games.pgn.speeds import fast_games
from milepost.games.pgn.tidy import RESULTS as KNOWN_RESULTS
from milepost.games.players.names import normalise_names
from milepost.tables import GAMES, RESULTS, as_frame


def results_of_games(games: Any, *, named: pl.Series | None = None) -> pl.DataFrame:
    """Return the results of a games table; games without a result or a player's name are left out.

    Parameters
    ----------
    games
        A games table, or the headers of one (polars, pandas, Arrow). White is player_1.
    named
        For which games both players have a name, if that is known [default: `are_named`].

    Returns
    -------
    polars.DataFrame
        See `milepost.tables.RESULTS`. Unknown days and months are set to the middle of what is
        known, and `time_known` says so.
    """
    frame = as_frame(games)
    missing = [name for name in ("white", "black", "result") if name not in frame.columns]
    if missing:
        raise TableError(f"results need the columns {', '.join(missing)}")
    frame = frame.with_columns(
        pl.lit(None, dtype=GAMES.dtypes[name]).alias(name)
        for name in ("date", "white_elo", "black_elo", "speed")
        if name not in frame.columns
    )
    for side in ("white", "black"):
        if f"{side}_key" not in frame.columns:
            frame = frame.with_columns(pl.col(side).alias(f"{side}_key"))
        if f"{side}_name" not in frame.columns:
            frame = frame.with_columns(pl.col(side).alias(f"{side}_name"))
    with_names = are_named(frame) if named is None else named
    usable = (frame["result"].is_in(KNOWN_RESULTS) & with_names).fill_null(False)
    found = frame if usable.all() else frame.filter(usable)
    fast = fast_games(frame.columns).alias("fast")
    found = found.with_columns(
        *([fast] if "fast" in frame.columns else _by_value(found, "speed", fast)),
        *_by_value(found, "date", time_of_dates().alias("time"), time_known().alias("time_known")),
        pl.coalesce("white_key", "white").alias("player_1"),
        pl.coalesce("black_key", "black").alias("player_2"),
        pl.coalesce("white_name", "white").alias("name_1"),
        pl.coalesce("black_name", "black").alias("name_2"),
        pl.col("result")
        .replace_strict({"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}, return_dtype=pl.Float64)
        .alias("score"),
        pl.lit(1, dtype=pl.Int8).alias("first_mover"),
        pl.col("white_elo").alias("elo_1"),
        pl.col("black_elo").alias("elo_2"),
    )
    return RESULTS.conform(found).select(RESULTS.names)


def _by_value(
    frame: pl.DataFrame, name: str, *expressions: pl.Expr
) -> Iterator[pl.Expr | pl.Series]:
    """Expressions of one column, worked out once for each of its values."""
    if frame[name].dtype != pl.String:
        yield from expressions
        return
    column = Coded.of_rows(frame[name])
    for made in column.values.alias(name).to_frame().select(expressions):
        yield made.gather(column.codes)


def are_named(games: pl.DataFrame) -> pl.Series:
    """Return for which games both players have a name: all the nameless are not one person."""
    names = pl.concat([games["white"], games["black"].alias("white")]).unique()
    nobody = names.filter(normalise_names(names).is_null())
    named = [~games[side].is_in(nobody, nulls_equal=True) for side in ("white", "black")]
    return named[0] & named[1]


def time_of_dates() -> pl.Expr:
    """Return the day of a date with unknown parts: the middle of the month or year."""
    date = pl.col("date")
    return (
        pl.when(date.str.slice(5, 2) == "??")
        .then(date.str.slice(0, 4) + ".07.01")
        .otherwise(date.str.replace("??", "15", literal=True))
        .str.to_date("%Y.%m.%d", strict=False)
    )


def time_known() -> pl.Expr:
    """Return how much of a date is known: day, month or year."""
    date = pl.col("date")
    return (
        pl.when(date.is_null())
        .then(None)
        .when(date.str.slice(5, 2) == "??")
        .then(pl.lit("year"))
        .when(date.str.slice(8, 2) == "??")
        .then(pl.lit("month"))
        .otherwise(pl.lit("day"))
    )
