"""The compiled scan gives what the array operations give, on real files and on damaged ones."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games.pgn.test_blocks import LINES, ONE
from tests.games.pgn.test_mutated import DAMAGES

from milepost.games.pgn import blocks, scan_kernel
from milepost.games.pgn.blocks import Block, Reading, cut_chunks, scan_blocks
from milepost.games.pgn.boundaries import Found, find_games
from milepost.games.pgn.coded import spread
from milepost.games.pgn.movetext import last_move_numbers
from milepost.games.pgn.tags import HEADER_TAGS, code_tags
from milepost.io.sources import find_sources

NAME = scan_kernel.__name__
del sys.modules[NAME]  # else all other tests of this process would read with it


@contextmanager
def compiled(loaded: bool) -> Iterator[None]:
    """With or without the compiled scan, whoever has loaded it."""
    before = sys.modules.pop(NAME, None)
    if loaded:
        sys.modules[NAME] = scan_kernel
    try:
        yield
    finally:
        sys.modules.pop(NAME, None)
        if before is not None:
            sys.modules[NAME] = before


def facts(found: Found) -> list[Any]:
    arrays = (found.starts, found.movetexts, found.line_indexes, found.tag_starts, found.tag_ends)
    return [found.line_ends, *(None if each is None else each.tolist() for each in arrays)]


def headers(text: bytes) -> list[Any]:
    """All that a reader of headers takes from a text."""

    def of_block(block: Block) -> list[Any]:
        return [block.text, last_move_numbers(block).tolist(), *tags_of([block])]

    blocks = [*scan_blocks(io.BytesIO(text), block_bytes=40_000)]
    return [[of_block(block) for block in blocks], tags_of(blocks)]


def tags_of(blocks: list[Block]) -> list[Any]:
    columns, doubts = code_tags(blocks, HEADER_TAGS)
    return [spread(columns).to_dict(as_series=False), doubts]


def both(function: Callable[[bytes], list[Any]], text: bytes) -> list[Any]:
    answers = []
    for loaded in (True, False):
        with compiled(loaded):
            answers.append(function(text))
    assert answers[0] == answers[1], text
    return answers[0]


def test_headers_of_real_files_are_the_same(real_files: list[Path]) -> None:
    plain = 0
    for path in real_files:
        text = path.read_bytes()
        both(headers, text)
        plain += scan_kernel.scan_plain(np.frombuffer(text, dtype=np.uint8)) is not None
    assert plain > 40  # else nothing was compared


@pytest.mark.parametrize("damage", DAMAGES)
def test_headers_of_damaged_files_are_the_same(
    damage: Callable[[bytes, random.Random], bytes], bundled_data: Path
) -> None:
    text = (bundled_data / "sample" / "games.pgn").read_bytes()[:9_000]
    text += (bundled_data / "famous_games.pgn").read_bytes()[:3_000]
    for seed in range(60):
        both(headers, damage(text, random.Random(seed)))


@settings(deadline=None, derandomize=True, max_examples=250)
@given(st.lists(LINES, max_size=14), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_games_of_odd_texts_are_the_same(
    lines: list[bytes], line_end: bytes, begins_plainly: bool
) -> None:
    text = (ONE if begins_plainly else b"") + line_end.join(lines)
    both(lambda each: facts(find_games(each)), text)
    both(headers, text)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.text(alphabet="12. e4{}/-x_\n;(", max_size=60))
def test_last_numbers_are_the_same(movetext: str) -> None:
    both(headers, b'[Event "x"]\n\n1. e4 ' + movetext.encode("ascii") + b"\n\n" + ONE)


def test_scan_is_loaded_for_long_inputs_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(ONE)
    assert blocks.WORTH_BESIDE_NUMBA < blocks.WORTH_COMPILED
    with compiled(False):
        list(cut_chunks(find_sources([path]), Reading()))
        assert NAME not in sys.modules
        # Numba itself is there, so that less is enough.
        monkeypatch.setitem(sys.modules, "numba", sys)
        monkeypatch.setattr(blocks, "WORTH_BESIDE_NUMBA", 1)
        list(cut_chunks(find_sources([path]), Reading()))
        assert NAME in sys.modules
    with compiled(False), monkeypatch.context() as patched:
        patched.delitem(sys.modules, "numba")
        list(cut_chunks(find_sources([path]), Reading()))
        assert NAME not in sys.modules
