"""Where the data do not say, or options make no sense: told, never passed over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize
from tests.choice.makers import realistic_spreads

from milepost.choice import Agent, ChoiceModel, DepthScheme, Spreads
from milepost.errors import InputError
from milepost.fit import (
    AgentModel,
    Candidate,
    NotConvergedWarning,
    compare,
    fit_agent,
    fit_groups,
    fit_reference,
    influence,
    profile_interval,
)

METHODS = ["percentile", "likelihood", "moments"]


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return Agent(s=0.1, c=0.5).simulate(realistic_spreads(701, 400), np.random.default_rng(702))


@pytest.mark.parametrize("method", METHODS)
def test_one_difference_cannot_give_both_parameters(method: str) -> None:
    """Every decision has the same two options: one number cannot tell s from c."""
    alike = Spreads.from_lists([[1.0, 0.0]] * 100, ([0] * 7 + [1] * 3) * 10)
    with pytest.warns(NotConvergedWarning, match="do not determine"):
        assert not fit_agent(alike, method=method).converged
    assert fit_agent(alike, AgentModel(c=1.0), method=method).converged


@pytest.mark.parametrize("method", METHODS)
def test_as_few_groups_as_parameters_give_no_interval(spreads: Spreads, method: str) -> None:
    two = Spreads.from_arrays(
        spreads.offsets, spreads.values, spreads.chosen, groups=np.arange(400) % 2
    )
    assert np.isnan(fit_agent(two, method=method).interval()["s"][0])
    assert np.isfinite(fit_agent(two, AgentModel(c=0.5), method=method).interval()["s"]).all()


@pytest.mark.parametrize("method", ["percentile", "likelihood"])
def test_influence_is_what_leaving_out_does(spreads: Spreads, method: str) -> None:
    """Against refits without the decision, for the ten that are said to move most."""
    fit = fit_agent(spreads, method=method)
    size = influence(spreads, fit)
    metric = np.linalg.inv(fit.working_covariance)
    said, found = [], []
    for place in np.argsort(-size)[:10]:
        rest = fit_agent(spreads.take(np.arange(400) != place), method=method)
        step = rest.theta - fit.theta
        said.append(size[place])
        found.append(float(np.sqrt(step @ metric @ step)))
    # To first order, and the percentile objective has kinks.
    assert np.median(np.array(found) / np.array(said)) == pytest.approx(1.0, abs=0.5)
    with pytest.raises(InputError, match="not moments"):
        influence(spreads, fit_agent(spreads, method="moments"))


@pytest.mark.parametrize("level", [95, 0, 1, -1.0, float("nan")])
def test_a_level_is_a_probability(spreads: Spreads, level: float) -> None:
    fit = fit_agent(spreads, method="likelihood")
    for ask in (
        lambda: fit.interval(level),
        lambda: profile_interval(spreads, fit, "s", level),
        lambda: fit_reference(spreads).region(level),
    ):
        with pytest.raises(InputError, match="level"):
            ask()


def test_what_a_comparison_would_ignore_is_refused(spreads: Spreads) -> None:
    with pytest.raises(InputError, match="smooth"):
        Candidate(ChoiceModel(), "smooth", fixed=(("c", 2.0),))
    twins = [Candidate(ChoiceModel(), fixed=(("c", 0.5),)), Candidate(ChoiceModel())]
    with pytest.raises(InputError, match="same name"):
        compare(spreads, twins)


def test_one_candidate_that_fails_does_not_lose_the_others(spreads: Spreads) -> None:
    """A band of decisions in which the best is always chosen has no moments to match."""
    best = spreads.choosing(np.where(np.arange(400) < 100, 0, spreads.chosen))
    found = compare(
        best,
        {
            "moments": Candidate(ChoiceModel(), "moments"),
            "likelihood": Candidate(ChoiceModel(), "likelihood", fixed=(("c", 0.5),)),
        },
        folds=2,
        bands=np.where(np.arange(400) < 100, "low", "high"),
    )
    assert found.table["name"].to_list() == ["likelihood"]
    assert found.failed[0][0] == "moments"
    assert "band low" in found.failed[0][1]
    assert "not compared" in str(found)
    assert "gate, band by band" in str(found)


def test_unrated_decisions_are_a_band_of_their_own(spreads: Spreads) -> None:
    rating = np.full(400, 2000.0)
    rating[:200] = np.nan
    rated = Spreads.from_arrays(spreads.offsets, spreads.values, spreads.chosen, rating=rating)
    found = compare(rated, {"one": Candidate(ChoiceModel(), "percentile")}, folds=2)
    assert found.gates["band"].to_list() == ["no rating", "1950-2149"]


def test_rows_without_a_group_are_told() -> None:
    import polars as pl

    rng = np.random.default_rng(703)
    frame = pl.DataFrame(
        {
            "who": ["a"] * 120 + [None] * 120,
            "decision": np.repeat(np.arange(80), 3),
            "value": rng.normal(size=240),
            "chosen": np.tile([1, 0, 0], 80),
        }
    )
    fits = fit_groups(frame, ["who"], least=41)
    assert fits.left_out[0] == ("120 rows", "no value of who")


def test_depth_weights_have_errors() -> None:
    """The delta method against the spread of draws of the working parameters."""
    rng = np.random.default_rng(706)
    base = realistic_spreads(707, 500)
    noise = base.values[:, None] + rng.normal(scale=0.3, size=(len(base.values), 2))
    deep = Spreads.from_arrays(
        base.offsets,
        base.values,
        base.chosen,
        depth_values=np.column_stack([noise, base.values]),
    )
    scheme = DepthScheme.free([1, 2, 3])
    agent = Agent(0.1, 0.5, depths=scheme, depth_numbers=(-0.5, 0.2))
    fit = fit_agent(agent.simulate(deep, rng), AgentModel(depths=scheme), method="likelihood")
    draws = rng.multivariate_normal(fit.theta, fit.working_covariance, size=4000)
    weights = scheme.weights(draws[:, 2:])
    found = list(fit.depth_weight_errors.values())
    np.testing.assert_allclose(found, weights.std(axis=0), rtol=0.15)
    assert "se " in str(fit)


def test_a_search_goes_on_where_its_factorisation_breaks_down(
    monkeypatch: pytest.MonkeyPatch, spreads: Spreads
) -> None:
    """trust-exact raises on some curvatures that are nearly singular; the fit must not."""
    whole = fit_agent(spreads, method="likelihood")
    real = optimize.minimize

    def broken(*arguments: Any, **options: Any) -> Any:
        if options["method"] == "trust-exact":
            raise ValueError("array must not contain infs or NaNs")
        return real(*arguments, **options)

    monkeypatch.setattr(optimize, "minimize", broken)
    again = fit_agent(spreads, method="likelihood")
    np.testing.assert_allclose(again.theta, whole.theta, atol=1e-3)


def test_the_plain_grid_search_finds_the_same(spreads: Spreads) -> None:
    found, plain = fit_agent(spreads), fit_agent(spreads, method="grid")
    np.testing.assert_allclose(plain.theta, found.theta, atol=0.02)
    assert plain.converged
    with pytest.raises(InputError, match="s and c alone"):
        fit_agent(spreads, AgentModel(lapse="fit"), method="grid")
    with pytest.raises(InputError, match="lapse kernel"):
        fit_agent(spreads, AgentModel(lapse_kernel="none"))
