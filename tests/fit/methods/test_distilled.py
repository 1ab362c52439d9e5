"""Distillation: the loss and its slopes against their definitions, a known agent found again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import realistic_spreads

from milepost.choice import ChoiceModel, DepthScheme
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats
from milepost.fit.methods.distilled import Distillation, distil

SPREADS = realistic_spreads(8, 60, depths=True)
MODEL = ChoiceModel(ratio="blend", depths=DepthScheme.free((1, 2, 3)), utilities=("loss",))
DEGREES = (1, 0, 0, 1, 0, 0)
TRUE = np.array([-2.0, -0.4, -0.5, 0.3, -0.4, 0.2, 0.15, 0.4])
X = np.array([-1.0, 0.0, 0.8])


def task(free: list[bool] | None = None) -> Distillation:
    chosen = np.ones(len(TRUE), dtype=bool) if free is None else np.array(free)
    return Distillation(MODEL, prepare(SPREADS, MODEL), X, DEGREES, chosen)


def targets(beta: Floats) -> list[Floats]:
    learning = task()
    return [np.exp(ln_probabilities(MODEL, learning.prepared, learning.theta(beta, x))) for x in X]


def test_the_loss_is_the_cross_entropy_and_its_slopes_are_differences() -> None:
    learning, known = task(), targets(TRUE)
    beta = TRUE + 0.1
    loss, gradient, _ = learning.terms(beta, known)
    by_hand = [
        -np.add.reduceat(
            q * ln_probabilities(MODEL, learning.prepared, learning.theta(beta, x)),
            SPREADS.offsets[:-1],
        ).mean()
        for x, q in zip(X, known, strict=True)
    ]
    assert loss == pytest.approx(np.mean(by_hand))
    np.testing.assert_allclose(learning.gradient(beta, known), gradient, atol=1e-14)
    for place in range(len(beta)):
        step = np.zeros(len(beta))
        step[place] = 1e-5
        high, low = (learning.terms(beta + sign * step, known)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((high - low) / 2e-5, abs=1e-8)


def test_at_the_truth_the_information_is_the_curvature() -> None:
    learning, known = task(), targets(TRUE)
    information = learning.terms(TRUE, known)[2]
    for place in range(len(TRUE)):
        step = np.zeros(len(TRUE))
        step[place] = 1e-5
        change = learning.gradient(TRUE + step, known) - learning.gradient(TRUE - step, known)
        np.testing.assert_allclose(information[place], change / 2e-5, atol=1e-7)


def test_a_known_agent_is_found_again() -> None:
    learnt = distil(
        task(), targets(TRUE), TRUE + np.array([0.3, 0.1, -0.2, 0.2, 0.3, 0, 0.1, -0.3])
    )
    assert learnt.converged
    np.testing.assert_allclose(learnt.beta, TRUE, atol=2e-3)
    np.testing.assert_allclose(learnt.covariance, 0.0, atol=1e-8)  # whatever the positions are


def test_what_is_not_free_stays() -> None:
    free = [True] * 5 + [False] + [True] * 2
    start = TRUE.copy()
    start[5] = 0.0
    learnt = distil(task(free), targets(TRUE), start)
    assert learnt.beta[5] == 0.0
    assert learnt.bread.shape == (7, 7)
