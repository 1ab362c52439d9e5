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
    grid = np.linspace(-_FAR, _FAR, _POINTS)
    answer = np.zeros(len(loss))
    _noisy_best(spreads.offsets, loss, grid, answer)
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


def _noisy_best(offsets: Ints, loss: Floats, grid: Floats, answer: Floats) -> None:
    start = -2 * _FAR - 1
    _noisy_best_kernel(offsets, loss, grid, _ln_phi(start, _STEP), start, _STEP, answer)


_STEP = 0.005


@cache
def _ln_phi(start: float, step: float) -> Floats:
    """Return ln Φ on a fine table: the kernel then only looks up and adds."""
    table: Floats = log_ndtr(np.arange(start, -start + step, step))
    return table


@kernel
def _noisy_best_kernel(
    offsets: Ints,
    loss: Floats,
    grid: Floats,
    table: Floats,
    start: float,
    step: float,
    answer: Floats,
) -> None:
    far = 6.0
    most = 0
    for decision in range(len(offsets) - 1):
        most = max(most, offsets[decision + 1] - offsets[decision])
    own = np.empty(most)
    for decision in range(len(offsets) - 1):
        first = offsets[decision]
        last = first
        # Options are best first: those that may come first stand together.
        while last < offsets[decision + 1] and loss[last] <= far:
            last += 1
        for x in grid:
            _add_at(x, loss[first:last], table, start, step, own, answer[first:last])


@wide_kernel
def _add_at(
    x: float,
    loss: Floats,
    table: Floats,
    start: float,
    step: float,
    own: Floats,
    answer: Floats,
) -> None:
    """Add the chance of each option to come first where its own noise is x beyond its loss."""
    total = 0.0
    for i in range(len(loss)):
        own[i] = table[np.uint32(np.int32((x + loss[i] - start) / step + 0.5))]
        total += own[i]
    for i in range(len(loss)):
        shifted = x + loss[i]
        answer[i] += exp(total - own[i] - 0.5 * shifted * shifted)
