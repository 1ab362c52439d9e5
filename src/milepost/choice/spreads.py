"""Decisions with the worth of every option: the neck of the hourglass.

A decision is a run of options in flat arrays; nothing here knows what the options are. Values are
the chooser's own view in one unit (pawns, in chess), best first within a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milepost.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OUTSIDE = -1
"""The chosen index of a choice that is not among the listed options."""
BOUND = "bound"
EXCLUDE = "exclude"


@dataclass(frozen=True, eq=False)
class Spreads:
    """Decisions, each with the values of its options and which one was chosen.

    Make one with `from_lists`, `from_arrays`, `from_frame` or `from_table`. Options that were
    chosen but not evaluated are a category of their own, see `from_arrays`.
    """

    offsets: Ints
    """Decision t has the options ``offsets[t]`` to ``offsets[t + 1]``."""
    values: Floats
    """Worth of each option for the chooser, never rising within a decision; -inf = padding."""
    chosen: Ints
    """Index of the chosen option within its decision."""
    groups: Ints
    """What each decision belongs to (a game), as a number: intervals resample by it."""
    weights: Floats
    """How much each decision counts."""
    rating: Floats | None = None
    """The chooser's rating, where known; NaN = not known."""
    depth_values: Floats | None = None
    """One row an option, one column a depth: its worth as seen then; NaN = not known."""
    depths: tuple[int, ...] = ()
    """The depth of each of those columns."""
    places: Ints | None = None
    """Where each option stood in its decision as given; None = just where it stands here."""
    chosen_outside: npt.NDArray[np.bool_] | None = None
    """Which choices were outside the listed options; None = none of them."""
    excluded: int = 0
    """Choices outside the listed options, left out."""

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.chosen)

    def __repr__(self) -> str:
        """Say how much is in it."""
        extra = f", {len(self.depths)} depths" if self.depths else ""
        extra += f", {self.outside} chosen outside" if self.outside else ""
        extra += f", {self.excluded} excluded" if self.excluded else ""
        return (
            f"Spreads({len(self):,} decisions, {len(self.values):,} options, "
            f"{self.number_of_groups:,} groups{extra})"
        )

    @property
    def outside(self) -> int:
        """Choices outside the listed options, kept as their own category."""
        return 0 if self.chosen_outside is None else int(self.chosen_outside.sum())

    @property
    def counts(self) -> Ints:
        """The number of options of each decision."""
        return np.diff(self.offsets)

    @property
    def number_of_groups(self) -> int:
        """How many groups the decisions belong to."""
        return len(np.unique(self.groups))

    @classmethod
    def from_lists(
        cls, values: Sequence[Sequence[float]], chosen: Sequence[int | None], **more: Any
    ) -> Spreads:
        """Make spreads from one list of values a decision, in any order.

        Parameters
        ----------
        values
            For each decision the worth of its options for the chooser.
        chosen
            For each decision the index of the chosen option; None = outside the options.
        **more
            As in `from_arrays`; `depth_values` as one list a decision of one list an option.

        Raises
        ------
        InputError
            If lengths differ or a value is not a number; the message names the decision.
        """
        if len(values) != len(chosen):
            raise InputError(f"{len(values)} decisions but {len(chosen)} choices")
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in values])])
        flat = np.array([value for each in values for value in each], dtype=np.float64)
        depth_values = more.pop("depth_values", None)
        if depth_values is not None:
            rows = [option for each in depth_values for option in each]
            if len({len(row) for row in rows}) > 1:
                raise InputError("every option needs a value (or NaN) at every depth")
            depth_values = np.array(rows, dtype=np.float64)
        picked = np.array([OUTSIDE if each is None else each for each in chosen], dtype=np.int64)
        return cls.from_arrays(offsets, flat, picked, depth_values=depth_values, **more)

    @classmethod
    def from_arrays(
        cls,
        offsets: npt.ArrayLike,
        values: npt.ArrayLike,
        chosen: npt.ArrayLike,
        *,
        groups: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        rating: npt.ArrayLike | None = None,
        depth_values: npt.ArrayLike | None = None,
        depths: Sequence[int] | None = None,
        unlisted: npt.ArrayLike | None = None,
        outside: str = BOUND,
    ) -> Spreads:
        """Make spreads from flat arrays.

        Within a decision options are put best first; equal ones keep their order, which is the
        order in which they were listed.

        A choice outside the listed options (index -1) is its own category. With ``outside="bound"``
        each option that exists but was not evaluated (`unlisted`, at least one where the choice was
        outside) enters behind the others, worth as much as the worst listed one, which bounds it
        from above; at every depth likewise. With ``outside="exclude"`` such decisions are left out.
        Both are counted, in `Spreads.outside` and `Spreads.excluded`.

        Parameters
        ----------
        offsets
            Decision t has the options ``offsets[t]`` to ``offsets[t + 1]`` (exclusive).
        values
            Worth of each option for the chooser; -inf pads a decision without changing it.
        chosen
            Index of the chosen option in each decision as given here; -1 = outside.
        groups
            What each decision belongs to, of any type [default: each its own].
        weights
            How much each decision counts [default: 1].
        rating
            The choosers' ratings.
        depth_values, depths
            The worth of the options at several depths, one column each, the last one the final
            depth; and the numbers of these depths [default: 1, 2, …].
        unlisted
            How many options of each decision exist without being listed.
        outside
            ``"bound"`` or ``"exclude"``.

        Raises
        ------
        InputError
            If lengths differ, or a value is NaN or +inf; the message names the decision.
        """
        if outside not in {BOUND, EXCLUDE}:
            raise InputError(f"outside is 'bound' or 'exclude', got {outside!r}")
        bounds = _whole(offsets, "offsets")
        worth = np.asarray(values, dtype=np.float64)
        picked = _whole(chosen, "chosen indices")
        decisions = len(picked)
        _check(bounds, worth, picked)
        spreads = cls(
            bounds,
            worth,
            picked,
            _codes(groups, decisions),
            _column(weights, decisions, "weights", default=1.0),
            None if rating is None else _column(rating, decisions, "ratings"),
            *_depth_columns(depth_values, depths, bounds, worth),
        )
        _check_weights(spreads.weights)
        return _with_outside(_best_first(spreads), unlisted, outside)

    @classmethod
    def from_frame(cls, data: Any, **columns: Any) -> Spreads:
        """Make spreads from a table with one row an option; see `milepost.choice.framing`."""
        from milepost.choice.framing import spreads_from_frame

        return spreads_from_frame(data, **columns)

    @classmethod
    def from_table(cls, data: Any, **options: Any) -> Spreads:
        """Make spreads from the spreads table; see `milepost.choice.framing`."""
        from milepost.choice.framing import spreads_from_table

        return spreads_from_table(data, **options)

    def take(self, decisions: npt.ArrayLike) -> Spreads:
        """Return these decisions, by a mask or by indices (which may repeat)."""
        given = np.asarray(decisions)
        wanted = np.flatnonzero(given) if given.dtype == bool else _whole(given, "indices")
        counts = self.counts[wanted]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.repeat(self.offsets[wanted] - offsets[:-1], counts) + np.arange(offsets[-1])
        return replace(
            self,
            offsets=offsets,
            values=self.values[rows],
            chosen=self.chosen[wanted],
            groups=self.groups[wanted],
            weights=self.weights[wanted],
            rating=None if self.rating is None else self.rating[wanted],
            depth_values=None if self.depth_values is None else self.depth_values[rows],
            places=None if self.places is None else self.places[rows],
            chosen_outside=None if self.chosen_outside is None else self.chosen_outside[wanted],
        )

    def choosing(self, chosen: npt.ArrayLike) -> Spreads:
        """Return the same decisions with other choices, given as indices in the order here."""
        picked = np.asarray(chosen, dtype=np.int64)
        if picked.shape != self.chosen.shape or (picked < 0).any() or (picked >= self.counts).any():
            raise InputError("one index within its decision is needed for each decision")
        return replace(self, chosen=picked, chosen_outside=None)

    def weighted(self, weights: npt.ArrayLike) -> Spreads:
        """Return the same decisions with other weights."""
        column = _column(weights, len(self), "weights")
        _check_weights(column)
        return replace(self, weights=column)

    def padded(self, options: int) -> Spreads:
        """Return the same decisions, each filled up to so many options that nobody chooses."""
        counts = np.maximum(self.counts, options)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.repeat(offsets[:-1] - self.offsets[:-1], self.counts) + np.arange(
            len(self.values)
        )
        values = np.full(offsets[-1], -np.inf)
        values[rows] = self.values
        depth_values = None
        if self.depth_values is not None:
            depth_values = np.full((offsets[-1], len(self.depths)), -np.inf)
            depth_values[rows] = self.depth_values
        places = None
        if self.places is not None:
            places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
            places[rows] = self.places
        return replace(
            self, offsets=offsets, values=values, depth_values=depth_values, places=places
        )

    def as_given(self, per_option: Floats) -> Floats:
        """Return numbers of the options (as ordered here) in the order in which they were given."""
        if self.places is None:
            return per_option
        answer = np.empty_like(per_option)
        answer[np.repeat(self.offsets[:-1], self.counts) + self.places] = per_option
        return answer


def _whole(data: npt.ArrayLike, name: str) -> Ints:
    """Return whole numbers; refuse others."""
    given = np.asarray(data)
    whole = given.astype(np.int64)
    if given.ndim != 1 or (given != whole).any():
        raise InputError(f"{name} must be a list of whole numbers")
    return whole


def _check_weights(weights: Floats) -> None:
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("weights must be finite and not negative")


def _check(offsets: Ints, values: Floats, chosen: Ints) -> None:
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


def _codes(groups: npt.ArrayLike | None, decisions: int) -> Ints:
    if groups is None:
        return np.arange(decisions, dtype=np.int64)
    labels = np.asarray(groups)
    if len(labels) != decisions:
        raise InputError(f"{len(labels)} groups for {decisions} decisions")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _column(
    data: npt.ArrayLike | None, decisions: int, name: str, default: float | None = None
) -> Floats:
    if data is None:
        assert default is not None
        return np.full(decisions, default)
    column = np.asarray(data, dtype=np.float64)
    if column.shape != (decisions,):
        raise InputError(f"{len(column)} {name} for {decisions} decisions")
    return column


def _depth_columns(
    depth_values: npt.ArrayLike | None,
    depths: Sequence[int] | None,
    offsets: Ints,
    values: Floats,
) -> tuple[Floats | None, tuple[int, ...]]:
    if depth_values is None:
        return None, ()
    table = np.array(depth_values, dtype=np.float64)
    options = len(values)
    if table.ndim != 2 or table.shape[0] != options or table.shape[1] < 1:
        raise InputError(
            f"values by depth need one row for each of the {options} options and one column a "
            f"depth, got the shape {table.shape}"
        )
    padding = values == -np.inf
    infinite = np.isinf(table) & ~padding[:, None]
    _refuse(infinite.any(axis=1), np.where(infinite, table, 0.0).sum(axis=1), offsets)
    # Padding is padding at every depth.
    table[padding] = -np.inf
    names = tuple(depths) if depths is not None else tuple(range(1, table.shape[1] + 1))
    if len(names) != table.shape[1] or list(names) != sorted(set(names)):
        raise InputError(f"{table.shape[1]} columns need as many rising depths, got {names}")
    return table, names


def _best_first(spreads: Spreads) -> Spreads:
    """Order the options of each decision by worth; equal ones keep their order."""
    values, offsets = spreads.values, spreads.offsets
    inside = np.ones(len(values), dtype=bool)
    inside[offsets[:-1]] = False
    with np.errstate(invalid="ignore"):
        rises = np.diff(values, prepend=0.0) > 0
    if not (rises & inside).any():
        return spreads
    decision = np.repeat(np.arange(len(spreads)), spreads.counts)
    order = np.lexsort((-values, decision))
    places = order - np.repeat(offsets[:-1], spreads.counts)
    where = np.empty(len(values), dtype=np.int64)
    where[order] = np.arange(len(values))
    listed = spreads.chosen >= 0
    starts = offsets[:-1]
    picked = np.where(listed, where[starts + np.maximum(spreads.chosen, 0)] - starts, OUTSIDE)
    return replace(
        spreads,
        values=values[order],
        chosen=picked,
        places=places,
        depth_values=None if spreads.depth_values is None else spreads.depth_values[order],
    )


def _with_outside(spreads: Spreads, unlisted: npt.ArrayLike | None, treatment: str) -> Spreads:
    missed = spreads.chosen == OUTSIDE
    number = int(missed.sum())
    if treatment == EXCLUDE:
        return replace(spreads.take(~missed), excluded=number) if number else spreads
    extra = np.zeros(len(spreads), dtype=np.int64)
    if unlisted is not None:
        extra = np.asarray(unlisted, dtype=np.int64)
        if extra.shape != missed.shape or (extra < 0).any():
            raise InputError("unlisted needs one count from 0 a decision")
    extra = np.where(missed, np.maximum(extra, 1), extra)
    if not extra.any():
        return spreads
    listed = spreads.counts
    whole = spreads.padded(0)
    counts = listed + extra
    offsets = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    # Each new option repeats the row of the last listed one that is no padding.
    real = np.add.reduceat(whole.values > -np.inf, whole.offsets[:-1])
    rows = np.repeat(whole.offsets[:-1], counts) + np.minimum(within, np.repeat(listed - 1, counts))
    new = within >= np.repeat(listed, counts)
    rows[new] = np.repeat(whole.offsets[:-1] + real - 1, counts)[new]
    depth_values = whole.depth_values
    if depth_values is not None:
        worst = np.fmin.reduceat(depth_values, whole.offsets[:-1], axis=0)
        depth_values = depth_values[rows]
        depth_values[new] = np.repeat(worst, counts, axis=0)[new]
    places = None
    if whole.places is not None:
        places = np.where(new, within, whole.places[rows])
    return replace(
        whole,
        offsets=offsets,
        values=whole.values[rows],
        chosen=np.where(missed, listed, whole.chosen),
        depth_values=depth_values,
        places=places,
        chosen_outside=missed if number else None,
    )
