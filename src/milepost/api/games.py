"""Games in: from PGN or tables to a table, in memory or in a file.

What is read into memory is returned with its errors table. What is written goes piece by piece to
the file that a `Target` names, beside it the errors table; an interrupted job goes on where it was.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.games.load import (
    TurnsReader,
    check_headers_options,
    list_players,
    read_games,
    read_results,
    read_tables,
    read_turns,
    results_of_stream,
    results_of_tables,
    settle_games,
    tables_or_pgn,
    turns_of_stream,
)
from milepost.games.pgn.blocks import Chunk
from milepost.games.pgn.readers import HEADER_BATCH, read_chunk, read_headers
from milepost.games.pgn.speeds import NOT_STANDARD
from milepost.games.players.lookalikes import likely_duplicates, pairs
from milepost.games.players.resolve import people
from milepost.games.results.from_table import parse_mapping
from milepost.games.results.standings import standings
from milepost.games.selection.criteria import (
    FIRST_YEAR,
    LAST_YEAR,
    Criteria,
    Selection,
    count_reasons,
    milepost_grid,
    parse_years,
    prefilter,
)
from milepost.games.selection.criteria import select_games as select_from
from milepost.games.selection.events import event_kinds
from milepost.games.stream import GameStream, Summary
from milepost.games.turns.replay import BOOK_MOVES, attach_games, replay
from milepost.io.files import TableWriter, format_of, read_table
from milepost.io.outputs import is_stream, refuse_inputs
from milepost.io.progress import Progress, Report
from milepost.io.provenance import provenance
from milepost.io.sources import STDIN, Inputs, Sources, find_sources, input_names
from milepost.io.work import Frames, WorkFolder, run_tasks, source_identity
from milepost.tables import ERRORS, GAMES, RESULTS, TURNS, as_frame

__all__ = [
    "FIRST_YEAR",
    "LAST_YEAR",
    "NOT_STANDARD",
    "Criteria",
    "Selection",
    "Summary",
    "Target",
    "likely_duplicates",
    "list_players",
    "milepost_grid",
    "pairs",
    "parse_mapping",
    "parse_years",
    "people",
    "read_games",
    "read_results",
    "read_turns",
    "select_games",
    "standings",
    "write_games",
    "write_results",
    "write_selection",
    "write_turns",
]

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
        if self.errors is not None or is_stream(self.output):
            return self.errors
        return str(Path(self.output).with_suffix("")) + ".errors.csv"

    def sources(self, inputs: Inputs) -> Sources:
        """Return the files that the inputs name.

        Raises
        ------
        OutputError
            If one of them is what shall be written.
        """
        sources = find_sources(inputs)
        for output in (self.output, self.errors):
            if output is not None:
                refuse_inputs(output, sources.paths)
        return sources

    @classmethod
    def of(cls, target: Target | str | Path) -> Target:
        """Return a target as it is, and that of a name."""
        return target if isinstance(target, Target) else cls(str(target))


def write_games(inputs: Inputs, target: Target | str | Path, **options: Any) -> Summary:
    """Read PGN with its moves, clocks and evaluations, and write the games table.

    Parameters
    ----------
    inputs
        Files, folders or patterns; see `milepost.io.sources.find_sources`.
    target
        Where to write.
    **options
        `aliases`, `keep_duplicates`, `workers`, `progress`: see `read_games`.

    Returns
    -------
    Summary
        What was found, in numbers.
    """
    target, options = Target.of(target), with_aliases(options)
    sources = target.sources(inputs)
    with GameStream(sources, read_chunk, output=target.output, **options) as stream:
        made = provenance("games", _shown(options), stream.inputs)
        _write(target, GAMES.empty(), stream.frames(), stream, made)
    return stream.summary


def write_turns(
    inputs: Inputs, target: Target | str | Path, *, book_moves: int = BOOK_MOVES, **options: Any
) -> Summary:
    """Read PGN or games tables and write the turns table.

    Parameters
    ----------
    inputs, target
        As in `write_games`.
    book_moves
        Moves a side that are marked as book.
    **options
        `aliases`, `keep_duplicates`, `workers`, `progress`: see `read_games`.
    """
    target, options = Target.of(target), with_aliases(options)
    sources = target.sources(inputs)
    shown = {"book_moves": book_moves, **_shown(options)}
    if sources.are_tables:
        return _write_turns_of_tables(sources, target, book_moves, shown, options)
    read = TurnsReader(book_moves)
    with GameStream(sources, read, output=target.output, **options) as stream:
        made = provenance("turns", shown, stream.inputs)
        _write(target, TURNS.empty(), turns_of_stream(stream), stream, made)
    return stream.summary


def write_results(
    inputs: Inputs,
    target: Target | str | Path,
    *,
    mapping: Mapping[str, str] | None = None,
    require_moves: bool = False,
    keep_names: bool = False,
    **options: Any,
) -> Summary:
    """Read who beat whom, and write the results table.

    Parameters
    ----------
    inputs, target
        As in `write_games`; PGN of which only the headers are read, games tables, or any tables.
    mapping, keep_names
        For tables: see `read_results`.
    require_moves
        Leave out games without moves (forfeits).
    **options
        `aliases`, `keep_duplicates`, `progress`: see `read_results`.
    """
    target, options = Target.of(target), with_aliases(options)
    sources = target.sources(inputs)
    shown = {
        "map": dict(mapping or {}),
        "require_moves": require_moves,
        **_shown({"keep_names": keep_names, **options}),
    }
    if sources.are_tables:
        return _write_results_of_tables(sources, target, mapping, shown, options)
    check_headers_options(mapping, keep_names=keep_names)
    options = {"batch_games": HEADER_BATCH, **options, "workers": 1}
    with GameStream(sources, read_headers, output=target.output, **options) as stream:
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
    _write_errors(target, stream.errors())


def _write_errors(target: Target, errors: Iterable[pl.DataFrame]) -> None:
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
    sources: Sources,
    target: Target,
    mapping: Mapping[str, str] | None,
    shown: dict[str, Any],
    options: dict[str, Any],
) -> Summary:
    made = provenance("results", shown, sources.about())
    results, errors, summary = results_of_tables(
        read_tables(sources),
        mapping,
        keep_names=shown["keep_names"],
        aliases=options.get("aliases"),
        keep_duplicates=options.get("keep_duplicates", False),
    )
    if shown["require_moves"]:
        results = results.filter(pl.col("full_moves").fill_null(1) > 0)
    with TableWriter(target.output, results.clear(), form=target.form, made=made) as writer:
        writer.write(results)
    summary.kept = summary.rows = len(results)
    summary.findings["no date"] = results["time"].null_count()
    _write_errors(target, [errors])
    return summary


def _write_turns_of_tables(
    sources: Sources,
    target: Target,
    book_moves: int,
    shown: dict[str, Any],
    options: dict[str, Any],
) -> Summary:
    games, summary, errors = settle_games(
        read_tables(sources),
        aliases=options.get("aliases"),
        keep_duplicates=options.get("keep_duplicates", False),
    )
    made = provenance("turns", shown, sources.about())
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
    _write_errors(target, [errors])
    folder.remove()
    return summary


def with_aliases(options: dict[str, Any]) -> dict[str, Any]:
    """Read the table of aliases among the options if it is named by its file."""
    aliases = options.get("aliases")
    if isinstance(aliases, str | Path):
        return {**options, "aliases": read_table(aliases)}
    return options


def _shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that change the output, for the provenance."""
    hidden = {"workers", "progress", "aliases", "batch_games"}
    shown = {name: value for name, value in options.items() if name not in hidden}
    if options.get("aliases") is not None:
        table = as_frame(options["aliases"]).write_csv()
        shown["aliases"] = hashlib.sha256(table.encode("utf-8")).hexdigest()
    return shown


_EVENT_COLUMNS = (
    "event", "year", "round", "white", "black", "white_key", "black_key", "white_team",
    "black_team",
)  # fmt: skip


def select_games(data: Inputs | Any, criteria: Criteria, **options: Any) -> Selection:
    """Choose the games of one set.

    Parameters
    ----------
    data
        PGN files, games tables, or a frame of games.
    criteria
        What belongs to the set.
    **options
        `aliases`, `keep_duplicates`, `workers`, `progress`: see `read_games`.

    Returns
    -------
    Selection
        With the games in the order in which they came, and how many each criterion has left out.
    """
    return _select(data, [criteria], None, with_aliases(options)).selections[0]


def write_selection(
    inputs: Inputs, target: Target | str | Path, criteria: Sequence[Criteria], **options: Any
) -> tuple[Summary, list[Selection]]:
    """Choose games for every criterion and write them as one games table.

    Parameters
    ----------
    inputs, target
        As in `write_games`; PGN or games tables.
    criteria
        One for each set. The table has the columns group, milepost, period and event_kind added.
    **options
        `aliases`, `keep_duplicates`, `workers`, `progress`: see `read_games`.

    Returns
    -------
    summary, selections
    """
    target = Target.of(target)
    with _files_only(inputs) as (sources, spooled):
        chosen = _select(target.sources(sources), criteria, target, with_aliases(options))
    selections, errors, about = chosen.selections, chosen.errors, chosen.inputs
    if spooled is not None:
        # The file that standard input was put into has another name in each run.
        selections = [replace(each, games=_renamed(each.games, spooled)) for each in selections]
        errors = [_renamed(frame, spooled) for frame in errors]
        about = [{**each, "name": STDIN} if each["name"] == spooled else each for each in about]
    made = provenance("select", {"sets": [_plain(each) for each in criteria]}, about)
    games = pl.concat([selection.games for selection in selections])
    with TableWriter(target.output, games.clear(), form=target.form, made=made) as writer:
        writer.write(games)
    _write_errors(target, errors)
    summary = chosen.summary
    summary.kept = summary.rows = len(games)
    return summary, selections


@dataclass(frozen=True)
class WantedReader:
    """Reads the moves of some games of a chunk and passes over the others."""

    wanted: dict[str, frozenset[int]] = field(repr=False)
    """Lines where the wanted games begin, by name of the source."""

    def __call__(self, chunk: Chunk) -> Frames:
        """Return the tables of `read_chunk` for the wanted games."""
        return read_chunk(chunk, wanted=self.wanted.get(chunk.source, frozenset()))


@dataclass(frozen=True)
class _Chosen:
    """What a selection has found, and on the way."""

    selections: list[Selection]
    summary: Summary
    errors: list[pl.DataFrame]
    inputs: list[dict[str, Any]]


def _select(
    data: Inputs | Any, criteria: Sequence[Criteria], target: Target | None, options: dict[str, Any]
) -> _Chosen:
    found = tables_or_pgn(data)
    if isinstance(found, Sources):
        return _select_from_pgn(found, criteria, target, options)
    keep = options.get("keep_duplicates", False)
    games, summary, errors = settle_games(
        found, aliases=options.get("aliases"), keep_duplicates=keep
    )
    games = games.drop("white_name", "black_name")
    events = event_kinds(games)
    before = {} if keep else {"duplicate": summary.findings["duplicate"]}
    selections = [_counting(select_from(games, each, events=events), before) for each in criteria]
    about = data.about() if isinstance(data, Sources) else []
    return _Chosen(selections, summary, [errors], about)


def _select_from_pgn(
    sources: Sources, criteria: Sequence[Criteria], target: Target | None, options: dict[str, Any]
) -> _Chosen:
    """Go through the headers first, then through the moves of games that may be wanted."""
    header_options = {**options, "workers": 1, "batch_games": HEADER_BATCH}
    may_want = prefilter(criteria).fill_null(False)
    wanted: dict[str, set[int]] = {}
    pieces = [GAMES.empty().select(_EVENT_COLUMNS)]
    unwanted = [_HeaderCounts(each) for each in criteria]
    with GameStream(sources, read_headers, **header_options) as headers:
        for frame in headers.frames():
            pieces.append(frame.select(_EVENT_COLUMNS))
            for source, line in frame.filter(may_want).select("source", "line").iter_rows():
                wanted.setdefault(source, set()).add(line)
            for counts in unwanted:
                counts.add(frame.filter(~may_want))
        repeated = _duplicates(headers.errors())
    events = event_kinds(pl.concat(pieces))
    read = WantedReader({name: frozenset(lines) for name, lines in wanted.items()})
    with GameStream(
        sources,
        read,
        output=None if target is None else target.output,
        options={"wanted": {name: sorted(lines) for name, lines in wanted.items()}},
        players=headers.players,
        **options,
    ) as stream:
        games = pl.concat([GAMES.empty(), *(f.select(GAMES.names) for f in stream.frames())])
        errors = list(stream.errors())
    keep = options.get("keep_duplicates", False)
    lost = _lost(headers, stream, sum(map(len, wanted.values())) - len(games), keep=keep)
    selections = []
    for each, counts in zip(criteria, unwanted, strict=True):
        selection = select_from(games, each, events=events)
        width = each.within if selection.within is None else selection.within
        selections.append(_counting(selection, lost, counts.by_width[width]))
    # Games left out by their headers never come to the second pass; those kept are told there.
    repeated = repeated.join(_duplicates(errors), on=["source", "line"], how="anti")
    errors.append(repeated)
    stream.summary.findings["duplicate"] += len(repeated)
    # What the headers showed of the whole input is the summary; the moves add what was broken.
    stream.summary.findings["variant"] = headers.summary.findings["variant"]
    stream.summary.nothing_read = headers.summary.nothing_read
    stream.summary.first_lost = headers.summary.first_lost
    return _Chosen(selections, stream.summary, errors, stream.inputs)


class _HeaderCounts:
    """Counts the games that one criterion leaves out by their headers alone."""

    def __init__(self, criteria: Criteria):
        self._criteria = criteria
        self.by_width: dict[int, dict[str, int]] = {width: {} for width in criteria.widths}

    def add(self, headers: pl.DataFrame) -> None:
        """Count some games; all of them are left out."""
        for width, counts in count_reasons(headers, self._criteria).items():
            known = self.by_width[width]
            for reason, count in counts.items():
                known[reason] = known.get(reason, 0) + count


def _lost(headers: GameStream, stream: GameStream, unread: int, *, keep: bool) -> dict[str, int]:
    """Games that no criterion has seen: duplicates, other variants, and what cannot be read."""
    duplicates = [0, 0] if keep else [
        each.summary.findings["duplicate"] for each in (headers, stream)
    ]  # fmt: skip
    variants = headers.summary.findings["variant"]
    behind_headers = headers.summary.games - headers.summary.kept
    return {
        "duplicate": sum(duplicates),
        "another variant": variants,
        "unreadable": behind_headers - duplicates[0] - variants + unread - duplicates[1],
    }


def _counting(selection: Selection, *before: Mapping[str, int]) -> Selection:
    """Return a selection that also counts the games that were left out before it was made."""
    counts: dict[str, int] = {}
    for left_out in (*before, selection.left_out):
        for reason, count in left_out.items():
            counts[reason] = counts.get(reason, 0) + count
    return replace(selection, left_out={name: count for name, count in counts.items() if count})


def _duplicates(errors: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([ERRORS.empty(), *errors]).filter(pl.col("kind") == "duplicate")


@contextmanager
def _files_only(inputs: Inputs) -> Iterator[tuple[Sources, str | None]]:
    """Put standard input into a file, since the input is gone through twice; return its name."""
    names = input_names(inputs)
    if STDIN not in names:
        yield find_sources(inputs), None
        return
    with tempfile.TemporaryDirectory(prefix="milepost-") as folder:
        spooled = Path(folder) / "stdin.pgn"
        with spooled.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        files = [str(spooled) if name == STDIN else name for name in names]
        yield find_sources(files), str(spooled)


def _renamed(frame: pl.DataFrame, spooled: str) -> pl.DataFrame:
    columns = [name for name in ("source", "reason") if name in frame.columns]
    return frame.with_columns(pl.col(columns).str.replace_all(spooled, STDIN, literal=True))


def _plain(criteria: Criteria) -> dict[str, Any]:
    plain = dict(vars(criteria))
    for name in ("exclude", "only", "event_kinds"):
        plain[name] = sorted(plain[name])
    return plain
