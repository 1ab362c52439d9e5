"""Typed columns from the tags as they stand: dates, Elos, results, ids.

One function for both readers, so that a missing Elo or an odd date means the same in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl

from milepost.games.pgn.coded import Coded, distinct, holds_letter, map_each, spread
from milepost.games.pgn.speeds import speeds_of
from milepost.games.pgn.tags import TAG_COLUMNS

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


_TEXT = pl.col("")
"""The values that a rule is for."""
_STRIPPED = _TEXT.str.strip_chars()


def _elo() -> pl.Expr:
    number = _STRIPPED.cast(pl.Int32, strict=False)
    return pl.when(number.is_between(_LOWEST_ELO, _HIGHEST_ELO)).then(number)


_NO_ELO = _TEXT.str.contains("[1-9]") & _elo().is_null()
"""Something that tries to be an Elo; a zero, like a question mark, says that there is none."""


def elo_doubts(raw: Mapping[str, Coded]) -> list[tuple[int, str]]:
    """Return the rows whose Elo tags hold what cannot be an Elo, and that in words.

    Parameters
    ----------
    raw
        The columns as in `tidy_columns`.
    """
    doubts = []
    for tag in ("WhiteElo", "BlackElo"):
        column = raw[TAG_COLUMNS[tag]]
        for row in np.flatnonzero(column.flags(_NO_ELO)).tolist():
            value = str(column.values[int(column.codes[row])])[:20]
            bounds = f"{_LOWEST_ELO} to {_HIGHEST_ELO}"
            doubts.append((row, f"{tag} is {value!r}, which is no number from {bounds}"))
    return doubts


def _positive() -> pl.Expr:
    number = _STRIPPED.cast(pl.Int64, strict=False)
    return pl.when(number > 0).then(number)


_RULES = (
    (("white", "black"), _STRIPPED.replace("", "?").fill_null("?")),
    (_OFTEN_UNKNOWN, pl.when(~_STRIPPED.is_in(_UNKNOWN)).then(_STRIPPED)),
    (("white_elo", "black_elo"), _elo()),
    (("white_fide_id", "black_fide_id", "ply_count"), _positive()),
)
"""What becomes of the values of which columns, each by itself."""


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
    used = [name for name in (*TAG_COLUMNS.values(), "result_token") if name in raw.columns]
    given = {name: Coded.of_rows(raw[name]) for name in used}
    made = tidy_columns(given)
    return raw.with_columns(
        spread({name: column for name, column in made.items() if column is not given.get(name)})
    )


def tidy_columns(raw: Mapping[str, Coded]) -> dict[str, Coded]:
    """Do what `tidy_tags` does with coded columns: each text is looked at once.

    Returns
    -------
    dict
        The columns that were given and those that were made of them.
    """
    tidy = dict(raw)
    for names, rule in _RULES:
        tidy |= map_each({name: raw[name] for name in names if name in raw}, rule)
    tidy |= _unescaped({name: raw[name] for name in ("event", "site")})
    results, codes = distinct({name: raw[name] for name in ("result", "result_token")})
    tidy["result"] = Coded(results.select(_result()).to_series(), codes)
    tidy["event"] = _events(tidy)
    tidy |= _unescaped({name: tidy[name] for name in ("white", "black")})
    dates, codes = distinct({name: raw[name] for name in ("date", "utc_date")})
    days = tidy_dates(dates.select(_date_given()).to_series())
    tidy["date"], tidy["year"] = Coded(days["date"], codes), Coded(days["year"], codes)
    speeds, codes = distinct({name: tidy[name] for name in ("event", "time_control")})
    return {**tidy, "speed": Coded(speeds_of(speeds), codes)}


def variant_of(tag: str | None) -> str:
    """Return the variant that a Variant tag names: standard, chess960, or the tag in lower case."""
    word = (tag or "").strip().lower()
    return _VARIANTS.get(word, word)


def _unescaped(texts: Mapping[str, Coded]) -> Mapping[str, Coded]:
    """Quotes and backslashes without the backslash that PGN puts before them."""
    if holds_letter(texts.values(), "\\"):
        return map_each(texts, _TEXT.str.replace_all(r'\\(["\\])', "$1"))
    return texts


def _events(tidy: Mapping[str, Coded]) -> Coded:
    """The event itself, where a broadcast names each game: "Round 3: White - Black".

    lichess gives the event in the tag BroadcastName. Where that is missing, the round alone says
    nothing: the event has no name then.
    """
    events = tidy["event"]
    rows = np.flatnonzero(events.flags(_TEXT.str.contains(_PAIRED, literal=True)))
    if not len(rows):
        return events
    wanted = [name for name in ("event", "white", "black", "broadcast") if name in tidy]
    given = spread({name: Coded(tidy[name].values, tidy[name].codes[rows]) for name in wanted})
    pairing = pl.concat_str(pl.lit(": "), "white", pl.lit(_PAIRED), "black")
    before = pl.col("event").str.strip_suffix(pairing)
    named: pl.Expr = pl.when(~before.str.contains(_ROUND)).then(before)
    if "broadcast" in wanted:
        named = pl.coalesce("broadcast", named)
    of_broadcast = pl.when(pl.col("event").str.ends_with(pairing)).then(named).otherwise("event")
    named_again = Coded.of_rows(given.select(of_broadcast.alias("event")).to_series())
    codes = events.codes.copy()
    codes[rows] = named_again.codes + np.uint32(len(events.values))
    return Coded(pl.concat([events.values, named_again.values]), codes)


@cache
def _result() -> pl.Expr:
    """The tag's result; where the tag gives none, the one behind the moves (as python-chess)."""
    tag = pl.col("result").str.strip_chars().replace_strict(_RESULT_SPELLINGS, default=None)
    token = pl.col("result_token")
    return pl.coalesce(tag, pl.when(token.is_in(RESULTS)).then(token), pl.lit("*")).alias("result")


def tidy_dates(dates: pl.Series) -> pl.DataFrame:
    """Return dates as YYYY.MM.DD, with ?? for what is not known or cannot be, and their years.

    Step by step: polars would work out a part of an expression anew wherever it stands.

    Returns
    -------
    polars.DataFrame
        The columns `date` and `year`.
    """
    parts = pl.col("date").str.extract_groups(_DATE).struct.rename_fields(["year", "month", "day"])
    given = dates.alias("date").to_frame().select(parts.alias("parts")).unnest("parts")
    numbers = given.cast(pl.Int32, strict=False)
    texts = numbers.cast(pl.String)
    exists = numbers.select(
        (pl.col("year") >= 1).alias("year"),
        pl.col("month").is_between(1, 12).alias("month"),
        texts.select(pl.concat_str("year", "month", "day", separator="-"))
        .to_series()
        .str.to_date("%Y-%m-%d", strict=False)
        .is_not_null()
        .alias("day"),
    )
    digits = {"year": 4, "month": 2, "day": 2}
    shown = texts.select(
        pl.when(exists[name]).then(pl.col(name).str.zfill(size)).otherwise(pl.lit("??")).alias(name)
        for name, size in digits.items()
    )
    return pl.select(
        pl.when(exists["year"])
        .then(shown.select(pl.concat_str("year", "month", "day", separator=".")).to_series())
        .alias("date"),
        pl.when(exists["year"]).then(numbers["year"]).alias("year"),
    )


@cache
def _date_given() -> pl.Expr:
    """The date that a server gives counts where the game's own date does not say the year."""
    date = pl.col("date").str.replace(_COMPACT, "$1.$2.$3")
    says_year = date.str.contains(r"^\s*[1-9]\d{3}(?:\D|$)")
    return pl.coalesce(pl.when(says_year).then(date), "utc_date").alias("date")
