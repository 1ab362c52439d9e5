"""What an assistant would have chosen: probabilities of every option, for a fixed list of them.

An assistant is a stranger to the player: an engine with the same values as ours, or with others.
Its choices do not depend on the player's rating. The list is fixed before anything is looked at
(`milepost.fairplay.evidence.menu` weighs it); nothing is picked to suit a performance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import numpy as np
from scipy.special import log_ndtr

from milepost.choice.logarithms import exp
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.kernels import kernel, wide_kernel

NOISE_PAWNS: Final = 0.2
"""How much another engine's values differ from ours, in pawns (one standard deviation)."""
NEAR_PAWNS: Final = 0.3
"""One of the first three takes options at most so much worse than the best."""
_FAR: Final = 6.0
"""Options worth so many standard deviations of the noise less than the best never come first."""
_POINTS: Final = 81
"""Points of the integral over the best noisy value."""


def same_engine(spreads: Spreads) -> Floats:
    """Return who takes the best option of this set-up; options of equal worth share."""
    answer = np.zeros(len(spreads.values))
    _share_near(spreads.offsets, spreads.values, 0.0, len(spreads.values), answer)
    return answer


def other_engine(spreads: Spreads) -> Floats:
    """Return who takes the best option of values that differ from ours by normal noise.

    P(i) = ∫ φ(x - v_i) Π_{j≠i} Φ(x - v_j) dx, values in units of `NOISE_PAWNS`.
    """
    answer = np.zeros(len(spreads.values))
    _noisy_best(spreads.offsets, spreads.values, _GRID, *_phi_tracks(), answer)
    return answer


def shallow_engine(spreads: Spreads) -> Floats:
    """Return who takes the best option of about half the depth; without depths: of this set-up."""
    if spreads.depth_values is None or len(spreads.depths) < 2:
        return same_engine(spreads)
    answer = np.zeros(len(spreads.values))
    depth = (len(spreads.depths) - 1) // 2
    _share_at_depth(spreads.offsets, spreads.values, spreads.depth_values, depth, answer)
    return answer


def near_best(spreads: Spreads) -> Floats:
    """Return who takes any of the first three options that is nearly as good as the best."""
    answer = np.zeros(len(spreads.values))
    _share_near(spreads.offsets, spreads.values, NEAR_PAWNS + 1e-9, 3, answer)
    return answer


ASSISTANTS: Mapping[str, Callable[[Spreads], Floats]] = {
    "best of this set-up": same_engine,
    "another engine": other_engine,
    "half the depth": shallow_engine,
    "near the best": near_best,
}
"""All of them, by name."""


def helped_probabilities(spreads: Spreads) -> Floats:
    """Return the probabilities of every option for every assistant, a row an assistant."""
    return np.stack([assistant(spreads) for assistant in ASSISTANTS.values()])


@kernel
def _share_near(offsets: Ints, values: Floats, near: float, most: int, answer: Floats) -> None:
    """Share among the first few options of each decision that are as near to the best."""
    for decision in range(len(offsets) - 1):
        first, stop = offsets[decision], offsets[decision + 1]
        # Options are best first.
        last = first + 1
        while last < min(stop, first + most) and values[first] - values[last] <= near:
            last += 1
        answer[first:last] = 1.0 / (last - first)


@kernel
def _share_at_depth(
    offsets: Ints, values: Floats, depth_values: Floats, depth: int, answer: Floats
) -> None:
    """Share among the options that are best at a depth; what is not known there is as it is."""
    for decision in range(len(offsets) - 1):
        first, stop = offsets[decision], offsets[decision + 1]
        best, count = -math.inf, 0
        for i in range(first, stop):
            here = depth_values[i, depth]
            answer[i] = values[i] if math.isnan(here) else here
            if answer[i] > best:
                best, count = answer[i], 0
            count += answer[i] == best
        for i in range(first, stop):
            answer[i] = 1.0 / count if answer[i] == best else 0.0


_TRACKS: Final = 30
"""The points of the integral are so many points of the table of ln Φ apart."""
_START: Final = -2 * _FAR - 1
_STEP: Final = 2 * _FAR / (_POINTS - 1) / _TRACKS
_ROOM: Final = 96
"""Points in whole vectors; those that are too many do not count."""
_GRID: Final = np.linspace(-_FAR, 2 * _FAR * (_ROOM - 1) / (_POINTS - 1) - _FAR, _ROOM)


@cache
def _phi_tracks() -> tuple[Floats, Floats]:
    """Return ln Φ and φ/Φ, up to a factor, on a fine table: the kernel looks up and adds.

    Row r has the points r, r + `_TRACKS`, …: an option meets the points of the integral at those of
    one row, one after the other.
    """
    length = -(-int(-2 * _START / _STEP) // _TRACKS) + _ROOM
    points = _START + _STEP * np.arange(length * _TRACKS)
    logarithm = log_ndtr(points)
    ratio = np.exp(-0.5 * points**2 - logarithm)
    tables = (each.reshape(length, _TRACKS).T for each in (logarithm, ratio))
    ln_phi, over_phi = (np.ascontiguousarray(table) for table in tables)
    return ln_phi, over_phi


@kernel
def _noisy_best(
    offsets: Ints, values: Floats, grid: Floats, ln_phi: Floats, ratio: Floats, answer: Floats
) -> None:
    """Fill the chance of each option to come first."""
    total = np.zeros(_ROOM)
    for decision in range(len(offsets) - 1):
        first, stop = offsets[decision], offsets[decision + 1]
        best = values[first]
        total[:] = 0.0
        # Options are best first: those that may come first stand together, and so do equal ones.
        last = first
        while last < stop and (best - values[last]) / NOISE_PAWNS <= _FAR:
            same = _end_of_equals(values, last, stop)
            place = _place((best - values[last]) / NOISE_PAWNS)
            _add_track(ln_phi[place % _TRACKS], place // _TRACKS, same - last, total)
            last = same
        _raise(total)
        at, everything = first, 0.0
        while at < last:
            same = _end_of_equals(values, at, last)
            loss = (best - values[at]) / NOISE_PAWNS
            place = _place(loss)
            apart = loss - _FAR - _START - place * _STEP
            chance = _chance(ratio[place % _TRACKS], place // _TRACKS, loss, apart, grid, total)
            answer[at:same] = chance
            everything += (same - at) * chance
            at = same
        for i in range(first, last):
            answer[i] /= everything


@kernel
def _end_of_equals(values: Floats, at: int, stop: int) -> int:
    """Return where the options end that are worth as much as one."""
    end = at + 1
    while end < stop and values[end] == values[at]:
        end += 1
    return end


@kernel
def _place(loss: float) -> int:
    """Return where an option meets the first point of the integral in the tables."""
    return int((loss - _FAR - _START) / _STEP + 0.5)


@wide_kernel
def _add_track(track: Floats, begin: int, times: int, total: Floats) -> None:
    """Add ln Φ of some equal options at all points."""
    for k in range(_ROOM):
        total[k] += times * track[begin + k]


@wide_kernel
def _raise(total: Floats) -> None:
    """Turn ln Π Φ into Π Φ, and into nothing where no point is."""
    for k in range(_ROOM):
        total[k] = exp(total[k])
    for k in range(_POINTS, _ROOM):
        total[k] = 0.0


@wide_kernel
def _chance(
    ratio: Floats, begin: int, loss: float, apart: float, grid: Floats, product: Floats
) -> float:
    """Return the chance of an option to come first: a sum over where its own noise may lie.

    `apart` is how far its points lie from those of the table: by as little, φ is carried on as
    e^-u with u = apart × (x - apart / 2), which is below 0.02 wherever φ counts.
    """
    chance = 0.0
    for k in range(_ROOM):
        u = apart * (grid[k] + (loss - 0.5 * apart))
        carried = 1.0 - u * (1.0 / 3.0 - u * (1.0 / 12.0 - u * (1.0 / 60.0)))
        carried = 1.0 - u * (1.0 - 0.5 * u * carried)
        chance += product[k] * ratio[begin + k] * carried
    return chance
