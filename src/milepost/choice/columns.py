"""Named columns: what an agent may know of an option, or of a decision, besides its values.

Option columns hold one number an option, context columns one a decision. Some are worked out here
from the values alone; others come with the spreads, and nothing here knows what they mean. A model
names those that it uses, or the product of two, such as ``"loss*lead"``.

=========  ======================================================================================
loss       minus the worth that the option gives away, up to the cap of the scale
error      minus the scaled difference to the best, which projections of the error add up
first      1 for the first-listed option
steep      minus what the loss has beyond 3: `loss` ends at the cap, so all blunders are alike to it
least      -ln(1 + the least loss over all depths): a move that never looked good repels more
rank       -ln of the option's place
tops       share of the depths at which the option is the best
swing      how much better the option looked at the shallower depths than at the last, up to 2
---------  --------------------------------------------------------------------------------------
lead       the worth of the best option, either way
behind     how far the best option is below 0
even       1 where the best option is worth 0, less by distance: 1 / (1 + 4 worth²)
options    ln of the number of options
clear      1 - exp(-gap between the two best): whether there is one good option only
=========  ======================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from milepost.choice.scale import Scale, filled_depths, raw_losses, scaled_differences
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.kernels import kernel

LOSS, FIRST = "loss", "first"
PRODUCT = "*"
MOST_LOSS = 12.0
"""Losses beyond this are no worse, for the least loss and the steep one."""
STEEP = 3.0
"""From this loss on the steep one counts."""
MOST_SWING = 2.0


def option_feature(name: str, spreads: Spreads, scale: Scale) -> Floats:
    """Return a column, or the product of two, as one number an option; 0 for padding.

    Raises
    ------
    InputError
        If the spreads do not have it.
    """
    return option_features((name,), spreads, scale)[:, 0]


def option_features(names: Sequence[str], spreads: Spreads, scale: Scale) -> Floats:
    """Return columns and products, one row an option; 0 for padding.

    Raises
    ------
    InputError
        If the spreads do not have one of them.
    """
    products = [name.split(PRODUCT) for name in names]
    # What several products share is worked out once; behind the columns there are ones.
    needed = dict.fromkeys(part for product in products for part in product)
    places = {part: at for at, part in enumerate(needed)}
    parts = np.ones((len(places) + 1, len(spreads.values)))
    for part, at in places.items():
        parts[at] = _column(part, spreads, scale)
    which = np.full((len(names), max(map(len, products), default=1)), len(places))
    for row, product in enumerate(products):
        which[row, : len(product)] = [places[part] for part in product]
    table = np.empty((len(spreads.values), len(names)))
    _fill_products(parts, which, spreads.values, table)
    return table


@kernel
def _fill_products(parts: Floats, which: Ints, values: Floats, table: Floats) -> None:
    for i in range(len(table)):
        for k in range(table.shape[1]):
            product = 0.0
            if values[i] > -math.inf:
                product = parts[which[k, 0], i]
                for j in range(1, which.shape[1]):
                    product *= parts[which[k, j], i]
            table[i, k] = product


def missing_columns(names: tuple[str, ...], spreads: Spreads) -> list[str]:
    """Return the columns that some names need and the spreads do not have."""
    known = {*_OPTION, *_CONTEXT, *spreads.columns, *spreads.context}
    wanted = dict.fromkeys(part for name in names for part in name.split(PRODUCT))
    return [part for part in wanted if part not in known]


def depends_on_values(name: str) -> bool:
    """Return whether a column, or one part of a product, is worked out from the values."""
    return any(part in _OPTION or part in _CONTEXT for part in name.split(PRODUCT))


def brought_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that some names need and that the values alone do not give."""
    parts = dict.fromkeys(part for name in names for part in name.split(PRODUCT))
    return [part for part in parts if part not in {*_OPTION, *_CONTEXT}]


def _column(name: str, spreads: Spreads, scale: Scale) -> Floats:
    if name in spreads.columns:
        return spreads.columns[name]
    if name in _OPTION:
        return _OPTION[name](spreads, scale)
    if name in spreads.context or name in _CONTEXT:
        of_decision = (
            spreads.context[name] if name in spreads.context else _CONTEXT[name](spreads, scale)
        )
        return np.repeat(of_decision, spreads.counts)
    brought = ", ".join([*spreads.columns, *spreads.context]) or "none"
    raise InputError(
        f"these decisions have no column {name!r}; they bring {brought}, and of their values "
        f"there are {', '.join([*_OPTION, *_CONTEXT])}"
    )


def _loss(spreads: Spreads, scale: Scale) -> Floats:
    most = np.inf if scale.cap is None else scale.cap
    losses = raw_losses(spreads)
    return -np.where(np.isfinite(losses), np.minimum(losses, most), 0.0)


def _error(spreads: Spreads, scale: Scale) -> Floats:
    differences = scaled_differences(spreads, scale)
    return -np.where(np.isfinite(differences), differences, 0.0)


def _first(spreads: Spreads, _: Scale) -> Floats:
    first = np.zeros(len(spreads.values))
    first[spreads.offsets[:-1]] = 1.0
    return first


def _over_depths(spreads: Spreads) -> tuple[Floats, Floats, Floats]:
    """Of the losses at all depths: the least, the share of 0, and the last less the others' mean.

    Losses are at most `MOST_LOSS`. Where there are no depths, the final values are the only one.
    """
    filled = spreads.values[:, None] if spreads.depth_values is None else filled_depths(spreads)
    least, tops, swing = np.empty((3, len(filled)))
    _fill_over_depths(spreads.offsets, filled, least, tops, swing)
    return least, tops, swing


@kernel
def _fill_over_depths(
    offsets: Ints, values: Floats, least: Floats, tops: Floats, swing: Floats
) -> None:
    depths = values.shape[1]
    best = np.empty(depths)
    for decision in range(len(offsets) - 1):
        start, stop = offsets[decision], offsets[decision + 1]
        best[:] = -math.inf
        for i in range(start, stop):
            for d in range(depths):
                best[d] = max(best[d], values[i, d])
        for i in range(start, stop):
            smallest, zeros, total, last = MOST_LOSS, 0, 0.0, 0.0
            for d in range(depths):
                loss = best[d] - values[i, d]
                zeros += loss == 0.0
                last = loss if loss < MOST_LOSS else MOST_LOSS
                smallest = min(smallest, last)
                total += last
            least[i], tops[i] = smallest, zeros / depths
            swing[i] = last - (total - last) / (depths - 1) if depths > 1 else 0.0


def _least(spreads: Spreads, _: Scale) -> Floats:
    answer: Floats = -np.log1p(_over_depths(spreads)[0])
    return answer


def _steep(spreads: Spreads, _: Scale) -> Floats:
    losses = np.minimum(_finite(raw_losses(spreads)), MOST_LOSS)
    answer: Floats = -np.maximum(losses - STEEP, 0.0)
    return answer


def _rank(spreads: Spreads, _: Scale) -> Floats:
    place = np.arange(len(spreads.values)) - np.repeat(spreads.offsets[:-1], spreads.counts)
    answer: Floats = -np.log1p(place)
    return answer


def _tops(spreads: Spreads, _: Scale) -> Floats:
    return _over_depths(spreads)[1]


def _swing(spreads: Spreads, _: Scale) -> Floats:
    answer: Floats = np.clip(_over_depths(spreads)[2], -MOST_SWING, MOST_SWING)
    return answer


def _best(spreads: Spreads) -> Floats:
    return spreads.values[spreads.offsets[:-1]]


def _lead(spreads: Spreads, _: Scale) -> Floats:
    return np.abs(_best(spreads))


def _behind(spreads: Spreads, _: Scale) -> Floats:
    return np.maximum(-_best(spreads), 0.0)


def _even(spreads: Spreads, _: Scale) -> Floats:
    answer: Floats = 1.0 / (1.0 + 4.0 * _best(spreads) ** 2)
    return answer


def _options(spreads: Spreads, _: Scale) -> Floats:
    answer: Floats = np.log(spreads.counts)
    return answer


def _clear(spreads: Spreads, _: Scale) -> Floats:
    second = np.minimum(spreads.offsets[:-1] + 1, spreads.offsets[1:] - 1)
    gap = _finite(_best(spreads) - spreads.values[second])
    answer: Floats = -np.expm1(-gap)
    return answer


def _finite(losses: Floats) -> Floats:
    return np.where(np.isfinite(losses), losses, MOST_LOSS)


_OPTION: Mapping[str, Callable[[Spreads, Scale], Floats]] = {
    LOSS: _loss,
    "error": _error,
    FIRST: _first,
    "steep": _steep,
    "least": _least,
    "rank": _rank,
    "tops": _tops,
    "swing": _swing,
}
_CONTEXT: Mapping[str, Callable[[Spreads, Scale], Floats]] = {
    "lead": _lead,
    "behind": _behind,
    "even": _even,
    "options": _options,
    "clear": _clear,
}
