"""What a review returns: its tables, comparisons of groups, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.api.review_tables import (
    group_expression,
    result_words,
)
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.review.difference import Difference
from milepost.intrinsic.review.groups import (
    Beside,
    opponents_expr,
)
from milepost.intrinsic.review.trend import Change
from milepost.io.files import write_table
from milepost.io.shown import estimate_text

USUAL_DIFFERENCES = (("endgame", "opening"), ("white", "black"))
"""Compared on every page."""


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """One player's games: how well, in which phase, beside whom, and which moves mattered."""

    player: str
    """The player's key."""
    name: str
    """The name as written."""
    summary: pl.DataFrame
    """One row a pool: rating with both intervals, turns; see `milepost.tables.REVIEW_POOLS`."""
    phases: pl.DataFrame
    """One row a phase, beside equals; see `milepost.tables.REVIEW_GROUPS`."""
    opponents: pl.DataFrame
    """The same by stronger, equal and weaker opponents."""
    costly: pl.DataFrame
    """The turns that cost most beside what equals lose, by a second look where there was
    one; see `milepost.tables.REVIEW_COSTLY`."""
    games: pl.DataFrame
    """One row a game: own play and the opponent's, each beside its Elo; see
    `milepost.tables.REVIEW_GAMES`."""
    trend: pl.DataFrame
    """One row a day with games, by pool: `pool`, `date`, `time`, `mean`, `low`, `high`."""
    changes: Mapping[str, Change]
    """From the first day to the last, by pool."""
    traps: pl.DataFrame
    """One row a trap; see `milepost.tables.REVIEW_TRAPS`."""
    trap_sums: Mapping[str, float | int | None]
    """Traps met, fallen for, and what equals do: traps, fell, expected, sd, p."""
    turns: pl.DataFrame
    """All the player's turns with their costs; see `milepost.tables.REVIEW_TURNS`."""
    level: float
    """Probability of the intervals."""
    equals: float
    """Opponents within so many points are equals."""
    notes: tuple[str, ...]
    """What must be known, and what could not be said."""
    costly_note: str = ""
    """Whether a second look has confirmed the costly turns; also among the notes."""
    calibration: Calibration | None = None
    """The calibration; None = evaluations without one, and no rating."""
    beside: Beside | None = field(default=None)
    """The turns, ready for further comparisons."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: version, options, digests of the inputs."""

    def __repr__(self) -> str:
        """Return the ratings, the phases and the costliest turns in short."""
        lines = [f"Review of {self.name}"]
        for row in self.summary.iter_rows(named=True):
            told = "not rated"
            if row["rating"] is not None:
                told = estimate_text(row["rating"], row["low"], row["high"])
            lines.append(f"  {row['pool']}: {told}, {row['turns']:,} turns, {row['games']} games")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        parts = (self.summary, self.phases, self.costly.drop("position", strict=False))
        return "".join(part._repr_html_() for part in parts)

    def difference(self, first: str | pl.Expr, second: str | pl.Expr) -> Difference:
        """Say by how much one group of turns was played better than another, with interval and p.

        Parameters
        ----------
        first, second
            A phase (``"endgame"``), a colour, ``"stronger"``, ``"equals"`` or ``"weaker"``
            opponents, ``"win"``, ``"draw"``, ``"loss"``, a pool, ``"column=value"`` of the turns,
            or an expression on them.

        Raises
        ------
        InputError
            If a group means nothing, the two overlap, or there is no calibration.
        """
        if self.beside is None:
            raise InputError("without a calibration there are no ratings to compare")
        masks = [self._mask(each) for each in (first, second)]
        names = [each if isinstance(each, str) else str(each) for each in (first, second)]
        found = self.beside.difference(masks[0], masks[1], (names[0], names[1]), level=self.level)
        mixed = [
            name
            for name, mask in zip(names, masks, strict=True)
            if self.beside.table.filter(mask)["pool"].n_unique() > 1
        ]
        if mixed:
            told = f"{' and '.join(mixed)}: turns of several pools, each beside its own level"
            found = replace(found, note="; ".join(part for part in (found.note, told) if part))
        return found

    def _mask(self, wanted: str | pl.Expr) -> Any:
        assert self.beside is not None
        table = self.beside.table.with_columns(
            opponents_expr(self.equals).alias("opponents"), result_words().alias("result")
        )
        expression = wanted if isinstance(wanted, pl.Expr) else group_expression(wanted, table)
        try:
            mask = table.select(expression.fill_null(False).alias("wanted"))["wanted"]
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{wanted} is no group of these turns: {error}") from error
        return mask.to_numpy()

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write all turns with their costs as Parquet, CSV or NDJSON."""
        write_table(self.turns, path, form=form, made=self.made)

    def report(self, path: str | Path) -> None:
        """Write one self-contained page with everything, boards included (HTML)."""
        from milepost.report.review.page import ReviewView, write_review_page

        names = {each.name for each in fields(ReviewView)}
        view = {name: getattr(self, name) for name in names & {each.name for each in fields(self)}}
        known = "" if self.calibration is None else self.calibration.name
        view["differences"] = () if self.beside is None else tuple(self._usual_differences())
        write_review_page(ReviewView(**view, calibration_name=known), path, made=self.made)

    def _usual_differences(self) -> Iterable[Difference]:
        """What a coach asks first: the endgame against the opening, and White against Black."""
        for first, second in USUAL_DIFFERENCES:
            yield self.difference(first, second)
