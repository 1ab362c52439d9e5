"""Derivatives against finite differences, the information against its definition; threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pytest
from tests.choice.makers import (
    DEPTH_KINDS,
    RATIOS,
    all_models,
    parameters_of,
    played,
    realistic_spreads,
)

from milepost.choice import Agent, ChoiceModel, DepthScheme, Spreads
from milepost.choice.evaluation.evaluate import Evaluated, evaluate, ln_probabilities, prepare

STEP = 1e-5
TURNS = 40


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return played(Agent(0.2, 0.6, lapse=0.1), realistic_spreads(21, TURNS, depths=True), 22)


def models(ratio: str, kind: str | None) -> Iterator[ChoiceModel]:
    yield from all_models(ratio=ratio, kind=kind)
    scheme = None if kind is None else DepthScheme.groups([(1, 2), 3], kind)
    for lapse in (None, "shares"):
        yield ChoiceModel("sechb", ratio, depths=scheme, utilities=("loss", "first"), lapse=lapse)


def differences(
    model: ChoiceModel, spreads: Spreads, theta: np.ndarray, place: int
) -> dict[str, np.ndarray]:
    move = np.zeros(len(theta))
    move[place] = STEP
    prepared = prepare(spreads, model)
    high, low = (evaluate(model, prepared, theta + sign * move) for sign in (1, -1))
    return {
        name: (getattr(high, name) - getattr(low, name)) / (2 * STEP)
        for name in ("ln_chosen", "before", "first", "error")
    }


@pytest.mark.parametrize("kind", DEPTH_KINDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_derivatives_against_central_differences(
    ratio: str, kind: str | None, spreads: Spreads
) -> None:
    for model in models(ratio, kind):
        for s, c in ((0.1, 0.5), (0.25, 1.1)):
            theta = parameters_of(model, s, c)
            if model.utilities and model.depths is not None:
                theta[2:3] = -0.8
            said = evaluate(model, prepare(spreads, model), theta)
            for place, parameter in enumerate(model.parameters):
                numeric = differences(model, spreads, theta, place)
                for name, wanted in numeric.items():
                    ours = getattr(said, f"d_{name}")[:, place]
                    # An error of h² times the third derivative, which grows with the size of
                    # ln p; and rounding, of the size of the value over h.
                    size = np.abs(getattr(said, name)) + np.abs(wanted) + 1e-3
                    worst = (np.abs(ours - wanted) / size).max()
                    assert worst < 2e-6, (model.name, parameter, name)


@pytest.mark.parametrize("kind", DEPTH_KINDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_information_is_the_expected_square_of_the_score(
    ratio: str, kind: str | None, spreads: Spreads
) -> None:
    """Σ p (d ln p)(d ln p)ᵀ: choose every option once, add up by its probability."""
    few = spreads.take(np.arange(6))
    for model in models(ratio, kind):
        theta = parameters_of(model, 0.15, 0.7)
        said = evaluate(model, prepare(few, model), theta, information=True)
        p = np.exp(ln_probabilities(model, prepare(few, model), theta))
        expected = np.zeros_like(said.information)
        mean = np.zeros((len(few), len(theta)))
        for i in range(int(few.counts.max())):
            has = few.counts > i
            part = few.take(has).choosing(np.full(int(has.sum()), i))
            chance = p[few.offsets[:-1][has] + i]
            score = evaluate(model, prepare(part, model), theta).d_ln_chosen
            with np.errstate(over="ignore", invalid="ignore"):
                square = chance[:, None, None] * score[:, :, None] * score[:, None, :]
            expected[has] += np.where(chance[:, None, None] > 0, square, 0.0)
            mean[has] += np.where(chance[:, None] > 0, chance[:, None] * score, 0.0)
        np.testing.assert_allclose(
            said.information, expected, rtol=1e-9, atol=1e-11, err_msg=model.name
        )
        np.testing.assert_allclose(mean, 0.0, atol=1e-11, err_msg=model.name)


@pytest.mark.parametrize("kind", DEPTH_KINDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_number_of_threads_changes_nothing(ratio: str, kind: str | None) -> None:
    """Bit by bit, over several blocks of decisions."""
    some = realistic_spreads(23, 60, depths=True)
    spreads = some.take(np.arange(2_500) % 60)
    model = ChoiceModel(
        "invexp", ratio, depths=None if kind is None else DepthScheme.free([1, 3], kind),
        lapse="shares",
    )  # fmt: skip
    theta = model.start()
    prepared = prepare(spreads, model)
    one = evaluate(model, prepared, theta, information=True, workers=1)
    for workers in (2, 3):
        other = evaluate(model, prepared, theta, information=True, workers=workers)
        for each in fields(Evaluated):
            np.testing.assert_array_equal(getattr(other, each.name), getattr(one, each.name))
        np.testing.assert_array_equal(
            ln_probabilities(model, prepared, theta, workers=workers),
            ln_probabilities(model, prepared, theta, workers=1),
        )
    # And the same decision says the same in whatever block it stands.
    np.testing.assert_array_equal(one.ln_chosen[:60], one.ln_chosen[60 * 40 : 60 * 41])


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_distribution_of_choices_in_place_of_one(ratio: str, spreads: Spreads) -> None:
    model = next(models(ratio, "geometric"))
    prepared = prepare(spreads, model)
    theta = parameters_of(model, 0.2, 0.7)
    rng = np.random.default_rng(3)
    share = rng.exponential(size=len(spreads.values)) * (rng.random(len(spreads.values)) < 0.7)
    share[spreads.offsets[:-1]] += 0.1
    q = share / np.repeat(np.add.reduceat(share, spreads.offsets[:-1]), spreads.counts)
    said = evaluate(model, prepared, theta, targets=q)
    ln_p = ln_probabilities(model, prepared, theta)
    np.testing.assert_allclose(said.ln_chosen, np.add.reduceat(q * ln_p, spreads.offsets[:-1]))
    for place in range(len(theta)):
        move = np.zeros(len(theta))
        move[place] = STEP
        high, low = (
            evaluate(model, prepared, theta + sign * move, targets=q).ln_chosen for sign in (1, -1)
        )
        slope = (high - low) / (2 * STEP)
        np.testing.assert_allclose(said.d_ln_chosen[:, place], slope, atol=2e-7, rtol=1e-5)


def test_a_certain_choice_is_a_distribution_too(spreads: Spreads) -> None:
    model = ChoiceModel(lapse="flat")
    theta = parameters_of(model, 0.2, 0.7)
    certain = np.zeros(len(spreads.values))
    certain[spreads.offsets[:-1] + spreads.chosen] = 1.0
    plain = evaluate(model, prepare(spreads, model), theta)
    said = evaluate(model, prepare(spreads, model), theta, targets=certain)
    np.testing.assert_array_equal(said.ln_chosen, plain.ln_chosen)
    np.testing.assert_array_equal(said.d_ln_chosen, plain.d_ln_chosen)
