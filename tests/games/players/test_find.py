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
