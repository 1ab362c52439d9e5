"""Agents along a rating: which agent plays like somebody of a given Elo.

A path gives the working parameters θ(E) of a choice model at every rating E, with their derivatives
by E (for the information about E) and by the path's own coefficients (for the uncertainty of the
calibration). Beyond the ratings it was fitted on a path goes on along its tangent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.methods.smooth import SmoothFit

LEAST_C = 0.05
"""A line of c is not followed below this."""


class AgentPath(Protocol):
    """What every path can do."""

    @property
    def model(self) -> ChoiceModel:
        """The choice model of its agents."""

    @property
    def coefficients(self) -> Floats:
        """The numbers that were fitted."""

    @property
    def covariance(self) -> Floats:
        """Their covariance."""

    @property
    def range(self) -> tuple[float, float]:
        """The ratings it was fitted on."""

    def theta(self, rating: npt.ArrayLike) -> Floats:
        """Return the working parameters at given ratings, a row each."""

    def slope(self, rating: npt.ArrayLike) -> Floats:
        """Return their derivatives by the rating, a row each."""

    def gradient(self, rating: float) -> Floats:
        """Return the derivatives of the parameters at one rating by the coefficients."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""


@dataclass(frozen=True, eq=False)
class PolynomialPath:
    """Working parameters that are polynomials in the rating; see `milepost.fit.methods.smooth`."""

    model: ChoiceModel
    """The choice model."""
    degrees: tuple[int, ...]
    """The degree of each parameter's polynomial."""
    coefficients: Floats
    """Those of the first parameter by rising power, then the second's, …"""
    covariance: Floats
    """Their covariance."""
    range: tuple[float, float]
    """The ratings it was fitted on."""
    centre: float
    """The rating at x = 0."""
    unit: float
    """The ratings in one unit of x."""

    @classmethod
    def of(cls, fit: SmoothFit) -> PolynomialPath:
        """Make a path of a smooth fit."""
        return cls(
            fit.model, fit.degrees, fit.beta, fit.covariance, fit.range, fit.centre, fit.unit
        )

    def theta(self, rating: npt.ArrayLike) -> Floats:
        """Return the working parameters at given ratings, a row each."""
        inside, beyond = self._places(rating)
        return self._sum(_powers(inside, max(self.degrees))) + beyond[:, None] * self._sum(
            _power_slopes(inside, max(self.degrees))
        )

    def slope(self, rating: npt.ArrayLike) -> Floats:
        """Return their derivatives by the rating, a row each."""
        inside, _ = self._places(rating)
        return self._sum(_power_slopes(inside, max(self.degrees))) / self.unit

    def gradient(self, rating: float) -> Floats:
        """Return the derivatives of the parameters at one rating by the coefficients."""
        inside, beyond = self._places(rating)
        top = max(self.degrees)
        basis = (_powers(inside, top) + beyond[:, None] * _power_slopes(inside, top))[0]
        answer = np.zeros((len(self.degrees), len(self.coefficients)))
        at = 0
        for row, degree in enumerate(self.degrees):
            answer[row, at : at + degree + 1] = basis[: degree + 1]
            at += degree + 1
        return answer

    def _places(self, rating: npt.ArrayLike) -> tuple[Floats, Floats]:
        """x inside the fitted range, and how far beyond it."""
        x = (np.atleast_1d(np.asarray(rating, dtype=np.float64)) - self.centre) / self.unit
        low, high = ((end - self.centre) / self.unit for end in self.range)
        inside = np.clip(x, low, high)
        return inside, x - inside

    @cached_property
    def _table(self) -> Floats:
        """The coefficients, a row a power and a column a parameter."""
        table = np.zeros((max(self.degrees) + 1, len(self.degrees)))
        at = 0
        for k, degree in enumerate(self.degrees):
            table[: degree + 1, k] = self.coefficients[at : at + degree + 1]
            at += degree + 1
        return table

    def _sum(self, basis: Floats) -> Floats:
        answer: Floats = basis @ self._table
        return answer

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "kind": "polynomial",
            "model": self.model.to_dict(),
            "degrees": list(self.degrees),
            "coefficients": self.coefficients.tolist(),
            "covariance": self.covariance.tolist(),
            "range": list(self.range),
            "centre": self.centre,
            "unit": self.unit,
        }


@dataclass(frozen=True, eq=False)
class LinePath:
    """Agents of 2011: c on a line over the rating, ln s on another (Regan & Haworth, section 6)."""

    model: ChoiceModel
    """The choice model; its parameters are ln s and ln c alone."""
    coefficients: Floats
    """ln s at the centre, its slope a unit; c at the centre, its slope a unit."""
    covariance: Floats
    """Their covariance."""
    range: tuple[float, float]
    """The ratings it was fitted on."""
    centre: float = 2100.0
    """The rating at x = 0."""
    unit: float = 500.0
    """The ratings in one unit of x."""

    def theta(self, rating: npt.ArrayLike) -> Floats:
        """Return the working parameters at given ratings, a row each."""
        x = (np.atleast_1d(np.asarray(rating, dtype=np.float64)) - self.centre) / self.unit
        a, b, c, d = self.coefficients
        return np.stack([a + b * x, np.log(np.maximum(c + d * x, LEAST_C))], axis=1)

    def slope(self, rating: npt.ArrayLike) -> Floats:
        """Return their derivatives by the rating, a row each."""
        x = (np.atleast_1d(np.asarray(rating, dtype=np.float64)) - self.centre) / self.unit
        _, b, c, d = self.coefficients
        level = c + d * x
        moves = np.where(level > LEAST_C, d / np.maximum(level, LEAST_C), 0.0)
        return np.stack([np.full(len(x), b), moves], axis=1) / self.unit

    def gradient(self, rating: float) -> Floats:
        """Return the derivatives of the parameters at one rating by the coefficients."""
        x = (rating - self.centre) / self.unit
        level = max(float(self.coefficients[2] + self.coefficients[3] * x), LEAST_C)
        return np.array([[1.0, x, 0.0, 0.0], [0.0, 0.0, 1.0 / level, x / level]])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "kind": "line",
            "model": self.model.to_dict(),
            "coefficients": self.coefficients.tolist(),
            "covariance": self.covariance.tolist(),
            "range": list(self.range),
            "centre": self.centre,
            "unit": self.unit,
        }


def path_from_dict(values: Mapping[str, Any]) -> AgentPath:
    """Make a path of what `to_dict` gave.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        model = ChoiceModel.from_dict(values["model"])
        coefficients = np.array(values["coefficients"], dtype=np.float64)
        covariance = np.array(values["covariance"], dtype=np.float64)
        low, high = (float(end) for end in values["range"])
        centre, unit = float(values["centre"]), float(values["unit"])
        kind = values["kind"]
        degrees = tuple(int(d) for d in values.get("degrees", ()))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no path of agents: {error}") from error
    if covariance.shape != (len(coefficients), len(coefficients)) or not unit > 0:
        raise InputError("the covariance of this path does not fit its coefficients")
    if not np.isfinite(coefficients).all():
        raise InputError("the coefficients of this path are not all numbers")
    if kind == "line":
        if len(coefficients) != 4 or len(model.parameters) != 2:
            raise InputError("a path of lines has four coefficients and two parameters")
        return LinePath(model, coefficients, covariance, (low, high), centre, unit)
    if kind != "polynomial":
        raise InputError(f"there is no path of the kind {kind!r}")
    if len(degrees) != len(model.parameters) or sum(degrees) + len(degrees) != len(coefficients):
        raise InputError("the degrees of this path do not fit its coefficients")
    return PolynomialPath(model, degrees, coefficients, covariance, (low, high), centre, unit)


def _powers(x: Floats, top: int) -> Floats:
    answer: Floats = x[:, None] ** np.arange(top + 1)
    return answer


def _power_slopes(x: Floats, top: int) -> Floats:
    exponents = np.arange(top + 1)
    answer: Floats = exponents * x[:, None] ** np.maximum(exponents - 1, 0)
    return answer
