"""From tables to arrays: periods, nodes, order, and rows that cannot be used."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from tests.history.samples import table

from milepost.errors import InputError, TableError
from milepost.history import records
from milepost.history.periods import clock_of
from milepost.history.records import SkippedResultsWarning, read_records


def test_winner_comes_first_and_nodes_link_up() -> None:
    records = read_records(
        table([(1902, "b", "a", 0.0), (1900, "a", "b", 1.0), (1900, "c", "a", 0.5)])
    )
    assert records.names.to_list() == ["a", "b", "c"]
    assert (records.games, records.players, records.nodes, records.periods) == (3, 3, 5, 2)
    assert records.label.to_list() == [1900, 1902]
    assert records.node_player[records.first].tolist() == [0, 2, 0]
    assert records.drawn.tolist() == [False, True, False]
    last = records.first[2]
    assert records.elapsed[last] == 2.0
    assert records.node_player[records.previous[last]] == 0
    assert records.following[records.previous[last]] == last
    assert records.node_games.sum() == 6
    assert records.draw_share == pytest.approx(1 / 3)
    assert records.row.tolist() == [1, 2, 0]


def test_the_first_mover_follows_the_winner() -> None:
    frame = table([(0, "a", "b", 1.0), (0, "a", "b", 0.0), (0, "a", "b", 0.5)])
    mover = pl.Series("first_mover", [1, 1, 2], dtype=pl.Int8)
    assert read_records(frame.with_columns(mover)).mover.tolist() == [1, -1, -1]
    assert read_records(frame).mover.tolist() == [0, 0, 0]


def test_bad_rows_are_counted_by_reason() -> None:
    rows = [
        (1900.0, "a", "b", 1.0), (None, "a", "b", 1.0), (1900.0, None, "b", 1.0),
        (1900.0, "a", "a", 1.0), (1900.0, "a", "b", float("nan")), (1900.0, "a", "b", None),
        (1900.0, "a", "b", 2.0), (float("nan"), "a", "b", 1.0), (1900.0, "", "b", 1.0),
    ]  # fmt: skip
    with pytest.warns(SkippedResultsWarning, match="left out 8 of 9"):
        records = read_records(table(rows))
    assert records.games == 1
    assert dict(records.skipped) == {
        "no time": 2, "no player": 2, "a player against himself": 1,
        "a score other than 1, 0.5 and 0": 3,
    }  # fmt: skip


def test_bad_weights_and_movers_are_left_out() -> None:
    frame = table([(0, "a", "b", 1.0)] * 4).with_columns(
        weight=pl.Series([1.0, 0.0, None, float("nan")]),
        first_mover=pl.Series([1, 1, 3, 1], dtype=pl.Int8),
    )
    with pytest.warns(SkippedResultsWarning):
        records = read_records(frame)
    assert records.games == 1
    assert len(records.weight) == 0


def test_no_usable_row_is_an_error() -> None:
    with pytest.raises(InputError, match="no rows"):
        read_records(table([(1900, "a", "b", 1.0)]).clear())
    with pytest.raises(InputError, match="no result can be used: 1 with a player against himself"):
        read_records(table([(1900, "a", "a", 1.0)]))
    with pytest.raises(TableError, match="score"):
        read_records(pl.DataFrame({"time": [1], "player_1": ["a"], "player_2": ["b"]}))
    with pytest.raises(InputError, match="dates or numbers"):
        read_records(table([("spring", "a", "b", 1.0)]))
    with pytest.raises(InputError, match="period"):
        read_records(table([(1, "a", "b", 1.0)]), period="week")
    with pytest.raises(InputError, match="positive length"):
        read_records(table([(1, "a", "b", 1.0)]), period=0)


@pytest.mark.parametrize(
    ("period", "labels", "gap"),
    [
        ("year", [1999, 2001], 2.0),
        ("month", [date(1999, 12, 1), date(2001, 1, 1)], 13 / 12),
        ("day", [date(1999, 12, 31), date(2001, 1, 15)], 381 / 365.2425),
        (0.5, None, 1.5),
    ],
)
def test_dates_are_cut_into_periods(period: str | float, labels: list[object], gap: float) -> None:
    frame = table([(date(2001, 1, 15), "a", "b", 1.0), (date(1999, 12, 31), "a", "b", 1.0)])
    records = read_records(frame, period=period)
    if labels:
        assert records.label.to_list() == labels
    assert records.elapsed.max() == pytest.approx(gap)


def test_numbers_are_cut_by_a_length() -> None:
    frame = table([(0.3, "a", "b", 1.0), (0.35, "a", "b", 1.0), (0.9, "a", "b", 1.0)])
    records = read_records(frame, period=0.1)
    assert records.label.to_list() == pytest.approx([0.3, 0.9])
    assert records.elapsed.max() == pytest.approx(0.6)


def test_events_and_games_as_periods() -> None:
    frame = table([(1, "a", "b", 1.0), (2, "a", "b", 1.0), (1, "a", "c", 1.0)])
    frame = frame.with_columns(event=pl.Series(["x", "x", "y"]))
    by_event = read_records(frame, period="event")
    assert by_event.periods == 2
    assert np.diff(by_event.game_start).tolist() == [2, 1]
    by_game = read_records(frame, period="game")
    assert by_game.periods == 3
    assert by_game.elapsed[by_game.previous >= 0].tolist() == [1.0, 1.0, 1.0]


def test_pandas_comes_in() -> None:
    frame = pd.DataFrame(
        {"time": [1, 2], "player_1": ["a", "b"], "player_2": ["b", "c"], "score": [1.0, 0.5]}
    )
    assert read_records(frame).games == 2


def test_moments_that_callers_name() -> None:
    assert clock_of(date(1972, 7, 11), "year") == 1972.0
    assert clock_of("1972-07-11", "month") == pytest.approx(1972.5)
    assert clock_of("1972.5", "year") == 1972.5
    assert clock_of(date(1970, 1, 1), "day") == 1970.0
    with pytest.raises(InputError):
        clock_of("someday", "year")


def test_players_apart_are_those_of_scipy() -> None:
    """By another program: the connected components of the graph of who met whom."""
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 400, (230, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    games = pl.DataFrame({
        "time": np.arange(len(pairs)) // 20,
        "player_1": [f"p{a}" for a in pairs[:, 0]], "player_2": [f"p{b}" for b in pairs[:, 1]],
        "score": np.full(len(pairs), 0.5),
    })  # fmt: skip
    graph = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(400, 400))
    group = connected_components(graph, directed=False)[1]
    sizes = np.bincount(group[np.unique(pairs)])
    assert read_records(games).apart == len(np.unique(pairs)) - sizes.max() > 0


@pytest.mark.parametrize(
    "column",
    [
        pl.lit(1990.5).alias("time"), pl.date(1990, 2, 1).alias("time"),
        pl.lit(40_000).alias("time"), pl.lit(2, dtype=pl.Int8).alias("first_mover"),
        pl.lit(2.5).alias("weight"), pl.lit(1e-15).alias("weight"),
    ],
)  # fmt: skip
def test_a_table_without_faults_is_seen_at_a_glance_or_row_by_row(
    column: pl.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = table([(1990, "a", "b", 1.0), (1991, "b", "c", 0.5)]).with_columns(column)
    quick = read_records(games)
    monkeypatch.setattr(records, "_are_all_usable", lambda _: False)
    slow = read_records(games)
    assert quick.first.tolist() == slow.first.tolist()
    assert quick.clock.tolist() == slow.clock.tolist()
    assert quick.skipped == slow.skipped == {}
