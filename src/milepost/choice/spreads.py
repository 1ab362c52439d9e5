"""Decisions with the worth of every option: the neck of the hourglass.

A decision is a run of options in flat arrays; nothing here knows what the options are. Values are
the chooser's own view in one unit (pawns, in chess), best first within a decision.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milepost.choice.checks import (
    OUTSIDE,
    Floats,
    Ints,
    check_decisions,
    check_weights,
    decision_column,
    depth_columns,
    group_codes,
    named_column,
    whole_numbers,
)
from milepost.errors import InputError

__all__ = ["BOUND", "EXCLUDE", "OUTSIDE", "Floats", "Ints", "Spreads", "concatenate_values"]

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
    columns: Mapping[str, Floats] = field(default_factory=dict)
    """What else is known of the options, by name: one number an option; see
    `milepost.choice.columns`."""
    context: Mapping[str, Floats] = field(default_factory=dict)
    """What else is known of the decisions, by name: one number a decision."""
    in_pawns: bool = True
    """Whether values are in the unit of the 2011 paper, whose scale, cap and tie shift fit them;
    differences in other units are taken as they are, unless a model says otherwise."""

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
        picked = whole_numbers(
            np.array([OUTSIDE if each is None else each for each in chosen] or np.zeros(0)),
            "chosen indices",
        )
        return cls.from_arrays(offsets, flat, picked, depth_values=depth_values, **more)

    @classmethod
    def from_arrays(
        cls,
        offsets: npt.ArrayLike,
        values: npt.ArrayLike,
        chosen: npt.ArrayLike,
        *,
        groups: Iterable[Hashable] | None = None,
        weights: npt.ArrayLike | None = None,
        rating: npt.ArrayLike | None = None,
        depth_values: npt.ArrayLike | None = None,
        depths: Sequence[int] | None = None,
        unlisted: npt.ArrayLike | None = None,
        outside: str = BOUND,
        in_pawns: bool = True,
        columns: Mapping[str, npt.ArrayLike] | None = None,
        context: Mapping[str, npt.ArrayLike] | None = None,
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
        in_pawns
            Whether the values are pawns, or behave like them; see `Spreads.in_pawns`.
        columns, context
            Named columns of the options and of the decisions. Options that exist without being
            listed have 0 in all of them.

        Raises
        ------
        InputError
            If lengths differ, or a value is NaN or +inf; the message names the decision.
        """
        if outside not in {BOUND, EXCLUDE}:
            raise InputError(f"outside is 'bound' or 'exclude', got {outside!r}")
        bounds = whole_numbers(offsets, "offsets")
        worth = np.asarray(values, dtype=np.float64)
        picked = whole_numbers(chosen, "chosen indices")
        decisions = len(picked)
        check_decisions(bounds, worth, picked)
        spreads = cls(
            bounds,
            worth,
            picked,
            group_codes(groups, decisions),
            decision_column(weights, decisions, "weights", default=1.0),
            None if rating is None else decision_column(rating, decisions, "ratings"),
            *depth_columns(depth_values, depths, bounds, worth),
            columns={
                name: named_column(column, len(worth), name, "option")
                for name, column in (columns or {}).items()
            },
            context={
                name: named_column(column, decisions, name, "decision")
                for name, column in (context or {}).items()
            },
            in_pawns=in_pawns,
        )
        check_weights(spreads.weights)
        return _with_outside(_best_first(spreads), unlisted, outside)

    @classmethod
    def from_frame(
        cls, data: Any, *, outside: str = BOUND, in_pawns: bool = False, **columns: Any
    ) -> Spreads:
        """Make spreads from a table with one row an option, as any trade may keep one.

        Parameters
        ----------
        data
            A polars, pandas or Arrow table.
        outside, in_pawns
            See `from_arrays`; the values are taken to be of another unit than pawns.
        **columns
            Which column is what; see `milepost.choice.from_tables.option_arrays`.
        """
        from milepost.choice.from_tables import option_arrays

        arrays = option_arrays(data, **columns)
        return cls.from_arrays(**arrays, outside=outside, in_pawns=in_pawns)

    @classmethod
    def from_table(
        cls, data: Any, *, outside: str = BOUND, depths: bool = True, least_depths: int = 0
    ) -> Spreads:
        """Make spreads from the spreads table, whose values are pawns.

        Parameters
        ----------
        data
            The table, as polars, pandas or Arrow.
        outside
            See `from_arrays`.
        depths
            Whether to take the values of the shallower depths along, where the table has them.
        least_depths
            So many depths there are at least: of a part of a table, as many as the whole has.
        """
        from milepost.choice.from_tables import spread_arrays

        arrays = spread_arrays(data, depths=depths, least_depths=least_depths)
        return cls.from_arrays(**arrays, outside=outside)

    def take(self, decisions: npt.ArrayLike) -> Spreads:
        """Return these decisions, by a mask or by indices (which may repeat)."""
        given = np.asarray(decisions)
        wanted = np.flatnonzero(given) if given.dtype == bool else whole_numbers(given, "indices")
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
            columns={name: column[rows] for name, column in self.columns.items()},
            context={name: column[wanted] for name, column in self.context.items()},
            places=None if self.places is None else self.places[rows],
            chosen_outside=None if self.chosen_outside is None else self.chosen_outside[wanted],
        )

    def values_alone(self) -> Spreads:
        """Return the same decisions without shallower depths and named columns."""
        return replace(self, depth_values=None, depths=(), columns={}, context={})

    def choosing(self, chosen: npt.ArrayLike) -> Spreads:
        """Return the same decisions with other choices, given as indices in the order here."""
        picked = np.asarray(chosen, dtype=np.int64)
        if picked.shape != self.chosen.shape or (picked < 0).any() or (picked >= self.counts).any():
            raise InputError("one index within its decision is needed for each decision")
        return replace(self, chosen=picked, chosen_outside=None)

    def weighted(self, weights: npt.ArrayLike) -> Spreads:
        """Return the same decisions with other weights."""
        column = decision_column(weights, len(self), "weights")
        check_weights(column)
        return replace(self, weights=column)

    def to_depth(self, depth: int) -> Spreads:
        """Return the decisions as a search to a lesser depth would have left them.

        The values of that depth are the final ones, the deeper ones are gone. Options are put best
        first anew; equal ones keep their order here.

        Raises
        ------
        InputError
            If there are no values at that depth.
        """
        if self.depth_values is None or depth not in self.depths:
            have = ", ".join(map(str, self.depths)) or "none"
            raise InputError(f"there are no values at depth {depth}; the depths are {have}")
        last = self.depths.index(depth)
        if last == len(self.depths) - 1:
            return self
        # What is not known at a depth stands as at the next one where it is, as everywhere.
        values = self.values.copy()
        for column in range(len(self.depths) - 2, last - 1, -1):
            known = ~np.isnan(self.depth_values[:, column])
            values[known] = self.depth_values[known, column]
        padding = self.values == -np.inf
        values[padding] = -np.inf
        before = self.places
        cut = _best_first(
            replace(
                self,
                values=values,
                depth_values=self.depth_values[:, : last + 1],
                depths=self.depths[: last + 1],
                places=None,
            )
        )
        if before is None or cut.places is None:
            return cut if before is None else replace(cut, places=before)
        starts = np.repeat(self.offsets[:-1], self.counts)
        return replace(cut, places=before[starts + cut.places])

    def as_given(self, per_option: Floats) -> Floats:
        """Return numbers of the options (as ordered here) in the order in which they were given."""
        if self.places is None:
            return per_option
        answer = np.empty_like(per_option)
        answer[np.repeat(self.offsets[:-1], self.counts) + self.places] = per_option
        return answer


def concatenate_values(parts: Sequence[Spreads], groups: Ints) -> Spreads:
    """Return the values of the decisions of several spreads, one after the other.

    Parameters
    ----------
    parts
        The spreads; shallower depths, columns and places are left behind.
    groups
        What each of the decisions belongs to.
    """
    ratings = [part.rating for part in parts if part.rating is not None]
    starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    ends = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=True)]
    return Spreads(
        offsets=np.concatenate([[0], *ends]),
        values=np.concatenate([part.values for part in parts]),
        chosen=np.concatenate([part.chosen for part in parts]),
        groups=groups,
        weights=np.concatenate([part.weights for part in parts]),
        rating=np.concatenate(ratings) if len(ratings) == len(parts) else None,
        in_pawns=all(part.in_pawns for part in parts),
    )


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
        columns={name: column[order] for name, column in spreads.columns.items()},
    )


def _without_padding(spreads: Spreads) -> Spreads:
    """Drop padding, which stands last: it changes nothing."""
    real = spreads.values > -np.inf
    if real.all():
        return spreads
    counts = np.add.reduceat(real, spreads.offsets[:-1])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = None
    if spreads.places is not None:
        # The places that are left close up.
        order = np.lexsort((spreads.places[real], np.repeat(np.arange(len(counts)), counts)))
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order)) - np.repeat(offsets[:-1], counts)
    return replace(
        spreads,
        offsets=offsets,
        values=spreads.values[real],
        depth_values=None if spreads.depth_values is None else spreads.depth_values[real],
        columns={name: column[real] for name, column in spreads.columns.items()},
        places=places,
    )


MOST_UNLISTED = 100_000
"""Each of them takes memory: a damaged count of billions would take all there is."""


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
        if (extra > MOST_UNLISTED).any():
            raise InputError(
                f"a decision with {extra.max():,} unlisted options: at most {MOST_UNLISTED:,} are "
                "taken; is the column damaged?"
            )
    extra = np.where(missed, np.maximum(extra, 1), extra)
    if not extra.any():
        return spreads
    whole = _without_padding(spreads)
    listed = whole.counts
    counts = listed + extra
    offsets = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    # Each new option repeats the row of the last listed one.
    rows = np.repeat(whole.offsets[:-1], counts) + np.minimum(within, np.repeat(listed - 1, counts))
    new = within >= np.repeat(listed, counts)
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
        columns={name: np.where(new, 0.0, column[rows]) for name, column in whole.columns.items()},
        places=places,
        chosen_outside=missed if number else None,
    )
