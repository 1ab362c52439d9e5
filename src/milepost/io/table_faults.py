"""What is wrong with a text table that cannot be read: in which line, and how to mend it.

Looked for only after reading has failed. polars reads fast, but says neither the line nor what a
person could do about it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from milepost.errors import InputError
from milepost.io.csvtext import separator_of
from milepost.io.sources import BadBytesError, ByteSource, Source, open_bytes

_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_LONGEST_VALUE = 1 << 30
"""No value is too long to be looked at: an open quotation mark makes one of the rest of a file."""


def fault_in_table(path: str | Path, form: str | None) -> str | None:
    """Return where a table cannot be read and how to mend it, in words that follow its name.

    Parameters
    ----------
    path
        The file; it may be compressed.
    form
        ``"csv"`` or ``"ndjson"``; of other formats nothing can be told.

    Returns
    -------
    str or None
        `None` if nothing is recognised.
    """
    look: Callable[[Iterator[str]], str | None] | None
    look = {"csv": _fault_in_csv, "ndjson": _fault_in_ndjson}.get(form or "")
    if look is None:
        return None
    try:
        with open_bytes(Source(str(path), Path(path))) as stream:
            raw = io.BufferedReader(_Unpacked(stream))
            # Bytes that are no UTF-8 become surrogates, by which their line is found.
            text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
            return look(_checked(text))
    except _NoTextError as error:
        return str(error)
    except BadBytesError as error:
        return f"it{str(error).removeprefix(str(path))}"
    except InputError:
        return None


class _NoTextError(Exception):
    """A line is no text."""


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file, for Python's readers of lines."""

    def __init__(self, stream: ByteSource):
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _checked(lines: io.TextIOWrapper) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            try:
                line.encode("utf-8")
            except UnicodeEncodeError:
                raise _NoTextError(f"line {number} is not UTF-8 text: save it as UTF-8") from None
        yield line


def _fault_in_csv(lines: Iterator[str]) -> str | None:
    heading = next(lines, "")
    separator = separator_of(heading)
    odd: list[int] = []  # lines with an odd number of quotation marks

    def from_the_heading() -> Iterator[str]:
        yield heading
        for number, line in enumerate(lines, 2):
            if line.count('"') % 2:
                odd.append(number)
            yield line

    old_limit = csv.field_size_limit(_LONGEST_VALUE)
    try:
        fault = _fault_in_records(from_the_heading(), separator)
    finally:
        csv.field_size_limit(old_limit)
    # A mark within a value opens a text for polars, though not for Python's reader.
    return _not_closed(odd[0]) if fault is None and len(odd) % 2 else fault


def _fault_in_records(lines: Iterator[str], separator: str) -> str | None:
    records = csv.reader(lines, delimiter=separator, strict=True)
    columns, line = 0, 1
    try:
        for values in records:
            columns = columns or len(values)
            if len(values) > columns:
                texts = f"put texts with {_MARKS[separator]} in quotes"
                return f"line {line} has {len(values)} values, the heading {columns}; {texts}"
            line = records.line_num + 1
    except csv.Error as error:
        # What goes on in the next line, or to the end of the file, was meant to end in this one.
        if records.line_num > line or "unexpected end" in str(error):
            return _not_closed(line)
        return f"line {line} has text behind a closing quotation mark; within texts write it twice"
    return None


def _not_closed(line: int) -> str:
    return f"a quotation mark in line {line} is not closed"


def _fault_in_ndjson(lines: Iterator[str]) -> str | None:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.rstrip())
        except json.JSONDecodeError as error:
            if number == 1 and line.lstrip().startswith("["):
                return _NO_OBJECT.format(1)
            reason = error.msg[:1].lower() + error.msg[1:]
            return f"line {number} is no JSON: {reason} at character {error.pos + 1}"
        except (ValueError, RecursionError):  # digits without end, or lists in lists
            return None
        if not isinstance(value, dict):
            return _NO_OBJECT.format(number)
    return None


_NO_OBJECT = "line {} is no JSON object; write one a line, between braces"
