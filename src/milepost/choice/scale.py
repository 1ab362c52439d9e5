"""From values to scaled differences: how much worse an option is than the best one.

Regan & Haworth 2011 measure an error on a scale where a pawn counts less the further the game is
from even: the difference between two values is the integral of dx / (C + |x|) between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost.choice.logarithms import ln_1_more
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.kernels import fused_kernel, kernel, wide_kernel

LOG = "log"
RAW = "raw"
WIN_PROBABILITY = "win-probability"
DIFFERENCES = (LOG, RAW, WIN_PROBABILITY)
_LOG, _WIN_PROBABILITY = DIFFERENCES.index(LOG), DIFFERENCES.index(WIN_PROBABILITY)
CAP = 4.0
TIE_SHIFT = 0.03


@dataclass(frozen=True)
class Scale:
    """How values become differences."""

    difference: str = LOG
    """``"log"``, ``"raw"`` or ``"win-probability"``."""
    constant: float = 1.0
    """C of the log scale, in the unit of the values."""
    cap: float | None = CAP
    """Values are clipped so far under the best one before scaling; None = not at all."""
    tie_shift: float = TIE_SHIFT
    """Added to the scaled difference of later options that equal the best one; 0 = off."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.difference not in DIFFERENCES:
            raise InputError(
                f"the difference is one of {', '.join(DIFFERENCES)}, got {self.difference!r}"
            )
        if not self.constant > 0:
            raise InputError(f"the constant of the log scale is over 0, got {self.constant}")
        if self.cap is not None and not self.cap > 0:
            raise InputError(f"the cap is over 0, or None for none, got {self.cap}")
        if not self.tie_shift >= 0:
            raise InputError(f"the tie shift is at least 0, got {self.tie_shift}")

    def apply(self, values: Floats) -> Floats:
        """Put values on the scale on which differences are taken.

        The log scale is sign(x) ln(1 + |x|/C), an integral of dx / (C + |x|) through zero: with it
        the opposite signs of two values need no special case. Not multiplied by C, so that the
        slope at zero is 1/C. Win probability: 1 / (1 + 10^(-x/4)), x in pawns.
        """
        if self.difference == LOG:
            logs: Floats = np.sign(values) * np.log1p(np.abs(values) / self.constant)
            return logs
        if self.difference == WIN_PROBABILITY:
            chances: Floats = 0.5 * (1.0 + np.tanh(values * (np.log(10.0) / 8.0)))
            return chances
        return values


PAWNS = Scale()
"""The scale of the 2011 paper, for values in pawns."""
RAW_UNITS = Scale(RAW, cap=None, tie_shift=0.0)
"""Differences as they are, for values in any other unit."""


def usual_scale(spreads: Spreads) -> Scale:
    """Return the scale that belongs to the unit of the values."""
    return PAWNS if spreads.in_pawns else RAW_UNITS


def clipped_options(spreads: Spreads, scale: Scale) -> int:
    """Return how many options the cap moves: those worth less than the best by more than it."""
    if scale.cap is None:
        return 0
    losses = raw_losses(spreads)
    return int(((losses > scale.cap) & np.isfinite(losses)).sum())


def scaled_differences(spreads: Spreads, scale: Scale) -> Floats:
    """Return each option's scaled difference to the best of its decision; inf for padding.

    With the tie shift: the first listed of equal best options has 0, the others the shift. The
    difference that enters projections includes it.
    """
    values, offsets = spreads.values, spreads.offsets
    if scale.difference == LOG:
        delta = np.empty(len(values))
        cap = np.inf if scale.cap is None else scale.cap
        _fill_log_below(scale.constant, cap, offsets, values, delta)
    else:
        delta = _below(values[offsets[:-1], None], values[:, None], offsets, scale)[:, 0]
    if scale.tie_shift > 0:
        tied = values == np.repeat(values[offsets[:-1]], spreads.counts)
        tied[offsets[:-1]] = False
        delta[tied] = scale.tie_shift
    return delta


def raw_losses(spreads: Spreads) -> Floats:
    """Return how much worth each option gives away, in the unit of the values; inf for padding."""
    return np.repeat(spreads.values[spreads.offsets[:-1]], spreads.counts) - spreads.values


def depth_differences(spreads: Spreads, scale: Scale, depths: Sequence[int]) -> Floats:
    """Return scaled differences at several depths, each against the best option at that depth.

    An option that is not known at a depth takes its value at the next greater depth where it is
    known. The last depth is the final one: its values, and the tie shift, are those of
    `scaled_differences` (shallower ties have no order to speak of).

    Parameters
    ----------
    spreads
        With values by depth.
    scale
        How values become differences.
    depths
        The depths wanted, one column each.

    Raises
    ------
    InputError
        If a depth is not there.
    """
    table = spreads.depth_values
    missing = [depth for depth in depths if depth not in spreads.depths]
    if table is None or missing:
        have = ", ".join(map(str, spreads.depths)) or "none"
        raise InputError(f"values at the depths {missing or list(depths)} are needed; have {have}")
    filled = filled_depths(spreads)
    if tuple(depths) != spreads.depths:
        filled = filled[:, [spreads.depths.index(depth) for depth in depths]]
    best = np.maximum.reduceat(filled, spreads.offsets[:-1], axis=0)
    answer = _below(best, filled, spreads.offsets, scale)
    if depths[-1] == spreads.depths[-1]:
        answer[:, -1] = scaled_differences(spreads, scale)
    return answer


def filled_depths(spreads: Spreads) -> Floats:
    """Return the values by depth, gaps filled from the next greater depth, the last the final."""
    assert spreads.depth_values is not None
    filled = spreads.depth_values.copy()
    filled[:, -1] = spreads.values
    for column in range(filled.shape[1] - 2, -1, -1):
        gap = np.isnan(filled[:, column])
        filled[gap, column] = filled[gap, column + 1]
    return filled


def _below(best: Floats, values: Floats, offsets: Ints, scale: Scale) -> Floats:
    """How far options are below the best of their decision, column by column."""
    answer = np.empty(values.shape)
    cap = np.inf if scale.cap is None else scale.cap
    kind = DIFFERENCES.index(scale.difference)
    _fill_below(kind, scale.constant, cap, offsets, best, values, answer)
    return answer


@kernel
def most_options(offsets: Ints) -> int:
    """Return how many options the decision with most of them has."""
    most = 0
    for decision in range(len(offsets) - 1):
        most = max(most, offsets[decision + 1] - offsets[decision])
    return most


@kernel
def fill_gaps(values: Floats, depth_values: Floats, start: int, size: int, out: Floats) -> None:
    """Fill the values of one decision, a row a depth, gaps from the next greater depth."""
    last = depth_values.shape[1] - 1
    for i in range(size):
        value = values[start + i]
        out[last, i] = value
        for d in range(last - 1, -1, -1):
            here = depth_values[start + i, d]
            value = value if math.isnan(here) else here
            out[d, i] = value


@wide_kernel
def best_value(filled: Floats, depth: int, size: int) -> float:
    """Return the greatest value at a depth."""
    best: float = filled[depth, 0]
    for i in range(size):
        best = max(best, filled[depth, i])
    return best


@fused_kernel
def _fill_log_below(
    constant: float, cap: float, offsets: Ints, values: Floats, answer: Floats
) -> None:
    """As `_fill_below` for the logarithm and values best first, in vectors."""
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        best = values[start]
        top = math.copysign(math.log1p(abs(best) / constant), best)
        least = best - cap
        for i in range(start, offsets[decision + 1]):
            value = values[i]
            kept = max(value, least)
            log = ln_1_more(abs(kept) / constant)
            below = max(top - (log if kept >= 0.0 else -log), 0.0)
            below = below if value < best else 0.0
            answer[i] = below if value > -math.inf else math.inf


@kernel
def _fill_below(
    kind: int,
    constant: float,
    cap: float,
    offsets: Ints,
    best: Floats,
    values: Floats,
    answer: Floats,
) -> None:
    columns = values.shape[1]
    top = np.empty(columns)
    for decision in range(len(offsets) - 1):
        for k in range(columns):
            top[k] = _applied(kind, constant, best[decision, k])
        for i in range(offsets[decision], offsets[decision + 1]):
            for k in range(columns):
                if values[i, k] == -math.inf:
                    # Padding stays infinitely far away: the cap is for real options only.
                    answer[i, k] = math.inf
                elif values[i, k] >= best[decision, k]:
                    answer[i, k] = 0.0
                else:
                    kept = max(values[i, k], best[decision, k] - cap)
                    # Rounding must not make a difference negative.
                    answer[i, k] = max(top[k] - _applied(kind, constant, kept), 0.0)


@kernel
def _applied(kind: int, constant: float, value: float) -> float:
    """As `Scale.apply`, one value."""
    if kind == _LOG:
        log = math.log1p(abs(value) / constant)
        return log if value >= 0.0 else -log
    if kind == _WIN_PROBABILITY:
        return 0.5 * (1.0 + math.tanh(value * (math.log(10.0) / 8.0)))
    return value
