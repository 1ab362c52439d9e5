"""Tuning a history's numbers: a grid over any of them, and a refinement of its best point.

Two criteria, which answer different questions: the log evidence of the whole history (how well the
model explains all results), and the prequential log-loss (how well each period is predicted from
what came before it only).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.draw_share import naive_log_evidence
from milepost.history.models import TTT, Smoothed, checked_model
from milepost.history.periods import checked_period, clock_of
from milepost.history.records import Records, read_records
from milepost.history.solver.convergence import ConvergenceWarning
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.from_model import check_movers, common_margin
from milepost.history.tuning.search import (
    CRITERIA,
    Axes,
    Point,
    Trial,
    check_search,
    free_numbers,
    read_axes,
    refine,
    search_limit,
    tuned_fields,
)
from milepost.io.progress import Report


@dataclass(frozen=True)
class Tuning:
    """The points that were tried, and the best of them."""

    table: pl.DataFrame
    """One row for each point: point (grid or refined), the model's options that may be varied,
    evidence, log_loss, sweeps, converged, best. Options that are told by a word and not a number
    (a margin from the share of draws, an advantage that is learned) are null."""
    best: Point
    """The best point of all; by evidence, one that did not converge only if none did."""
    by: str
    """The criterion: evidence or prequential."""
    edges: tuple[str, ...]
    """The numbers for which the grid's best point lies at the grid's edge."""
    settled: bool
    """Whether the refinement came to rest; true without one."""
    evaluations: int
    """How many points were computed."""
    games: int
    """How many games were used."""
    naive: float
    """What the share of draws alone would give: see `naive_log_evidence`."""


def parse_values(text: str) -> list[float]:
    """Read the values of one axis.

    ``"200:600:5"`` is five values from 200 to 600; ``"200,480"`` two; ``"480"`` one.

    >>> parse_values("200:600:5")
    [200.0, 300.0, 400.0, 500.0, 600.0]

    Raises
    ------
    InputError
        If the text is none of these.
    """
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        low, high, number = text.split(":")
        count = int(number)
        if count >= 2:
            return [float(v) for v in np.linspace(float(low), float(high), count)]
    except ValueError:
        pass
    raise InputError(f"expected LOW:HIGH:POINTS, numbers with commas, or a number; got {text!r}")


def tune(
    results: Any,
    model: Smoothed | None = None,
    *,
    vary: Mapping[str, Any],
    period: str | float = "year",
    by: str = "evidence",
    window: int = 3,
    start: Any = None,
    optimise: bool = False,
    evaluations: int | None = None,
    sweeping: Sweeping | None = None,
    progress: Report | None = None,
) -> Tuning:
    """Try a grid of a model's options, and search on from its best point if asked.

    Parameters
    ----------
    results, period, sweeping
        As for `milepost.history.fit_history`, two players a game.
    model
        `TTT` (the default) or `TTTD`, with the options that stand still. What is learned needs the
        whole history: with it there is no log-loss. A draw margin from the share of draws takes
        that one number from all games, and is too small where many games are between unequals;
        vary it in points where even this is too much.
    vary
        For each option to try, its values: ``{"beta": [200.0, 480.0], "first_mover": [-30.0,
        0.0]}``. Words (``draw_form``, or ``"learn"``) are compared on the grid; a refinement keeps
        those of the grid's best point.
    by
        ``"evidence"`` or ``"prequential"``.
    window
        For the log-loss: how many periods are smoothed again after each one; 0 = the filter.
    start
        The log-loss counts games from this time on; `None` = all.
    optimise
        Whether to refine the best point, over those numbers that have several values.
    evaluations
        At most so many points for the refinement; `None` = 60, or 20 n² for n > 2 numbers.
    progress
        Called after each point with the points done.

    Returns
    -------
    Tuning

    Raises
    ------
    InputError
        If an option cannot be used.

    Warns
    -----
    ConvergenceWarning
        If points did not converge (once, with their number), or the refinement did not settle.
    """
    base = _checked(TTT() if model is None else model)
    axes = read_axes(base, vary)
    _check(base, axes, by)
    if optimise:
        check_search(base, axes)
    records = read_records(results, period=checked_period(period))
    _check_records(records, base, axes)
    first = _first_period(records, period, start)
    trial = Trial(records, base, sweeping or Sweeping(), by, window, first, progress)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        points = [
            trial.full(dict(zip(axes, values, strict=True)))
            for values in itertools.product(*axes.values())
        ]
        grid_best = _best(points, by)
        refined, settled = None, True
        if optimise:
            most = search_limit(len(free_numbers(axes))) if evaluations is None else evaluations
            refined, settled = refine(trial, axes, grid_best, most)
    every = [*points, refined] if refined else points
    best = _best(every, by)
    _warn_of(every, settled=settled)
    edges = tuple(
        name
        for name in free_numbers(axes)
        if getattr(grid_best.model, name) in (min(axes[name]), max(axes[name]))
    )
    return Tuning(
        table=_table(every, refined, best),
        best=best,
        by=by,
        edges=edges,
        settled=settled,
        evaluations=trial.done,
        games=records.games,
        naive=naive_log_evidence(records.draw_share),
    )


def _table(points: Sequence[Point], refined: Point | None, best: Point) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "point": ["refined" if point is refined else "grid" for point in points]
    }
    for name, option in tuned_fields(best.model).items():
        values = [getattr(point.model, name) for point in points]
        if option.metadata.get("word", False):
            columns[name] = pl.Series(values, dtype=pl.String)
        else:
            numbers = [None if isinstance(value, str) else value for value in values]
            columns[name] = pl.Series(numbers, dtype=pl.Float64, strict=False)
    for name in ("evidence", "log_loss"):
        columns[name] = pl.Series([getattr(point, name) for point in points], dtype=pl.Float64)
    for name in ("sweeps", "converged"):
        columns[name] = [getattr(point, name) for point in points]
    return pl.DataFrame({**columns, "best": [point is best for point in points]})


def _checked(model: object) -> Smoothed:
    known = checked_model(model)
    if not isinstance(known, Smoothed):
        raise InputError(f"expected the model ttt or ttt-d, got {known.name}")
    return known


def _check(base: Smoothed, axes: Axes, by: str) -> None:
    if by not in CRITERIA:
        raise InputError(f"expected {' or '.join(CRITERIA)} as the criterion, got {by!r}")
    if base.stage != "converged":
        raise InputError("a tuning has both stages: give none")
    if by == "prequential" and any(model.learns for model in _models(base, axes)):
        raise InputError(
            "what is learned from the whole history knows the future: by prequential log-loss "
            "give the first mover's advantage as a number, and no newcomers"
        )


def _models(base: Smoothed, axes: Axes) -> list[Smoothed]:
    """The models that each value alone makes of the base."""
    varied = [replace(base, **{name: value}) for name, values in axes.items() for value in values]
    return varied or [base]


def _check_records(records: Records, base: Smoothed, axes: Axes) -> None:
    """Refuse values that the results cannot have, or cannot tell apart."""
    if len(axes.get("first_mover", ())) > 1 and not records.mover.any():
        raise InputError("the results do not say who moved first: give no values of first_mover")
    for model in _models(base, axes):
        check_movers(records, model)
        if isinstance(model, TTT):
            common_margin(records, model)


def _first_period(records: Records, period: str | float, start: Any) -> int:
    if start is None:
        return 0
    first = int(np.searchsorted(records.asked_clock, clock_of(start, period)))
    if first >= records.periods:
        raise InputError(f"there are no games from {start} on")
    return first


def _best(points: Sequence[Point], by: str) -> Point:
    """The best point; an evidence that is only approximate does not compete with others."""
    approximate = [by == "evidence" and not point.converged for point in points]
    place = min(range(len(points)), key=lambda n: (approximate[n], points[n].loss(by)))
    return points[place]


def _warn_of(points: Sequence[Point], *, settled: bool) -> None:
    lost = sum(not point.converged for point in points)
    if lost:
        warnings.warn(
            f"{lost} of {len(points)} points did not converge: their evidence is approximate",
            ConvergenceWarning,
            stacklevel=3,
        )
    if not settled:
        warnings.warn(
            "the refinement stopped before it came to rest", ConvergenceWarning, stacklevel=3
        )
