"""The evaluation store: a folder of Parquet files that only ever grows.

Each file is written whole, named after the digest of its bytes, and never changed; so a run that is
killed leaves nothing torn under a proper name, readers need no lock, and a damaged file is noticed.
What was analysed twice (by two machines) is the same rows and counts once.

::

    DIR/store.json                     what this folder is
    DIR/setups/DIGEST.json             each engine set-up, readable
    DIR/shards/part-DIGEST.parquet     evaluations
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from milepost.analysis.engines import EngineSetup
from milepost.analysis.plans import Evaluation
from milepost.errors import InputError, OutputError
from milepost.files import write_text
from milepost.tables import EVALUATIONS

KIND = "milepost evaluation store"
SCHEMA = 1
KEY = ["setup", "position", "played"]
_MARK = b"milepost-evaluations"


def stored_position(fen: str) -> str:
    """Return the position as the store keeps it: the move number changes no value.

    The fifty-move counter stays: engines look at it.
    """
    fields = fen.split(" ")
    if len(fields) != 6:
        raise InputError(f"not a whole FEN: {fen!r}")
    return " ".join([*fields[:5], "1"])


def evaluation_row(
    position: str, played: str | None, setup: str, evaluation: Evaluation
) -> dict[str, Any]:
    """Return an evaluation as a row of the evaluations table."""
    depth = max((at for at, _ in evaluation.values), default=0)
    rows = [
        [evaluation.values.get((at, move)) for move in evaluation.moves]
        for at in range(1, depth + 1)
    ]
    return {
        "position": position,
        "played": played,
        "setup": setup,
        "moves": list(evaluation.moves),
        "cp": [[None if value is None else value.cp for value in row] for row in rows],
        "mate": [[None if value is None else value.mate for value in row] for row in rows],
        "nodes": evaluation.nodes,
    }


@dataclass(frozen=True)
class ShardProblem:
    """A file that is not what it should be."""

    path: Path
    """Which."""
    reason: str
    """Why."""


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
        except (OSError, ValueError) as error:
            raise InputError(f"{folder} is no evaluation store (no readable store.json)") from error
        if known.get("kind") != KIND:
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
            self.folder.mkdir(parents=True, exist_ok=True)
            if not about.exists():
                write_text(about, json.dumps({"kind": KIND, "schema": SCHEMA}) + "\n")
            self.shards.mkdir(exist_ok=True)
            self.setups.mkdir(exist_ok=True)
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.folder}: {error.strerror}") from error

    def add_setup(self, setup: EngineSetup) -> None:
        """Write down a set-up, so that its digest can be read later."""
        path = self.setups / f"{setup.digest}.json"
        if not path.exists():
            write_text(path, setup.as_json() + "\n")

    def known_setups(self) -> dict[str, dict[str, Any]]:
        """Return the set-ups by their digests."""
        return {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(self.setups.glob("*.json"))
        }

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
        partial = self.shards / f".{os.getpid()}.partial"
        try:
            arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            arrow = arrow.replace_schema_metadata({_MARK: str(SCHEMA).encode()})
            with partial.open("wb") as handle:
                pq.write_table(arrow, handle, compression="zstd")
                handle.flush()
                os.fsync(handle.fileno())
            target = self.shards / f"part-{_digest(partial)}.parquet"
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise OutputError(f"cannot write {self.shards}: {error.strerror or error}") from error
        return target

    def files(self) -> list[Path]:
        """Return the store's files; a foreign or torn one is refused by name.

        Raises
        ------
        InputError
            Naming the first such file.
        """
        found = []
        for path in sorted(self.shards.iterdir()):
            if path.name.startswith(".") and path.name.endswith(".partial"):
                continue  # somebody is writing it, or was killed while doing so
            problem = _look_at(path)
            if problem is not None:
                raise InputError(f"{path}: {problem}; it is not read as data")
            found.append(path)
        return found

    def verify(self) -> list[ShardProblem]:
        """Read every file whole and return those that are not what they should be."""
        problems = []
        for path in sorted(self.shards.iterdir()):
            if path.name.endswith(".partial"):
                continue
            reason = _look_at(path)
            if reason is None and path.name != f"part-{_digest(path)}.parquet":
                reason = "its bytes are not those that were written"
            if reason is not None:
                problems.append(ShardProblem(path, reason))
        return problems

    def read(self, setup: str | None = None) -> pl.DataFrame:
        """Return all evaluations, each once, in the order of their keys.

        Parameters
        ----------
        setup
            Only those of this set-up.
        """
        frames = [EVALUATIONS.empty()]
        for path in self.files():
            lazy = pl.scan_parquet(path)
            frames.append((lazy.filter(pl.col("setup") == setup) if setup else lazy).collect())
        return pl.concat(frames).unique(KEY, keep="first").sort(KEY, nulls_last=True)

    def query(self, sql: str) -> pl.DataFrame:
        """Run SQL with DuckDB over the store; the table is called ``evaluations``."""
        import duckdb

        paths = [str(path) for path in self.files()]
        with duckdb.connect() as connection:
            if paths:
                view = connection.read_parquet(paths)
            else:
                view = connection.from_arrow(EVALUATIONS.empty().to_arrow())
            view.create_view("evaluations")
            return pl.DataFrame(connection.sql(sql).arrow())

    def pick_setup(self, setup: str | None = None) -> str:
        """Return the digest of the set-up that is meant: by its first letters, or the only one."""
        stored = self.query("select distinct setup from evaluations")["setup"].to_list()
        return choose_setup(stored, self.known_setups(), setup)

    def keys(self, setup: str) -> set[tuple[str, str | None]]:
        """Return position and played move of every evaluation of a set-up."""
        frames = [
            pl.scan_parquet(path)
            .filter(pl.col("setup") == setup)
            .select("position", "played")
            .collect()
            for path in self.files()
        ]
        return set(pl.concat(frames).iter_rows()) if frames else set()

    def compact(self) -> Path | None:
        """Put all evaluations into one file, each once; the same rows give the same bytes."""
        old = self.files()
        if not old:
            return None
        target = self.append(self.read())
        for path in old:
            if path != target:
                path.unlink()
        return target

    def merge(self, other: EvaluationStore) -> int:
        """Add what another store has and this one has not; return how many evaluations came."""
        ours = self.read().select(KEY)
        new = other.read().join(ours, on=KEY, how="anti", nulls_equal=True)
        for path in other.setups.glob("*.json"):
            if not (self.setups / path.name).exists():
                write_text(self.setups / path.name, path.read_text(encoding="utf-8"))
        self.append(new)
        return len(new)


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:32]


def _look_at(path: Path) -> str | None:
    """Return what is wrong with a file, as far as its name and its end tell."""
    if not (path.name.startswith("part-") and path.name.endswith(".parquet")):
        return "a foreign file"
    try:
        schema = pq.read_schema(path)
    except Exception as error:  # pyarrow raises several kinds for a torn file
        return f"torn or no Parquet ({type(error).__name__})"
    if (schema.metadata or {}).get(_MARK) != str(SCHEMA).encode():
        return "not written by milepost"
    return None


def choose_setup(stored: list[str], about: dict[str, dict[str, Any]], setup: str | None) -> str:
    """Return the one of the stored set-ups that begins with `setup`, or the only one there is.

    Raises
    ------
    InputError
        If none or several fit, with a list of them.
    """
    known = sorted(stored)
    fitting = known if setup is None else [each for each in known if each.startswith(setup)]
    if len(fitting) == 1:
        return fitting[0]
    if not known:
        raise InputError("there are no evaluations: analyse the games first")
    lines = "".join(f"\n  {each}  {readable_setup(about.get(each))}".rstrip() for each in known)
    if setup is None:
        raise InputError(f"there are {len(known)} set-ups: say which one to use{lines}")
    how = "no set-up begins" if not fitting else f"{len(fitting)} set-ups begin"
    raise InputError(f"{how} with {setup!r}; there are{lines}")


def readable_setup(about: dict[str, Any] | None) -> str:
    """Return a set-up for people: the engine, its net, the options and the plan."""
    if about is None:
        return "?"
    options = " ".join(f"{name}={value}" for name, value in about.get("options", {}).items())
    parts = [about.get("name", ""), about.get("net", ""), options, about.get("plan", "")]
    return ", ".join(part for part in parts if part)
