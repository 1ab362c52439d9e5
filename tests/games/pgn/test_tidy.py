"""Typed columns from tags: dates, Elos, results, variants, names."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.pgn.tags import TAG_COLUMNS
from milepost.games.pgn.tidy import tidy_tags, variant_of


def tidied(**tags: str | None) -> dict[str, Any]:
    """One game's tags, typed."""
    columns = {column: [tags.pop(column, None)] for column in TAG_COLUMNS.values()}
    columns["result_token"] = [tags.pop("result_token", None)]
    assert not tags
    return tidy_tags(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))).to_dicts()[0]


@pytest.mark.parametrize(
    ("given_date", "date", "year"),
    [
        ("2011.05.03", "2011.05.03", 2011),
        ("2011-05-03", "2011.05.03", 2011),
        ("2011/5/3", "2011.05.03", 2011),
        (" 2011.05.03 ", "2011.05.03", 2011),
        ("1976.??.??", "1976.??.??", 1976),
        ("1976", "1976.??.??", 1976),
        ("1976.08", "1976.08.??", 1976),
        ("1976.08.??", "1976.08.??", 1976),
        ("1976.??.13", "1976.??.??", 1976),  # a day without a month says nothing
        ("1976.13.05", "1976.??.??", 1976),
        ("1976.02.31", "1976.02.??", 1976),
        ("1900.02.29", "1900.02.??", 1900),  # no leap year
        ("2000.02.29", "2000.02.29", 2000),
        ("1976.00.00", "1976.??.??", 1976),
        ("0000.??.??", None, None),
        ("????.??.??", None, None),
        ("????.05.03", None, None),
        ("?", None, None),
        ("", None, None),
        ("May 1976", None, None),
        (None, None, None),
    ],
)
def test_date(given_date: str | None, date: str | None, year: int | None) -> None:
    game = tidied(date=given_date)
    assert (game["date"], game["year"]) == (date, year)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(1, 2200), st.integers(0, 99), st.integers(0, 99))
def test_dates_that_exist_are_kept_and_others_lose_what_cannot_be(
    year: int, month: int, day: int
) -> None:
    if year < 1000:
        year += 1000
    found = tidied(date=f"{year:04}.{month:02}.{day:02}")["date"]
    # The calendar of the standard library decides.
    if not 1 <= month <= 12:
        assert found == f"{year}.??.??"
    elif not 1 <= day <= calendar.monthrange(year, month)[1]:
        assert found == f"{year}.{month:02}.??"
    else:
        assert found == dt.date(year, month, day).strftime("%Y.%m.%d")


def test_server_date_counts_only_without_a_year() -> None:
    assert tidied(date="????.??.??", utc_date="2020.01.02")["date"] == "2020.01.02"
    assert tidied(date=None, utc_date="2020.01.02")["year"] == 2020
    assert tidied(date="2019.12.31", utc_date="2020.01.01")["date"] == "2019.12.31"
    assert tidied(date="2019.??.??", utc_date="2020.01.01")["date"] == "2019.??.??"


@pytest.mark.parametrize(
    ("tag", "elo"),
    [("2400", 2400), (" 2400 ", 2400), ("100", 100), ("4000", 4000), ("99", None), ("4001", None),
     ("0", None), ("0000", None), ("?", None), ("-", None), ("", None), ("99999", None),
     ("99999999999999", None), ("-2400", None), ("2400?", None), ("24OO", None), (None, None)],
)  # fmt: skip
def test_elo(tag: str | None, elo: int | None) -> None:
    game = tidied(white_elo=tag, black_elo="1999")
    assert (game["white_elo"], game["black_elo"]) == (elo, 1999)


@pytest.mark.parametrize(
    ("tag", "token", "result"),
    [
        ("1-0", None, "1-0"),
        ("0-1", "1-0", "0-1"),  # the tag comes first
        ("*", "1-0", "1-0"),
        (None, "0-1", "0-1"),
        ("?", "1/2-1/2", "1/2-1/2"),
        ("*", "*", "*"),
        ("*", None, "*"),
        (None, None, "*"),
        ("½-½", None, "1/2-1/2"),
        ("1/2", None, "1/2-1/2"),
        ("+:-", None, "1-0"),
        (" 1-0 ", None, "1-0"),
        ("white won", None, "*"),
    ],
)
def test_result(tag: str | None, token: str | None, result: str) -> None:
    assert tidied(result=tag, result_token=token)["result"] == result


@pytest.mark.parametrize(
    ("tag", "variant"),
    [(None, "standard"), ("", "standard"), ("Standard", "standard"), ("From Position", "standard"),
     ("Chess960", "chess960"), ("chess 960", "chess960"), ("Fischerandom", "chess960"),
     ("Atomic", "atomic"), (" Crazyhouse ", "crazyhouse")],
)  # fmt: skip
def test_variant(tag: str | None, variant: str) -> None:
    assert variant_of(tag) == variant


@pytest.mark.parametrize("tag", [None, "", "  ", "?", " ? "])
def test_player_without_a_name_is_a_question_mark(tag: str | None) -> None:
    assert tidied(white=tag)["white"] == "?"


def test_escapes_in_names_are_undone() -> None:
    game = tidied(white='Short \\"Nigel\\"', event='The \\"Big\\" One', site="a\\\\b")
    assert (game["white"], game["event"], game["site"]) == (
        'Short "Nigel"',
        'The "Big" One',
        "a\\b",
    )


@pytest.mark.parametrize(
    ("tag", "number"), [("1503014", 1503014), ("0", None), ("-5", None), ("?", None), ("x1", None)]
)
def test_fide_id(tag: str, number: int | None) -> None:
    assert tidied(white_fide_id=tag)["white_fide_id"] == number


@pytest.mark.parametrize("tag", ["?", "-", "", " ? ", "????"])
def test_unknown_words_are_null(tag: str) -> None:
    game = tidied(round=tag, time_control=tag, white_title=tag, termination=tag)
    columns = ("round", "time_control", "white_title", "termination")
    assert [game[name] for name in columns] == [None] * 4


def test_games_keep_their_order_and_their_own_dates() -> None:
    columns: dict[str, list[str | None]] = {name: [None] * 3 for name in TAG_COLUMNS.values()}
    columns |= {"date": ["2001.01.01", None, "2001.01.01"], "event": ["b", "a", "b"]}
    columns["result_token"] = [None] * 3
    games = tidy_tags(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    assert games["date"].to_list() == ["2001.01.01", None, "2001.01.01"]
    assert games["event"].to_list() == ["b", "a", "b"]


@pytest.mark.parametrize(
    ("given", "broadcast", "event"),
    [
        ("Round 3: Ada A - Bea, B", "Spring Open | A", "Spring Open | A"),
        ("Round 3: Ada A - Bea, B", None, None),  # a round is no name of an event
        ("Spring Open: Ada A - Bea, B", None, "Spring Open"),
        ("Round 3: Ada A - Another", "Spring Open", "Round 3: Ada A - Another"),
        ("Spring Open - A", "?", "Spring Open - A"),
        ("Match Ada A - Bea, B", None, "Match Ada A - Bea, B"),
    ],
)
def test_a_broadcast_names_each_game_but_is_one_event(
    given: str, broadcast: str | None, event: str | None
) -> None:
    # As in the PGN of lichess broadcasts: Event "Round 1: White - Black", BroadcastName the event.
    row = tidied(event=given, broadcast=broadcast, white="Ada A", black="Bea, B")
    assert row["event"] == event
