"""What an assistant would have chosen: probabilities of every option, for a fixed list of them.

An assistant is a stranger to the player: an engine with the same values as ours, or with others.
Its choices do not depend on the player's rating. The list is fixed before anything is looked at
(`milepost.fairplay.evidence.menu` weighs it); nothing is picked to suit a performance.
"""

from __future__ import annotations

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
    best = np.repeat(spreads.values[spreads.offsets[:-1]], spreads.counts)
    return _shared(spreads, (spreads.values == best).astype(np.float64))


def other_engine(spreads: Spreads) -> Floats:
    """Return who takes the best option of values that differ from ours by normal noise.

    P(i) = ∫ φ(x - v_i) Π_{j≠i} Φ(x - v_j) dx, values in units of `NOISE_PAWNS`.
    """
    loss = _losses(spreads) / NOISE_PAWNS
    answer = np.zeros(len(loss))
    _noisy_best(spreads.offsets, loss, _GRID, _phi_tracks(), answer)
    return _shared(spreads, answer)


def shallow_engine(spreads: Spreads) -> Floats:
    """Return who takes the best option of about half the depth; without depths: of this set-up."""
    if spreads.depth_values is None or len(spreads.depths) < 2:
        return same_engine(spreads)
    values = spreads.depth_values[:, (len(spreads.depths) - 1) // 2]
    values = np.where(np.isnan(values), spreads.values, values)
    best = np.repeat(np.maximum.reduceat(values, spreads.offsets[:-1]), spreads.counts)
    return _shared(spreads, (values == best).astype(np.float64))


def near_best(spreads: Spreads) -> Floats:
    """Return who takes any of the first three options that is nearly as good as the best."""
    place = np.arange(len(spreads.values)) - np.repeat(spreads.offsets[:-1], spreads.counts)
    good = (place < 3) & (_losses(spreads) <= NEAR_PAWNS + 1e-9)
    return _shared(spreads, good.astype(np.float64))


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


def _losses(spreads: Spreads) -> Floats:
    best = np.repeat(spreads.values[spreads.offsets[:-1]], spreads.counts)
    return np.where(np.isfinite(spreads.values), best - spreads.values, np.inf)


def _shared(spreads: Spreads, weights: Floats) -> Floats:
    total = np.repeat(np.add.reduceat(weights, spreads.offsets[:-1]), spreads.counts)
    answer: Floats = weights / total
    return answer


_TRACKS: Final = 30
"""The points of the integral are so many points of the table of ln Φ apart."""
_START: Final = -2 * _FAR - 1
_STEP: Final = 2 * _FAR / (_POINTS - 1) / _TRACKS
_ROOM: Final = 96
"""Points in whole vectors; nothing is left of the noise at those that are too many."""
_GRID: Final = np.concatenate(
    [np.linspace(-_FAR, _FAR, _POINTS), np.full(_ROOM - _POINTS, 10 * _FAR)]
)


@cache
def _phi_tracks() -> Floats:
    """Return ln Φ on a fine table: the kernel then only looks up and adds.

    Row r has the points r, r + `_TRACKS`, …: an option meets the points of the integral at those of
    one row, one after the other.
    """
    length = -(-int(-2 * _START / _STEP) // _TRACKS) + _ROOM
    points = _START + _STEP * np.arange(length * _TRACKS)
    table: Floats = np.ascontiguousarray(log_ndtr(points).reshape(length, _TRACKS).T)
    return table


@kernel
def _noisy_best(offsets: Ints, loss: Floats, grid: Floats, tracks: Floats, answer: Floats) -> None:
    """Fill the chance of each option to come first, up to a common factor."""
    total = np.empty(len(grid))
    for decision in range(len(offsets) - 1):
        first, stop = offsets[decision], offsets[decision + 1]
        total[:] = 0.0
        # Options are best first: those that may come first stand together, and so do equal ones.
        last = first
        while last < stop and loss[last] <= _FAR:
            same = last + 1
            while same < stop and loss[same] == loss[last]:
                same += 1
            place = _place(loss[last])
            _add_track(tracks[place % _TRACKS], place // _TRACKS, same - last, total)
            last = same
        at = first
        while at < last:
            place = _place(loss[at])
            chance = _chance(tracks[place % _TRACKS], place // _TRACKS, loss[at], grid, total)
            same = at + 1
            answer[at] = chance
            while same < last and loss[same] == loss[at]:
                answer[same] = chance
                same += 1
            at = same


@kernel
def _place(loss: float) -> int:
    """Return where an option meets the first point of the integral in the table of ln Φ."""
    return int((loss - _FAR - _START) / _STEP + 0.5)


@wide_kernel
def _add_track(track: Floats, begin: int, times: int, total: Floats) -> None:
    """Add ln Φ of some equal options at all points."""
    for k in range(_ROOM):
        total[k] += times * track[begin + k]


@wide_kernel
def _chance(track: Floats, begin: int, loss: float, grid: Floats, total: Floats) -> float:
    """Return the chance of an option to come first: a sum over where its own noise may lie."""
    chance = 0.0
    for k in range(_ROOM):
        shifted = grid[k] + loss
        chance += exp(total[k] - track[begin + k] - 0.5 * shifted * shifted)
    return chance
