"""Results from any table: every way to give a score, a time and a name."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.errors import InputError, TableError
from milepost.games.results.from_table import parse_mapping, results_of_table
from milepost.tables import RESULTS


def _table(**columns: list[Any]) -> pl.DataFrame:
    """Rows of A against B in the year 2000, but for the columns given."""
    rows = max(len(values) for values in columns.values())
    base: dict[str, list[Any]] = {
        "time": [2000] * rows,
        "player_1": ["A"] * rows,
        "player_2": ["B"] * rows,
    }
    return pl.DataFrame(base | columns)


def _scores(table: Any, mapping: dict[str, str] | None = None) -> list[float | None]:
    """The score of each row, None where the row was refused."""
    results, refused = results_of_table(table, mapping)
    by_row = dict(results.select("line", "score").iter_rows())
    by_row |= dict.fromkeys(refused["row"])
    return [by_row[row] for row in sorted(by_row)]


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (["1-0", "1", "1.0", "W", "win", " Won ", "+"], 1.0),
        (["1/2-1/2", "½-½", "½", "0.5", "1/2", "d", "Draw", "DRAWN", "=", "tie"], 0.5),
        (["0-1", "0", "0.0", "L", "loss", "lost", "lose"], 0.0),
        (["*", "", "2", "unfinished", None, "1-1", "0.25"], None),
    ],
    ids=["won", "drawn", "lost", "unreadable"],
)
def test_score_in_words(words: list[str | None], score: float | None) -> None:
    table = _table(score=words).with_columns(pl.col("score").cast(pl.String))
    assert _scores(table) == [score] * len(words)


def test_score_in_whole_numbers() -> None:
    assert _scores(_table(score=[1, 0, 2, -1, None])) == [1.0, 0.0, None, None, None]


def test_score_in_fractions() -> None:
    scores = [1.0, 0.5, 0.0, 0.25, float("nan"), None]
    assert _scores(_table(score=scores)) == [1.0, 0.5, 0.0, None, None, None]


def test_points_are_compared() -> None:
    table = _table(points_1=[3, 1, 0, None, 2], points_2=["1", "1", "2", "2", "x"])
    assert _scores(table) == [1.0, 0.5, 0.0, None, None]


def test_points_of_ten_are_more_than_nine() -> None:
    # Text is compared as numbers.
    assert _scores(_table(points_1=["10"], points_2=["9"])) == [1.0]


def test_counts_become_a_row_for_each_game() -> None:
    results, refused = results_of_table(_table(wins=[2, 0], draws=[1, 0], losses=[0, 3]))
    assert results.select("line", "score").rows() == [
        (1, 1.0), (1, 1.0), (1, 0.5), (2, 0.0), (2, 0.0), (2, 0.0)
    ]  # fmt: skip
    assert len(refused) == 0


def test_counts_that_cannot_be_are_refused() -> None:
    table = _table(wins=[-1, None, 0, 1], draws=[0, 1, 0, 0], losses=[2, 1, 0, 0])
    results, refused = results_of_table(table)
    assert results["line"].to_list() == [4]
    assert refused.rows() == [(row, "no score that can be read") for row in (1, 2, 3)]


def test_row_of_many_games_is_refused_once() -> None:
    table = _table(player_1=[None], wins=[3], draws=[0], losses=[2]).with_columns(
        pl.col("player_1").cast(pl.String)
    )
    assert results_of_table(table)[1].rows() == [(1, "a player has no name")]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=5))
def test_counts_add_up(rows: list[tuple[int, int, int]]) -> None:
    wins, draws, losses = (list(column) for column in zip(*rows, strict=True))
    results, refused = results_of_table(_table(wins=wins, draws=draws, losses=losses))
    assert results["score"].sum() == sum(wins) + sum(draws) / 2
    assert len(results) == sum(map(sum, rows))
    assert len(refused) == sum(1 for row in rows if not sum(row))


@pytest.mark.parametrize(
    ("first_mover", "text", "score"),
    [
        (1, "B+3.5", 1.0),
        (1, "W+Resign", 0.0),
        (2, "B+R", 0.0),
        (2, "w+time", 1.0),
        (1, "Void", None),
        (None, "B+3.5", None),
        (1, "1-0", 1.0),
    ],
)
def test_score_of_go(first_mover: int | None, text: str, score: float | None) -> None:
    # Black moves first: B+ is a win of the first mover.
    table = _table(score=[text], first_mover=[first_mover])
    assert _scores(table) == [score]


def test_score_of_go_needs_to_know_who_moved_first() -> None:
    assert _scores(_table(score=["B+3.5"])) == [None]


def test_fixed_value_is_for_every_row() -> None:
    results, _ = results_of_table(
        _table(winner=["x", "y"]),
        parse_mapping("player_1=winner,score:=1,first_mover:=2,event:=Wimbledon"),
    )
    assert results.select("player_1", "score", "first_mover", "event").rows() == [
        ("x", 1.0, 2, "Wimbledon"),
        ("y", 1.0, 2, "Wimbledon"),
    ]


def test_mapped_way_to_score_is_the_only_one() -> None:
    table = _table(score=[0.0], goals=[3], against=[1])
    assert _scores(table, {"points_1": "goals", "points_2": "against"}) == [1.0]


def test_score_comes_before_points_where_nothing_is_mapped() -> None:
    assert _scores(_table(score=[0.0], points_1=[3], points_2=[1])) == [0.0]


def test_mapping_is_read() -> None:
    assert parse_mapping("time=date, player_1 = white ,score:=1,event := a b") == {
        "time": "date",
        "player_1": "white",
        "score:": "1",
        "event:": "a b",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour=white", "unknown field 'colour'; known are draws, elo_1"),
        ("time", "field:=value, got 'time'"),
        ("time=", "a mapping is field=column"),
        ("", "a mapping is field=column"),
        ("time=a,,score=b", "field:=value, got ''"),
        ("time=a,time=b", "'time' is given twice"),
        ("time=a,time:=b", "'time' is given twice"),
    ],
)
def test_bad_mappings_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mapping(text)


def test_every_field_of_the_results_can_be_mapped() -> None:
    for name in RESULTS.names:
        assert parse_mapping(f"{name}=x") == {name: "x"}


def test_mapped_column_that_is_missing_is_named() -> None:
    with pytest.raises(TableError, match=r"no column 'datum' \(for time\); found time, player_1"):
        results_of_table(_table(score=[1]), {"time": "datum"})


def test_misspelt_column_brings_a_suggestion() -> None:
    with pytest.raises(TableError, match=r"no column 'tme' .*; did you mean time\?"):
        results_of_table(_table(score=[1]), {"time": "tme"})


def test_needed_fields_that_are_missing_are_named() -> None:
    with pytest.raises(TableError, match="no column for time, player_2: map them, as time=COLUMN"):
        results_of_table(pl.DataFrame({"player_1": ["A"], "score": [1]}))


@pytest.mark.parametrize("columns", [{"x": [1]}, {"points_1": [1]}, {"wins": [1], "draws": [1]}])
def test_table_without_a_score_is_refused(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(TableError, match="no score: map score"):
        results_of_table(_table(**columns))


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TableError, match="expected a polars"):
        results_of_table([("A", "B", 1)])


# --- time


def _times(values: list[Any]) -> tuple[list[Any], list[Any]]:
    results, refused = results_of_table(_table(time=values, score=[1] * len(values)))
    assert len(refused) == 0
    return results["time"].to_list(), results["time_known"].to_list()


@pytest.mark.parametrize(
    ("text", "date", "known"),
    [
        ("2011.05.03", dt.date(2011, 5, 3), "day"),
        ("2011-05-03", dt.date(2011, 5, 3), "day"),
        ("2011/5/3", dt.date(2011, 5, 3), "day"),
        (" 2011-05-03 ", dt.date(2011, 5, 3), "day"),
        ("2011-05-03 20:15:00", dt.date(2011, 5, 3), "day"),
        ("2011-05-03T20:15:00Z", dt.date(2011, 5, 3), "day"),
        ("20110503", dt.date(2011, 5, 3), "day"),
        ("1976.??.??", dt.date(1976, 7, 1), "year"),
        ("1976.05.??", dt.date(1976, 5, 15), "month"),
        ("1976-05", dt.date(1976, 5, 15), "month"),
        ("2011.02.31", dt.date(2011, 2, 15), "month"),
        ("????.??.??", None, None),
        ("yesterday", None, None),
    ],
)
def test_date_in_text(text: str, date: dt.date | None, known: str | None) -> None:
    assert _times([text]) == ([date], [known])


def test_dates_of_several_forms_in_one_column() -> None:
    dates, known = _times(["2011.05.03", "1976", None, "2011-05-03"])
    assert dates == [dt.date(2011, 5, 3), dt.date(1976, 7, 1), None, dt.date(2011, 5, 3)]
    assert known == ["day", "year", None, "day"]


@pytest.mark.parametrize(
    ("given_values", "values"),
    [
        ([1976, 1980, None], [1976, 1980, None]),
        (["1976", "1980", None], [1976, 1980, None]),
        ([1976.5, 1980.0], [1976.5, 1980.0]),
        (["1976.5", "1980"], [1976.5, 1980.0]),
        ([12345678, 3], [12345678, 3]),  # eight digits, but no date
        ([98765432, 12345678], [98765432, 12345678]),
        (["98765432", "12345678"], [98765432, 12345678]),
    ],
)
def test_numbers_stay_numbers(given_values: list[Any], values: list[Any]) -> None:
    found, known = _times(given_values)
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]
    assert known == [None] * len(values)


@pytest.mark.parametrize("kind", [str, int])
def test_dates_without_separators_are_dates(kind: Any) -> None:
    # As in tennis tables, where pandas reads whole numbers.
    dates, _ = _times([kind(20110503), kind(20111231), None])
    assert dates == [dt.date(2011, 5, 3), dt.date(2011, 12, 31), None]


def test_date_and_datetime_columns() -> None:
    day = dt.date(2011, 5, 3)
    assert _times([day, None]) == ([day, None], ["day", None])
    moment = dt.datetime(2011, 5, 3, 23, 59)  # noqa: DTZ001
    assert _times([moment, None]) == ([day, None], ["day", None])


def test_time_of_day_is_no_date() -> None:
    with pytest.raises(TableError, match="holds no dates"):
        _times([dt.time(12)])


def test_time_without_values_is_null() -> None:
    assert _times([None, None]) == ([None, None], [None, None])


# --- rows


def test_rows_are_refused_with_reason_and_number() -> None:
    table = pl.DataFrame(
        {
            "time": [2000] * 6,
            "player_1": ["A", None, "A", " ", "A ", "A"],
            "player_2": ["B", "B", "A", "B", " A", "B"],
            "score": ["1", "1", "1", "1", "1", "?"],
        }
    )
    results, refused = results_of_table(table)
    assert results["line"].to_list() == [1]
    assert refused.rows() == [
        (2, "a player has no name"),
        (3, "a player against himself"),
        (4, "a player has no name"),
        (5, "a player against himself"),
        (6, "no score that can be read"),
    ]


def test_names_lose_their_outer_blanks_only() -> None:
    results, _ = results_of_table(_table(player_1=["  Łoś,  J "], score=[1]))
    assert results["player_1"].to_list() == ["Łoś,  J"]


def test_numbers_may_be_names() -> None:
    results, _ = results_of_table(_table(player_1=[7], player_2=[8], score=[1]))
    assert results.select("player_1", "player_2").row(0) == ("7", "8")


def test_other_fields_that_are_no_numbers_are_null() -> None:
    table = _table(score=[1, 1], elo_1=["2400", "?"], elo_2=["", "2400.0"], weight=["", "0.5"])
    results, _ = results_of_table(table)
    assert results.select("elo_1", "elo_2", "weight").rows() == [
        (2400, None, None),
        (None, 2400, 0.5),
    ]


def test_columns_are_those_of_the_results_table() -> None:
    results, _ = results_of_table(_table(score=[1], extra=["x"]))
    assert results.columns == RESULTS.names


def test_source_is_noted_unless_the_table_has_its_own() -> None:
    plain, _ = results_of_table(_table(score=[1]), source="a.csv")
    own, _ = results_of_table(_table(score=[1], source=["b.pgn"], line=[17]), source="a.csv")
    assert plain.select("source", "line").row(0) == ("a.csv", 1)
    assert own.select("source", "line").row(0) == ("b.pgn", 17)


def test_table_without_rows_gives_no_results() -> None:
    results, refused = results_of_table(_table(score=[1.0]).clear())
    assert results.columns == RESULTS.names
    assert (len(results), len(refused)) == (0, 0)


def test_pandas_and_arrow_give_the_same() -> None:
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2011-05-03", None]),
            "white": ["A", "B"],
            "black": ["B", "C"],
            "result": ["1-0", "1/2-1/2"],
            "elo": [2400.0, float("nan")],
        }
    )
    mapping = parse_mapping("time=day,player_1=white,player_2=black,score=result,elo_1=elo")
    results, refused = results_of_table(frame, mapping)
    assert len(refused) == 0
    assert results.select("time", "player_1", "player_2", "score", "elo_1").rows() == [
        (dt.date(2011, 5, 3), "A", "B", 1.0, 2400),
        (None, "B", "C", 0.5, None),
    ]
    assert results_of_table(pa.Table.from_pandas(frame), mapping)[0].equals(results)


def test_a_score_of_true_or_false() -> None:
    table = pl.DataFrame({"time": [1, 2], "player_1": ["a", "b"], "player_2": ["c", "d"]})
    results, refused = results_of_table(table.with_columns(pl.Series("score", [True, False])))
    assert results["score"].to_list() == [1.0, 0.0]
    assert len(refused) == 0
