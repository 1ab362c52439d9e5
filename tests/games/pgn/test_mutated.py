"""Damaged files: nothing raises, and every game found is kept or reported."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from milepost.games import read_games, read_results
from milepost.games.pgn.readers import HEADER_BATCH, read_chunk, read_headers
from milepost.games.stream import GameStream

SEEDS = range(200)
_MOST_GAMES = 6

ScanGames = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def games_to_damage(bundled_data: Path) -> list[list[bytes]]:
    """The games of several files, real ones where they are there, as pieces of text."""
    shared = bundled_data.parents[3] / "shared" / "data"
    names = ["mileposts/1976-1979/2300.pgn", "mileposts/2011-2014/2700.pgn",
             "lichess/rapid_classical_clk_eval.pgn", "lichess/mixed_speeds_one_account.pgn",
             "engines/tcec_superfinals_sample.pgn"]  # fmt: skip
    paths = [shared / name for name in names if (shared / name).exists()]
    paths += [bundled_data / "sample" / "games.pgn", bundled_data / "famous_games.pgn"]
    pieces = []
    for path in paths:
        games = path.read_bytes().replace(b"\r\n", b"\n").split(b"\n\n[Event ")
        pieces.append([games[0] + b"\n\n"] + [b"[Event " + game + b"\n\n" for game in games[1:80]])
    return pieces


def flip_bytes(text: bytes, generator: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(generator.randint(1, 40)):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bytes(data)


def cut(text: bytes, generator: random.Random) -> bytes:
    first, last = sorted(generator.randrange(len(text) + 1) for _ in range(2))
    return generator.choice([text[:first], text[last:], text[:first] + text[last:]])


def double_stretch(text: bytes, generator: random.Random) -> bytes:
    first = generator.randrange(len(text))
    last = min(len(text), first + generator.randint(1, 2_000))
    return text[:last] + text[first:]


def delete_lines(text: bytes, generator: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    return b"".join(line for line in lines if generator.random() > 0.1)


def insert_bytes(text: bytes, generator: random.Random) -> bytes:
    for _ in range(generator.randint(1, 8)):
        place = generator.randrange(len(text) + 1)
        signs = b'{}()[];%"\\\n\r *$#0123456789'
        some = generator.randbytes(generator.randint(1, 50))
        if generator.random() < 0.5:
            some = bytes(generator.choices(signs, k=generator.randint(1, 4)))
        text = text[:place] + some + text[place:]
    return text


def join_without_line_break(text: bytes, generator: random.Random) -> bytes:
    half = text.find(b"[Event ", generator.randrange(len(text)))
    return text.rstrip() + text[max(half, 0) :]


DAMAGES = (
    flip_bytes, cut, double_stretch, delete_lines, insert_bytes, join_without_line_break,
)  # fmt: skip


def damaged_text(pieces: list[list[bytes]], seed: int) -> bytes:
    """Some games of a file, damaged in one to three ways."""
    generator = random.Random(seed)
    games = generator.choice(pieces)
    first = generator.randrange(max(1, len(games) - _MOST_GAMES))
    text = b"".join(games[first : first + generator.randint(1, _MOST_GAMES)])
    for damage in [DAMAGES[seed % len(DAMAGES)], *generator.choices(DAMAGES, k=seed % 3)]:
        text = damage(text, generator) or b"\n"
    return text


def assert_accounted_for(path: Path, read: Any, scanned: list[Any], **options: Any) -> None:
    """Every game that the scan finds is in the output or in the errors table."""
    with GameStream([path], read, workers=1, **options) as stream:
        kept = pl.concat([games.select("source", "line") for games in stream.frames()] or [
            pl.DataFrame(schema={"source": pl.String, "line": pl.Int64})
        ])  # fmt: skip
        errors = stream.all_errors()
    summary = stream.summary
    found = summary.findings
    assert summary.games == len(scanned)
    assert summary.kept == len(kept)
    left_out = found["unreadable"] + found["variant"] + found["duplicate"]
    assert summary.games == summary.kept + left_out
    missing = errors.filter(pl.col("kind").is_in(["unreadable", "variant", "duplicate"]))
    assert sorted(kept["line"].to_list() + missing["line"].to_list()) == [
        game.line for game in scanned
    ]
    assert set(errors["source"]) <= {str(path)}
    assert errors["line"].null_count() == 0
    assert errors["reason"].null_count() == 0
    assert (errors["reason"].str.len_chars() > 0).all()


@pytest.mark.parametrize("first", SEEDS[::20])
def test_every_game_of_a_damaged_file_is_kept_or_reported(
    games_to_damage: list[list[bytes]], scan_games: ScanGames, tmp_path: Path, first: int
) -> None:
    for seed in range(first, first + 20):
        text = damaged_text(games_to_damage, seed)
        path = tmp_path / f"seed{seed}.pgn"
        path.write_bytes(text)
        scanned = scan_games(text)
        assert_accounted_for(path, read_chunk, scanned)
        assert_accounted_for(path, read_headers, scanned, batch_games=HEADER_BATCH)


@pytest.mark.parametrize("first", SEEDS[::50])
def test_public_readers_do_not_raise(
    games_to_damage: list[list[bytes]], tmp_path: Path, first: int
) -> None:
    for seed in range(first, first + 50, 5):
        path = tmp_path / f"seed{seed}.pgn"
        path.write_bytes(damaged_text(games_to_damage, seed))
        games, errors = read_games([path], workers=1)
        read_results([path])
        broken = games.filter("broken")
        told = errors.filter(pl.col("kind") == "broken")
        assert set(broken["line"]) <= set(told["line"])
        assert (told["line"] > 0).all()


def test_block_size_does_not_change_the_games_of_damaged_files(
    games_to_damage: list[list[bytes]], scan_games: ScanGames
) -> None:
    for seed in SEEDS:
        text = damaged_text(games_to_damage, seed)
        if b"\n" in text[:700]:  # else LF and CR line ends cannot be told apart
            assert scan_games(text, 700) == scan_games(text), seed
