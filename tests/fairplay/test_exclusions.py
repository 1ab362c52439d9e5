"""The variants of the sensitivity table, each on turns made by hand."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from milepost.errors import InputError, TableError
from milepost.fairplay.exclusions import (
    EXCLUSIONS,
    Variant,
    known_positions,
    novelties,
    position_key,
    sensitivity_variants,
)

TYPES: dict[str, Any] = {
    "game_id": pl.String, "ply": pl.Int32, "move_number": pl.Int32, "mover": pl.String,
    "values": pl.List(pl.Float64), "position": pl.String, "clock_before": pl.Float64,
    "seconds": pl.Float64,
}  # fmt: skip
FULL_BOARD = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def decisions(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = {"game_id": "g", "ply": 40, "move_number": 21, "mover": "ada", "values": [0.2, 0.0],
             "position": FULL_BOARD, "clock_before": 1000.0, "seconds": 60.0}  # fmt: skip
    return pl.DataFrame([usual | row for row in rows], schema=TYPES)


def variant(name: str, frame: pl.DataFrame, **more: Any) -> Variant:
    (found,) = [one for one in sensitivity_variants(frame, **more) if one.name == name]
    return found


def kept(name: str, frame: pl.DataFrame, **more: Any) -> list[bool]:
    mask = variant(name, frame, **more).mask
    assert mask is not None
    assert mask.null_count() == 0
    return mask.to_list()


def test_the_list_is_fixed() -> None:
    """A change of this list is a change of what past reports mean: say so in the changelog."""
    assert [exclusion.name for exclusion in EXCLUSIONS] == [
        "as analysed",
        "from move 12",
        "from move 16",
        "from the novelty",
        "from 3 moves after the novelty",
        "from 6 moves after the novelty",
        "without won or lost positions",
        "without low clocks",
        "without fast early moves",
        "without tablebase endings",
    ]
    assert all(exclusion.meaning for exclusion in EXCLUSIONS)


def test_as_analysed_keeps_everything() -> None:
    frame = decisions({}, {"values": None}, {"clock_before": None})
    assert kept("as analysed", frame) == [True] * 3
    assert_frame_equal(variant("as analysed", frame).apply(frame), frame)


def test_from_a_move() -> None:
    frame = decisions(*({"move_number": number} for number in (9, 11, 12, 15, 16, None)))
    assert kept("from move 12", frame) == [False, False, True, True, True, True]
    assert kept("from move 16", frame) == [False, False, False, False, True, True]
    late = variant("from move 16", frame)
    assert (late.turns, late.undecided, late.reason) == (2, 1, "")
    assert late.apply(frame)["move_number"].to_list() == [16, None]


def test_without_won_or_lost_positions() -> None:
    values = [[0.0], [1.5, 0.2], [1.51, 1.0], [-1.5], [-1.6, -3.0], [], None]
    frame = decisions(*({"values": each} for each in values))
    assert kept("without won or lost positions", frame) == [
        True, True, False, True, False, True, True,
    ]  # fmt: skip


def test_without_low_clocks() -> None:
    frame = decisions(*({"clock_before": clock} for clock in (29.9, 30.0, 900.0, None)))
    assert kept("without low clocks", frame) == [False, True, True, True]
    assert variant("without low clocks", frame).undecided == 1


def test_without_fast_early_moves() -> None:
    frame = decisions(
        {"clock_before": 5400.0, "seconds": 5.0},
        {"clock_before": 5400.0, "seconds": 10.0},
        {"clock_before": 4321.0, "seconds": 9.9},
        {"clock_before": 4320.0, "seconds": 9.9},
        {"clock_before": 1000.0, "seconds": 1.0},
        {"clock_before": 4500.0, "seconds": None},
        # Another player, and another game: each has a clock of their own.
        {"clock_before": 300.0, "seconds": 2.0, "mover": "bo"},
        {"clock_before": 600.0, "seconds": 2.0, "game_id": "h"},
    )
    expected = [False, True, False, True, True, True, False, False]
    assert kept("without fast early moves", frame) == expected
    assert variant("without fast early moves", frame).undecided == 1


def test_the_time_at_the_beginning_is_that_of_all_turns() -> None:
    frame = decisions({"clock_before": 1000.0, "seconds": 5.0})
    assert kept("without fast early moves", frame) == [False]
    turns = pl.concat([decisions({"clock_before": 5400.0, "ply": 2}), frame]).drop("values")
    assert kept("without fast early moves", frame, turns=turns) == [True]


@pytest.mark.parametrize(
    ("position", "stays"),
    [
        (FULL_BOARD, True),
        ("8/5k2/8/3p4/8/2K5/1PR5/5r2 w - - 12 70", False),  # six men
        ("8/5k2/8/3p4/3P4/2K5/1PR5/5r2 b - - 0 70", True),  # seven
        ("8/8/8/4k3/8/2K5/8/8 b - - 0 1", False),
        ("no position", True),
        (None, True),
    ],
)
def test_without_tablebase_endings(position: str | None, stays: bool) -> None:
    assert kept("without tablebase endings", decisions({"position": position})) == [stays]


# Novelties


def fen(number: int, clock: int = 0, move: int = 1) -> str:
    """A position like no other."""
    return f"4k3/8/8/8/8/8/8/{number % 8}K{7 - number % 8} w - a{number} {clock} {move}"


def game(game_id: str, positions: list[int], **more: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "game_id": [game_id] * len(positions),
            "ply": pl.Series(range(len(positions)), dtype=pl.Int32),
            "position": [fen(number, clock=3, move=9) for number in positions],
            **{name: [value] * len(positions) for name, value in more.items()},
        }
    )


def test_the_key_has_no_counters() -> None:
    frame = pl.DataFrame({"position": [fen(1, 0, 1), fen(1, 7, 30), fen(2), "x", None]})
    keys = frame.select(position_key(pl.col("position")))["position"].to_list()
    assert keys[0] == keys[1] != keys[2]
    assert keys[3:] == [None, None]


def test_known_positions_are_counted_by_games() -> None:
    turns = pl.concat(
        [
            game("a", [1, 2, 1, 3], year=2017),
            game("b", [1, 2, 4], year=2018),
            game("c", [1, 2, 3], year=2019),
            game("d", [1, 2, 3], year=None).cast({"year": pl.Int64}),
        ]
    )
    known = known_positions(turns, "2019.07.04")
    by_key = dict(known.iter_rows())
    first_fields = {number: fen(number).rsplit(" ", 2)[0] for number in range(5)}
    assert by_key == {
        first_fields[1]: 2, first_fields[2]: 2, first_fields[3]: 1, first_fields[4]: 1,
    }  # fmt: skip
    assert_frame_equal(known_positions(turns, date(2019, 1, 1)), known)
    assert len(known_positions(turns, "2017.12.31")) == 0


@pytest.mark.parametrize(
    ("day", "counts"),
    [
        ("2019.07.03", True),
        ("2019.07.04", False),
        ("2019.06.??", True),
        ("2019.07.??", False),
        ("2019.??.??", False),
        ("2018.??.??", True),
        ("????.??.??", False),
        (None, False),
    ],
)
def test_only_games_that_are_surely_earlier_count(day: str | None, counts: bool) -> None:
    turns = game("a", [1]).with_columns(pl.lit(day, dtype=pl.String).alias("date"))
    assert len(known_positions(turns, "2019.07.04")) == counts
    if day is None:
        assert len(known_positions(turns.with_columns(year=2018), "2019.07.04")) == 1


def test_what_is_no_day_or_no_table_is_refused() -> None:
    for day in ("2019.??.??", "July", "2019.13.01"):
        with pytest.raises(InputError, match=r"expected a day such as 2019\.07\.04, got"):
            known_positions(game("a", [1], year=2018), day)
    with pytest.raises(TableError, match="position, date or year"):
        known_positions(pl.DataFrame({"game_id": ["a"]}), "2019.07.04")


KNOWN = known_positions(
    pl.concat(
        [game("a", [1, 2, 3, 4, 5], year=2018), game("b", [1, 2, 3, 4], year=2018)]
    ),
    "2019.07.04",
)  # fmt: skip


def test_a_novelty_is_the_first_position_that_is_not_known_twice() -> None:
    turns = pl.concat(
        [
            game("leaves", [1, 2, 9, 3]),  # back into known positions at the end
            game("once", [1, 2, 3, 4, 5, 6]),
            game("new", [7, 8]),
            game("known", [1, 2]),
        ]
    )
    assert novelties(turns, KNOWN).rows() == [("leaves", 2), ("new", 0), ("once", 4)]
    assert dict(novelties(turns, KNOWN, times=1).iter_rows())["once"] == 5


def test_from_the_novelty_and_some_moves_later() -> None:
    turns = pl.concat([game("g", [1, 2, *range(20, 40)]), game("known", [1, 2])])
    frame = turns.filter(pl.col("ply") > 0)
    for name, first in (
        ("from the novelty", 2),
        ("from 3 moves after the novelty", 8),
        ("from 6 moves after the novelty", 14),
    ):
        stays = variant(name, frame, known=KNOWN).apply(frame)
        assert stays["game_id"].unique().to_list() == ["g"]
        assert stays["ply"].to_list() == list(range(first, 22))


def test_with_all_turns_a_novelty_in_the_book_is_seen() -> None:
    turns = game("g", [1, 20, 21, 22, 23, 24, 25, 26, 27, 28])
    frame = turns.filter(pl.col("ply") >= 5)
    assert variant("from 3 moves after the novelty", frame, known=KNOWN).turns == 0
    assert variant("from 3 moves after the novelty", frame, known=KNOWN, turns=turns).turns == 3


# What cannot be made


def reasons(frame: pl.DataFrame, **more: Any) -> dict[str, str]:
    return {each.name: each.reason for each in sensitivity_variants(frame, **more) if each.reason}


def test_a_variant_that_cannot_be_made_says_why() -> None:
    no_clocks = decisions({"clock_before": None, "seconds": None})
    for frame in (no_clocks, no_clocks.drop("clock_before", "seconds")):
        found = reasons(frame)
        assert list(found) == [
            "from the novelty",
            "from 3 moves after the novelty",
            "from 6 moves after the novelty",
            "without low clocks",
            "without fast early moves",
        ]
        assert found["from the novelty"] == "there is no table of known games"
        assert found["without low clocks"] == "the games have no clocks"
    assert "without fast early moves" in reasons(decisions({"seconds": None}))
    bare = decisions({}).select("game_id", "values")
    assert reasons(bare)["from move 12"] == "the decisions have no column move_number"
    assert set(reasons(bare)) == {
        exclusion.name
        for exclusion in EXCLUSIONS
        if exclusion.name not in ("as analysed", "without won or lost positions")
    }


def test_known_games_that_know_nothing_are_no_known_games() -> None:
    known = known_positions(game("a", [1], year=2018), "2019.07.04")
    told = "no position stood in 2 known games before the event"
    assert reasons(decisions({}), known=known)["from the novelty"] == told


def test_old_decisions_without_positions_say_so() -> None:
    frame = decisions({}).drop("position")
    assert reasons(frame, known=KNOWN)["from the novelty"] == "the turns have no column position"


def test_a_variant_that_cannot_be_made_is_not_applied() -> None:
    frame = decisions({})
    with pytest.raises(InputError, match="'from the novelty' cannot be made: there is no table"):
        variant("from the novelty", frame).apply(frame)
    assert variant("from the novelty", frame).turns is None


def test_no_decisions_are_no_error() -> None:
    made = sensitivity_variants(decisions({}).clear(), known=KNOWN)
    assert len(made) == len(EXCLUSIONS)
    assert {one.turns for one in made} <= {0, None}
