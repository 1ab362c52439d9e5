"""Fit an agent to choices: the one function that the other layers call."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import project
from milepost.choice.scale import LOG, clipped_options
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError, MilepostWarning
from milepost.fit.agent_model import AgentModel
from milepost.fit.methods.constant import ConstantFit, fit_constant
from milepost.fit.methods.grid import grid_search
from milepost.fit.methods.moments import solve_moments
from milepost.fit.methods.percentile import GRID, solve_percentile
from milepost.fit.problem import Problem, make_problem
from milepost.fit.quality import percentile_score
from milepost.fit.result import FitResult
from milepost.fit.search import Solution, greatest_likelihood
from milepost.fit.uncertainty.bootstrap import Bootstrap, bootstrap_parameters
from milepost.fit.uncertainty.covariance import (
    likelihood_covariance,
    moment_covariance,
    percentile_covariance,
)

PERCENTILE, LIKELIHOOD = "percentile", "likelihood"
METHODS = (PERCENTILE, LIKELIHOOD, "moments", "grid")
COVARIANCES = ("sandwich", "information", "bootstrap", "none")


class NotConvergedWarning(MilepostWarning):
    """A search did not come to rest; its result says why."""


def fit_agent(
    spreads: Spreads,
    model: AgentModel | None = None,
    *,
    method: str | None = None,
    grid: Floats = GRID,
    covariance: str = "sandwich",
    rng: np.random.Generator | None = None,
    resamples: int = Bootstrap.resamples,
) -> FitResult:
    """Fit the parameters of an agent to choices.

    Parameters
    ----------
    spreads
        The decisions; their weights count, their groups make the intervals, and their unit decides
        on the scale, unless the model does.
    model
        What to fit [default: the agent of the 2011 paper].
    method
        ``"percentile"`` (Regan & Haworth 2011), ``"likelihood"``, ``"moments"``; ``"grid"`` is the
        paper's plain grid search for the percentile fit, slow, to check the other by. None =
        percentile, or likelihood where the constant of the scale is fitted.
    grid
        Points of the percentile fit and of the percentile score.
    covariance
        ``"sandwich"`` (default): the one that belongs to the method, clustered by group;
        ``"information"``: inverse expected information, likelihood only, holds if the model does;
        ``"bootstrap"``: refits with whole groups drawn again; ``"none"``: no uncertainty (NaN),
        for searches that need the parameters alone.
    rng, resamples
        For the bootstrap.

    Returns
    -------
    FitResult
        With `converged` false, and a `NotConvergedWarning`, if the search did not come to rest.

    Raises
    ------
    InputError
        If an option does not exist or there are too few decisions.
    """
    wanted = model or AgentModel()
    method = method or default_method(wanted)
    check_method(wanted, method, covariance)
    return fit_model(
        spreads,
        wanted.choice_model(in_pawns=spreads.in_pawns),
        method=method,
        fixed=wanted.fixed,
        grid=grid,
        covariance=covariance,
        rng=rng,
        resamples=resamples,
        fits_constant=wanted.fits_constant,
    )


def default_method(model: AgentModel) -> str:
    """Return the method that a model is fitted by unless another is named."""
    return LIKELIHOOD if model.fits_constant else PERCENTILE


def check_method(model: AgentModel, method: str, covariance: str) -> None:
    """Refuse a method or a covariance that does not exist, or does not go with the rest.

    Raises
    ------
    InputError
        Saying what there is.
    """
    _check_names(method, covariance)
    if model.fits_constant and (method != LIKELIHOOD or covariance == "bootstrap"):
        raise InputError(
            "the constant of the log scale is fitted by likelihood, without the bootstrap; got "
            f"{method}, {covariance}"
        )


def _check_names(method: str, covariance: str) -> None:
    if method not in METHODS:
        raise InputError(f"the method is one of {', '.join(METHODS)}, got {method!r}")
    if covariance not in COVARIANCES:
        raise InputError(f"the covariance is one of {', '.join(COVARIANCES)}, got {covariance!r}")
    if covariance == "information" and method != LIKELIHOOD:
        raise InputError("the inverse information belongs to likelihood fits alone")


def fit_model(
    spreads: Spreads,
    model: ChoiceModel,
    *,
    method: str = PERCENTILE,
    fixed: Mapping[str, float] | None = None,
    grid: Floats = GRID,
    covariance: str = "sandwich",
    rng: np.random.Generator | None = None,
    resamples: int = Bootstrap.resamples,
    fits_constant: bool = False,
) -> FitResult:
    """Fit a given choice model, parameters in `fixed` being given; otherwise as `fit_agent`.

    With `fits_constant` the constant of its log scale is fitted as well, by likelihood.
    """
    _check_names(method, covariance)
    grid = np.unique(grid)
    if not len(grid) or grid[0] <= 0 or grid[-1] >= 1:
        raise InputError("the points of the percentile grid lie between 0 and 1")
    problem = make_problem(spreads, model, fixed)
    constant: ConstantFit | None = None
    if fits_constant:
        if model.scale.difference != LOG:
            raise InputError(f"the difference {model.scale.difference!r} has no constant to fit")
        constant = fit_constant(problem, kind=covariance)
        problem, solution, model = constant.problem, constant.solution, constant.problem.model
    else:
        solution = solve(problem, method, grid)
    theta = problem.full(solution.moving)
    said = problem.evaluate(solution.moving, probabilities=True, up_grid=grid)
    working = (
        constant.covariance
        if constant is not None
        else _covariance(problem, solution, said, method, grid, covariance, rng, resamples)
    )
    if not solution.converged:
        warnings.warn(
            f"{model.name}, {method} fit of {len(spreads)} decisions did not converge: "
            f"{solution.message}",
            NotConvergedWarning,
            stacklevel=2,
        )
    return FitResult(
        model=model,
        method=method,
        theta=theta,
        free=problem.free,
        working_covariance=working,
        covariance_kind=covariance,
        n=int((spreads.weights > 0).sum()),
        n_groups=len(np.unique(spreads.groups[spreads.weights > 0])),
        excluded=spreads.excluded,
        projection=project(model, problem.prepared, theta, said),
        percentiles=percentile_score(problem, theta, grid, said),
        converged=solution.converged,
        evaluations=solution.evaluations,
        message=solution.message,
        options=int((spreads.values > -np.inf).sum()),
        clipped=clipped_options(spreads, model.scale),
        constant_interval=None if constant is None else constant.interval,
        raw_log_likelihood=None if constant is None else constant.raw_log_likelihood,
    )


def solve(problem: Problem, method: str, grid: Floats = GRID) -> Solution:
    """Run the search of a method."""
    if not problem.free.any():
        return Solution(problem.start[problem.free], np.nan, True, 0, "nothing to fit")
    if method == "percentile":
        return solve_percentile(problem, grid)
    if method == "likelihood":
        return greatest_likelihood(problem)
    if method == "grid":
        return grid_search(problem, grid=grid)
    return solve_moments(problem)


def _covariance(
    problem: Problem,
    solution: Solution,
    said: Evaluated,
    method: str,
    grid: Floats,
    kind: str,
    rng: np.random.Generator | None,
    resamples: int,
) -> Floats:
    moving = solution.moving
    if not len(moving):
        return np.zeros((0, 0))
    if kind == "none":
        return np.full((len(moving), len(moving)), np.nan)
    if kind == "bootstrap":
        if rng is None:
            raise InputError("the bootstrap needs a random generator: rng=numpy.random.default_rng")
        draws = bootstrap_parameters(
            problem, moving, lambda part: solve(part, method, grid), rng, resamples
        )
        answer: Floats = np.atleast_2d(np.cov(draws, rowvar=False))
        return answer
    if method == "likelihood":
        return likelihood_covariance(problem, moving, kind=kind)
    if method in {"percentile", "grid"}:
        return percentile_covariance(problem, said, grid)
    return moment_covariance(problem, said)
