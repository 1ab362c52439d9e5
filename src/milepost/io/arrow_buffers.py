"""Columns as the buffers they lie in, and back: what machine code reads and writes, uncopied.

A list column is its values, end to end, and where each list begins. What comes from Arrow cannot be
written to, and all arrays here are marked so: a kernel then knows one kind of array only, and is
compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

_NOTHING = bytes(8)


def read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array, in one piece, that cannot be written to."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def unfilled(shape: int | tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return an array that is not filled yet, out of the memory that Arrow keeps at hand.

    A large new array of NumPy's comes from the system page by page, each time.
    """
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), kind, count).reshape(shape)


def starts_of(lengths: npt.NDArray[Any]) -> Longs:
    """Return where each of some stretches begins, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def text_arrays(texts: pl.Series | Any) -> tuple[Bytes, Longs]:
    """Return the bytes of some texts, and where each begins and the last one ends.

    A null has no letters.

    Parameters
    ----------
    texts
        A polars column, or Arrow's large strings.
    """
    array = texts.to_arrow() if isinstance(texts, pl.Series) else texts
    _, offsets, letters = array.buffers()
    return _array(letters, np.uint8), _offsets(array, offsets)


def list_starts(array: Any) -> Longs:
    """Return where the lists of an Arrow array (large lists) begin among its values, and the end.

    The lists must have no nulls, or nulls without values.
    """
    return _offsets(array, array.buffers()[1])


def number_arrays(array: Any, dtype: Any) -> tuple[npt.NDArray[Any], Bytes, int]:
    """Return an Arrow array's numbers, which of them are known, and where those bits begin.

    There are no bits if all are known.
    """
    bits, values = array.buffers()
    known = _array(bits if array.null_count else None, np.uint8)
    return _array(values, dtype)[array.offset : array.offset + len(array)], known, array.offset


def number_column(values: npt.NDArray[Any], known: Bytes | None = None) -> Any:
    """Return numbers as an Arrow array; where the bit of one is 0 it is null."""
    bits = None if known is None else pa.py_buffer(known)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])


def bit_column(bits: Bytes, length: int) -> Any:
    """Return bits as an Arrow array of Booleans."""
    return pa.Array.from_buffers(pa.bool_(), length, [None, pa.py_buffer(bits)])


def text_column(views: Bytes) -> Any:
    """Return short texts as an Arrow array: sixteen bytes each, the length first, then letters."""
    return pa.Array.from_buffers(pa.string_view(), len(views), [None, pa.py_buffer(views)])


def list_column(starts: Longs, values: Any, known: Bytes | None = None) -> Any:
    """Return an Arrow array of lists; where the bit of one is 0 it is null."""
    kind = pa.large_list(values.type)
    buffers = [None if known is None else pa.py_buffer(known), pa.py_buffer(starts)]
    return pa.Array.from_buffers(kind, len(starts) - 1, buffers, children=[values])


def as_series(name: str, array: Any) -> pl.Series:
    """Return an Arrow array as a column."""
    return pl.Series(_Handed(array)).alias(name)


class _Handed:
    """An array handed over by Arrow's interface: polars would else load Arrow's computations."""

    def __init__(self, array: Any):
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        handed: tuple[object, object] = self._array.__arrow_c_array__(requested_schema)
        return handed


def _offsets(array: Any, buffer: Any) -> Longs:
    offsets = _array(buffer, np.int64)
    if len(offsets) <= array.offset:  # an empty array may have none at all
        return read_only(np.zeros(1, dtype=np.int64))
    return offsets[array.offset : array.offset + len(array) + 1]


def _array(buffer: Any, dtype: Any) -> npt.NDArray[Any]:
    if buffer is None or not len(buffer):
        return np.frombuffer(_NOTHING, dtype=dtype)[:0]
    return np.frombuffer(buffer, dtype=dtype)
