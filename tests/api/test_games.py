"""Whole jobs on games: inputs of any kind, tables written, sets whose numbers add up."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import milepost as mp
from milepost.api.games import Target, write_games, write_results, write_selection, write_turns
from milepost.errors import InputError
from milepost.games.load import read_games, read_results, read_turns
from milepost.games.selection.criteria import Criteria, milepost_grid, select_games
from milepost.io import sources
from milepost.io.files import read_table, write_table
from milepost.io.sources import find_sources
from milepost.tables import ERRORS, GAMES, RESULTS

GRID = ("1600:2000:100", ["2011-2012", "2013-2014"])


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


def test_selection_from_pgn_equals_selection_from_its_table(
    milepost_files: list[Path], real_games: pl.DataFrame, tmp_path: Path
) -> None:
    grid = milepost_grid(*GRID, Criteria(exclude=frozenset({"rapid"}), minimum_plies=50, cap=20))
    output = tmp_path / "sets.parquet"
    _, selections = write_selection(milepost_files, Target(str(output)), grid)
    written = read_table(output, GAMES)
    expected = [select_games(real_games, each) for each in grid]
    assert_frame_equal(written, pl.concat([each.games for each in expected]))
    for ours, theirs in zip(selections, expected, strict=True):
        assert (ours.available, ours.turns, ours.within) == (
            theirs.available,
            theirs.turns,
            theirs.within,
        )


def test_selection_from_a_table_equals_selection_from_pgn(
    milepost_files: list[Path], real_games: pl.DataFrame, tmp_path: Path
) -> None:
    write_table(real_games, tmp_path / "games.parquet")
    grid = milepost_grid(*GRID, Criteria(event_kinds=frozenset({"team", "match"})))
    made = []
    for name, inputs in (("a", milepost_files), ("b", [tmp_path / "games.parquet"])):
        target = Target(str(tmp_path / f"{name}.parquet"))
        write_selection(inputs, target, grid)
        made.append(read_table(target.output, GAMES))
    assert_frame_equal(made[0], made[1])
    assert len(made[0]) > 0


# --- small files


def _pgn(games: list[dict[str, str]]) -> str:
    texts = []
    for tags in games:
        head = "\n".join(f'[{name} "{value}"]' for name, value in tags.items())
        texts.append(f"{head}\n\n1. e4 e5 2. Nf3 Nc6 {tags['Result']}\n\n")
    return "".join(texts)


def _round_robin_tags() -> list[dict[str, str]]:
    return [
        {
            "Event": "Club",
            "Site": "Town",
            "Date": f"2012.01.0{one + two}",
            "Round": str(one + two),
            "White": f"P{one}",
            "Black": f"P{two}",
            "Result": "1-0",
            "WhiteElo": str(2000 + 50 * one),
            "BlackElo": str(2000 + 50 * two),
        }
        for one in range(4)
        for two in range(one + 1, 4)
    ]


def test_selection_from_pgn_takes_kinds_from_all_headers(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    target = Target(str(tmp_path / "set.csv"))
    summary, _ = write_selection([path], target, [Criteria(elo=2125, within=25)])
    written = read_table(target.output)
    assert written.select("white", "black", "event_kind").rows() == [("P2", "P3", "round-robin")]
    assert (summary.kept, summary.rows) == (1, 1)


def test_game_in_two_bands_stands_in_both_sets(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    target = Target(str(tmp_path / "set.csv"))
    bands = [Criteria(elo=elo, within=60) for elo in (2000, 2050)]
    write_selection([path], target, bands)
    groups = read_table(target.output)["group"].to_list()
    # 2000 and 2050 are near 2000; those two and 2100 are near 2050.
    assert groups == ["2000", "2050", "2050", "2050"]


def test_nothing_selected_still_gives_a_table(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    target = Target(str(tmp_path / "set.parquet"))
    write_selection([path], target, [Criteria(elo=2800)])
    written = read_table(target.output)
    assert len(written) == 0
    assert written.columns == [*GAMES.names, "event_kind", "group", "milepost", "period"]


def test_selection_says_how_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    target = Target(str(tmp_path / "set.parquet"))
    criteria = Criteria(elo=2000, exclude=frozenset({"rapid", "blitz"}))
    write_selection([path], target, [criteria])
    made = json.loads(pq.read_metadata(target.output).metadata[b"milepost"])
    assert made["command"] == "select"
    assert made["options"]["sets"][0]["exclude"] == ["blitz", "rapid"]
    assert made["inputs"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_standard_input_gives_the_same_bytes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is put into a file on the way, whose name must not show.
    tags = _round_robin_tags()
    text = _pgn([*tags, tags[0]]).encode()
    written = []
    for name in ("a.parquet", "b.parquet"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
        target = Target(str(tmp_path / name), errors=str(tmp_path / f"{name}.errors.csv"))
        write_selection(["-"], target, [Criteria()])
        errors = Path(target.errors or "").read_text(encoding="utf-8")
        written.append((Path(target.output).read_bytes(), errors))
    assert written[0] == written[1]
    games = read_table(tmp_path / "a.parquet", GAMES)
    assert games["source"].unique().to_list() == ["-"]
    assert len(games) == 6
    assert "same game (record) as - line 1" in written[0][1]


@pytest.mark.parametrize(("keep", "count"), [(False, 6), (True, 7)])
def test_duplicates_among_the_headers_are_reported_once(
    tmp_path: Path, keep: bool, count: int
) -> None:
    tags = _round_robin_tags()
    path = tmp_path / "games.pgn"
    path.write_text(_pgn([*tags, tags[0]]), encoding="utf-8")
    target = Target(str(tmp_path / "set.csv"))
    summary, _ = write_selection([path], target, [Criteria()], keep_duplicates=keep)
    errors = read_table(target.errors_path or "", ERRORS)
    assert errors["kind"].to_list() == ["duplicate"]
    assert errors["reason"][0].startswith("kept" if keep else "left out")
    assert (summary.findings["duplicate"], summary.kept) == (1, count)


def test_pgn_and_tables_at_once_are_refused(tmp_path: Path) -> None:
    pgn, table = tmp_path / "games.pgn", tmp_path / "games.csv"
    pgn.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    write_table(GAMES.empty(), table)
    with pytest.raises(InputError, match="either PGN or tables"):
        write_selection([pgn, table], Target(str(tmp_path / "set.csv")), [Criteria()])


# --- every game is counted once


def _speeds() -> list[dict[str, str]]:
    """Six games: one classical by its time control, one blitz, four of which nothing tells."""
    tags = _round_robin_tags()
    tags[0]["TimeControl"] = "5400+30"
    tags[1]["TimeControl"] = "180+2"
    return tags


def test_games_without_a_known_speed_are_counted_as_such(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    tags = _speeds()
    path.write_text(_pgn([*tags, tags[5]]), encoding="utf-8")
    criteria = Criteria(only=frozenset({"classical"}))
    summary, [selection] = write_selection([path], tmp_path / "set.csv", [criteria])
    assert selection.left_out == {"duplicate": 1, "speed not known": 4, "not classical": 1}
    assert (summary.games, summary.kept, selection.read) == (7, 1, 7)
    assert selection.advice == ""


def test_where_one_criterion_leaves_out_nearly_all_it_is_said_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_round_robin_tags()), encoding="utf-8")
    selection = mp.select_games(path, Criteria(only=frozenset({"classical"})))
    assert (selection.read, len(selection.games)) == (6, 0)
    assert selection.advice.startswith("6 of 6 games were left out by one criterion: speed not kno")
    assert "exclude the other speeds (rapid, blitz, bullet, correspondence)" in selection.advice


def test_a_narrow_band_is_no_reason_for_advice_unless_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    tags = [{**tag, "Round": str(n)} for n in range(20) for tag in _round_robin_tags()]
    path.write_text(_pgn(tags), encoding="utf-8")
    band = mp.select_games(path, Criteria(elo=2025, within=25), keep_duplicates=True)
    assert (len(band.games), band.read, band.advice) == (20, 120, "")
    nobody = mp.select_games(path, Criteria(elo=2800))
    assert "do they have Elo tags? A wider band takes in more" in nobody.advice
    slow = Criteria(elo=2025, within=25, only=frozenset({"classical", "online"}))
    assert "20 of 20 games were left out by one criterion: speed not known" in (
        mp.select_games(path, slow, keep_duplicates=True).advice
    )


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(),
        Criteria(elo=2100, within=50, cap=1),
        Criteria(elo=2100, within=10, widen=(50, 100), until_turns=1),
        Criteria(years=(2013, 2014)),
        Criteria(only=frozenset({"classical", "online"})),
        Criteria(exclude=frozenset({"blitz"}), minimum_plies=5),
        Criteria(event_kinds=frozenset({"match"})),
    ],
)
def test_read_is_kept_and_left_out_from_files_tables_and_frames(
    tmp_path: Path, criteria: Criteria
) -> None:
    tags = [*_speeds(), {**_speeds()[0], "Variant": "Atomic"}, _speeds()[2]]
    path, table = tmp_path / "games.pgn", tmp_path / "games.parquet"
    path.write_text(_pgn(tags) + '[White "?"]\n[Black "?"]\n\n*\n', encoding="utf-8")
    mp.write_games(path, table)
    summary, [selection] = write_selection(path, tmp_path / "set.csv", [criteria])
    assert summary.games == 9
    assert sum(selection.left_out.values()) + len(selection.games) == 9
    # The table no longer has what could not be read, what was of another variant, or twice there.
    for data in (table, read_table(table), read_table(table, GAMES).to_pandas()):
        from_table = mp.select_games(data, criteria)
        assert from_table.read == 6
        lost = ("duplicate", "another variant", "unreadable")
        criterion = {name: n for name, n in selection.left_out.items() if name not in lost}
        assert from_table.left_out == criterion
        assert from_table.games["game_id"].equals(selection.games["game_id"])


# --- one name, several, what was found before, frames


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    """A file of six games, one of them blitz."""
    path = tmp_path / "games.pgn"
    path.write_text(_pgn(_speeds()), encoding="utf-8")
    return path


def test_inputs_are_one_name_or_several(pgn: Path) -> None:
    expected, _ = read_games([pgn])
    for inputs in (pgn, str(pgn), [str(pgn)], (pgn,), iter([pgn]), find_sources(pgn)):
        assert read_games(inputs)[0].equals(expected)
    for read in (read_turns, read_results):
        assert read(str(pgn))[0].equals(read([pgn])[0])
        assert read(pgn)[0].equals(read([pgn])[0])
    assert mp.list_players(str(pgn)).equals(mp.list_players([pgn]))


def test_a_name_that_is_no_file_is_named_whole(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file: .*absent\.pgn"):
        read_games(str(tmp_path / "absent.pgn"))


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(InputError, match="expected the names of files, got int"):
        read_games([3])
    with pytest.raises(InputError, match="expected the names of files, got int"):
        read_games(3)


def test_frames_serve_as_files_do(pgn: Path) -> None:
    games, _ = read_games(pgn)
    for frame in (games, games.to_pandas(), games.to_arrow()):
        assert read_games(frame)[0].equals(games)
        assert read_results(frame)[0].equals(read_results(pgn)[0])
    assert read_turns(games)[0].equals(read_turns(pgn)[0])
    turns, _ = read_turns(pgn)
    assert read_turns(turns)[0].equals(turns)
    anything = pd.DataFrame({"time": [1999], "player_1": ["A"], "player_2": ["B"], "score": [0.5]})
    assert read_results(anything)[0]["score"].to_list() == [0.5]


def test_inputs_are_looked_for_and_digested_once(
    pgn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_sources(pgn)
    read_turns(found)
    digest = hashlib.sha256(pgn.read_bytes()).hexdigest()
    size = pgn.stat().st_size

    def refuse(*_: object) -> None:
        raise AssertionError("the files were found and read before")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    monkeypatch.setattr(sources, "input_names", refuse)
    assert found.about() == [{"name": str(pgn), "bytes": size, "sha256": digest}]
    assert find_sources(found) is found
    write_turns(found, tmp_path / "turns.parquet")


def test_a_compressed_file_is_told_by_its_own_bytes(pgn: Path) -> None:
    import gzip

    packed = pgn.with_suffix(".pgn.gz")
    packed.write_bytes(gzip.compress(pgn.read_bytes()))
    found = find_sources(packed)
    read_turns(found)
    assert found.about()[0]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()


# --- who is fast, and what people are called


def test_a_flag_of_fast_games_stays_in_a_results_table(tmp_path: Path) -> None:
    given, results = tmp_path / "given.csv", tmp_path / "results.parquet"
    rows = [("A", "B", "true"), ("B", "C", "False"), ("C", "A", ""), ("A", "C", "1")]
    frame = pl.DataFrame(rows, ["player_1", "player_2", "fast"], orient="row")
    write_table(frame.with_columns(time=pl.lit("1999"), score=pl.lit("1")), given)
    write_results(given, results)
    assert read_table(results, RESULTS)["fast"].to_list() == [True, False, None, True]
    again = tmp_path / "again.csv"
    write_results(results, again)
    assert read_results(again)[0]["fast"].to_list() == [True, False, None, True]


def test_a_speed_says_what_is_fast(pgn: Path) -> None:
    results, _ = read_results(pgn)
    assert results["speed"].to_list()[:3] == ["classical", "blitz", None]
    assert results["fast"].to_list()[:3] == [False, True, None]


def test_names_are_shown_as_most_games_have_them(tmp_path: Path) -> None:
    path, games = tmp_path / "games.pgn", tmp_path / "games.parquet"
    spellings = ["Szélhegyfi, Örs", "Szélhegyfi, Örs", "Szelhegyfi,Ors"]
    tags = [
        {"White": name, "Black": f"Ádám {n}", "Result": "1-0", "Date": f"2012.01.0{n + 1}"}
        for n, name in enumerate(spellings)
    ]
    path.write_text(_pgn(tags), encoding="utf-8")
    write_games(path, games)
    for data in (path, games):
        turns, _ = read_turns(data)
        white = turns.filter(pl.col("colour") == "white")
        assert white["mover"].unique().to_list() == ["szelhegyfi, ors"]
        assert white["mover_name"].unique().to_list() == ["Szélhegyfi, Örs"]
        black = turns.filter(pl.col("colour") == "black")
        assert black["opponent_name"].unique().to_list() == ["Szélhegyfi, Örs"]
        assert black["mover_name"].unique().sort().to_list() == ["Ádám 0", "Ádám 1", "Ádám 2"]
        results, _ = read_results(data)
        assert results["name_1"].unique().to_list() == ["Szélhegyfi, Örs"]
        assert results["player_1"].unique().to_list() == ["szelhegyfi, ors"]


def test_results_that_were_written_keep_the_names(tmp_path: Path) -> None:
    table = pl.DataFrame({"time": [1], "player_1": ["Örs"], "player_2": ["B"], "score": [1.0]})
    write_results_of(table, tmp_path / "results.parquet")
    results, _ = read_results(tmp_path / "results.parquet")
    assert results.select("player_1", "name_1").row(0) == ("ors", "Örs")


def write_results_of(table: pl.DataFrame, path: Path) -> None:
    """Write a table, and the results in it."""
    given = path.with_suffix(".given.csv")
    write_table(table, given)
    write_results(given, path)
