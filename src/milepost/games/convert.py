"""From inputs to a table, in memory or in a file: what the commands call, and scripts can."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.load import (
    Inputs,
    TurnsReader,
    load_games,
    results_of_stream,
    results_of_tables,
    turns_of_stream,
)
from milepost.games.pgn.readers import HEADER_BATCH, read_chunk, read_headers
from milepost.games.stream import GameStream, Summary
from milepost.games.turns.replay import BOOK_MOVES, attach_games, replay
from milepost.io.files import STDOUT, TableWriter, format_of
from milepost.io.progress import Progress, Report
from milepost.io.provenance import provenance, table_inputs
from milepost.io.sources import Source, are_tables, find_sources
from milepost.io.work import Frames, WorkFolder, run_tasks, source_identity
from milepost.tables import ERRORS, GAMES, RESULTS, TURNS, as_frame

_ROWS_A_TASK = 500


@dataclass(frozen=True)
class Target:
    """Where a command writes."""

    output: str
    """The table; ``-`` is standard output."""
    form: str | None = None
    """Its format, if the ending does not say it."""
    errors: str | None = None
    """The errors table; if not given, it lies beside the output and is written only if needed."""

    def __post_init__(self) -> None:
        # Before any work: an hour of reading must not end at a name that cannot be written.
        format_of(self.output, self.form)
        if self.errors is not None:
            format_of(self.errors)

    @property
    def errors_path(self) -> str | None:
        """Where the errors table goes."""
        if self.errors is not None or self.output == STDOUT:
            return self.errors
        return str(Path(self.output).with_suffix("")) + ".errors.csv"


def write_games(inputs: Inputs, target: Target, **options: Any) -> Summary:
    """Read PGN and write the games table; options as for `milepost.games.stream.GameStream`."""
    with GameStream(inputs, read_chunk, output=target.output, **options) as stream:
        made = provenance("games", _shown(options), stream.inputs)
        _write(target, GAMES.empty(), stream.frames(), stream, made)
    return stream.summary


def write_turns(
    inputs: Inputs, target: Target, *, book_moves: int = BOOK_MOVES, **options: Any
) -> Summary:
    """Read PGN or a games table and write the turns table."""
    sources = find_sources(inputs)
    shown = {"book_moves": book_moves, **_shown(options)}
    if are_tables(sources):
        return _write_turns_of_tables(sources, target, book_moves, shown, options)
    read = TurnsReader(book_moves)
    with GameStream(inputs, read, output=target.output, **options) as stream:
        made = provenance("turns", shown, stream.inputs)
        _write(target, TURNS.empty(), turns_of_stream(stream), stream, made)
    return stream.summary


def write_results(
    inputs: Inputs,
    target: Target,
    *,
    mapping: Mapping[str, str] | None = None,
    require_moves: bool = False,
    **options: Any,
) -> Summary:
    """Read PGN headers, a games table or any table with a mapping, and write the results table.

    Options as for `milepost.games.stream.GameStream`; for tables also `keep_names`, which leaves
    the players' names as they are.
    """
    sources = find_sources(inputs)
    shown = {"map": dict(mapping or {}), "require_moves": require_moves, **_shown(options)}
    if are_tables(sources):
        return _write_results_of_tables(sources, target, mapping, shown, options)
    if mapping:
        raise InputError("--map is for tables; PGN headers need no mapping")
    if options.pop("keep_names", False):
        raise InputError("--keep-names is for tables; the names of PGN headers are always resolved")
    options = {"batch_games": HEADER_BATCH, **options, "workers": 1}
    with GameStream(inputs, read_headers, output=target.output, **options) as stream:
        made = provenance("results", shown, stream.inputs)
        frames = results_of_stream(stream, require_moves=require_moves)
        _write(target, RESULTS.empty(), frames, stream, made)
    return stream.summary


@dataclass(frozen=True)
class _Rows:
    """Some rows of a games table, as a task."""

    number: int
    games: pl.DataFrame


@dataclass(frozen=True)
class _RowsReplayer:
    book_moves: int

    def __call__(self, rows: _Rows) -> Frames:
        return {"turns": attach_games(replay(rows.games, book_moves=self.book_moves), rows.games)}


def _write(
    target: Target,
    empty: pl.DataFrame,
    frames: Iterable[pl.DataFrame],
    stream: GameStream,
    made: Mapping[str, Any],
) -> None:
    with TableWriter(target.output, empty, form=target.form, made=made) as writer:
        for frame in frames:
            writer.write(frame)
    stream.summary.rows = writer.rows
    write_errors(target, stream.errors())


def write_errors(target: Target, errors: Iterable[pl.DataFrame]) -> None:
    """Write the errors table if there is anything in it, or the user asked for it by name."""
    path = target.errors_path
    if path is None:
        return
    pieces = [frame for frame in errors if len(frame)]
    if pieces or target.errors is not None:
        with TableWriter(path, ERRORS.empty()) as writer:
            for frame in pieces:
                writer.write(frame)
    else:
        # One of an earlier run would be taken for this run's.
        Path(path).unlink(missing_ok=True)


def _write_results_of_tables(
    sources: list[Source],
    target: Target,
    mapping: Mapping[str, str] | None,
    shown: dict[str, Any],
    options: dict[str, Any],
) -> Summary:
    made = provenance("results", shown, table_inputs(sources))
    results, errors, summary = results_of_tables(sources, mapping, options)
    if shown["require_moves"]:
        results = results.filter(pl.col("full_moves").fill_null(1) > 0)
    with TableWriter(target.output, results.clear(), form=target.form, made=made) as writer:
        writer.write(results)
    summary.kept = summary.rows = len(results)
    summary.findings["no date"] = results["time"].null_count()
    write_errors(target, [errors])
    return summary


def _write_turns_of_tables(
    sources: list[Source],
    target: Target,
    book_moves: int,
    shown: dict[str, Any],
    options: dict[str, Any],
) -> Summary:
    games, summary, errors = load_games(
        sources,
        aliases=options.get("aliases"),
        keep_duplicates=options.get("keep_duplicates", False),
    )
    made = provenance("turns", shown, table_inputs(sources))
    identity = {"read": f"turns {shown}", "inputs": source_identity(sources)}
    folder = WorkFolder(target.output, identity)
    summary.resumed = folder.resumed
    progress: Report | None = options.get("progress")
    tasks = (
        _Rows(number, games[start : start + _ROWS_A_TASK])
        for number, start in enumerate(range(0, len(games), _ROWS_A_TASK))
    )
    done = 0
    workers = int(options.get("workers", 1))
    with TableWriter(target.output, TURNS.empty(), form=target.form, made=made) as writer:
        for task in run_tasks(tasks, _RowsReplayer(book_moves), folder, workers=workers):
            writer.write(folder.get(task.number, "turns"))
            done += len(task.games)
            if progress:
                progress(Progress(done, len(games), f"{done:,} games"))
    summary.rows = writer.rows
    write_errors(target, [errors])
    folder.remove()
    return summary


def _shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that change the output, for the provenance."""
    hidden = {"workers", "progress", "aliases", "batch_games"}
    shown = {name: value for name, value in options.items() if name not in hidden}
    if options.get("aliases") is not None:
        table = as_frame(options["aliases"]).write_csv()
        shown["aliases"] = hashlib.sha256(table.encode("utf-8")).hexdigest()
    return shown
