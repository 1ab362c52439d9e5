"""The posterior of two parameters, (ln s, ln c), on a grid that finds its own place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.problem import make_problem
from milepost.fit.result import check_level
from milepost.fit.search import greatest_likelihood
from milepost.fit.uncertainty.covariance import inverse, likelihood_information
from milepost.io.shown import Shown

LogPrior = Callable[[Floats, Floats], Floats]
"""Logarithm of a prior density at given ln s and ln c."""
S_RANGE = (1e-3, 10.0)
C_RANGE = (0.05, 5.0)


@dataclass(frozen=True, eq=False)
class AgentPosterior(Shown):
    """What is known of s and c together."""

    model: ChoiceModel
    """The model."""
    theta: Floats
    """Its working parameters: those besides s and c were given."""
    ln_s: Floats
    """Grid of ln s."""
    ln_c: Floats
    """Grid of ln c."""
    ln_likelihood: Floats
    """Log-likelihood of all decisions seen at each point, a row for each ln s."""
    probability: Floats
    """Posterior probability of each cell; sums to 1."""
    n: int
    """Decisions seen."""
    edge_mass: float
    """Posterior probability on the grid's edge: near 0 if the grid is wide enough."""
    log_prior: LogPrior | None
    """The prior; None = uniform in ln s and ln c on the stated ranges."""

    def mean(self) -> dict[str, float]:
        """Return the posterior means of s and c."""
        by_s, by_c = self.probability.sum(axis=1), self.probability.sum(axis=0)
        return {"s": float(by_s @ np.exp(self.ln_s)), "c": float(by_c @ np.exp(self.ln_c))}

    def sd(self) -> dict[str, float]:
        """Return the posterior standard deviations of s and c."""
        answer = {}
        for name, grid, mass in self._margins():
            centre = mass @ grid
            answer[name] = float(np.sqrt(mass @ (grid - centre) ** 2))
        return answer

    def region(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return central regions of s and c."""
        check_level(level)
        answer = {}
        for name, grid, mass in self._margins():
            # Each cell's mass is spread evenly over the cell, in the logarithm.
            ln = np.log(grid)
            edges = np.concatenate([[ln[0]], 0.5 * (ln[1:] + ln[:-1]), [ln[-1]]])
            below = np.concatenate([[0.0], np.cumsum(mass)])
            low, high = np.interp([0.5 - level / 2, 0.5 + level / 2], below, edges)
            answer[name] = (float(np.exp(low)), float(np.exp(high)))
        return answer

    def _margins(self) -> list[tuple[str, Floats, Floats]]:
        return [
            ("s", np.exp(self.ln_s), self.probability.sum(axis=1)),
            ("c", np.exp(self.ln_c), self.probability.sum(axis=0)),
        ]

    def update(self, spreads: Spreads) -> AgentPosterior:
        """Return the posterior after more decisions, on the same grid."""
        added = _grid_likelihood(self.model, spreads, self.theta, self.ln_s, self.ln_c)
        return _normalised(
            self.model,
            self.theta,
            self.ln_s,
            self.ln_c,
            self.ln_likelihood + added,
            self.n + len(spreads),
            self.log_prior,
        )

    def __str__(self) -> str:
        """Show means, standard deviations and 95 % regions."""
        means, sds, regions = self.mean(), self.sd(), self.region()
        lines = [f"{self.model.name}, posterior after {self.n:,} decisions"]
        lines += [
            f"  {name:4}{means[name]:10.4f}   sd {sds[name]:.4f}   95 % {low:.4f} to {high:.4f}"
            for name, (low, high) in regions.items()
        ]
        return "\n".join([*lines, f"  probability on the grid's edge {self.edge_mass:.1e}"])

    def __repr__(self) -> str:
        """Say in a line what is known."""
        means = self.mean()
        return (
            f"AgentPosterior(s={means['s']:.4g}, c={means['c']:.4g}; {self.model.name}, "
            f"{self.n:,} decisions)"
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the posterior as a table: s, c, probability."""
        s, c = np.meshgrid(np.exp(self.ln_s), np.exp(self.ln_c), indexing="ij")
        return pl.DataFrame(
            {"s": s.ravel(), "c": c.ravel(), "probability": self.probability.ravel()}
        )


def fit_posterior(
    spreads: Spreads,
    model: ChoiceModel | None = None,
    *,
    fixed: Mapping[str, float] | None = None,
    points: int = 25,
    s_range: tuple[float, float] | None = None,
    c_range: tuple[float, float] | None = None,
    log_prior: LogPrior | None = None,
) -> AgentPosterior:
    """Return the posterior of (s, c), other parameters of the model given.

    Parameters
    ----------
    spreads
        The decisions.
    model
        The model [default: powers, inverse exponential].
    fixed
        Its other parameters, by name (lapse, m, k, …) [default: `ChoiceModel.start`].
    points
        Grid points along each axis.
    s_range, c_range
        Where the grid lies. Without them it is laid around the greatest likelihood, six standard
        deviations to either side (for data to come, give the ranges: updates keep the grid).
    log_prior
        Logarithm of the prior density at (ln s, ln c) [default: uniform there].

    Raises
    ------
    InputError
        If there are too few points or decisions.
    """
    if points < 5:
        raise InputError(f"at least five grid points are needed, got {points}")
    chosen = model or ChoiceModel()
    theta = chosen.start(fixed)
    if s_range is None or c_range is None:
        around_s, around_c = _around_top(spreads, chosen, theta)
        s_range, c_range = s_range or around_s, c_range or around_c
    for name, (low, high) in (("s", s_range), ("c", c_range)):
        if not 0 < low < high:
            raise InputError(f"the range of {name} must rise from over 0, got {low} to {high}")
    ln_s = np.linspace(np.log(s_range[0]), np.log(s_range[1]), points)
    ln_c = np.linspace(np.log(c_range[0]), np.log(c_range[1]), points)
    ln_likelihood = _grid_likelihood(chosen, spreads, theta, ln_s, ln_c)
    return _normalised(chosen, theta, ln_s, ln_c, ln_likelihood, len(spreads), log_prior)


def _around_top(
    spreads: Spreads, model: ChoiceModel, theta: Floats
) -> tuple[tuple[float, float], tuple[float, float]]:
    problem = make_problem(spreads, model)
    free = np.zeros(len(theta), dtype=bool)
    free[:2] = True
    problem = replace(problem, start=theta, free=free)
    top = greatest_likelihood(problem).moving
    sds = np.sqrt(np.diag(inverse(likelihood_information(problem, top))))
    sds = np.where(np.isfinite(sds), sds, 1.0)
    ranges = []
    for centre, sd, (least, most) in zip(top[:2], sds[:2], (S_RANGE, C_RANGE), strict=True):
        low, high = np.exp(centre - 6 * sd), np.exp(centre + 6 * sd)
        ranges.append((float(max(low, least / 100)), float(min(high, most * 100))))
    return ranges[0], ranges[1]


def _grid_likelihood(
    model: ChoiceModel, spreads: Spreads, theta: Floats, ln_s: Floats, ln_c: Floats
) -> Floats:
    prepared = prepare(spreads, model)
    answer = np.empty((len(ln_s), len(ln_c)))
    theta = theta.copy()
    for i, first in enumerate(ln_s):
        for j, second in enumerate(ln_c):
            theta[:2] = first, second
            said = evaluate(model, prepared, theta)
            answer[i, j] = spreads.weights @ said.ln_chosen
    return answer


def _normalised(
    model: ChoiceModel,
    theta: Floats,
    ln_s: Floats,
    ln_c: Floats,
    ln_likelihood: Floats,
    n: int,
    log_prior: LogPrior | None,
) -> AgentPosterior:
    ln_mass = ln_likelihood.copy()
    if log_prior is not None:
        ln_mass += log_prior(*np.meshgrid(ln_s, ln_c, indexing="ij"))
    mass = np.exp(ln_mass - ln_mass.max())
    mass /= mass.sum()
    inner = mass[1:-1, 1:-1].sum()
    return AgentPosterior(
        model, theta, ln_s, ln_c, ln_likelihood, mass, n, float(1 - inner), log_prior
    )
