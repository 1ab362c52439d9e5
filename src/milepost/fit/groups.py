"""Fits of a table of decisions, group by group: one row each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.spreads import BOUND, Spreads
from milepost.errors import InputError, TableError
from milepost.fit.agent import NotConvergedWarning, fit_agent
from milepost.fit.methods.reference import fit_reference
from milepost.io.progress import Progress, Report
from milepost.tables import as_frame

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
                f"--map: expected field=column with a field of {', '.join(FIELDS)}, got {part!r}"
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
            f"there is no column {', '.join(missing)} to part by; found {', '.join(frame.columns)}"
        )
    is_spreads = isinstance(frame.schema.get("values"), pl.List)
    if not is_spreads and {"game_id", "values"} <= set(frame.columns):
        raise TableError("a spreads table keeps its lists in Parquet or NDJSON only: write it so")
    if not is_spreads:
        needed = ("decision", "value", "chosen")
        named = {field: field for field in FIELDS if field in needed or field in frame.columns}
        named |= dict(fields or {})
    parts: dict[tuple[Any, ...], pl.DataFrame] = {(): frame}
    if by:
        kept = frame.drop_nulls(list(by))
        parts = kept.partition_by(list(by), as_dict=True, maintain_order=True)
        parts = dict(sorted(parts.items(), key=lambda item: tuple(map(_sortable, item[0]))))
    for labels, part in parts.items():
        if is_spreads:
            yield labels, Spreads.from_table(part, outside=outside)
        else:
            yield labels, Spreads.from_frame(part, outside=outside, **named)


def fit_groups(
    data: Any,
    by: Sequence[str] = (),
    *,
    fields: Mapping[str, str] | None = None,
    outside: str = BOUND,
    least: int = LEAST,
    reference: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    **settings: Any,
) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
    """Fit an agent to each group of a table of decisions.

    Parameters
    ----------
    data, by, fields, outside
        See `split_decisions`.
    least
        Groups with fewer decisions are left out, and told.
    reference
        Fit the one-parameter agents of 2009 instead, with these settings of `fit_reference`.
    progress
        Called with the number of groups done.
    **settings
        See `milepost.fit.fit_agent`.

    Returns
    -------
    table
        One row a group; see `milepost.tables.FITS` (other columns for the 2009 agents).
    left_out
        Groups that could not be fitted, with the reason.
    """
    rows: list[dict[str, Any]] = []
    left_out = []
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
            if len(spreads) < least:
                raise InputError(f"{len(spreads)} decisions are fewer than {least}")
            if reference is not None:
                rows.append({**named, **_competence(spreads, reference)})
                continue
            with warnings.catch_warnings():
                # The row says whether the fit converged.
                warnings.simplefilter("ignore", NotConvergedWarning)
                result = fit_agent(spreads, **settings)
        except InputError as error:
            left_out.append((name, str(error)))
            continue
        rows.append({**named, **result.to_dict()})
    return pl.DataFrame(rows, infer_schema_length=None), left_out


def _competence(spreads: Spreads, settings: Mapping[str, Any]) -> dict[str, Any]:
    found = fit_reference(spreads, **settings)
    low, high = found.region()
    return {
        "model": "reference agents (2009)",
        "n": found.n,
        "outside": found.outside,
        "c": found.mean,
        "sd": found.sd,
        "c_low": low,
        "c_high": high,
        "edge_mass": found.edge_mass,
    }


def _sortable(label: Any) -> tuple[int, Any]:
    """Numbers before texts, each in order."""
    if isinstance(label, int | float | np.number):
        return 0, label
    return 1, str(label)
