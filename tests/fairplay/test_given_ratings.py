"""One rating for a player and event: the first in the games, or what somebody gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from milepost.errors import InputError, TableError
from milepost.fairplay.given_ratings import (
    GIVEN,
    IN_THE_GAME,
    TABLE,
    RatingNote,
    parse_elos,
    with_given_ratings,
)

TYPES = {
    "game_id": pl.String, "mover": pl.String, "opponent": pl.String, "mover_elo": pl.Int32,
    "opponent_elo": pl.Int32, "round": pl.String, "year": pl.Int32, "event": pl.String,
}  # fmt: skip
NAMES = {"ada": "Quillfeather, Ada", "bo": "Rømer, Bo", "cy": "Rømer, Cy"}

Game = tuple[str, str, int | None, int | None, str | None]


def decisions(*games: Game, event: str | None = "Open", year: int | None = 2019) -> pl.DataFrame:
    """A turn of each side of each game: white, black, their Elos, the round."""
    rows = []
    for number, (white, black, white_elo, black_elo, named) in enumerate(games):
        game = f"{event} {year} {number}"
        rows.append((game, white, black, white_elo, black_elo, named, year, event))
        rows.append((game, black, white, black_elo, white_elo, named, year, event))
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    return frame.with_columns(
        pl.col("mover").replace(NAMES).alias("mover_name"),
        pl.col("opponent").replace(NAMES).alias("opponent_name"),
    )


PLAIN = decisions(("ada", "bo", 2100, None, "1"), ("cy", "ada", 1900, 2100, "2"))


def elos(table: pl.DataFrame) -> dict[str, set[int | None]]:
    """The Elos of each player, as mover and as opponent."""
    sides = [
        table.select(pl.col(side).alias("player"), pl.col(f"{side}_elo").alias("elo"))
        for side in ("mover", "opponent")
    ]
    found: dict[str, set[int | None]] = {}
    for player, elo in pl.concat(sides).iter_rows():
        found.setdefault(player, set()).add(elo)
    return found


def test_without_anything_given_the_games_stand() -> None:
    rated = with_given_ratings(PLAIN)
    assert_frame_equal(rated.table, PLAIN)
    assert rated.sources == {"ada": IN_THE_GAME, "cy": IN_THE_GAME}
    assert rated.unrated == ["bo"]
    assert rated.notes == ()


def test_given_ratings_stand_on_both_sides() -> None:
    rated = with_given_ratings(PLAIN, elos=parse_elos(["Bo=1850", "quillfeather = 2000"]))
    assert elos(rated.table) == {"ada": {2000}, "bo": {1850}, "cy": {1900}}
    assert rated.sources == {"ada": GIVEN, "bo": GIVEN, "cy": IN_THE_GAME}
    assert rated.notes == (
        RatingNote("ada", "2000 given by hand is used instead of 2100 in the games"),
    )
    assert rated.unrated == []
    others = [name for name in PLAIN.columns if not name.endswith("_elo")]
    assert_frame_equal(rated.table.select(others), PLAIN.select(others))
    assert rated.table.schema == PLAIN.schema


@pytest.mark.parametrize("column", ["player", "name", "Player"])
def test_a_table_of_ratings(tmp_path: Path, column: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(
        f'{column},elo,rating_sd,club\n"Rømer, Bo",1850,80,X\n"ROMER, CY",1910.0,,Y\n',
        encoding="utf-8",
    )
    rated = with_given_ratings(PLAIN, table=path)
    assert elos(rated.table) == {"ada": {2100}, "bo": {1850}, "cy": {1910}}
    assert rated.sources == {"ada": IN_THE_GAME, "bo": TABLE, "cy": TABLE}
    assert rated.rating_sds == {"bo": 80.0}
    assert_frame_equal(with_given_ratings(PLAIN, table=pl.read_csv(path)).table, rated.table)


def test_parquet_too(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"player": ["bo"], "elo": [1850], "rating_sd": [60.5]}).write_parquet(path)
    rated = with_given_ratings(PLAIN, table=path)
    assert elos(rated.table)["bo"] == {1850}
    assert rated.rating_sds == {"bo": 60.5}


def test_what_is_given_by_hand_wins_over_the_table() -> None:
    table = pl.DataFrame({"player": ["bo"], "elo": [1800], "rating_sd": [60]})
    rated = with_given_ratings(PLAIN, elos=[("bo", 1850)], table=table)
    assert elos(rated.table)["bo"] == {1850}
    assert rated.sources["bo"] == GIVEN
    assert rated.rating_sds == {}


def test_a_row_without_a_rating_gives_nothing() -> None:
    table = pl.DataFrame({"player": ["bo", "ada", "cy", None], "elo": ["", "0", None, "1500"]})
    assert_frame_equal(with_given_ratings(PLAIN, table=table).table, PLAIN)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Nobody", "no player is called 'Nobody'"),
        ("Quilfether, Ada", "did you mean Quillfeather, Ada"),
        ("rømer", "'rømer' may be 2 players: Rømer, "),
    ],
)
def test_a_name_that_means_nobody_or_several_is_refused(name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        with_given_ratings(PLAIN, elos=[(name, 1850)])
    with pytest.raises(InputError, match=f"the table of ratings: .*{told}"):
        with_given_ratings(PLAIN, table=pl.DataFrame({"player": [name], "elo": [1850]}))


def test_all_problems_of_a_table_are_told_at_once() -> None:
    table = pl.DataFrame({"player": [f"no{n}" for n in range(7)], "elo": [1500] * 7})
    with pytest.raises(InputError, match=r"'no0'.*'no4'.*; and 2 more"):
        with_given_ratings(PLAIN, table=table)


def test_a_whole_list_may_hold_others_and_counts_whole_names_only() -> None:
    table = pl.DataFrame({"name": ["Rømer, B", "Else", "romer, CY"], "elo": [1500, 1600, 1920]})
    rated = with_given_ratings(PLAIN, table=table)
    assert rated.sources == {"ada": IN_THE_GAME, "cy": TABLE}
    assert elos(rated.table)["cy"] == {1920}
    (note,) = [note for note in rated.notes if not note.player]
    assert note.text.startswith("2 rows of the table of ratings passed over")


@pytest.mark.parametrize("item", ["Bo", "=1850", "Bo=", "", "Bo 1850"])
def test_an_item_that_is_no_rating_of_a_name_is_refused(item: str) -> None:
    with pytest.raises(InputError, match=r"expected NAME=ELO.*got"):
        parse_elos([item])


@pytest.mark.parametrize("number", ["x", "0", "-5", "4000", "nan", "inf", "1e400"])
def test_a_number_that_is_no_rating_is_refused(number: str) -> None:
    with pytest.raises(InputError, match="the Elo of 'Bo' must be a number"):
        parse_elos([f"Bo={number}"])


def test_a_name_may_hold_an_equals_sign() -> None:
    assert parse_elos(["a=b=1850", " Smith, J = 1700 "]) == [("a=b", 1850), ("Smith, J", 1700)]


@pytest.mark.parametrize("sd", ["-3", "0", "wide"])
def test_a_wrong_standard_deviation_is_refused(sd: str) -> None:
    table = pl.DataFrame({"player": ["bo"], "elo": [1800], "rating_sd": [sd]})
    with pytest.raises(InputError, match="rating_sd of 'bo'"):
        with_given_ratings(PLAIN, table=table)


def test_two_ratings_for_one_player_are_refused() -> None:
    with pytest.raises(InputError, match="'Rømer, Bo' is given two ratings: elo 1850 and 1900"):
        with_given_ratings(PLAIN, elos=[("bo", 1850), ("Rømer, Bo", 1900)])
    assert (
        with_given_ratings(PLAIN, elos=[("bo", 1850), ("Rømer, Bo", 1850)]).sources["bo"] == GIVEN
    )


def test_tables_that_lack_columns_are_refused() -> None:
    with pytest.raises(TableError, match=r"player \(or name\) and elo; found who, elo"):
        with_given_ratings(PLAIN, table=pl.DataFrame({"who": ["bo"], "elo": [1]}))
    with pytest.raises(TableError, match="needs the columns mover"):
        with_given_ratings(PLAIN.drop("mover"))


# Ratings that change during an event


def test_the_rating_of_the_first_round_is_used_for_all_games() -> None:
    table = decisions(
        ("ada", "bo", 2120, 1900, "10.1"),
        ("ada", "cy", 2105, 1900, "2.4"),
        ("cy", "ada", 1900, 2110, "9"),
    )
    rated = with_given_ratings(table)
    assert elos(rated.table)["ada"] == {2105}
    assert [note.player for note in rated.notes] == ["ada"]
    assert "2105 in round 2.4, later 2110, 2120" in rated.notes[0].text
    assert "only a rating from before the event keeps the guarantee" in rated.notes[0].text


def test_the_date_comes_before_the_round_and_the_order_is_the_last_resort() -> None:
    dated = decisions(("ada", "bo", 2120, 1900, "1"), ("ada", "cy", 2105, 1900, "2")).with_columns(
        pl.Series("date", ["2019.05.03"] * 2 + ["2019.05.02"] * 2)
    )
    assert elos(with_given_ratings(dated).table)["ada"] == {2105}
    unknown = dated.with_columns(pl.lit("2019.05.??").alias("date"))
    assert elos(with_given_ratings(unknown).table)["ada"] == {2120}
    bare = decisions(("ada", "bo", 2111, 1900, None), ("ada", "cy", 2105, 1900, "?"))
    for table in (bare, bare.drop("round", "event", "year")):
        rated = with_given_ratings(table)
        assert elos(rated.table)["ada"] == {2111}
        assert "2111 in the first game" in rated.notes[0].text


def test_a_game_without_elo_takes_that_of_the_others() -> None:
    rated = with_given_ratings(
        decisions(("ada", "bo", None, 1900, "1"), ("ada", "cy", 2105, 1900, "2"))
    )
    assert elos(rated.table)["ada"] == {2105}
    assert rated.notes == (
        RatingNote(
            "ada", "the Elo is missing in 1 of 2 games of one event: 2105 of the others is used"
        ),
    )


def test_events_have_ratings_of_their_own() -> None:
    table = pl.concat(
        [
            decisions(("ada", "bo", 2105, 1900, "1")),
            decisions(("ada", "bo", 2140, 1900, "1"), event="Cup"),
            decisions(("ada", "bo", 2150, 1900, "1"), year=2020),
        ]
    )
    rated = with_given_ratings(table)
    assert_frame_equal(rated.table, table)
    assert rated.notes == ()


def test_an_event_over_new_year_is_one_event() -> None:
    table = pl.concat(
        [
            decisions(("ada", "bo", 2140, 1900, "5"), ("ada", "cy", 2140, 1900, "6"), year=2020),
            decisions(("ada", "bo", 2105, 1900, "3"), ("ada", "cy", 2105, 1900, "4"), year=2019),
        ]
    )
    assert elos(with_given_ratings(table).table)["ada"] == {2105}


def test_notes_name_nobody() -> None:
    table = decisions(("ada", "bo", 2120, None, "1"), ("ada", "bo", 2105, 1900, "2"))
    for note in with_given_ratings(table, elos=[("bo", 2000)]).notes:
        assert not any(name in note.text for name in [*NAMES, *NAMES.values()])


@pytest.mark.parametrize("dropped", [["opponent", "opponent_elo", "opponent_name"], ["mover_elo"]])
def test_tables_with_few_columns_will_do(dropped: list[str]) -> None:
    table = PLAIN.drop(dropped)
    rated = with_given_ratings(table, elos=[("bo", 1850)])
    of_bo: dict[str, Any] = rated.table.filter(mover="bo").row(0, named=True)
    assert of_bo["mover_elo"] == 1850
    assert ("opponent_elo" in rated.table.columns) == ("opponent" in table.columns)


def test_no_decisions_are_no_ratings() -> None:
    rated = with_given_ratings(PLAIN.clear())
    assert_frame_equal(rated.table, PLAIN.clear())
    assert (rated.sources, rated.unrated, rated.notes) == ({}, [], ())
