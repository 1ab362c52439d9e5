"""Results from any table: which of its columns is the time, which the players, which the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from milepost.errors import InputError, TableError
from milepost.games.pgn.speeds import fast_games
from milepost.games.pgn.tidy import tidy_dates
from milepost.games.results.from_games import time_known, time_of_dates
from milepost.io.suggest import did_you_mean
from milepost.tables import RESULTS, as_frame

POINTS = ("points_1", "points_2")
"""Instead of a score: the points, goals or sets of each side, compared with each other."""

COUNTS = ("wins", "draws", "losses")
"""Instead of a score: how many games of a match player_1 won, drew and lost; one row for each."""
MOST_GAMES_A_ROW = 10_000
"""No match is longer: a row that says more is damaged, and would fill the memory."""
_EXTRA_FIELDS = (*POINTS, *COUNTS)

_USUAL = (
    ("player_1", "white"), ("player_2", "black"), ("score", "result"), ("time", "date"),
    ("time", "year"), ("elo_1", "white_elo"), ("elo_2", "black_elo"),
)  # fmt: skip
"""Columns of tables of chess games that need no mapping: the first there is counts."""

_COMPACT_DATE = r"^[12]\d{3}(?:0\d|1[0-2])(?:[0-2]\d|3[01])$"

# What the letters or words of a score column may look like.
_SCORES = {
    "1-0": 1.0, "1": 1.0, "1.0": 1.0, "w": 1.0, "win": 1.0, "won": 1.0, "+": 1.0,
    "1/2-1/2": 0.5, "½-½": 0.5, "0.5": 0.5, "½": 0.5, "1/2": 0.5, "d": 0.5, "draw": 0.5, "=": 0.5,
    "drawn": 0.5, "tie": 0.5,
    "0-1": 0.0, "0": 0.0, "0.0": 0.0, "l": 0.0, "loss": 0.0, "lost": 0.0, "lose": 0.0,
}  # fmt: skip


def parse_mapping(text: str) -> dict[str, str]:
    """Read a mapping such as ``time=date,player_1=white,score:=1``.

    ``field=column`` takes a column of the input, ``field:=value`` the same value for every row.
    The result keeps the colon on fields with a fixed value.

    Raises
    ------
    InputError
        If a part is not of that form, or a field is not known or given twice.
    """
    known = {*RESULTS.names, *_EXTRA_FIELDS}
    mapping: dict[str, str] = {}
    for part in text.split(","):
        field, equals, value = part.strip().partition("=")
        if not equals or not value:
            raise InputError(f"a mapping is field=column or field:=value, got {part.strip()!r}")
        name = field.rstrip(":").strip()
        if name not in known:
            raise InputError(
                f"mapping: unknown field {name!r}; known are {', '.join(sorted(known))}"
                f"{did_you_mean(name, known)}"
            )
        if name in mapping or f"{name}:" in mapping:
            raise InputError(f"mapping: the field {name!r} is given twice")
        mapping[f"{name}:" if field.strip().endswith(":") else name] = value.strip()
    return mapping


def results_of_table(
    table: Any, mapping: Mapping[str, str] | None = None, *, source: str | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the results in any table.

    Parameters
    ----------
    table
        A polars, pandas or Arrow table.
    mapping
        What `parse_mapping` returns; fields that are not in it are taken from columns of the same
        name; without a mapping, white, black, result and date or year will do too, and White moves
        first. Without a `score`, `points_1` and `points_2` are compared, or a row becomes as many
        results as `wins`, `draws` and `losses` say.
    source
        The name of the file, for the column `source`.

    Returns
    -------
    results
        See `milepost.tables.RESULTS`.
    refused
        The rows that could not be used: `row` (from 1) and `reason`.

    Raises
    ------
    TableError
        If a column that the mapping names does not exist, or a needed field has no column.
    """
    frame = as_frame(table)
    fields: dict[str, pl.Expr] = {}
    for name, value in (mapping or {}).items():
        if name.endswith(":"):
            fields[name[:-1]] = pl.lit(value)
        elif value in frame.columns:
            fields[name] = pl.col(value)
        else:
            raise TableError(
                f"no column {value!r} (for {name}); found {', '.join(frame.columns)}"
                f"{did_you_mean(value, frame.columns)}"
            )
    # A score that was mapped in one way is not to be had in another from a column by chance.
    ways = (("score",), POINTS, COUNTS)
    mapped = [way for way in ways if all(name in fields for name in way)]
    closed = {name for way in ways if mapped and way not in mapped for name in way}
    for name in (*RESULTS.names, *_EXTRA_FIELDS):
        if name not in fields and name in frame.columns and name not in closed:
            fields[name] = pl.col(name)
    if not mapping:
        fields = {**_usual_fields(frame.columns), **fields}
    scored = [all(name in fields for name in way) for way in ways]
    if not any(scored):
        raise TableError("no score: map score, points_1 and points_2, or wins, draws and losses")
    missing = [name for name in ("time", "player_1", "player_2") if name not in fields]
    if missing:
        raise TableError(f"no column for {', '.join(missing)}: map them, as {missing[0]}=COLUMN")

    raw = frame.select(expression.alias(name) for name, expression in fields.items())
    _refuse_nested(raw)
    raw = raw.with_row_index("row", offset=1)
    raw = _timed(raw)
    too_many = pl.lit(False)
    if not scored[0] and not scored[1]:
        too_many = pl.any_horizontal(_count(name) > MOST_GAMES_A_ROW for name in COUNTS)
        raw = _one_row_a_game(raw)
    raw = raw.with_columns(
        _score(raw).alias("score"),
        pl.col("player_1", "player_2").cast(pl.String).str.strip_chars(),
    )
    raw = raw.with_columns(fast_games(raw.columns).alias("fast"))
    if source is not None and "source" not in raw.columns:
        raw = raw.with_columns(pl.lit(source).alias("source"))
    if "line" not in raw.columns:
        raw = raw.with_columns(pl.col("row").cast(pl.Int64).alias("line"))
    nameless = pl.any_horizontal(
        pl.col(name).is_null() | (pl.col(name) == "") for name in ("player_1", "player_2")
    )
    reason = (
        pl.when(nameless)
        .then(pl.lit("a player has no name"))
        .when(pl.col("player_1").str.to_lowercase() == pl.col("player_2").str.to_lowercase())
        .then(pl.lit("a player against himself"))
        .when(too_many)
        .then(pl.lit(f"more than {MOST_GAMES_A_ROW:,} games in one row"))
        .when(_no_number(raw, "weight"))
        .then(pl.lit("a weight that is no number"))
        .when(pl.col("score").is_null())
        .then(pl.lit("no score that can be read"))
    )
    judged = raw.with_columns(reason.alias("reason"))
    refused = judged.filter(pl.col("reason").is_not_null()).select("row", "reason")
    refused = refused.unique(maintain_order=True)  # a match of many games is one row
    results = _numbers(judged.filter(pl.col("reason").is_null()))
    return RESULTS.conform(results).select(RESULTS.names), refused


def _refuse_nested(raw: pl.DataFrame) -> None:
    for name, dtype in raw.schema.items():
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            raise TableError(f"the column for {name} holds {dtype}, not one value a row")


def _count(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Int64, strict=False)


def _no_number(raw: pl.DataFrame, name: str) -> pl.Expr:
    """Whether something is given that is no number."""
    if name not in raw.columns:
        return pl.lit(False)
    given = pl.col(name).cast(pl.String).str.strip_chars()
    return (given != "") & pl.col(name).cast(pl.Float64, strict=False).is_null()


def _usual_fields(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """The fields of a table of chess games as people keep it: white, black, result, date or year.

    White moves first; how many moves there were is not known.
    """
    if not {"white", "black", "result"} <= set(columns) or "player_1" in columns:
        return {}
    fields = {"first_mover": pl.lit(1), "full_moves": pl.lit(0)}
    for name, column in _USUAL:
        if column in columns:
            fields.setdefault(name, pl.col(column))
    return fields


def _one_row_a_game(raw: pl.DataFrame) -> pl.DataFrame:
    """Turn a row for a match into a row for each of its games; a bad count leaves no score."""
    counts = [_count(name) for name in COUNTS]
    bad = pl.any_horizontal(
        (count.is_null() | (count < 0) | (count > MOST_GAMES_A_ROW)) for count in counts
    )
    scores = pl.concat_list(
        pl.lit(score).repeat_by(pl.when(bad).then(0).otherwise(count))
        for score, count in zip((1.0, 0.5, 0.0), counts, strict=True)
    )
    # A row without games stays, as one without a score: an empty list would vanish.
    scores = pl.when(scores.list.len() > 0).then(scores).otherwise(pl.lit([None]))
    return raw.with_columns(scores.alias("score")).explode("score")


def _timed(raw: pl.DataFrame) -> pl.DataFrame:
    """Read the time: dates in any usual form become dates, numbers stay numbers."""
    dtype = raw.schema["time"]
    if dtype in (pl.Date, pl.Datetime):
        known = pl.when(pl.col("time").is_not_null()).then(pl.lit("day"))
        return raw.with_columns(pl.col("time").cast(pl.Date), known.alias("time_known"))
    if dtype.is_temporal():
        raise TableError(f"the time column holds no dates but {dtype}")
    if dtype.is_numeric():
        whole_numbers = raw["time"].drop_nulls().cast(pl.String)
        if not dtype.is_integer() or not _are_compact_dates(whole_numbers):
            return raw
    text = raw["time"].cast(pl.String).str.strip_chars()
    given = text.drop_nulls()
    compact = _are_compact_dates(given)
    numbers = given.cast(pl.Float64, strict=False)
    if not compact and len(given) and numbers.null_count() == 0:
        numbers = numbers.filter(numbers.is_finite())  # a time NaN is none
        # Whole numbers as such, unless they are beyond what a whole number holds.
        whole = (numbers == numbers.floor()).all() and bool((numbers.abs() < 2**53).all())
        times = text.cast(pl.Float64)
        times = times.set(~times.is_finite(), None)
        return raw.with_columns(times.cast(pl.Int64 if whole else pl.Float64))
    dates = pl.DataFrame({"date": text})
    if compact:
        spaced = pl.col("date").str.replace(r"^(\d{4})(\d{2})(\d{2})$", "$1.$2.$3")
        dates = dates.with_columns(spaced)
    dates = dates.with_columns(tidy_dates(dates["date"])["date"])
    timed = dates.select(time_of_dates().alias("time"), time_known().alias("time_known"))
    return raw.with_columns(timed["time"], timed["time_known"])


def _are_compact_dates(texts: pl.Series) -> bool:
    """Whether all are dates without separators, as in tennis tables: other digits are a number."""
    return len(texts) > 0 and bool(texts.str.contains(_COMPACT_DATE).all())


def _score(raw: pl.DataFrame) -> pl.Expr:
    if "score" not in raw.columns:
        ours, theirs = (pl.col(name).cast(pl.Float64, strict=False) for name in POINTS)
        return (
            pl.when(ours > theirs)
            .then(1.0)
            .when(ours < theirs)
            .then(0.0)
            .when(ours == theirs)
            .then(0.5)
        )
    if raw.schema["score"].is_numeric() or raw.schema["score"] == pl.Boolean:
        value = pl.col("score").cast(pl.Float64)
        return pl.when(value.is_in([0.0, 0.5, 1.0])).then(value)
    text = pl.col("score").cast(pl.String).str.strip_chars().str.to_lowercase()
    known = text.replace_strict(_SCORES, default=None, return_dtype=pl.Float64)
    if "first_mover" not in raw.columns:
        return known
    # Go's way to write a result: B+3.5, W+Resign. Black moves first.
    first = pl.col("first_mover").cast(pl.Float64, strict=False)
    mover_won = text.str.extract(r"^([bw])\+").replace_strict(
        {"b": True, "w": False}, default=None, return_dtype=pl.Boolean
    )
    return pl.coalesce(
        known,
        pl.when(first == 1).then(mover_won.cast(pl.Float64)),
        pl.when(first == 2).then((~mover_won).cast(pl.Float64)),
    )


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the other fields that hold numbers; what is no number is null."""
    wanted = {
        column.name: column.dtype
        for column in RESULTS.columns
        if column.dtype is not None and column.dtype.is_numeric() and column.name in frame.columns
    }
    return frame.with_columns(
        pl.col(name).cast(pl.Float64, strict=False).cast(dtype, strict=False)
        for name, dtype in wanted.items()
    )
