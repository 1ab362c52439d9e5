"""The apparent competence c of a chooser, followed while decisions come in.

The mathematics is that of `milepost.fit.methods.reference`; what is kept is the log-likelihood of
all decisions seen, on one fixed grid of c, so that a decision costs the same whether it is the
first or the millionth. Between the points the sum is so smooth that cubic splines give it on any
finer grid: with a step of 0.02 the error of a sum over 100,000 decisions stays under a thousandth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.methods.reference import ReferenceModel, first_options, log_likelihoods

_STEP = 0.02
"""The grid's step in c, or less."""
_LEAST_POINTS = 200
_FINE = 401
"""Points of the grid on which a posterior is summed up."""
_REACH = 8.0
"""Standard deviations to either side that this grid has."""
_ROUNDS = 4
"""How often it is narrowed at most."""


@dataclass(frozen=True)
class Known:
    """What is known of one number: its posterior in a few figures."""

    mean: float
    """Posterior mean."""
    sd: float
    """Posterior standard deviation."""
    low: float
    """Lower end of the central interval."""
    high: float
    """Its upper end."""


class LiveCompetence:
    """The posterior of c of one chooser, updated decision by decision."""

    def __init__(self, model: ReferenceModel | None = None):
        """Begin with nothing but the prior."""
        self.model = model or ReferenceModel()
        """What the agents look at, and the prior."""
        self.n = 0
        """Decisions seen."""
        self.outside = 0
        """Choices beyond the first options, which say nothing and are counted."""
        low, high = self.model.prior_range
        points = max(round((high - low) / _STEP), _LEAST_POINTS) + 1
        self._grid = np.linspace(low, high, points)
        self._total = np.zeros(points)

    def add(self, spreads: Spreads) -> None:
        """Take decisions into account; the work does not depend on how many there were before."""
        inside, outside = first_options(spreads, self.model.width)
        self.n += len(inside)
        self.outside += outside
        if len(inside):
            self._total += log_likelihoods(inside, self.model.K, self._grid)

    def known(self, level: float = 0.95) -> Known:
        """Return mean, standard deviation and central interval of c."""
        low, high = self.model.prior_range
        grid, height = self._grid, self._total + self.model.log_prior(self._grid)
        spline = CubicSpline(self._grid, self._total)
        for _ in range(_ROUNDS):
            mean, sd = _moments(grid, height)
            step = grid[1] - grid[0]
            if sd >= 2 * _REACH * step:
                break
            # Where all lies between two points the sd cannot be seen: a step stands for it.
            reach = _REACH * max(sd, step)
            grid = np.linspace(max(mean - reach, low), min(mean + reach, high), _FINE)
            height = spline(grid) + self.model.log_prior(grid)
        mean, sd = _moments(grid, height)
        density = np.exp(height - height.max())
        below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        ends = np.interp([0.5 - level / 2, 0.5 + level / 2], below / below[-1], grid)
        return Known(mean, sd, float(ends[0]), float(ends[1]))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values, to go on from later."""
        return {"n": self.n, "outside": self.outside, "log_likelihood": self._total.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], model: ReferenceModel) -> LiveCompetence:
        """Make a state of what `to_dict` gave, for the same model.

        Raises
        ------
        InputError
            If it is none.
        """
        state = cls(model)
        try:
            total = np.array(values["log_likelihood"], dtype=np.float64)
            state.n, state.outside = int(values["n"]), int(values["outside"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no state of a chooser's competence: {error}") from error
        if total.shape != state._total.shape or not np.isfinite(total).all():
            raise InputError("this state of a chooser's competence belongs to another grid of c")
        state._total = total
        return state


def _moments(grid: Floats, height: Floats) -> tuple[float, float]:
    density = np.exp(height - height.max())
    area = np.trapezoid(density, grid)
    mean = float(np.trapezoid(density * grid, grid) / area)
    variance = float(np.trapezoid(density * (grid - mean) ** 2, grid) / area)
    return mean, float(np.sqrt(max(variance, 0.0)))
