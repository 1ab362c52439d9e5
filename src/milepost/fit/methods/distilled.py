"""Agents that choose, on other values of the same options, as known agents do.

The known agents say with which probability q each option is chosen at each of several ratings. The
new ones, whose working parameters are polynomials in the rating (as in `milepost.fit.methods
.smooth`), come as near as they can: the mean of -Σ q ln p over decisions and ratings, which is the
Kullback-Leibler divergence of p from q up to what p does not change, is least. Nothing is drawn, so
the only noise is that of the decisions at hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milepost.choice.evaluation.evaluate import Prepared, evaluate
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats
from milepost.fit.agent import NotConvergedWarning
from milepost.fit.search import minimise
from milepost.fit.uncertainty.covariance import group_sums

_MOST_ITERATIONS = 300
_STEP = 1e-4
_FLAT = 1e-9
"""Curvature, of the largest, that counts as none."""


@dataclass(frozen=True, eq=False)
class Distillation:
    """What is to be learnt: choices at several ratings, by agents of a new model."""

    model: ChoiceModel
    """The model of the new agents."""
    prepared: Prepared
    """The decisions with the new values, prepared for that model."""
    x: Floats
    """The ratings, each as (rating - centre) / unit."""
    degrees: tuple[int, ...]
    """The degree of each parameter's polynomial."""
    free: npt.NDArray[np.bool_]
    """Which coefficients are fitted; the others stay as they are given."""

    @property
    def columns(self) -> list[tuple[int, int]]:
        """Parameter and power of each coefficient."""
        return [(k, j) for k, degree in enumerate(self.degrees) for j in range(degree + 1)]

    def theta(self, beta: Floats, x: float) -> Floats:
        """Return the working parameters at a place."""
        answer = np.zeros(len(self.degrees))
        for value, (k, j) in zip(beta, self.columns, strict=True):
            answer[k] += value * x**j
        return answer

    def terms(self, beta: Floats, targets: Sequence[Floats]) -> tuple[float, Floats, Floats]:
        """Return the loss (nats a decision and rating), its gradient, the expected information."""
        weights = self.prepared.spreads.weights
        share = weights / (weights.sum() * len(self.x))
        which, powers = (np.array(each) for each in zip(*self.columns, strict=True))
        loss, gradient = 0.0, np.zeros(len(beta))
        information = np.zeros((len(beta), len(beta)))
        for x, target in zip(self.x, targets, strict=True):
            said = evaluate(
                self.model, self.prepared, self.theta(beta, x), information=True, targets=target
            )
            factor = x**powers
            loss -= float(share @ said.ln_chosen)
            gradient -= (share @ said.d_ln_chosen)[which] * factor
            here = np.einsum("t,tjk->jk", share, said.information)[np.ix_(which, which)]
            information += here * np.outer(factor, factor)
        return loss, gradient, information

    def gradient(self, beta: Floats, targets: Sequence[Floats]) -> Floats:
        """Return the loss's slopes by the fitted coefficients."""
        answer: Floats = self.scores(beta, targets).sum(axis=0)
        return answer

    def scores(self, beta: Floats, targets: Sequence[Floats]) -> Floats:
        """Return each decision's share of the gradient by the fitted coefficients."""
        weights = self.prepared.spreads.weights
        share = weights / (weights.sum() * len(self.x))
        which, powers = (np.array(each) for each in zip(*self.columns, strict=True))
        total = np.zeros((len(weights), len(beta)))
        for x, target in zip(self.x, targets, strict=True):
            said = evaluate(self.model, self.prepared, self.theta(beta, x), targets=target)
            total -= said.d_ln_chosen[:, which] * x**powers * share[:, None]
        return total[:, self.free]


@dataclass(frozen=True, eq=False)
class Distilled:
    """The coefficients that were learnt."""

    beta: Floats
    """All coefficients, also those that were given."""
    loss: float
    """-Σ q ln p, the mean over decisions and ratings."""
    bread: Floats
    """Inverse curvature of the loss, for the fitted coefficients."""
    covariance: Floats
    """Covariance of the fitted ones that comes from the decisions at hand, clustered by group."""
    converged: bool
    """Whether the search came to rest."""


def distil(task: Distillation, targets: Sequence[Floats], start: Floats) -> Distilled:
    """Find the agents that choose most nearly as the targets say.

    Parameters
    ----------
    task
        What is to be learnt.
    targets
        For each rating the probability of every option, in the order of the prepared spreads.
    start
        Coefficients from which to set out; those that are not free stay.
    """
    beta = np.array(start, dtype=np.float64)
    free = task.free
    seen: dict[bytes, tuple[float, Floats, Floats]] = {}

    def whole(moving: Floats) -> Floats:
        answer = beta.copy()
        answer[free] = moving
        return answer

    def terms(moving: Floats) -> tuple[float, Floats, Floats]:
        key = moving.tobytes()
        if key not in seen:
            loss, gradient, information = task.terms(whole(moving), targets)
            seen.clear()
            seen[key] = loss, gradient[free], information[np.ix_(free, free)]
        return seen[key]

    search = minimise(terms, beta[free], gtol=1e-7, most=_MOST_ITERATIONS)
    loss, slopes, _ = terms(search.x)
    converged = bool(np.abs(slopes).max() < 1e-5)
    if not converged:
        warnings.warn(
            f"the distillation onto {task.model.name} did not converge: {search.message}",
            NotConvergedWarning,
            stacklevel=2,
        )
    answer = whole(search.x)
    rows = []
    for place in np.flatnonzero(free):
        step = np.zeros(len(beta))
        step[place] = _STEP
        change = task.gradient(answer + step, targets) - task.gradient(answer - step, targets)
        rows.append(change / (2 * _STEP))
    curvature = np.stack(rows)
    # Directions in which choices do not change are no error: what is read does not change either.
    half = 0.5 * (curvature + curvature.T)
    bread = np.asarray(np.linalg.pinv(half, rcond=_FLAT, hermitian=True), dtype=np.float64)
    sums = group_sums(task.scores(answer, targets), task.prepared.spreads.groups)
    middle = sums.T @ sums * (len(sums) / max(len(sums) - 1, 1))
    return Distilled(answer, loss, bread, bread @ middle @ bread.T, converged)
