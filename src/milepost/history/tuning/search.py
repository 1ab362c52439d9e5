"""What a tuning is made of: the axes, one point computed, and the search on from the best.

The search goes in the logarithms, where the surface is nearly round: Nelder & Mead (1965) with
several free numbers, in the form of Gao & Han (2012) for many of them (the same for two), and
Brent's bounded search with one. The first mover's advantage may be 0 or negative, so that it is
searched in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any

import numpy as np

from milepost.errors import InputError
from milepost.history.models import Smoothed, check_option
from milepost.history.prediction.forward import predict_forward
from milepost.history.records import Records
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.from_model import fresh_state, state_log_evidence
from milepost.history.ttt.learned_margin import converge_model
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


@dataclass(frozen=True)
class Point:
    """One choice of the numbers, and how good it is."""

    model: Smoothed
    """The model with the numbers chosen."""
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


def tuned_fields(model: Smoothed) -> dict[str, Field[Any]]:
    """Return the options of a model that a tuning may vary, by their names."""
    return {each.name: each for each in fields(model) if each.metadata.get("vary", True)}


def read_axes(model: Smoothed, vary: Mapping[str, Any]) -> Axes:
    """Return the values to try of each option, in the order of the model's options.

    Parameters
    ----------
    model
        The other options.
    vary
        For each option: values, or a single one.

    Raises
    ------
    InputError
        If the model has no such option, it is none to vary, or a value cannot be used.
    """
    known = tuned_fields(model)
    for name in vary:
        check_option(model, name)
        if name not in known:
            raise InputError(f"{name} is no option to vary: those are {', '.join(known)}")
    axes: Axes = {}
    for name in known:
        if name not in vary:
            continue
        given = vary[name]
        several = isinstance(given, Iterable) and not isinstance(given, str)
        axes[name] = [_plain(value) for value in given] if several else [_plain(given)]
        if not axes[name]:
            raise InputError(f"expected at least one {name}")
        for value in axes[name]:
            replace(model, **{name: value})
    return axes


def _plain(value: Any) -> Any:
    """A number of any kind as a float, so that values compare and print alike."""
    number = isinstance(value, int | float | np.integer | np.floating)
    return float(value) if number and not isinstance(value, bool) else value


def free_numbers(axes: Axes) -> list[str]:
    """Return the numbers with several values: those that a refinement searches in."""
    return [
        name
        for name, values in axes.items()
        if len(values) > 1 and all(isinstance(value, float) for value in values)
    ]


def search_limit(numbers: int) -> int:
    """Return how many points a search in so many numbers may take, unless told."""
    # Searches in 2, 3, 4 and 5 numbers of simulated histories took 34, 77, 137 and 390 points.
    return _MOST if numbers <= 2 else 20 * numbers**2


def check_search(model: Smoothed, axes: Axes) -> None:
    """Refuse a refinement that cannot come to one end.

    Raises
    ------
    InputError
        If nothing is searched, a logarithm does not exist, or nothing fixes the scale.
    """
    free = free_numbers(axes)
    if not free:
        raise InputError("a refinement needs a number with several values to search in")
    known = tuned_fields(model)
    for name in free:
        if not _is_signed(known[name]) and min(axes[name]) <= 0:
            raise InputError(f"a refinement in ln {name} needs values above 0")
    # All numbers are points: twice as large, they say the same. A 0 stays 0 in any points, and
    # a margin from the share of draws follows beta.
    fixed = [axes.get(name, [getattr(model, name)])[0] for name in known if name not in free]
    if not any(value for value in fixed if isinstance(value, int | float)):
        raise InputError(
            f"only the ratios of {', '.join(free)} matter: keep one of them fixed to search"
        )


def _is_signed(option: Field[Any]) -> bool:
    return bool(option.metadata.get("signed", False))


class Trial:
    """Computes points, all on the same records."""

    def __init__(
        self, records: Records, base: Smoothed, sweeping: Sweeping, by: str, window: int,
        first: int, progress: Report | None,
    ):  # fmt: skip
        self.records = records
        self.base = base
        self.by = by
        self.done = 0
        self._sweeping = sweeping
        self._window = window
        self._first = first
        self._progress = progress
        self._known: dict[tuple[Any, ...], Point] = {}

    def full(self, values: dict[str, Any]) -> Point:
        """Compute both criteria, as far as they can be had."""
        point = self._evidence(values)
        if not point.model.learns:
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
                point = Point(replace(self.base, **values), log_loss=self._log_loss(values))
            self._count()
            self._known[key] = point
        return self._known[key].loss(self.by)

    def _count(self) -> None:
        self.done += 1
        if self._progress is not None:
            self._progress(Progress(self.done))

    def _evidence(self, values: dict[str, Any]) -> Point:
        model, sweeping = replace(self.base, **values), self._sweeping
        state = fresh_state(self.records, model)
        ended = converge_model(state, model, sweeping)
        return Point(
            model,
            evidence=state_log_evidence(state) / self.records.games,
            sweeps=ended.sweeps,
            converged=ended.converged,
        )

    def _log_loss(self, values: dict[str, Any]) -> float:
        state = fresh_state(self.records, replace(self.base, **values))
        logs = predict_forward(state, window=self._window)
        begin = int(self.records.game_start[self._first])
        weight = self.records.weight[begin:] if len(self.records.weight) else None
        return -float(np.average(logs[begin:], weights=weight))


def refine(trial: Trial, axes: Axes, begin: Point, evaluations: int) -> tuple[Point, bool]:
    """Search on from a point; return where the search ended, and whether it came to rest."""
    from scipy.optimize import minimize, minimize_scalar

    free = free_numbers(axes)
    here = {name: getattr(begin.model, name) for name in axes}
    signed = {name for name, option in tuned_fields(begin.model).items() if _is_signed(option)}
    # Such a unit that a step in it is as long as one in the logarithms.
    unit = begin.model.beta / (_STEPS_OF_BETA * _STEP)

    def place_of(name: str, value: float) -> float:
        return value / unit if name in signed else math.log(value)

    def values_of(places: Sequence[float]) -> dict[str, Any]:
        found = zip(free, places, strict=True)
        return here | {n: x * unit if n in signed else math.exp(x) for n, x in found}

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
