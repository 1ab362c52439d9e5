"""What the tests of the games stage share: ways to read PGN text, and the real files."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from milepost.games import read_games
from milepost.games.pgn.blocks import BLOCK_BYTES, scan_blocks
from milepost.games.pgn.tags import parse_tags


class ScannedGame(NamedTuple):
    """One game as the scan found it."""

    tags: dict[str, str]
    movetext: bytes
    line: int


@pytest.fixture(scope="session")
def real_files(shared_data: Path) -> list[Path]:
    """Every real PGN file."""
    patterns = ("mileposts/*/*.pgn", "lichess/*.pgn", "engines/*.pgn")
    files = [path for pattern in patterns for path in sorted(shared_data.glob(pattern))]
    assert len(files) > 40
    return files


@pytest.fixture(scope="session")
def scan_games() -> Callable[..., list[ScannedGame]]:
    """Returns the games of some bytes, by the scan and `parse_tags`."""

    def scan(data: bytes, block_bytes: int = BLOCK_BYTES) -> list[ScannedGame]:
        found = []
        for block in scan_blocks(io.BytesIO(data), block_bytes=block_bytes):
            rows = zip(block.starts, block.movetexts, block.ends, block.lines, strict=True)
            for start, movetext, end, line in rows:
                tags, _ = parse_tags(block.text[start:movetext])
                found.append(ScannedGame(tags, block.text[movetext:end], int(line)))
        return found

    return scan


@pytest.fixture
def read_pgn(tmp_path: Path) -> Callable[[str | bytes], tuple[pl.DataFrame, pl.DataFrame]]:
    """Returns the games and errors of some text, read from a file as the commands do."""

    def read(text: str | bytes) -> tuple[pl.DataFrame, pl.DataFrame]:
        path = tmp_path / "games.pgn"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_games([path], keep_duplicates=True)

    return read
