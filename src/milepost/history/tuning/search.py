"""What a tuning is made of: the axes, one point computed, and the search on from the best.

The search goes in the logarithms, where the surface is nearly round: Nelder & Mead (1965) with
several free numbers, in the form of Gao & Han (2012) for many of them (the same for two), and
Brent's bounded search with one. The first mover's advantage may be 0 or negative, so that it is
searched in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milepost.errors import InputError
from milepost.history.fit import _fresh_state
from milepost.history.options import FIRST_MOVER_LEARNED, Options
from milepost.history.prediction.forward import predict_forward
from milepost.history.records import Records
from milepost.history.solver.convergence import converge
from milepost.history.ttt.evidence import ttt_d_log_evidence, ttt_log_evidence
from milepost.history.ttt.own_margins import TTTDState
from milepost.io.progress import Progress, Report

CRITERIA = ("evidence", "prequential")
Axes = dict[str, list[Any]]
"""The values of each option that is tried; one value = it is not searched."""

_REACH = math.log(4.0)
"""How far beyond the grid a refinement may go: a factor of four."""
_STEP = math.log(1.25)
"""The first step of a refinement."""
_NEAR = 0.01
"""A refinement rests when its points are within one per cent of each other."""
_STEPS_OF_BETA = 8.0
"""The first step in the first mover's advantage is beta over this."""
_MOST = 60
"""Points that a search in one or two numbers may take, unless told."""
_SKILLS = ("beta", "tau", "sigma", "first_mover")
_MARGINS = ("margin_mu", "margin_sigma", "margin_tau")
_KNOWN_TO = {"ttt": (*_SKILLS, "draw"), "ttt-d": (*_SKILLS, *_MARGINS, "draw_form")}
_BELONGS = {
    "ttt": "margins of the players' own, and forms of a draw, belong to the model ttt-d",
    "ttt-d": "a draw margin of all belongs to the model ttt",
}
_WORDS = {"draw": ("share",), "first_mover": FIRST_MOVER_LEARNED}


@dataclass(frozen=True)
class Point:
    """One choice of the numbers, and how good it is."""

    beta: float
    """Standard deviation of a performance around the skill."""
    tau: float
    """Standard deviation that a unit of time adds to a skill."""
    margin_mu: float | None
    """Prior mean of a player's own draw margin; `None` for the model ttt."""
    sigma: float = 400.0
    """Standard deviation of a newcomer's skill."""
    draw: float | None = None
    """The draw margin of all; `None` = from the share of draws, or the model is ttt-d."""
    first_mover: float | None = None
    """The first mover's advantage; `None` = none, or it is learned."""
    margin_sigma: float | None = None
    """Prior standard deviation of a player's own draw margin; `None` for the model ttt."""
    margin_tau: float | None = None
    """Standard deviation that a unit of time adds to it; `None` for the model ttt."""
    draw_form: str | None = None
    """between or two-factor; `None` for the model ttt."""
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


def read_axes(base: Options, given: dict[str, Any]) -> tuple[Options, Axes]:
    """Sort what was given into options that stand still and values to try.

    Parameters
    ----------
    base
        The other options.
    given
        For each number, and the form of a draw: values, a value, a word that `fit` knows, or
        `None` for what `fit` does without it.

    Returns
    -------
    (Options, Axes)
        The options with the words put in; and the values of all else that the model has.

    Raises
    ------
    InputError
        If the model does not know an option, or a value cannot be used.
    """
    if base.model not in _KNOWN_TO:
        raise InputError(f"expected the model ttt or ttt-d, got {base.model!r}")
    axes: Axes = {}
    for name, value in given.items():
        if name not in _KNOWN_TO[base.model]:
            if value is not None:
                raise InputError(_BELONGS[base.model])
        elif isinstance(value, str) and name != "draw_form":
            if value not in _WORDS.get(name, ()):
                known = " or ".join([*_WORDS.get(name, ()), "numbers"])
                raise InputError(f"expected {known} as {name}, got {value!r}")
            base = replace(base, **{name: value})  # type: ignore[arg-type]
        else:
            axes[name] = _values(name, getattr(base, name) if value is None else value)
    # What is not a number without being asked for is no axis: the share of draws, no first mover.
    axes = {name: values for name, values in axes.items() if values not in (["share"], [None])}
    for name, values in axes.items():
        if not values:
            raise InputError(f"expected at least one {name}")
        for value in values:
            replace(base, **{name: value})
    return base, axes


def _values(name: str, given: Any) -> list[Any]:
    several = isinstance(given, Iterable) and not isinstance(given, str)
    values = list(given) if several else [given]
    if name == "draw_form" or values in (["share"], [None]):
        return values
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise InputError(f"expected numbers as {name}, got {given!r}") from error


def free_numbers(axes: Axes) -> list[str]:
    """Return the numbers with several values: those that a refinement searches in."""
    return [name for name, values in axes.items() if len(values) > 1 and name != "draw_form"]


def search_limit(numbers: int) -> int:
    """Return how many points a search in so many numbers may take, unless told."""
    # Searches in 2, 3, 4 and 5 numbers of simulated histories took 34, 77, 137 and 390 points.
    return _MOST if numbers <= 2 else 20 * numbers**2


def check_search(axes: Axes) -> None:
    """Refuse a refinement that cannot come to one end.

    Raises
    ------
    InputError
        If nothing is searched, a logarithm does not exist, or nothing fixes the scale.
    """
    free = free_numbers(axes)
    if not free:
        raise InputError("a refinement needs a number with several values to search in")
    for name in free:
        if name != "first_mover" and min(axes[name]) <= 0:
            raise InputError(f"a refinement in ln {name} needs values above 0")
    # All numbers are points: twice as large, they say the same. A 0 stays 0 in any points, and
    # a margin from the share of draws follows beta.
    fixed = [axes[name][0] for name in axes if name not in (*free, "draw_form")]
    if not any(fixed):
        raise InputError(
            f"only the ratios of {', '.join(free)} matter: keep one of them fixed to search"
        )


class Trial:
    """Computes points, all on the same records."""

    def __init__(
        self, records: Records, base: Options, by: str, window: int, first: int,
        progress: Report | None,
    ):  # fmt: skip
        self.records = records
        self.base = base
        self.by = by
        self.done = 0
        self._window = window
        self._first = first
        self._progress = progress
        self._learned = isinstance(base.first_mover, str) or base.newcomers is not None
        self._known: dict[tuple[Any, ...], Point] = {}

    def full(self, values: dict[str, Any]) -> Point:
        """Compute both criteria, as far as they can be had."""
        point = self._evidence(values)
        if not self._learned:
            point = replace(point, log_loss=self._log_loss(values))
        self._count()
        self._known[tuple(values.values())] = point
        return point

    def loss(self, values: dict[str, Any]) -> float:
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
            self._progress(Progress(self.done))

    def _point(self, values: dict[str, Any]) -> Point:
        return Point(**{"margin_mu": None, **values})

    def _evidence(self, values: dict[str, Any]) -> Point:
        options = replace(self.base, **values)
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

    def _log_loss(self, values: dict[str, Any]) -> float:
        state = _fresh_state(self.records, replace(self.base, **values))
        logs = predict_forward(state, window=self._window)
        begin = int(self.records.game_start[self._first])
        weight = self.records.weight[begin:] if len(self.records.weight) else None
        return -float(np.average(logs[begin:], weights=weight))


def refine(trial: Trial, axes: Axes, begin: Point, evaluations: int) -> tuple[Point, bool]:
    """Search on from a point; return where the search ended, and whether it came to rest."""
    from scipy.optimize import minimize, minimize_scalar

    free = free_numbers(axes)
    here = {name: getattr(begin, name) for name in axes}
    # Such a unit that a step in it is as long as one in the logarithms.
    unit = begin.beta / (_STEPS_OF_BETA * _STEP)

    def place_of(name: str, value: float) -> float:
        return value / unit if name == "first_mover" else math.log(value)

    def values_of(places: Sequence[float]) -> dict[str, Any]:
        found = zip(free, places, strict=True)
        return here | {n: x * unit if n == "first_mover" else math.exp(x) for n, x in found}

    bounds = [
        (place_of(n, min(axes[n])) - _REACH, place_of(n, max(axes[n])) + _REACH) for n in free
    ]
    if len(free) == 1:
        found = minimize_scalar(
            lambda x: trial.loss(values_of([float(x)])), bounds=bounds[0], method="bounded",
            options={"xatol": _NEAR, "maxiter": evaluations},
        )  # fmt: skip
        ended, end = bool(found.success), [float(found.x)]
    else:
        centre = np.array([place_of(name, here[name]) for name in free])
        found = minimize(
            lambda x: trial.loss(values_of([float(v) for v in x])), centre, method="Nelder-Mead",
            bounds=bounds,
            options={
                "initial_simplex": np.vstack([centre, centre + _STEP * np.eye(len(free))]),
                "xatol": _NEAR,
                # A tenth of a nat over all games is no difference.
                "fatol": max(0.1 / trial.records.games, 1e-7),
                "maxfev": evaluations,
                "adaptive": True,
            },
        )  # fmt: skip
        ended, end = bool(found.success), [float(v) for v in found.x]
    return trial.full(values_of(end)), ended
