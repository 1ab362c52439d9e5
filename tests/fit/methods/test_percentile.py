"""Percentile fits: the worked value, the exact expectation, the Jacobian, the grid search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.choice.makers import RATIOS, played, realistic_spreads

from milepost.choice import Agent, ChoiceModel, DepthScheme, Spreads
from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.errors import InputError
from milepost.fit import AgentModel, fit_agent, fit_model
from milepost.fit.agent import solve
from milepost.fit.methods.grid import grid_search
from milepost.fit.methods.percentile import GRID, percentile_residuals, up_shares
from milepost.fit.problem import make_problem

AGENT = Agent(0.1, 0.5)


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return played(AGENT, realistic_spreads(101, 300), 102)


def test_the_worked_value() -> None:
    """p_0 = 0.9 played, q = 0.30 counts one third up (`ipr_math`, section 5).

    Two options, shares, invexp with s = c = 1: y = exp(-δ) = 1/9 at δ = ln 9, so p_0 = 0.9.
    """
    spreads = Spreads.from_lists([[math.log(9.0), 0.0]] * 2, [0, 1])
    said = Agent(1.0, 1.0, ratio="shares", difference="raw").evaluate(spreads)
    up = np.empty((2, 3))
    up_shares(said.before, said.ln_chosen, np.array([0.30, 0.90, 0.95]), up)
    np.testing.assert_allclose(up, [[1 / 3, 1.0, 1.0], [0.0, 0.0, 0.5]], atol=1e-12)
    # As a residual: both decisions count the same.
    residual, _ = percentile_residuals(said, np.ones(2), np.array([0.30]))
    assert residual[0] == pytest.approx((1 / 3 + 0) / 2 - 0.30)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_expected_up_share_is_q_for_every_decision(ratio: str) -> None:
    spreads = realistic_spreads(103, 40)
    model = ChoiceModel("ipa", ratio, lapse="flat")
    theta = model.start({"s": 0.2, "c": 0.8})
    p = np.exp(ln_probabilities(model, prepare(spreads, model), theta))
    mean = np.zeros((len(spreads), len(GRID)))
    for i in range(int(spreads.counts.max())):
        has = spreads.counts > i
        part = spreads.take(has).choosing(np.full(int(has.sum()), i))
        said = evaluate(model, prepare(part, model), theta)
        up = np.empty((len(part), len(GRID)))
        up_shares(said.before, said.ln_chosen, GRID, up)
        mean[has] += p[spreads.offsets[:-1][has] + i][:, None] * up
    np.testing.assert_allclose(mean, np.broadcast_to(GRID, mean.shape), atol=1e-13)


@pytest.mark.parametrize("ratio", ["shares", "powers", "product"])
@pytest.mark.parametrize("curve", ["invexp", "ipa"])
def test_identical_spreads_make_least_squares_the_likelihood_fit(ratio: str, curve: str) -> None:
    """Three options, two parameters: both fits make the model's shares the actual ones.

    So their covariances agree too: both carry that of the shares over.
    """
    counts = (55, 30, 15)
    chosen = np.repeat(np.arange(3), counts)
    spreads = Spreads.from_lists([[0.5, 0.3, -0.4]] * 100, [int(k) for k in chosen])
    one = fit_agent(spreads, AgentModel(curve=curve, ratio=ratio))
    other = fit_agent(spreads, AgentModel(curve=curve, ratio=ratio), method="likelihood")
    for fit in (one, other):
        p = fit.agent.probabilities(spreads)[:3]
        np.testing.assert_allclose(p, [0.55, 0.30, 0.15], atol=1e-6)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-5)
    np.testing.assert_allclose(one.working_covariance, other.working_covariance, rtol=1e-3)


def test_identical_spreads_with_one_parameter() -> None:
    """c given, two options: s by hand. Shares, raw, c = 1: p_1/p_0 = exp(-δ/s) = 20/80."""
    spreads = Spreads.from_lists([[0.4, 0.0]] * 100, [0] * 80 + [1] * 20)
    for method in ("percentile", "likelihood", "moments"):
        fit = fit_agent(spreads, AgentModel(ratio="shares", difference="raw", c=1.0), method=method)
        assert fit.s == pytest.approx(0.4 / math.log(4), rel=1e-6)
        # Var of the logit is 1/80 + 1/20, ln s = ln δ - ln logit; G/(G-1) for the groups.
        sd = math.sqrt((1 / 80 + 1 / 20) * 100 / 99) / math.log(4)
        assert fit.standard_errors["ln s"] == pytest.approx(sd, rel=1e-4)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("combine", [None, "geometric", "mixture"])
def test_residual_derivatives_against_differences(ratio: str, combine: str | None) -> None:
    spreads = played(AGENT, realistic_spreads(104, 80, depths=True), 105)
    scheme = None if combine is None else DepthScheme.free([1, 3], combine)
    model = ChoiceModel("sechb", ratio, depths=scheme, lapse="shares")
    theta = model.start()
    weights = np.linspace(1, 2, 80)
    prepared = prepare(spreads, model)
    _, slopes = percentile_residuals(evaluate(model, prepared, theta), weights)
    step = 1e-6
    for place in range(len(theta)):
        move = np.zeros(len(theta))
        move[place] = step
        high, low = (
            percentile_residuals(evaluate(model, prepared, theta + sign * move), weights)[0]
            for sign in (1, -1)
        )
        np.testing.assert_allclose(slopes[:, place], (high - low) / (2 * step), atol=2e-8)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_expected_slope_against_differences(ratio: str) -> None:
    """d/dθ of the up shares, averaged over choices drawn at θ₀: J of the covariance."""
    spreads = realistic_spreads(108, 30).weighted(np.linspace(1, 2, 30))
    model = ChoiceModel("ipa", ratio, lapse="flat")
    theta = model.start({"s": 0.2, "c": 0.8})
    prepared = prepare(spreads, model)
    p = np.exp(ln_probabilities(model, prepared, theta))

    def expected(at: np.ndarray) -> np.ndarray:
        mean = np.zeros(len(GRID))
        for i in range(int(spreads.counts.max())):
            has = spreads.counts > i
            part = spreads.take(has).choosing(np.full(int(has.sum()), i))
            said = evaluate(model, prepare(part, model), at)
            up = np.empty((len(part), len(GRID)))
            up_shares(said.before, said.ln_chosen, GRID, up)
            mean += (part.weights * p[spreads.offsets[:-1][has] + i]) @ up
        return mean

    ours = evaluate(model, prepared, theta, up_grid=GRID).up_slopes
    for place in range(len(theta)):
        move = np.zeros(len(theta))
        move[place] = 1e-6
        numeric = (expected(theta + move) - expected(theta - move)) / 2e-6
        np.testing.assert_allclose(ours[:, place], numeric, atol=1e-6)


@pytest.mark.parametrize("fixed", [{}, {"c": 0.5}, {"s": 0.1}])
def test_the_search_against_the_grid_search(spreads: Spreads, fixed: dict[str, float]) -> None:
    problem = make_problem(spreads, ChoiceModel(), fixed)
    found = solve(problem, "percentile")
    grid = grid_search(problem, points=11, rounds=6)
    assert found.converged
    # The sum of squares has a kink wherever q meets an interval's end: a search may rest on one.
    assert found.cost <= grid.cost * (1 + 1e-3)
    assert grid.cost == pytest.approx(found.cost, rel=1e-2)
    # The valley of s and c is flat along one direction: there the grid is as fine as its cost.
    np.testing.assert_allclose(grid.moving, found.moving, atol=0.03)


def test_the_fit_is_a_minimum(spreads: Spreads) -> None:
    """Σ (R_q - q)² rises in every direction from the fitted place."""
    problem = make_problem(spreads, ChoiceModel())
    found = solve(problem, "percentile")
    for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False):
        away = found.moving + 0.01 * np.array([np.cos(angle), np.sin(angle)])
        values, _ = percentile_residuals(problem.evaluate(away), problem.weights)
        assert values @ values > found.cost


@pytest.mark.parametrize("method", ["percentile", "likelihood", "moments"])
def test_weights_are_repetitions(spreads: Spreads, method: str) -> None:
    """A weight of 2 is the same decision twice, in the same game."""
    twice = np.arange(0, 300, 3)
    weights = np.ones(300)
    weights[twice] = 2.0
    one = fit_agent(spreads.weighted(weights), method=method)
    other = fit_agent(spreads.take(np.concatenate([np.arange(300), twice])), method=method)
    np.testing.assert_allclose(one.theta, other.theta, atol=2e-5)
    np.testing.assert_allclose(one.working_covariance, other.working_covariance, rtol=2e-3)
    assert one.mm_projected == pytest.approx(other.mm_projected, abs=1e-5)
    assert one.ad_actual == pytest.approx(other.ad_actual, abs=1e-12)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)


@pytest.mark.parametrize("method", ["percentile", "likelihood", "moments"])
def test_the_unit_of_weights_does_not_matter(spreads: Spreads, method: str) -> None:
    one = fit_agent(spreads, method=method)
    other = fit_agent(spreads.weighted(np.full(300, 7.0)), method=method)
    np.testing.assert_allclose(one.theta, other.theta, atol=2e-5)
    np.testing.assert_allclose(one.working_covariance, other.working_covariance, rtol=2e-3)


@pytest.mark.parametrize("method", ["percentile", "likelihood", "moments"])
def test_decisions_without_weight_do_not_count(spreads: Spreads, method: str) -> None:
    weights = np.ones(300)
    weights[200:] = 0.0
    one = fit_agent(spreads.weighted(weights), method=method)
    other = fit_agent(spreads.take(np.arange(200)), method=method)
    np.testing.assert_allclose(one.theta, other.theta, atol=2e-5)


def test_the_score_at_the_fit(spreads: Spreads) -> None:
    """R_q, its sd under the model and the RMS, each from its definition."""
    fit = fit_agent(spreads)
    score = fit.percentiles
    said = fit.agent.evaluate(spreads)
    p, before = np.exp(said.ln_chosen), said.before
    up = np.clip((GRID - before[:, None]) / p[:, None], 0, 1)
    np.testing.assert_allclose(score.up, up.mean(axis=0), atol=1e-12)
    assert score.rms == pytest.approx(math.sqrt(((score.up - GRID) ** 2).mean()))
    all_p = fit.agent.probabilities(spreads)
    covariance = np.zeros((len(GRID), len(GRID)))
    for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
        part = all_p[start:stop]
        part = part[part > 0]
        low = np.concatenate([[0.0], np.cumsum(part)[:-1]])
        each = np.clip((GRID - low[:, None]) / part[:, None], 0, 1)
        covariance += (part[:, None] * each).T @ each - np.outer(GRID, GRID)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(score.sd, sd / 300, rtol=1e-9)
    # Points under the smallest p_0 are multiples of each other: they count once.
    rank = np.linalg.matrix_rank(covariance / np.outer(sd, sd), tol=1e-9)
    assert rank < len(GRID)
    assert score.degrees == rank - 2
    assert 0.0 <= score.p_value <= 1.0
    assert score.to_frame().columns == ["q", "up", "sd"]


def test_too_short_a_grid_is_refused(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="1 points of the percentile grid are too few"):
        fit_agent(spreads, grid=np.array([0.5]))
    two = fit_agent(spreads, grid=np.array([0.3, 0.7]))
    np.testing.assert_allclose(two.percentiles.up, [0.3, 0.7], atol=1e-6)


def test_depth_weights_in_a_percentile_fit() -> None:
    """Three parameters, depths among them, found again within four standard errors."""
    scheme = DepthScheme.free([1, 3], "geometric")
    agent = Agent(0.1, 0.6, depths=scheme, depth_numbers=(-0.5,))
    spreads = played(agent, realistic_spreads(106, 900, depths=True), 107)
    for method in ("percentile", "likelihood"):
        fit = fit_model(spreads, ChoiceModel(depths=scheme), method=method)
        assert fit.converged
        errors = np.array(list(fit.standard_errors.values()))
        assert (np.abs(fit.theta - agent.parameters) < 4 * errors).all()
        weights = [fit.parameters["w1"], fit.parameters["w3"]]
        assert sum(weights) == pytest.approx(1.0)


def test_the_order_of_the_grid_does_not_matter(spreads: Spreads) -> None:
    one = fit_agent(spreads)
    other = fit_agent(spreads, grid=GRID[::-1].copy())
    np.testing.assert_allclose(other.theta, one.theta, atol=1e-5)
    np.testing.assert_allclose(other.working_covariance, one.working_covariance, rtol=1e-3)
