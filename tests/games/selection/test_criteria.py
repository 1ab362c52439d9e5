"""Sets of games: by band, period, condition, kind and length, the same whatever the order."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import chess.pgn
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.errors import InputError
from milepost.games.load import read_games
from milepost.games.selection.criteria import (
    Criteria,
    count_turns,
    milepost_grid,
    parse_years,
    prefilter,
    select_games,
)
from milepost.games.selection.events import event_kinds
from milepost.tables import GAMES


def _game(number: int, **changes: Any) -> dict[str, Any]:
    game = {
        "game_id": f"g{number:03d}",
        "white": f"W{number}",
        "black": f"B{number}",
        "white_elo": 2000,
        "black_elo": 2000,
        "year": 2012,
        "event": "Open",
        "site": "Town",
        "round": "1",
        "result": "1-0",
        "variant": "standard",
        "plies": 60,
        "full_moves": 30,
        "moves": f"moves of {number}",
        "speed": None,
        "fen": None,
    }
    return game | changes


def _frame(*games: dict[str, Any]) -> pl.DataFrame:
    return GAMES.conform(
        pl.DataFrame(list(games), schema={name: GAMES.dtypes[name] for name in _game(0)})
    )


def _ids(games: pl.DataFrame, **criteria: Any) -> list[str]:
    chosen: list[str] = select_games(games, Criteria(**criteria)).games["game_id"].to_list()
    return chosen


def test_no_criterion_keeps_all_in_order() -> None:
    frame = _frame(_game(3), _game(1), _game(2))
    assert _ids(frame) == ["g003", "g001", "g002"]


def test_no_games_give_none() -> None:
    selection = select_games(GAMES.empty(), Criteria(elo=2000))
    assert (len(selection.games), selection.available, selection.turns) == (0, 0, 0)


def test_band_takes_its_bounds_and_needs_both_players() -> None:
    frame = _frame(
        _game(0, white_elo=1990, black_elo=2010),
        _game(1, white_elo=1989, black_elo=2000),
        _game(2, white_elo=2000, black_elo=2011),
        _game(3, white_elo=2000, black_elo=None),
    )
    assert _ids(frame, elo=2000) == ["g000"]
    assert _ids(frame, elo=2000, within=11) == ["g000", "g001", "g002"]


def test_what_each_criterion_left_out_is_counted_in_order() -> None:
    frame = _frame(
        _game(0),
        _game(1, variant="chess960", white_elo=1000),
        _game(2, white_elo=1000, year=1900),
        _game(3, black_elo=1000),
        _game(4, year=1900),
        _game(5, plies=3),
    )
    criteria = Criteria(elo=2000, years=(2011, 2014), minimum_plies=40)
    assert select_games(frame, criteria).left_out == {
        "Chess960": 1,
        "Elo of white": 1,
        "Elo of black": 1,
        "year": 1,
        "too short": 1,
    }


def test_years_take_their_bounds() -> None:
    games = [_game(year - 2000, year=year) for year in (2010, 2011, 2014, 2015)]
    frame = _frame(*games, _game(99, year=None))
    assert _ids(frame, years=(2011, 2014)) == ["g011", "g014"]


def test_excluded_conditions_are_out() -> None:
    frame = _frame(
        _game(0),
        _game(1, speed="blitz"),
        _game(2, event="Rapid Open"),
        _game(3, event="Simul"),
        _game(4, site="https://lichess.org/x"),
    )
    assert _ids(frame, exclude=frozenset({"blitz", "rapid", "simul", "online"})) == ["g000"]


def test_only_one_of_the_conditions_is_needed() -> None:
    frame = _frame(_game(0), _game(1, speed="blitz"), _game(2, event="Simul"))
    assert _ids(frame, only=frozenset({"blitz", "simul"})) == ["g001", "g002"]


def test_minimum_of_half_moves() -> None:
    frame = _frame(_game(0, plies=39), _game(1, plies=40))
    assert _ids(frame, minimum_plies=40) == ["g001"]


def test_event_kinds_are_of_the_whole_input() -> None:
    whole = _frame(
        *(
            _game(
                10 * one + two,
                white=f"p{one}",
                black=f"p{two}",
                white_elo=2000 + 50 * one,
                black_elo=2000 + 50 * one,
            )
            for one in range(4)
            for two in range(one + 1, 4)
        )
    )
    # By itself the one game in the band would be a match.
    assert _ids(whole, elo=2100, event_kinds=frozenset({"round-robin"})) == ["g023"]
    assert _ids(whole, elo=2100, event_kinds=frozenset({"match"})) == []
    part = whole.filter(pl.col("game_id") == "g023")
    given_kinds = select_games(part, Criteria(elo=2100), events=event_kinds(whole))
    assert given_kinds.games["event_kind"].to_list() == ["round-robin"]


def test_widening_stops_when_there_are_enough_turns() -> None:
    # Each game has 60 half-moves, 16 of them in the book: 44 turns.
    frame = _frame(*(_game(10 * step, white_elo=2000 + 10 * step) for step in range(5)))
    narrow = Criteria(elo=2000, widen=(20, 30, 40), until_turns=0)
    enough = Criteria(elo=2000, widen=(20, 30, 40), until_turns=3 * 44)
    never = Criteria(elo=2000, widen=(20, 30), until_turns=1000)
    found = [select_games(frame, each) for each in (narrow, enough, never)]
    assert [(each.within, len(each.games), each.turns) for each in found] == [
        (10, 2, 88),
        (20, 3, 132),
        (30, 4, 176),
    ]


def test_turns_behind_the_book_by_hand() -> None:
    frame = _frame(
        _game(0, plies=60),  # 60 - 16
        _game(1, plies=10),  # all in the book
        _game(2, plies=10, fen="4k3/8/8/8/8/8/8/4K1N1 w - - 0 1"),  # no book
    )
    assert count_turns(frame) == 44 + 0 + 10
    assert count_turns(frame, 12) == 36 + 0 + 10
    assert count_turns(frame, 0) == 80
    assert count_turns(frame.clear()) == 0


def test_cap_takes_the_smallest_digests_of_the_moves() -> None:
    games = [_game(number) for number in range(20)]
    smallest = sorted(games, key=lambda game: hashlib.sha256(game["moves"].encode()).hexdigest())
    expected = sorted(game["game_id"] for game in smallest[:7])
    selection = select_games(_frame(*games), Criteria(cap=7))
    assert selection.games["game_id"].to_list() == expected
    assert selection.available == 20


@pytest.mark.parametrize(("cap", "count"), [(0, 0), (1, 1), (5, 5), (6, 5)])
def test_cap_of_five_games(cap: int, count: int) -> None:
    assert len(_ids(_frame(*(_game(number) for number in range(5))), cap=cap)) == count


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=12),
    st.integers(0, 12),
    st.randoms(use_true_random=False),
)
def test_cap_does_not_depend_on_the_order(
    moves: list[str], cap: int, chance: random.Random
) -> None:
    # Several games have the same moves.
    games = [_game(number, moves=text) for number, text in enumerate(moves)]
    shuffled = list(games)
    chance.shuffle(shuffled)
    assert sorted(_ids(_frame(*games), cap=cap)) == sorted(_ids(_frame(*shuffled), cap=cap))


def test_table_that_lacks_variant_and_plies_is_standard_chess() -> None:
    frame = pd.DataFrame(
        {
            "game_id": ["x", "y"],
            "white": ["A", "A"],
            "black": ["B", "B"],
            "moves": ["e2e4 e7e5 g1f3", "e2e4"],
        }
    )
    assert _ids(frame, minimum_plies=2) == ["x"]
    assert select_games(frame, Criteria(book_moves=1)).turns == 1


@pytest.mark.parametrize(
    ("criteria", "name"),
    [
        ({}, None),
        ({"elo": 2000}, "2000"),
        ({"elo": 2000, "years": (2011, 2014)}, "2000 2011-2014"),
        ({"elo": 2000, "years": (2011, 2014), "group": "mine"}, "mine"),
        ({"years": (2011, 2014)}, None),
        ({"group": "all"}, "all"),
    ],
)
def test_name_of_the_composite_player(criteria: dict[str, Any], name: str | None) -> None:
    made = Criteria(**criteria)
    assert made.name == name
    games = select_games(_frame(_game(0)), made).games
    assert games["group"].to_list() == [name]
    assert games["milepost"].to_list() == [made.elo]
    period = "2011-2014" if made.years else None
    assert games["period"].to_list() == [period]


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({"exclude": frozenset({"slow"})}, "unknown: slow; known are classical"),
        ({"only": frozenset({"slow"})}, "unknown: slow"),
        ({"event_kinds": frozenset({"party"})}, "unknown: party; known are match"),
        ({"elo": 2000, "widen": (20,)}, "needs until_turns"),
        ({"until_turns": 10}, "needs a rating band"),
        ({"elo": 2000, "widen": (10,), "until_turns": 1}, "more than 10"),
        ({"years": (2014, 2011)}, "run backwards"),
        ({"elo": 2000, "within": -1}, "within cannot be -1"),
        ({"cap": -1}, "cap cannot be -1"),
        ({"minimum_plies": -2}, "minimum plies cannot be -2"),
        ({"book_moves": -2}, "book moves cannot be -2"),
    ],
)
def test_bad_criteria_are_refused(criteria: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Criteria(**criteria)


@pytest.mark.parametrize(
    ("text", "years"),
    [("1991-1994", (1991, 1994)), ("1994", (1994, 1994)), (" 1991 - 1994 ", (1991, 1994))],
)
def test_years_are_read(text: str, years: tuple[int, int]) -> None:
    assert parse_years(text) == years


@pytest.mark.parametrize("text", ["", "x", "1991-", "-1994", "1991-x", "1991-1992-1993"])
def test_bad_years_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected years such as"):
        parse_years(text)


def test_grid_has_every_milepost_in_every_period() -> None:
    template = Criteria(exclude=frozenset({"blitz"}), cap=7, group="dropped")
    grid = milepost_grid("2600:2700:50", ["1991-1994", "2006"], template)
    assert [each.name for each in grid] == [
        "2600 1991-1994",
        "2650 1991-1994",
        "2700 1991-1994",
        "2600 2006-2006",
        "2650 2006-2006",
        "2700 2006-2006",
    ]
    assert all(each.cap == 7 and each.exclude == {"blitz"} for each in grid)


def test_grid_without_periods_is_of_all_years() -> None:
    assert [each.name for each in milepost_grid("2000:2199:100", [], Criteria())] == [
        "2000",
        "2100",
    ]


@pytest.mark.parametrize("text", ["", "2000", "2000:2100", "a:b:c", "2000:2100:0", "2100:2000:50"])
def test_bad_grids_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="mileposts: "):
        milepost_grid(text, [], Criteria())


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.builds(
            _game,
            st.integers(0, 99),
            white_elo=st.none() | st.integers(1970, 2130),
            black_elo=st.none() | st.integers(1970, 2130),
            year=st.none() | st.integers(2009, 2015),
            variant=st.sampled_from(["standard", "chess960"]),
        ),
        max_size=12,
    )
)
def test_prefilter_keeps_all_that_any_set_wants(games: list[dict[str, Any]]) -> None:
    frame = _frame(*games).with_row_index("row")
    template = Criteria(elo=0, widen=(30,), until_turns=10**6)
    grid = milepost_grid("2000:2100:50", ["2010-2011", "2012-2014"], template)
    kept = set(frame.filter(prefilter(grid))["row"])
    for each in grid:
        assert set(select_games(frame, each).games["row"]) <= kept


# --- real games


@pytest.fixture(scope="module")
def milepost_files(shared_data: Path) -> list[Path]:
    """A few files of real games near their mileposts."""
    files = [shared_data / "mileposts" / "2011-2014" / f"{elo}.pgn" for elo in (1600, 1700, 2000)]
    if not all(file.is_file() for file in files):
        pytest.skip("the real milepost games are not there")
    return files


@pytest.fixture(scope="module")
def real_games(milepost_files: list[Path]) -> pl.DataFrame:
    """Their games table."""
    return read_games(milepost_files)[0]


def _elo(headers: chess.pgn.Headers, side: str) -> int:
    text = headers.get(f"{side}Elo", "")
    return int(text) if text.isdigit() else 0


GRID = ("1600:2000:100", ["2011-2012", "2013-2014"])


def test_grid_counts_equal_counts_of_the_headers(
    milepost_files: list[Path], real_games: pl.DataFrame
) -> None:
    # Independent of our readers: python-chess reads the headers, Python counts.
    found = []
    for path in milepost_files:
        with path.open(encoding="utf-8", errors="replace") as handle:
            while (headers := chess.pgn.read_headers(handle)) is not None:
                found.append(headers)
    assert len(found) == len(real_games)
    counts = [
        len(select_games(real_games, each).games)
        for each in milepost_grid(*GRID, Criteria(within=15))
    ]
    expected = [
        sum(
            first <= int(headers["Date"][:4]) <= last
            and all(abs(_elo(headers, side) - elo) <= 15 for side in ("White", "Black"))
            for headers in found
        )
        for first, last in ((2011, 2012), (2013, 2014))
        for elo in range(1600, 2001, 100)
    ]
    assert counts == expected
    assert sum(counts) > 100


def test_grid_equals_brute_force_over_rows(real_games: pl.DataFrame) -> None:
    rows = real_games.rows(named=True)
    for each in milepost_grid(*GRID, Criteria(minimum_plies=60)):
        assert each.elo is not None
        assert each.years is not None
        expected = [
            row["game_id"]
            for row in rows
            if abs(row["white_elo"] - each.elo) <= 10
            and abs(row["black_elo"] - each.elo) <= 10
            and each.years[0] <= row["year"] <= each.years[1]
            and row["plies"] >= 60
        ]
        selection = select_games(real_games, each)
        assert selection.games["game_id"].to_list() == expected
        plies = [row["plies"] for row in rows if row["game_id"] in set(expected)]
        assert selection.turns == sum(max(0, count - 16) for count in plies)
