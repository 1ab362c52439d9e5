"""Typed columns from the tags as they stand: dates, Elos, results, ids.

One function for both readers, so that a missing Elo or an odd date means the same in each.
"""

from __future__ import annotations

import polars as pl

from milepost.games.pgn.speeds import speed_of_games

RESULTS = ("1-0", "0-1", "1/2-1/2")

# Spellings of results that occur in the wild; everything else counts as no result.
_RESULT_SPELLINGS = {
    "1-0": "1-0",
    "0-1": "0-1",
    "1/2-1/2": "1/2-1/2",
    "1:0": "1-0",
    "0:1": "0-1",
    "1/2:1/2": "1/2-1/2",
    "1/2": "1/2-1/2",
    "½-½": "1/2-1/2",
    "½": "1/2-1/2",
    "0.5-0.5": "1/2-1/2",
    "+:-": "1-0",
    "-:+": "0-1",
    "+--": "1-0",
    "--+": "0-1",
    "1-0F": "1-0",
    "0-1F": "0-1",
}
_VARIANTS = dict.fromkeys(
    ("", "?", "-", "standard", "normal", "chess", "from position"), "standard"
) | dict.fromkeys(
    ("chess960", "chess 960", "fischerandom", "fischerrandom", "freestyle"), "chess960"
)
_UNKNOWN = ("", "?", "-", "*", "??", "???", "????")
_OFTEN_UNKNOWN = (
    "round", "time_control", "termination", "white_title", "black_title", "white_team",
    "black_team", "fen",
)  # fmt: skip
_PAIRED = " - "
"""What stands between the players in the name of a game."""
_ROUND = r"(?i)^\s*(?:round|ronda|ronde|runde|rodada|tour|game|day)\s*[\d.]+\s*$"
_LOWEST_ELO, _HIGHEST_ELO = 100, 4000
# Behind a number no further digit: the year 10000 is none, and not the year 1000.
_DATE = r"^\s*(\d{4}|\?{1,4})(?:[.\-/](\d{1,2}|\?{1,2}))?(?:[.\-/](\d{1,2}|\?{1,2}))?(?:\D|$)"
_COMPACT = r"^\s*([12]\d{3})(0\d|1[0-2])([0-2]\d|3[01])\s*$"


def tidy_tags(raw: pl.DataFrame) -> pl.DataFrame:
    """Return the tags as typed columns.

    Parameters
    ----------
    raw
        Text columns named as in `milepost.games.pgn.tags.TAG_COLUMNS` (those that the games table
        does not need may be missing), and `result_token`, the result
        that stands behind the moves. Other columns are kept.

    Returns
    -------
    polars.DataFrame
        `raw` with white, black, Elos, FIDE ids, date, year, round, result, speed in the form of the
        games table.
    """
    date = pl.col("date").str.replace(_COMPACT, "$1.$2.$3")
    given = raw.with_columns(
        pl.col("white", "black").str.strip_chars().replace("", "?").fill_null("?"),
        *(_known(name) for name in _OFTEN_UNKNOWN if _has_values(raw, name)),
        *(_elo(name) for name in ("white_elo", "black_elo")),
        *(
            _positive(name)
            for name in ("white_fide_id", "black_fide_id", "ply_count")
            if name in raw.columns
        ),
        _result(),
        # The date that a server gives counts where the game's own date does not say the year.
        pl.coalesce(
            pl.when(date.str.contains(r"^\s*[1-9]\d{3}(?:\D|$)")).then(date), "utc_date"
        ).alias("date"),
        *(
            pl.col(name).str.replace_all(r'\\(["\\])', "$1")
            for name in ("event", "site")
            if raw[name].str.contains("\\", literal=True).any()
        ),
    )
    if given["event"].str.contains(_PAIRED, literal=True).any():
        given = given.with_columns(_event_of_broadcast(given))
    for name in ("white", "black"):
        if given[name].str.contains("\\", literal=True).any():
            given = given.with_columns(pl.col(name).str.replace_all(r'\\(["\\])', "$1"))
    given = _by_distinct(given, ["date"], [tidy_date(), _year()])
    keys = ["event", "time_control"] if _has_values(given, "time_control") else ["event"]
    return _by_distinct(given, keys, [speed_of_games()])


def variant_of(tag: str | None) -> str:
    """Return the variant that a Variant tag names: standard, chess960, or the tag in lower case."""
    word = (tag or "").strip().lower()
    return _VARIANTS.get(word, word)


def _event_of_broadcast(given: pl.DataFrame) -> pl.Expr:
    """The event itself, where a broadcast names each game: "Round 3: White - Black".

    lichess gives the event in the tag BroadcastName. Where that is missing, the round alone says
    nothing: the event has no name then.
    """
    pairing = pl.concat_str(pl.lit(": "), "white", pl.lit(_PAIRED), "black")
    before = pl.col("event").str.strip_suffix(pairing)
    named: pl.Expr = pl.when(~before.str.contains(_ROUND)).then(before)
    if _has_values(given, "broadcast"):
        named = pl.coalesce("broadcast", named)
    return (pl.when(pl.col("event").str.ends_with(pairing)).then(named).otherwise("event")).alias(
        "event"
    )


def _known(name: str) -> pl.Expr:
    column = pl.col(name).str.strip_chars()
    return pl.when(~column.is_in(_UNKNOWN)).then(column).alias(name)


def _elo(name: str) -> pl.Expr:
    number = pl.col(name).str.strip_chars().cast(pl.Int32, strict=False)
    return pl.when(number.is_between(_LOWEST_ELO, _HIGHEST_ELO)).then(number).alias(name)


def _positive(name: str) -> pl.Expr:
    number = pl.col(name).str.strip_chars().cast(pl.Int64, strict=False)
    return pl.when(number > 0).then(number).alias(name)


def _result() -> pl.Expr:
    """The tag's result; where the tag gives none, the one behind the moves (as python-chess)."""
    tag = pl.col("result").str.strip_chars().replace_strict(_RESULT_SPELLINGS, default=None)
    token = pl.col("result_token")
    return pl.coalesce(tag, pl.when(token.is_in(RESULTS)).then(token), pl.lit("*")).alias("result")


def tidy_date() -> pl.Expr:
    """Return the column `date` as YYYY.MM.DD, with ?? for what is not known or cannot be."""
    parts = pl.col("date").str.extract_groups(_DATE)
    year, month, day = (
        parts.struct.field(number).cast(pl.Int32, strict=False).cast(pl.String) for number in "123"
    )
    month_exists = month.cast(pl.Int32).is_between(1, 12)
    day_exists = (
        pl.concat_str(year, month, day, separator="-")
        .str.to_date("%Y-%m-%d", strict=False)
        .is_not_null()
    )
    return (
        pl.when(year.cast(pl.Int32) >= 1)
        .then(
            pl.concat_str(
                year.str.zfill(4),
                pl.when(month_exists).then(month.str.zfill(2)).otherwise(pl.lit("??")),
                pl.when(day_exists).then(day.str.zfill(2)).otherwise(pl.lit("??")),
                separator=".",
            )
        )
        .alias("date")
    )


def _year() -> pl.Expr:
    year = pl.col("date").str.extract(_DATE).cast(pl.Int32, strict=False)
    return pl.when(year >= 1).then(year).alias("year")


def _has_values(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and frame[name].null_count() < len(frame)


def _by_distinct(
    frame: pl.DataFrame, columns: list[str], expressions: list[pl.Expr]
) -> pl.DataFrame:
    """Add expressions over a few columns, worked out once for each distinct row of them.

    Other columns that the expressions name hold no values.
    """
    names = [expression.meta.output_name() for expression in expressions]
    # Only these columns are joined: carrying the others along costs more than the rest.
    given = frame.select(columns)
    empty = {root for each in expressions for root in each.meta.root_names()} - set(columns)
    distinct = given.unique().with_columns(pl.lit(None, pl.String).alias(name) for name in empty)
    values = distinct.select(
        *columns, *(each.alias(f"_{name}") for each, name in zip(expressions, names, strict=True))
    )
    found = given.join(values, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return frame.with_columns(found[f"_{name}"].alias(name) for name in names)
