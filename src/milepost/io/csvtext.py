"""Tables as CSV text: how lists, times and truth values are written there, and read again."""

from __future__ import annotations

import re

import polars as pl

from milepost.errors import TableError
from milepost.tables import Table

_NO_VALUE = "-"
"""Stands for a null inside a list in CSV, where lists are values separated by blanks.

Lists of lists are JSON there.
"""


# A spreadsheet takes these for the beginning of a formula; a number is none.
_FORMULA = r"^'*[=+\-@\t\r]."
_GUARDED = r"^'('*[=+\-@\t\r].)"
_PLAIN_NUMBER = r"^[+-]?[0-9][0-9.,:/ ]*$"


def _guarded(name: str) -> pl.Expr:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    text = pl.col(name)
    risky = text.str.contains(_FORMULA) & ~text.str.contains(_PLAIN_NUMBER)
    return pl.when(risky).then(pl.lit("'") + text).otherwise(text).alias(name)


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Take away the apostrophes that `csv_bytes` has put before what looks like a formula."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(pl.col(texts).str.replace(_GUARDED, "$1")) if texts else frame


def csv_bytes(frame: pl.DataFrame, *, header: bool) -> bytes:
    """Return a frame as CSV; text that looks like a formula stands behind an apostrophe."""
    lists = {name: dtype for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)}
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    flat = frame.with_columns(_guarded(name) for name in texts).with_columns(
        _nested_as_text(name)
        if isinstance(dtype.inner, pl.List)
        else pl.col(name)
        .cast(pl.List(pl.String))
        .list.eval(pl.element().fill_null(_NO_VALUE))
        .list.join(" ")
        for name, dtype in lists.items()
    )
    return flat.write_csv(include_header=header).encode("utf-8")


def _nested_as_text(name: str) -> pl.Expr:
    # Only a struct can be written as JSON: {"v":...}.
    text = pl.struct(v=pl.col(name)).struct.json_encode().str.slice(5).str.head(-1)
    return pl.when(pl.col(name).is_not_null()).then(text).alias(name)


SEPARATORS = (",", ";", "\t")
"""What may stand between the values; the first is the usual one."""


def separator_of(heading: str) -> str:
    """What stands between the values: a comma, unless the heading has more of something else."""
    plain = outside_quotes(heading)
    return max(SEPARATORS, key=plain.count)


def outside_quotes(line: str) -> str:
    """Return a line without the texts between quotation marks."""
    return "".join(line.split('"')[::2])


# Several CR before an LF are one line end (a file made "text" twice); alone each is one.
_LINE_ENDS = re.compile(rb"\r++\n|\r")


def with_line_feeds(data: bytes) -> bytes:
    """Return CSV with an LF for every line end: polars knows no lone CR, as old spreadsheets write.

    Line ends in texts between quotation marks stay. Without a lone CR all stays.
    """
    if data.count(b"\r") == data.count(b"\r\n"):
        return data
    parts = data.split(b'"')
    parts[::2] = [_LINE_ENDS.sub(b"\n", part) for part in parts[::2]]
    return b'"'.join(parts)


def lists_from_text(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Read the columns that hold lists or truth values."""
    expressions = []
    for name, dtype in table.dtypes.items():
        if name not in frame.columns:
            continue
        if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.List):
            expressions.append(pl.col(name).str.json_decode(dtype))
        elif isinstance(dtype, pl.List):
            parts = pl.col(name).str.split(" ")
            # An empty list is a quoted nothing: its one part is no value.
            parts = parts.list.eval(pl.element().filter(pl.element() != ""))
            value = pl.element().str.to_lowercase() == "true" if dtype.inner == pl.Boolean else (
                pl.element()
            )  # fmt: skip
            parts = parts.list.eval(pl.when(pl.element() != _NO_VALUE).then(value))
            expressions.append(parts)
        elif dtype == pl.Boolean:
            expressions.append(pl.col(name).str.to_lowercase() == "true")
    return frame.with_columns(expressions)


def times_from_text(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Read the columns that hold dates or numbers; text has lost which of the two they were."""
    for column in table.columns:
        if column.dtype is not None or frame.schema.get(column.name) != pl.String:
            continue
        text = frame[column.name]
        for dtype in (pl.Date, pl.Int64, pl.Float64):
            values = (
                text.str.to_date("%Y-%m-%d", strict=False)
                if dtype == pl.Date
                else text.cast(dtype, strict=False)
            )
            if values.null_count() == text.null_count():
                frame = frame.with_columns(values)
                break
        else:
            raise TableError(f"{column.name} holds neither dates (YYYY-MM-DD) nor numbers")
    return frame
