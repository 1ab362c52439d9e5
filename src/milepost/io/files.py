"""Tables on disk: Parquet, CSV and NDJSON, written whole or not at all.

A file appears under its name only when it is complete (`AtomicFile`). Every output says how it was
made: inside the file for Parquet, in a ``.provenance.json`` beside it for the others.
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
from milepost.io.csvtext import (
    csv_bytes,
    lists_from_text,
    outside_quotes,
    separator_of,
    times_from_text,
    unguarded,
    with_line_feeds,
)
from milepost.io.outputs import STDOUT, cannot_write, is_stream, refuse_kind
from milepost.io.sources import Source, open_bytes, plain_name
from milepost.io.table_faults import fault_in_table
from milepost.tables import Table

FORMATS = ("parquet", "csv", "ndjson")
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a damaged file raises; a panic is what polars calls a mistake of its own."""
_PARTIAL = ".partial"
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson"}
_READ_AS = {**_ENDINGS, ".tsv": "csv"}
"""What is read by which ending: values between tabs are read, but not written."""


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


class AtomicFile:
    """A file that appears under its name when it is whole, or not at all.

    What is written goes to `partial`, a hidden file beside it. Leaving a ``with`` block without an
    error puts it under its name; an error removes it, and a file that stood there before stays.
    A link stays a link to the new file. A device or a FIFO is written to at once.
    """

    def __init__(self, target: Path, *, shown: Path | None = None):
        """Begin a file; nothing is opened yet.

        Parameters
        ----------
        target
            The name to be.
        shown
            What an error message calls it, if not that.

        Raises
        ------
        OutputError
            If a folder, or something else that is no file, stands there.
        """
        refuse_kind(target)
        self._shown = shown or target
        self.streams = is_stream(target)
        """Whether what is written flows on at once: to replace a device would destroy it."""
        if target.is_symlink() and not self.streams:
            target = Path(os.path.realpath(target))
        self.target = target
        """The name to be; it may still be changed to another one in the same folder."""
        hidden = target.with_name(f".{target.name}.{os.getpid()}{_PARTIAL}")
        self.partial = target if self.streams else hidden
        """Where to write."""

    def commit(self) -> None:
        """Put what was written on the disk, and under its name."""
        if self.streams:
            return
        with self.partial.open("rb") as handle:
            os.fsync(handle.fileno())
        self.partial.replace(self.target)

    def discard(self) -> None:
        """Remove what was written, as far as that can be done.

        Where nothing may be written, to remove what is not even there is an error of its own, which
        would hide the one that matters.
        """
        if self.streams:
            return
        with suppress(OSError):
            self.partial.unlink(missing_ok=True)

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or discard after an error.

        Raises
        ------
        OutputError
            In place of an `OSError`.
        """
        try:
            if error is None:
                self.commit()
        except OSError as problem:
            error = problem
        if error is not None:
            self.discard()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise cannot_write(self._shown, error) from error


def make_folder(folder: Path) -> None:
    """Make a folder for results if it is not there; the one that it is to lie in must be there.

    A mistyped path shall not become a new tree of folders somewhere.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    folder.mkdir(exist_ok=True)


def is_partial(path: Path) -> bool:
    """Whether somebody is writing this file, or was killed while doing so."""
    return path.name.startswith(".") and path.name.endswith(_PARTIAL)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file whole or not at all; ``-`` is standard output.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    if str(path) == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with AtomicFile(Path(path)) as file:
        file.partial.write_bytes(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


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
        self._file = None if self.path == STDOUT else AtomicFile(Path(path))
        try:
            self._handle: IO[bytes] | BinaryIO = (
                self._file.partial.open("wb") if self._file else sys.stdout.buffer
            )
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows."""
        try:
            self._write(frame.select(self._empty.columns))
        except BrokenPipeError:
            raise  # the reader of a pipe has left: no fault of the output
        except OSError as error:
            raise cannot_write(self.path, error) from error
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
            if self._file:
                self._handle.close()
                self._file.commit()
                inside = self.form == "parquet" or self._file.streams
                if self._made is not None and not inside:
                    write_text(f"{self.path}.provenance.json", _as_json(self._made) + "\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            self.discard()
            raise cannot_write(self.path, error) from error

    def discard(self) -> None:
        """Drop what was written; a file that stood under the name before stays."""
        if self._file:
            if self._parquet is not None:
                # Else its destructor would write into the closed file.
                with suppress(Exception):
                    self._parquet.close()
                self._parquet.is_open = False
            with suppress(OSError):
                self._handle.close()
            self._file.discard()

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
    form = _form_of_table(path)
    try:
        # A name is a name: polars would take brackets in it for a pattern.
        where: str | bytes = glob.escape(str(path))
        if str(path).lower().endswith(".bz2"):
            with bz2.open(path) as packed:
                where = packed.read()
        if form == "parquet":
            frame = pl.read_parquet(where)
        elif form == "csv":
            frame = _read_csv(where, path)
        elif form == "ndjson":
            # Without rows there are no columns either.
            empty = not where if isinstance(where, bytes) else not Path(path).stat().st_size
            frame = pl.DataFrame() if empty else pl.read_ndjson(where, infer_schema_length=None)
        else:
            raise InputError(f"{path}: not a table (expected one of {', '.join(_READ_AS)})")
    except (*UNREADABLE, EOFError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        reason = fault_in_table(path, form) or first_line
        raise InputError(f"cannot read the table {path}: {reason}") from error
    return frame if table is None else typed_table(frame, table, path)


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _read_csv(where: str | bytes, path: str | Path) -> pl.DataFrame:
    """Read CSV with all values as text; say so if it is another kind of text."""
    if isinstance(where, bytes):
        first = where[:2]
    else:
        with Path(path).open("rb") as file:
            first = file.read(2)
    if first in _UTF16:
        raise InputError(f"{path} is UTF-16 text: save it as UTF-8")
    heading = _heading(where, path)
    if "\r" in outside_quotes(heading):
        where = with_line_feeds(_unpacked(path))
        heading = _heading(where, path)
    separator = separator_of(heading)
    try:
        frame = pl.read_csv(where, infer_schema=False, separator=separator)
    except pl.exceptions.PolarsError:
        data = _unpacked(path)
        if (mended := with_line_feeds(data)) == data:
            raise
        frame = pl.read_csv(mended, infer_schema=False, separator=separator)
    frame = unguarded(frame)
    return _with_decimal_points(frame) if separator == ";" else frame


def _heading(where: str | bytes, path: str | Path) -> str:
    """Return the first line; where lines end in lone CRs, that is a part of the file or all."""
    if isinstance(where, bytes):
        first = where[:_HEADING].split(b"\n")[0].decode("utf-8", errors="replace")
    else:
        # polars unpacks by itself what is compressed.
        first = pl.read_csv(
            where, infer_schema=False, has_header=False, n_rows=1, separator="\x1f", quote_char=None
        ).item(0, 0)
    return (first or "").removesuffix("\r")


_HEADING = 100_000
"""So many bytes of a file are looked at to find the end of its first line."""


def _unpacked(path: str | Path) -> bytes:
    """Return all bytes of a file, decompressed."""
    with open_bytes(Source(str(path), Path(path))) as stream:
        pieces = []
        while piece := stream.read(_PIECE_BYTES):  # to the end, where a cut is told
            pieces.append(piece)
        return b"".join(pieces)


_PIECE_BYTES = 1 << 23


def _with_decimal_points(frame: pl.DataFrame) -> pl.DataFrame:
    """Read 3,5 as three and a half: where values stand between semicolons, commas are decimal.

    That goes for columns of numbers. One cell that is none must not spoil the others: it is told
    of by who wants a number there.
    """
    number = r"^\s*-?\d*(,\d+)?\s*$"
    decimal = [
        name
        for name in frame.columns
        if frame[name].str.contains(",", literal=True).any()
        and frame.filter(pl.col(name).str.contains(number)).height > _MOSTLY * frame.height
    ]
    with_points = pl.col(decimal).str.replace(",", ".", literal=True)
    return frame.with_columns(
        pl.when(pl.col(decimal).str.contains(number)).then(with_points).otherwise(pl.col(decimal))
    )


_MOSTLY = 0.5
"""A column with a larger share of numbers is one of numbers."""


def typed_table(frame: pl.DataFrame, table: Table, path: str | Path) -> pl.DataFrame:
    """Give a frame that `read_table` has read as it is the columns and types of a table.

    Parameters
    ----------
    frame
        What was read.
    table
        Its columns.
    path
        The file, whose name says how lists and times are written in it.

    Raises
    ------
    TableError
        If it is not the table expected.
    """
    form = _form_of_table(path)
    if form == "ndjson" and not frame.columns:
        return table.empty()
    try:
        if form == "csv":
            frame = lists_from_text(frame, table)
        return table.conform(frame if form == "parquet" else times_from_text(frame, table))
    except (TableError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path}: {error}") from error


def _form_of_table(path: str | Path) -> str | None:
    return _READ_AS.get(Path(plain_name(str(path))).suffix)


def _as_json(made: Mapping[str, Any]) -> str:
    return json.dumps(made, sort_keys=True, ensure_ascii=False, default=str)
