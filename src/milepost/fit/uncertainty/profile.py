"""Profile likelihood: an interval that needs no normality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fit.problem import Problem, make_problem
from milepost.fit.result import FitResult, check_level, natural_value

_FURTHEST = 12.0
"""The search for an end goes so many standard errors away."""


def profile_interval(
    spreads: Spreads, result: FitResult, name: str, level: float = 0.95
) -> tuple[float, float]:
    """Return the values of a parameter at which twice the log-likelihood falls by the quantile.

    The other fitted parameters are fitted again at each value. The model is taken as true: there is
    no clustering in it.

    Parameters
    ----------
    spreads
        The decisions of the fit.
    result
        A likelihood fit.
    name
        ``"s"``, ``"c"``, ``"lapse"``, or a name of `ChoiceModel.parameters`.
    level
        Its level.

    Raises
    ------
    InputError
        If the fit was not by likelihood, or the parameter was not fitted.
    """

    from scipy import optimize
    from scipy.special import chdtri

    check_level(level)
    if result.method != "likelihood":
        raise InputError("a profile likelihood belongs to a likelihood fit")
    place = result.model.place(name)
    if not result.free[place]:
        raise InputError(f"{name} was given, not fitted")
    problem = make_problem(spreads, result.model)
    problem = replace(problem, start=result.theta.copy(), free=result.free.copy())
    top = result.log_likelihood
    fall = float(chdtri(1, 1 - level)) / 2
    error = result.standard_errors[result.model.parameters[place]]
    if not np.isfinite(error):
        raise InputError(f"the data do not say enough of {name} for an interval")
    centre = float(result.theta[place])

    def excess(value: float) -> float:
        return top - _best_with(problem, place, value) - fall

    ends = []
    for direction in (-1, 1):
        reach = 2.0
        while excess(centre + direction * reach * error) < 0:
            reach *= 1.5
            if reach > _FURTHEST:
                break
        outer = centre + direction * reach * error
        if reach > _FURTHEST:
            ends.append(-np.inf if direction < 0 else np.inf)
        else:
            ends.append(float(optimize.brentq(excess, centre, outer, xtol=1e-6)))
    working = result.model.parameters[place]
    return natural_value(working, ends[0]), natural_value(working, ends[1])


def _best_with(problem: Problem, place: int, value: float) -> float:
    """Return the greatest log-likelihood with one parameter held."""

    from scipy import optimize

    start = problem.start.copy()
    start[place] = value
    free = problem.free.copy()
    free[place] = False
    held = replace(problem, start=start, free=free)
    weights = held.weights
    if not free.any():
        return float(weights @ held.evaluate(start[free]).ln_chosen)
    total = weights.sum()

    def loss(moving: Floats) -> tuple[float, Floats]:
        said = held.evaluate(moving)
        return -float(weights @ said.ln_chosen) / total, -(weights @ said.d_ln_chosen)[free] / total

    found = optimize.minimize(loss, start[free], jac=True, method="BFGS", options={"gtol": 1e-7})
    return -float(found.fun) * float(total)
