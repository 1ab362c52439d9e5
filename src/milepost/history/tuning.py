"""Tuning a history's numbers: a grid over beta, tau and the margins' mean, and a refinement.

Two criteria, which answer different questions: the log evidence of the whole history (how well the
model explains all results), and the prequential log-loss (how well each period is predicted from
what came before it only). The refinement searches in the logarithms, where the surface is nearly
round: Nelder & Mead (1965) with several free numbers, Brent's bounded search with one.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.convergence import ConvergenceWarning, converge
from milepost.history.evidence import ttt_log_evidence
from milepost.history.evidence_d import ttt_d_log_evidence
from milepost.history.fit import _fresh_state
from milepost.history.options import Options
from milepost.history.periods import clock_of
from milepost.history.predictive import predict_forward
from milepost.history.records import Records, SkippedResultsWarning, read_records
from milepost.history.ttt_d import TTTDState

CRITERIA = ("evidence", "prequential")
_REACH = math.log(4.0)
"""How far beyond the grid a refinement may go: a factor of four."""
_STEP = math.log(1.25)
"""The first step of a refinement."""
_NEAR = 0.01
"""A refinement rests when its points are within one per cent of each other."""
_FREE = ("beta", "tau", "margin_mu")


@dataclass(frozen=True)
class Point:
    """One choice of the numbers, and how good it is."""

    beta: float
    """Standard deviation of a performance around the skill."""
    tau: float
    """Standard deviation that a unit of time adds to a skill."""
    margin_mu: float | None
    """Prior mean of a player's own draw margin; `None` for the model ttt."""
    evidence: float | None = None
    """Log evidence a game, in nats; `None` = not computed."""
    log_loss: float | None = None
    """Prequential log-loss a game, in nats; `None` = not computed."""
    sweeps: int = 0
    """Sweeps made for the evidence."""
    converged: bool = True
    """Whether the history came to its fixed point."""

    def loss(self, by: str) -> float:
        """Return what is made small; infinite where it is not a number."""
        value = self.log_loss if by == "prequential" else self.evidence
        if value is None or not math.isfinite(value):
            return math.inf
        return value if by == "prequential" else -value


@dataclass(frozen=True)
class Tuning:
    """The points that were tried, and the best of them."""

    table: pl.DataFrame
    """One row for each point: point (grid or refined), beta, tau, margin_mu, evidence, log_loss,
    sweeps, converged, best."""
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
    beta: Sequence[float],
    tau: Sequence[float],
    margin_mu: Sequence[float] | None = None,
    by: str = "evidence",
    window: int = 3,
    start: Any = None,
    optimise: bool = False,
    evaluations: int = 60,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Tuning:
    """Try a grid of numbers, and search on from its best point if asked.

    Parameters
    ----------
    results
        As for `milepost.history.fit`, two players a game.
    model
        ``"ttt"`` or ``"ttt-d"``.
    beta, tau
        The values to try.
    margin_mu
        The same for the prior mean of the margins, for ``"ttt-d"``; `None` = the default of `fit`.
    by
        ``"evidence"`` or ``"prequential"``.
    window
        For the log-loss: how many periods are smoothed again after each one; 0 = the filter.
    start
        The log-loss counts games from this time on; `None` = all.
    optimise
        Whether to refine the best point, over those numbers that have several values.
    evaluations
        At most so many points for the refinement.
    progress
        Called after each point with the number of points done.
    **options
        Other options of `fit`, the same for every point. A learned first mover or newcomers' level
        needs the whole history: then there is no log-loss. A draw margin from the share of draws
        takes that one number from all games; give a margin where even this is too much.

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
    base = Options(model=model, **options)
    axes = _checked_axes(base, by, beta, tau, margin_mu, optimise=optimise)
    records = read_records(results, period=base.period)
    trial = _Trial(records, base, by, window, _first_period(records, base, start), progress)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        points = [
            trial.full(dict(zip(axes, values, strict=True)))
            for values in itertools.product(*axes.values())
        ]
        grid_best = _best(points, by)
        refined, settled = None, True
        if optimise:
            refined, settled = _refine(trial, axes, grid_best, evaluations)
    every = [*points, refined] if refined else points
    best = _best(every, by)
    _warn_of(every, settled=settled)
    rows = [
        {"point": "refined" if point is refined else "grid", **asdict(point), "best": point is best}
        for point in every
    ]
    schema = {"margin_mu": pl.Float64, "evidence": pl.Float64, "log_loss": pl.Float64}
    edges = tuple(
        name
        for name, values in axes.items()
        if len(values) > 1 and getattr(grid_best, name) in (min(values), max(values))
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


class _Trial:
    """Computes points, all on the same records."""

    def __init__(
        self, records: Records, base: Options, by: str, window: int, first: int,
        progress: Callable[[int], None] | None,
    ):  # fmt: skip
        self.records = records
        self.base = base
        self.by = by
        self.done = 0
        self._window = window
        self._first = first
        self._progress = progress
        self._learned = isinstance(base.first_mover, str) or base.newcomers is not None
        self._known: dict[tuple[float, ...], Point] = {}

    def full(self, values: dict[str, float]) -> Point:
        """Compute both criteria, as far as they can be had."""
        point = self._evidence(values)
        if not self._learned:
            point = replace(point, log_loss=self._log_loss(values))
        self._count()
        self._known[tuple(values.values())] = point
        return point

    def loss(self, values: dict[str, float]) -> float:
        """Return the criterion alone."""
        key = tuple(values.values())
        if key not in self._known:
            if self.by == "evidence":
                point = self._evidence(values)
            else:
                point = replace(self._point(values), log_loss=self._log_loss(values))
            self._count()
            self._known[key] = point
        return self._known[key].loss(self.by)

    def _count(self) -> None:
        self.done += 1
        if self._progress is not None:
            self._progress(self.done)

    def _point(self, values: dict[str, float]) -> Point:
        return Point(values["beta"], values["tau"], values.get("margin_mu"))

    def _evidence(self, values: dict[str, float]) -> Point:
        options = replace(self.base, **values)  # type: ignore[arg-type]
        state = _fresh_state(self.records, options)
        ended = converge(
            state, tolerance=options.distance, max_sweeps=options.max_sweeps,
            learning=options.learning, workers=options.workers,
        )  # fmt: skip
        evidence = (
            ttt_d_log_evidence(state) if isinstance(state, TTTDState) else ttt_log_evidence(state)
        )
        return replace(
            self._point(values),
            evidence=float(evidence) / self.records.games,
            sweeps=ended.sweeps,
            converged=ended.converged,
        )

    def _log_loss(self, values: dict[str, float]) -> float:
        state = _fresh_state(self.records, replace(self.base, **values))  # type: ignore[arg-type]
        logs = predict_forward(state, window=self._window)
        begin = int(self.records.game_start[self._first])
        weight = self.records.weight[begin:] if len(self.records.weight) else None
        return -float(np.average(logs[begin:], weights=weight))


def _checked_axes(
    base: Options, by: str, beta: Sequence[float], tau: Sequence[float],
    margin_mu: Sequence[float] | None, *, optimise: bool,
) -> dict[str, list[float]]:  # fmt: skip
    """The values of each number that is tried, checked before any work."""
    if base.model not in ("ttt", "ttt-d"):
        raise InputError(f"expected the model ttt or ttt-d, got {base.model!r}")
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
    axes = {"beta": [float(v) for v in beta], "tau": [float(v) for v in tau]}
    if base.model == "ttt-d":
        given = [base.margin_mu] if margin_mu is None else margin_mu
        axes["margin_mu"] = [float(v) for v in given]
    elif margin_mu is not None:
        raise InputError("margins of the players' own belong to the model ttt-d")
    for name, values in axes.items():
        if not values:
            raise InputError(f"expected at least one {name}")
        for value in values:
            replace(base, **{name: value})  # type: ignore[arg-type]
        if optimise and len(values) > 1 and min(values) <= 0:
            raise InputError(f"a refinement in ln {name} needs values above 0")
    if optimise and all(len(values) == 1 for values in axes.values()):
        raise InputError("a refinement needs a number with several values to search in")
    return axes


def _first_period(records: Records, base: Options, start: Any) -> int:
    if start is None:
        return 0
    first = int(np.searchsorted(records.clock, clock_of(start, base.period)))
    if first >= records.periods:
        raise InputError(f"there are no games from {start} on")
    return first


def _best(points: Sequence[Point], by: str) -> Point:
    """The best point; an evidence that is only approximate does not compete with others."""
    approximate = [by == "evidence" and not point.converged for point in points]
    place = min(range(len(points)), key=lambda n: (approximate[n], points[n].loss(by)))
    return points[place]


def _refine(
    trial: _Trial, axes: dict[str, list[float]], begin: Point, evaluations: int
) -> tuple[Point, bool]:
    """Search on from a point; return where the search ended, and whether it came to rest."""
    from scipy.optimize import minimize, minimize_scalar

    free = [name for name in _FREE if len(axes.get(name, ())) > 1]
    here = {name: float(getattr(begin, name)) for name in axes}

    def values_of(logs: Sequence[float]) -> dict[str, float]:
        return here | {name: math.exp(x) for name, x in zip(free, logs, strict=True)}

    bounds = [(math.log(min(axes[n])) - _REACH, math.log(max(axes[n])) + _REACH) for n in free]
    if len(free) == 1:
        found = minimize_scalar(
            lambda x: trial.loss(values_of([float(x)])), bounds=bounds[0], method="bounded",
            options={"xatol": _NEAR, "maxiter": evaluations},
        )  # fmt: skip
        ended, end = bool(found.success), [float(found.x)]
    else:
        centre = np.array([math.log(here[name]) for name in free])
        found = minimize(
            lambda x: trial.loss(values_of([float(v) for v in x])), centre, method="Nelder-Mead",
            bounds=bounds,
            options={
                "initial_simplex": np.vstack([centre, centre + _STEP * np.eye(len(free))]),
                "xatol": _NEAR,
                # A tenth of a nat over all games is no difference.
                "fatol": max(0.1 / trial.records.games, 1e-7),
                "maxfev": evaluations,
            },
        )  # fmt: skip
        ended, end = bool(found.success), [float(v) for v in found.x]
    return trial.full(values_of(end)), ended


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
