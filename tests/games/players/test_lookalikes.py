"""Pairs of keys that may be one person: what is listed, what is not, and why."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.players.lookalikes import likely_duplicates, may_be_one
from milepost.games.players.resolve import find_players
from milepost.tables import LIKELY_DUPLICATES, PLAYERS


def _players(*people: tuple[str, int | None, int | None, int | None]) -> pl.DataFrame:
    """A players table of keys with id, first and last year, and one game for each letter."""
    return PLAYERS.conform(
        pl.DataFrame(
            [(key, key, key, ident, len(key), first, last) for key, ident, first, last in people],
            schema={
                "key": pl.String,
                "name": pl.String,
                "spelling": pl.String,
                "fide_id": pl.Int64,
                "games": pl.Int64,
                "first_year": pl.Int32,
                "last_year": pl.Int32,
            },
            orient="row",
        )
    )


def _found(*people: tuple[str, int | None, int | None, int | None]) -> dict[tuple[str, str], str]:
    listed = likely_duplicates(_players(*people))
    return {
        (a, b): reason for a, b, reason in listed.select("key_1", "key_2", "reason").iter_rows()
    }


def _plain(*keys: str) -> dict[tuple[str, str], str]:
    return _found(*((key, None, None, None) for key in keys))


def test_nobody_gives_an_empty_table() -> None:
    assert likely_duplicates(PLAYERS.empty()).columns == LIKELY_DUPLICATES.names


def test_same_words_in_another_order() -> None:
    assert _plain("carlsen, magnus", "magnus carlsen") == {
        ("carlsen, magnus", "magnus carlsen"): "same words, other order"
    }


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("carlsen, m", "carlsen, magnus"),
        ("carlsen, m o", "carlsen, magnus oen"),
        ("carlsen, magnus", "carlsen, magnus oen"),
        ("carlsen, mag", "carlsen, magnus"),
    ],
)
def test_shorter_given_name(one: str, two: str) -> None:
    assert _plain(one, two) == {(one, two): "same surname, shorter given name"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("carlsen, h", "carlsen, magnus"),
        ("carlsen, m x", "carlsen, magnus oen"),
        ("carlson, m", "carlsen, magnus"),
        ("carlsen", "carlsen, magnus"),
        ("carlsen, marius", "carlsen, magnus"),
    ],
)
def test_other_given_names_are_not_listed(one: str, two: str) -> None:
    assert _plain(one, two) == {}


@pytest.mark.parametrize(
    "typo",
    ["kortchnoi, viktor", "korchnoi, victor", "orchnoi, viktor", "krochnoi, viktor"],
    ids=["added", "changed", "left out", "swapped"],
)
def test_one_letter_apart(typo: str) -> None:
    pair = (min(typo, "korchnoi, viktor"), max(typo, "korchnoi, viktor"))
    assert _plain(typo, "korchnoi, viktor") == {pair: "one letter apart"}


def test_two_letters_apart_are_not_listed() -> None:
    assert _plain("kortchnoi, victor", "korchnoi, viktor") == {}


def test_short_names_one_letter_apart_are_not_listed() -> None:
    assert _plain("li, wei", "li, wen") == {}


@pytest.mark.parametrize(
    "other", ["korchnoi, v", "kortchnoi viktor", "viktor kortchnoi", "korchnoi, viktor lvovich"]
)
def test_other_transliterations(other: str) -> None:
    assert may_be_one("kortschnoj, viktor", other)
    assert list(_plain("kortschnoj, viktor", other).values()) == ["sounds alike"]


def test_who_is_another_person() -> None:
    assert may_be_one("tal", "tal, mihail")
    for one, two in (("polgar, judit", "polgar, sofia"), ("tal, m", "tall, e"), ("ab", "ba")):
        assert not may_be_one(one, two)
        assert _plain(one, two) == {}


def test_numbered_accounts_are_not_listed() -> None:
    assert _plain("stockfish 15", "stockfish 16") == {}


def test_one_name_with_several_ids() -> None:
    found = _found(
        ("smith, j #1", 1, 2000, 2010),
        ("smith, j #2", 2, 2000, 2010),
        ("smith, j", None, 1900, 1910),
    )
    assert set(found.values()) == {"one name, other FIDE ids"}
    assert len(found) == 3


def test_namesakes_come_out_of_the_players_table() -> None:
    games = pl.DataFrame(
        {
            "white": ["Smith, J", "Smith, J"],
            "white_fide_id": [1, 2],
            "black": ["Rival, A", "Other, B"],
            "black_fide_id": pl.Series([None, None], dtype=pl.Int64),
        }
    )
    listed = likely_duplicates(find_players(games))
    assert listed.select("key_1", "key_2").rows() == [("smith, j #1", "smith, j #2")]


def test_years_that_cannot_be_one_life_are_out() -> None:
    assert _found(("carlsen, m", None, 1900, 1910), ("carlsen, magnus", None, 1981, 1990)) == {}


def test_eighty_years_can_be_one_life() -> None:
    assert _found(("carlsen, m", None, 1910, 1910), ("carlsen, magnus", None, 1985, 1990))


def test_unknown_years_can_be_one_life() -> None:
    assert _found(("carlsen, m", None, None, None), ("carlsen, magnus", None, 1985, 1990))


def test_two_different_ids_are_out() -> None:
    assert _found(("carlsen, m", 1, 2000, 2000), ("carlsen, magnus", 2, 2000, 2000)) == {}


def test_one_id_is_not_against_it() -> None:
    assert _found(("carlsen, m", 1, 2000, 2000), ("carlsen, magnus", None, 2000, 2000))


def test_a_pair_is_listed_once_by_its_first_reason() -> None:
    # Also one letter apart; the reason that says more comes first.
    assert _plain("carlsen, magnu", "carlsen, magnus") == {
        ("carlsen, magnu", "carlsen, magnus"): "same surname, shorter given name"
    }


def test_games_and_years_stand_beside_their_key() -> None:
    listed = likely_duplicates(
        _players(("magnus carlsen", None, 2000, 2010), ("carlsen, magnus", None, 2005, 2005))
    )
    assert listed.rows(named=True) == [
        {
            "key_1": "carlsen, magnus",
            "key_2": "magnus carlsen",
            "reason": "same words, other order",
            "games_1": 15,
            "games_2": 14,
            "years_1": "2005",
            "years_2": "2000-2010",
        }
    ]


def test_crowd_of_initials_says_nothing() -> None:
    # 41 people named Kim whose given names begin with S.
    crowd = [f"kim, s{chr(97 + number // 26)}{chr(97 + number % 26)}xx" for number in range(40)]
    assert all("shorter" not in reason for reason in _plain("kim, s", *crowd).values())
    assert any("shorter" in reason for reason in _plain("kim, s", *crowd[:-1]).values())


def test_pairs_with_many_games_come_first() -> None:
    listed = likely_duplicates(
        PLAYERS.conform(
            pl.DataFrame(
                {
                    "key": ["aaaa, b", "aaaa, bb", "cccc, d", "cccc, dd"],
                    "name": "x",
                    "spelling": "x",
                    "games": [1, 100, 5, 5],
                }
            )
        )
    )
    assert listed["key_1"].to_list() == ["cccc, d", "aaaa, b"]


def _distance(one: str, two: str) -> int:
    """Damerau-Levenshtein distance (optimal string alignment), by the textbook's table."""
    rows, columns = len(one) + 1, len(two) + 1
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(columns)] for i in range(rows)]
    for i in range(1, rows):
        for j in range(1, columns):
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (one[i - 1] != two[j - 1]),
            )
            if i > 1 and j > 1 and one[i - 1] == two[j - 2] and one[i - 2] == two[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def test_distance_of_known_pairs() -> None:
    assert _distance("kitten", "sitting") == 3
    assert _distance("abcd", "abdc") == 1
    assert _distance("", "ab") == 2


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        # One long word of few letters: no other reason can apply, and near pairs are frequent.
        st.text(alphabet="ab", min_size=6, max_size=10),
        min_size=2,
        max_size=8,
        unique=True,
    )
)
def test_one_letter_rule_equals_brute_force(keys: list[str]) -> None:
    expected = {
        (min(one, two), max(one, two))
        for one, two in combinations(keys, 2)
        if min(len(one), len(two)) >= 8 and _distance(one, two) == 1
    }
    assert set(_plain(*keys)) == expected
