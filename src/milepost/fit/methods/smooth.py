"""Agents whose parameters follow a rating: one fit to all decisions at once.

Each working parameter is a polynomial in x = (rating - centre) / unit, θ_k(x) = Σ_j β_kj x^j, and
each decision enters with its own chooser's rating. Fitted by likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.evaluation.evaluate import Prepared, evaluate, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.agent import NotConvergedWarning
from milepost.fit.search import minimise
from milepost.fit.uncertainty.covariance import clustered, inverse, sandwich
from milepost.io.shown import Shown

CENTRE = 2100.0
UNIT = 500.0
_MOST_ITERATIONS = 300
_MANY = 12
"""With more parameters the curvature is that of the scores' outer products (Berndt, Hall, Hall &
Hausman 1974): at the top both agree, and an array of decisions × parameters² would not fit."""


@dataclass(frozen=True, eq=False)
class SmoothFit(Shown):
    """Parameters as functions of a rating."""

    model: ChoiceModel
    """The model."""
    degrees: tuple[int, ...]
    """The degree of each parameter's polynomial."""
    beta: Floats
    """The coefficients: those of the first parameter by rising power, then the second's, …"""
    covariance: Floats
    """Their covariance, clustered by group."""
    log_likelihood: float
    """Log-likelihood of all choices."""
    n: int
    """Number of decisions."""
    n_groups: int
    """Number of groups."""
    range: tuple[float, float]
    """The ratings of the data."""
    converged: bool
    """Whether the search came to rest."""
    centre: float = CENTRE
    """The rating at x = 0."""
    unit: float = UNIT
    """The ratings in one unit of x."""

    def theta(self, rating: npt.ArrayLike) -> Floats:
        """Return the working parameters at given ratings, a row each."""
        x = (np.atleast_1d(np.asarray(rating, dtype=np.float64)) - self.centre) / self.unit
        return _rows(self.beta, self.degrees, x)

    def __repr__(self) -> str:
        """Say in a line what was fitted."""
        low, high = self.range
        state = "" if self.converged else ", NOT CONVERGED"
        return (
            f"SmoothFit({self.model.name}; {len(self.beta)} coefficients, ratings {low:.0f} to "
            f"{high:.0f}, {self.n:,} decisions{state})"
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the coefficients: one row a parameter and power."""
        rows = [
            (name, power, value)
            for name, values in self.to_dict().items()
            for power, value in enumerate(values)
        ]
        errors = np.sqrt(np.diag(self.covariance))
        table = pl.DataFrame(rows, schema=["parameter", "power", "coefficient"], orient="row")
        return table.with_columns(se=pl.Series(errors))

    def to_dict(self) -> dict[str, list[float]]:
        """Return the coefficients of each parameter by rising power."""
        at = np.concatenate([[0], np.cumsum(np.asarray(self.degrees) + 1)])
        return {
            name: [float(b) for b in self.beta[at[k] : at[k + 1]]]
            for k, name in enumerate(self.model.parameters)
        }


def fit_smooth(
    spreads: Spreads,
    model: ChoiceModel,
    *,
    degree: int | Mapping[str, int] = 1,
    centre: float = CENTRE,
    unit: float = UNIT,
    start: Floats | None = None,
    covariance: bool = True,
) -> SmoothFit:
    """Fit parameters that follow the choosers' ratings, by likelihood.

    Parameters
    ----------
    spreads
        The decisions, with ratings; decisions without one are refused.
    model
        The model.
    degree
        The degree of every polynomial, or by the parameter's name (others: 1).
    centre, unit
        x = (rating - centre) / unit.
    start
        Coefficients from which to set out.
    covariance
        Whether to work out their covariance.

    Raises
    ------
    InputError
        If a decision has no rating.
    """
    if spreads.rating is None or not np.isfinite(spreads.rating).all():
        raise InputError("parameters can follow a rating only where every decision has one")
    names = model.parameters
    given = {} if isinstance(degree, int) else dict(degree)
    default = degree if isinstance(degree, int) else 1
    degrees = tuple(given.get(name, default) for name in names)
    prepared = prepare(spreads, model)
    x = (spreads.rating - centre) / unit
    beta = start if start is not None else _start(model, degrees)
    seen: dict[bytes, tuple[float, Floats, Floats]] = {}
    powers = x[:, None] ** np.arange(max(degrees) + 1)
    columns = [(k, j) for k, d in enumerate(degrees) for j in range(d + 1)]
    which = np.array([k for k, _ in columns])
    design = powers[:, [j for _, j in columns]]
    weights = spreads.weights
    total = float(weights.sum())

    def terms(values: Floats) -> tuple[float, Floats, Floats]:
        key = values.tobytes()
        if key not in seen:
            few = len(names) <= _MANY
            said = evaluate(model, prepared, _rows(values, degrees, x), information=few)
            score = said.d_ln_chosen[:, which] * design
            weighted = design * weights[:, None]
            if few:
                information = np.empty((len(columns), len(columns)))
                for a, (k, _) in enumerate(columns):
                    information[a] = (
                        (weighted[:, a] * said.information[:, k].T)[which] * design.T
                    ).sum(axis=1)
            else:
                information = score.T @ (score * weights[:, None])
            loss = -float(weights @ said.ln_chosen) / total
            seen.clear()
            seen[key] = loss, -(weights @ score) / total, information / total
        return seen[key]

    found = minimise(terms, beta, gtol=3e-6, most=_MOST_ITERATIONS)
    loss, gradient, _ = terms(found.x)
    converged = bool(np.abs(gradient).max() < 1e-4)
    if not converged:
        warnings.warn(
            f"{model.name} over ratings did not converge: {found.message}",
            NotConvergedWarning,
            stacklevel=2,
        )
    spread = np.full((len(columns), len(columns)), np.nan)
    if covariance:
        spread = _covariance(model, prepared, found.x, degrees, x, which, design)
    ratings = (float(spreads.rating.min()), float(spreads.rating.max()))
    return SmoothFit(
        model,
        degrees,
        found.x,
        spread,
        -loss * total,
        len(spreads),
        spreads.number_of_groups,
        ratings,
        converged,
        centre,
        unit,
    )


def _start(model: ChoiceModel, degrees: tuple[int, ...]) -> Floats:
    beta = np.zeros(sum(degrees) + len(degrees))
    at = np.concatenate([[0], np.cumsum(np.asarray(degrees) + 1)])[:-1]
    beta[at] = model.start()
    return beta


def _rows(beta: Floats, degrees: tuple[int, ...], x: Floats) -> Floats:
    rows = np.empty((len(x), len(degrees)))
    at = 0
    for k, degree in enumerate(degrees):
        rows[:, k] = np.polynomial.polynomial.polyval(x, beta[at : at + degree + 1])
        at += degree + 1
    return rows


def _covariance(
    model: ChoiceModel,
    prepared: Prepared,
    beta: Floats,
    degrees: tuple[int, ...],
    x: Floats,
    which: npt.NDArray[np.int64],
    design: Floats,
) -> Floats:
    """Sandwich: observed information (differences of the gradient), scores clustered by group."""
    spreads = prepared.spreads

    def scores(values: Floats) -> Floats:
        said = evaluate(model, prepared, _rows(values, degrees, x))
        answer: Floats = said.d_ln_chosen[:, which] * design * spreads.weights[:, None]
        return answer

    step = 1e-4
    rows = []
    for place in range(len(beta)):
        move = np.zeros(len(beta))
        move[place] = step
        rows.append((scores(beta - move) - scores(beta + move)).sum(axis=0) / (2 * step))
    curvature = np.stack(rows)
    bread = inverse(0.5 * (curvature + curvature.T))
    return sandwich(bread, clustered(scores(beta), spreads.groups, len(beta)))
