"""Searches: least squares and greatest likelihood, from several starts.

Starts are screened on part of the decisions; the best few are followed to the end, and the best end
wins. No search stops silently: a solution says whether it came to rest, and why it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.model import C, S
from milepost.choice.spreads import Floats
from milepost.fit.problem import Problem, coarse_starts, part_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

System = Callable[[Evaluated], tuple[Floats, Floats]]
"""Residuals of a least-squares fit and their derivatives by the parameters that move."""
_SCREENED = 1_500
"""Decisions on which starts are screened."""
_FOLLOWED = 2
"""Starts that are followed to the end."""
_MOST_EVALUATIONS = 200
_SAME = 0.05
"""Ends that differ by less, on the working scale, are one."""
_REST = 1e-4
"""A likelihood is at its top if a further step is under so many standard errors."""
_NOTHING = 1e-10
"""So little information a decision says nothing of a parameter."""
_UNDETERMINED = "the choices do not determine s and c"
_FLAT = 1e-8
"""Information, of the largest, that counts as none."""
_TOUCHES = 0.05
"""A blind direction moves s or c if its part along them is larger."""
_FLAT_SLOPE = 1e-6
"""Nats a decision and unit of the parameter."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a search ended."""

    moving: Floats
    """The parameters that may move."""
    cost: float
    """Sum of squared residuals, or minus the mean log-likelihood."""
    converged: bool
    """Whether the search came to rest at a place that makes sense."""
    evaluations: int
    """How often the model was evaluated on all decisions."""
    message: str
    """Why the search stopped."""


def least_squares(problem: Problem, system_of: Callable[[Problem], System]) -> Solution:
    """Minimise a sum of squared residuals."""

    from scipy import optimize

    def cost(theta: Floats, part: Problem) -> float:
        values, _ = system_of(part)(part.evaluate(theta))
        return float(values @ values)

    def follow(on: Problem, start: Floats) -> Solution:
        system = system_of(on)
        seen: dict[bytes, tuple[Floats, Floats]] = {}

        def both(theta: Floats) -> tuple[Floats, Floats]:
            key = theta.tobytes()
            if key not in seen:
                seen[key] = system(on.evaluate(theta))
            return seen[key]

        determined = len(start) <= len(both(start)[0])
        found = optimize.least_squares(
            lambda theta: both(theta)[0],
            start,
            jac=lambda theta: both(theta)[1],
            method="lm" if determined else "trf",
            xtol=1e-10,
            ftol=1e-12,
            gtol=1e-12,
            max_nfev=_MOST_EVALUATIONS,
        )
        settled, message = found.status > 0, str(found.message)
        slopes = both(found.x)[1]
        if not _determines(on, slopes.T @ slopes):
            settled, message = False, _UNDETERMINED
        return Solution(found.x, float(2 * found.cost), settled, len(seen), message)

    return _best_of(problem, cost, follow)


def greatest_likelihood(problem: Problem) -> Solution:
    """Maximise the likelihood: a trust region, with the expected information as curvature."""
    free = problem.free

    def cost(theta: Floats, part: Problem) -> float:
        return -float(part.weights @ part.evaluate(theta).ln_chosen) / float(part.weights.sum())

    def follow(on: Problem, start: Floats) -> Solution:
        weights = on.weights
        total = float(weights.sum())
        seen: dict[bytes, tuple[float, Floats, Floats]] = {}

        def terms(theta: Floats) -> tuple[float, Floats, Floats]:
            key = theta.tobytes()
            if key not in seen:
                with np.errstate(over="ignore", invalid="ignore"):
                    said = on.evaluate(theta, information=True)
                    curvature = np.einsum("t,tjk->jk", weights, said.information)
                    value = -float(weights @ said.ln_chosen) / total
                    slope = -(weights @ said.d_ln_chosen)[free] / total
                curvature = curvature[np.ix_(free, free)] / total
                if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
                    # Out of bounds: a wall, from which the search turns back.
                    value, slope, curvature = np.inf, np.zeros(len(theta)), np.eye(len(theta))
                seen[key] = value if np.isfinite(value) else np.inf, slope, curvature
            return seen[key]

        found = minimise(terms, start)
        distance = _standard_errors_away(*terms(found.x)[1:], total)
        message = str(found.message)
        if not _determines(on, terms(found.x)[2]):
            distance, message = np.inf, _UNDETERMINED
        return Solution(found.x, float(found.fun), distance < _REST, len(seen), message)

    return _best_of(problem, cost, follow)


def minimise(
    terms: Callable[[Floats], tuple[float, Floats, Floats]],
    start: Floats,
    *,
    gtol: float = 1e-7,
    most: int = _MOST_EVALUATIONS,
) -> OptimizeResult:
    """Minimise a mean loss with its slope and curvature.

    A little is added to the curvature, so that directions that say nothing do not make it
    singular; the place of the minimum does not depend on it.
    """

    from scipy import optimize

    def curvature(theta: Floats) -> Floats:
        matrix = terms(theta)[2]
        ridge: Floats = matrix + 1e-7 * np.diag(matrix).max() * np.eye(len(matrix))
        return ridge

    try:
        return optimize.minimize(
            lambda theta: terms(theta)[0],
            start,
            jac=lambda theta: terms(theta)[1],
            hess=curvature,
            method="trust-exact",
            options={"gtol": gtol, "maxiter": most, "initial_trust_radius": 0.5},
        )
    except (ValueError, np.linalg.LinAlgError):
        # Its factorisation broke down: go on without the curvature.
        return optimize.minimize(
            lambda theta: terms(theta)[0],
            start,
            jac=lambda theta: terms(theta)[1],
            method="BFGS",
            options={"gtol": gtol, "maxiter": most},
        )


def _determines(problem: Problem, information: Floats) -> bool:
    """Whether the choices tell s and c apart from each other and from everything else.

    Directions along which there is next to no information must not move s or c: one difference
    alone, say, cannot give both.
    """
    places = np.flatnonzero(problem.free)
    wanted = (places == S) | (places == C)
    size = np.diag(information)
    if not np.isfinite(information).all() or (size[wanted] <= _NOTHING).any():
        return False
    told = size > _NOTHING
    scale = np.sqrt(size[told])
    values, vectors = np.linalg.eigh(information[np.ix_(told, told)] / np.outer(scale, scale))
    blind = vectors[:, values < _FLAT]
    return bool((np.abs(blind[wanted[told]]) < _TOUCHES).all())


def _standard_errors_away(gradient: Floats, curvature: Floats, total: float) -> float:
    """How far away the top is, in standard errors: √(gᵀ I⁻¹ g).

    Directions of which the data say next to nothing (a weight that went to 0) are left out, if the
    likelihood is flat along them.
    """
    values, vectors = np.linalg.eigh(curvature)
    along = vectors.T @ gradient
    if not np.isfinite(along).all():
        return np.inf
    flat = (values <= _FLAT * values.max()) & (np.abs(along) < _FLAT_SLOPE)
    if (values[~flat] <= 0).any():
        return np.inf
    return float(np.sqrt((along[~flat] ** 2 / values[~flat]).sum() * total))


def _best_of(
    problem: Problem,
    cost: Callable[[Floats, Problem], float],
    follow_on: Callable[[Problem, Floats], Solution],
) -> Solution:
    found = []
    for start in _starts(problem, cost, follow_on):
        solution = follow_on(problem, start)
        if problem.escaped(problem.full(solution.moving)):
            solution = replace(solution, converged=False, message="a parameter ran away")
        found.append(solution)
    best = max(found, key=lambda each: (each.converged, -each.cost))
    return replace(best, evaluations=sum(each.evaluations for each in found))


def _starts(
    problem: Problem,
    cost: Callable[[Floats, Problem], float],
    follow_on: Callable[[Problem, Floats], Solution],
) -> list[Floats]:
    """Screen coarse starting points; return the best few.

    With many decisions this is done on part of them, spread evenly, and the best few are followed
    there first: what ends in the same place is one start.
    """
    if problem.known_start:
        return [problem.start[problem.free]]
    count = len(problem.prepared.spreads)
    part = problem
    if count > _SCREENED:
        part = part_of(problem, np.linspace(0, count - 1, _SCREENED).astype(np.int64))
        if not (part.weights > 0).any():
            part = problem
    starts = coarse_starts(problem)
    costs = np.array([cost(start, part) for start in starts])
    costs[~np.isfinite(costs)] = np.inf
    best = [starts[place] for place in np.argsort(costs, kind="stable")[:_FOLLOWED]]
    if part is problem:
        return best
    ends: list[Solution] = []
    for start in best:
        end = follow_on(part, start)
        near = [np.abs(end.moving - other.moving).max() < _SAME for other in ends]
        if end.converged and not any(near) and not part.escaped(part.full(end.moving)):
            ends.append(end)
    return [end.moving for end in ends] or best
