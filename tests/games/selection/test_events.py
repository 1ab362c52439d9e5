"""Kinds of event from their cross-tables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from milepost.games.selection.events import EVENT_KINDS, event_kinds, with_event_kinds

Pairing = tuple[str, str, str | None]


def _games(pairings: list[Pairing], event: str | None = "Open", **more: Any) -> pl.DataFrame:
    """Games of one event: white, black, round."""
    types = {"white": pl.String, "black": pl.String, "round": pl.String}
    return pl.DataFrame(pairings, schema=types, orient="row").with_columns(
        pl.lit(event, dtype=pl.String).alias("event"),
        pl.lit(more.get("year", 2013), dtype=pl.Int32).alias("year"),
        pl.lit(more.get("team"), dtype=pl.String).alias("white_team"),
        pl.lit(more.get("team"), dtype=pl.String).alias("black_team"),
    )


def _row(games: pl.DataFrame) -> dict[str, Any]:
    return event_kinds(games).row(0, named=True)


def _kind(pairings: list[Pairing], event: str = "Open", **more: Any) -> str:
    kind = _row(_games(pairings, event, **more))["event_kind"]
    assert kind in EVENT_KINDS
    return str(kind)


def _all_play_all(players: int) -> list[Pairing]:
    """Round-robin by the circle method: everybody once a round."""
    ring = [f"p{number}" for number in range(players)]
    rounds: list[Pairing] = []
    for turn in range(players - 1):
        rounds += [
            (ring[board], ring[-1 - board], f"{turn + 1}.{board + 1}")
            for board in range(players // 2)
        ]
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return rounds


def _swiss(players: int, rounds: int) -> list[Pairing]:
    """Everybody plays every round, each time somebody new: places are shifted by the round."""
    half = players // 2
    return [
        (f"p{place}", f"p{half + (place + turn) % half}", str(turn + 1))
        for turn in range(rounds)
        for place in range(half)
    ]


def _knockout(players: int, games_a_pair: int) -> list[Pairing]:
    left = [f"p{number}" for number in range(players)]
    pairings: list[Pairing] = []
    stage = 1
    while len(left) > 1:
        for one, two in zip(left[::2], left[1::2], strict=True):
            for game in range(games_a_pair):
                colours = (one, two) if game % 2 == 0 else (two, one)
                pairings.append((*colours, f"{stage}.{game + 1}"))
        left = left[::2]
        stage += 1
    return pairings


def test_two_players_are_a_match() -> None:
    pairings: list[Pairing] = [("A", "B", "1"), ("B", "A", "2"), ("A", "B", "3")]
    assert _row(_games(pairings)) == {
        "event": "Open",
        "year": 2013,
        "event_kind": "match",
        "event_games": 3,
        "event_players": 2,
        "event_rounds": 3,
    }


def test_one_game_is_a_match() -> None:
    assert _kind([("A", "B", None)]) == "match"


@pytest.mark.parametrize("players", [4, 8, 14])
def test_round_robin(players: int) -> None:
    pairings = _all_play_all(players)
    assert len({frozenset(pair[:2]) for pair in pairings}) == players * (players - 1) // 2
    row = _row(_games(pairings))
    assert (row["event_kind"], row["event_rounds"]) == ("round-robin", players - 1)


def test_double_round_robin() -> None:
    once = _all_play_all(6)
    again: list[Pairing] = [(black, white, f"{number}") for white, black, number in once]
    assert _kind(once + again) == "round-robin"


def test_round_robin_with_a_game_missing() -> None:
    assert _kind(_all_play_all(8)[1:]) == "round-robin"


def test_round_robin_of_three() -> None:
    assert _kind([("A", "B", "1"), ("B", "C", "2"), ("C", "A", "3")]) == "round-robin"


def test_round_robin_bound_is_four_pairs_in_five() -> None:
    # Ten players have 45 pairs; 36 are 80 %.
    pairs: list[Pairing] = [
        (f"p{one}", f"p{two}", str(1 + (one + two) % 9)) for one, two in combinations(range(10), 2)
    ]
    assert _kind(pairs[:36]) == "round-robin"
    fewer = pairs[:35]
    assert len({name for pair in fewer for name in pair[:2]}) == 10
    assert _kind(fewer) == "small-swiss"


@pytest.mark.parametrize(
    ("players", "rounds", "kind"),
    [
        (54, 9, "small-swiss"),
        (56, 9, "large-swiss"),
        (30, 5, "small-swiss"),
        (32, 5, "large-swiss"),
    ],
)
def test_swiss_is_small_up_to_six_players_a_round(players: int, rounds: int, kind: str) -> None:
    # 54 = 6 * 9 and 30 = 6 * 5 lie on the bound.
    row = _row(_games(_swiss(players, rounds)))
    assert (row["event_players"], row["event_rounds"], row["event_kind"]) == (players, rounds, kind)


def test_missing_rounds_are_counted_as_they_are() -> None:
    # 54 players in 9 rounds, but only the last four rounds are there: 54 > 6 * 4.
    late = [pair for pair in _swiss(54, 9) if int(pair[2] or 0) > 5]
    assert _kind(late) == "large-swiss"


@pytest.mark.parametrize(("players", "games_a_pair"), [(8, 2), (16, 2), (64, 2), (8, 4)])
def test_knockout(players: int, games_a_pair: int) -> None:
    assert _kind(_knockout(players, games_a_pair)) == "knockout"


def test_swiss_is_no_knockout() -> None:
    assert _kind(_swiss(16, 2)) != "knockout"


def test_team_by_tags() -> None:
    assert _kind(_all_play_all(4), team="Club") == "team"


def test_team_tags_of_a_few_games_do_not_make_a_team_event() -> None:
    games = _games(_all_play_all(4))
    some = _games(_all_play_all(4)[:2], team="Club")
    assert _row(pl.concat([games, some]))["event_kind"] == "round-robin"


@pytest.mark.parametrize(
    "event",
    [
        "Olympiad 2012",
        "40th Olympiad Men",
        "Bundesliga 2011-12",
        "4NCL",
        "Ch Turkey (team)",
        "ch-EUR Team",
        "FRA-chT Top 12 equipes",
        "Mannschaftskampf",
        "European Club Cup",
        "Pro Chess League",
    ],
)
def test_team_by_a_word(event: str) -> None:
    assert _kind([("A", "B", "1")], event) == "team"


@pytest.mark.parametrize("event", ["Steamboat Open", "Colligan Memorial", "Blackpool", "Tolstoy"])
def test_word_inside_another_is_no_team(event: str) -> None:
    assert _kind([("A", "B", "1")], event) == "match"


def test_no_rounds_and_no_clear_table_is_unknown() -> None:
    pairings: list[Pairing] = [(white, black, None) for white, black, _ in _swiss(30, 3)]
    row = _row(_games(pairings))
    assert row["event_kind"] == "unknown"
    assert row["event_rounds"] == 3  # nobody played more


def test_one_name_in_two_years_is_two_events() -> None:
    games = pl.concat([_games(_all_play_all(4), year=2012), _games([("A", "B", "1")], year=2013)])
    found = event_kinds(games)
    assert found.select("year", "event_kind").rows() == [(2012, "round-robin"), (2013, "match")]


def test_unknown_year_is_an_event_of_its_own() -> None:
    games = pl.concat([_games([("A", "B", "1")], year=None), _games(_all_play_all(4))])
    kinds = event_kinds(games)
    assert dict(kinds.select("year", "event_kind").iter_rows()) == {
        None: "match",
        2013: "round-robin",
    }
    assert with_event_kinds(games, kinds)["event_kind"].to_list() == ["match"] + ["round-robin"] * 6


@pytest.mark.parametrize("event", [None, "?", "-", ""])
def test_games_without_an_event_are_of_unknown_kind(event: str | None) -> None:
    games = _games([("A", "B", "1")], event)
    kinds = event_kinds(games)
    assert len(kinds) == 0
    assert with_event_kinds(games, kinds)["event_kind"].to_list() == ["unknown"]


def test_keys_count_as_players_where_given() -> None:
    games = _games([("A", "B", "1"), ("a", "B", "2")]).with_columns(
        white_key=pl.lit("a"), black_key=pl.lit("b")
    )
    assert _row(games)["event_kind"] == "match"


def test_kinds_come_from_the_whole_input() -> None:
    games = _games(_swiss(56, 9))
    selected = games[:2]
    assert with_event_kinds(selected, event_kinds(games))["event_kind"].to_list() == [
        "large-swiss",
        "large-swiss",
    ]
    assert event_kinds(selected)["event_kind"].to_list() != ["large-swiss"]


def test_kinds_are_replaced_not_added() -> None:
    games = _games(_all_play_all(4))
    once = with_event_kinds(games, event_kinds(games))
    assert_frame_equal(with_event_kinds(once, event_kinds(games)), once)


def test_pandas_games_are_taken() -> None:
    frame = pd.DataFrame(
        {"white": ["A"], "black": ["B"], "event": ["x"], "year": [2000], "round": ["1"]}
    )
    assert event_kinds(frame)["event_kind"].to_list() == ["match"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABCDEF"),
            st.sampled_from("GHIJKL"),
            st.sampled_from(["1", "2.1", None]),
        ),
        min_size=1,
        max_size=15,
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_games_does_not_matter(pairings: list[Pairing], chance: Any) -> None:
    shuffled = list(pairings)
    chance.shuffle(shuffled)
    found = event_kinds(_games(pairings))
    assert_frame_equal(found, event_kinds(_games(shuffled)))
    # Counted another way.
    row = found.row(0, named=True)
    assert row["event_games"] == len(pairings)
    assert row["event_players"] == len({name for pair in pairings for name in pair[:2]})
    rounds = {pair[2].split(".")[0] for pair in pairings if pair[2]}
    if rounds:
        assert row["event_rounds"] == len(rounds)
