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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milepost.choice.logarithms import ln_1_more
from milepost.choice.scale import (
    Scale,
    best_value,
    fill_gaps,
    most_options,
    raw_losses,
    scaled_differences,
)
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.kernels import kernel, vector_kernel

LOSS, FIRST = "loss", "first"
PRODUCT = "*"
MOST_LOSS = 12.0
"""Losses beyond this are no worse, for the least loss and the steep one."""
_DEPTHS = ("least", "tops", "swing")
"""Columns that are worked out together, from the values at all depths."""
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


@dataclass(frozen=True, eq=False)
class OptionParts:
    """Columns and products in two factors: one of the options, one of the decisions."""

    rows: tuple[Floats, ...]
    """The factors of the options, one column each, as they are: padding may say anything."""
    decisions: Floats
    """The factors of the decisions, one row each."""
    row_of: Ints
    """The factor of the options that each name has."""
    decision_row_of: Ints
    """The factor of the decisions that it has."""
    worth: Floats
    """The values of the options; -inf = padding."""

    @cached_property
    def padded(self) -> bool:
        """Whether some option is padding."""
        return bool(self.worth.min(initial=0.0) == -np.inf)

    def table(self, first: int, last: int, *, spare: int = 0, rows: int = 1) -> Floats:
        """Return the factors of some options that stand together, one row each; 0 for padding.

        There are `spare` zeros behind the last option, and a multiple of `rows` rows, of which the
        last ones are 0.
        """
        count = last - first
        answer = np.empty((-(-len(self.rows) // rows) * rows, count + spare))
        answer[:, count:] = 0.0
        answer[len(self.rows) :] = 0.0
        for row, column in enumerate(self.rows):
            answer[row, :count] = column[first:last]
        if self.padded and len(self.rows):
            answer[:, :count][:, self.worth[first:last] == -np.inf] = 0.0
        return answer


def option_parts(names: Sequence[str], spreads: Spreads, scale: Scale) -> OptionParts:
    """Return columns and products in two factors.

    Parameters
    ----------
    names, spreads, scale
        As for `option_features`.

    Raises
    ------
    InputError
        If the spreads do not have one of the columns.
    """
    of_options: dict[tuple[str, ...], int] = {}
    of_decisions: dict[tuple[str, ...], int] = {}
    which = []
    for name in names:
        both: tuple[list[str], list[str]] = ([], [])
        for part in name.split(PRODUCT):
            both[_is_of_decision(part, spreads)].append(part)
        mine, common = tuple(both[0]), tuple(both[1])
        which.append(
            (
                of_options.setdefault(mine, len(of_options)),
                of_decisions.setdefault(common, len(of_decisions)),
            )
        )
    known: dict[str, Floats] = {}
    rows = []
    for parts in of_options:
        for part in parts:
            if part not in known:
                known |= _columns(part, spreads, scale)
        row = known[parts[0]] if parts else np.ones(len(spreads.values))
        for part in parts[1:]:
            row = row * known[part]
        rows.append(row)
    decisions = np.ones((max(len(of_decisions), 1), len(spreads)))
    for parts, at in of_decisions.items():
        for part in parts:
            decisions[at] *= _of_decision(part, spreads, scale)
    pairs = np.array(which, dtype=np.int64).reshape(-1, 2)
    return OptionParts(
        tuple(rows), decisions, pairs[:, 0].copy(), pairs[:, 1].copy(), spreads.values
    )


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


def _is_of_decision(name: str, spreads: Spreads) -> bool:
    """Whether a column says the same of all options of a decision.

    Raises
    ------
    InputError
        If there is no such column.
    """
    if name in spreads.columns or name in _OPTION:
        return False
    if name in spreads.context or name in _CONTEXT:
        return True
    brought = ", ".join([*spreads.columns, *spreads.context]) or "none"
    raise InputError(
        f"these decisions have no column {name!r}; they bring {brought}, and of their values "
        f"there are {', '.join([*_OPTION, *_CONTEXT])}"
    )


def _column(name: str, spreads: Spreads, scale: Scale) -> Floats:
    if _is_of_decision(name, spreads):
        return np.repeat(_of_decision(name, spreads, scale), spreads.counts)
    return _columns(name, spreads, scale)[name]


def _of_decision(name: str, spreads: Spreads, scale: Scale) -> Floats:
    return spreads.context[name] if name in spreads.context else _CONTEXT[name](spreads, scale)


def _columns(name: str, spreads: Spreads, scale: Scale) -> Mapping[str, Floats]:
    """A column of the options, with those that are worked out along with it."""
    if name in spreads.columns:
        return {name: spreads.columns[name]}
    if name in _DEPTHS:
        worked_out = dict(zip(_DEPTHS, _over_depths(spreads), strict=True))
        return {each: column for each, column in worked_out.items() if each not in spreads.columns}
    return {name: _OPTION[name](spreads, scale)}


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
    """The columns `_DEPTHS`: -ln(1 + the least loss over all depths), the share of 0, the swing.

    Losses are at most `MOST_LOSS`. Where there are no depths, the final values are the only one.
    """
    values = spreads.values
    depth_values = values[:, None] if spreads.depth_values is None else spreads.depth_values
    least, tops, swing = np.empty(len(values)), np.empty(len(values)), np.empty(len(values))
    _fill_over_depths(spreads.offsets, values, depth_values, least, tops, swing)
    return least, tops, np.clip(swing, -MOST_SWING, MOST_SWING)


@kernel
def _fill_over_depths(
    offsets: Ints,
    values: Floats,
    depth_values: Floats,
    least: Floats,
    tops: Floats,
    swing: Floats,
) -> None:
    depths = depth_values.shape[1]
    filled = np.empty((depths, most_options(offsets)))
    for decision in range(len(offsets) - 1):
        start, stop = offsets[decision], offsets[decision + 1]
        fill_gaps(values, depth_values, start, stop - start, filled)
        _sum_depths(filled, stop - start, least[start:stop], tops[start:stop], swing[start:stop])


@vector_kernel
def _sum_depths(filled: Floats, size: int, least: Floats, tops: Floats, swing: Floats) -> None:
    """Fill -ln(1 + the least loss), the share of 0, and the last less the others' mean."""
    depths = len(filled)
    share = 1.0 / max(depths - 1, 1)
    least[:] = MOST_LOSS
    tops[:] = 0.0
    swing[:] = 0.0
    for d in range(depths):
        best = best_value(filled, d, size)
        for i in range(size):
            loss = best - filled[d, i]
            tops[i] += 1.0 if loss == 0.0 else 0.0
            loss = loss if loss < MOST_LOSS else MOST_LOSS
            least[i] = loss if loss < least[i] else least[i]
            # The mean of the others is taken off the last.
            swing[i] += loss if d == depths - 1 else -share * loss
    for i in range(size):
        least[i] = -ln_1_more(least[i])
        tops[i] /= depths
        swing[i] = swing[i] if depths > 1 else 0.0


def _steep(spreads: Spreads, _: Scale) -> Floats:
    losses = np.minimum(_finite(raw_losses(spreads)), MOST_LOSS)
    answer: Floats = -np.maximum(losses - STEEP, 0.0)
    return answer


def _rank(spreads: Spreads, _: Scale) -> Floats:
    # There are many options, but few places.
    logarithms = -np.log1p(np.arange(spreads.counts.max(initial=0)))
    answer = np.empty(len(spreads.values))
    _fill_by_place(spreads.offsets, logarithms, answer)
    return answer


@kernel
def _fill_by_place(offsets: Ints, by_place: Floats, answer: Floats) -> None:
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        for place in range(offsets[decision + 1] - start):
            answer[start + place] = by_place[place]


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
    "least": lambda spreads, _: _over_depths(spreads)[0],
    "rank": _rank,
    "tops": lambda spreads, _: _over_depths(spreads)[1],
    "swing": lambda spreads, _: _over_depths(spreads)[2],
}
_CONTEXT: Mapping[str, Callable[[Spreads, Scale], Floats]] = {
    "lead": _lead,
    "behind": _behind,
    "even": _even,
    "options": _options,
    "clear": _clear,
}
