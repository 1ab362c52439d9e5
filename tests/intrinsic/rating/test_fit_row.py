"""Rows of a results file: what they say, and that none is lost, doubled or half written."""

from __future__ import annotations

import csv
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.choice.makers import plain_differences
from tests.intrinsic.makers import PATH
from tests.intrinsic.tables import league_table

from milepost.errors import InputError, OutputError
from milepost.intrinsic.rating.fit_row import (
    APPENDED,
    COLUMNS,
    REPLACED,
    THERE_ALREADY,
    FitRow,
    append_row,
    fit_row,
    other_setups,
    read_rows,
    row_key,
)

HEADER = (
    "filename,Games,Moves,AvgElo,MinElo,MaxElo,s,c,AE_e,AE_a,Match_e,Match_a,Qfit,PercentileRMS,"
    "FirstYear,LastYear\n"
)
MADE = {"digest": "aaaa"}


def turns_of(table: pl.DataFrame) -> pl.DataFrame:
    """A turns table with years: games before the third are of 2011, the others of 2014."""
    return table.select(
        "game_id",
        "ply",
        year=pl.when(pl.col("game_id").is_in(["game 0", "game 1"])).then(2011).otherwise(2014),
    )


@pytest.fixture(scope="module")
def row() -> FitRow:
    table = league_table(2, 8, 25)
    return fit_row("games.pgn", table, turns_of(table))


def test_a_row_says_what_the_moves_say(row: FitRow) -> None:
    table = league_table(2, 8, 25)
    said = dict(zip(COLUMNS, row.cells, strict=True))
    assert (said["filename"], said["Games"], said["Moves"]) == ("games.pgn", "16", "400")
    elos = table["mover_elo"].unique().sort().to_list()
    assert (said["MinElo"], said["MaxElo"]) == (str(elos[0]), str(elos[1]))
    assert float(said["AvgElo"]) == pytest.approx(sum(elos) / 2, abs=0.05)  # eight games each
    errors = [plain_differences(v)[k] for v, k in table.select("values", "chosen").iter_rows()]
    assert float(said["AE_a"]) == pytest.approx(np.mean(errors), rel=1e-5)
    hits = (table["chosen"] == 0).mean()
    assert float(said["Match_a"]) == pytest.approx(100 * float(hits or 0), abs=1e-3)  # type: ignore[arg-type]
    assert (said["FirstYear"], said["LastYear"]) == ("2011", "2014")


def test_s_and_c_of_the_agent_who_played_are_found() -> None:
    table = league_table(1, 30, 40)
    found = fit_row("one.pgn", table, turns_of(table)).fit
    truth = np.exp(PATH.theta(table["mover_elo"][0])[0])
    # Seed fixed beforehand. 1,200 moves of one agent; intervals of 99.9 % shall hold the truth.
    for name, value in zip(("s", "c"), truth, strict=True):
        low, high = found.interval(0.999)[name]
        assert low < value < high
        assert high - low < 0.6
    assert found.percentiles.rms < 0.02


def test_a_wide_range_of_elo_and_unknown_ones_are_told(row: FitRow) -> None:
    assert "over 100 points" in row.warnings[0]
    table = league_table(2, 8, 25)
    narrow = table.with_columns(mover_elo=pl.lit(2400) + (pl.col("mover") == "Player 0") * 100)
    assert not fit_row("x", narrow, turns_of(table)).warnings
    wide = narrow.with_columns(pl.col("mover_elo").replace({2500: 2501}))
    assert "Elo from 2400 to 2501" in fit_row("x", wide, turns_of(table)).warnings[0]
    nobody = table.with_columns(mover_elo=pl.lit(None, dtype=pl.Int64))
    none = fit_row("x", nobody, turns_of(table).with_columns(year=pl.lit(None, dtype=pl.Int32)))
    assert none.cells[3:6] == ("", "", "")
    assert none.cells[14:] == ("", "")
    assert "no Elo for 16 of 16" in none.warnings[0]


def test_under_thirty_moves_there_is_no_row() -> None:
    table = league_table(2, 8, 25).head(29)
    with pytest.raises(InputError, match="29 moves to fit to, 30 are the least"):
        fit_row("x.pgn", table, turns_of(table))


def test_what_does_not_converge_gives_no_row() -> None:
    table = league_table(2, 8, 25).with_columns(chosen=pl.lit(0, dtype=pl.Int64))
    with pytest.raises(InputError, match=r"x\.pgn: the fit did not converge"):
        fit_row("x.pgn", table, turns_of(table))


def test_header_once_rows_in_order_the_same_row_never_twice(row: FitRow, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    other = replace(row, filename='a "name", with, commas.pgn')
    assert append_row(path, row, made=MADE) == APPENDED
    assert append_row(path, other, made=MADE) == APPENDED
    before = path.read_bytes()
    assert append_row(path, row, made=MADE) == THERE_ALREADY
    assert path.read_bytes() == before
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] + "\n" == HEADER
    with path.open(encoding="utf-8", newline="") as handle:
        names = [each["filename"] for each in csv.DictReader(handle)]
    assert names == [row.filename, other.filename]
    assert pl.read_csv(path)["s"].to_list() == [pytest.approx(row.fit.s, rel=1e-5)] * 2


def test_another_row_of_the_same_file_is_added_or_replaces(row: FitRow, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    changed = replace(row, years=(1900, 1901))
    beside = replace(row, filename="beside.pgn")
    for each in (row, beside):
        append_row(path, each, made=MADE)
    assert append_row(path, changed, made=MADE) == APPENDED
    assert [each[0] for each in read_rows(path)] == ["games.pgn", "beside.pgn", "games.pgn"]
    assert append_row(path, changed, made=MADE, replace=True) == REPLACED
    assert read_rows(path) == [beside.cells, changed.cells]
    assert append_row(path, changed, made=MADE, replace=True) == THERE_ALREADY


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,elo\nx,1\n", "another header"),
        (HEADER.replace("AvgElo", "avgelo"), "another header"),
        (HEADER + "x.pgn,1,2\n", "3 cells, not 16"),
        (HEADER + '"x.pgn,1,2\n', "no CSV file"),
    ],
)
def test_a_file_of_another_form_is_refused_and_left_alone(
    row: FitRow, tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=complaint):
        append_row(path, row, made=MADE)
    assert path.read_text(encoding="utf-8") == text
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        append_row(path, row, made=MADE)


def test_what_others_wrote_stays_as_it_is(row: FitRow, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    theirs = "\ufeff" + HEADER.replace("\n", "\r\n") + ",".join(row.cells)  # no end of line
    path.write_bytes(theirs.encode())
    new = replace(row, filename="new.pgn")
    assert append_row(path, row, made=MADE) == THERE_ALREADY
    append_row(path, new, made=MADE)
    assert path.read_bytes().startswith(theirs.encode())
    assert read_rows(path) == [row.cells, new.cells]
    path.write_text("", encoding="utf-8")
    append_row(path, row, made=MADE)
    assert path.read_text(encoding="utf-8").startswith(HEADER)


def append_many(path: Path, row: FitRow, process: int) -> None:
    for number in range(15):
        append_row(path, replace(row, filename=f"{process}-{number}.pgn"), made=MADE)


def test_processes_that_append_at_once_lose_no_row(row: FitRow, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_many, args=(path, row, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    names = [each[0] for each in read_rows(path)]
    assert sorted(names) == sorted(f"{p}-{n}.pgn" for p in range(4) for n in range(15))
    made = json.loads((tmp_path / "results.csv.provenance.json").read_text(encoding="utf-8"))
    assert sorted(each["filename"] for each in made["rows"].values()) == sorted(names)
    assert not list(tmp_path.glob("*.partial"))


def test_rows_of_another_set_up_are_known(row: FitRow, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    assert other_setups(path, "aaaa") == []
    append_row(path, row, made={"digest": "aaaa"})
    append_row(path, replace(row, filename="b.pgn"), made={"digest": "bbbb"})
    assert other_setups(path, "aaaa") == ["b.pgn"]
    (tmp_path / "results.csv.provenance.json").write_text("{", encoding="utf-8")
    assert other_setups(path, "aaaa") == []


def test_rows_of_one_file_keep_a_record_each(row: FitRow, tmp_path: Path) -> None:
    """At two depths, say: the second row once took the first one's record away."""
    path, beside = tmp_path / "results.csv", tmp_path / "results.csv.provenance.json"
    deeper = replace(row, years=(1999, 2000))
    append_row(path, row, made={"digest": "aaaa"})
    append_row(path, deeper, made={"digest": "bbbb"})
    records = json.loads(beside.read_text(encoding="utf-8"))["rows"]
    assert {key: each["digest"] for key, each in records.items()} == {
        row_key(row.cells): "aaaa",
        row_key(deeper.cells): "bbbb",
    }
    assert other_setups(path, "aaaa") == other_setups(path, "bbbb") == [row.filename]
    # What is replaced takes its record along.
    append_row(path, row, made={"digest": "cccc"}, replace=True)
    records = json.loads(beside.read_text(encoding="utf-8"))["rows"]
    assert [each["digest"] for each in records.values()] == ["cccc"]


def test_records_of_earlier_versions_stay_with_their_files(row: FitRow, tmp_path: Path) -> None:
    path, beside = tmp_path / "results.csv", tmp_path / "results.csv.provenance.json"
    append_row(path, replace(row, filename="old.pgn"), made=MADE)
    by_name = {"rows": {"old.pgn": {"digest": "aaaa"}}}
    beside.write_text(json.dumps(by_name), encoding="utf-8")
    append_row(path, row, made={"digest": "bbbb"})
    assert other_setups(path, "bbbb") == ["old.pgn"]
    assert other_setups(path, "aaaa") == [row.filename]


def test_where_nothing_can_be_written_it_is_said(row: FitRow, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        append_row(tmp_path / "nowhere" / "results.csv", row, made=MADE)
