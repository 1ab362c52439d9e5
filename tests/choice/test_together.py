"""A ladder and the choosers' own agents in one go: to the bit what they say one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import padded
from tests.choice.test_ladder import BLEND, STEP, decisions, path

from milepost.choice import ChoiceModel, Spreads
from milepost.choice.evaluation import together
from milepost.choice.evaluation.evaluate import evaluate, prepare, probabilities_nearby
from milepost.choice.evaluation.ladder import evaluate_ladder
from milepost.choice.evaluation.numbers import furthest_at_most
from milepost.choice.evaluation.together import PlacedAgents, evaluate_together


@pytest.mark.parametrize(
    "data", [decisions(45), padded(decisions(45), 45)], ids=["plain", "padded"]
)
@pytest.mark.parametrize(
    "model", [BLEND, ChoiceModel(ratio="blend"), ChoiceModel()], ids=["blocks", "whole", "no table"]
)
def test_together_as_one_after_the_other(
    model: ChoiceModel, data: Spreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "_BLOCK", 20)  # several blocks, the last one short
    theta, along = path(model)
    which = np.arange(len(data)) % 3
    placed = PlacedAgents(theta[3:6], along[3:6], which, (theta[4:7], theta[2:5]))
    said = evaluate_together(
        model, prepare(data, model), theta, along, placed, step=STEP, first=True, probabilities=True
    )
    prepared, roots = prepare(data, model), np.full(len(data), np.nan)
    ladder = evaluate_ladder(model, prepared, theta, along, step=STEP, first=True)
    for ours, theirs in zip((said.ln_chosen, said.information, said.ln_first), ladder, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    own = evaluate(
        model, prepared, theta[3:6][which], along=along[3:6][which], probabilities=True, roots=roots
    )
    for name, wanted in vars(own).items():
        np.testing.assert_array_equal(getattr(said.said, name), wanted, err_msg=name)
    np.testing.assert_array_equal(said.roots, roots)
    for rows, p in zip(placed.nearby, said.nearby, strict=True):
        np.testing.assert_array_equal(p, probabilities_nearby(model, prepared, rows[which], roots))


@pytest.mark.parametrize(
    "data", [decisions(45), padded(decisions(45), 45)], ids=["plain", "padded"]
)
def test_no_difference_exceeds_its_bound(data: Spreads) -> None:
    prepared = prepare(data, BLEND)
    bound = furthest_at_most(data, prepared.scale)
    assert prepared.numbers(0.5).furthest <= bound < np.inf
