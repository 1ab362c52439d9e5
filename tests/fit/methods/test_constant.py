"""The constant of the log scale: found again in simulated choices of a known one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from milepost.choice import Agent, ChoiceModel, Scale, Spreads
from milepost.choice.evaluation.evaluate import prepare
from milepost.errors import InputError
from milepost.fit import AgentModel, fit_agent, fit_model
from milepost.fit.methods.constant import fit_constant
from milepost.fit.problem import make_problem

MODEL = AgentModel(ratio="shares", constant="fit")
PLAIN = {"ratio": "shares", "cap": None, "tie_shift": 0.0}


def decisions(count: int, seed: int) -> Spreads:
    """Decisions in another unit than pawns, worth up to some ten to either side."""
    rng = np.random.default_rng(seed)
    values = [
        (rng.normal(0, 4) - np.sort(rng.exponential(3, rng.integers(3, 9)))).tolist()
        for _ in range(count)
    ]
    groups = np.arange(count) // 5
    return Spreads.from_lists(values, [0] * count, groups=groups, in_pawns=False)


@pytest.mark.parametrize("constant", [0.5, 2.0, 6.0])
def test_a_known_constant_is_found_again(constant: float) -> None:
    # Seeds fixed beforehand; three intervals of 95 % all hold the truth in six draws of seven.
    agent = Agent(s=0.3, c=0.8, constant=constant, **PLAIN)  # type: ignore[arg-type]
    spreads = agent.simulate(decisions(1_500, 921), np.random.default_rng(922))
    fit = fit_agent(spreads, MODEL)
    assert fit.converged
    assert fit.method == "likelihood"
    assert fit.constant_interval is not None
    low, high = fit.constant_interval
    assert low < constant < high
    assert fit.constant is not None
    assert low < fit.constant < high < 6 * low
    assert fit.interval(0.999)["s"][0] < 0.3 < fit.interval(0.999)["s"][1]
    # The law is there to be seen: raw differences explain the choices worse.
    assert fit.raw_log_likelihood is not None
    assert fit.log_likelihood > fit.raw_log_likelihood + 2
    assert "C " in str(fit)


def test_the_top_is_that_of_the_likelihood_itself() -> None:
    """Another way: s, c and C together by a search without derivatives."""
    agent = Agent(s=0.3, c=0.8, constant=2.0, **PLAIN)  # type: ignore[arg-type]
    spreads = agent.simulate(decisions(400, 923), np.random.default_rng(924))
    fit = fit_agent(spreads, MODEL)

    def loss(point: np.ndarray) -> float:
        s, c, constant = np.exp(point)
        there = Agent(s=s, c=c, constant=constant, **PLAIN)  # type: ignore[arg-type]
        return -float(there.evaluate(spreads).ln_chosen.sum())

    best = optimize.minimize(
        loss, np.log([0.3, 0.8, 2.0]), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}
    )
    assert -best.fun == pytest.approx(fit.log_likelihood, abs=1e-5)
    assert fit.constant is not None
    assert np.log([fit.s, fit.c, fit.constant]) == pytest.approx(best.x, abs=2e-3)
    # With C given there is the same fit, and more certain of s.
    given = fit_agent(
        spreads, AgentModel(ratio="shares", constant=fit.constant), method="likelihood"
    )
    assert given.s == pytest.approx(fit.s, rel=1e-3)
    assert given.standard_errors["ln s"] < fit.standard_errors["ln s"]


def test_raw_choices_bound_it_from_below_only() -> None:
    agent = Agent(s=1.0, c=0.8, difference="raw", **PLAIN)  # type: ignore[arg-type]
    spreads = agent.simulate(decisions(800, 925), np.random.default_rng(926))
    fit = fit_agent(spreads, MODEL)
    assert fit.constant_interval is not None
    assert fit.constant_interval[0] > 5
    assert fit.constant_interval[1] == np.inf
    assert fit.raw_log_likelihood == pytest.approx(fit.log_likelihood, abs=0.5)


def test_groups_that_repeat_say_no_more() -> None:
    """Each decision four times in its group: the interval stays, instead of halving."""
    agent = Agent(s=0.3, c=0.8, constant=2.0, **PLAIN)  # type: ignore[arg-type]
    alone = agent.simulate(decisions(500, 927), np.random.default_rng(928))
    alone = Spreads.from_arrays(alone.offsets, alone.values, alone.chosen, in_pawns=False)
    copied = alone.take(np.repeat(np.arange(500), 4))
    widths = []
    for spreads in (alone, copied):
        fit = fit_agent(spreads, MODEL)
        assert fit.constant_interval is not None
        widths.append(np.log(fit.constant_interval[1] / fit.constant_interval[0]))
    assert widths[1] == pytest.approx(widths[0], rel=0.02)


def test_the_constant_of_given_agents_and_without_errors() -> None:
    agent = Agent(s=0.3, c=0.8, constant=2.0, **PLAIN)  # type: ignore[arg-type]
    spreads = agent.simulate(decisions(400, 929), np.random.default_rng(930))
    fit = fit_agent(spreads, AgentModel(ratio="shares", constant="fit", s=0.3, c=0.8))
    assert fit.constant_interval is not None
    assert fit.constant_interval[0] < 2.0 < fit.constant_interval[1]
    bare = fit_agent(spreads, MODEL, covariance="none")
    assert np.isnan(bare.working_covariance).all()
    assert bare.constant_interval is not None
    assert np.isnan(bare.constant_interval).all()


def test_what_cannot_be_fitted_is_refused() -> None:
    spreads = decisions(40, 931)
    with pytest.raises(InputError, match="by likelihood"):
        fit_agent(spreads, MODEL, method="percentile")
    with pytest.raises(InputError, match="without the bootstrap"):
        fit_agent(spreads, MODEL, covariance="bootstrap", rng=np.random.default_rng(1))
    raw = ChoiceModel(scale=Scale("raw"))
    with pytest.raises(InputError, match="no constant to fit"):
        fit_model(spreads, raw, method="likelihood", fits_constant=True)
    nothing = Spreads.from_lists([[0.0, 0.0]] * 10, [0] * 10)
    problem = make_problem(nothing, ChoiceModel())
    assert len(prepare(nothing, problem.model).delta) == 20
    with pytest.raises(InputError, match="all values are 0"):
        fit_constant(problem)


def test_for_chess_it_stays_one() -> None:
    assert AgentModel().choice_model() == ChoiceModel()
    assert AgentModel(constant=1.0).choice_model() == ChoiceModel()
