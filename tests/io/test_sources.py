"""Inputs: which files are found, and that damaged ones give what stands before the damage."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.errors import InputError
from milepost.games import read_games, read_results
from milepost.io.sources import (
    BadBytesError,
    ByteSource,
    Source,
    compression_of,
    find_sources,
    open_bytes,
)

Compress = Callable[[bytes], bytes]
COMPRESSIONS: dict[str, Compress] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
each_compression = pytest.mark.parametrize("ending", list(COMPRESSIONS))


def games_text(count: int) -> bytes:
    """Games that differ, in bytes that hardly compress, so that a cut falls where one means."""
    return b"".join(
        b'[Event "%d"]\n[White "W%d"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 {%s} 1-0\n\n'
        % (number, number, random.Random(number).randbytes(300).hex().encode())
        for number in range(count)
    )


@pytest.fixture(scope="module")
def long_text() -> bytes:
    """Two megabytes: more than one block of bzip2 (900 KB) and of zstd (128 KB)."""
    return games_text(3_000)


def read_all(path: Path, size: int = 1 << 20) -> bytes:
    with open_bytes(Source(str(path), path)) as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


# Which files


def test_folder_is_searched_at_any_depth_for_pgn_only(tmp_path: Path) -> None:
    for name in ("b.pgn", "a/deep/er/x.PGN.gz", "a/y.pgn.zst", "notes.txt", "pgn"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(Path(source.name).relative_to(tmp_path)) for source in find_sources([tmp_path])]
    assert found == ["a/deep/er/x.PGN.gz", "a/y.pgn.zst", "b.pgn"]


def test_pattern_finds_files_in_order(tmp_path: Path) -> None:
    for name in ("2.pgn", "1.pgn", "3.txt"):
        (tmp_path / name).touch()
    found = find_sources([str(tmp_path / "*.pgn")])
    assert [Path(source.name).name for source in found] == ["1.pgn", "2.pgn"]


def test_name_with_pattern_letters_is_a_file_if_it_exists(tmp_path: Path) -> None:
    (tmp_path / "a[1].pgn").touch()
    assert len(find_sources([tmp_path / "a[1].pgn"])) == 1


def test_each_file_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn"
    path.touch()
    inputs: list[str | Path] = [path, tmp_path, str(tmp_path / "*.pgn"), tmp_path / "." / "a.pgn"]
    assert len(find_sources(inputs)) == 1


def test_dash_is_standard_input() -> None:
    (source,) = find_sources(["-"])
    assert (source.path, source.size) == (None, None)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [(["no-such.pgn"], "no such file: no-such.pgn"), ([], "no input"), (["no*.pgn"], "no such")],
)
def test_input_that_names_nothing(inputs: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_sources(inputs)


def test_folder_without_pgn(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no PGN files in the folder"):
        find_sources([tmp_path])


@pytest.mark.parametrize(
    ("name", "is_table"),
    [("a.csv", True), ("a.parquet", True), ("A.CSV.gz", True), ("a.pgn", False), ("a", False)],
)
def test_tables_are_told_by_their_ending(name: str, is_table: bool) -> None:
    assert Source(name, None).is_table is is_table


# Bytes


@each_compression
def test_compression_is_told_by_the_bytes_not_the_name(tmp_path: Path, ending: str) -> None:
    text = games_text(5)
    path = tmp_path / "plain.pgn"
    path.write_bytes(COMPRESSIONS[ending](text))
    assert compression_of(path.read_bytes()[:4]) == ending
    assert read_all(path) == text


@each_compression
def test_several_compressed_streams_in_one_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.pgn"
    path.write_bytes(b"".join(COMPRESSIONS[ending](part) for part in (b"one ", b"", b"two")))
    assert read_all(path) == b"one two"


@each_compression
@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.binary(max_size=3_000), st.integers(1, 4_000))
def test_bytes_come_back_in_pieces_of_any_size(ending: str, data: bytes, size: int) -> None:
    raw = io.BufferedReader(io.BytesIO(COMPRESSIONS[ending](data)))
    stream = ByteSource(cast(Any, raw), "x")
    pieces = list(iter(lambda: stream.read(size), b""))
    assert b"".join(pieces) == data
    assert all(len(piece) == size for piece in pieces[:-1])


@pytest.mark.parametrize(
    ("ending", "at_least"),
    # gzip gives every byte before the cut; bzip2 and zstd only whole blocks: of 2 MB cut at 60 %
    # at least one of 900 KB, and all but one of 128 KB.
    [("gz", 1_150_000), ("bz2", 890_000), ("zst", 1_050_000)],
)
def test_cut_file_gives_what_stands_before_the_cut(
    tmp_path: Path, long_text: bytes, ending: str, at_least: int
) -> None:
    compressed = COMPRESSIONS[ending](long_text)
    path = tmp_path / "cut.pgn"
    path.write_bytes(compressed[: int(len(compressed) * 0.6)])
    got, failure = b"", ""
    with open_bytes(Source("cut.pgn", path)) as stream:
        for _ in range(20):
            try:
                got += stream.read(100_000)
            except BadBytesError as error:
                failure = str(error)
                break
    assert failure.startswith("cut.pgn is damaged or cut: ")
    assert long_text.startswith(got)
    assert len(got) >= at_least * len(long_text) // 2_000_000


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_games_before_the_cut_are_read_and_the_file_is_reported(
    tmp_path: Path, long_text: bytes, ending: str
) -> None:
    compressed = COMPRESSIONS[ending](long_text)
    path = tmp_path / "cut.pgn"
    path.write_bytes(compressed[: int(len(compressed) * 0.6)])
    results, errors = read_results([path])
    assert results["player_1"].to_list() == [f"w{number}" for number in range(len(results))]
    assert len(results) > 1_000
    (damage,) = errors.filter(errors["reason"].str.contains("damaged")).to_dicts()
    assert (damage["kind"], damage["source"]) == ("unreadable", str(path))
    assert damage["line"] == 7 * (len(results) - 1) + 1  # seven lines a game: the last one found


def test_small_gzip_file_that_is_cut_gives_its_games(tmp_path: Path) -> None:
    compressed = gzip.compress(games_text(20))
    path = tmp_path / "cut.pgn.gz"
    path.write_bytes(compressed[: len(compressed) // 2])
    games, errors = read_games([path])
    assert 8 <= len(games) <= 11
    assert "unreadable" in errors["kind"].to_list()


def test_other_files_are_read_after_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / "a.pgn.gz").write_bytes(gzip.compress(games_text(3))[:40])
    (tmp_path / "b.pgn").write_bytes(games_text(2))
    games, errors = read_games([tmp_path])
    assert set(games["source"]) == {str(tmp_path / "b.pgn")}
    assert errors["source"].to_list() == [str(tmp_path / "a.pgn.gz")]


@each_compression
def test_flipped_byte_is_noticed(tmp_path: Path, long_text: bytes, ending: str) -> None:
    if ending == "zst":
        compressed = zstandard.ZstdCompressor(write_checksum=True).compress(long_text)
    else:
        compressed = COMPRESSIONS[ending](long_text)
    damaged = bytearray(compressed)
    damaged[len(damaged) * 3 // 4] ^= 0x55
    path = tmp_path / "flipped.pgn"
    path.write_bytes(damaged)
    with pytest.raises(BadBytesError, match="damaged"):
        read_all(path)


@each_compression
def test_trailing_garbage_loses_nothing(tmp_path: Path, ending: str) -> None:
    text = games_text(4)
    path = tmp_path / "a.pgn"
    path.write_bytes(COMPRESSIONS[ending](text) + b"\x00\x00garbage")
    games, _ = read_games([path])
    assert len(games) == 4


def test_utf16_file_is_refused_with_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn"
    path.write_bytes('[Event "x"]\n\n1. e4 *\n'.encode("utf-16"))
    games, errors = read_games([path])
    assert len(games) == 0
    assert errors.select("kind", "source").rows() == [("unreadable", str(path))]
    assert "UTF-16" in errors["reason"][0]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = games_text(2)

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(gzip.compress(text)))

    monkeypatch.setattr(sys, "stdin", Stdin)
    with open_bytes(Source("-", None)) as stream:
        assert stream.read(1 << 20) == text


def test_file_that_vanished_is_an_input_error(tmp_path: Path) -> None:
    source = Source("gone", tmp_path / "gone")
    with pytest.raises(InputError, match="cannot read gone"), open_bytes(source):
        pass
