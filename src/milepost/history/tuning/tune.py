"""Tuning a history's numbers: a grid over any of them, and a refinement of its best point.

Two criteria, which answer different questions: the log evidence of the whole history (how well the
model explains all results), and the prequential log-loss (how well each period is predicted from
what came before it only).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.options import Options, named_options
from milepost.history.periods import clock_of
from milepost.history.records import Records, SkippedResultsWarning, read_records
from milepost.history.solver.convergence import ConvergenceWarning
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
)
from milepost.io.progress import Report

_NUMBERS = ("margin_mu", "sigma", "draw", "first_mover", "margin_sigma", "margin_tau")
"""Those that may be missing at a point, beside the criteria."""


@dataclass(frozen=True)
class Tuning:
    """The points that were tried, and the best of them."""

    table: pl.DataFrame
    """One row for each point: point (grid or refined), the fields of `Point`, best."""
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


def naive_log_evidence(draw_share: float) -> float:
    """Return the log evidence a game, in nats, of knowing the share of draws and nothing else.

    p ln p + (1 - p) ln((1 - p) / 2): less the entropy of a result when a share p of games is drawn
    and either side is as likely to win the others.

    >>> round(naive_log_evidence(0.303), 4)
    -1.0965
    """
    if not 0.0 <= draw_share <= 1.0:
        raise InputError(f"expected a share of draws from 0 to 1, got {draw_share!r}")
    decided = 1.0 - draw_share
    drawn_part = draw_share * math.log(draw_share) if draw_share else 0.0
    return drawn_part + (decided * math.log(0.5 * decided) if decided else 0.0)


def draw_share(results: Any, *, period: str | float = "year") -> float:
    """Return the share of draws, by weight, among the results that a fit would use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedResultsWarning)
        return read_records(results, period=period).draw_share


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
    model: str = "ttt",
    *,
    beta: float | Sequence[float],
    tau: float | Sequence[float],
    margin_mu: float | Sequence[float] | None = None,
    sigma: float | Sequence[float] | None = None,
    draw: str | float | Sequence[float] | None = None,
    first_mover: str | float | Sequence[float] | None = None,
    margin_sigma: float | Sequence[float] | None = None,
    margin_tau: float | Sequence[float] | None = None,
    draw_form: str | Sequence[str] | None = None,
    by: str = "evidence",
    window: int = 3,
    start: Any = None,
    optimise: bool = False,
    evaluations: int | None = None,
    progress: Report | None = None,
    **options: Any,
) -> Tuning:
    """Try a grid of numbers, and search on from its best point if asked.

    Every number may be one value, which stands still, or several, which are tried.

    Parameters
    ----------
    results
        As for `milepost.history.fit`, two players a game.
    model
        ``"ttt"`` or ``"ttt-d"``.
    beta, tau, sigma
        The values to try; a sigma of `None` is the default of `fit`, as for all that follow.
    draw
        For ``"ttt"``: draw margins in points; or ``"share"``, the one that follows from the share
        of draws, which is too small where many games are between unequals.
    first_mover
        Advantages in points, 0 and negative ones too; or ``"learn"``, ``"learn-by-period"``.
    margin_mu, margin_sigma, margin_tau
        For ``"ttt-d"``: the same as mu, sigma, tau for the draw margins.
    draw_form
        For ``"ttt-d"``: ``"between"``, ``"two-factor"`` or both. They are compared on the grid; a
        refinement keeps the form of the grid's best point.
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
    **options
        Other options of `fit`, the same for every point. A learned first mover or newcomers' level
        needs the whole history: then there is no log-loss. A draw margin from the share of draws
        takes that one number from all games; give margins where even this is too much.

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
    base, axes = read_axes(
        named_options(model=model, **options),
        {
            "beta": beta, "tau": tau, "margin_mu": margin_mu, "sigma": sigma, "draw": draw,
            "first_mover": first_mover, "margin_sigma": margin_sigma, "margin_tau": margin_tau,
            "draw_form": draw_form,
        },
    )  # fmt: skip
    _check(base, by)
    base.check_used()
    if optimise:
        check_search(axes)
    records = read_records(results, period=base.period)
    _check_records(records, base, axes)
    trial = Trial(records, base, by, window, _first_period(records, base, start), progress)
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
    rows = [
        {"point": "refined" if point is refined else "grid", **asdict(point), "best": point is best}
        for point in every
    ]
    schema: dict[str, Any] = dict.fromkeys([*_NUMBERS, "evidence", "log_loss"], pl.Float64)
    schema["draw_form"] = pl.String
    edges = tuple(
        name
        for name in free_numbers(axes)
        if getattr(grid_best, name) in (min(axes[name]), max(axes[name]))
    )
    return Tuning(
        table=pl.DataFrame(rows, schema_overrides=schema),
        best=best,
        by=by,
        edges=edges,
        settled=settled,
        evaluations=trial.done,
        games=records.games,
        naive=naive_log_evidence(records.draw_share),
    )


def _check(base: Options, by: str) -> None:
    if by not in CRITERIA:
        raise InputError(f"expected {' or '.join(CRITERIA)} as the criterion, got {by!r}")
    if base.stage != "converged":
        raise InputError("a tuning has both stages: give none")
    learned = isinstance(base.first_mover, str) or base.newcomers is not None
    if by == "prequential" and learned:
        raise InputError(
            "what is learned from the whole history knows the future: by prequential log-loss "
            "give the first mover's advantage as a number, and no newcomers"
        )


def _check_records(records: Records, base: Options, axes: Axes) -> None:
    """Refuse values that the results cannot have, or cannot tell apart."""
    if len(axes.get("first_mover", ())) > 1 and not records.mover.any():
        raise InputError("the results do not say who moved first: give no values of first_mover")
    for value in axes.get("first_mover", (base.first_mover,)):
        replace(base, first_mover=value).check_movers(records)
    for value in axes.get("draw", ()):
        replace(base, draw=value).margin(records)


def _first_period(records: Records, base: Options, start: Any) -> int:
    if start is None:
        return 0
    first = int(np.searchsorted(records.asked_clock, clock_of(start, base.period)))
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
