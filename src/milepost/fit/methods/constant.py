"""The constant C of the log scale, fitted by likelihood together with the agent.

Regan & Haworth 2011 level errors in chess by differences dx / (1 + |x|) and expect a similar law
of other trades. There the unit is another one, and so is C of dx / (C + |x|): what a difference
weighs halves where the decision is worth C. As C grows the law becomes that of raw differences, so
data without curvature bound C from below only.

For each C the agent is fitted anew (the profile likelihood). The interval is where the profile has
fallen by as much as the errors clustered by group ask for: by half the squared quantile of
Student's t, times the clustered variance of ln C over the one that the model itself expects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milepost.choice.evaluation.evaluate import prepare
from milepost.choice.model import S
from milepost.choice.scale import RAW
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.problem import Problem
from milepost.fit.search import Solution, greatest_likelihood
from milepost.fit.uncertainty.covariance import clustered, inverse, sandwich

LEVEL = 0.95
_REACH = np.log(300.0)
"""C is looked for between 1/300 and 300 times the typical value."""
_COARSE = 15
"""Constants tried before the best one is refined."""
_EXACT = 1e-5
"""ln C is found to this."""
_STEP = 1e-3
"""Of ln C and the working parameters, for differences."""


@dataclass(frozen=True, eq=False)
class ConstantFit:
    """The constant, with the problem and the solution that belong to it."""

    constant: float
    """C, in the unit of the values."""
    interval: tuple[float, float]
    """Its 95 % interval; an end that the choices do not bound is 0 or infinite."""
    raw_log_likelihood: float
    """Log-likelihood of the same agent with raw differences."""
    problem: Problem
    """The fit of the agent with this constant."""
    solution: Solution
    """Its solution."""
    covariance: Floats
    """Covariance of the parameters that move, C being fitted as well."""


def fit_constant(problem: Problem, *, kind: str = "sandwich") -> ConstantFit:
    """Fit C and the agent by likelihood.

    Parameters
    ----------
    problem
        The fit of the agent on the log scale, with any constant.
    kind
        Where errors come from: ``"sandwich"`` or ``"information"``; ``"none"`` for none.

    Raises
    ------
    InputError
        If all values are 0.
    """

    from scipy import optimize
    from scipy.special import stdtrit

    values = np.abs(problem.prepared.spreads.values)
    sizes = values[np.isfinite(values) & (values > 0)]
    if not len(sizes):
        raise InputError("all values are 0: no scale can be fitted to them")
    centre = float(np.log(np.median(sizes)))
    profile = _Profile(problem)
    coarse = np.linspace(centre - _REACH, centre + _REACH, _COARSE)
    heights = [profile(at) for at in coarse]
    best = int(np.argmax(heights))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, _COARSE - 1)]
    peak = optimize.minimize_scalar(
        lambda at: -profile(at), bounds=(low, high), method="bounded", options={"xatol": _EXACT}
    )
    top = float(peak.x) if -peak.fun >= heights[best] else float(coarse[best])
    solution = profile.solutions[top]
    there = _with_constant(problem, top)
    raw = _solution(_with_difference(problem, RAW))
    total = float(problem.weights.sum())
    if kind == "none":
        unknown = np.full((len(solution.moving), len(solution.moving)), np.nan)
        nothing = (np.nan, np.nan)
        return ConstantFit(float(np.exp(top)), nothing, -raw.cost * total, there, solution, unknown)
    covariance, inflation = _joint_covariance(there, solution.moving, top, kind)
    groups = len(np.unique(problem.prepared.spreads.groups[problem.weights > 0]))
    quantile = stdtrit(max(groups - len(solution.moving) - 1, 1), 0.5 + LEVEL / 2)
    ends = profile.ends(top, 0.5 * float(quantile) ** 2 * inflation, (coarse[0], coarse[-1]))
    return ConstantFit(float(np.exp(top)), ends, -raw.cost * total, there, solution, covariance)


class _Profile:
    """The greatest log-likelihood of the agent as a function of ln C."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._total = float(problem.weights.sum())
        self.solutions: dict[float, Solution] = {}

    def __call__(self, ln_constant: float) -> float:
        at = float(ln_constant)
        if at not in self.solutions:
            self.solutions[at] = self._solve(at)
        return -self.solutions[at].cost * self._total

    def _solve(self, at: float) -> Solution:
        problem = _with_constant(self._problem, at)
        if self.solutions:
            near = min(self.solutions, key=lambda other: abs(other - at))
            start = problem.full(self.solutions[near].moving)
            if problem.free[S]:
                # Close to zero a difference goes as 1/C, and s with it.
                start[S] -= at - near
            solution = _solution(replace(problem, start=start, known_start=True))
            if solution.converged:
                return solution
        return _solution(problem)

    def ends(self, top: float, fall: float, bounds: tuple[float, float]) -> tuple[float, float]:
        """Return where the profile has fallen so much, to either side of its top."""

        from scipy import optimize

        def excess(at: float) -> float:
            return self(top) - self(at) - fall

        ends = []
        for bound, unbounded in zip(bounds, (0.0, np.inf), strict=True):
            inner, step = top, 0.25 * np.sign(bound - top)
            end = unbounded
            while step and inner != bound:
                outer = top + step
                outer = bound if (outer - bound) * step > 0 else outer
                if excess(outer) > 0:
                    found = optimize.brentq(excess, inner, outer, xtol=1e-3)
                    end = float(np.exp(found))
                    break
                inner, step = outer, 2 * step
            ends.append(end)
        return ends[0], ends[1]


def _solution(problem: Problem) -> Solution:
    if problem.free.any():
        return greatest_likelihood(problem)
    ln_p = problem.evaluate(problem.start[problem.free]).ln_chosen
    cost = -float(problem.weights @ ln_p) / float(problem.weights.sum())
    return Solution(problem.start[problem.free], cost, True, 1, "nothing else to fit")


def _with_constant(problem: Problem, ln_constant: float) -> Problem:
    scale = replace(problem.model.scale, constant=float(np.exp(ln_constant)))
    model = replace(problem.model, scale=scale)
    return replace(problem, model=model, prepared=prepare(problem.prepared.spreads, model))


def _with_difference(problem: Problem, difference: str) -> Problem:
    model = replace(problem.model, scale=replace(problem.model.scale, difference=difference))
    return replace(problem, model=model, prepared=prepare(problem.prepared.spreads, model))


def _scores(problem: Problem, moving: Floats, ln_constant: float) -> Floats:
    """Derivatives of each decision's ln p by the parameters that move and, last, by ln C."""
    slopes = _with_constant(problem, ln_constant).evaluate(moving).d_ln_chosen[:, problem.free]
    above = _with_constant(problem, ln_constant + _STEP).evaluate(moving).ln_chosen
    below = _with_constant(problem, ln_constant - _STEP).evaluate(moving).ln_chosen
    answer: Floats = np.column_stack([slopes, (above - below) / (2 * _STEP)])
    return answer * problem.weights[:, None]


def _joint_covariance(
    problem: Problem, moving: Floats, ln_constant: float, kind: str
) -> tuple[Floats, float]:
    """Covariance of what moves beside C, and how much wider the clustered error of ln C is."""
    size = len(moving) + 1
    point = np.append(moving, ln_constant)
    rows = []
    for place in range(size):
        step = np.zeros(size)
        step[place] = _STEP
        high, low = point + step, point - step
        change = _scores(problem, low[:-1], low[-1]) - _scores(problem, high[:-1], high[-1])
        rows.append(change.sum(axis=0) / (2 * _STEP))
    curvature = np.stack(rows)
    expected = inverse(0.5 * (curvature + curvature.T))
    if kind == "information":
        return expected[:-1, :-1], 1.0
    scores = _scores(problem, moving, ln_constant)
    middle = clustered(scores, problem.prepared.spreads.groups, size)
    found = sandwich(expected, middle)
    ratio = found[-1, -1] / expected[-1, -1]
    return found[:-1, :-1], float(ratio) if np.isfinite(ratio) and ratio > 0 else 1.0
