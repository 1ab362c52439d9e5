"""What every import has in common: rows that are refused by number, and rows that are added."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.store import EvaluationStore


@dataclass(frozen=True)
class Refused:
    """A row that was not taken in."""

    place: int
    """Its row or line, from 1."""
    reason: str
    """What is wrong with it."""


@dataclass(frozen=True)
class Imported:
    """What became of an import."""

    setup: EngineSetup
    """The set-up under which the evaluations are stored."""
    counts: dict[str, int]
    """Rows read, left out by reason, already in the store, and stored."""
    refused: tuple[Refused, ...] = ()
    """Rows that cannot be what they claim to be."""


def add_rows(
    store: EvaluationStore,
    setup: EngineSetup,
    rows: pl.DataFrame,
    counts: dict[str, int],
    refused: list[Refused],
) -> Imported:
    """Add rows that are not there yet, each key once."""
    once = rows.unique(["position", "played"], keep="first", maintain_order=True)
    there = pl.DataFrame(
        list(store.keys(setup.digest)),
        schema={"position": pl.String, "played": pl.String},
        orient="row",
    )
    new = once.join(there, on=["position", "played"], how="anti", nulls_equal=True)
    counts["refused"] = len(refused)
    counts["the same position again"] = len(rows) - len(once)
    counts["already in the store"] = len(once) - len(new)
    counts["stored"] = len(new)
    if len(rows):
        store.add_setup(setup)
        store.append(new)
    return Imported(setup, counts, tuple(refused))
