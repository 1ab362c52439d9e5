"""Fit an agent to choices: the one function that the other layers call."""

from __future__ import annotations

import warnings

import numpy as np

from milepost.choice.depths import DepthScheme
from milepost.choice.evaluation.evaluate import Evaluated
from milepost.choice.model import FLAT, LAPSES, ChoiceModel
from milepost.choice.projections import project
from milepost.choice.scale import CAP, LOG, TIE_SHIFT, Scale
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError, MilepostWarning
from milepost.fit.methods.grid import grid_search
from milepost.fit.methods.moments import solve_moments
from milepost.fit.methods.percentile import GRID, solve_percentile
from milepost.fit.problem import Problem, make_problem
from milepost.fit.quality import percentile_score
from milepost.fit.result import FitResult
from milepost.fit.search import Solution, greatest_likelihood
from milepost.fit.uncertainty.bootstrap import bootstrap_parameters
from milepost.fit.uncertainty.covariance import (
    likelihood_covariance,
    moment_covariance,
    percentile_covariance,
)

METHODS = ("percentile", "likelihood", "moments", "grid")
COVARIANCES = ("sandwich", "information", "bootstrap", "none")
FIT = "fit"


class NotConvergedWarning(MilepostWarning):
    """A search did not come to rest; its result says why."""


def fit_agent(
    spreads: Spreads,
    *,
    curve: str = "invexp",
    ratio: str = "powers",
    method: str = "percentile",
    difference: str = LOG,
    tie_shift: float = TIE_SHIFT,
    cap: float | None = CAP,
    constant: float = 1.0,
    s: float | None = None,
    c: float | None = None,
    lapse: float | str = 0.0,
    lapse_kernel: str = FLAT,
    depths: DepthScheme | None = None,
    utilities: tuple[str, ...] = (),
    kappa: float | None = None,
    grid: Floats = GRID,
    covariance: str = "sandwich",
    rng: np.random.Generator | None = None,
    resamples: int = 200,
) -> FitResult:
    """Fit the parameters of an agent to choices.

    Parameters
    ----------
    spreads
        The decisions; their weights count, their groups make the intervals.
    curve, ratio, difference, tie_shift, cap, constant, depths, utilities
        The model; see `milepost.choice.ChoiceModel`.
    method
        ``"percentile"`` (Regan & Haworth 2011), ``"likelihood"``, ``"moments"``; ``"grid"`` is the
        paper's plain grid search for the percentile fit, slow, to check the other by.
    s, c
        Given, not fitted (the paper's s_fit has c given by its line).
    kappa
        κ of the ratio ``"blend"``, given; without it κ is fitted.
    lapse
        Share of lapses: 0 for none, another number as given, ``"fit"`` to fit it.
    lapse_kernel
        What lapses choose from: ``"flat"`` or ``"shares"``.
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
    if method not in METHODS:
        raise InputError(f"the method is one of {', '.join(METHODS)}, got {method!r}")
    model, fixed = model_of(
        curve=curve,
        ratio=ratio,
        difference=difference,
        tie_shift=tie_shift,
        cap=cap,
        constant=constant,
        s=s,
        c=c,
        lapse=lapse,
        lapse_kernel=lapse_kernel,
        depths=depths,
        utilities=utilities,
        kappa=kappa,
    )
    return fit_model(
        spreads,
        model,
        method=method,
        fixed=fixed,
        grid=grid,
        covariance=covariance,
        rng=rng,
        resamples=resamples,
    )


def model_of(
    *,
    curve: str = "invexp",
    ratio: str = "powers",
    difference: str = LOG,
    tie_shift: float = TIE_SHIFT,
    cap: float | None = CAP,
    constant: float = 1.0,
    s: float | None = None,
    c: float | None = None,
    lapse: float | str = 0.0,
    lapse_kernel: str = FLAT,
    depths: DepthScheme | None = None,
    utilities: tuple[str, ...] = (),
    kappa: float | None = None,
) -> tuple[ChoiceModel, dict[str, float]]:
    """Return the model that the settings of `fit_agent` mean, and the parameters they give."""
    if isinstance(lapse, str) and lapse != FIT:
        raise InputError(f"the lapse is a share or 'fit', got {lapse!r}")
    if lapse != FIT and not 0 <= float(lapse) < 1:
        raise InputError(f"the lapse is a share from 0 to under 1, or 'fit', got {lapse!r}")
    if lapse_kernel not in LAPSES[1:]:
        raise InputError(f"the lapse kernel is 'flat' or 'shares', got {lapse_kernel!r}")
    model = ChoiceModel(
        curve=curve,
        ratio=ratio,
        scale=Scale(difference, constant, cap, tie_shift),
        depths=depths,
        utilities=utilities,
        lapse=lapse_kernel if lapse == FIT or float(lapse) > 0 else None,
    )
    given = {"s": s, "c": c, "kappa": kappa}
    fixed = {name: value for name, value in given.items() if value is not None}
    if model.lapse is not None and lapse != FIT:
        fixed["lapse"] = float(lapse)
    return model, fixed


def fit_model(
    spreads: Spreads,
    model: ChoiceModel,
    *,
    method: str = "percentile",
    fixed: dict[str, float] | None = None,
    grid: Floats = GRID,
    covariance: str = "sandwich",
    rng: np.random.Generator | None = None,
    resamples: int = 200,
) -> FitResult:
    """Fit a given model; otherwise as `fit_agent`."""
    if covariance not in COVARIANCES:
        raise InputError(f"the covariance is one of {', '.join(COVARIANCES)}, got {covariance!r}")
    if covariance == "information" and method != "likelihood":
        raise InputError("the inverse information belongs to likelihood fits alone")
    grid = np.unique(grid)
    if not len(grid) or grid[0] <= 0 or grid[-1] >= 1:
        raise InputError("the points of the percentile grid lie between 0 and 1")
    problem = make_problem(spreads, model, fixed)
    solution = solve(problem, method, grid)
    theta = problem.full(solution.moving)
    said = problem.evaluate(solution.moving, probabilities=True, up_grid=grid)
    working = _covariance(problem, solution, said, method, grid, covariance, rng, resamples)
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
