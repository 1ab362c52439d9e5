"""The agreement between stages: columns in order and type, whatever frame they come in."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.errors import InputError, TableError
from milepost.tables import GAMES, RESULTS, TABLES, Table, as_frame

LEAST = {"game_id": ["g"], "white": ["A"], "black": ["B"], "moves": ["e2e4"]}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_empty_has_the_columns_in_order(table: Table) -> None:
    assert table.empty().columns == [column.name for column in table.columns]
    assert len(table.empty()) == 0


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_names_are_unique(table: Table) -> None:
    assert len(set(table.names)) == len(table.columns)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_says_what_it_means(table: Table) -> None:
    assert all(column.meaning for column in table.columns)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_conform_leaves_its_own_output_alone(table: Table) -> None:
    once = table.conform(table.empty())
    assert table.conform(once).equals(once)
    assert once.schema == table.empty().schema


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column.name) for table in TABLES for column in table.columns if column.required],
)
def test_missing_required_column_is_named(table: Table, column: str) -> None:
    with pytest.raises(TableError, match=rf"{table.name} table needs the columns {column};"):
        table.conform(table.empty().drop(column))


def test_all_missing_columns_are_named_and_those_found() -> None:
    with pytest.raises(TableError, match="needs the columns game_id, moves; found white, black"):
        GAMES.conform(pl.DataFrame({"white": ["A"], "black": ["B"]}))


def test_frame_without_columns_is_refused_in_words() -> None:
    with pytest.raises(TableError, match="found none"):
        GAMES.conform(pl.DataFrame())


def test_optional_columns_come_as_nulls_of_their_type() -> None:
    frame = GAMES.conform(pl.DataFrame(LEAST))
    for column in GAMES.columns:
        assert frame.schema[column.name] == column.dtype
        assert frame[column.name].to_list() == LEAST.get(column.name, [None])


def test_time_that_is_missing_is_not_filled() -> None:
    with pytest.raises(TableError, match="time"):
        RESULTS.conform(pl.DataFrame({"player_1": ["A"], "player_2": ["B"], "score": [1.0]}))


@pytest.mark.parametrize("dtype", [pl.Date, pl.Int64, pl.Float64])
def test_time_keeps_its_type(dtype: Any) -> None:
    frame = RESULTS.conform(RESULTS.empty().with_columns(pl.col("time").cast(dtype)))
    assert frame.schema["time"] == dtype


def test_unknown_columns_stay_behind_the_known_ones() -> None:
    frame = GAMES.conform(pl.DataFrame({"zebra": [1], **LEAST, "apple": ["x"]}))
    assert frame.columns == [*GAMES.names, "zebra", "apple"]
    assert frame.select("zebra", "apple").row(0) == (1, "x")


def test_text_that_is_a_number_becomes_one() -> None:
    frame = GAMES.conform(pl.DataFrame({**LEAST, "white_elo": ["2700"]}))
    assert frame["white_elo"].to_list() == [2700]


@pytest.mark.parametrize(
    ("column", "value"),
    [("white_elo", "strong"), ("clocks", "fast"), ("white", [1, 2]), ("line", "2.5.1")],
)
def test_value_of_a_wrong_type_is_a_table_error(column: str, value: object) -> None:
    told = r"the games table has (.* in row 1, column|a column \w+ of a wrong type)"
    with pytest.raises(TableError, match=told):
        GAMES.conform(pl.DataFrame({**LEAST, column: [value]}))


def test_number_too_large_for_its_column_is_refused() -> None:
    with pytest.raises(TableError, match="row 1, column white_elo: out of range"):
        GAMES.conform(pl.DataFrame({**LEAST, "white_elo": [2**40]}))


def test_a_table_error_is_a_value_error() -> None:
    assert issubclass(TableError, InputError)
    assert issubclass(TableError, ValueError)


def test_polars_frame_is_taken_as_it_is() -> None:
    frame = pl.DataFrame({"a": [1]})
    assert as_frame(frame) is frame


def test_lazy_frame_is_collected() -> None:
    assert as_frame(pl.LazyFrame({"a": [1, 2]})).equals(pl.DataFrame({"a": [1, 2]}))


def test_arrow_table_keeps_nulls_and_lists() -> None:
    data = {"name": ["é", None], "clocks": [[1.5, None], None]}
    assert as_frame(pa.table(data)).to_dict(as_series=False) == data


def test_pandas_frame_keeps_unicode_and_missing_values() -> None:
    frame = as_frame(pd.DataFrame({"name": ["Łoś", None], "elo": [2500.0, float("nan")]}))
    assert frame.rows() == [("Łoś", 2500.0), (None, None)]


def test_pandas_elos_with_gaps_fit_the_games_table() -> None:
    # pandas keeps whole numbers with gaps as floats with NaN.
    two = {name: values * 2 for name, values in LEAST.items()}
    frame = GAMES.conform(pd.DataFrame({**two, "white_elo": [2500.0, float("nan")]}))
    assert frame["white_elo"].to_list() == [2500, None]


def test_pandas_index_is_no_column() -> None:
    assert as_frame(pd.DataFrame({"a": [1, 2]}, index=[7, 9])).columns == ["a"]


def test_pandas_column_of_mixed_kinds_is_a_table_error() -> None:
    with pytest.raises(TableError, match="no table"):
        as_frame(pd.DataFrame({"a": ["x", 1]}))


@pytest.mark.parametrize("thing", [None, 1, "games.csv", [1, 2], {"a": [1]}, object()])
def test_other_things_are_refused_by_their_type(thing: object) -> None:
    with pytest.raises(TableError, match=f"got {type(thing).__name__}"):
        as_frame(thing)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "game_id": st.text(max_size=5),
                "white": st.text(max_size=5),
                "black": st.text(max_size=5),
                "moves": st.text(max_size=5),
                "white_elo": st.none() | st.integers(100, 4000),
                "broken": st.none() | st.booleans(),
            }
        ),
        min_size=1,
        max_size=5,
    )
)
def test_frames_of_every_kind_conform_to_the_same(rows: list[dict[str, Any]]) -> None:
    names = ("game_id", "white", "black", "moves", "white_elo", "broken")
    types = {name: GAMES.dtypes[name] for name in names}
    frame = pl.DataFrame(rows, schema=types)
    ours = GAMES.conform(frame)
    assert GAMES.conform(frame.to_arrow()).equals(ours)
    assert GAMES.conform(frame.lazy()).equals(ours)
    assert GAMES.conform(frame.to_pandas()).equals(ours)
