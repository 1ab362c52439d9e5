"""Standings: points that add up."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.errors import TableError
from milepost.games.results.standings import standings
from milepost.tables import RESULTS

Row = tuple[str, str, float, int | None, int | None]


def _results(rows: list[Row]) -> pl.DataFrame:
    types = {
        "player_1": pl.String,
        "player_2": pl.String,
        "score": pl.Float64,
        "elo_1": pl.Int32,
        "elo_2": pl.Int32,
    }
    frame = pl.DataFrame(rows, schema=types, orient="row").with_columns(time=pl.lit(2000))
    return RESULTS.conform(frame)


def test_table_made_by_hand() -> None:
    found = standings(
        _results(
            [
                ("Ada", "Ben", 1.0, 2000, 1900),
                ("Ben", "Cid", 0.5, 1910, None),
                ("Cid", "Ada", 0.0, None, 2010),
                ("Ada", "Dan", 0.5, None, 1800),
            ]
        )
    )
    # Ada: won, won with Black, drew. Ben: lost, drew. Cid: drew, lost. Dan: drew.
    assert found.rows() == [
        ("Ada", 2005, 3, 2, 1, 0, 2.5),
        ("Ben", 1905, 2, 0, 1, 1, 0.5),
        ("Cid", None, 2, 0, 1, 1, 0.5),
        ("Dan", 1800, 1, 0, 1, 0, 0.5),
    ]
    assert found.columns == ["player", "elo", "games", "wins", "draws", "losses", "points"]


def test_no_results_give_an_empty_table() -> None:
    assert len(standings(RESULTS.empty())) == 0


def test_what_is_no_results_table_is_refused() -> None:
    with pytest.raises(TableError, match="player_1"):
        standings(pl.DataFrame({"white": ["A"]}))


def test_pandas_results_are_taken() -> None:
    frame = pd.DataFrame({"time": [2000], "player_1": ["A"], "player_2": ["B"], "score": [1.0]})
    assert standings(frame).select("player", "points").rows() == [("A", 1.0), ("B", 0.0)]


RESULT_ROWS = st.lists(
    st.tuples(
        st.sampled_from("ABC"),
        st.sampled_from("DEF"),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.none() | st.integers(1000, 2800),
        st.none() | st.integers(1000, 2800),
    ),
    max_size=15,
)


@settings(max_examples=60, deadline=None)
@given(RESULT_ROWS)
def test_totals_add_up(rows: list[Row]) -> None:
    found = standings(_results(rows))
    assert found["points"].sum() == len(rows)
    assert found["games"].sum() == 2 * len(rows)
    assert found["wins"].sum() == found["losses"].sum()
    assert (found["wins"] + found["draws"] + found["losses"]).equals(found["games"])
    assert (found["wins"] + found["draws"] / 2).to_list() == found["points"].to_list()


@settings(max_examples=60, deadline=None)
@given(RESULT_ROWS)
def test_side_that_is_named_first_does_not_matter(rows: list[Row]) -> None:
    swapped: list[Row] = [(b, a, 1.0 - score, elo_b, elo_a) for a, b, score, elo_a, elo_b in rows]
    assert standings(_results(rows)).equals(standings(_results(swapped)))
