"""Competence followed live: decision by decision the same as all at once."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.choice.makers import realistic_spreads
from tests.fit.methods.test_reference import brute_force, chosen_by

from milepost.choice import Spreads
from milepost.errors import InputError
from milepost.fit import ReferenceModel, fit_reference
from milepost.fit.methods.live import LiveCompetence


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    return chosen_by(realistic_spreads(941, 400), 1.5, 942)


def test_after_each_decision_it_is_the_batch_answer(spreads: Spreads) -> None:
    state = LiveCompetence()
    for n in range(1, 401):
        state.add(spreads.take([n - 1]))
        if n in {30, 60, 200, 400}:
            batch = fit_reference(spreads.take(np.arange(n)))
            known = state.known(0.9)
            assert (state.n, state.outside) == (batch.n, batch.outside)
            assert known.mean == pytest.approx(batch.mean, abs=1e-6)
            assert known.sd == pytest.approx(batch.sd, rel=1e-5)
            assert (known.low, known.high) == pytest.approx(batch.region(0.9), abs=1e-3)


def test_few_decisions_against_brute_force(spreads: Spreads) -> None:
    """The grid is finer than the first one of a batch fit, so it is set against plain sums."""
    state = LiveCompetence()
    state.add(spreads.take(np.arange(3)))
    mean, sd = brute_force(spreads.take(np.arange(3)), np.linspace(0, 10, 20_001))
    known = state.known()
    assert known.mean == pytest.approx(mean, abs=1e-4)
    assert known.sd == pytest.approx(sd, abs=1e-4)


def test_many_decisions_stay_exact() -> None:
    """A posterior much thinner than the grid's step is still seen between its points."""
    few = chosen_by(realistic_spreads(943, 300), 1.5, 944)
    many = few.weighted(np.full(300, 500.0))
    state = LiveCompetence()
    state.add(many)
    batch = fit_reference(many)
    known = state.known()
    assert known.sd < 0.005
    assert known.mean == pytest.approx(batch.mean, abs=1e-5)
    assert known.sd == pytest.approx(batch.sd, rel=1e-3)


def test_it_keeps_sums_and_no_decisions(spreads: Spreads) -> None:
    state = LiveCompetence()
    state.add(spreads.take([0]))
    before = len(json.dumps(state.to_dict()))
    state.add(spreads)
    assert len(json.dumps(state.to_dict())) < 1.5 * before


def test_a_prior_is_taken_into_account(spreads: Spreads) -> None:
    model = ReferenceModel(prior=(0.5, 0.1), prior_range=(0.0, 4.0))
    state = LiveCompetence(model)
    known = state.known()
    assert known.mean == pytest.approx(0.5, abs=1e-4)
    assert known.sd == pytest.approx(0.1, rel=1e-3)
    part = spreads.take(np.arange(80))
    state.add(part)
    batch = model.fit(part)
    assert state.known().mean == pytest.approx(batch.mean, abs=1e-4)
    assert state.known().sd == pytest.approx(batch.sd, rel=1e-3)


def test_it_goes_on_from_a_saved_state(spreads: Spreads) -> None:
    whole, first = LiveCompetence(), LiveCompetence()
    whole.add(spreads.take([0, 1]))
    first.add(spreads.take([0]))
    again = LiveCompetence.from_dict(json.loads(json.dumps(first.to_dict())), ReferenceModel())
    again.add(spreads.take([1]))
    assert again.to_dict()["n"] == 2
    assert again.known().mean == pytest.approx(whole.known().mean, abs=1e-12)
    with pytest.raises(InputError, match="no state"):
        LiveCompetence.from_dict({"n": 1}, ReferenceModel())
    with pytest.raises(InputError, match="another grid"):
        LiveCompetence.from_dict(first.to_dict(), ReferenceModel(prior_range=(0.0, 30.0)))


def test_impossible_models_are_refused() -> None:
    for wrong in ({"K": 0.0}, {"width": 1}, {"prior_range": (2.0, 1.0)}, {"prior": (1.0, 0.0)}):
        with pytest.raises(InputError):
            ReferenceModel(**wrong)
