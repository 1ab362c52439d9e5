"""The files of an evaluation store: what each must be, and what is wrong with one that is not.

A file is named after the digest of its bytes. The digest is compared before a file is read as data,
once for each state of the file: a damaged one would else be decoded to other values, or bring the
decoder down.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from milepost.errors import InputError
from milepost.io.files import UNREADABLE, AtomicFile
from milepost.tables import EVALUATIONS

SCHEMA = 1
MARK = b"milepost-evaluations"
OLD_SECONDS = 86_400.0
"""What another machine began to write so long ago, it has given up."""
_PARTIAL = re.compile(r"\.(?:.*\.)?(\d+)\.partial")


@dataclass(frozen=True)
class ShardProblem:
    """A file that is not what it should be."""

    path: Path
    """Which."""
    reason: str
    """Why."""


def digest_of(path: Path) -> str:
    """Return the digest that a file of evaluations is named after."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:32]


def shard_problem(path: Path) -> str | None:
    """Return what is wrong with a file of evaluations; `None` if it is as it was written."""
    if not (path.name.startswith("part-") and path.name.endswith(".parquet")):
        return "a foreign file"
    try:
        return _look_at(path).problem
    except OSError as error:  # it may be another time, so this is not remembered
        return f"cannot be read ({error.strerror or type(error).__name__})"


def setups_in(path: Path) -> frozenset[str]:
    """Return the set-ups whose evaluations a file holds that was looked at.

    Raises
    ------
    InputError
        If the file is gone or holds something else than evaluations.
    """
    try:
        setups = _look_at(path).setups
        if setups is None:
            setups = frozenset(pl.read_parquet(path, columns=["setup"], glob=False)["setup"])
    except UNREADABLE as error:
        raise undecodable(path, error) from error
    return setups


@dataclass(frozen=True)
class _Look:
    """What a look into a file has shown."""

    problem: str | None
    setups: frozenset[str] | None = None
    """The set-ups in it, where its footer says so."""


def _look_at(path: Path) -> _Look:
    about = path.stat()
    return _look_at_state(path, about.st_size, about.st_mtime_ns, about.st_ino)


@functools.lru_cache(maxsize=1 << 14)
def _look_at_state(path: Path, _size: int, _changed: int, _inode: int) -> _Look:
    """Look into a file; whoever changes it changes one of the other arguments."""
    try:
        footer = pq.read_metadata(path)
        digest = digest_of(path)
    except OSError:
        raise
    except Exception as error:  # pyarrow raises several kinds for a torn file
        return _Look(f"torn or no Parquet ({type(error).__name__})")
    if (footer.metadata or {}).get(MARK) != str(SCHEMA).encode():
        return _Look("not written by milepost")
    if path.name != f"part-{digest}.parquet":
        return _Look("its bytes are not those that were written")
    return _Look(None, _setups_by_footer(footer))


def _setups_by_footer(footer: pq.FileMetaData) -> frozenset[str] | None:
    """Return the set-ups in a file, if each stretch of it holds one only: least and last alike."""
    setups = set()
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema == "setup":
                known = column.statistics
                if known is None or not known.has_min_max or known.min != known.max:
                    return None
                setups.add(str(known.min))
    return frozenset(setups)


def read_shard(path: Path, read: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    """Read from a file that was looked at; what cannot be decoded is an error with its name.

    Raises
    ------
    InputError
        If the file is gone or holds something else than evaluations.
    """
    try:
        return read(pl.scan_parquet(path)).collect()
    except UNREADABLE as error:
        raise undecodable(path, error) from error


def read_shards(
    paths: list[Path], read: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> list[pl.DataFrame]:
    """Read from files that were looked at, all in one scan: a store may have thousands.

    Raises
    ------
    InputError
        Naming the first file that is gone or holds something else than evaluations.
    """
    if not paths:
        return []
    try:
        return [read(pl.scan_parquet(paths, glob=False)).collect()]
    except UNREADABLE:
        return [read_shard(path, read) for path in paths]  # which names the one at fault


def query_shards(paths: list[Path], sql: str) -> pl.DataFrame:
    """Run SQL with DuckDB over files that were looked at, as the table ``evaluations``."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            # Its own bar would be drawn across ours in reads of more than two seconds. In a
            # notebook without ipywidgets it has none, and refuses to be told so.
            with suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar = false")
            if paths:
                view = connection.read_parquet([str(path) for path in paths])
            else:
                view = connection.from_arrow(EVALUATIONS.empty().to_arrow())
            view.create_view("evaluations")
            return pl.DataFrame(connection.sql(sql).arrow())
    except duckdb.Error as error:
        for path in paths:  # DuckDB does not always say which one it was
            read_shard(path, lambda lazy: lazy)
        raise InputError(f"the query failed: {str(error).splitlines()[0]}") from error


def undecodable(path: Path, error: BaseException) -> InputError:
    """Return the error for a file that cannot be decoded: one line, with its name."""
    said = str(error).strip().splitlines()
    return InputError(f"{path}: cannot be read ({said[0] if said else type(error).__name__})")


def new_shard(folder: Path) -> AtomicFile:
    """Begin a file of evaluations; its name follows when its bytes are known.

    Until then it is named after this machine and process, for several machines may write at once.
    """
    return AtomicFile(folder / platform.node(), shown=folder)


def remove_partials(folders: Iterable[Path]) -> int:
    """Remove what killed runs have left half-written; return how many files.

    What a process of this machine that still runs is writing stays. So does what another machine
    has begun within a day: whether that one still runs cannot be seen from here.
    """
    removed = 0
    for folder in folders:
        for path in folder.glob(".*.partial") if folder.is_dir() else ():
            if _is_left_over(path):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                removed += not path.exists()
    return removed


def _is_left_over(path: Path) -> bool:
    match = _PARTIAL.fullmatch(path.name)
    try:
        old = time.time() - path.stat().st_mtime > OLD_SECONDS
    except OSError:
        return False  # its writer has just given it its proper name
    if match is None or old:
        return old
    # A name without a machine in it counts as this machine's.
    host = path.name.removesuffix(f".{match[1]}.partial").removeprefix(".")
    elsewhere = path.parent.name == "shards" and host not in ("", platform.node())
    return not elsewhere and not _runs(int(match[1]))


def _runs(pid: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere to ask is to send a signal
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # somebody else's process
    return True
