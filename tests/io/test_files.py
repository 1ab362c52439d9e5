"""Tables on disk: what goes in comes out, whole or not at all."""

from __future__ import annotations

import bz2
import csv
import datetime as dt
import gc
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from milepost import __version__
from milepost.errors import InputError, OutputError, TableError
from milepost.io.files import (
    FORMATS,
    AtomicFile,
    TableWriter,
    format_of,
    is_partial,
    read_table,
    write_bytes,
    write_table,
    write_text,
)
from milepost.io.provenance import provenance
from milepost.tables import EVALUATIONS, GAMES, RESULTS, TABLES, Table

AWKWARD = 'Ł "Łoś"\nO\'Néill, 藤井; , \\ 🙂 '
MADE = {"made_by": "milepost", "options": {"name": "Łoś"}, "inputs": []}


def _value(dtype: Any, place: int) -> Any:
    """A value that is easily damaged on the way, different in each row."""
    if isinstance(dtype, pl.List):
        # Text in lists holds no blanks: moves.
        texts = ["e2e4", "e7e8q"]
        inner = texts if dtype.inner == pl.String else [_value(dtype.inner, at) for at in (0, 1)]
        return [[inner[0], None, inner[1]], [None], None][place]
    if dtype == pl.String:
        return [AWKWARD, "-", None][place]
    if dtype == pl.Boolean:
        return [True, False, None][place]
    if dtype == pl.Float64:
        return [0.1 + 0.2, -1e-9, None][place]
    if dtype.is_integer():
        return [1, -2, None][place]
    assert dtype == pl.Date
    return [dt.date(2011, 5, 3), dt.date(1851, 12, 31), None][place]


@pytest.fixture(params=TABLES, ids=lambda table: table.name)
def table(request: pytest.FixtureRequest) -> Table:
    """Every table in turn."""
    found: Table = request.param
    return found


@pytest.fixture
def filled(table: Table) -> pl.DataFrame:
    """Three rows of awkward values, the last one of nulls."""
    return pl.DataFrame(
        {
            column.name: pl.Series(
                [_value(column.dtype or pl.Date, place) for place in range(3)],
                dtype=column.dtype or pl.Date,
            )
            for column in table.columns
        }
    )


@pytest.fixture
def games() -> pl.DataFrame:
    """Two small games."""
    return GAMES.conform(
        pl.DataFrame(
            {
                "game_id": ["g1", "g2"],
                "white": ["A", "B"],
                "black": ["B", "A"],
                "moves": ["e2e4", ""],
            }
        )
    )


def _listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _with_clocks(clocks: list[list[float | None] | None]) -> pl.DataFrame:
    text = [str(number) for number in range(len(clocks))]
    return GAMES.conform(
        pl.DataFrame(
            {"game_id": text, "white": text, "black": text, "moves": text, "clocks": clocks},
            schema_overrides={"clocks": pl.List(pl.Float64)},
        )
    )


@pytest.mark.parametrize("form", FORMATS)
def test_every_table_comes_back_as_it_was(
    tmp_path: Path, table: Table, filled: pl.DataFrame, form: str
) -> None:
    path = tmp_path / f"table.{form}"
    write_table(filled, path)
    assert_frame_equal(read_table(path, table), filled)


@pytest.mark.parametrize("form", FORMATS)
def test_empty_table_keeps_its_columns(tmp_path: Path, table: Table, form: str) -> None:
    path = tmp_path / f"table.{form}"
    write_table(table.empty(), path)
    back = read_table(path, table)
    assert back.columns == table.names
    assert len(back) == 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_empty_table_has_a_header_for_other_programs(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"table.{form}"
    write_table(GAMES.empty(), path)
    assert read_table(path).columns == GAMES.names


def test_empty_ndjson_without_a_table_has_no_columns(tmp_path: Path) -> None:
    # Nothing in the file says which columns it would have: a limit of the format.
    path = tmp_path / "table.ndjson"
    write_table(GAMES.empty(), path)
    assert path.read_bytes() == b""
    assert read_table(path).shape == (0, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_empty_list_and_null_list_stay_different(tmp_path: Path, form: str) -> None:
    # In CSV an empty list is a quoted nothing ("") and a null is nothing at all.
    path = tmp_path / f"table.{form}"
    frame = _with_clocks([[], None, [None], [1.5, None]])
    write_table(frame, path)
    back = read_table(path, GAMES)
    assert back["clocks"].to_list() == [[], None, [None], [1.5, None]]


def test_lists_in_csv_are_blank_separated_with_dashes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_table(_with_clocks([[1.5, None, 3.0], [None], []]), path)
    with path.open(encoding="utf-8", newline="") as handle:
        assert [row["clocks"] for row in csv.DictReader(handle)] == ["1.5 - 3.0", "-", ""]


def test_nested_list_that_is_no_json_is_a_table_error(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.csv"
    write_table(EVALUATIONS.empty(), path)
    values = dict.fromkeys(EVALUATIONS.names, "1") | {"cp": "[[1;"}
    line = ",".join(values.values())
    path.write_text(f"{path.read_text(encoding='utf-8')}{line}\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"evaluations\.csv"):
        read_table(path, EVALUATIONS)


@pytest.mark.parametrize("form", FORMATS)
def test_nested_lists_stay_as_they_are(tmp_path: Path, form: str) -> None:
    values: list[list[list[int | None]] | None] = [[[1, None], []], None, [], [[]]]
    frame = (
        EVALUATIONS.empty()
        .select("cp")
        .clear(len(values))
        .with_columns(pl.Series("cp", values, dtype=EVALUATIONS.dtypes["cp"]))
    )
    path = tmp_path / f"table.{form}"
    write_table(frame, path)
    only = Table("evaluations", "", tuple(c for c in EVALUATIONS.columns if c.name == "cp"))
    assert read_table(path, only)["cp"].to_list() == values


def test_csv_is_what_the_standard_library_reads(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame = pl.DataFrame({"white": [AWKWARD, 'a,"b"'], "n": [1, 2]})
    write_table(frame, path)
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["white"], row["n"]) for row in rows] == [(AWKWARD, "1"), ('a,"b"', "2")]


def test_ndjson_is_one_object_a_line(tmp_path: Path) -> None:
    path = tmp_path / "table.ndjson"
    write_table(pl.DataFrame({"white": [AWKWARD, None], "n": [1, 2]}), path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == [
        {"white": AWKWARD, "n": 1},
        {"white": None, "n": 2},
    ]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.lists(
        st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
        min_size=1,
        max_size=4,
    ),
    form=st.sampled_from(FORMATS),
)
def test_any_name_survives(tmp_path: Path, names: list[str | None], form: str) -> None:
    frame = GAMES.conform(
        pl.DataFrame(
            {"game_id": ["x"] * len(names), "white": names, "black": names, "moves": names},
            schema=dict.fromkeys(("game_id", "white", "black", "moves"), pl.String),
        )
    )
    path = tmp_path / f"table.{form}"
    write_table(frame, path)
    assert read_table(path, GAMES)["white"].to_list() == names


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "times",
    [[dt.date(2011, 5, 3), None], [1976, None], [1976.5, 1980.0]],
    ids=["dates", "years", "seasons"],
)
def test_times_stay_dates_or_numbers(tmp_path: Path, form: str, times: list[Any]) -> None:
    frame = RESULTS.conform(
        pl.DataFrame({"time": times, "player_1": "A", "player_2": "B", "score": 1.0})
    )
    path = tmp_path / f"results.{form}"
    write_table(frame, path)
    back = read_table(path, RESULTS)["time"]
    assert back.to_list() == times
    assert back.dtype == frame["time"].dtype


def test_time_that_is_neither_date_nor_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("time,player_1,player_2,score\nyesterday,A,B,1\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"results\.csv: time holds neither dates"):
        read_table(path, RESULTS)


def test_csv_without_a_table_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    path.write_text("id,name\n007,Bond\n", encoding="utf-8")
    assert read_table(path).row(0) == ("007", "Bond")


def test_csv_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    path.write_text("spelling,name\nA,B\n", encoding="utf-8-sig")
    assert read_table(path).columns == ["spelling", "name"]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_text_is_read(
    tmp_path: Path, games: pl.DataFrame, form: str, ending: str
) -> None:
    plain = tmp_path / f"games.{form}"
    write_table(games, plain)
    compress: Any = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}[ending]
    packed = tmp_path / f"packed.{form}.{ending}"
    packed.write_bytes(compress(plain.read_bytes()))
    assert_frame_equal(read_table(packed, GAMES), games)


@pytest.mark.parametrize("form", FORMATS)
def test_brackets_in_a_name_are_no_pattern(tmp_path: Path, games: pl.DataFrame, form: str) -> None:
    path = tmp_path / f"games [1]*.{form}"
    write_table(games, path)
    assert_frame_equal(read_table(path, GAMES), games)


@pytest.mark.parametrize("form", FORMATS)
def test_pieces_give_the_same_rows_as_the_whole(
    tmp_path: Path, games: pl.DataFrame, form: str
) -> None:
    path = tmp_path / f"games.{form}"
    with TableWriter(path, GAMES.empty()) as writer:
        for row in range(len(games)):
            writer.write(games[row : row + 1])
    assert writer.rows == len(games)
    assert_frame_equal(read_table(path, GAMES), games)


def test_writer_takes_columns_in_any_order(tmp_path: Path, games: pl.DataFrame) -> None:
    path = tmp_path / "games.csv"
    with TableWriter(path, GAMES.empty()) as writer:
        writer.write(games.select(reversed(games.columns)))
    assert read_table(path).columns == GAMES.names


@pytest.mark.parametrize("form", FORMATS)
def test_same_table_gives_the_same_bytes(tmp_path: Path, filled: pl.DataFrame, form: str) -> None:
    for name in ("one", "two"):
        write_table(filled, tmp_path / f"{name}.{form}", made=MADE)
    first, second = ((tmp_path / f"{name}.{form}").read_bytes() for name in ("one", "two"))
    assert first == second


def test_parquet_carries_its_provenance(tmp_path: Path, games: pl.DataFrame) -> None:
    path = tmp_path / "games.parquet"
    write_table(games, path, made=MADE)
    metadata = pq.read_metadata(path).metadata
    assert json.loads(metadata[b"milepost"]) == MADE
    assert _listed(tmp_path) == ["games.parquet"]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_text_has_its_provenance_beside_it(tmp_path: Path, games: pl.DataFrame, form: str) -> None:
    path = tmp_path / f"games.{form}"
    write_table(games, path, made=MADE)
    beside = tmp_path / f"games.{form}.provenance.json"
    assert json.loads(beside.read_text(encoding="utf-8")) == MADE
    assert "Łoś" in beside.read_text(encoding="utf-8")


def test_provenance_may_be_filled_in_until_the_end(tmp_path: Path, games: pl.DataFrame) -> None:
    path = tmp_path / "games.parquet"
    made = provenance("games", {}, [])
    with TableWriter(path, GAMES.empty(), made=made) as writer:
        writer.write(games)
        made["inputs"].append({"name": "late.pgn"})
    said = json.loads(pq.read_metadata(path).metadata[b"milepost"])
    assert said["inputs"] == [{"name": "late.pgn"}]


def test_provenance_says_version_and_no_time() -> None:
    made = provenance("games", {"a": 1}, [{"name": "x.pgn"}])
    assert made == {
        "made_by": f"milepost {__version__}",
        "command": "games",
        "options": {"a": 1},
        "inputs": [{"name": "x.pgn"}],
    }


@pytest.mark.parametrize("form", FORMATS)
def test_failure_leaves_no_file(tmp_path: Path, games: pl.DataFrame, form: str) -> None:
    with (  # noqa: PT012
        pytest.raises(RuntimeError, match="half-way"),
        TableWriter(tmp_path / f"games.{form}", GAMES.empty(), made=MADE) as writer,
    ):
        writer.write(games)
        raise RuntimeError("half-way")
    assert _listed(tmp_path) == []


@pytest.mark.parametrize("form", FORMATS)
def test_failure_keeps_the_old_file(tmp_path: Path, games: pl.DataFrame, form: str) -> None:
    path = tmp_path / f"games.{form}"
    path.write_bytes(b"old")
    with (  # noqa: PT012
        pytest.raises(RuntimeError, match="half-way"),
        TableWriter(path, GAMES.empty()) as writer,
    ):
        writer.write(games)
        raise RuntimeError("half-way")
    assert path.read_bytes() == b"old"
    assert _listed(tmp_path) == [path.name]


def test_dropped_parquet_writer_is_quiet(tmp_path: Path, games: pl.DataFrame) -> None:
    # Its destructor must not write into the closed file: pytest turns such complaints into errors.
    writer = TableWriter(tmp_path / "games.parquet", GAMES.empty())
    writer.write(games)
    writer.discard()
    del writer
    gc.collect()
    assert _listed(tmp_path) == []


def test_nothing_stands_under_the_name_before_the_end(tmp_path: Path, games: pl.DataFrame) -> None:
    path = tmp_path / "games.csv"
    with TableWriter(path, GAMES.empty()) as writer:
        writer.write(games)
        assert not path.exists()
    assert path.exists()


_FULL_DISK = """
import resource, sys
import polars as pl
from milepost.errors import OutputError
from milepost.io.files import write_table
import random
random.seed(1)
frame = pl.DataFrame({"x": [random.random() for _ in range(200_000)]})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_table(frame, sys.argv[1])
except OutputError as error:
    print("OutputError", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the limit on file sizes")
@pytest.mark.parametrize("form", FORMATS)
def test_full_disk_is_an_output_error_and_keeps_the_old_file(tmp_path: Path, form: str) -> None:
    # A limit on the size of files fails in the same place as a full disk.
    path = tmp_path / f"games.{form}"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"OutputError cannot write {path}: ")
    assert done.stderr == ""
    assert path.read_bytes() == b"old"
    assert _listed(tmp_path) == [path.name]


@pytest.mark.parametrize("form", FORMATS)
def test_missing_folder_is_an_output_error(tmp_path: Path, games: pl.DataFrame, form: str) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*absent"):
        write_table(games, tmp_path / "absent" / f"games.{form}")


def test_unwritable_folder_is_an_output_error(tmp_path: Path, games: pl.DataFrame) -> None:
    # A file in place of the folder cannot be written into, not even by root.
    (tmp_path / "folder").write_text("no folder", encoding="utf-8")
    with pytest.raises(OutputError, match=r"cannot write .*games\.csv"):
        write_table(games, tmp_path / "folder" / "games.csv")


def test_folder_under_the_name_is_an_output_error(tmp_path: Path, games: pl.DataFrame) -> None:
    (tmp_path / "games.parquet").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*games\.parquet"):
        write_table(games, tmp_path / "games.parquet")
    assert _listed(tmp_path) == ["games.parquet"]


def test_text_into_a_missing_folder_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        write_text(tmp_path / "absent" / "note.txt", "x")


def test_text_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    for text in ("one", "Łoś\n"):
        write_text(path, text)
    assert path.read_text(encoding="utf-8") == "Łoś\n"
    assert _listed(tmp_path) == ["note.txt"]


def test_bytes_stand_under_their_name_only_when_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    write_bytes(path, b"old")
    with AtomicFile(path) as file:
        file.partial.write_bytes(b"new")
        assert is_partial(file.partial)
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert _listed(tmp_path) == ["picture.png"]


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    write_bytes(path, b"old")
    with pytest.raises(TypeError), AtomicFile(path) as file:
        file.partial.write_text(3)  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert _listed(tmp_path) == ["picture.png"]


def test_what_cannot_be_written_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match=r"cannot write .*absent/picture\.png: there is no folder"
    ):
        write_bytes(tmp_path / "absent" / "picture.png", b"new")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.parquet", "parquet"),
        ("a.csv", "csv"),
        ("a.CSV", "csv"),
        ("a.ndjson", "ndjson"),
        ("a.b.jsonl", "ndjson"),
        ("-", "csv"),
    ],
)
def test_ending_says_the_format(name: str, form: str) -> None:
    assert format_of(name) == form


def test_given_format_comes_before_the_ending() -> None:
    assert format_of("a.csv", "parquet") == "parquet"


@pytest.mark.parametrize("name", ["games.xlsx", "games", "games.csv.gz", ".csv"])
def test_unknown_ending_is_an_output_error(name: str) -> None:
    with pytest.raises(OutputError, match="no known format"):
        format_of(name)


def test_unknown_format_is_an_output_error() -> None:
    with pytest.raises(OutputError, match="unknown format 'xlsx'"):
        format_of("a.csv", "xlsx")


def test_unknown_ending_writes_nothing(tmp_path: Path, games: pl.DataFrame) -> None:
    with pytest.raises(OutputError, match="no known format"):
        write_table(games, tmp_path / "games.xlsx")
    assert _listed(tmp_path) == []


@pytest.mark.parametrize("form", FORMATS)
def test_standard_output_gets_the_table(
    games: pl.DataFrame, form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stdout = SimpleNamespace(buffer=io.BytesIO())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        write_table(games, "-", form=form, made=MADE)
    path = tmp_path / f"games.{form}"
    path.write_bytes(stdout.buffer.getvalue())
    assert_frame_equal(read_table(path, GAMES), games)


@pytest.mark.parametrize("form", FORMATS)
def test_missing_file_is_an_input_error_that_names_it(tmp_path: Path, form: str) -> None:
    with pytest.raises(InputError, match=rf"cannot read the table .*absent\.{form}"):
        read_table(tmp_path / f"absent.{form}")


def test_text_named_parquet_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "false.parquet"
    path.write_text("white,black\nA,B\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"false\.parquet"):
        read_table(path)


def test_parquet_torn_anywhere_is_an_input_error(tmp_path: Path, games: pl.DataFrame) -> None:
    path = tmp_path / "torn.parquet"
    write_table(games, path)
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 50)):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"torn\.parquet"):
            read_table(path, GAMES)


def test_latin_1_csv_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes("white,black\nMüller,Łoś\n".encode("iso-8859-2"))
    with pytest.raises(InputError, match=r"old\.csv"):
        read_table(path)


def test_csv_with_too_many_values_in_a_line_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"ragged\.csv"):
        read_table(path)


def test_broken_json_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.ndjson"
    path.write_text('{"white": "A"}\n{"white": \n', encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.ndjson"):
        read_table(path)


def test_damaged_bzip2_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.csv.bz2"
    path.write_bytes(bz2.compress(b"white,black\nA,B\n")[:-9])
    with pytest.raises(InputError, match=r"damaged\.csv\.bz2"):
        read_table(path)


def test_file_that_is_no_table_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"games\.pgn: not a table"):
        read_table(tmp_path / "games.pgn")


@pytest.mark.parametrize("form", FORMATS)
def test_other_table_than_expected_names_file_and_columns(
    tmp_path: Path, games: pl.DataFrame, form: str
) -> None:
    path = tmp_path / f"games.{form}"
    write_table(games, path)
    with pytest.raises(TableError, match=rf"games\.{form}: the results table needs .*player_1"):
        read_table(path, RESULTS)


_LINES = ("a,b", '1,"x, y"', "2,z", '3,"two\rlines"', "4,w")


@pytest.mark.parametrize(
    "ends",
    [("\r",) * 5, ("\r", "\r\n", "\n", "\r", "\r"), ("\n", "\r", "\r\n", "\r", "\n"),
     ("\r\n", "\r\n", "\r", "\r\r\n", "\n"), ("\r\n",) * 5],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2"])
def test_csv_with_line_ends_of_all_kinds(
    ends: tuple[str, ...], ending: str, tmp_path: Path
) -> None:
    data = "".join(line + end for line, end in zip(_LINES, ends, strict=True)).encode()
    path = tmp_path / f"ends.{ending}"
    packed = {"csv": data, "csv.gz": gzip.compress(data), "csv.bz2": bz2.compress(data)}
    path.write_bytes(packed[ending])
    frame = read_table(path)
    assert frame.columns == ["a", "b"]
    assert frame["b"].to_list() == ["x, y", "z", "two\rlines", "w"]


def test_a_heading_alone_that_ends_in_a_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "heading.csv"
    path.write_bytes(b"a,b\r")
    assert read_table(path).columns == ["a", "b"]
