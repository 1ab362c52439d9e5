"""Where games begin: the scan against python-chess on real files, and odd texts by hand."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess.pgn
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.pgn import blocks as scan
from milepost.games.pgn import boundaries
from milepost.games.pgn.blocks import scan_blocks
from milepost.games.pgn.boundaries import comment_is_open, find_games
from milepost.io.sources import BadBytesError

ScanGames = Callable[..., list[Any]]

HEAD = b'[Event "%s"]\n[White "W"]\n[Black "B"]\n\n'
ONE = HEAD % b"one" + b"1. e4 e5 1-0\n"
TWO = HEAD % b"two" + b"1. d4 d5 0-1\n"


def both_ways(text: bytes) -> tuple[boundaries.Found | None, boundaries.Found]:
    """The games of a text by array operations, where they apply, and by the rules."""
    data = np.frombuffer(text, dtype=np.uint8)
    newlines = np.flatnonzero(data == 0x0A)
    line_starts = np.concatenate(([0], newlines + 1))
    line_starts = line_starts[line_starts < len(data)]
    return (
        boundaries._find_plain_games(text, data, newlines, line_starts),
        boundaries._find_games_by_rules(text, data, newlines, line_starts),
    )


def assert_same(plain: boundaries.Found, ruled: boundaries.Found, about: object) -> None:
    assert plain.starts.tolist() == ruled.starts.tolist(), about
    assert plain.movetexts.tolist() == ruled.movetexts.tolist(), about
    assert plain.line_indexes.tolist() == ruled.line_indexes.tolist(), about
    assert plain.line_ends == ruled.line_ends, about


def events(games: list[Any]) -> list[str | None]:
    return [game.tags.get("Event") for game in games]


# Real files


def test_headers_are_those_of_python_chess(real_files: list[Path], scan_games: ScanGames) -> None:
    for path in real_files:
        raw = path.read_bytes()
        handle = io.StringIO(raw.decode("utf-8"))
        truth = []
        while (headers := chess.pgn.read_headers(handle)) is not None:
            truth.append(dict(headers))
        assert [game.tags for game in scan_games(raw)] == truth, path


def test_lines_are_where_the_event_tags_stand(
    real_files: list[Path], scan_games: ScanGames
) -> None:
    for path in real_files:
        raw = path.read_bytes()
        truth = [
            number
            for number, line in enumerate(raw.split(b"\n"), start=1)
            if line.startswith(b"[Event ")
        ]
        assert [game.line for game in scan_games(raw)] == truth, path


@pytest.mark.parametrize("block_bytes", [3_000, 70_000])
def test_block_size_does_not_change_the_games(
    real_files: list[Path], scan_games: ScanGames, block_bytes: int
) -> None:
    for path in real_files:
        raw = path.read_bytes()
        assert scan_games(raw, block_bytes) == scan_games(raw), path


def test_blocks_join_to_the_whole_source(real_files: list[Path]) -> None:
    for path in real_files[::5]:
        raw = path.read_bytes()
        blocks = list(scan_blocks(io.BytesIO(raw), block_bytes=20_000))
        assert b"".join(block.text for block in blocks) == raw
        for block in blocks:
            assert raw[block.offset : block.offset + len(block.text)] == block.text


def test_fast_path_and_rules_agree_on_real_files(real_files: list[Path]) -> None:
    accepted = 0
    for path in real_files:
        plain, ruled = both_ways(path.read_bytes())
        if plain is not None:
            accepted += 1
            assert_same(plain, ruled, path)
    assert accepted > 40  # else nothing was compared


LINES = st.sampled_from(
    [b'[Event "x"]', b'[Site "y"]', b'[Event "{"]', b"1. e4 e5", b"1-0", b"*", b"", b"", b"", b" ",
     b" 0-1", b"{ open", b"shut }", b"{ whole }", b"; remark {", b"% escape }", b"e4 ; }",
     b"[%clk]", b'[Event "x"] [Site "y"]', b'1-0 [Event "z"]', b"\t[", b'  [Event "w"]',
     b"text", b"\r"]
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=250)
@given(st.lists(LINES, max_size=14), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_fast_path_and_rules_agree_wherever_the_first_accepts(
    lines: list[bytes], line_end: bytes, begins_plainly: bool
) -> None:
    text = (ONE if begins_plainly else b"") + line_end.join(lines)
    if text:
        plain, ruled = both_ways(text)
        if plain is not None:
            assert_same(plain, ruled, text)


@settings(deadline=None, derandomize=True, max_examples=250)
@given(st.lists(LINES, max_size=14), st.integers(1, 60))
def test_block_size_does_not_change_the_games_of_odd_texts(
    lines: list[bytes], block_bytes: int
) -> None:
    text = ONE + b"\n" + b"\n".join(lines) + b"\n" + TWO

    def found(size: int) -> list[tuple[int, int, int]]:
        return [
            (block.offset + int(start), block.offset + int(movetext), int(line))
            for block in scan_blocks(io.BytesIO(text), block_bytes=size)
            for start, movetext, line in zip(
                block.starts, block.movetexts, block.lines, strict=True
            )
        ]

    assert found(block_bytes) == found(1 << 20)


# Where a game begins, by hand


def test_no_blank_line_between_games(scan_games: ScanGames) -> None:
    assert events(scan_games(ONE + TWO)) == ["one", "two"]


def test_no_blank_line_between_tags_and_moves(scan_games: ScanGames) -> None:
    text = b'[Event "one"]\n[White "W"]\n1. e4 1-0\n[Event "two"]\n1. d4 0-1\n'
    games = scan_games(text)
    assert events(games) == ["one", "two"]
    assert [game.movetext for game in games] == [b"1. e4 1-0\n", b"1. d4 0-1\n"]


def test_game_behind_a_result_on_the_same_line(scan_games: ScanGames) -> None:
    games = scan_games(ONE.rstrip() + b" " + TWO)
    assert events(games) == ["one", "two"]
    assert [game.line for game in games] == [1, 5]


def test_files_joined_without_line_break(scan_games: ScanGames) -> None:
    assert events(scan_games(ONE.rstrip() + TWO)) == ["one", "two"]


def test_whole_games_on_one_line(scan_games: ScanGames) -> None:
    line = b'[Event "%s"] [White "W"] 1. e4 e5 1-0 '
    assert events(scan_games(line % b"one" + line % b"two" + line % b"three")) == [
        "one", "two", "three",
    ]  # fmt: skip


def test_event_tag_behind_another_tag_begins_a_game(scan_games: ScanGames) -> None:
    text = b'[Event "one"]\n[Result "1-0"][Event "two"]\n\n1. e4 *\n'
    assert events(scan_games(text)) == ["one", "two"]


def test_event_in_running_text_begins_nothing(scan_games: ScanGames) -> None:
    text = HEAD % b"one" + b'1. e4 e5 see [Event "no"] 2. d4 1-0\n'
    assert events(scan_games(text)) == ["one"]


def test_several_blank_lines_anywhere(scan_games: ScanGames) -> None:
    text = b"\n\n\n" + ONE.replace(b"\n\n", b"\n\n\n\n") + b"\n\n\n\n" + TWO + b"\n\n\n"
    assert events(scan_games(text)) == ["one", "two"]


def test_blank_line_inside_the_movetext(scan_games: ScanGames) -> None:
    games = scan_games(HEAD % b"one" + b"1. e4 e5\n\n2. d4 d5\n\n3. c4 1-0\n\n" + TWO)
    assert events(games) == ["one", "two"]
    assert games[0].movetext.split() == b"1. e4 e5 2. d4 d5 3. c4 1-0".split()


def test_games_without_tags_are_parted_by_result_and_blank_line(scan_games: ScanGames) -> None:
    games = scan_games(b"1. e4 e5 1-0\n\n1. d4 d5 0-1\n\n1. c4 *\n")
    assert [game.movetext.split()[1] for game in games] == [b"e4", b"d4", b"c4"]
    assert [game.line for game in games] == [1, 3, 5]


def test_header_without_moves_before_another_header(scan_games: ScanGames) -> None:
    games = scan_games(b'[Event "one"]\n[White "W"]\n\n' + TWO)
    assert events(games) == ["one", "two"]
    assert games[0].movetext == b""


def test_header_with_a_blank_line_inside_is_one_game(scan_games: ScanGames) -> None:
    games = scan_games(b'[Event "one"]\n\n[White "W"]\n\n1. e4 *\n')
    assert [game.tags for game in games] == [{"Event": "one", "White": "W"}]


def test_unclosed_comment_costs_one_game(scan_games: ScanGames) -> None:
    games = scan_games(HEAD % b"one" + b"1. e4 { never closed e5 1-0\n\n" + TWO + b"\n" + ONE)
    assert events(games) == ["one", "two", "one"]


def test_tag_line_inside_a_comment_begins_nothing(scan_games: ScanGames) -> None:
    comment = b'1. e4 { he wrote\n[Event "no"]\n[White "no"]\nand went } e5 1-0\n\n'
    games = scan_games(HEAD % b"one" + comment + TWO)
    assert events(games) == ["one", "two"]
    assert games[0].tags["White"] == "W"


def test_event_tag_after_a_blank_line_ends_even_a_closed_comment(scan_games: ScanGames) -> None:
    # The price of rule 3: the closing brace that comes later cannot be known to belong here.
    comment = b'1. e4 { he wrote\n\n[Event "no"]\nand went } e5 1-0\n'
    assert events(scan_games(HEAD % b"one" + comment)) == ["one", "no"]


def test_brace_in_a_remark_opens_nothing(scan_games: ScanGames) -> None:
    text = HEAD % b"one" + b"1. e4 ; best {\ne5 1-0\n" + TWO
    assert events(scan_games(text)) == ["one", "two"]


def test_remark_lines_begin_nothing(scan_games: ScanGames) -> None:
    text = b'% [Event "no"]\n;[Event "no"]\n' + ONE + b'\n%[Event "no"]\n' + TWO
    assert events(scan_games(text)) == ["one", "two"]


def test_remark_between_tags_is_no_part_of_them(scan_games: ScanGames) -> None:
    text = b'[Event "one"]\n; [White "no"]\n% 5\n[White "W"]\n\n1. e4 *\n'
    assert [game.tags for game in scan_games(text)] == [{"Event": "one", "White": "W"}]


def test_indented_tags_are_tags(scan_games: ScanGames) -> None:
    text = b'  [Event "one"]\n\t[White "W"]\n\n1. e4 *\n'
    assert [game.tags for game in scan_games(text)] == [{"Event": "one", "White": "W"}]


def test_forfeits_with_indented_results(scan_games: ScanGames) -> None:
    games = scan_games((HEAD % b"one") + b" 0-1\n\n" + HEAD % b"two" + b" 1-0\n")
    assert [game.movetext.strip() for game in games] == [b"0-1", b"1-0"]


# Line ends and encodings


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_do_not_matter(scan_games: ScanGames, line_end: bytes) -> None:
    games = scan_games((ONE + b"\n" + TWO).replace(b"\n", line_end))
    assert events(games) == ["one", "two"]
    assert [game.line for game in games] == [1, 7]


def test_single_carriage_returns_are_said_not_to_be_verbatim() -> None:
    (block,) = scan_blocks(io.BytesIO(ONE.replace(b"\n", b"\r")))
    assert not block.verbatim
    assert block.text == ONE


def test_byte_order_mark_is_skipped(scan_games: ScanGames) -> None:
    assert events(scan_games(b"\xef\xbb\xbf" + ONE)) == ["one"]


def test_byte_order_mark_counts_in_the_offset() -> None:
    (block,) = scan_blocks(io.BytesIO(b"\xef\xbb\xbf" + ONE))
    assert block.offset == 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(encoding: str) -> None:
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    data = mark + ONE.decode().encode(encoding)
    with pytest.raises(BadBytesError, match="UTF-16"):
        list(scan_blocks(io.BytesIO(data)))


# Sizes


@pytest.mark.parametrize("text", [b"", b"\n", b"\n\n \n\t\n\r\n", b"\xef\xbb\xbf", b"% only\n"])
def test_nothing_in_nothing_out(scan_games: ScanGames, text: bytes) -> None:
    assert scan_games(text) == []


def test_lone_line_of_five_megabytes_is_one_game(scan_games: ScanGames) -> None:
    line = b"x" * (5 << 20)
    (game,) = scan_games(line)
    assert game.movetext == line


def test_game_behind_a_line_of_five_megabytes_is_found(scan_games: ScanGames) -> None:
    games = scan_games(b"{" + b"x" * (5 << 20) + b"} 1-0\n\n" + TWO)
    assert events(games) == [None, "two"]


def test_stretch_that_is_too_long_is_cut_but_not_lost(
    monkeypatch: pytest.MonkeyPatch, scan_games: ScanGames
) -> None:
    monkeypatch.setattr(scan, "MAX_GAME_BYTES", 1_000)
    line = b"1. e4 {" + b"x" * 5_000 + b"} 1-0\n\n"
    games = scan_games(line + TWO, 100)
    assert sum(len(game.movetext) for game in games[:-1]) == len(line)
    assert events(games)[-1] == "two"


@pytest.mark.parametrize(
    "text",
    [
        b"Some prose without any moves.\n\n" * 20_000,
        b'[Event "x"] [Site "y"] 1. e4 e5 1-0 ' * 15_000,
        b'[Event "x"]\n\n1. e4 {' + b'[Site "x"]\ntext\n' * 30_000,
        b'[Event "x"]\n\n1. e4 {' + b'[Event "x"]\ntext\n' * 30_000,
    ],
    ids=["prose", "one line", "open comment", "open comment with events"],
)
def test_each_byte_is_looked_at_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    looked_at = 0
    real = comment_is_open

    def counting(game: bytes, **options: bool) -> bool:
        nonlocal looked_at
        looked_at += len(game)
        return real(game, **options)

    monkeypatch.setattr(boundaries, "comment_is_open", counting)
    find_games(text)
    assert looked_at <= len(text)


# Comments


@pytest.mark.parametrize(
    ("game", "is_open"),
    [
        (b"1. e4 {a} e5", False),
        (b"1. e4 {a", True),
        (b"1. e4 {a} {b", True),
        (b"1. e4 ; {\ne5", False),
        (b"1. e4 {a ; b } e5", False),
        (b"1. e4 {a\n% } e5", False),
        (b"% {\n1. e4", False),
        (b'[White "{"]\n1. e4', False),
        (b"1. e4 } e5 {", True),
        (b"1. e4 { { } e5", False),  # comments do not nest
        (b"1. e4 {a ; b} e5 ; c {", False),  # the second remark stands outside
    ],
)
def test_comment_is_open(game: bytes, is_open: bool) -> None:
    assert comment_is_open(game) is is_open


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(LINES, max_size=10), st.lists(LINES, max_size=10))
def test_comment_state_can_be_carried_from_part_to_part(
    first: list[bytes], second: list[bytes]
) -> None:
    head, tail = (b"".join(line + b"\n" for line in part) for part in (first, second))
    assert comment_is_open(tail, inside=comment_is_open(head)) == comment_is_open(head + tail)


@given(
    st.binary(max_size=30).map(lambda data: bytes(b"{} a"[byte % 4] for byte in data)), st.data()
)
def test_open_braces_sought_from_behind_are_those_of_all_braces(
    text: bytes, data: st.DataObject
) -> None:
    places = st.lists(st.integers(0, len(text)), min_size=1, max_size=5).map(sorted)
    positions = np.array(data.draw(places), dtype=np.int64)
    letters = np.frombuffer(text, dtype=np.uint8)
    is_open = boundaries._brace_open(letters, positions).any()
    assert boundaries._any_brace_open(text, positions) == is_open
