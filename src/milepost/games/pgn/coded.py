"""Columns as codes into a few different values, so that each value is looked at only once.

Events, players, dates and ratings repeat from game to game: what is worked out of a text is worked
out of the different texts, and handed to the games by their codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from milepost.io.arrow_buffers import as_series, number_arrays, text_arrays

Codes = NDArray[np.uint32]

_TABLE_SIZE = 1 << 18
"""Up to so many possible combinations are counted in a table; more are sorted."""
_NULL = pl.Series([None], dtype=pl.String)


@dataclass(frozen=True)
class Coded:
    """A column: the value of a row is that at the place which its code names."""

    values: pl.Series
    """The values. Mostly all are different, but nothing may rest on that."""
    codes: Codes
    """For each row, which of the values it has."""

    @classmethod
    def of_rows(cls, rows: pl.Series) -> Coded:
        """Return a column of text as codes."""
        if rows.null_count() == len(rows):
            return cls(_NULL, np.zeros(len(rows), dtype=np.uint32))
        return cls.of_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))

    @classmethod
    def of_arrow(cls, rows: Any) -> Coded:
        """Return an Arrow array of text as codes; the first value is null."""
        encoded = rows.dictionary_encode()
        # Arrow's own filling of nulls would load pandas.
        places, known, begin = number_arrays(encoded.indices, np.int32)
        codes = places.astype(np.uint32) + np.uint32(1)
        if len(known):
            bits = np.unpackbits(known, bitorder="little")[begin : begin + len(places)]
            codes *= bits
        return cls(texts(encoded.dictionary, nulls=1), codes)

    def map(self, expression: pl.Expr) -> Coded:
        """Return the column that an expression of the column ``""`` makes of every value."""
        return Coded(_made(self.values, expression), self.codes)

    def flags(self, expression: pl.Expr) -> NDArray[np.bool_]:
        """Return for which rows an expression of the column ``""`` holds."""
        holds = self.map(expression).values.fill_null(False).to_numpy()
        return np.asarray(holds[self.codes])


def texts(values: Any, *, nulls: int) -> pl.Series:
    """Return an Arrow array of bytes or text as text, behind so many nulls."""
    try:
        known = values.cast(pa.large_string())
    except pa.ArrowInvalid:
        known = pa.array([decode(value) for value in values.to_pylist()], type=pa.large_string())
    # In Arrow, where it costs a copy; polars would start a query of its own for every column.
    return as_series("", pa.concat_arrays([pa.nulls(nulls, pa.large_string()), known]))


def map_each(columns: Mapping[str, Coded], expression: pl.Expr) -> dict[str, Coded]:
    """Do `Coded.map` for several columns of text at once; a value is made of that value alone."""
    if not columns:
        return {}
    made = _made(pl.concat([column.values for column in columns.values()]), expression)
    found, begin = {}, 0
    for name, column in columns.items():
        found[name] = Coded(made.slice(begin, len(column.values)), column.codes)
        begin += len(column.values)
    return found


def holds_letter(columns: Iterable[Coded], letter: str) -> bool:
    """Return whether an ASCII letter stands in any text of some columns."""
    return any((text_arrays(column.values)[0] == ord(letter)).any() for column in columns)


def _made(values: pl.Series, expression: pl.Expr) -> pl.Series:
    return values.alias("").to_frame().select(expression).to_series()


def decode(value: bytes) -> str:
    """Return bytes as text: UTF-8 where they are valid UTF-8, else Latin-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def spread(columns: Mapping[str, Coded]) -> pl.DataFrame:
    """Return the columns row by row."""
    return pl.select(
        pl.lit(column.values).gather(pl.lit(pl.Series(column.codes))).alias(name)
        for name, column in columns.items()
    )


def distinct(columns: Mapping[str, Coded]) -> tuple[pl.DataFrame, Codes]:
    """Return the different combinations that occur in some columns, and which of them rows have."""
    several = {name: column for name, column in columns.items() if len(column.values) > 1}
    if len(several) < 2:
        name, column = next(iter((several or columns).items()))
        size = len(column.values)
        others: dict[str, Any] = {
            each: other.values if each == name else _repeated(other.values, size)
            for each, other in columns.items()
        }
        return pl.DataFrame(others), column.codes
    combined = np.zeros(len(next(iter(columns.values())).codes), dtype=np.int64)
    size = 1
    for column in columns.values():
        combined = combined * len(column.values) + column.codes
        size *= len(column.values)
    if size <= _TABLE_SIZE:
        place = np.zeros(size, dtype=np.uint32)
        place[combined] = 1
        kept = np.flatnonzero(place)
        place[kept] = np.arange(len(kept), dtype=np.uint32)
        codes = place[combined]
    else:
        kept, inverse = np.unique(combined, return_inverse=True)
        codes = inverse.astype(np.uint32)
    found: dict[str, Coded] = {}
    for name, column in reversed([*columns.items()]):
        kept, own = np.divmod(kept, len(column.values))
        found[name] = Coded(column.values, own.astype(np.uint32))
    return spread({name: found[name] for name in columns}), codes


def _repeated(values: pl.Series, size: int) -> pl.Series:
    return values.new_from_index(0, size) if len(values) else values.clear(size)
