"""The evaluation store: a folder of Parquet files that only ever grows.

Each file is written whole, named after the digest of its bytes, and never changed; so a run that is
killed leaves nothing torn under a proper name, readers need no lock, and a damaged file is noticed
before it is read as data.
What was analysed twice (by two machines) is the same rows and counts once.

::

    DIR/store.json                     what this folder is
    DIR/setups/DIGEST.json             each engine set-up, readable
    DIR/shards/part-DIGEST.parquet     evaluations
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from milepost.analysis.engine.setup import EngineSetup, choose_setup, read_setups, setup_problem
from milepost.analysis.store.lists import KEY, Evaluated, find_evaluated
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.shards import (
    MARK,
    SCHEMA,
    ShardProblem,
    digest_of,
    new_shard,
    query_shards,
    read_shards,
    remove_partials,
    setups_in,
    shard_problem,
)
from milepost.errors import InputError, OutputError
from milepost.io.files import is_partial, make_folder, write_text
from milepost.io.outputs import cannot_write
from milepost.tables import EVALUATIONS

__all__ = ["KEY", "EvaluationStore", "stored_position"]

KIND = "milepost evaluation store"
_VALUES = ["moves", "cp", "mate"]
"""What two evaluations of a key must agree in; nodes are not known of imported ones."""

_T = TypeVar("_T")


class EvaluationStore:
    """A store on disk."""

    def __init__(self, folder: str | Path, *, create: bool = False):
        """Open a store.

        Parameters
        ----------
        folder
            Where it lies.
        create
            Make it if there is none.

        Raises
        ------
        InputError
            If there is no store, or the folder is something else, or of a newer version.
        OutputError
            If it cannot be made.
        """
        self.folder = Path(folder)
        self.shards = self.folder / "shards"
        self.setups = self.folder / "setups"
        about = self.folder / "store.json"
        if create:
            self._create(about)
        try:
            known = json.loads(about.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{folder} is no evaluation store (no readable store.json)") from error
        if not isinstance(known, dict) or known.get("kind") != KIND:
            raise InputError(f"{folder} is no evaluation store")
        if known.get("schema") != SCHEMA:
            raise InputError(f"{folder} has schema {known.get('schema')}, this version {SCHEMA}")

    def _create(self, about: Path) -> None:
        try:
            # A run that was killed here may have left a hidden file; anything else is not ours.
            if not about.exists() and self.folder.exists():
                for path in self.folder.iterdir():
                    if not path.name.endswith(".partial"):
                        raise InputError(
                            f"{self.folder} holds other things: give an empty or a new folder"
                        )
            make_folder(self.folder)
            if not about.exists():
                write_text(about, json.dumps({"kind": KIND, "schema": SCHEMA}) + "\n")
            self.shards.mkdir(exist_ok=True)
            self.setups.mkdir(exist_ok=True)
        except OutputError:
            raise
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def add_setup(self, setup: EngineSetup) -> None:
        """Write down a set-up, so that its digest can be read later; a damaged one is mended."""
        path = self.setups / f"{setup.digest}.json"
        if setup_problem(path) is not None:
            write_text(path, setup.as_json() + "\n")

    def known_setups(self) -> dict[str, dict[str, Any]]:
        """Return the set-ups by their digests.

        Raises
        ------
        InputError
            Naming the first file that does not hold the set-up that it is named after.
        """
        return read_setups(self.setups)

    def check_writable(self) -> None:
        """Raise `OutputError` if nothing can be written: better before an engine's work than after.

        A disk that is nearly full is noticed only when it is full.
        """
        probe = new_shard(self.shards)
        try:
            # One byte, since a full disk still takes empty files.
            probe.partial.write_bytes(b"\0")
        except OSError as error:
            raise cannot_write(self.shards, error) from error
        finally:
            probe.discard()

    def append(self, rows: Iterable[dict[str, Any]] | pl.DataFrame) -> Path | None:
        """Add evaluations as one new file; returns it, or `None` if there was nothing to add."""
        frame = (
            rows
            if isinstance(rows, pl.DataFrame)
            else pl.DataFrame(list(rows), schema=EVALUATIONS.dtypes)
        )
        if not len(frame):
            return None
        frame = EVALUATIONS.conform(frame).select(EVALUATIONS.names).sort(KEY, nulls_last=True)
        arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        arrow = arrow.replace_schema_metadata({MARK: str(SCHEMA).encode()})
        with new_shard(self.shards) as shard:
            with shard.partial.open("wb") as handle:
                pq.write_table(arrow, handle, compression="zstd")
            shard.target = self.shards / f"part-{digest_of(shard.partial)}.parquet"
        return shard.target

    def files(self) -> list[Path]:
        """Return the store's files; a foreign, torn or damaged one is refused by name.

        Raises
        ------
        InputError
            Naming the first such file.
        """
        while True:
            found = self._listed()
            problems = [(path, problem) for path in found if (problem := shard_problem(path))]
            if not problems:
                return found
            path, problem = problems[0]
            # A file that is gone was put into another one by a compaction: look again.
            if path.exists():
                raise InputError(f"{path}: {problem}; it is not read as data")

    def _listed(self) -> list[Path]:
        # A run that was killed at the very start has left no folder yet.
        there = sorted(self.shards.iterdir()) if self.shards.is_dir() else []
        return [path for path in there if not is_partial(path)]

    def _over_files(self, reader: Callable[[list[Path]], _T]) -> _T:
        """Let a reader have the files; once more if a compaction took some away meanwhile."""
        while True:
            paths = self.files()
            try:
                return reader(paths)
            except (InputError, OSError):
                if all(path.exists() for path in paths):
                    raise

    def _collect(self, read: Callable[[pl.LazyFrame], pl.LazyFrame]) -> list[pl.DataFrame]:
        return self._over_files(lambda paths: read_shards(paths, read))

    def verify(self) -> list[ShardProblem]:
        """Look at every file and return those that are not what they should be."""
        problems = []
        for path in [*sorted(self.setups.glob("*.json")), *self._listed()]:
            reason = setup_problem(path) if path.parent == self.setups else shard_problem(path)
            if reason is not None and path.exists():  # else a compaction has taken it away
                problems.append(ShardProblem(path, reason))
        return problems

    def read(self, setup: str | None = None, *, positions: pl.Series | None = None) -> pl.DataFrame:
        """Return all evaluations, each once, in the order of their keys.

        Parameters
        ----------
        setup
            Only those of this set-up.
        positions
            Only those of these positions.
        """

        def rows(lazy: pl.LazyFrame) -> pl.LazyFrame:
            lazy = lazy.select(EVALUATIONS.names)
            if setup is not None:
                lazy = lazy.filter(pl.col("setup") == setup)
            if positions is not None:
                wanted = positions.alias("position").unique().to_frame().lazy()
                lazy = lazy.join(wanted, on="position", how="semi")
            return lazy

        found = pl.concat([EVALUATIONS.empty(), *self._collect(rows)])
        return found.unique(KEY, keep="first").sort(KEY, nulls_last=True)

    def find(
        self, setup: str, positions: pl.Series, played: pl.Series
    ) -> tuple[Evaluated, npt.NDArray[np.int64]]:
        """Return evaluations of a set-up, and which of them belongs to each turn (-1 = none).

        It is the one for the played move, or else the one for any move.

        Parameters
        ----------
        setup
            The set-up.
        positions, played
            Of each turn: the position as stored, and the move that was played.
        """
        return self._over_files(lambda paths: find_evaluated(paths, setup, positions, played))

    def query(self, sql: str) -> pl.DataFrame:
        """Run SQL with DuckDB over the store; the table is called ``evaluations``.

        Raises
        ------
        InputError
            If the query is wrong, or a file cannot be decoded.
        """
        return self._over_files(lambda paths: query_shards(paths, sql))

    def pick_setup(self, setup: str | None = None) -> str:
        """Return the digest of the set-up that is meant: by its first letters, or the only one."""
        return choose_setup(self.stored_setups(), self.known_setups(), setup)

    def stored_setups(self) -> list[str]:
        """Return the digests of the set-ups whose evaluations the store holds."""
        held = self._over_files(lambda paths: frozenset().union(*map(setups_in, paths)))
        return sorted(held)

    def keys(self, setup: str) -> set[tuple[str, str | None]]:
        """Return position and played move of every evaluation of a set-up."""
        frames = self._collect(
            lambda lazy: lazy.filter(pl.col("setup") == setup).select("position", "played")
        )
        return set(pl.concat(frames).iter_rows()) if frames else set()

    def compact(self) -> Path | None:
        """Put all evaluations into one file, each once; the same rows give the same bytes.

        What killed runs have left half-written is removed.
        """
        remove_partials([self.folder, self.setups, self.shards])
        old = self.files()
        if not old:
            return None
        target = self.append(self.read())
        try:
            for path in old:
                if path != target:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"cannot remove {path}: {error.strerror or error}") from error
        return target

    def merge(self, other: EvaluationStore) -> int:
        """Add what another store has and this one has not; return how many evaluations came.

        Of an evaluation that both have, this store's stays; see `count_differing`.
        """
        ours = self.read().select(KEY)
        new = other.read().join(ours, on=KEY, how="anti", nulls_equal=True)
        other.known_setups()  # a damaged one is refused before anything is written
        for path in other.setups.glob("*.json"):
            if setup_problem(self.setups / path.name) is not None:
                write_text(self.setups / path.name, path.read_text(encoding="utf-8"))
        self.append(new)
        return len(new)

    def count_differing(self, other: EvaluationStore) -> int:
        """Return how many evaluations both stores have, but with other moves or values.

        There should be none: the key says all that the values depend on.
        """
        both = self.read().join(other.read(), on=KEY, how="inner", nulls_equal=True)
        same = pl.all_horizontal(
            pl.col(name).eq_missing(pl.col(f"{name}_right")) for name in _VALUES
        )
        return len(both.filter(~same))
