"""Files that came out of a probe with hostile input: each of these lost games or never ended."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from tests.games.conftest import ScannedGame

from milepost.games import read_games
from milepost.games.load import read_results
from milepost.games.pgn.blocks import scan_blocks
from milepost.games.pgn.movetext import read_moves
from milepost.games.pgn.tags import parse_tags
from milepost.io.sources import BadBytesError, Source, open_bytes

Scan = Callable[..., list[ScannedGame]]
ReadPgn = Callable[[str | bytes], tuple[pl.DataFrame, pl.DataFrame]]


def game(number: int, end: str = "\n") -> bytes:
    """Return a short game with its own line ends."""
    lines = [f'[Event "E{number}"]', f'[White "W{number}"]', f'[Black "B{number}"]', "",
             "1. e4 e5 2. Nf3 *", "", ""]  # fmt: skip
    return end.join(lines).encode()


ENDS = ("\n", "\r", "\r\n", "\r\r\n")


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("block_bytes", [7, 64, 1 << 20])
def test_line_ends_of_all_kinds_in_one_file(
    first: str, second: str, block_bytes: int, scan_games: Scan
) -> None:
    kinds = (first, second, second, first)
    data = b"".join(game(number, end) for number, end in enumerate(kinds))
    found = scan_games(data, block_bytes)
    assert [each.tags["White"] for each in found] == ["W0", "W1", "W2", "W3"]
    assert all(len(read_moves(each.movetext).moves) == 3 for each in found)


def test_games_with_mixed_line_ends_reach_the_table(read_pgn: ReadPgn) -> None:
    games, errors = read_pgn(b"".join(game(number, ENDS[number % 4]) for number in range(40)))
    assert games["white"].to_list() == [f"W{number}" for number in range(40)]
    assert (games["plies"] == 3).all()
    assert errors.is_empty()


def test_a_byte_order_mark_where_files_were_joined(read_pgn: ReadPgn) -> None:
    bom = b"\xef\xbb\xbf"
    games, _ = read_pgn(bom + game(0) + bom + game(1, "\r\n") + bom + game(2, "\r"))
    assert games["white"].to_list() == ["W0", "W1", "W2"]


CUT = (
    '[Event "Masters"]\n[Date "1999.01.01"]\n[White "Great, A"]\n[Black "Great, B"]\n'
    '[WhiteElo "2800"]\n'
)
NOVICE = '[Event "Club"]\n[White "Novice, C"]\n[Black "Novice, D"]\n\n1. e4 e5 1/2-1/2\n\n'


@pytest.mark.parametrize("before", ["", "1. d4 *\n", NOVICE, "\n\n"])
def test_a_header_cut_before_its_moves_keeps_its_tags_to_itself(
    before: str, read_pgn: ReadPgn, tmp_path: Path
) -> None:
    text = before + CUT + NOVICE + NOVICE.replace("Novice", "Other")
    games, errors = read_pgn(text)
    row = games.filter(pl.col("white") == "Novice, C").row(-1, named=True)
    assert row["white_elo"] is None
    assert row["date"] is None
    assert (games["white"] == "Great, A").sum() == 1
    cut = errors.filter(pl.col("white") == "Great, A")
    assert "no moves behind the tags" in cut["reason"][0]
    # The reader of headers sees the same games.
    path = tmp_path / "headers.pgn"
    path.write_text(text)
    results, _ = read_results([path])
    novices = results.filter(pl.col("player_1") == "novice, c")
    assert novices["elo_1"].null_count() == len(novices)
    assert novices["time"].null_count() == len(novices)
    assert "great, a" not in results["player_1"].to_list()  # it has no result


def test_a_tag_given_twice_with_two_values_is_a_doubt(read_pgn: ReadPgn, tmp_path: Path) -> None:
    text = (
        '[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n[WhiteElo "2800"]\n'
        '[WhiteElo "1200"]\n[Black "B"]\n\n1. e4 1-0\n\n'
    )
    games, errors = read_pgn(text + NOVICE)
    assert games["white_elo"].to_list() == [1200, None]  # the last one stays, and it is told
    assert errors["reason"].to_list() == ["the tag WhiteElo is given twice: '2800', then '1200'"]
    path = tmp_path / "headers.pgn"
    path.write_text(text + NOVICE)
    _, headers = read_results([path])
    assert headers["reason"].to_list() == errors["reason"].to_list()


def bomb(path: Path, megabytes: int, content: bytes = b" ") -> Path:
    """Write a small file that is large when decompressed."""
    plain = (content * (1 << 20))[: 1 << 20]
    with zstandard.open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(plain)
    return path


def peak_megabytes(work: Callable[[], object]) -> float:
    """Return how much memory Python took at most for some work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b" ", b"\n", b"a"])
def test_a_small_file_that_is_large_inside(tmp_path: Path, content: bytes) -> None:
    packed = bomb(tmp_path / "bomb.pgn.zst", 100, content)
    assert packed.stat().st_size < 20_000

    def read() -> None:
        with open_bytes(Source(packed.name, packed)) as stream:
            while stream.read(1 << 16):
                pass

    # In proportion to the pieces that are read, not to what is inside.
    assert peak_megabytes(read) < 8


def test_a_large_file_of_blank_lines_takes_little_memory(tmp_path: Path) -> None:
    packed = bomb(tmp_path / "bomb.pgn.zst", 24, b"\n")

    def scan() -> None:
        with open_bytes(Source(packed.name, packed)) as stream:
            assert [len(block) for block in scan_blocks(stream)] == []

    assert peak_megabytes(scan) < 250


def test_zstd_frames_with_and_without_what_they_may_hold(tmp_path: Path) -> None:
    texts = [game(number) * 500 for number in range(6)]
    skippable = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    frames = [
        zstandard.ZstdCompressor(
            level=level, write_checksum=checksum, write_content_size=size
        ).compress(text)
        for text, level, checksum, size in zip(
            texts, (1, 3, 19, 3, 3, -5), (True, False) * 3, (True, True, False) * 2, strict=True
        )
    ]
    data = frames[0] + frames[1] + skippable + b"".join(frames[2:]) + skippable
    path = tmp_path / "frames.zst"
    path.write_bytes(data)
    with open_bytes(Source("frames", path)) as stream:
        assert stream.read(1 << 30) == b"".join(texts)
    # Cut anywhere: what came before is delivered, then it is told.
    for cut in range(len(data) - 300, len(data) - 14, 13):
        path.write_bytes(data[:cut])
        with open_bytes(Source("frames", path)) as stream:
            assert b"".join(texts).startswith(stream.read(1 << 30))
            with pytest.raises(BadBytesError, match=r"frames is damaged or cut"):
                stream.read(1)


@pytest.mark.parametrize("close", [True, False])
def test_variations_nested_a_hundred_thousand_deep(close: bool, read_pgn: ReadPgn) -> None:
    depth = 100_000
    nested = "( 1. d4 " * depth + (") " * depth if close else "")
    text = f'[Event "E"]\n[White "A"]\n[Black "B"]\n\n1. e4 {nested} e5 *\n\n'
    games, _ = read_pgn(text + NOVICE)
    assert games["white"].to_list() == ["A", "Novice, C"]
    assert games["plies"][0] == (2 if close else 1)


def test_a_tag_of_megabytes_takes_memory_in_proportion() -> None:
    for value in (b"x" * (4 << 20), b'\\"' * (2 << 20)):
        line = b'[White "' + value + b'"]\n'
        assert peak_megabytes(lambda line=line: parse_tags(line)) < 40  # type: ignore[misc]


def test_a_year_that_cannot_be_is_no_year(read_pgn: ReadPgn) -> None:
    text = "".join(
        f'[Event "E"]\n[Date "{date}"]\n[Round "{number}"]\n[White "A"]\n[Black "B"]\n\n1. e4 *\n\n'
        for number, date in enumerate(
            ("10000.01.01", "20240", "20240.05.05", "2024.123.01", "2024.05.05", "2024", "2024 ",
             "20240505")
        )
    )  # fmt: skip
    games, _ = read_pgn(text)
    assert games["year"].to_list() == [None, None, None, 2024, 2024, 2024, 2024, 2024]
    assert games["date"].to_list()[3:5] == ["2024.??.??", "2024.05.05"]
    assert games["date"][-1] == "2024.05.05"


def test_damaged_gzip_after_good_games_is_told(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn.gz"
    packed = gzip.compress(game(1) * 3000, mtime=0)
    path.write_bytes(packed[: len(packed) // 2])
    games, errors = read_games([path], keep_duplicates=True)
    assert len(games) > 0
    assert errors["kind"].to_list()[0] == "unreadable"
    assert io.BytesIO(packed).read(2) == b"\x1f\x8b"


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_a_compressed_file_without_a_byte_is_told(tmp_path: Path, ending: str) -> None:
    empty, good = tmp_path / f"empty.pgn{ending}", tmp_path / "good.pgn"
    empty.write_bytes(b"")
    good.write_bytes(game(1))
    games, errors = read_games([empty, good])
    assert len(games) == 1
    assert errors["reason"].to_list() == [f"{empty} is damaged or cut: it is empty"]


def rated(white: str, black: str) -> str:
    """Return a game with two Elo tags."""
    tags = f'[WhiteElo "{white}"]\n[BlackElo "{black}"]\n[Result "1-0"]\n'
    return f'[Event "E"]\n[White "A {white}"]\n[Black "B"]\n{tags}\n1. e4 e5 1-0\n\n'


def test_an_elo_that_cannot_be_is_a_doubt(read_pgn: ReadPgn, tmp_path: Path) -> None:
    text = rated("999999999999999999992050", "2100") + rated("2400", "1500?") + rated("7", "2000")
    games, errors = read_pgn(text)
    assert games["white_elo"].to_list() == [None, 2400, None]
    assert games["black_elo"].to_list() == [2100, None, 2000]
    assert errors["kind"].unique().to_list() == ["doubt"]
    told = dict(errors.select("line", "reason").iter_rows())
    ends = "which is no number from 100 to 4000"
    assert told == {
        1: f"WhiteElo is '99999999999999999999', {ends}",
        10: f"BlackElo is '1500?', {ends}",
        19: f"WhiteElo is '7', {ends}",
    }
    assert errors["game_id"].null_count() == 0
    # The reader of headers doubts the same.
    path = tmp_path / "headers.pgn"
    path.write_text(text)
    _, headers = read_results([path])
    assert dict(headers.select("line", "reason").iter_rows()) == told


@pytest.mark.parametrize("none", ["?", "-", "", "0", "0000", " ", "unrated", "????"])
def test_an_elo_that_is_not_known_is_no_doubt(none: str, read_pgn: ReadPgn, tmp_path: Path) -> None:
    games, errors = read_pgn(rated(none, "2100"))
    assert games["white_elo"].to_list() == [None]
    assert errors.is_empty()
    path = tmp_path / "headers.pgn"
    path.write_text(rated(none, "2100"))
    assert read_results([path])[1].is_empty()


def test_the_blocks_before_a_damaged_one_are_read(tmp_path: Path) -> None:
    # Names of two letters: some 12 kB a block, so that several are decompressed at a time.
    rng = np.random.default_rng(3)
    names = [bytes(rng.integers(97, 99, 60, dtype=np.uint8)) for _ in range(9000)]
    text = b"".join(b'[White "%s"]\n\n1. e4 *\n\n' % name for name in names)
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=False).compress(text))
    # From block to block by their headers, to the fifth (RFC 8878, section 3.1.1.2).
    place = zstandard.frame_header_size(bytes(packed))
    for _ in range(4):
        place += 3 + (int.from_bytes(packed[place : place + 3], "little") >> 3)
    packed[place + 3 : place + 200] = b"\xff" * 197
    path = tmp_path / "damaged.pgn.zst"
    path.write_bytes(packed)
    with open_bytes(Source("damaged", path)) as stream:
        assert stream.read(1 << 30) == text[: 4 << 17]
        with pytest.raises(BadBytesError, match="damaged is damaged or cut"):
            stream.read(1)
