"""Every kernel also runs as plain Python: a second process computes the same without compiling."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.choice.makers import DEPTH_KINDS, RATIOS, all_models, padded, parameters_of
from tests.uncompiled import uncompiled


def everything() -> dict[str, list[float]]:
    """Probabilities, derivatives, projections and fits of a few models on tiny spreads."""
    from milepost.choice import Agent, ChoiceModel, Spreads
    from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
    from milepost.choice.evaluation.ladder import evaluate_ladder
    from milepost.fit import AgentModel, fit_agent, fit_reference

    table = [[[0.1, 0.4, 0.5], [0.7, 0.2, 0.5], [0.0, -0.4, -1.0]], [[0.1, 0.0, 0.2]] * 2]
    spreads = Spreads.from_lists([[0.5, 0.5, -1.0], [0.2, 0.2]], [2, 1], depth_values=table)
    filled = padded(spreads, 4)
    answer: dict[str, list[float]] = {}
    chosen = []
    for ratio in RATIOS:
        for kind in DEPTH_KINDS:
            chosen += list(all_models(ratio=ratio, kind=kind, lapses=(None, "shares")))[::5]
        chosen.append(ChoiceModel(ratio=ratio, utilities=("loss", "first"), lapse="flat"))
    for model in chosen:
        theta = parameters_of(model, 0.3, 0.8)
        for name, data in (("plain", spreads), ("padded", filled)):
            prepared = prepare(data, model)
            said = evaluate(model, prepared, theta, information=True)
            parts = [np.exp(ln_probabilities(model, prepared, theta))]
            parts += [getattr(said, each).ravel() for each in vars(said)]
            answer[f"{model.name} {name}"] = np.concatenate(parts).tolist()
    blend = ChoiceModel(ratio="blend", utilities=("loss", "first"))
    rows = blend.start() + np.outer(np.arange(4), np.eye(len(blend.parameters))[0]) / 5
    prepared, ways = prepare(filled, blend), np.eye(len(rows[0]))[[0] * 4]
    ladder = evaluate_ladder(blend, prepared, rows, ways, step=0.2, first=True)
    answer["ladder"] = np.concatenate(ladder).ravel().tolist()
    said = evaluate(blend, prepared, rows[:2], along=ways[:2], probabilities=True)
    answer["along"] = [*said.probabilities.tolist(), *said.d_ln_chosen.ravel().tolist()]
    lists = [[0.1 * (k % 3), 0.05 * (k % 7) - 0.3, -0.2 * (k % 5)] for k in range(12)]
    many = Agent(0.2, 0.8).simulate(Spreads.from_lists(lists, [0] * 12), np.random.default_rng(3))
    answer["simulated"] = many.chosen.tolist()
    there = Agent(0.2, 0.8).project(many)
    answer["projected"] = [*there.frequencies_projected.tolist(), there.mm_sd, there.ad_sd]
    fit = fit_agent(many, AgentModel(c=0.8, ratio="shares", curve="ipb"))
    # A search stops where rounding lets it: its path is not the same to the last digit.
    answer["fit"] = np.round([fit.s, fit.percentiles.chi_square], 6).tolist()
    reference = fit_reference(many)
    answer["reference"] = [reference.mean, reference.sd]
    return answer


def test_uncompiled_kernels_give_the_same() -> None:
    plain = uncompiled("tests.choice.test_uncompiled", "milepost.choice.ratios.forms.solve_all")
    compiled = everything()
    assert plain.keys() == compiled.keys()
    for name, numbers in compiled.items():
        np.testing.assert_allclose(plain[name], numbers, rtol=1e-12, atol=1e-12, err_msg=name)


def test_compiled_here() -> None:
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("this run is uncompiled on purpose")
    from milepost.choice.ratios import forms as ratios

    assert hasattr(ratios.solve_all, "py_func")
