"""The number of a round, from the text in the tag."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.games.rounds import round_number, round_numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("3.2", 3),
        ("1.1", 1),
        ("12.40", 12),
        (" 7 ", 7),
        ("2.1.4", 2),
        ("5(2)", 5),
        ("0", 0),
        ("?", None),
        ("-", None),
        ("", None),
        ("Final", None),
        ("?.3", None),
        ("20190704123055", None),
        (None, None),
    ],
)
def test_the_number_at_the_beginning_counts(text: str | None, number: int | None) -> None:
    assert round_number(text) == number


@given(st.lists(st.none() | st.text(st.sampled_from("0123456789.?- aв٣"), max_size=12)))
def test_a_column_says_what_each_text_says(texts: list[str | None]) -> None:
    column = pl.Series("round", texts, dtype=pl.String).to_frame()
    assert column.select(round_numbers(pl.col("round")))["round"].to_list() == [
        round_number(text) for text in texts
    ]
