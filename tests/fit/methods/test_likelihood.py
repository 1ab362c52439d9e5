"""Likelihood fits: against a plain one, information, profiles, the two-parameter posterior."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from tests.choice.makers import (
    plain_curve,
    plain_differences,
    plain_powers,
    plain_shares,
    played,
    realistic_spreads,
)

from milepost.choice import Agent, ChoiceModel, Spreads
from milepost.errors import InputError
from milepost.fit import AgentModel, fit_agent, fit_posterior, profile_interval
from milepost.fit.methods.posterior import AgentPosterior

AGENT = Agent(0.1, 0.5)


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return played(AGENT, realistic_spreads(201, 600), 202)


def plain_log_likelihood(spreads: Spreads, curve: str, ratio: str, s: float, c: float) -> float:
    """As a reader of the reference would write it: turn by turn, move by move."""
    total = 0.0
    for t in range(len(spreads)):
        values = [float(v) for v in spreads.values[spreads.offsets[t] : spreads.offsets[t + 1]]]
        y = [plain_curve(curve, delta, s, c) for delta in plain_differences(values)]
        p = plain_shares(y) if ratio == "shares" else plain_powers(y)
        total += math.log(max(p[spreads.chosen[t]], 1e-300))
    return total


@pytest.mark.parametrize(
    ("ratio", "curve", "turns"),
    [("shares", "invexp", 150), ("shares", "ipa", 150), ("powers", "invexp", 25)],
)
def test_the_fit_against_nelder_mead_on_a_plain_likelihood(
    ratio: str, curve: str, turns: int
) -> None:
    agent = Agent(0.15, 0.8, curve, ratio)
    spreads = played(agent, realistic_spreads(203, turns), 204)
    found = optimize.minimize(
        lambda x: -plain_log_likelihood(spreads, curve, ratio, math.exp(x[0]), math.exp(x[1])),
        [math.log(0.15), math.log(0.8)],
        method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-7},
    )
    fit = fit_agent(spreads, AgentModel(curve=curve, ratio=ratio), method="likelihood")
    np.testing.assert_allclose(fit.theta, found.x, atol=1e-3)
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(
        plain_log_likelihood(spreads, curve, ratio, fit.s, fit.c), abs=1e-8
    )


@pytest.mark.parametrize("ratio", ["shares", "powers", "product"])
def test_information_is_the_expected_curvature(spreads: Spreads, ratio: str) -> None:
    """Second differences of Σ p(θ̂) ln p(θ), which know nothing of our derivatives."""
    fit = fit_agent(spreads, AgentModel(ratio=ratio), method="likelihood", covariance="information")
    p = fit.agent.probabilities(spreads)
    # Beyond this ln p is of a size at which differences say nothing, and its weight is nothing.
    known = p > 1e-40

    def expected(theta: np.ndarray) -> float:
        other = Agent.from_parameters(fit.model, theta).probabilities(spreads)
        return float(p[known] @ np.log(other[known]))

    step = 1e-3
    moves = step * np.eye(2)
    hessian = np.empty((2, 2))
    for j in range(2):
        for k in range(2):
            hessian[j, k] = (
                expected(fit.theta + moves[j] + moves[k])
                - expected(fit.theta + moves[j] - moves[k])
                - expected(fit.theta - moves[j] + moves[k])
                + expected(fit.theta - moves[j] - moves[k])
            ) / (4 * step**2)
    np.testing.assert_allclose(fit.working_covariance, np.linalg.inv(-hessian), rtol=1e-3)
    # Carried over to s and c by the delta method.
    scale = np.diag([fit.s, fit.c])
    np.testing.assert_allclose(fit.covariance, scale @ fit.working_covariance @ scale, rtol=1e-12)


def test_the_score_is_zero_at_the_top(spreads: Spreads) -> None:
    fit = fit_agent(spreads, method="likelihood")
    score = fit.agent.evaluate(spreads).d_ln_chosen.sum(axis=0)
    # In standard errors: √(gᵀ V g)
    assert math.sqrt(score @ fit.working_covariance @ score) < 1e-3


def test_the_sandwich_from_its_definition(spreads: Spreads) -> None:
    """A⁻¹ B A⁻¹, A by second differences of the log-likelihood, B over games, G / (G - 1)."""
    fit = fit_agent(spreads, method="likelihood")

    def ln_likelihood(theta: np.ndarray) -> float:
        said = Agent.from_parameters(fit.model, theta).evaluate(spreads)
        return float(said.ln_chosen.sum())

    step = 1e-3
    moves = step * np.eye(2)
    hessian = np.empty((2, 2))
    for j in range(2):
        for k in range(2):
            hessian[j, k] = (
                ln_likelihood(fit.theta + moves[j] + moves[k])
                - ln_likelihood(fit.theta + moves[j] - moves[k])
                - ln_likelihood(fit.theta - moves[j] + moves[k])
                + ln_likelihood(fit.theta - moves[j] - moves[k])
            ) / (4 * step**2)
    scores = fit.agent.evaluate(spreads).d_ln_chosen
    games = np.unique(spreads.groups)
    sums = np.stack([scores[spreads.groups == g].sum(axis=0) for g in games])
    middle = sums.T @ sums * len(games) / (len(games) - 1)
    bread = np.linalg.inv(hessian)
    np.testing.assert_allclose(fit.working_covariance, bread @ middle @ bread, rtol=1e-3)
    # And the interval: Student's t on the working scale, carried over.
    reach = stats.t.ppf(0.975, len(games) - 2) * np.sqrt(fit.working_covariance[1, 1])
    low, high = fit.interval()["c"]
    assert low == pytest.approx(fit.c * math.exp(-reach))
    assert high == pytest.approx(fit.c * math.exp(reach))


@pytest.mark.parametrize("name", ["s", "c"])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_profile_ends_have_the_stated_fall(spreads: Spreads, name: str, level: float) -> None:
    part = spreads.take(np.arange(200))
    fit = fit_agent(part, method="likelihood")
    low, high = profile_interval(part, fit, name, level)
    assert low < getattr(fit, name) < high
    for end in (low, high):
        held = {name: end}
        there = fit_agent(part, AgentModel(s=held.get("s"), c=held.get("c")), method="likelihood")
        fall = 2 * (fit.log_likelihood - there.log_likelihood)
        assert fall == pytest.approx(stats.chi2.ppf(level, 1), abs=1e-3)


def test_the_profile_of_one_parameter_is_near_its_interval(spreads: Spreads) -> None:
    fit = fit_agent(spreads, AgentModel(c=0.5), method="likelihood", covariance="information")
    np.testing.assert_allclose(profile_interval(spreads, fit, "s"), fit.interval()["s"], rtol=0.02)


def test_profiles_that_make_no_sense_are_refused(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="likelihood fit"):
        profile_interval(spreads, fit_agent(spreads, AgentModel(c=0.5)), "s")
    fit = fit_agent(spreads, AgentModel(c=0.5), method="likelihood")
    with pytest.raises(InputError, match="given, not fitted"):
        profile_interval(spreads, fit, "c")
    with pytest.raises(InputError, match="no parameter 'lapse'"):
        profile_interval(spreads, fit, "lapse")


def test_the_posterior_is_near_the_likelihood_fit(spreads: Spreads) -> None:
    posterior = fit_posterior(spreads)
    fit = fit_agent(spreads, method="likelihood", covariance="information")
    errors = np.sqrt(np.diag(fit.covariance))
    mean, sd = posterior.mean(), posterior.sd()
    for place, name in enumerate(("s", "c")):
        assert abs(mean[name] - getattr(fit, name)) < 0.3 * errors[place]
        assert sd[name] == pytest.approx(errors[place], rel=0.12)
        low, high = posterior.region()[name]
        np.testing.assert_allclose((low, high), fit.interval()[name], atol=0.35 * errors[place])
    assert posterior.edge_mass < 1e-4
    assert posterior.probability.sum() == pytest.approx(1.0)
    assert posterior.n == 600
    assert posterior.to_frame().height == posterior.probability.size


def test_the_posterior_by_hand(spreads: Spreads) -> None:
    """Exp of the log-likelihoods at the points, with the prior, over their sum."""
    part = spreads.take(np.arange(40))

    def log_prior(ln_s: np.ndarray, ln_c: np.ndarray) -> np.ndarray:
        return -0.5 * ((ln_s + 2.3) / 0.3) ** 2 - 0.5 * ((ln_c + 0.7) / 0.2) ** 2

    posterior = fit_posterior(
        part, points=7, s_range=(0.02, 0.5), c_range=(0.2, 1.2), log_prior=log_prior
    )
    mass = np.empty((7, 7))
    for i, ln_s in enumerate(posterior.ln_s):
        for j, ln_c in enumerate(posterior.ln_c):
            said = Agent(math.exp(ln_s), math.exp(ln_c)).evaluate(part)
            mass[i, j] = said.ln_chosen.sum() + log_prior(ln_s, ln_c)
    mass = np.exp(mass - mass.max())
    np.testing.assert_allclose(posterior.probability, mass / mass.sum(), atol=1e-12)


def test_a_strong_prior_wins(spreads: Spreads) -> None:
    def log_prior(ln_s: np.ndarray, ln_c: np.ndarray) -> np.ndarray:
        return -0.5 * ((ln_s - math.log(0.2)) ** 2 + (ln_c - math.log(0.9)) ** 2) / 0.01**2

    posterior = fit_posterior(
        spreads, points=41, s_range=(0.17, 0.23), c_range=(0.8, 1.0), log_prior=log_prior
    )
    assert posterior.mean()["s"] == pytest.approx(0.2, rel=0.02)
    assert posterior.mean()["c"] == pytest.approx(0.9, rel=0.02)


def test_sequential_updating_is_batch(spreads: Spreads) -> None:
    where: dict[str, Any] = {"s_range": (0.03, 0.4), "c_range": (0.25, 1.0)}
    batch = fit_posterior(spreads, points=15, **where)
    step: AgentPosterior = fit_posterior(spreads.take(np.arange(100)), points=15, **where)
    for start in range(100, 600, 125):
        step = step.update(spreads.take(np.arange(start, start + 125)))
    assert step.n == batch.n == 600
    np.testing.assert_allclose(step.probability, batch.probability, atol=1e-11)
    assert step.mean()["s"] == pytest.approx(batch.mean()["s"], rel=1e-10)


def test_a_posterior_with_a_given_lapse(spreads: Spreads) -> None:
    model = ChoiceModel(lapse="flat")
    posterior = fit_posterior(spreads.take(np.arange(100)), model, fixed={"lapse": 0.1}, points=9)
    assert model.natural(posterior.theta)["lapse"] == pytest.approx(0.1)


def test_posteriors_that_make_no_sense_are_refused(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="five grid points"):
        fit_posterior(spreads, points=4)
    with pytest.raises(InputError, match="range of s"):
        fit_posterior(spreads, s_range=(0.5, 0.1), c_range=(0.1, 1.0))
