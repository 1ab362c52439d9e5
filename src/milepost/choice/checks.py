"""What makes a list of decisions: checks that say where something is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from milepost.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
OUTSIDE = -1
"""The chosen index of a choice that is not among the listed options."""


def whole_numbers(data: npt.ArrayLike, name: str) -> Ints:
    """Return whole numbers; refuse others."""
    given = np.asarray(data)
    whole = given.astype(np.int64)
    if given.ndim != 1 or (given != whole).any():
        raise InputError(f"{name} must be a list of whole numbers")
    return whole


def check_weights(weights: Floats) -> None:
    """Refuse weights that are none."""
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("weights must be finite and not negative")


def check_decisions(offsets: Ints, values: Floats, chosen: Ints) -> None:
    """Refuse what is no list of decisions, saying where."""
    fits = len(offsets) == len(chosen) + 1
    if not fits or offsets[0] != 0 or offsets[-1] != len(values):
        raise InputError(
            f"{len(offsets)} offsets do not fit {len(chosen)} decisions with {len(values)} options "
            "in all: they go from 0 to the number of options, one more than decisions"
        )
    counts = np.diff(offsets)
    if (counts < 1).any():
        raise InputError(f"decision {int(np.argmax(counts < 1))} has no options")
    _refuse(np.isnan(values) | (values == np.inf), values, offsets)
    wrong = (chosen < OUTSIDE) | (chosen >= counts)
    if wrong.any():
        decision = int(np.argmax(wrong))
        raise InputError(
            f"decision {decision} has {counts[decision]} options, but the chosen one is "
            f"{chosen[decision]} (counted from 0; -1 = outside)"
        )
    listed = np.flatnonzero(chosen >= 0)
    padding = values[offsets[listed] + chosen[listed]] == -np.inf
    if padding.any():
        raise InputError(f"the option chosen in decision {listed[np.argmax(padding)]} is padding")
    if (np.maximum.reduceat(values, offsets[:-1]) == -np.inf).any() if len(chosen) else False:
        raise InputError("a decision has nothing but padding")


def _refuse(wrong: npt.NDArray[np.bool_], values: Floats, offsets: Ints) -> None:
    """Name the first option whose value is none."""
    if wrong.any():
        place = int(np.argmax(wrong))
        decision = int(np.searchsorted(offsets, place, side="right")) - 1
        raise InputError(
            f"option {place - offsets[decision]} of decision {decision} is worth {values[place]}: "
            "values must be numbers (-inf for padding)"
        )


def group_codes(groups: Iterable[Hashable] | None, decisions: int) -> Ints:
    """Return groups of any type as numbers; without them each decision is its own."""
    if groups is None:
        return np.arange(decisions, dtype=np.int64)
    labels = groups if isinstance(groups, np.ndarray) else list(groups)
    if len(labels) != decisions:
        raise InputError(f"{len(labels)} groups for {decisions} decisions")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        _, first, places = np.unique(labels, return_index=True, return_inverse=True)
        # In the order in which they come, as below.
        return np.argsort(np.argsort(first))[places].astype(np.int64)
    labels = labels.tolist() if isinstance(labels, np.ndarray) else labels
    numbers: dict[Hashable, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(codes, dtype=np.int64)


def decision_column(
    data: npt.ArrayLike | None, decisions: int, name: str, default: float | None = None
) -> Floats:
    """Return one number a decision."""
    if data is None:
        assert default is not None
        return np.full(decisions, default)
    column = np.asarray(data, dtype=np.float64)
    if column.shape != (decisions,):
        raise InputError(f"{len(column)} {name} for {decisions} decisions")
    return column


def depth_columns(
    depth_values: npt.ArrayLike | None,
    depths: Sequence[int] | None,
    offsets: Ints,
    values: Floats,
) -> tuple[Floats | None, tuple[int, ...]]:
    """Return values by depth, checked, and the numbers of the depths."""
    if depth_values is None:
        return None, ()
    table = np.asarray(depth_values, dtype=np.float64)
    options = len(values)
    if table.ndim != 2 or table.shape[0] != options or table.shape[1] < 1:
        raise InputError(
            f"values by depth need one row for each of the {options} options and one column a "
            f"depth, got the shape {table.shape}"
        )
    padding = values == -np.inf
    infinite = np.isinf(table)
    if infinite.any():
        infinite &= ~padding[:, None]
        _refuse(
            np.asarray(infinite.any(axis=1)), np.where(infinite, table, 0.0).sum(axis=1), offsets
        )
    if padding.any():
        # Padding is padding at every depth.
        table = np.where(padding[:, None], -np.inf, table)
    names = tuple(depths) if depths is not None else tuple(range(1, table.shape[1] + 1))
    if len(names) != table.shape[1] or list(names) != sorted(set(names)):
        raise InputError(f"{table.shape[1]} columns need as many rising depths, got {names}")
    return table, names


def named_column(column: npt.ArrayLike, size: int, name: str, of: str) -> Floats:
    """Return a named column as numbers, one an option or a decision.

    Raises
    ------
    InputError
        If it has another length or something that is no number.
    """
    values = np.asarray(column, dtype=np.float64)
    # A sum is a number only where all are; the other way round it may have grown too large.
    with np.errstate(invalid="ignore", over="ignore"):
        known = np.isfinite(values.sum()) or np.isfinite(values).all()
    if values.shape != (size,) or not known:
        raise InputError(f"the column {name!r} needs one number for each {of}")
    return values
