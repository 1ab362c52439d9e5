"""Documents drawn by hypothesis: valid PGN and tables by their grammar, with twists of all kinds.

Where bytes are damaged at random most damage is to letters of names; here every part of the
grammar is as likely to be odd as any other, and a failure is shrunk to its smallest form.
"""

from __future__ import annotations

import contextlib
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from studies.campaign.kinds import LostError, refusing
from studies.campaign.mutate import CELLS

Strategy = st.SearchStrategy[Any]

_NAMES = st.sampled_from(
    ["Event", "Site", "Date", "Round", "White", "Black", "Result", "WhiteElo", "BlackElo", "FEN",
     "Variant", "PlyCount", "UTCDate", "TimeControl", "X"]
)  # fmt: skip
_VALUES = st.one_of(
    st.sampled_from(
        ["?", "", "A", "2024.01.02", "10000.01.01", "????.??.??", "2800", "-1", "1-0", "1/2-1/2",
         "Chess960", "8/8/8/8/8/8/8/8 w - - 0 1", 'a\\"b', "x]y", "{", "0"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12),
)  # fmt: skip
_TAG = st.one_of(
    st.tuples(_NAMES, _VALUES).map(lambda pair: f'[{pair[0]} "{pair[1]}"]'),
    st.sampled_from(['[White "unclosed', "[White]", '[A "1"][B "2"]', "[%clk 0:01]", "["]),
)
_TOKEN = st.sampled_from(
    ["1.", "e4", "e5", "Nf3", "Nc6", "O-O", "0-0", "{c}", "{ open", "}", "(", ")", "(1. d4)", "$1",
     "; rest", "*", "1-0", "1/2-1/2", "--", "Qxh9", "e8=Q", "[%eval 1.5]", "{[%clk 1:00:00]}",
     "...", "\n", "\n\n", "\n%x\n", "\u00e9", "\ufeff", "1" * 400]
)  # fmt: skip


def pgn_documents() -> Strategy:
    """PGN files of some games, each with its own line ends."""
    game = st.tuples(
        st.lists(_TAG, max_size=6), st.lists(_TOKEN, max_size=14),
        st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(),
    ).map(_game)  # fmt: skip
    return st.lists(game, min_size=1, max_size=5).map(b"".join)


def _game(parts: tuple[list[str], list[str], str, bool]) -> bytes:
    tags, tokens, end, blank = parts
    text = "\n".join([*tags, ""]) + ("\n" if blank else "") + " ".join(tokens) + "\n\n"
    return text.replace("\n", end).encode("utf-8", "surrogatepass")


def result_tables() -> Strategy:
    """Frames with the columns of a results table, of any cells."""
    cell = st.one_of(
        st.sampled_from(CELLS), st.integers(-(2**40), 2**40), st.floats(), st.booleans(),
        st.text(max_size=5), st.lists(st.integers(0, 3), max_size=2),
    )  # fmt: skip
    usual = st.sampled_from([1, 0, 0.5, 2000, 2001, "A", "B", "C", "2001-02-03"])
    value = st.one_of(usual, usual, usual, cell)
    names = ["time", "player_1", "player_2", "score", "weight", "first_mover", "event"]
    needed, others = dict.fromkeys(names[:4], value), dict.fromkeys(names[4:], value)
    row = st.fixed_dictionaries(needed, optional=others)
    return st.lists(row, min_size=1, max_size=6).map(_frame)


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame | None:
    with contextlib.suppress(pl.exceptions.PolarsError, OverflowError, TypeError):
        return pl.DataFrame(rows, strict=False, infer_schema_length=None)
    return None


def read_document(data: bytes) -> None:
    """Both readers find the same games: what is not in the table is in the errors."""
    from milepost.games.load import read_games, read_results

    with tempfile.TemporaryDirectory() as folder, refusing():
        path = Path(folder) / "games.pgn"
        path.write_bytes(data)
        games, errors = read_games([path], keep_duplicates=True)
        _, header_errors = read_results([path], keep_duplicates=True)
        left_out = pl.col("kind").is_in(["unreadable", "variant"])
        found = len(games) + len(errors.filter(left_out))
        events = sum(line.startswith(b'[Event "') for line in _lines(data))
        if found < min(events, 1):
            raise LostError(f"{events} Event tags, {found} games or errors")
        for table in (errors, header_errors):
            if len(table) and table["reason"].str.contains("\n").any():
                raise LostError("a reason of several lines")


def _lines(data: bytes) -> list[bytes]:
    return data.replace(b"\r", b"\n").split(b"\n")


def read_frame(frame: pl.DataFrame | None) -> None:
    """Rows read and reported are all rows; a history of them is finite or refused."""
    from milepost.games.load import read_results
    from milepost.history import TTT, fit_history

    if frame is None:
        return
    with refusing():
        results, errors = read_results(frame)
        if len(results) + len(errors) != len(frame):
            raise LostError(f"{len(results)} read + {len(errors)} reported of {len(frame)} rows")
        curves = fit_history(results, TTT()).curves
        if not curves["mean"].is_finite().all():
            raise LostError("a mean that is no number")


DOCUMENTS: dict[str, tuple[Callable[[], Strategy], Callable[[Any], None]]] = {
    "pgn by grammar": (pgn_documents, read_document),
    "results by grammar": (result_tables, read_frame),
}


def try_documents(name: str, number: int, start: int) -> str | None:
    """Try so many drawn documents; returns the smallest failure, if there is one."""
    draw, read = DOCUMENTS[name]

    @seed(start)
    @settings(
        max_examples=number, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(draw())
    def trial(document: Any) -> None:
        read(document)

    try:
        trial()
    except Exception:
        return traceback.format_exc()
    return None
