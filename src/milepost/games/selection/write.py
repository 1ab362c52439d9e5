"""Select games from files: headers first, then only the moves of games that may be wanted."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.games.convert import Target, write_errors
from milepost.games.load import load_games
from milepost.games.pgn.blocks import Chunk
from milepost.games.pgn.readers import HEADER_BATCH, read_chunk, read_headers
from milepost.games.selection.criteria import Criteria, Selection, prefilter, select_games
from milepost.games.selection.events import event_kinds
from milepost.games.stream import GameStream, Summary
from milepost.io.files import TableWriter
from milepost.io.provenance import provenance, table_inputs
from milepost.io.sources import STDIN, are_tables, find_sources
from milepost.io.work import Frames
from milepost.tables import ERRORS, GAMES

_EVENT_COLUMNS = (
    "event", "year", "round", "white", "black", "white_key", "black_key", "white_team",
    "black_team",
)  # fmt: skip


@dataclass(frozen=True)
class WantedReader:
    """Reads the moves of some games of a chunk and passes over the others."""

    wanted: dict[str, frozenset[int]] = field(repr=False)
    """Lines where the wanted games begin, by name of the source."""

    def __call__(self, chunk: Chunk) -> Frames:
        """Return the tables of `read_chunk` for the wanted games."""
        lines = self.wanted.get(chunk.source, frozenset())
        return read_chunk(chunk, wanted=lines)


def write_selection(
    inputs: Iterable[str | Path],
    target: Target,
    criteria: Sequence[Criteria],
    **options: Any,
) -> tuple[Summary, list[Selection]]:
    """Choose games for every criterion and write them as one games table.

    Parameters
    ----------
    inputs
        PGN files or games tables.
    target
        Where to write.
    criteria
        One for each set. The table has the columns group, milepost, period and event_kind added.
    **options
        As for `milepost.games.stream.GameStream`.

    Returns
    -------
    summary, selections
    """
    with _files_only(inputs) as (names, spooled):
        sources = find_sources(names)
        if are_tables(sources):
            games, summary, found = load_games(
                sources,
                aliases=options.get("aliases"),
                keep_duplicates=options.get("keep_duplicates", False),
            )
            events = event_kinds(games)
            shown_inputs = table_inputs(sources)
            errors = [found]
        else:
            games, events, stream, errors = _wanted_games(names, target, criteria, options)
            summary, shown_inputs = stream.summary, stream.inputs
    if spooled is not None:
        # The file that standard input was put into has another name in each run.
        games, *errors = (_renamed(frame, spooled) for frame in (games, *errors))
        shown_inputs = [
            {**each, "name": STDIN} if each["name"] == spooled else each for each in shown_inputs
        ]
    selections = [select_games(games, each, events=events) for each in criteria]
    made = provenance("select", {"sets": [_shown(each) for each in criteria]}, shown_inputs)
    chosen = pl.concat([selection.games for selection in selections])
    with TableWriter(target.output, chosen.clear(), form=target.form, made=made) as writer:
        writer.write(chosen)
    write_errors(target, errors)
    summary.kept = summary.rows = len(chosen)
    return summary, selections


def _wanted_games(
    names: list[str], target: Target, criteria: Sequence[Criteria], options: dict[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame, GameStream, list[pl.DataFrame]]:
    header_options = {**options, "workers": 1, "batch_games": HEADER_BATCH}
    may_want = prefilter(criteria)
    wanted: dict[str, set[int]] = {}
    pieces = []
    with GameStream(names, read_headers, **header_options) as headers:
        for frame in headers.frames():
            pieces.append(frame.select(_EVENT_COLUMNS))
            chosen = frame.filter(may_want).select("source", "line")
            for source, line in chosen.iter_rows():
                wanted.setdefault(source, set()).add(line)
        repeated = _duplicates(headers.errors())
    events = event_kinds(pl.concat(pieces)) if pieces else event_kinds(GAMES.empty())
    read = WantedReader({name: frozenset(lines) for name, lines in wanted.items()})
    with GameStream(
        names,
        read,
        output=target.output,
        options={"wanted": {name: sorted(lines) for name, lines in wanted.items()}},
        players=headers.players,
        **options,
    ) as stream:
        games = pl.concat([GAMES.empty(), *(f.select(GAMES.names) for f in stream.frames())])
        errors = list(stream.errors())
    # Games left out by their headers never come to the second pass; those kept are told there.
    repeated = repeated.join(_duplicates(errors), on=["source", "line"], how="anti")
    errors.append(repeated)
    stream.summary.findings["duplicate"] += len(repeated)
    # What the headers showed of the whole input is the summary; the moves add what was broken.
    stream.summary.findings["variant"] = headers.summary.findings["variant"]
    return games, events, stream, errors


def _duplicates(errors: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([ERRORS.empty(), *errors]).filter(pl.col("kind") == "duplicate")


@contextmanager
def _files_only(inputs: Iterable[str | Path]) -> Iterator[tuple[list[str], str | None]]:
    """Put standard input into a file, since the input is gone through twice; return its name."""
    names = [str(item) for item in inputs]
    if STDIN not in names:
        yield names, None
        return
    with tempfile.TemporaryDirectory(prefix="milepost-") as folder:
        spooled = Path(folder) / "stdin.pgn"
        with spooled.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        yield [str(spooled) if name == STDIN else name for name in names], str(spooled)


def _renamed(frame: pl.DataFrame, spooled: str) -> pl.DataFrame:
    columns = [name for name in ("source", "reason") if name in frame.columns]
    return frame.with_columns(pl.col(columns).str.replace_all(spooled, STDIN, literal=True))


def _shown(criteria: Criteria) -> dict[str, Any]:
    plain = replace(criteria).__dict__.copy()
    for name in ("exclude", "only", "event_kinds"):
        plain[name] = sorted(plain[name])
    return plain
