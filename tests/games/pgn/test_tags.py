"""Tags: `parse_tags` by hand, `code_tags` against it and against python-chess."""

from __future__ import annotations

import io
from pathlib import Path

import chess.pgn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.games.pgn.blocks import scan_blocks
from milepost.games.pgn.coded import decode, spread
from milepost.games.pgn.tags import TAG_COLUMNS, code_tags, parse_tags


def columns_by_game(data: bytes, **options: int) -> list[dict[str, str]]:
    """The tags of each game as `code_tags` gives them, without the missing ones."""
    found = []
    for block in scan_blocks(io.BytesIO(data), **options):
        columns, _ = code_tags([block])
        found += [
            {name: value for name, value in row.items() if value is not None}
            for row in spread(columns).to_dicts()
        ]
    return found


def parsed_by_game(data: bytes) -> list[dict[str, str]]:
    """The tags of each game as `parse_tags` gives them, those with a column."""
    found = []
    for block in scan_blocks(io.BytesIO(data)):
        for start, end in zip(block.starts, block.movetexts, strict=True):
            tags, _ = parse_tags(block.text[start:end])
            found.append({name: tags[name] for name in TAG_COLUMNS if name in tags})
    return found


def test_columns_are_the_headers_of_python_chess(real_files: list[Path]) -> None:
    for path in real_files:
        raw = path.read_bytes()
        handle = io.StringIO(raw.decode("utf-8"))
        truth = []
        while (headers := chess.pgn.read_headers(handle)) is not None:
            truth.append({name: headers[name] for name in TAG_COLUMNS if name in headers})
        assert columns_by_game(raw) == truth, path


def test_columns_do_not_depend_on_the_block_size(real_files: list[Path]) -> None:
    for path in real_files[::4]:
        raw = path.read_bytes()
        assert columns_by_game(raw, block_bytes=3_000) == columns_by_game(raw), path


NAMES = st.sampled_from([*TAG_COLUMNS, "Eventx", "ECO", "White_", "Annotator"])
VALUES = st.one_of(
    st.sampled_from([b"", b"?", b'say "hi"', b"back\\slash", b'esc \\" aped', b"a\\", b"[x]", b"]",
                     b"Jos\xe9", b"Jos\xc3\xa9", b"\xff", b" padded ", b"{", b"a  b"]),
    st.binary(max_size=6).map(lambda value: value.replace(b"\n", b"").replace(b"\r", b"")),
)  # fmt: skip
TAG_LINES = st.one_of(
    st.builds(lambda name, value: b'[%s "%s"]' % (name.encode(), value), NAMES, VALUES),
    st.builds(
        lambda name, value, form: form % (name.encode(), value),
        NAMES,
        VALUES,
        st.sampled_from(
            [b'[%s  "%s"]', b'[%s\t"%s"]', b'[%s "%s" ]', b'[%s "%s"] ', b'[%s "%s"', b"[%s %s]",
             b'[%s "%s"] [Round "7"]', b'[%s"%s"]', b'[%s "%s"]\r', b"[%s%s"]
        ),
    ),
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.lists(TAG_LINES, max_size=5), min_size=1, max_size=3),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"\n1. e4 e5 1-0\n\n", b"1. e4 1-0\n", b"", b"\n"]),
    st.integers(0, 12),
)
def test_columns_are_what_parse_tags_gives(
    games: list[list[bytes]], line_end: bytes, behind: bytes, cut: int
) -> None:
    data = b"".join(
        line_end.join([b'[Event "x"]', *lines, behind.replace(b"\n", line_end)]) for lines in games
    )
    data = data[: len(data) - cut]
    assert columns_by_game(data) == parsed_by_game(data)


@pytest.mark.parametrize("name", [name for name in TAG_COLUMNS if name != "Event"])
@pytest.mark.parametrize("rest", ["", " ", ' "', ' ""', ' ""]', ' "x"]'])
def test_columns_of_a_header_cut_at_the_end_of_the_file(name: str, rest: str) -> None:
    data = f'[Event "x"]\n[{name}{rest}'.encode()
    assert columns_by_game(data) == parsed_by_game(data)


def test_tag_that_cannot_be_read_is_reported_by_game() -> None:
    good, bad = b'[Event "x"]\n\n1. e4 *\n\n', b'[Event "y"]\n[Site "unclosed\n\n1. e4 *\n\n'
    block = next(scan_blocks(io.BytesIO(good + bad + good)))
    _, doubts = code_tags([block])
    assert doubts == {1: ['unreadable tag: [Site "unclosed']}


def test_columns_of_some_names_only() -> None:
    (block,) = scan_blocks(io.BytesIO(b'[Event "x"]\n[Site "s"]\n[Round "3"]\n\n1. e4 *\n'))
    columns, _ = code_tags([block], ["Round", "White"])
    assert spread(columns).to_dict(as_series=False) == {"Round": ["3"], "White": [None]}


def test_several_tags_on_a_line() -> None:
    assert parse_tags(b'[Event "x"] [Site "y"][Round "3"]\n') == (
        {"Event": "x", "Site": "y", "Round": "3"},
        [],
    )


def test_tag_given_twice_has_its_last_value() -> None:
    assert parse_tags(b'[White "a"]\n[White "b"]\n')[0] == {"White": "b"}


def test_bare_quotes_in_a_value() -> None:
    assert parse_tags(b'[Event "The "Big" One"]')[0] == {"Event": 'The "Big" One'}


def test_bracket_in_a_value() -> None:
    assert parse_tags(b'[Event "a] b"] [Site "y"]')[0] == {"Event": "a] b", "Site": "y"}


def test_escapes_are_kept_as_they_stand() -> None:
    assert parse_tags(b'[Event "a \\"b\\""]')[0] == {"Event": 'a \\"b\\"'}


@pytest.mark.parametrize("line", ['[White "a', "[White a]", '[White"a"]', "[White]", '[We st "a"]'])
def test_line_that_is_no_tag_pair_is_said_to_be_unreadable(line: str) -> None:
    assert parse_tags(line.encode()) == ({}, [f"unreadable tag: {line}"])


def test_remarks_between_tags_are_passed_over() -> None:
    assert parse_tags(b'[Event "x"]\n% nothing\n; nothing\n[Site "y"]\n') == (
        {"Event": "x", "Site": "y"},
        [],
    )


def test_each_value_is_utf8_or_else_latin1() -> None:
    header = b'[White "J\xf3zsef"]\n[Black "J\xc3\xb3zsef"]\n'
    assert parse_tags(header)[0] == {"White": "József", "Black": "József"}
    assert columns_by_game(b'[Event "x"]\n' + header) == [
        {"Event": "x", "White": "József", "Black": "József"}
    ]


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_text_survives_decoding(text: str) -> None:
    assert decode(text.encode()) == text


@settings(deadline=None, derandomize=True)
@given(st.binary())
def test_any_bytes_can_be_decoded_and_encoded_again(value: bytes) -> None:
    text = decode(value)
    assert decode(text.encode("utf-8")) == text
