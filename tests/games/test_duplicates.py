"""The same game recorded twice, and games that only look alike."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.duplicates import DuplicateFinder, SeenDigests, find_duplicates
from milepost.tables import GAMES

LONG = " ".join(["g1f3", "g8f6", "f3g1", "f6g8"] * 13)  # 52 half-moves
SHORT = " ".join(["g1f3", "g8f6", "f3g1", "f6g8"] * 12)  # 48 half-moves


def _game(**changes: Any) -> dict[str, Any]:
    moves: str = changes.get("moves", LONG)
    plies = len(moves.split())
    game = {
        "game_id": "",
        "white": "Carlsen, Magnus",
        "black": "Anand, Viswanathan",
        "date": "2013.11.09",
        "year": 2013,
        "event": "WCh",
        "round": "1",
        "result": "1/2-1/2",
        "moves": moves,
        "plies": plies,
        "full_moves": (plies + 1) // 2,
        "fen": None,
    } | changes
    # As the reader does: the same for the same tags and moves only.
    tags = ("white", "black", "date", "event", "round", "result", "moves", "fen")
    return game | {"game_id": "|".join(str(game[name]) for name in tags)}


def _frame(*games: dict[str, Any]) -> pl.DataFrame:
    types = {name: GAMES.dtypes[name] for name in _game()}
    return GAMES.conform(pl.DataFrame(list(games), schema=types))


def _found(*games: dict[str, Any]) -> list[tuple[int, int, str]]:
    return find_duplicates(_frame(*games)).rows()


OTHERS = {"white": "Nepo, Ian", "black": "Ding, Liren"}


def test_no_games_no_duplicates() -> None:
    assert _found() == []


def test_identical_records() -> None:
    assert _found(_game(), _game()) == [(1, 0, "identical")]


def test_the_first_is_kept() -> None:
    assert _found(_game(), _game(**OTHERS, year=2020, date="2020.??.??"), _game(), _game()) == [
        (2, 0, "identical"),
        (3, 0, "identical"),
    ]


def test_long_game_of_the_same_players_in_another_year_is_one_game() -> None:
    # A misdated record.
    assert _found(_game(), _game(year=2014, date="2014.??.??")) == [(1, 0, "moves")]


def test_long_game_of_the_same_year_under_other_names_is_one_game() -> None:
    assert _found(_game(), _game(white="Carlson, X", black="Anant, Y", round=None)) == [
        (1, 0, "moves")
    ]


def test_long_game_of_other_players_in_another_year_is_another_game() -> None:
    assert _found(_game(), _game(**OTHERS, year=2020, date="2020.01.01")) == []


def test_other_spelling_of_the_players_is_the_same() -> None:
    other = _game(white="M. Carlsen", black="ANAND,V", moves=SHORT, event="World Ch", round=None)
    assert _found(_game(moves=SHORT, round=None), other) == [(1, 0, "moves")]


def test_short_draw_of_other_players_is_another_game() -> None:
    assert _found(_game(moves=SHORT), _game(moves=SHORT, **OTHERS)) == []


def test_short_draw_of_the_same_players_in_another_year_is_another_game() -> None:
    again = _game(moves=SHORT, year=2014, date="2014.11.09")
    assert _found(_game(moves=SHORT), again) == []


@pytest.mark.parametrize(("plies", "count"), [(49, 0), (50, 1)])
def test_long_means_fifty_half_moves(plies: int, count: int) -> None:
    moves = " ".join(LONG.split()[:plies])
    other = _game(moves=moves, **OTHERS, round=None)
    assert len(_found(_game(moves=moves), other)) == count


def test_another_result_is_another_game() -> None:
    assert _found(_game(), _game(result="1-0")) == []


def test_another_starting_position_is_another_game() -> None:
    fen = "4k3/8/8/8/8/8/8/4K1N1 w - - 0 1"
    assert _found(_game(round=None), _game(round=None, fen=fen)) == []


def test_colours_reversed_is_another_game() -> None:
    swapped = _game(moves=SHORT, white="Anand, Viswanathan", black="Carlsen, Magnus")
    assert _found(_game(moves=SHORT), swapped) == []


def test_same_record_with_other_moves_of_the_same_number() -> None:
    other = _game(moves=LONG.replace("g1f3", "b1c3"), event="World Championship")
    assert _found(_game(), other) == [(1, 0, "record")]


@pytest.mark.parametrize(
    "change",
    [
        {"round": None},
        {"date": "2013.11.??"},
        {"date": None},
        {"result": "*"},
        {"moves": ""},
        {"white": "?"},
    ],
    ids=["round", "day", "date", "result", "moves", "player"],
)
def test_record_with_something_unknown_is_no_evidence(change: dict[str, Any]) -> None:
    other = {"moves": LONG.replace("g1f3", "b1c3")} | change
    assert _found(_game(**change), _game(**other, event="World Championship")) == []


@pytest.mark.parametrize(
    "change",
    [{"round": "2"}, {"date": "2013.11.10"}, {"result": "1-0"}, {"moves": SHORT}],
    ids=["round", "date", "result", "length"],
)
def test_record_that_differs_is_another_game(change: dict[str, Any]) -> None:
    other = {"moves": LONG.replace("g1f3", "b1c3")} | change
    assert _found(_game(), _game(**other)) == []


def test_same_players_twice_a_day_in_unknown_rounds() -> None:
    other = _game(moves=LONG.replace("g1f3", "b1c3"), round=None)
    assert _found(_game(round=None), other) == []


def test_games_without_moves_are_no_duplicates_by_moves() -> None:
    assert _found(_game(moves=""), _game(moves="", event="World Championship")) == []


def test_chain_of_records_leads_to_the_one_that_is_kept() -> None:
    # The second is the first by record, the third is the second by moves: all are the first.
    other_moves = LONG.replace("g1f3", "b1c3")
    second = _game(moves=other_moves, event="World Championship")
    third = _game(moves=other_moves, white="Carlson, X", round=None)
    assert _found(_game(), second, third) == [(1, 0, "record"), (2, 0, "moves")]


def test_headers_alone_use_the_record_only() -> None:
    headers = _frame(_game(), _game(event="x"), _game(round=None)).drop("moves", "plies")
    found = list(DuplicateFinder().find(headers, 0))
    assert [(each.place, each.first, each.rule) for each in found] == [(1, 0, "record")]


GAMES_DRAWN = st.lists(
    st.builds(
        _game,
        white=st.sampled_from(["Carlsen, Magnus", "M Carlsen", "Nepo, Ian", "?"]),
        year=st.sampled_from([2013, 2014, None]),
        round=st.sampled_from(["1", None]),
        event=st.sampled_from(["a", "b"]),
        result=st.sampled_from(["1-0", "*"]),
        moves=st.sampled_from([LONG, SHORT, ""]),
    ),
    max_size=10,
)


@settings(max_examples=60, deadline=None)
@given(GAMES_DRAWN, st.lists(st.integers(0, 10), max_size=4))
def test_cutting_into_batches_changes_nothing(games: list[dict[str, Any]], cuts: list[int]) -> None:
    frame = _frame(*games)
    finder = DuplicateFinder()
    found = []
    for start, end in pairwise(sorted({0, len(games), *(min(cut, len(games)) for cut in cuts)})):
        found += list(finder.find(frame[start:end], start))
    assert [(each.place, each.first, each.rule) for each in found] == _found(*games)


@settings(max_examples=60, deadline=None)
@given(GAMES_DRAWN)
def test_what_is_named_as_kept_is_kept(games: list[dict[str, Any]]) -> None:
    found = _found(*games)
    dropped = {row for row, _, _ in found}
    assert all(first not in dropped and first < row for row, first, _ in found)


def _same_game(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """The rules of docs/games.md, pair by pair; names in the tests differ in their signature."""

    def who(game: dict[str, Any]) -> str | None:
        return {"M Carlsen": "carlsen", "Carlsen, Magnus": "carlsen", "?": None}.get(
            game["white"], game["white"]
        )

    if one["game_id"] == two["game_id"]:
        return True
    players = who(one) is not None and who(one) == who(two)
    year = one["year"] is not None and one["year"] == two["year"]
    played = one["moves"] == two["moves"] != "" and one["result"] == two["result"]
    if played and (players or year) and (one["moves"] == LONG or (players and year)):
        return True
    record = all(one[name] == two[name] for name in ("date", "round", "result", "full_moves"))
    known = one["round"] is not None and one["result"] != "*" and one["full_moves"] > 0
    return players and record and known


@settings(max_examples=60, deadline=None)
@given(GAMES_DRAWN)
def test_rules_equal_comparing_all_pairs(games: list[dict[str, Any]]) -> None:
    expected = {
        later
        for later in range(len(games))
        if any(_same_game(games[earlier], games[later]) for earlier in range(later))
    }
    assert {row for row, _, _ in _found(*games)} == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 12) | st.just(2**64 - 1), max_size=12), max_size=12))
def test_seen_digests_equal_a_dictionary(batches: list[list[int]]) -> None:
    seen = SeenDigests()
    known: dict[int, int] = {}
    place = 0
    for batch in batches:
        places = np.arange(place, place + len(batch), dtype=np.int64)
        found = seen.first_places(np.array(batch, dtype=np.uint64), places)
        expected = []
        for digest, here in zip(batch, places.tolist(), strict=True):
            expected.append(known.get(digest, -1))
            known.setdefault(digest, here)
        assert found.tolist() == expected
        place += len(batch)


def test_seen_digests_with_gaps_between_places() -> None:
    seen = SeenDigests()
    seen.first_places(np.array([5], dtype=np.uint64), np.array([100], dtype=np.int64))
    found = seen.first_places(np.array([7, 5, 7], dtype=np.uint64), np.array([200, 300, 400]))
    assert found.tolist() == [-1, 100, 200]
