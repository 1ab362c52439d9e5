"""Many agents at once: the same as one by one, with what is rare and what is extreme."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import padded

from milepost.choice import ChoiceModel, DepthScheme, Spreads
from milepost.choice.evaluation import ladder
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.evaluation.ladder import evaluate_ladder
from milepost.choice.spreads import Floats

DEPTHS = (1, 2, 3, 4)
BLEND = ChoiceModel(ratio="blend", depths=DepthScheme.ends(DEPTHS), utilities=("loss", "rank"))


def decisions(count: int, seed: int = 5) -> Spreads:
    """One to forty options, some level, some hopeless; values at four depths, some not known."""
    rng = np.random.default_rng(seed)
    values, depths = [], []
    for _ in range(count):
        size = int(rng.integers(1, 41))
        worth = rng.normal(0, 1, size) * rng.choice([0.0, 0.1, 1.0, 30.0])
        early = worth[:, None] + rng.normal(0, 1, (size, len(DEPTHS)))
        early[rng.random((size, len(DEPTHS))) < 0.1] = np.nan
        early[:, -1] = worth
        values.append(worth.tolist())
        depths.append(early.tolist())
    chosen = [int(rng.integers(0, len(each))) for each in values]
    return Spreads.from_lists(values, chosen, depth_values=depths)


def path(model: ChoiceModel, rungs: int = 25) -> tuple[Floats, Floats]:
    """Parameters that move with x: s, one weight of a depth and a utility; and their slopes."""
    x = np.linspace(-2.0, 3.0, rungs)[:, None]
    theta = np.repeat(model.start({"s": 0.3, "c": 0.5})[None], rungs, axis=0)
    moves = np.zeros(theta.shape[1])
    moves[0] = -1.0
    if model.depths is not None:
        moves[model.curve_parameters + 2] = 0.8
    if model.utilities:
        theta[:, model.utility_places] = 0.2
        moves[model.utility_places.stop - 1] = 0.3
    return theta + x * moves, np.repeat(moves[None], rungs, axis=0)


def one_by_one(model: ChoiceModel, data: Spreads, theta: Floats, along: Floats) -> Floats:
    prepared = prepare(data, model)
    said = [
        evaluate(model, prepared, row, information=True, along=way)
        for row, way in zip(theta, along, strict=True)
    ]
    return np.stack(
        [np.stack([each.ln_chosen, each.information[:, 0, 0]], axis=1) for each in said], axis=1
    )


@pytest.mark.parametrize("kappa", [0.05, 0.7, 2.5, 30.0])
@pytest.mark.parametrize(
    "model",
    [BLEND, ChoiceModel(ratio="blend"), ChoiceModel(ratio="blend", utilities=("loss",))],
    ids=["depths", "final values", "one utility"],
)
def test_the_table_gives_what_newton_gives(model: ChoiceModel, kappa: float) -> None:
    data = padded(decisions(40), 45)
    theta, along = path(model)
    theta[:, model.place("kappa")] = np.log(kappa)
    prepared = prepare(data, model)
    assert ladder._is_linear(model, prepared, theta, along)
    ln_chosen, information = evaluate_ladder(model, prepared, theta, along)
    wanted = one_by_one(model, data, theta, along)
    np.testing.assert_allclose(ln_chosen, wanted[:, :, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(information, wanted[:, :, 1], rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        ChoiceModel(),
        ChoiceModel(curve="ipb", ratio="blend"),
        ChoiceModel(ratio="blend", depths=DepthScheme.ends(DEPTHS, "additive")),
        ChoiceModel(ratio="blend", lapse="flat"),
    ],
    ids=lambda model: model.name,
)
def test_other_models_go_one_by_one(model: ChoiceModel) -> None:
    data = decisions(12)
    theta, along = path(model, 4)
    prepared = prepare(data, model)
    assert not ladder._is_linear(model, prepared, theta, along)
    wanted = one_by_one(model, data, theta, along)
    answer = np.stack(evaluate_ladder(model, prepared, theta, along), axis=2)
    np.testing.assert_allclose(answer, wanted)


@pytest.mark.parametrize("name", ["c", "kappa"])
def test_a_c_or_kappa_that_moves_goes_one_by_one(name: str) -> None:
    data = decisions(12)
    theta, along = path(BLEND, 4)
    place = BLEND.place(name)
    along[:, place] = 0.1
    theta[:, place] += 0.1 * np.arange(4)
    wanted = one_by_one(BLEND, data, theta, along)
    answer = np.stack(evaluate_ladder(BLEND, prepare(data, BLEND), theta, along), axis=2)
    np.testing.assert_allclose(answer, wanted)
