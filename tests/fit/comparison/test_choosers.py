"""Who chooses better: losses against sums by hand, probabilities against simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from milepost.choice.agent import Agent
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fit.agent import fit_agent
from milepost.fit.agent_model import AgentModel
from milepost.fit.comparison.choosers import chance_of_less, losses, thinned
from milepost.fit.result import FitResult

MODEL = AgentModel(ratio="shares", difference="raw", cap=0.0, tie_shift=0.0)


def decisions(n: int, s: float, rng: np.random.Generator) -> Spreads:
    values = [sorted(rng.gamma(2.0, 2.0, size=4), reverse=True) for _ in range(n)]
    agent = Agent(s=s, c=1.0, ratio="shares", difference="raw", cap=None, tie_shift=0.0)
    return agent.simulate(Spreads.from_lists(values, [0] * n), rng)


def fitted(spreads: Spreads) -> FitResult:
    return fit_agent(spreads, MODEL, method="likelihood")


def test_a_loss_is_the_mean_over_all_options_of_all_decisions() -> None:
    rng = np.random.default_rng(3)
    parts = [decisions(40, 0.5, rng), decisions(60, 2.0, rng)]
    fits = [fitted(part) for part in parts]
    table = losses(fits, parts)
    for fit, loss in zip(fits, table["loss"], strict=True):
        by_hand = 0.0
        for part in parts:
            ps = np.split(fit.agent.probabilities(part), part.offsets[1:-1])
            values = np.split(part.values, part.offsets[1:-1])
            by_hand += sum(float(p @ (v.max() - v)) for p, v in zip(ps, values, strict=True))
        assert loss == pytest.approx(by_hand / 100, rel=1e-9)
    assert (table["low"] < table["loss"]).all()
    assert (table["loss"] < table["high"]).all()


def test_among_equals_the_probability_is_uniform() -> None:
    # Two choosers of one truth: each is said to be better with any probability equally often.
    rng = np.random.default_rng(2011)
    chances = []
    for _ in range(40):
        parts = [decisions(150, 2.0, rng) for _ in range(2)]
        one, two = losses([fitted(part) for part in parts], parts).rows(named=True)
        chances.append(chance_of_less(one["loss"], one["se"], two["loss"], two["se"]))
    assert kstest(chances, "uniform").pvalue > 0.01


def test_the_better_chooser_is_told() -> None:
    rng = np.random.default_rng(1)
    parts = [decisions(200, s, rng) for s in (0.5, 2.0)]
    one, two = losses([fitted(part) for part in parts], parts).rows(named=True)
    assert 0.999 < chance_of_less(one["loss"], one["se"], two["loss"], two["se"]) < 1.0
    assert chance_of_less(1.0, 0.0, 2.0, 0.0) == 1.0


def test_scales_that_differ_are_not_compared() -> None:
    rng = np.random.default_rng(5)
    part = decisions(60, 1.0, rng)
    other = fit_agent(part, AgentModel(ratio="shares", difference="log", cap=0.0))
    with pytest.raises(InputError, match="scale of its own"):
        losses([fitted(part), other], [part])


def test_many_decisions_are_thinned_evenly() -> None:
    many = decisions(50, 1.0, np.random.default_rng(8))
    assert thinned(many, 50) is many
    few = thinned(many, 5)
    assert len(few) == 5
    assert few.values[0] == many.values[0]
