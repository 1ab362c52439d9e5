"""Fits of a table of decisions, group by group: one row each."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.spreads import BOUND, Spreads
from milepost.errors import InputError, TableError
from milepost.fit.agent import PERCENTILE, NotConvergedWarning, fit_agent
from milepost.fit.agent_model import AgentModel
from milepost.fit.cohorts import CohortFits, fit_cohorts
from milepost.fit.comparison.choosers import (
    SAME_DECISIONS,
    chance_of_less,
    losses,
    thinned,
)
from milepost.fit.methods.reference import ReferenceModel
from milepost.fit.result import FitResult
from milepost.fit.uncertainty.bootstrap import Bootstrap
from milepost.io.progress import Progress, Report
from milepost.io.shown import Shown, interval_text, percent
from milepost.io.suggest import did_you_mean
from milepost.tables import as_frame, wrong_value

FIELDS = ("decision", "value", "chosen", "group", "weight", "rating")
"""What a mapping of a table with one row an option may name."""
LEAST = 30
"""Groups with fewer decisions are left out."""


def parse_fields(text: str) -> dict[str, str]:
    """Read a mapping such as ``decision=visit,value=utility,chosen=taken``.

    Raises
    ------
    InputError
        If a part is not of that form, or a field is not known.
    """
    mapping = {}
    for part in text.split(","):
        field, equals, column = part.strip().partition("=")
        if not equals or not column or field not in FIELDS:
            raise InputError(
                f"expected field=column with a field of {', '.join(FIELDS)}, got {part!r}"
                f"{did_you_mean(part.partition('=')[0], FIELDS)}"
            )
        mapping[field] = column
    return mapping


def split_decisions(
    data: Any,
    by: Sequence[str] = (),
    *,
    fields: Mapping[str, str] | None = None,
    outside: str = BOUND,
) -> Iterator[tuple[tuple[Any, ...], Spreads]]:
    """Part a table of decisions by columns; give the values of these and the spreads.

    Parameters
    ----------
    data
        The spreads table (one row a decision, lists of values), or a table with one row an option.
    by
        Columns to part it by; rows without a value there are left out.
    fields
        For a table with one row an option: its columns, by field (see `FIELDS`).
    outside
        See `Spreads.from_arrays`.

    Raises
    ------
    TableError
        If a column is missing.
    """
    frame = as_frame(data)
    missing = [name for name in by if name not in frame.columns]
    if missing:
        raise TableError(
            f"there is no column {', '.join(missing)} to group by; found {', '.join(frame.columns)}"
            f"{did_you_mean(missing[0], frame.columns)}"
        )
    is_spreads = isinstance(frame.schema.get("values"), pl.List)
    if not is_spreads and {"game_id", "values"} <= set(frame.columns):
        raise TableError("a spreads table keeps its lists in Parquet or NDJSON only: write it so")
    if not is_spreads:
        needed = ("decision", "value", "chosen")
        named = {field: field for field in FIELDS if field in needed or field in frame.columns}
        named |= dict(fields or {})
        # Before it is parted: the row is then that of the user's table.
        numeric = [named[field] for field in ("value", "weight", "rating") if field in named]
        wrong = wrong_value(frame, dict.fromkeys(numeric, pl.Float64))
        if wrong:
            raise TableError(f"the table of options {wrong}")
    parts: dict[tuple[Any, ...], pl.DataFrame] = {(): frame}
    if by:
        kept = frame.drop_nulls(list(by))
        parts = kept.partition_by(list(by), as_dict=True, maintain_order=True)
        parts = dict(sorted(parts.items(), key=lambda item: tuple(map(_sortable, item[0]))))
    for labels, part in parts.items():
        if is_spreads:
            yield labels, Spreads.from_table(part, outside=outside)
        else:
            columns: dict[str, Any] = {**named}
            yield labels, Spreads.from_frame(part, outside=outside, **columns)


@dataclass(frozen=True, eq=False)
class GroupFits(Shown):
    """Fits of the groups of a table of decisions."""

    table: pl.DataFrame
    """One row a group; see `milepost.tables.FITS` (other columns for the agents of 2009)."""
    left_out: tuple[tuple[str, str], ...]
    """Groups that could not be fitted, with the reason."""
    by: tuple[str, ...] = ()
    """The columns that name the groups."""
    results: tuple[FitResult, ...] = ()
    """The fits themselves, in the order of the table; none for the agents of 2009."""
    decisions: tuple[Spreads, ...] = ()
    """Some decisions of every group, to compare the groups on."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names as written, by the keys in the table."""

    @property
    def converged(self) -> bool:
        """Whether there are fits, and every search came to rest."""
        settled = "converged" not in self.table.columns or bool(self.table["converged"].all())
        return len(self.table) > 0 and settled

    def to_frame(self) -> pl.DataFrame:
        """Return the fits, one row a group."""
        return self.table

    @cached_property
    def losses(self) -> pl.DataFrame:
        """What each group would lose on average on the same decisions, those of all groups.

        A row a group, the best first: its name, `loss` in the unit of the scaled differences (for a
        table of your own that of the values), `se`, `low` and `high` (95 %).

        Raises
        ------
        InputError
            If the groups cannot be compared.
        """
        if not self.results:
            raise InputError("agents of 2009 have one parameter: compare their c")
        texts = [pl.col(column).cast(pl.String).replace(self.names) for column in self.by]
        name = pl.concat_str(texts, separator=", ") if texts else pl.lit("all decisions")
        names = self.table.select(name.alias("group"))
        return pl.concat([names, losses(self.results, self.decisions)], how="horizontal").sort(
            "loss", "group"
        )

    def better(self, first: str, second: str) -> float:
        """Return the probability that the first group chooses better than the second.

        Better means: it would lose less on the same decisions.

        Raises
        ------
        InputError
            If there is no such group.
        """
        known = {row["group"]: row for row in self.losses.iter_rows(named=True)}
        for wanted in (first, second):
            if wanted not in known:
                near = did_you_mean(wanted, list(known))
                raise InputError(f"there is no fit of {wanted!r}{near}")
        one, two = known[first], known[second]
        return chance_of_less(one["loss"], one["se"], two["loss"], two["se"])

    @property
    def answer(self) -> str:
        """Who chooses best, in a sentence or two; empty with one group."""
        if len(self.table) < 2:
            return ""
        rows = self.losses.head(2).rows(named=True)
        best, second = (row["group"] for row in rows)
        # As many decimals as the smaller error allows.
        finest = min((row["se"] for row in rows if row["se"] > 0), default=0.01)
        form = f".{max(0, -math.floor(math.log10(finest)))}f"
        lost = [
            f"{row['loss']:{form}} ({interval_text(row['low'], row['high'], form=form)})"
            for row in rows
        ]
        ahead = "the second best, " if len(self.table) > 2 else ""
        return (
            f"{best} chooses better than {ahead}{second}: probability "
            f"{percent(self.better(best, second))}. On the same decisions {best} would lose "
            f"{lost[0]} on average, {second} {lost[1]}."
        )

    def __len__(self) -> int:
        """Return the number of fits."""
        return len(self.table)

    def __repr__(self) -> str:
        """Say how many there are."""
        state = "" if self.converged or not len(self) else ", some NOT CONVERGED"
        return f"GroupFits({len(self):,} fits, {len(self.left_out):,} left out{state})"


def fit_groups(
    data: Any,
    by: Sequence[str] = (),
    model: AgentModel | ReferenceModel | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    outside: str = BOUND,
    least: int = LEAST,
    method: str | None = None,
    covariance: str = "sandwich",
    rng: np.random.Generator | None = None,
    resamples: int = Bootstrap.resamples,
    progress: Report | None = None,
) -> GroupFits:
    """Fit an agent to each group of a table of decisions.

    Parameters
    ----------
    data, by, fields, outside
        See `split_decisions`.
    model
        What to fit [default: the agent of the 2011 paper]; a `ReferenceModel` for the one-parameter
        agents of 2009, which have no method and no covariance.
    least
        Groups with fewer decisions are left out, and told.
    method, covariance, rng, resamples
        See `milepost.fit.fit_agent`.
    progress
        Called with the number of groups done, and the name of the next.
    """
    rows: list[dict[str, Any]] = []
    left_out = []
    results: list[FitResult] = []
    decisions: list[Spreads] = []
    frame = as_frame(data)
    unnamed = len(frame) - len(frame.drop_nulls([name for name in by if name in frame.columns]))
    if by and unnamed:
        left_out.append((f"{unnamed:,} rows", f"no value of {' or '.join(by)}"))
    for done, (labels, spreads) in enumerate(
        split_decisions(frame, by, fields=fields, outside=outside)
    ):
        named = dict(zip(by, labels, strict=True))
        name = ", ".join(map(str, labels)) or "all decisions"
        if progress is not None:
            progress(Progress(done, note=name))
        try:
            refuse_few(spreads, least)
            if isinstance(model, ReferenceModel):
                rows.append({**named, **model.fit(spreads).to_dict()})
                continue
            with warnings.catch_warnings():
                # The row says whether the fit converged.
                warnings.simplefilter("ignore", NotConvergedWarning)
                result = fit_agent(
                    spreads,
                    model,
                    method=method,
                    covariance=covariance,
                    rng=rng,
                    resamples=resamples,
                )
        except InputError as error:
            left_out.append((name, str(error)))
            continue
        rows.append({**named, **result.to_dict()})
        results.append(result)
        decisions.append(thinned(spreads, SAME_DECISIONS))
    share = SAME_DECISIONS // max(len(results), 1) + 1
    return GroupFits(
        pl.DataFrame(rows, infer_schema_length=None),
        tuple(left_out),
        by=tuple(by),
        results=tuple(results),
        decisions=tuple(thinned(part, share) for part in decisions),
    )


def fit_line(
    data: Any,
    by: str,
    model: AgentModel | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    outside: str = BOUND,
    least: int = LEAST,
    method: str = PERCENTILE,
) -> CohortFits:
    """Fit groups freely, put their c on a line over a number, and fit s again: the paper's table.

    Parameters
    ----------
    data, fields, outside
        See `split_decisions`.
    by
        A column of numbers: where each group stands on the line (its Elo).
    model
        What to fit [default: the agent of the 2011 paper]; neither s nor c can be given.
    least
        Groups with fewer decisions are left out, and told.
    method
        See `milepost.fit.fit_agent`.

    Raises
    ------
    InputError
        If the column holds no numbers, or there are fewer than two groups.
    """
    frame = as_frame(data)
    if frame.schema.get(by) == pl.String:
        # CSV says everything in text.
        frame = frame.with_columns(pl.col(by).str.strip_chars().cast(pl.Float64, strict=False))
        if frame[by].null_count():
            frame = as_frame(data)
    if by not in frame.columns or not frame.schema[by].is_numeric():
        raise InputError(f"a line needs one column of numbers, where each group stands; got {by}")
    wanted = model or AgentModel()
    if wanted.s is not None or wanted.c is not None or wanted.fits_constant:
        raise InputError("on a line s and c are fitted, and nothing but them: give neither")
    cohorts: dict[float, Spreads] = {}
    left_out = []
    for (level,), spreads in split_decisions(frame, [by], fields=fields, outside=outside):
        try:
            refuse_few(spreads, least)
        except InputError as error:
            left_out.append((str(level), str(error)))
            continue
        cohorts[float(level)] = spreads
    in_pawns = all(spreads.in_pawns for spreads in cohorts.values())
    choice = wanted.choice_model(in_pawns=in_pawns)
    fits = fit_cohorts(cohorts, choice, method=method, fixed=wanted.fixed)
    return replace(fits, left_out=tuple(left_out))


def refuse_few(spreads: Spreads, least: int) -> None:
    """Refuse a group with too few decisions.

    Raises
    ------
    InputError
        If it has fewer than `least`.
    """
    if len(spreads) < least:
        raise InputError(f"{len(spreads)} decisions are fewer than {least}")


def _sortable(label: Any) -> tuple[int, Any]:
    """Numbers before texts, each in order."""
    if isinstance(label, int | float | np.number):
        return 0, label
    return 1, str(label)
