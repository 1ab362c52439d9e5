"""The numbers of the options that linear models go by, one row a number, one column an option.

So loops over the options of a decision run in vectors. Behind the last option there is room for
one vector more, so that they may read on to the end of it. Columns that are products are kept as
their parts: what belongs to the decision is multiplied into the factors of an agent, once a
decision and not once an option.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from milepost.choice.columns import OptionParts, option_parts
from milepost.choice.logarithms import exp, ln, ln_1_more
from milepost.choice.scale import LOG, Scale, best_value, fill_gaps, most_options
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.kernels import fused_kernel, kernel, wide_kernel

LANES = 8
"""Options are taken in vectors of so many."""
ABREAST = 4
"""Rows are taken so many at a time."""


@dataclass(frozen=True, eq=False)
class OptionNumbers:
    """What ln y of linear models is made of."""

    powers: Floats
    """δ^c, a row a depth; 0 for padding."""
    parts: Floats
    """Columns of the options; 0 for padding."""
    context: Floats
    """Columns of the decisions."""
    part_of: Ints
    """The row of `parts` that each utility has as a factor."""
    context_of: Ints
    """The row of `context` that it has as the other one."""
    furthest: float
    """The logarithm of the greatest difference."""


@dataclass(frozen=True, eq=False)
class NumbersInBlocks:
    """What the numbers of one block of decisions after the other are made from.

    Those of all decisions at once would take many times the room of the decisions, and be read from
    far memory by whoever asks next.
    """

    spreads: Spreads
    """The decisions, with values by depth."""
    scale: Scale
    """How differences are taken: by logarithm."""
    wanted: Ints
    """The places of the depths."""
    c: float
    """The power of the differences."""
    parts: OptionParts
    """The columns."""

    def block(self, first: int, last: int) -> OptionNumbers:
        """Return the numbers of some decisions that stand together; options count from theirs."""
        spreads, scale, parts = self.spreads, self.scale, self.parts
        assert spreads.depth_values is not None
        begin, end = int(spreads.offsets[first]), int(spreads.offsets[last])
        count = len(self.wanted)
        powers = np.empty((-(-count // ABREAST) * ABREAST, end - begin + LANES))
        powers[count:], powers[:, end - begin :] = 0.0, 0.0
        greatest = _fill_powers(
            spreads.offsets[first : last + 1],
            spreads.values,
            spreads.depth_values,
            self.wanted,
            scale.constant,
            math.inf if scale.cap is None else scale.cap,
            scale.tie_shift,
            self.c,
            powers,
        )
        return OptionNumbers(
            powers,
            parts.table(begin, end, spare=LANES, rows=ABREAST),
            parts.decisions[:, first:last],
            parts.row_of,
            parts.decision_row_of,
            _ln(greatest),
        )


def numbers_in_blocks(
    spreads: Spreads, scale: Scale, depths: tuple[int, ...], utilities: tuple[str, ...], c: float
) -> NumbersInBlocks:
    """Return what makes the numbers of decisions; see `runs_in_vectors`."""
    wanted = np.array([spreads.depths.index(depth) for depth in depths])
    return NumbersInBlocks(spreads, scale, wanted, c, option_parts(utilities, spreads, scale))


def option_numbers(
    spreads: Spreads,
    scale: Scale,
    depths: tuple[int, ...],
    utilities: tuple[str, ...],
    c: float,
    ln_delta: Floats | None,
) -> OptionNumbers:
    """Return the numbers of decisions; `ln_delta` are ln δ, where they are there already."""
    if ln_delta is None:
        return numbers_in_blocks(spreads, scale, depths, utilities, c).block(0, len(spreads))
    parts = option_parts(utilities, spreads, scale)
    count = len(depths) or 1
    powers = np.zeros((-(-count // ABREAST) * ABREAST, len(spreads.values) + LANES))
    real = spreads.values > -np.inf
    greatest = float(np.exp(ln_delta.max(initial=-np.inf, where=real[:, None])))
    powers[:count, :-LANES] = np.where(real, np.exp(c * ln_delta.T), 0.0)
    return OptionNumbers(
        powers,
        parts.table(0, len(spreads.values), spare=LANES, rows=ABREAST),
        parts.decisions,
        parts.row_of,
        parts.decision_row_of,
        _ln(greatest),
    )


def _ln(greatest: float) -> float:
    return math.log(greatest) if greatest > 0.0 else -math.inf


def furthest_at_most(spreads: Spreads, scale: Scale) -> float:
    """Return what the logarithm of a difference by depth, on the log scale, cannot exceed."""
    assert spreads.depth_values is not None
    ends = []
    for values in (spreads.values, spreads.depth_values):
        # What is not known at a depth is NaN, which these leave out.
        low = float(np.fmin.reduce(values, axis=None, initial=0.0))
        if low == -math.inf:
            low = float(np.fmin.reduce(values, axis=None, initial=0.0, where=values > -math.inf))
        ends += [-low, float(np.fmax.reduce(values, axis=None, initial=0.0))]
    return _ln(max(2.0 * math.log1p(max(ends) / scale.constant), scale.tie_shift))


def runs_in_vectors(scale: Scale, spreads: Spreads) -> bool:
    """Whether δ^c can be had from the values without the table of differences."""
    return scale.difference == LOG and spreads.depth_values is not None


@kernel
def _fill_powers(
    offsets: Ints,
    values: Floats,
    depth_values: Floats,
    wanted: Ints,
    constant: float,
    cap: float,
    tie_shift: float,
    c: float,
    powers: Floats,
) -> float:
    """Fill δ^c of the log scale at the depths wanted, as `milepost.choice.scale` has δ.

    The first column of `powers` is the first option of the first decision.
    """
    depths, begin = depth_values.shape[1], offsets[0]
    most = most_options(offsets) + LANES
    filled, delta = np.zeros((depths, most)), np.zeros((len(wanted), most))
    greatest = 0.0
    for decision in range(len(offsets) - 1):
        start, size = offsets[decision], offsets[decision + 1] - offsets[decision]
        # To the end of the last vector: what is too much belongs to the next decision, or to none.
        width = -(-size // LANES) * LANES
        fill_gaps(values, depth_values, start, size, filled)
        for row in range(len(wanted)):
            depth = wanted[row]
            best = best_value(filled, depth, size)
            top = math.copysign(math.log1p(abs(best) / constant), best)
            _fill_delta(filled, depth, width, best, top, constant, cap, delta, row)
            delta[row, size:width] = 0.0
            if tie_shift > 0.0 and depth == depths - 1:
                for i in range(1, size):
                    if filled[depth, i] == best:
                        delta[row, i] = tie_shift
            greatest = max(greatest, best_value(delta, row, size))
            _raise(delta, row, width, c, powers[row, start - begin : start - begin + width])
    return greatest


@fused_kernel
def _fill_delta(
    filled: Floats,
    depth: int,
    size: int,
    best: float,
    top: float,
    constant: float,
    cap: float,
    delta: Floats,
    row: int,
) -> None:
    """Fill the scaled differences of one decision at one depth; 0 for padding."""
    least = best - cap
    for i in range(size):
        value = filled[depth, i]
        kept = max(value, least)
        log = ln_1_more(abs(kept) / constant)
        below = max(top - (log if kept >= 0.0 else -log), 0.0)
        delta[row, i] = below if -math.inf < value < best else 0.0


@fused_kernel
def _raise(delta: Floats, row: int, size: int, c: float, powers: Floats) -> None:
    """Fill δ^c."""
    for i in range(size):
        power = exp(c * ln(delta[row, i]))
        powers[i] = power if delta[row, i] > 0.0 else 0.0


@wide_kernel
def add_rows(
    rows: Floats,
    low: int,
    high: int,
    first: int,
    width: int,
    factors: Floats,
    column: int,
    out: Floats,
) -> None:
    """Add Σ factor × number of each option of a decision over some rows, four at a time.

    Rows are cut to the decision first: at a sum of numbers, which might be negative for all the
    compiler knows, they would be read one by one.
    """
    last = first + width
    for k in range(low, high, ABREAST):
        one, two, three = factors[k, column], factors[k + 1, column], factors[k + 2, column]
        four = factors[k + 3, column]
        a, b = rows[k, first:last], rows[k + 1, first:last]
        c, d = rows[k + 2, first:last], rows[k + 3, first:last]
        for i in range(width):
            out[i] += one * a[i] + two * b[i] + three * c[i] + four * d[i]


@kernel
def gather_factors(
    context: Floats,
    decision: int,
    part_of: Ints,
    context_of: Ints,
    factors: Floats,
    out: Floats,
) -> None:
    """Fill the factors of the parts in one decision from those of the utilities."""
    out[:, :] = 0.0
    for k in range(len(part_of)):
        share, row = context[context_of[k], decision], part_of[k]
        for j in range(factors.shape[1]):
            out[row, j] += share * factors[k, j]
