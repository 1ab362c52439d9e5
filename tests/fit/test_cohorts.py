"""Cohorts with c on a line; parameters that follow a rating."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.choice.makers import played, realistic_spreads

from milepost.choice import Agent, ChoiceModel, Spreads
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.evaluation.summaries import draw_choices
from milepost.errors import InputError
from milepost.fit import AgentModel, fit_agent, fit_cohorts, fit_smooth

LEVELS = (1600.0, 1900.0, 2200.0, 2500.0)


@pytest.fixture(scope="module")
def cohorts() -> dict[float, Spreads]:
    return {
        level: played(
            Agent(0.2 - 0.04 * place, 0.45 + 0.05 * place), realistic_spreads(501 + place, 400), 5
        )
        for place, level in enumerate(LEVELS)
    }


@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_the_line_against_polyfit(cohorts: dict[float, Spreads], method: str) -> None:
    fits = fit_cohorts(dict(reversed(cohorts.items())), method=method)
    assert fits.levels.tolist() == list(LEVELS)
    c = [fit.c for fit in fits.free]
    errors = [math.sqrt(fit.covariance[1, 1]) for fit in fits.free]
    # numpy's weights multiply the residuals: 1/σ, not 1/σ².
    (slope, intercept), unscaled = np.polyfit(LEVELS, c, 1, w=1 / np.array(errors), cov="unscaled")
    assert fits.line == pytest.approx((intercept, slope), rel=1e-6)
    line = np.array([intercept + slope * level for level in LEVELS])
    excess = max(1.0, float((((np.array(c) - line) / errors) ** 2).sum()) / 2)
    np.testing.assert_allclose(fits.line_covariance, unscaled[::-1, ::-1] * excess, rtol=1e-5)
    for level, fit in zip(LEVELS, fits.on_line, strict=True):
        assert fit.c == pytest.approx(intercept + slope * level, rel=1e-6)
        alone = fit_agent(cohorts[level], AgentModel(c=fit.c), method=method)
        assert fit.s == pytest.approx(alone.s, rel=1e-6)
        assert fit.fitted == ("ln s",)
    for level, fit in zip(LEVELS, fits.free, strict=True):
        assert fit.s == pytest.approx(fit_agent(cohorts[level], method=method).s, rel=1e-9)


def test_a_given_line(cohorts: dict[float, Spreads]) -> None:
    fits = fit_cohorts({2200.0: cohorts[2200.0]}, line=(0.1, 0.0002), method="likelihood")
    assert fits.line == (0.1, 0.0002)
    assert fits.on_line[0].c == pytest.approx(0.54)
    frame = fits.to_frame()
    assert frame["c_fit"].to_list() == pytest.approx([0.54])
    assert frame["s_fit"].to_list() == [fits.on_line[0].s]
    assert frame["mm_projected"].to_list() == [fits.on_line[0].mm_projected]
    assert frame["s"].to_list() == [fits.free[0].s]


def test_other_parameters_given(cohorts: dict[float, Spreads]) -> None:
    fits = fit_cohorts(
        {level: cohorts[level] for level in LEVELS[:2]},
        ChoiceModel(lapse="flat"),
        method="likelihood",
        fixed={"lapse": 0.02},
    )
    assert [fit.lapse for fit in (*fits.free, *fits.on_line)] == pytest.approx([0.02] * 4)


def test_lines_that_make_no_sense_are_refused(cohorts: dict[float, Spreads]) -> None:
    one = {2200.0: cohorts[2200.0]}
    with pytest.raises(InputError, match="at least two cohorts"):
        fit_cohorts(one)
    with pytest.raises(InputError, match="must stay over 0"):
        fit_cohorts(one, line=(1.0, -0.001))


def rated(model: ChoiceModel, beta: np.ndarray, turns: int) -> Spreads:
    """Choices of agents whose ln s and ln c are lines in the rating."""
    rng = np.random.default_rng(601)
    ratings = rng.uniform(1500, 2700, turns)
    some = realistic_spreads(602, turns)
    spreads = Spreads.from_arrays(
        some.offsets, some.values, some.chosen, groups=some.groups, rating=ratings
    )
    x = (ratings - 2100) / 500
    rows = np.stack([beta[0] + beta[1] * x, beta[2] + beta[3] * x], axis=1)
    p = np.exp(ln_probabilities(model, prepare(spreads, model), rows))
    chosen = np.empty(turns, dtype=np.int64)
    draw_choices(spreads.offsets, p, rng.random(turns), chosen)
    return spreads.choosing(chosen)


@pytest.mark.parametrize("ratio", ["shares", "powers"])
def test_smooth_fits_find_known_coefficients(ratio: str) -> None:
    beta = np.array([math.log(0.12), -0.5, math.log(0.6), 0.1])
    model = ChoiceModel(ratio=ratio)
    spreads = rated(model, beta, 2000)
    fit = fit_smooth(spreads, model)
    assert fit.converged
    errors = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(fit.beta - beta) < 4 * errors).all()
    assert (errors < 0.5).all()
    assert fit.to_dict().keys() == {"ln s", "ln c"}
    np.testing.assert_allclose(fit.theta(2600.0)[0], [fit.beta[:2].sum(), fit.beta[2:].sum()])
    low, high = fit.range
    assert 1500 <= low < 1510
    assert 2690 < high <= 2700
    # A constant in x is the plain likelihood fit.
    flat = fit_smooth(spreads, model, degree=0)
    plain = fit_agent(spreads, AgentModel(ratio=ratio), method="likelihood")
    np.testing.assert_allclose(flat.beta, plain.theta, atol=2e-3)
    np.testing.assert_allclose(flat.covariance, plain.working_covariance, rtol=0.01)
    assert flat.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-3)
    assert fit.log_likelihood > flat.log_likelihood + 10


def test_degrees_by_name() -> None:
    beta = np.array([math.log(0.12), -0.5, math.log(0.6), 0.0])
    spreads = rated(ChoiceModel(ratio="shares"), beta, 800)
    fit = fit_smooth(spreads, ChoiceModel(ratio="shares"), degree={"ln s": 2, "ln c": 0})
    assert fit.degrees == (2, 0)
    assert [len(each) for each in fit.to_dict().values()] == [3, 1]


def test_smooth_fits_need_ratings() -> None:
    with pytest.raises(InputError, match="rating"):
        fit_smooth(realistic_spreads(603, 20), ChoiceModel())
