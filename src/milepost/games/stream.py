"""From PGN sources to tables of any length, in bounded memory: the one way all commands go.

First every stretch of the sources is read, in several processes, and its tables are kept in a work
folder; names are counted and duplicates found on the way. Then the games that are kept are handed
out, with their players' keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from milepost.games.duplicates import DuplicateFinder
from milepost.games.lost import LOST, first_lost
from milepost.games.pgn.blocks import (
    BATCH_BYTES,
    Batch,
    Chunk,
    Reading,
    cut_batches,
    cut_chunks,
)
from milepost.games.pgn.readers import NAME_ROWS, errors_table
from milepost.games.players.resolve import NameCounts, resolve_players, with_keys
from milepost.games.players.spellings import Spellings
from milepost.io.outputs import STDOUT
from milepost.io.progress import Report
from milepost.io.sources import Inputs, find_sources, plain_name
from milepost.io.work import Frames, WorkFolder, run_tasks, source_identity
from milepost.tables import ERRORS, PLAYERS

_WORTH_PROCESSES = 16 << 20
"""Bytes of PGN from which on several processes read faster than one."""
_PACKED = 6
"""So many times a packed file may well grow."""


@dataclass
class Summary:
    """What was found, in numbers."""

    files: int = 0
    """Files read."""
    games: int = 0
    """Games found in them."""
    kept: int = 0
    """Games in the output."""
    rows: int = 0
    """Rows of the output."""
    findings: Counter[str] = field(default_factory=Counter)
    """Games with something wrong, by the kind of it (see `milepost.tables.ERRORS`)."""
    players: int = 0
    """Different players."""
    joined: int = 0
    """Spellings that were joined to a player on evidence other than the spelling itself."""
    resumed: int = 0
    """Stretches of input that an earlier, interrupted run had done."""
    nothing_read: bool = False
    """Whether there was something in the input, but nothing of it could be read."""
    first_lost: str = ""
    """What could not be read first, with place and reason."""

    @property
    def lost(self) -> int:
        """Games that could not be read to their end, or not at all."""
        return sum(self.findings[kind] for kind in LOST)

    @property
    def errors_per_thousand(self) -> float:
        """Such games for each thousand games found."""
        return 1000.0 * self.lost / self.games if self.games else 0.0


@dataclass(frozen=True)
class Piece:
    """Some consecutive games, with the tables made of them."""

    games: pl.DataFrame
    """The games, duplicates included, with the players' keys."""
    kept: pl.Series
    """Which of them are kept."""
    frames: Callable[[str], pl.DataFrame]
    """Returns another table that was made of these games, by its name."""


class GameStream:
    """The games of some sources, to be gone through once; use it in a ``with`` statement."""

    def __init__(
        self,
        inputs: Inputs,
        read: Callable[[Any], Frames],
        *,
        output: str | Path | None = None,
        options: dict[str, Any] | None = None,
        aliases: Any = None,
        players: pl.DataFrame | None = None,
        keep_duplicates: bool = False,
        workers: int = 1,
        batch_games: int | None = None,
        progress: Report | None = None,
    ):
        """Prepare to read.

        Parameters
        ----------
        inputs
            See `milepost.io.sources.find_sources`.
        read
            A module-level function from a chunk (or a batch) to its tables, among them `games`
            and `errors`.
        output
            The file that is being made: the work folder lies beside it. `None` for games that are
            only read into memory.
        options
            Whatever changes what `read` returns.
        aliases
            See `milepost.games.players.resolve.find_players`.
        players
            The players table to take keys from, if it is not to be made of these games.
        keep_duplicates
            Report duplicate games, but keep them.
        workers
            Processes to read with.
        batch_games
            Read batches of so many games at a time; if not given, chunks.
        progress
            Called with the bytes of input that are dealt with.
        """
        self.sources = find_sources(inputs)
        self.summary = Summary()
        self.players = PLAYERS.empty() if players is None else players
        self._players_given = players is not None
        self._read = read
        self._aliases = aliases
        self._keep_duplicates = keep_duplicates
        self._workers = workers
        self._batch_games = batch_games
        self._reading = Reading(progress, digest=output is not None)
        name = getattr(read, "__name__", None) or repr(read)
        identity = {
            "read": name,
            "options": options,
            "batch": [batch_games, BATCH_BYTES],
            "inputs": source_identity(self.sources),
        }
        self._folder = WorkFolder(STDOUT if output is None else output, identity)
        self._tasks = 0
        self._dropped: dict[int, tuple[int, str]] = {}
        self._last: tuple[int, tuple[pl.DataFrame, Spellings]] | None = None

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Name, size and digest of each source, for the provenance."""
        return self._reading.inputs

    def __enter__(self) -> GameStream:
        try:
            self._gather()
        except BaseException:
            self._leave(failed=True)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(failed=kind is not None)

    def _leave(self, *, failed: bool) -> None:
        self._last = None
        # After a failure the shards wait for the next run, unless nobody could find them again.
        if failed and self._folder.kept:
            self._folder.close()
        else:
            self._folder.remove()

    def _gather(self) -> None:
        self.summary.resumed = self._folder.resumed
        tasks: Iterator[Chunk] | Iterator[Batch]
        if self._batch_games is None:
            tasks = cut_chunks(self.sources, self._reading)
        else:
            tasks = cut_batches(self.sources, self._reading, games=self._batch_games)
        names = NameCounts()
        finder = DuplicateFinder()
        place = unreadable = 0
        for task in run_tasks(tasks, self._read, self._folder, workers=self._processes()):
            self._tasks += 1
            games, spellings = self._games(task.number)
            names.add(games, spellings)
            for duplicate in finder.find(games, place, spellings):
                self._dropped[duplicate.place] = (duplicate.first, duplicate.rule)
            place += len(games)
            errors = self._folder.get(task.number, "errors")
            if len(errors):
                kinds = errors.unique(["source", "line", "kind"])["kind"]
                self.summary.findings.update(kinds.to_list())
                unreadable += int((errors["kind"] == "unreadable").sum())
                self.summary.first_lost = self.summary.first_lost or first_lost(errors)
        self.summary.files = len(self.sources)
        self.summary.games = self._reading.games
        if self._reading.failures:  # they explain best why there is nothing else
            self.summary.first_lost = first_lost(self._failures())
        self.summary.nothing_read = (
            bool(self.summary.first_lost) and unreadable == self.summary.games
        )
        self._settle(names)

    def _processes(self) -> int:
        """How many processes to read with: a small input is read before others have started."""
        sizes = [source.size for source in self.sources]
        packed = any(plain_name(source.name) != source.name.lower() for source in self.sources)
        known = sum(size or 0 for size in sizes) * (_PACKED if packed else 1)
        return self._workers if None in sizes or known >= _WORTH_PROCESSES else 1

    def _settle(self, names: NameCounts) -> None:
        """Find out who is who, once all names are known."""
        self.summary.findings["unreadable"] += len(self._reading.failures)
        self.summary.findings["duplicate"] = len(self._dropped)
        if not self._players_given:
            self.players = resolve_players(names.table(), aliases=self._aliases)
        self.summary.players = self.players["key"].n_unique()
        self.summary.joined = len(
            self.players.filter(pl.col("joined_by") != "spelling")
            .filter(pl.col("spelling") != pl.col("name"))
            .unique(["key", "spelling"])
        )

    def _games(self, number: int) -> tuple[pl.DataFrame, Spellings]:
        """The games of a stretch, and their players' names; the last ones asked for are kept."""
        if self._last is None or self._last[0] != number:
            self._last = None  # not two stretches at a time
            self._last = number, self._read_games(number)
        return self._last[1]

    def _read_games(self, number: int) -> tuple[pl.DataFrame, Spellings]:
        games = self._folder.get(number, "games")
        if not set(NAME_ROWS) <= set(games.columns):
            return games, Spellings.of_games(games)
        names = self._folder.get(number, "names")
        white, black = (games[name].to_numpy() for name in NAME_ROWS)
        return games.drop(NAME_ROWS), Spellings(names, white, black)

    def pieces(self) -> Iterator[Piece]:
        """Yield all games, piece by piece, in the order of the sources."""
        place = 0
        self.summary.kept = 0
        for number in range(self._tasks):
            games, spellings = self._games(number)
            games = with_keys(games, self.players, spellings)
            kept = pl.Series([True]).new_from_index(0, len(games))
            dropped = []
            if not self._keep_duplicates:
                dropped = _rows_of(self._dropped, place, len(games))
                kept = kept.scatter(dropped, False) if dropped else kept
            self.summary.kept += len(games) - len(dropped)
            place += len(games)
            yield Piece(games, kept, partial(self._folder.get, number))

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the games that are kept."""
        for piece in self.pieces():
            yield piece.games if piece.kept.all() else piece.games.filter(piece.kept)

    def errors(self) -> Iterator[pl.DataFrame]:
        """Yield everything that was found wrong: damage, broken games, doubts, duplicates."""
        if self._reading.failures:
            yield self._failures()
        place = 0
        wanted = {first for first, _ in self._dropped.values()}
        firsts: dict[int, tuple[str, int]] = {}
        for number in range(self._tasks):
            yield self._folder.get(number, "errors")
            if not self._dropped:
                continue
            games = self._folder.get(number, "games")
            for row in _rows_of(wanted, place, len(games)):
                firsts[place + row] = (games["source"][row], games["line"][row])
            rows = []
            for row in _rows_of(self._dropped, place, len(games)):
                first, rule = self._dropped[place + row]
                source, line = firsts[first]
                what = "kept" if self._keep_duplicates else "left out"
                rows.append(
                    {name: games[name][row] for name in ("source", "line", "white", "black")}
                    | {name: games[name][row] for name in ("event", "date")}
                    | {
                        "kind": "duplicate",
                        "reason": f"{what}: same game ({rule}) as {source} line {line}",
                        "plies_kept": games["plies"][row] if "plies" in games.columns else None,
                    }
                )
            if rows:
                yield errors_table(rows)
            place += len(games)

    def _failures(self) -> pl.DataFrame:
        """Where bytes could not be read further."""
        return errors_table(
            [
                {"kind": "unreadable", "source": source, "line": line, "reason": reason}
                for source, line, reason in self._reading.failures
            ]
        )

    def all_errors(self) -> pl.DataFrame:
        """Return the errors as one table."""
        return pl.concat([ERRORS.empty(), *self.errors()])


def _rows_of(places: Collection[int], first: int, count: int) -> list[int]:
    """Which of some places in the order of all games lie in a stretch, as rows of it, in order."""
    # Through the fewer of both: mostly the places, but with many stretches their own rows.
    if len(places) < count:
        return sorted(place - first for place in places if first <= place < first + count)
    return [row for row in range(count) if first + row in places]
