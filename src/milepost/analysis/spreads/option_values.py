"""The worth of every option of an analysed position, in pawns, as arrays.

Evaluations hold centipawns or mates of every move at every depth. Here each move gets the value of
its greatest depth, and the moves an order that never rises. The work is done on flat arrays with
offsets: a position is a run of options, and for each depth a run of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from milepost.analysis.engine.search_output import LEAST_MATE_CP, LONGEST_MATE, MATE_CP
from milepost.errors import InputError, TableError

MATE_PAWNS = MATE_CP / 100
"""What a mate is worth, less 0.01 a move: a mate in 3 is 299.97."""
ROOM_FOR_MATES = (MATE_CP - LEAST_MATE_CP) / 100
"""Mates lie within so many pawns of the value of a mate; all other values are clipped below."""
MOST_MATE_PAWNS = 1e9
"""More than anybody needs; with much more a hundredth of a pawn would be lost in rounding."""
_CHUNK = 5_000
"""Positions worked on at once: some 35 moves at 10 depths each, and a dozen arrays of them."""

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_SCHEMA: dict[str, Any] = {
    "moves": pl.List(pl.String),
    "values": pl.List(pl.Float64),
    "shallow": pl.List(pl.Boolean),
    "depth_values": pl.List(pl.List(pl.Float64)),
    "lowered": pl.Boolean,
}


def pawns(cp: pl.Series, mate: pl.Series, mate_pawns: float = MATE_PAWNS) -> _Floats:
    """Return values in pawns; NaN where there is neither centipawns nor a mate.

    A mate in n is ``mate_pawns - 0.01 n``, being mated in n its negative: quicker mates are worth
    more. Other values are clipped to ``mate_pawns - 10`` either way, which no engine that we know
    reaches (Stockfish gives 200 for a tablebase win), so that a mate is always more.

    Raises
    ------
    InputError
        If `mate_pawns` leaves no room for other values, or hundredths would be lost beside it.
    """
    if not 2 * ROOM_FOR_MATES <= mate_pawns <= MOST_MATE_PAWNS:
        raise InputError(
            f"a mate must be worth at least {2 * ROOM_FOR_MATES:g} and at most "
            f"{MOST_MATE_PAWNS:,.0f} pawns, got {mate_pawns:g}"
        )
    # In whole centipawns, so that equal values stay equal.
    top = round(mate_pawns * 100)
    room = round(ROOM_FOR_MATES * 100)
    plain = cp.cast(pl.Float64).fill_null(np.nan).to_numpy()
    moves_to_mate = mate.cast(pl.Float64).fill_null(np.nan).to_numpy()
    size = top - np.minimum(np.abs(moves_to_mate), LONGEST_MATE)
    # Mated in 0 is a loss too: the sign of the number would lose it.
    mates = np.where(moves_to_mate > 0, size, -size)
    clipped = np.clip(plain, room - top, top - room)
    worth: _Floats = np.where(np.isnan(moves_to_mate), clipped, mates) / 100.0
    return worth


def option_values(evaluations: pl.DataFrame, *, mate_pawns: float = MATE_PAWNS) -> pl.DataFrame:
    """Return the options of each evaluation, best first, with their values for the mover.

    A move's value is that of its greatest depth. Moves searched to the greatest depth of the
    position come first, by value, equal ones in the order of the table, which is the engine's. Less
    deeply searched ones follow in the order of the table and are marked. A shallower value
    is no claim against a deeper one: where it would stand above the value before it, it is lowered
    to that value. `depth_values` keeps what the engine said.

    Parameters
    ----------
    evaluations
        Rows of the evaluations table with at least one move and one depth each.
    mate_pawns
        What a mate is worth; see `pawns`.

    Returns
    -------
    polars.DataFrame
        The rows in the same order: `moves`, `values`, `shallow`, `depth_values`, and `lowered`
        (whether a shallower value was lowered).

    Raises
    ------
    TableError
        If lists do not fit each other, or a move has no value at any depth.
    """
    parts = [_chunk_values(each, mate_pawns) for each in evaluations.iter_slices(_CHUNK)]
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *parts])


def _chunk_values(chunk: pl.DataFrame, mate_pawns: float) -> pl.DataFrame:
    width = _lengths(chunk["moves"])
    depth = _lengths(chunk["cp"])
    by_depth = {name: chunk[name].explode() for name in ("cp", "mate")}
    list_row = np.repeat(np.arange(len(chunk)), depth)
    list_width = width[list_row]
    fits = bool((width > 0).all() and (depth > 0).all())
    fits = fits and bool((_lengths(chunk["mate"]) == depth).all())
    if not fits or any((_lengths(each) != list_width).any() for each in by_depth.values()):
        raise TableError("an evaluation's values do not fit its moves")
    flat = pawns(by_depth["cp"].explode(), by_depth["mate"].explode(), mate_pawns)

    # Each option's value is the last one along the depths.
    row = np.repeat(np.arange(len(chunk)), width)
    index = np.arange(len(row)) - np.repeat(_starts(width), width)
    first = _starts(width * depth)[row] + index
    final = np.full(len(row), np.nan)
    deepest = np.zeros(len(row), dtype=np.int64)
    for at in range(int(depth.max())):
        inside = np.flatnonzero(at < depth[row])
        value = flat[first[inside] + at * width[row[inside]]]
        known = inside[~np.isnan(value)]
        final[known] = value[~np.isnan(value)]
        deepest[known] = at + 1
    if np.isnan(final).any():
        raise TableError("an evaluated move has no value at any depth")

    # Order: the deepest by value, then the others as they stand.
    greatest = np.zeros(len(chunk), dtype=np.int64)
    np.maximum.at(greatest, row, deepest)
    shallow = deepest < greatest[row]
    order = np.lexsort((index, np.where(shallow, 0.0, -final), shallow, row))
    sorted_final = final[order]
    values = _running_minimum(row, sorted_final)
    lowered = np.zeros(len(chunk), dtype=np.bool_)
    lowered[row[values < sorted_final]] = True

    # The same order at every depth.
    list_start = _starts(list_width)
    of_list = np.repeat(np.arange(len(list_row)), list_width)
    place = np.arange(len(of_list)) - list_start[of_list]
    source = list_start[of_list] + index[order][_starts(width)[list_row[of_list]] + place]
    moves = chunk["moves"].explode().gather(order)
    return pl.DataFrame(
        {
            "moves": _lists(moves.to_arrow().cast(pa.large_string()), width),
            "values": _lists(as_arrow(values), width),
            "shallow": _lists(as_arrow(shallow[order]), width),
            "depth_values": _nested(flat[source], list_width, depth),
            "lowered": pl.Series(lowered),
        },
        schema=_SCHEMA,
    )


def _lengths(lists: pl.Series) -> _Ints:
    lengths: _Ints = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    return lengths


def _starts(lengths: _Ints) -> _Ints:
    starts: _Ints = np.cumsum(lengths) - lengths
    return starts


def _running_minimum(row: _Ints, values: _Floats) -> _Floats:
    frame = pl.DataFrame({"row": row, "value": values})
    lowest: _Floats = frame.select(pl.col("value").cum_min().over("row")).to_series().to_numpy()
    return lowest


def as_arrow(values: npt.NDArray[Any]) -> Any:
    """An Arrow array, through polars: pyarrow would load pandas for it, which takes a second."""
    return pl.Series(values).to_arrow()


def _offsets(lengths: _Ints) -> Any:
    return as_arrow(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def _lists(values: Any, lengths: _Ints) -> pl.Series:
    return _as_series(pa.LargeListArray.from_arrays(_offsets(lengths), values))


def _nested(values: _Floats, inner: _Ints, outer: _Ints) -> pl.Series:
    known = pl.Series(values).fill_nan(None).to_arrow()
    lists = pa.LargeListArray.from_arrays(_offsets(inner), known)
    return _as_series(pa.LargeListArray.from_arrays(_offsets(outer), lists))


def _as_series(array: Any) -> pl.Series:
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series
