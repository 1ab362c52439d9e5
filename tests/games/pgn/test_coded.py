"""Coded columns: codes and values give the rows back, and combinations are those that occur."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.pgn import coded
from milepost.games.pgn.coded import Coded, distinct, holds_letter, map_each, spread

TEXTS = st.none() | st.sampled_from(["", "a", "b", "ä", "?"])


def column(texts: list[str | None]) -> pl.Series:
    return pl.Series("", texts, dtype=pl.String)


@settings(deadline=None, derandomize=True)
@given(st.lists(TEXTS, max_size=8))
def test_rows_come_back(texts: list[str | None]) -> None:
    assert spread({"x": Coded.of_rows(column(texts))})["x"].to_list() == texts


@pytest.mark.parametrize("table_size", [0, coded._TABLE_SIZE])
def test_combinations_are_those_that_occur(
    table_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coded, "_TABLE_SIZE", table_size)
    rows = [("a", "x"), ("b", None), ("a", "x"), (None, None), ("b", "x")]
    columns = {
        name: Coded.of_rows(column([row[place] for row in rows]))
        for place, name in enumerate(("one", "two"))
    }
    found, codes = distinct(columns)
    assert [found.row(int(code)) for code in codes] == rows
    assert len(found) == len(set(rows))


def test_combinations_with_a_column_without_values() -> None:
    columns = {"one": Coded.of_rows(column(["a", "b"])), "two": Coded.of_rows(column([None] * 2))}
    found, codes = distinct(columns)
    assert [found.row(int(code)) for code in codes] == [("a", None), ("b", None)]


def test_bytes_that_are_no_utf8_are_latin() -> None:
    assert coded.decode(b"Jos\xe9") == coded.decode(b"Jos\xc3\xa9") == "José"


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(TEXTS, max_size=5), max_size=4))
def test_several_columns_are_mapped_as_each_by_itself(columns: list[list[str | None]]) -> None:
    rule = pl.col("").str.to_uppercase().replace("", "?").fill_null("-")
    given = {str(place): Coded.of_rows(column(texts)) for place, texts in enumerate(columns)}
    mapped = map_each(given, rule)
    assert list(mapped) == list(given)
    for name, each in given.items():
        assert mapped[name].values.to_list() == each.map(rule).values.to_list()
        assert mapped[name].codes is each.codes


def test_a_letter_is_found_in_any_of_the_columns() -> None:
    plain, odd = Coded.of_rows(column(["a", None, "ä"])), Coded.of_rows(column(["b", "c\\d"]))
    assert holds_letter([plain, odd], "\\")
    assert not holds_letter([plain], "\\")
    assert not holds_letter([], "\\")
