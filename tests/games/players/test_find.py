"""The one finder of players: what somebody typed, and who is meant."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from milepost.errors import InputError
from milepost.games.players.find import PlayerFinder, find_player

PLAYERS = pl.DataFrame({
    "key": ["szelhegyfi, ors", "fischer", "fischer, robert james", "fischer, r", "kasparov, gary"],
    "name": ["Szélhegyfi, Örs", "Fischer", "Fischer, Robert James", None, "Kasparov, Garry"],
    "games": [7, 4, 889, 2, 2378],
})  # fmt: skip


@pytest.mark.parametrize(
    "typed",
    [
        "szelhegyfi, ors",
        "Szélhegyfi, Örs",
        "SZÉLHEGYFI,ÖRS",
        "Örs",
        "ors szelhegyfi",
        "élhegy",
        " örs ",
    ],
)
def test_names_with_accents_and_parts(typed: str) -> None:
    match = find_player(PLAYERS, typed)
    assert (match.key, match.name, match.better_known) == ("szelhegyfi, ors", "Szélhegyfi, Örs", "")


@pytest.mark.parametrize("typed", ["kasparov, garry", "kasparov, gary", "garry", "gary"])
def test_the_key_and_the_name_will_do(typed: str) -> None:
    assert find_player(PLAYERS, typed).name == "Kasparov, Garry"


def test_a_whole_name_wins_and_better_known_players_are_told() -> None:
    match = find_player(PLAYERS, "Fischer")
    assert match.key == "fischer"
    assert match.better_known == "Fischer, Robert James (889 games)"


def test_who_is_near_is_told() -> None:
    with pytest.raises(InputError, match=r"'r' may be \d players: Kasparov, Garry \(2,378 games\)"):
        find_player(PLAYERS, "r")
    with pytest.raises(
        InputError, match="no player is called 'kasparoff'; did you mean Kasparov, G"
    ):
        find_player(PLAYERS, "kasparoff")
    with pytest.raises(InputError, match=r"no player is called 'xyz'$"):
        find_player(PLAYERS, "xyz")


def test_any_table_with_keys_will_do() -> None:
    assert find_player({"key": ["ann", "bob"]}, "bo").key == "bob"
    assert find_player(pd.DataFrame({"key": ["ann", "ann"], "games": [1, 2]}), "ann").name == "ann"
    with pytest.raises(InputError, match="no player is called"):
        PlayerFinder(pl.DataFrame({"key": []}, schema={"key": pl.String})).find("ann")


@pytest.mark.parametrize(
    ("typed", "games", "key", "others"),
    [
        ("fischer", None, "fischer, robert james", ""),
        ("Fischer, R", None, "fischer, robert james", ""),
        ("fischer", {"fischer": 4, "fischer, r": 1}, "fischer", "Fischer, R (1 game)"),
        ("=fischer, r", None, "fischer, r", ""),
        ("garry kasparov", None, "kasparov, gary", ""),
        ("Kasparow Gari", None, "kasparov, gary", ""),  # by its sound
        ("sparov", None, "kasparov, gary", ""),
    ],
)
def test_the_best_known_is_meant(
    typed: str, games: dict[str, int] | None, key: str, others: str
) -> None:
    named = PLAYERS.with_columns(pl.coalesce("name", pl.col("key").str.to_titlecase()))
    match = PlayerFinder(named).find_best_known(typed, games)
    assert (match.key, match.others) == (key, others)


def test_equals_are_listed_unless_one_is_the_strongest_too() -> None:
    sisters = PlayerFinder({
        "key": ["polgar, judit", "polgar, sofia", "polgar j"], "games": [50, 30, 5],
    })  # fmt: skip
    with pytest.raises(InputError, match=r"'polgar' may be 3 players: polgar, judit \(50 games\)"):
        sisters.find_best_known("polgar")
    strength = {"polgar, judit": 2735.0, "polgar, sofia": 2505.0, "polgar j": 2800.0}
    # "polgar j" may be Judit herself, and is no rival.
    assert sisters.find_best_known("polgar", strength=strength).key == "polgar, judit"
    with pytest.raises(InputError, match="may be 3 players"):
        sisters.find_best_known("polgar", strength={"polgar, judit": 1.0, "polgar, sofia": 2.0})


def test_search_lists_parts_and_near_spellings() -> None:
    finder = PlayerFinder(PLAYERS)
    assert finder.search("fischer")["key"].to_list() == [
        "fischer, robert james", "fischer", "fischer, r",
    ]  # fmt: skip
    assert finder.search("gasparov")["key"].to_list() == ["kasparov, gary"]
    assert finder.search("").is_empty()


def test_search_adds_the_much_better_known_of_nearly_that_name() -> None:
    more = pl.DataFrame({"key": ["fisher, jw"], "name": ["Fisher, JW"], "games": [1]})
    finder = PlayerFinder(pl.concat([PLAYERS, more]))
    assert finder.search("fisher")["key"].to_list() == ["fischer, robert james", "fisher, jw"]
    # who is known well enough is meant
    assert finder.search("kasparov")["key"].to_list() == ["kasparov, gary"]
