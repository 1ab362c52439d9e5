"""Numbers of players and nodes: beside plain Python, whatever the order of the games."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from milepost.history import numbering
from milepost.history.records import read_records


def games(rows: int, players: int, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    one = rng.integers(0, players, rows)
    two = (one + rng.integers(1, players, rows)) % players
    return pl.DataFrame({
        "time": rng.integers(1990, 2000, rows), "score": rng.choice([0.0, 0.5, 1.0], rows),
        "player_1": [f"né {n * 7919 % players}" for n in one],
        "player_2": [f"né {n * 7919 % players}" for n in two],
    })  # fmt: skip


def test_hashes_give_the_numbers_of_sorted_names() -> None:
    # More names than the first table holds, so that it grows, twice.
    table = games(200_000, 150_000)
    names, one, two = numbering.number_names(table["player_1"], table["player_2"])
    expected = sorted({*table["player_1"], *table["player_2"]})
    assert names.to_list() == expected
    assert names.gather(one).equals(table["player_1"].alias("player"))
    assert names.gather(two).equals(table["player_2"].alias("player"))


def test_names_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    table = games(6000, 50)
    whole = numbering.hashed_names

    def poor(names: pl.Series) -> tuple[numbering.Hashes, numbering.Hashes]:
        key, check = whole(names)
        return key % 16, check

    monkeypatch.setattr(numbering, "hashed_names", poor)
    names, one, _ = numbering.number_names(table["player_1"], table["player_2"])
    assert len(names) == 50
    assert names.gather(one).to_list() == table["player_1"].to_list()


@pytest.mark.parametrize("by_time", [True, False])
def test_nodes_are_those_of_plain_python(by_time: bool) -> None:
    table = games(6000, 300)
    if by_time:
        table = table.sort("time", maintain_order=True)
    records = read_records(table)
    times = table["time"].gather(records.row)
    assert times.is_sorted()
    assert sorted(records.row.tolist()) == list(range(table.height))
    # Every player's games stand in the order given.
    node_rows: dict[int, int] = {}
    for first, second, row in zip(records.first, records.second, records.row, strict=True):
        for node in (int(first), int(second)):
            assert node_rows.get(node, -1) < row
            node_rows[node] = int(row)
    nodes = sorted({
        (time, name)
        for time, *names in table.select("time", "player_1", "player_2").rows()
        for name in names
    })  # fmt: skip
    found = zip(
        records.label.gather(records.node_period), records.names.gather(records.node_player),
        strict=True,
    )  # fmt: skip
    assert list(found) == nodes
    last: dict[str, int] = {}
    for node, (_, name) in enumerate(nodes):
        assert records.previous[node] == last.get(name, -1)
        if name in last:
            assert records.following[last[name]] == node
        last[name] = node


def test_neighbours_seldom_wait_for_each_other() -> None:
    """Most games go by twos: of one kind, without a player in common."""
    table = games(6000, 300).sort("time", maintain_order=True)
    records = read_records(table)
    by_twos, place = 0, 0
    while place + 1 < records.games:
        here, after = (
            {int(records.first[game]), int(records.second[game])} for game in (place, place + 1)
        )
        fits = not here & after and records.drawn[place] == records.drawn[place + 1]
        by_twos += 2 * fits
        place += 1 + fits
    assert by_twos > 0.85 * records.games


def test_a_chain_of_games_links_two_players() -> None:
    played = pl.DataFrame({"player_1": ["a", "b", "x"], "player_2": ["b", "c", "y"]})
    assert numbering.are_linked(played, "a", "c")
    assert numbering.are_linked(played, "y", "x")
    assert not numbering.are_linked(played, "a", "x")
    assert not numbering.are_linked(played, "a", "nobody")
