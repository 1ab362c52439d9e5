"""Bootstrap of whole groups: how the parameters vary if other games had been drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.problem import Problem
from milepost.fit.search import Solution


@dataclass(frozen=True)
class Bootstrap:
    """How errors are drawn by the bootstrap."""

    resamples: int = 200
    """How often groups are drawn again and the agent refitted."""
    seed: int = 2011
    """What draws them: the same seed gives the same errors."""


def bootstrap_parameters(
    problem: Problem,
    moving: Floats,
    solve: Callable[[Problem], Solution],
    rng: np.random.Generator,
    resamples: int,
) -> Floats:
    """Refit with groups drawn with replacement; one row of parameters a resample.

    Drawing a group twice is giving its decisions twice the weight, so nothing is copied. Resamples
    that do not converge are left out; if more than a tenth do not, it is an error.

    Raises
    ------
    InputError
        If there are fewer than two groups or resamples, or too many resamples do not converge.
    """
    spreads = problem.prepared.spreads
    _, codes = np.unique(spreads.groups, return_inverse=True)
    count = int(codes.max()) + 1
    if count < 2 or resamples < 2:
        raise InputError("the bootstrap needs at least two groups and two resamples")
    begin = replace(problem, start=problem.full(moving), known_start=True)
    rows = []
    for _ in range(resamples):
        drawn = np.bincount(rng.integers(count, size=count), minlength=count)
        solution = solve(begin.weighted(spreads.weights * drawn[codes]))
        if solution.converged:
            rows.append(solution.moving)
    if len(rows) < 0.9 * resamples or len(rows) < 2:
        raise InputError(f"only {len(rows)} of {resamples} resamples converged")
    return np.stack(rows)
