"""Games tables read back: players and duplicates settled over all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from milepost.errors import InputError, TableError
from milepost.games.load import read_tables, settle_games
from milepost.games.stream import Summary
from milepost.io.files import write_table
from milepost.io.sources import find_sources
from milepost.tables import ERRORS, GAMES


def settled(paths: list[Path], **options: Any) -> tuple[pl.DataFrame, Summary, pl.DataFrame]:
    """Games tables with who is who settled over all of them."""
    return settle_games(read_tables(find_sources(paths)), **options)


def _games(*ids: str, source: str = "x.pgn", **more: Any) -> pl.DataFrame:
    """Games that differ in everything unless their ids are the same."""
    frame = pl.DataFrame(
        {
            "game_id": list(ids),
            "white": [f"White, {name}" for name in ids],
            "black": [f"Black, {name}" for name in ids],
            "moves": [f"e2e4 {name}" for name in ids],
            "plies": [2] * len(ids),
            "event": "Open",
            "date": "2011.05.03",
            "source": source,
            "line": [10 * (row + 1) for row in range(len(ids))],
        }
    ).with_columns(**{name: pl.lit(value) for name, value in more.items()})
    return GAMES.conform(frame)


@pytest.fixture
def two_tables(tmp_path: Path) -> list[Path]:
    """Two tables with the game b in both."""
    paths = [tmp_path / "one.parquet", tmp_path / "two.csv"]
    write_table(_games("a", "b", source="one.pgn"), paths[0])
    write_table(_games("b", "c", source="two.pgn"), paths[1])
    return paths


def test_one_table_comes_as_it_is_with_keys(tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    games = _games("a", "b")
    write_table(games, path)
    loaded, summary, errors = settled([path])
    keys = ["white_key", "black_key"]
    names = ["white_name", "black_name"]
    assert_frame_equal(loaded.drop(*keys, *names), games.drop(keys))
    assert loaded["white_key"].to_list() == ["white, a", "white, b"]
    assert (summary.files, summary.games, summary.kept, summary.players) == (1, 2, 2, 4)
    assert len(errors) == 0


def test_game_in_two_tables_is_left_out_and_reported(two_tables: list[Path]) -> None:
    loaded, summary, errors = settled(two_tables)
    assert loaded["game_id"].to_list() == ["a", "b", "c"]
    assert loaded["source"].to_list() == ["one.pgn", "one.pgn", "two.pgn"]
    assert (summary.games, summary.kept, summary.findings["duplicate"]) == (4, 3, 1)
    assert errors.columns == ERRORS.names
    row = errors.row(0, named=True)
    assert (row["kind"], row["source"], row["line"]) == ("duplicate", "two.pgn", 10)
    assert (row["white"], row["event"], row["plies_kept"]) == ("White, b", "Open", 2)
    assert row["reason"] == "left out: same game (identical) as one.pgn line 20"


def test_duplicates_are_kept_on_demand_but_reported(two_tables: list[Path]) -> None:
    loaded, summary, errors = settled(two_tables, keep_duplicates=True)
    assert loaded["game_id"].to_list() == ["a", "b", "b", "c"]
    assert (summary.kept, summary.findings["duplicate"]) == (4, 1)
    assert errors["reason"].to_list() == ["kept: same game (identical) as one.pgn line 20"]


def test_groups_of_a_selection_are_no_duplicates_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    sets = pl.concat([_games("a", group="2000"), _games("a", group="2100")])
    write_table(sets, path)
    loaded, summary, errors = settled([path])
    assert loaded["group"].to_list() == ["2000", "2100"]
    assert (summary.findings["duplicate"], len(errors)) == (0, 0)


def test_game_twice_in_one_group_is_a_duplicate_though_another_group_has_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sets.parquet"
    groups = ["2000", "2100", "2100", "2000"]
    write_table(pl.concat([_games("a", group=group) for group in groups]), path)
    loaded, summary, _ = settled([path])
    assert loaded["group"].to_list() == ["2000", "2100"]
    assert summary.findings["duplicate"] == 2


def test_games_without_a_group_are_compared_with_each_other(tmp_path: Path) -> None:
    plain, grouped = tmp_path / "plain.parquet", tmp_path / "sets.parquet"
    write_table(_games("a", "a"), plain)
    write_table(_games("a", group="2000"), grouped)
    loaded, _, _ = settled([plain, grouped])
    assert loaded["group"].to_list() == [None, "2000"]


def test_empty_selection_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    write_table(_games("a", group="2000").clear(), path)
    loaded, summary, errors = settled([path])
    assert loaded.columns == [*GAMES.names, "group", "white_name", "black_name"]
    assert (summary.kept, len(errors)) == (0, 0)


def test_keys_are_settled_over_all_tables(tmp_path: Path) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    write_table(_games("a", white="Carlsen, M", white_fide_id=7, white_key="stale"), one)
    write_table(_games("b", white="Carlsen, Magnus", white_fide_id=7, white_key="old"), two)
    loaded, _, _ = settled([one, two])
    assert loaded["white_key"].to_list() == ["carlsen, magnus"] * 2


def test_aliases_count(tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    write_table(_games("a"), path)
    aliases = pl.DataFrame({"spelling": ["White, a"], "name": ["Nobody, Special"]})
    loaded, _, _ = settled([path], aliases=aliases)
    assert loaded["white_key"].to_list() == ["nobody, special"]


def test_columns_that_only_one_table_has_are_kept(tmp_path: Path) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    write_table(_games("a").with_columns(note=pl.lit("x")), one)
    write_table(_games("b"), two)
    loaded, _, _ = settled([one, two])
    assert loaded.columns == [*GAMES.names, "note", "white_name", "black_name"]
    assert loaded["note"].to_list() == ["x", None]


def test_table_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"other\.csv: the games table needs"):
        settled([path])


def test_pgn_and_tables_do_not_mix(tmp_path: Path) -> None:
    pgn, table = tmp_path / "a.pgn", tmp_path / "b.csv"
    for path in (pgn, table):
        path.write_text("", encoding="utf-8")
    assert find_sources([table]).are_tables
    assert not find_sources([pgn]).are_tables
    with pytest.raises(InputError, match="not both at once"):
        _ = find_sources([pgn, table]).are_tables


def test_inputs_are_named_with_size_and_digest(two_tables: list[Path]) -> None:
    assert find_sources(two_tables).about() == [
        {
            "name": str(path),
            "bytes": len(path.read_bytes()),
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in two_tables
    ]
