"""Tables of decisions as flat arrays: one row an option, or the spreads table, one row a decision.

What comes out are the arguments of `milepost.choice.Spreads.from_arrays`, by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from milepost.choice.checks import OUTSIDE, Floats, Ints
from milepost.errors import TableError
from milepost.io.suggest import did_you_mean
from milepost.kernels import kernel
from milepost.tables import CONTEXT, OPTION, SPREADS, as_frame, wrong_value

_YES = ["1", "1.0", "true", "yes", "x"]
_NO = ["0", "0.0", "false", "no", ""]


def option_arrays(
    data: Any,
    *,
    decision: str = "decision",
    value: str = "value",
    chosen: str = "chosen",
    group: str | None = None,
    weight: str | None = None,
    rating: str | None = None,
    depth_values: list[str] | None = None,
) -> dict[str, Any]:
    """Read a table with one row an option, as any trade may keep one.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table. The rows of a decision need not stand together; decisions
        come in the order of their first rows.
    decision, value, chosen
        The columns with the decision's id, the option's worth for the chooser, and whether it was
        the chosen one (true or 1 in one row of the decision; in none: chosen outside the options).
    group, weight, rating
        Columns that are the same in all rows of a decision: what it belongs to, how much it counts,
        and the chooser's rating.
    depth_values
        Columns with the worth as seen at several depths, from shallow to final.

    Raises
    ------
    TableError
        If a column is missing, holds the wrong type, or two options of a decision are chosen.
    """
    frame = as_frame(data)
    wanted = [decision, value, chosen, *(c for c in (group, weight, rating) if c is not None)]
    wanted += depth_values or []
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise TableError(
            f"the table of options has no column {', '.join(missing)}; "
            f"found {', '.join(frame.columns)}{did_you_mean(missing[0], frame.columns)}"
        )
    if not len(frame):
        raise TableError("the table of options is empty")
    try:
        numbers = frame.select(
            pl.col(decision).rank("dense").cast(pl.Int64).alias("key"),
            pl.col(value).cast(pl.Float64).alias("value"),
            _truth(frame, chosen).alias("chosen"),
            *(pl.col(name).cast(pl.Float64).alias(f"_{name}") for name in depth_values or []),
            *(pl.col(name).cast(pl.Float64).alias(f"_{name}") for name in (weight, rating) if name),
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[0]
        numeric = [value, *(depth_values or []), *(name for name in (weight, rating) if name)]
        wrong = wrong_value(frame, dict.fromkeys(numeric, pl.Float64))
        wrong = wrong or f"holds a value of a wrong type: {reason}"
        raise TableError(f"the table of options {wrong}") from error
    empty = (numbers["key"].is_null() | numbers["value"].is_null()).arg_true()
    if len(empty):
        raise TableError(
            f"row {empty[0] + 1} of the table of options has no decision or no value "
            f"({len(empty)} such rows)"
        )
    first = numbers.with_row_index("row").group_by("key").agg(pl.col("row").min())
    places = numbers.select("key").join(first, on="key", how="left", maintain_order="left")["row"]
    order = np.argsort(places.to_numpy(), kind="stable")
    numbers = numbers[order]
    starts_of = places.to_numpy()[order]
    starts = np.flatnonzero(np.diff(starts_of, prepend=-1))
    offsets = np.append(starts, len(numbers))
    picked, twice = _chosen_rows(numbers["chosen"].to_numpy(), offsets)
    if twice is not None:
        name = frame[decision][int(order[offsets[twice]])]
        raise TableError(f"two options of decision {name!r} are chosen")
    rows = order[starts]
    table = (
        np.column_stack([numbers[f"_{name}"].to_numpy() for name in depth_values])
        if depth_values
        else None
    )
    return {
        "offsets": offsets,
        "values": numbers["value"].to_numpy(),
        "chosen": picked,
        "groups": None if group is None else _labels(frame[group][rows]),
        "weights": None if weight is None else numbers[f"_{weight}"].to_numpy()[starts],
        "rating": None
        if rating is None
        else numbers[f"_{rating}"].fill_null(float("nan")).to_numpy()[starts],
        "depth_values": table,
    }


def _truth(frame: pl.DataFrame, column: str) -> pl.Expr:
    """Whether each option was the chosen one: numbers, truth values, or words for them."""
    if frame.schema[column] != pl.String:
        if frame.schema[column].is_numeric():
            said = pl.col(column).cast(pl.Float64).fill_null(0.0).fill_nan(0.0)
            odd = frame.filter(~said.is_in([0.0, 1.0]))[column]
            if len(odd):
                raise TableError(f"the column {column} says {odd[0]} where 1 or 0 is expected")
        return pl.col(column).cast(pl.Float64).fill_null(0.0).fill_nan(0.0).ne(0.0)
    words = pl.col(column).str.strip_chars().str.to_lowercase().fill_null("")
    unknown = frame.select(words.filter(~words.is_in([*_YES, *_NO])))
    if len(unknown):
        raise TableError(
            f"whether an option was chosen is said with 1 or 0, true or false, yes or no; "
            f"the column {column} has {unknown.item(0, 0)!r}"
        )
    return words.is_in(_YES)


def _chosen_rows(chosen: Any, offsets: Ints) -> tuple[Ints, int | None]:
    """The place of the chosen option in each decision; and a decision with two, if there is one."""
    marks = np.add.reduceat(chosen.astype(np.int64), offsets[:-1])
    if (marks > 1).any():
        return np.zeros(0, dtype=np.int64), int(np.argmax(marks > 1))
    picked = np.full(len(offsets) - 1, OUTSIDE, dtype=np.int64)
    rows = np.flatnonzero(chosen)
    decision = np.searchsorted(offsets, rows, side="right") - 1
    picked[decision] = rows - offsets[decision]
    return picked, None


def _labels(column: pl.Series) -> Ints:
    """Groups as numbers; rows without a group are each their own."""
    codes = column.rank("dense").cast(pl.Int64)
    alone = pl.Series(np.arange(len(column)), dtype=pl.Int64) + len(column)
    return codes.fill_null(alone).to_numpy() if codes.null_count() else codes.to_numpy()


def spread_arrays(data: Any, *, depths: bool = True, least_depths: int = 0) -> dict[str, Any]:
    """Read the spreads table (see `milepost.tables.SPREADS`).

    Parameters
    ----------
    data
        The table, as polars, pandas or Arrow.
    depths
        Whether to take the values of the shallower depths along, where the table has them.
    least_depths
        So many depths there are at least: of a part of a table, as many as the whole has.

    Raises
    ------
    TableError
        If the table is not what it should be.
    """
    frame = SPREADS.conform(data)
    if not len(frame):
        raise TableError("the spreads table is empty")
    without = frame["values"].is_null().arg_true()
    if len(without):
        raise TableError(f"row {without[0] + 1} of the spreads table has no values")
    lengths = frame["values"].list.len().to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # By Arrow, whose numbers are there already.
    lists = frame["values"].to_arrow()
    flat = lists.values[lists.offsets[0].as_py() : lists.offsets[len(lists)].as_py()]
    if flat.null_count or len(flat) != offsets[-1]:
        raise TableError("the spreads table has a decision with missing values")
    known = least_depths > 0 or frame["depth_values"].null_count() < len(frame)
    table = _depth_table(frame, offsets, least_depths) if depths and known else None
    unlisted = frame["unlisted"].fill_null(0).to_numpy() if "unlisted" in frame.columns else None
    return {
        "offsets": offsets,
        "values": _numbers(flat).copy(),  # Arrow's are not to be written, which is another type
        "chosen": frame["chosen"].fill_null(OUTSIDE).to_numpy(),
        "groups": game_labels(frame),
        "weights": frame["weight"].fill_null(1.0).to_numpy(),
        "rating": frame["mover_elo"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        "depth_values": table,
        "unlisted": unlisted,
        "columns": {
            name.removeprefix(OPTION): _option_column(frame, name, offsets)
            for name in frame.columns
            if name.startswith(OPTION)
        },
        "context": {
            column.name.removeprefix(CONTEXT): column.to_numpy()
            for column in frame.select(
                pl.col(name).cast(pl.Float64).fill_null(0.0)
                for name in frame.columns
                if name.startswith(CONTEXT)
            )
        },
    }


def game_labels(frame: pl.DataFrame) -> Ints:
    """Return the games of decisions as numbers; turns without a game are each their own."""
    return _labels(frame["game_id"])


def _option_column(frame: pl.DataFrame, name: str, offsets: Ints) -> Floats:
    """One number an option, out of one list a decision; a decision without a list has zeros."""
    lists = frame.get_column(name)
    # By Arrow, whose offsets and numbers are there already: there are some twenty such columns.
    array = lists.to_arrow()
    if array.null_count:
        zeros = frame.select(pl.lit(0.0).repeat_by(pl.col("values").list.len()))
        lists = lists.cast(pl.List(pl.Float64)).zip_with(lists.is_not_null(), zeros.to_series())
        array = lists.to_arrow()
    bounds = _numbers(array.offsets)
    if len(bounds) != len(offsets) or (bounds - bounds[0] != offsets).any():
        raise TableError(f"the column {name} does not have one number for each option")
    flat = array.values[int(bounds[0]) : int(bounds[-1])]
    known = flat.fill_null(0) if flat.null_count else flat
    return _numbers(known).astype(np.float64, copy=False)


def _numbers(array: Any) -> npt.NDArray[Any]:
    """The numbers of an Arrow array without nulls, as they lie in memory.

    Arrow's own way loads pandas wherever that is installed, which takes longer than rating a
    tournament.
    """
    kind = array.type
    if array.null_count or not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        numbers: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return numbers
    letter = "f" if pa.types.is_floating(kind) else "i" if pa.types.is_signed_integer(kind) else "u"
    size = kind.bit_width // 8
    return np.frombuffer(array.buffers()[1], f"{letter}{size}", len(array), array.offset * size)


def _depth_table(frame: pl.DataFrame, offsets: Ints, least: int) -> Floats:
    """One row an option, one column a depth, out of one list a depth of one number an option."""
    column = frame["depth_values"]
    # A decision without values by depth has its final ones at every depth.
    depths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    most = max(int(depths.max()), least)
    table = np.empty((offsets[-1], most))
    if int(depths.min()) < most:
        table[:] = np.nan
    begin = 0
    # Chunk by chunk, as they are: in one piece all numbers would have to be copied first.
    for chunk in column.get_chunks():
        end = begin + len(chunk)
        if not _depths_fit(chunk, offsets[begin : end + 1], depths[begin:end], table):
            raise TableError("the spreads table has a depth with another number of values")
        begin = end
    return table


def _depths_fit(chunk: pl.Series, offsets: Ints, depths: Ints, table: Floats) -> bool:
    """Fill the values by depth of some decisions; return whether there are as many as options."""
    lists = chunk.to_arrow()
    outer = _numbers(lists.offsets)
    # Of a part of a table the rest is not looked at.
    lists = lists.values[int(outer[0]) : int(outer[-1])]
    inner = _numbers(lists.offsets)
    flat = lists.values[int(inner[0]) : int(inner[-1])]
    if flat.null_count:
        flat = flat.fill_null(float("nan"))
    return not lists.null_count and _fill_depths(
        offsets,
        depths,
        (outer - outer[0]).astype(np.int64, copy=False),
        (inner - inner[0]).astype(np.int64, copy=False),
        _numbers(flat),
        table,
    )


@kernel
def _fill_depths(
    offsets: Ints, depths: Ints, outer: Ints, inner: Ints, flat: Floats, table: Floats
) -> bool:
    """Fill the values by depth; return whether every depth has as many as there are options."""
    for decision in range(len(depths)):
        start, size = offsets[decision], offsets[decision + 1] - offsets[decision]
        for depth in range(depths[decision]):
            here = inner[outer[decision] + depth]
            if inner[outer[decision] + depth + 1] - here != size:
                return False
            for i in range(size):
                table[start + i, depth] = flat[here + i]
    return True
