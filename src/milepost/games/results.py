"""Results: who beat whom, from PGN headers alone or from a games table."""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.errors import TableError
from milepost.games.chunks import Batch
from milepost.games.lengths import last_move_numbers
from milepost.games.movetext import result_token
from milepost.games.names import normalise_names
from milepost.games.reading import READABLE_VARIANTS, errors_table
from milepost.games.scan import Block
from milepost.games.tags import TAG_COLUMNS, tag_columns
from milepost.games.tidy import RESULTS as KNOWN_RESULTS
from milepost.games.tidy import tidy_tags, variant_of
from milepost.games.work import Frames
from milepost.tables import GAMES, RESULTS, as_frame

HEADER_COLUMNS = (
    "white", "black", "white_elo", "black_elo", "white_fide_id", "black_fide_id", "date", "year",
    "event", "site", "round", "time_control", "speed", "result", "variant", "full_moves",
    "white_team", "black_team", "source", "line",
)  # fmt: skip


HEADER_BATCH = 50_000
"""Games at a time: array operations want long arrays."""

_HEADER_TAGS = tuple(
    name for name, column in TAG_COLUMNS.items() if column in HEADER_COLUMNS or name == "UTCDate"
)


def read_headers(batch: Batch) -> Frames:
    """Read the tags of all games of a batch; no move is parsed.

    Returns
    -------
    dict
        `games`, with the columns `HEADER_COLUMNS`, and `errors`.
    """
    pieces = []
    unreadable: dict[int, list[str]] = {}
    games_before = 0
    for chunk in batch.chunks:
        block = chunk.block()
        columns, lines = tag_columns(block, _HEADER_TAGS)
        unreadable |= {games_before + number: texts for number, texts in lines.items()}
        games_before += len(block)
        found = {TAG_COLUMNS[name]: column for name, column in columns.items()}
        found["full_moves"] = pl.Series(last_move_numbers(block), dtype=pl.Int32)
        found["line"] = pl.Series(block.lines, dtype=pl.Int64)
        found["source"] = pl.Series([chunk.source]).new_from_index(0, len(block))
        found["result_token"] = _result_tokens(found["result"], block)
        pieces.append(pl.DataFrame(found))
    raw = pl.concat(pieces)
    games = tidy_tags(raw.with_columns(_variants(raw["variant"])))

    about = ["source", "line", "white", "black", "event", "date"]
    errors = []
    nameless = (games["white"] == "?") & (games["black"] == "?") & (games["full_moves"] == 0)
    left_out = nameless | ~games["variant"].is_in(READABLE_VARIANTS)
    for row in games.filter(left_out).iter_rows(named=True):
        kind, reason = "unreadable", "neither players nor moves"
        if row["variant"] not in READABLE_VARIANTS:
            kind, reason = "variant", f"the variant is {row['variant']}"
        errors.append({name: row[name] for name in about} | {"kind": kind, "reason": reason})
    for number, texts in sorted(unreadable.items()):
        row = games.row(number, named=True)
        errors += [
            {k: row[k] for k in about} | {"kind": "doubt", "reason": f"unreadable tag: {text[:60]}"}
            for text in texts
        ]
    kept = games.filter(~left_out) if left_out.any() else games
    return {"games": kept.select(HEADER_COLUMNS), "errors": errors_table(errors)}


def results_of_games(games: Any) -> pl.DataFrame:
    """Return the results of a games table; games without a result or a player's name are left out.

    Parameters
    ----------
    games
        A games table, or the headers of one (polars, pandas, Arrow). White is player_1.

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
        for name in ("date", "white_elo", "black_elo")
        if name not in frame.columns
    )
    for side in ("white", "black"):
        if f"{side}_key" not in frame.columns:
            frame = frame.with_columns(pl.col(side).alias(f"{side}_key"))
    found = frame.filter(pl.col("result").is_in(KNOWN_RESULTS), are_named(frame)).with_columns(
        time_of_dates().alias("time"),
        time_known().alias("time_known"),
        pl.coalesce("white_key", "white").alias("player_1"),
        pl.coalesce("black_key", "black").alias("player_2"),
        pl.col("result")
        .replace_strict({"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}, return_dtype=pl.Float64)
        .alias("score"),
        pl.lit(1, dtype=pl.Int8).alias("first_mover"),
        pl.col("white_elo").alias("elo_1"),
        pl.col("black_elo").alias("elo_2"),
    )
    return RESULTS.conform(found).select(RESULTS.names)


def are_named(games: pl.DataFrame) -> pl.Series:
    """Return for which games both players have a name: all the nameless are not one person."""
    named = [normalise_names(games[side]).is_not_null() for side in ("white", "black")]
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


def _variants(tags: pl.Series) -> pl.Series:
    known = {tag: variant_of(tag) for tag in tags.unique().to_list()}
    return tags.replace_strict(known, return_dtype=pl.String)


def _result_tokens(results: pl.Series, block: Block) -> pl.Series:
    """The result behind the moves, looked at only where the tags give none."""
    tokens = pl.Series("result_token", dtype=pl.String).extend_constant(None, len(block))
    unsettled = (~results.is_in(KNOWN_RESULTS).fill_null(False)).arg_true().to_list()
    if not unsettled:
        return tokens
    ends = block.ends
    found = [result_token(block.text[block.movetexts[n] : ends[n]]) for n in unsettled]
    return tokens.scatter(unsettled, pl.Series(found, dtype=pl.String))
