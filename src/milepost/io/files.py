"""Tables on disk: Parquet, CSV and NDJSON, written whole or not at all.

A file appears under its name only when it is complete. Every output says how it was made: inside
the file for Parquet, in a ``.provenance.json`` beside it for the others.
"""

from __future__ import annotations

import bz2
import glob
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO

import polars as pl

from milepost.errors import InputError, OutputError, TableError
from milepost.io.csvtext import csv_bytes, lists_from_text, times_from_text
from milepost.tables import Table

FORMATS = ("parquet", "csv", "ndjson")
STDOUT = "-"
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a damaged file raises; a panic is what polars calls a mistake of its own."""
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson"}


def format_of(path: str | Path, given: str | None = None) -> str:
    """Return the format that a name's ending, or the user, asks for.

    Raises
    ------
    OutputError
        If neither tells, or the format is not known.
    """
    if given is not None:
        if given not in FORMATS:
            raise OutputError(f"unknown format {given!r}; known are {', '.join(FORMATS)}")
        return given
    if str(path) == STDOUT:
        return "csv"
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(_ENDINGS)
        raise OutputError(f"{path}: the ending says no known format (known: {known})")
    return _ENDINGS[ending]


class TableWriter:
    """Writes a table piece by piece; the file appears when the writer is closed without error."""

    def __init__(
        self,
        path: str | Path,
        empty: pl.DataFrame,
        *,
        form: str | None = None,
        made: Mapping[str, Any] | None = None,
    ):
        """Begin a file.

        Parameters
        ----------
        path
            Where to; ``-`` is standard output.
        empty
            A frame with the columns of the table: an output without rows still has them.
        form
            The format, if the ending does not say it.
        made
            What `provenance` returned. It may be filled in up to the moment of closing.
        """
        self.path = str(path)
        self.form = format_of(path, form)
        self.rows = 0
        self._empty = empty
        self._made = made
        self._header_due = True
        self._parquet: Any = None
        self._target = None if self.path == STDOUT else Path(path)
        self._partial = self._target and self._target.with_name(
            f".{self._target.name}.{os.getpid()}.partial"
        )
        try:
            self._handle: IO[bytes] | BinaryIO = (
                self._partial.open("wb") if self._partial else sys.stdout.buffer
            )
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from error

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows."""
        try:
            self._write(frame.select(self._empty.columns))
        except BrokenPipeError:
            raise  # the reader of a pipe has left: no fault of the output
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        self.rows += len(frame)

    def _write(self, frame: pl.DataFrame) -> None:
        if self.form == "parquet":
            import pyarrow.parquet as pq

            arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            if self._parquet is None:
                self._parquet = pq.ParquetWriter(self._handle, arrow.schema, compression="zstd")
            self._parquet.write_table(arrow.cast(self._parquet.schema))
        elif self.form == "csv":
            self._handle.write(csv_bytes(frame, header=self._header_due))
        elif len(frame):
            self._handle.write(frame.write_ndjson().encode("utf-8"))
        self._header_due = False

    def close(self) -> None:
        """Finish the file and put it under its name."""
        try:
            if self._header_due:
                self._write(self._empty.clear())
            if self._parquet is not None:
                if self._made is not None:
                    self._parquet.add_key_value_metadata({"milepost": _as_json(self._made)})
                self._parquet.close()
            self._handle.flush()
            if self._partial and self._target:
                os.fsync(self._handle.fileno())
                self._handle.close()
                self._partial.replace(self._target)
                if self._made is not None and self.form != "parquet":
                    write_text(
                        self._target.with_name(self._target.name + ".provenance.json"),
                        _as_json(self._made) + "\n",
                    )
        except BrokenPipeError:
            raise
        except OSError as error:
            self.discard()
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error

    def discard(self) -> None:
        """Drop what was written; a file that stood under the name before stays."""
        if self._partial:
            if self._parquet is not None:
                # Else its destructor would write into the closed file.
                with suppress(Exception):
                    self._parquet.close()
                self._parquet.is_open = False
            with suppress(OSError):
                self._handle.close()
            remove_partial(self._partial)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def write_table(
    frame: pl.DataFrame,
    path: str | Path,
    *,
    form: str | None = None,
    made: Mapping[str, Any] | None = None,
) -> None:
    """Write a whole table; see `TableWriter`."""
    with TableWriter(path, frame.clear(), form=form, made=made) as writer:
        writer.write(frame)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        remove_partial(partial)
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def remove_partial(path: Path) -> None:
    """Remove a half-written file after an error, as far as that can be done.

    Where nothing may be written, to remove what is not even there is an error of its own, which
    would hide the one that matters.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)


def read_table(path: str | Path, table: Table | None = None) -> pl.DataFrame:
    """Read a table that `TableWriter`, or another program, has written.

    Parameters
    ----------
    path
        A Parquet, CSV or NDJSON file; CSV and NDJSON may be compressed.
    table
        Its columns; then types are those of the table and missing columns are refused or filled.
        Without it, CSV values stay text.

    Raises
    ------
    InputError
        If the file cannot be read.
    TableError
        If it is not the table expected.
    """
    name = str(path).lower()
    for ending in (".gz", ".zst", ".bz2"):
        name = name.removesuffix(ending)
    form = _ENDINGS.get(Path(name).suffix)
    try:
        # A name is a name: polars would take brackets in it for a pattern.
        where: str | bytes = glob.escape(str(path))
        if str(path).lower().endswith(".bz2"):
            with bz2.open(path) as packed:
                where = packed.read()
        if form == "parquet":
            frame = pl.read_parquet(where)
        elif form == "csv":
            frame = pl.read_csv(where, infer_schema=False)
        elif form == "ndjson":
            # Without rows there are no columns either.
            empty = not where if isinstance(where, bytes) else not Path(path).stat().st_size
            frame = pl.DataFrame() if empty else pl.read_ndjson(where, infer_schema_length=None)
        else:
            raise InputError(f"{path}: not a table (expected one of {', '.join(_ENDINGS)})")
    except (*UNREADABLE, EOFError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise InputError(f"cannot read the table {path}: {first_line}") from error
    if table is None:
        return frame
    if form == "ndjson" and not frame.columns:
        return table.empty()
    try:
        if form == "csv":
            frame = lists_from_text(frame, table)
        return table.conform(frame if form == "parquet" else times_from_text(frame, table))
    except (TableError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path}: {error}") from error


def _as_json(made: Mapping[str, Any]) -> str:
    return json.dumps(made, sort_keys=True, ensure_ascii=False, default=str)
