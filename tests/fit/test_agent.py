"""What all fits share: moments, given parameters, lapses, too little data, bootstrap, results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.choice.makers import played, realistic_spreads

from milepost.choice import Agent, Spreads
from milepost.errors import InputError
from milepost.fit import AgentModel, FitResult, NotConvergedWarning, fit_agent

AGENT = Agent(0.1, 0.5)
METHODS = ("percentile", "likelihood", "moments")


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return played(AGENT, realistic_spreads(301, 500), 302)


@pytest.mark.parametrize("ratio", ["shares", "powers", "product"])
@pytest.mark.parametrize("curve", ["invexp", "secha"])
def test_moment_fits_meet_both_moments(spreads: Spreads, ratio: str, curve: str) -> None:
    fit = fit_agent(spreads, AgentModel(curve=curve, ratio=ratio), method="moments")
    assert fit.converged
    assert fit.mm_projected == pytest.approx(fit.mm_actual, abs=1e-6)
    assert fit.ad_projected == pytest.approx(fit.ad_actual, abs=1e-6)
    assert fit.mm_actual == pytest.approx((spreads.chosen == 0).mean())


def test_moments_with_c_given_are_least_squares(spreads: Spreads) -> None:
    """One parameter, two moments: the sum of squares, each in its own unit, is least."""
    fit = fit_agent(spreads, AgentModel(c=0.8), method="moments")
    assert fit.c == pytest.approx(0.8)
    hit = (spreads.chosen == 0).astype(float)
    chosen_delta = np.array(
        [Agent(1.0, 1.0).project(spreads.take([t])).ad_actual for t in range(len(spreads))]
    )

    def cost(s: float) -> float:
        said = Agent(s, 0.8).project(spreads)
        errors = (said.mm_projected - said.mm_actual, said.ad_projected - said.ad_actual)
        units = (hit.std(), chosen_delta.std())
        return float(sum((e / u) ** 2 for e, u in zip(errors, units, strict=True)))

    assert cost(fit.s) <= min(cost(fit.s * 1.002), cost(fit.s / 1.002))


@pytest.mark.parametrize("method", METHODS)
def test_given_parameters_stay(spreads: Spreads, method: str) -> None:
    fit = fit_agent(spreads, AgentModel(c=0.55), method=method)
    assert fit.c == pytest.approx(0.55, rel=1e-14)
    assert fit.fitted == ("ln s",)
    assert fit.covariance[1, 1] == fit.covariance[0, 1] == 0.0
    assert fit.covariance[0, 0] > 0
    assert set(fit.interval()) == {"s"}
    other = fit_agent(spreads, AgentModel(s=0.1), method=method)
    assert other.s == pytest.approx(0.1, rel=1e-14)
    assert other.fitted == ("ln c",)
    low, high = other.interval(0.999)["c"]
    assert low < 0.5 < high
    both = fit_agent(spreads, AgentModel(s=0.1, c=0.5), method=method)
    assert (both.fitted, both.converged, both.interval()) == ((), True, {})
    assert both.log_likelihood == pytest.approx(AGENT.project(spreads).log_likelihood)


@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_lapses_given_and_fitted(method: str) -> None:
    agent = Agent(0.05, 0.6, lapse=0.15)
    spreads = played(agent, realistic_spreads(303, 1200), 304)
    given = fit_agent(spreads, AgentModel(lapse=0.15), method=method)
    assert given.lapse == pytest.approx(0.15)
    assert given.fitted == ("ln s", "ln c")
    fitted = fit_agent(spreads, AgentModel(lapse="fit"), method=method)
    assert fitted.fitted == ("ln s", "ln c", "logit lapse")
    assert fitted.converged
    errors = np.array(list(fitted.standard_errors.values()))
    assert (np.abs(fitted.theta - agent.parameters) < 4 * errors).all()
    low, high = fitted.interval(0.9999)["lapse"]
    assert 0 < low < 0.15 < high < 1
    if method == "likelihood":
        none = fit_agent(spreads, method=method)
        assert fitted.log_likelihood > none.log_likelihood + 10
        assert fitted.log_likelihood >= given.log_likelihood - 1e-9


def test_lapses_from_shares() -> None:
    agent = Agent(0.08, 0.6, lapse=0.3, lapse_kernel="shares")
    spreads = played(agent, realistic_spreads(305, 600), 306)
    fit = fit_agent(spreads, AgentModel(lapse=0.3, lapse_kernel="shares"), method="likelihood")
    errors = np.array(list(fit.standard_errors.values()))
    assert (np.abs(fit.theta - agent.parameters)[:2] < 4 * errors).all()


def test_two_moments_fit_two_parameters(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="at most two parameters"):
        fit_agent(spreads, AgentModel(lapse="fit"), method="moments")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"method": "guess"}, "guess"),
        ({"covariance": "exact"}, "exact"),
        ({"covariance": "information"}, "likelihood fits alone"),
        ({"covariance": "bootstrap"}, "rng"),
    ],
)
def test_impossible_options_are_refused(spreads: Spreads, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        fit_agent(spreads, **wrong)


@pytest.mark.parametrize("method", METHODS)
def test_too_little_data(spreads: Spreads, method: str) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(InputError, match="no decisions"):
        fit_agent(spreads.take(nothing), method=method)
    with pytest.raises(InputError, match="no decisions"):
        fit_agent(spreads.weighted(np.zeros(len(spreads))), method=method)
    with pytest.raises(InputError, match=r"1 decisions .* are too few"):
        fit_agent(spreads.take([0]), method=method)
    forced = Spreads.from_lists([[0.3]] * 20, [0] * 20)
    with pytest.raises(InputError, match="0 decisions with at least two options"):
        fit_agent(forced, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_one_group_has_no_clusters(spreads: Spreads, method: str) -> None:
    part = spreads.take(np.arange(100))
    one = Spreads.from_arrays(part.offsets, part.values, part.chosen, groups=np.zeros(100))
    fit = fit_agent(one, method=method)
    assert np.isnan(fit.working_covariance).all()
    assert "no interval: too few groups" in str(fit)
    if method == "likelihood":
        assert fit_agent(one, method=method, covariance="information").converged


@pytest.mark.parametrize("ratio", ["shares", "powers"])
@pytest.mark.parametrize("fixed", [{}, {"c": 0.5}])
@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_always_the_worst_option_is_not_silent(
    spreads: Spreads, method: str, fixed: dict[str, Any], ratio: str
) -> None:
    """A chooser who seeks the worst has no s: it runs away."""
    worst = spreads.choosing(spreads.counts - 1)
    with pytest.warns(NotConvergedWarning, match="did not converge"):
        fit = fit_agent(worst, AgentModel(ratio=ratio, **fixed), method=method)
    assert not fit.converged
    assert not 1e-3 < fit.s < 10


def test_all_alike_has_no_moments(spreads: Spreads) -> None:
    for chosen in (np.zeros(len(spreads), dtype=int), spreads.counts - 1):
        with pytest.raises(InputError, match="all choices are alike"):
            fit_agent(spreads.choosing(chosen), method="moments")


@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_the_bootstrap_is_seeded_and_near_the_sandwich(spreads: Spreads, method: str) -> None:
    options: dict[str, Any] = {"method": method, "covariance": "bootstrap", "resamples": 60}
    one = fit_agent(spreads, rng=np.random.default_rng(1), **options)
    same = fit_agent(spreads, rng=np.random.default_rng(1), **options)
    other = fit_agent(spreads, rng=np.random.default_rng(2), **options)
    np.testing.assert_array_equal(one.working_covariance, same.working_covariance)
    assert (one.working_covariance != other.working_covariance).any()
    assert one.covariance_kind == "bootstrap"
    plain = fit_agent(spreads, method=method)
    np.testing.assert_array_equal(one.theta, plain.theta)
    ratio = np.sqrt(np.diag(one.working_covariance) / np.diag(plain.working_covariance))
    assert ((ratio > 0.6) & (ratio < 1.6)).all()


def test_the_bootstrap_draws_whole_games() -> None:
    """Each decision five times in one game: five times the data, but no more is known."""
    part = played(AGENT, realistic_spreads(307, 120), 308)
    part = Spreads.from_arrays(part.offsets, part.values, part.chosen)
    many = part.take(np.repeat(np.arange(120), 5))
    options: dict[str, Any] = {"model": AgentModel(c=0.5), "method": "likelihood"}
    alone, copied = fit_agent(part, **options), fit_agent(many, **options)
    assert copied.standard_errors["ln s"] == pytest.approx(alone.standard_errors["ln s"], rel=1e-3)
    drawn = fit_agent(
        many, covariance="bootstrap", rng=np.random.default_rng(4), resamples=60, **options
    )
    assert 0.6 < drawn.standard_errors["ln s"] / alone.standard_errors["ln s"] < 1.6
    flat = fit_agent(many, covariance="information", **options)
    assert flat.standard_errors["ln s"] < 0.6 * alone.standard_errors["ln s"]


def test_the_bootstrap_needs_groups(spreads: Spreads) -> None:
    part = spreads.take(np.arange(60))
    one = Spreads.from_arrays(part.offsets, part.values, part.chosen, groups=np.zeros(60))
    with pytest.raises(InputError, match="two groups"):
        fit_agent(one, covariance="bootstrap", rng=np.random.default_rng(1))


@pytest.fixture(scope="module")
def fit(spreads: Spreads) -> FitResult:
    return fit_agent(spreads)


def test_results_have_the_names_of_the_issue(fit: FitResult) -> None:
    low, high = fit.interval(0.95)["s"]
    assert low < fit.s < high
    assert fit.covariance.shape == (2, 2)
    assert fit.n == 500
    assert fit.converged is True
    for name in ("mm_projected", "mm_actual", "ad_projected", "ad_actual", "qfit"):
        assert math.isfinite(getattr(fit, name))
    assert fit.agent == Agent.from_parameters(fit.model, fit.theta)


def test_results_print_and_turn_into_tables(fit: FitResult) -> None:
    row = fit.to_dict()
    assert row["s"] == fit.s
    assert row["se_c"] == pytest.approx(math.sqrt(fit.covariance[1, 1]))
    assert (row["s_low"], row["s_high"]) == fit.interval()["s"]
    assert row["lapse_low"] is None
    frame = fit.to_frame()
    assert frame.height == 1
    assert frame["n"].to_list() == [500]
    text = str(fit)
    assert "powers invexp, percentile fit of 500 decisions in 167 groups" in text
    assert "95 %" in text
    with pytest.raises(AttributeError):
        fit.n = 1  # type: ignore[misc]


@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_always_the_best_option_is_not_silent(spreads: Spreads, method: str) -> None:
    """s runs to 0: to be said by a warning or an InputError, not by NumPy."""
    best = spreads.choosing(np.zeros(len(spreads), dtype=int))
    with pytest.warns(NotConvergedWarning):
        assert not fit_agent(best, method=method).converged


def test_a_fit_that_ran_away_can_be_printed(spreads: Spreads) -> None:
    worst = spreads.choosing(spreads.counts - 1)
    with pytest.warns(NotConvergedWarning):
        fit = fit_agent(worst, AgentModel(c=0.5))
    assert "NOT CONVERGED" in str(fit)


def test_a_negative_lapse_is_refused(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="lapse"):
        fit_agent(spreads, AgentModel(lapse=-0.5))


def test_options_that_do_not_differ_are_not_silent() -> None:
    """All options worth the same, no tie shift: s and c do not matter at all."""
    alike = Spreads.from_lists([[0.0, 0.0]] * 50, [0, 1] * 25)
    with pytest.warns(NotConvergedWarning):
        fit_agent(alike, AgentModel(tie_shift=0.0))


def test_weights_are_repetitions_in_moment_fits_with_c_given(spreads: Spreads) -> None:
    """The two moments cannot both be met: their units enter, Σ share², and these are not those
    of the repeated decisions."""
    twice = np.flatnonzero(spreads.chosen == 0)
    weights = np.ones(500)
    weights[twice] = 2.0
    one = fit_agent(spreads.weighted(weights), AgentModel(c=0.8), method="moments")
    both = spreads.take(np.concatenate([np.arange(500), twice]))
    assert one.s == pytest.approx(fit_agent(both, AgentModel(c=0.8), method="moments").s, rel=1e-4)
