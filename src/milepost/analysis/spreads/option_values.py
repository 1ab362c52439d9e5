"""The worth of every option of an analysed position, in pawns, as arrays.

Evaluations hold centipawns or mates of every move at every depth. Here each move gets the value of
its greatest depth, and the moves an order that never rises. Machine code does it on the buffers
that the lists lie in, all positions in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.analysis.engine.search_output import LEAST_MATE_CP, LONGEST_MATE, MATE_CP
from milepost.analysis.store.lists import Evaluated
from milepost.errors import InputError, TableError
from milepost.io.arrow_buffers import (
    Bytes,
    Longs,
    as_series,
    bit_column,
    list_column,
    list_starts,
    number_arrays,
    number_column,
    starts_of,
    text_arrays,
    text_column,
    unfilled,
)
from milepost.kernels import kernel

MATE_PAWNS = MATE_CP / 100
"""What a mate is worth, less 0.01 a move: a mate in 3 is 299.97."""
ROOM_FOR_MATES = (MATE_CP - LEAST_MATE_CP) / 100
"""Mates lie within so many pawns of the value of a mate; all other values are clipped below."""
MOST_MATE_PAWNS = 1e9
"""More than anybody needs; with much more a hundredth of a pawn would be lost in rounding."""
_ALL_DEPTHS = 1 << 30
_SHORT = 12
"""So many letters of a text lie in Arrow's view of it."""
_FITS, _NO_FIT, _NO_VALUE = 0, 1, 2

_Floats = npt.NDArray[np.float64]
_NumberLists = tuple[Longs, Longs, npt.NDArray[Any], Bytes, int]


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
    top, most = _limits(mate_pawns)
    plain = cp.cast(pl.Float64).fill_null(np.nan).to_numpy()
    moves_to_mate = mate.cast(pl.Float64).fill_null(np.nan).to_numpy()
    size = top - np.minimum(np.abs(moves_to_mate), LONGEST_MATE)
    # Mated in 0 is a loss too: the sign of the number would lose it.
    mates = np.where(moves_to_mate > 0, size, -size)
    worth: _Floats = np.where(np.isnan(moves_to_mate), np.clip(plain, -most, most), mates) / 100.0
    return worth


def _limits(mate_pawns: float) -> tuple[int, int]:
    """What a mate is worth, and the most that another value is, in centipawns.

    Whole ones, so that equal values stay equal.
    """
    if not 2 * ROOM_FOR_MATES <= mate_pawns <= MOST_MATE_PAWNS:
        raise InputError(
            f"a mate must be worth at least {2 * ROOM_FOR_MATES:g} and at most "
            f"{MOST_MATE_PAWNS:,.0f} pawns, got {mate_pawns:g}"
        )
    top = round(mate_pawns * 100)
    return top, top - round(ROOM_FOR_MATES * 100)


@dataclass(frozen=True)
class Options:
    """The options of some turns, best first; see `order_options`."""

    evaluated: Evaluated
    rows: Longs
    """The evaluation of each turn."""
    depths: int
    """How many depths of it are taken at most."""
    limits: tuple[int, int]
    starts: Longs
    """Where the options of each turn begin, and the end."""
    order: Longs
    """Which move of all evaluations each option is."""
    values: _Floats
    """Their values in pawns for the mover, never rising within a turn."""
    shallow: npt.NDArray[np.bool_]
    """Whether each was searched less deeply than others of its turn."""
    lowered: npt.NDArray[np.bool_]
    """Whether a turn's shallower values were lowered."""
    chosen: Longs
    """Which option was played; -1 = none of them."""

    @property
    def best(self) -> _Floats:
        """The value of the first option of each turn."""
        return self.values[self.starts[:-1]]

    @property
    def worth(self) -> _Floats:
        """The value of the option that was played in each turn; NaN = none of them."""
        worth = np.full(len(self.rows), np.nan)
        among = self.chosen >= 0
        worth[among] = self.values[(self.starts[:-1] + self.chosen)[among]]
        return worth

    def write(self, turns: Longs) -> WrittenOptions:
        """Return the options of some of the turns as columns."""
        widths = np.diff(self.starts)[turns]
        rows = self.rows[turns]
        cp_at = list_starts(self.evaluated.cp)
        levels = np.minimum(np.diff(cp_at), self.depths)[rows]
        starts, levels_at = starts_of(widths), starts_of(levels)
        values_at = starts_of(widths * levels)
        count, said = int(starts[-1]), int(values_at[-1])
        views, values = unfilled((count, 16), np.uint8), np.empty(count)
        by_depth, known = unfilled(said, np.float64), np.full(said // 8 + 1, 255, dtype=np.uint8)
        shallow = np.zeros(count // 8 + 1, dtype=np.uint8)
        inner_at = np.empty(int(levels_at[-1]) + 1, dtype=np.int64)
        short = _write(
            turns, rows, self.starts, self.order, self.values, self.shallow, starts, values_at,
            list_starts(self.evaluated.moves), *text_arrays(self.evaluated.moves.values),
            self.limits, _number_lists(self.evaluated.cp, "i4"),
            _number_lists(self.evaluated.mate, "i2"),
            views, values, shallow, by_depth, known, inner_at, levels_at,
        )  # fmt: skip
        texts = text_column(views)
        if not short:  # no move is so long, but that is for others to say
            order = [self.order[self.starts[turn] : self.starts[turn + 1]] for turn in turns]
            texts = as_series("", self.evaluated.moves.values)
            texts = texts.gather(np.concatenate(order)).to_arrow()
        inner = list_column(inner_at, number_column(by_depth, known))
        return WrittenOptions(
            starts,
            views if short else None,
            values,
            as_series("moves", list_column(starts, texts)),
            as_series("values", list_column(starts, number_column(values))),
            as_series("shallow", list_column(starts, bit_column(shallow, count))),
            as_series("depth_values", list_column(levels_at, inner)),
        )


@dataclass(frozen=True)
class WrittenOptions:
    """The options of some turns as columns, and the arrays behind two of them."""

    starts: Longs
    """Where the options of each turn begin, and the end."""
    views: Bytes | None
    """The moves as Arrow views them: sixteen bytes each, the length first, letters from the fifth;
    `None` if one has more letters than that."""
    flat_values: _Floats
    """The values, turn after turn."""
    moves: pl.Series
    """In UCI."""
    values: pl.Series
    """In pawns for the mover, best first."""
    shallow: pl.Series
    """Whether each was searched less deeply than others of its turn."""
    depth_values: pl.Series
    """What the engine said of each, at every depth."""

    @property
    def columns(self) -> list[pl.Series]:
        """The columns."""
        return [self.moves, self.values, self.shallow, self.depth_values]


def option_values(evaluations: pl.DataFrame, *, mate_pawns: float = MATE_PAWNS) -> pl.DataFrame:
    """Return the options of each evaluation, best first; see `order_options`.

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
    rows = np.arange(len(evaluations))
    found = order_options(Evaluated.of_frame(evaluations), rows, mate_pawns=mate_pawns)
    return pl.DataFrame([*found.write(rows).columns, pl.Series("lowered", found.lowered)])


def order_options(
    evaluated: Evaluated,
    rows: Longs,
    *,
    played: pl.Series | None = None,
    depth: int | None = None,
    mate_pawns: float = MATE_PAWNS,
) -> Options:
    """Return the options of some turns, best first, with their values for the mover.

    A move's value is that of its greatest depth. Moves searched to the greatest depth of the
    position come first, by value, equal ones in the order of the table, which is the engine's. Less
    deeply searched ones follow in the order of the table and are marked. A shallower value
    is no claim against a deeper one: where it would stand above the value before it, it is lowered
    to that value. The values by depth stay what the engine said.

    Parameters
    ----------
    evaluated
        The evaluations.
    rows
        Which one belongs to each turn; it must have at least one move and one depth.
    played
        The move that was played in each turn.
    depth
        Take only so many depths of each.
    mate_pawns
        What a mate is worth; see `pawns`.

    Raises
    ------
    TableError
        If lists do not fit each other, or a move has no value at any depth.
    """
    limits = _limits(mate_pawns)
    depths = _ALL_DEPTHS if depth is None else depth
    moves_at, cp_at, mate_at = map(list_starts, (evaluated.moves, evaluated.cp, evaluated.mate))
    widths = np.diff(moves_at)[rows]
    levels = np.minimum(np.diff(cp_at), depths)[rows]
    fits = (widths > 0) & (levels > 0) & (np.minimum(np.diff(mate_at), depths)[rows] == levels)
    if not fits.all():
        raise _unfit()
    starts = starts_of(widths)
    count = int(starts[-1])
    order, values = np.empty(count, dtype=np.int64), np.empty(count)
    shallow, lowered = np.empty(count, dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    chosen = np.empty(len(rows), dtype=np.int64)
    problem = _order(
        rows, starts, levels, moves_at, *text_arrays(evaluated.moves.values),
        *text_arrays(pl.Series([], dtype=pl.String) if played is None else played), limits,
        _number_lists(evaluated.cp, "i4"), _number_lists(evaluated.mate, "i2"),
        order, values, shallow, lowered, chosen,
    )  # fmt: skip
    if problem == _NO_FIT:
        raise _unfit()
    if problem == _NO_VALUE:
        raise TableError("an evaluated move has no value at any depth")
    return Options(evaluated, rows, depths, limits, starts, order, values, shallow, lowered, chosen)


def _number_lists(lists: Any, dtype: str) -> _NumberLists:
    """Return where lists of lists begin, where those begin, their numbers, and which are known."""
    numbers, known, shift = number_arrays(lists.values.values, dtype)
    return list_starts(lists), list_starts(lists.values), numbers, known, shift


def _unfit() -> TableError:
    return TableError("an evaluation's values do not fit its moves")


@kernel
def _most_options(starts: Longs) -> int:
    """Return how many options the turn with most of them has."""
    most = 0
    for turn in range(len(starts) - 1):
        most = max(most, starts[turn + 1] - starts[turn])
    return most


@kernel
def _all_bits(bits: Bytes, begin: int, end: int, value: int) -> bool:
    """Whether all bits between two places are the same: 1 or 0."""
    while begin < end and begin & 7:
        if (bits[begin >> 3] >> (begin & 7)) & 1 != value:
            return False
        begin += 1
    for byte in range(begin >> 3, end >> 3):
        if bits[byte] != 255 * value:
            return False
    for place in range(max(begin, end - (end & 7)), end):
        if (bits[place >> 3] >> (place & 7)) & 1 != value:
            return False
    return True


@kernel
def _is_plain(
    cp_known: Bytes, of_cp: int, mate_known: Bytes, of_mate: int, count: int
) -> bool:  # fmt: skip
    """Whether some consecutive values are all centipawns, as nearly all are."""
    return (len(cp_known) == 0 or _all_bits(cp_known, of_cp, of_cp + count, 1)) and (
        len(mate_known) > 0 and _all_bits(mate_known, of_mate, of_mate + count, 0)
    )


@kernel
def _read_level(
    limits: tuple[int, int], width: int, cp: npt.NDArray[np.int32], cp_known: Bytes, cp_shift: int,
    of_cp: int, mate: npt.NDArray[np.int16], mate_known: Bytes, mate_shift: int, of_mate: int,
    out: _Floats,
) -> None:  # fmt: skip
    """Read what the engine said of all moves at one depth; see `pawns`."""
    top, most = limits
    all_cp, all_mate = len(cp_known) == 0, len(mate_known) == 0
    for option in range(width):
        bit = of_mate + option + mate_shift
        if all_mate or (mate_known[bit >> 3] >> (bit & 7)) & 1:
            moves = int(mate[of_mate + option])
            size = top - min(abs(moves), LONGEST_MATE)
            out[option] = (size if moves > 0 else -size) / 100.0
            continue
        bit = of_cp + option + cp_shift
        if all_cp or (cp_known[bit >> 3] >> (bit & 7)) & 1:
            out[option] = min(max(int(cp[of_cp + option]), -most), most) / 100.0
        else:
            out[option] = np.nan


@kernel
def _sort_options(width: int, final: _Floats, deepest: Longs, greatest: int, order: Longs) -> None:
    """Put the deepest first, by value, then the others as they stand; equal ones stay in order."""
    count = 0
    for option in range(width):
        if deepest[option] < greatest:
            continue
        place = count
        while place > 0 and final[order[place - 1]] < final[option]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = option
        count += 1
    for option in range(width):
        if deepest[option] < greatest:
            order[count] = option
            count += 1


@kernel
def _is_same(one: Bytes, begin: int, end: int, two: Bytes, other: int, other_end: int) -> bool:
    if end - begin != other_end - other:
        return False
    for place in range(end - begin):  # noqa: SIM110 - a kernel has no generators
        if one[begin + place] != two[other + place]:
            return False
    return True


@kernel
def _order(
    rows: Longs, starts: Longs, all_levels: Longs, moves_at: Longs, letters: Bytes,
    letters_at: Longs, played: Bytes, played_at: Longs, limits: tuple[int, int],
    all_cp: _NumberLists, all_mates: _NumberLists, order: Longs, values: _Floats,
    shallow: npt.NDArray[np.bool_], lowered: npt.NDArray[np.bool_], chosen: Longs,
) -> int:  # fmt: skip
    """Fill the last five arrays; return what is wrong."""
    cp_at, cp_lists, cp, cp_known, cp_shift = all_cp
    mate_at, mate_lists, mate, mate_known, mate_shift = all_mates
    widest = _most_options(starts)
    said, final = np.empty(widest), np.empty(widest)
    deepest, place_of = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    for turn in range(len(rows)):
        row, begin = rows[turn], starts[turn]
        width, levels = starts[turn + 1] - begin, all_levels[turn]
        of_cp, of_mate = cp_at[row], mate_at[row]
        for level in range(levels):
            if (
                cp_lists[of_cp + level + 1] - cp_lists[of_cp + level] != width
                or mate_lists[of_mate + level + 1] - mate_lists[of_mate + level] != width
            ):
                return _NO_FIT
        # each move's value is the last one along the depths
        for option in range(width):
            deepest[option] = -1
        greatest, missing, level = -1, width, levels
        while missing and level > 0:
            level -= 1
            _read_level(
                limits, width, cp, cp_known, cp_shift, cp_lists[of_cp + level],
                mate, mate_known, mate_shift, mate_lists[of_mate + level], said,
            )  # fmt: skip
            for option in range(width):
                if deepest[option] < 0 and not np.isnan(said[option]):
                    final[option], deepest[option] = said[option], level
                    greatest = max(greatest, level)
                    missing -= 1
        if missing:
            return _NO_VALUE
        _sort_options(width, final, deepest, greatest, place_of)
        lowest = np.inf
        chosen[turn] = -1
        for option in range(width):
            source, at = place_of[option], begin + option
            lowered[turn] |= final[source] > lowest
            lowest = min(lowest, final[source])
            values[at] = lowest
            shallow[at] = deepest[source] < greatest
            order[at] = move = moves_at[row] + source
            if (
                chosen[turn] < 0
                and turn + 1 < len(played_at)
                and _is_same(
                    letters, letters_at[move], letters_at[move + 1], played, played_at[turn],
                    played_at[turn + 1],
                )
            ):  # fmt: skip
                chosen[turn] = option
    return _FITS


@kernel
def _write(
    turns: Longs, rows: Longs, old_starts: Longs, order: Longs, old_values: _Floats,
    old_shallow: npt.NDArray[np.bool_], starts: Longs, values_at: Longs, moves_at: Longs,
    letters: Bytes, letters_at: Longs, limits: tuple[int, int],
    all_cp: _NumberLists, all_mates: _NumberLists, views: Bytes, values: _Floats, shallow: Bytes,
    by_depth: _Floats, known: Bytes, inner_at: Longs, levels_at: Longs,
) -> bool:  # fmt: skip
    """Write the options of some turns as columns; return whether all moves are short texts."""
    cp_at, cp_lists, cp, cp_known, cp_shift = all_cp
    mate_at, mate_lists, mate, mate_known, mate_shift = all_mates
    widest = _most_options(starts)
    said, sources = np.empty(widest), np.empty(widest, dtype=np.int64)
    most = limits[1]
    short = True
    inner_at[0] = 0
    for place in range(len(turns)):
        row, begin, old = rows[place], starts[place], old_starts[turns[place]]
        width, levels = starts[place + 1] - begin, levels_at[place + 1] - levels_at[place]
        for option in range(width):
            at, move = begin + option, order[old + option]
            sources[option] = move - moves_at[row]
            values[at] = old_values[old + option]
            if old_shallow[old + option]:
                shallow[at >> 3] |= 1 << (at & 7)
            first, length = letters_at[move], letters_at[move + 1] - letters_at[move]
            short &= length <= _SHORT
            views[at, :] = 0
            views[at, 0] = length
            for letter in range(min(length, _SHORT)):
                views[at, 4 + letter] = letters[first + letter]
        at = values_at[place]
        of_cp, of_mate = cp_lists[cp_at[row]], mate_lists[mate_at[row]]
        # The lists of an evaluation lie one behind the other, all as wide as it has moves.
        plain = _is_plain(
            cp_known, of_cp + cp_shift, mate_known, of_mate + mate_shift, levels * width
        )
        for level in range(levels):
            if plain:
                for option in range(width):
                    said_cp = int(cp[of_cp + sources[option]])
                    by_depth[at + option] = min(max(said_cp, -most), most) / 100.0
            else:
                _read_level(
                    limits, width, cp, cp_known, cp_shift, of_cp, mate, mate_known, mate_shift,
                    of_mate, said,
                )  # fmt: skip
                for option in range(width):
                    value = said[sources[option]]
                    by_depth[at + option] = value
                    if np.isnan(value):
                        known[(at + option) >> 3] &= 255 - (1 << ((at + option) & 7))
            at, of_cp, of_mate = at + width, of_cp + width, of_mate + width
            inner_at[levels_at[place] + level + 1] = at
    return short
