"""From inputs to a table, in memory or in a file: what the commands call, and scripts can."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.files import STDOUT, TableWriter, format_of, provenance, read_table
from milepost.games.chunks import Chunk
from milepost.games.loading import are_tables, load_games, table_inputs
from milepost.games.mapping import results_of_table
from milepost.games.players import find_players
from milepost.games.reading import read_chunk
from milepost.games.results import HEADER_BATCH, are_named, read_headers, results_of_games
from milepost.games.sources import Source, find_sources
from milepost.games.stream import GameStream, Summary
from milepost.games.turns import BOOK_MOVES, attach_games, replay
from milepost.games.work import Frames, Progress, Report, WorkFolder, run_tasks, source_identity
from milepost.tables import ERRORS, GAMES, RESULTS, TURNS, as_frame

Inputs = Iterable[str | Path]
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
        _write(target, TURNS.empty(), _turns(stream), stream, made)
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
        frames = _results(stream, require_moves=require_moves)
        _write(target, RESULTS.empty(), frames, stream, made)
    return stream.summary


def read_games(inputs: Inputs, **options: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read PGN into memory.

    Parameters
    ----------
    inputs
        Files, folders, patterns; see `milepost.games.sources.find_sources`.
    **options
        As for `milepost.games.stream.GameStream`. With more than one worker, the calling script
        needs the usual ``if __name__ == "__main__"``.

    Returns
    -------
    games, errors
        See `milepost.tables.GAMES` and `milepost.tables.ERRORS`.
    """
    with GameStream(inputs, read_chunk, **options) as stream:
        return pl.concat([GAMES.empty(), *map(_in_order, stream.frames())]), stream.all_errors()


def read_results(
    inputs: Inputs, *, mapping: Mapping[str, str] | None = None, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read results into memory from PGN headers or tables; see `write_results`."""
    sources = find_sources(inputs)
    if are_tables(sources):
        results, errors, _ = _results_of_tables(sources, mapping, options)
        return results, errors
    options = {"batch_games": HEADER_BATCH, **options}
    with GameStream(inputs, read_headers, **options) as stream:
        frames = _results(stream, require_moves=False)
        return pl.concat([RESULTS.empty(), *frames]), stream.all_errors()


def read_turns(
    inputs: Inputs, *, book_moves: int = BOOK_MOVES, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the turns of PGN games into memory; see `read_games`."""
    with GameStream(inputs, TurnsReader(book_moves), **options) as stream:
        return pl.concat([TURNS.empty(), *_turns(stream)]), stream.all_errors()


@dataclass(frozen=True)
class TurnsReader:
    """Reads a chunk and replays its games."""

    book_moves: int

    def __call__(self, chunk: Chunk) -> Frames:
        """Return the tables of `read_chunk` and `turns`."""
        return read_chunk(chunk, book_moves=self.book_moves)


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


def _turns(stream: GameStream) -> Iterator[pl.DataFrame]:
    for piece in stream.pieces():
        rows = piece.kept.arg_true().cast(pl.Int32)
        replayed = piece.frames("turns").filter(pl.col("row").is_in(rows.implode()))
        yield attach_games(replayed, piece.games)


def _results(stream: GameStream, *, require_moves: bool) -> Iterator[pl.DataFrame]:
    for games in stream.frames():
        stream.summary.findings["no moves"] += int((games["full_moves"] == 0).sum())
        kept = games.filter(pl.col("full_moves") > 0) if require_moves else games
        results = results_of_games(kept)
        unnamed = int((~are_named(kept)).sum())
        stream.summary.findings["no name"] += unnamed
        stream.summary.findings["no result"] += max(0, len(kept) - len(results) - unnamed)
        stream.summary.findings["no date"] += results["time"].null_count()
        stream.summary.kept += len(results) - len(games)
        yield results


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
    results, errors, summary = _results_of_tables(sources, mapping, options)
    if shown["require_moves"]:
        results = results.filter(pl.col("full_moves").fill_null(1) > 0)
    with TableWriter(target.output, results.clear(), form=target.form, made=made) as writer:
        writer.write(results)
    summary.kept = summary.rows = len(results)
    summary.findings["no date"] = results["time"].null_count()
    write_errors(target, [errors])
    return summary


def _results_of_tables(
    sources: list[Source], mapping: Mapping[str, str] | None, options: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame, Summary]:
    """Read results from tables, with the players' keys."""
    games_columns = {"white", "black", "result", "moves"}
    frames = [(source.name, read_table(source.name)) for source in sources]
    if not mapping and all(games_columns <= set(frame.columns) for _, frame in frames):
        games, summary, errors = load_games(
            sources,
            aliases=options.get("aliases"),
            keep_duplicates=options.get("keep_duplicates", False),
        )
        results = results_of_games(games)
        unnamed = int((~are_named(games)).sum())
        summary.findings["no name"] = unnamed
        summary.findings["no result"] = max(0, len(games) - len(results) - unnamed)
        return results, errors, summary
    if options.get("keep_duplicates"):
        raise InputError("--keep-duplicates is for games: rows of other tables are all kept")
    if options.get("keep_names") and options.get("aliases") is not None:
        raise InputError("--keep-names leaves the names as they are: give no --aliases with it")
    pieces, refused = [], [ERRORS.empty()]
    for name, frame in frames:
        found, bad = results_of_table(frame, mapping, source=name)
        pieces.append(found)
        errors = bad.select(
            pl.lit("unreadable").alias("kind"),
            pl.lit(name).alias("source"),
            pl.col("row").cast(pl.Int64).alias("line"),
            "reason",
        )
        refused.append(ERRORS.conform(errors).select(ERRORS.names))
    results = pl.concat(pieces, how="vertical_relaxed")
    summary = Summary(files=len(sources))
    if not options.get("keep_names", False):
        pairs = results.select(pl.col("player_1").alias("white"), pl.col("player_2").alias("black"))
        players = find_players(pairs, aliases=options.get("aliases"))
        key_of = dict(players.select("spelling", "key").iter_rows())
        results = results.with_columns(pl.col("player_1", "player_2").replace(key_of))
        summary.joined = len(players.filter(pl.col("joined_by") == "alias"))
    both = pl.concat([results["player_1"], results["player_2"].alias("player_1")])
    summary.players = both.n_unique()
    all_refused = pl.concat(refused)
    if len(all_refused) and not len(results):
        first = all_refused["reason"][0]
        raise InputError(
            f"none of the {len(all_refused):,} rows can be used; the first: {first} (see --map)"
        )
    summary.games = len(results) + len(all_refused)
    summary.findings["unreadable"] = len(all_refused)
    return results, all_refused, summary


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
    report: Report | None = options.get("report")
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
            if report:
                report(Progress(done, len(games), done))
    summary.rows = writer.rows
    write_errors(target, [errors])
    folder.remove()
    return summary


def _in_order(games: pl.DataFrame) -> pl.DataFrame:
    return games.select(GAMES.names)


def _shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that change the output, for the provenance."""
    hidden = {"workers", "report", "aliases", "batch_games"}
    shown = {name: value for name, value in options.items() if name not in hidden}
    if options.get("aliases") is not None:
        table = as_frame(options["aliases"]).write_csv()
        shown["aliases"] = hashlib.sha256(table.encode("utf-8")).hexdigest()
    return shown
