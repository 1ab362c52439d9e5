"""How the answer of a joint history hangs on what it takes for granted."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.history.fit import fit_history
from milepost.history.joint.observations import MovesWarning
from milepost.history.models import TTT, TTTD
from milepost.history.result import History
from milepost.io.progress import Progress, Report

TIGHTER = 3.0
"""The tighter walk of an era is so many times tighter."""


def sensitivity_of(
    history: History,
    group: Any = "top:100",
    *,
    reference: Any = None,
    deeper: Any = None,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Return how the level of a group changed, under other assumptions.

    The history is fitted again: with the newcomers' level fixed where it was learned (or learned
    where it was fixed), with a walk of the era three times as tight, and with sites of deeper cuts.

    Parameters
    ----------
    history
        A joint history that keeps its results and sites.
    group, reference
        See `milepost.history.History.inflation`.
    deeper
        Sites made without the first moves (`milepost.sites`, first_move); `None` = not asked.
    progress
        Called after each fit.

    Returns
    -------
    polars.DataFrame
        variant, time, change, change_sd.

    Raises
    ------
    InputError
        If the history has no move evidence, or does not keep what it was fitted to.
    """
    model, moves, kept = history.model, history.moves, history._kept
    if moves is None or not isinstance(model, TTT | TTTD):
        raise InputError("this history has no move evidence: nothing on the joint scale to vary")
    if kept is None or moves.sites is None:
        raise InputError("this history does not keep its results and sites: fit it again")
    other = None if model.newcomers is not None else "learn"
    name = "newcomers fixed" if other is None else "newcomers learned"
    variants: dict[str, dict[str, Any]] = {
        name: {"model": replace(model, newcomers=other)},
        f"era walk {moves.era_drift / TIGHTER:.3g} a year": {
            "joining": replace(moves.options, era="walk", era_drift=moves.era_drift / TIGHTER,
                               era_level=None),
        },
    }  # fmt: skip
    if deeper is not None:
        variants["book cut deeper"] = {"moves": deeper}
    tables = [_changes("as fitted", history, group, reference)]
    for place, (variant, changed) in enumerate(variants.items()):
        told = {"model": model, "joining": moves.options, "moves": moves.sites} | changed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MovesWarning)
            again = fit_history(
                kept.results, period=history.period, sweeping=history.sweeping, names=history.names,
                **told,
            )  # fmt: skip
        tables.append(_changes(variant, again, group, reference))
        if progress is not None:
            progress(Progress(place + 1, len(variants)))
    return pl.concat(tables)


def _changes(variant: str, history: History, group: Any, reference: Any) -> pl.DataFrame:
    table = history.inflation(group, reference=reference)
    return table.select(pl.lit(variant).alias("variant"), "time", "change", "change_sd")
