"""Many agents at once: the same as one by one, with what is rare and what is extreme."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import padded

from milepost.choice import ChoiceModel, DepthScheme, Spreads
from milepost.choice.evaluation.blocks import evaluate_block
from milepost.choice.evaluation.evaluate import (
    evaluate,
    ln_probabilities,
    prepare,
    probabilities_nearby,
)
from milepost.choice.evaluation.ladder import evaluate_ladder
from milepost.choice.evaluation.linear import is_linear, linear_block
from milepost.choice.spreads import Floats

DEPTHS = (1, 2, 3, 4)
BLEND = ChoiceModel(ratio="blend", depths=DepthScheme.ends(DEPTHS), utilities=("loss", "rank"))


STEP = 5.0 / 24.0
"""From one of 25 agents to the next; it only guides the search, so that others do as well."""


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
    """By Newton in each decision, without the table: all parameters move, then the direction."""
    prepared = prepare(data, model)
    rows = []
    for row, way in zip(theta, along, strict=True):
        said = evaluate(model, prepared, row, information=True)
        with np.errstate(divide="ignore"):
            rows.append([said.ln_chosen, said.information @ way @ way, np.log(said.first)])
    return np.array(rows).transpose(2, 0, 1)


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
    assert is_linear(model, prepared, theta, along)
    ln_chosen, information, ln_first = evaluate_ladder(
        model, prepared, theta, along, step=STEP, first=True
    )
    wanted = one_by_one(model, data, theta, along)
    np.testing.assert_allclose(ln_chosen, wanted[:, :, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(information, wanted[:, :, 1], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(ln_first, wanted[:, :, 2], rtol=1e-9, atol=1e-12)
    assert not len(evaluate_ladder(model, prepared, theta, along, step=STEP)[2])


@pytest.mark.parametrize("kappa", [0.05, 0.7, 2.5, 30.0])
@pytest.mark.parametrize("rows", ["one agent", "an agent each"])
@pytest.mark.parametrize(
    "model", [BLEND, ChoiceModel(ratio="blend", utilities=("loss", "rank"))], ids=lambda m: m.name
)
def test_all_options_by_the_table(model: ChoiceModel, rows: str, kappa: float) -> None:
    data = padded(decisions(40), 45)
    prepared = prepare(data, model)
    theta, along = path(model, len(data))
    theta[:, model.place("kappa")] = np.log(kappa)
    if rows == "one agent":
        theta, along = theta[20:21], along[20:21]
    ours = linear_block(model, prepared, theta, 0, len(data), along)
    newton = evaluate_block(model, prepared, theta, 0, len(data))
    steps = along if rows == "one agent" else np.repeat(along, data.counts, axis=0)
    wanted = (newton[3] * steps).sum(axis=1)
    np.testing.assert_array_equal(ours[0], newton[0])
    np.testing.assert_allclose(ours[1], newton[1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours[2], newton[2], rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(ours[3][:, 0], wanted, rtol=1e-8, atol=1e-10)
    alone = linear_block(model, prepared, theta, 0, len(data))
    np.testing.assert_array_equal(alone[1], ours[1])
    assert not alone[3].any()


@pytest.mark.parametrize("model", [BLEND, ChoiceModel()], ids=lambda model: model.name)
def test_agents_nearby_start_from_their_neighbours(model: ChoiceModel) -> None:
    data = padded(decisions(40), 45)
    prepared = prepare(data, model)
    theta, along = path(model, len(data))
    roots = np.full(len(data), np.nan)
    evaluate(model, prepared, theta, along=along, roots=roots)
    before = roots.copy()
    near = theta + 0.05 * along
    wanted = np.exp(ln_probabilities(model, prepared, near))
    found = probabilities_nearby(model, prepared, near, roots)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(roots, before)


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
    assert not is_linear(model, prepared, theta, along)
    wanted = one_by_one(model, data, theta, along)
    answer = np.stack(evaluate_ladder(model, prepared, theta, along, step=STEP, first=True), axis=2)
    np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["c", "kappa"])
def test_a_c_or_kappa_that_moves_goes_one_by_one(name: str) -> None:
    data = decisions(12)
    theta, along = path(BLEND, 4)
    place = BLEND.place(name)
    along[:, place] = 0.1
    theta[:, place] += 0.1 * np.arange(4)
    wanted = one_by_one(BLEND, data, theta, along)
    prepared = prepare(data, BLEND)
    answer = np.stack(evaluate_ladder(BLEND, prepared, theta, along, step=STEP, first=True), axis=2)
    np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-12)
