"""The agents of 2009 against their formula."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import realistic_spreads

from milepost.choice import ReferenceAgent, Spreads
from milepost.errors import InputError
from milepost.fit import fit_reference


@pytest.mark.parametrize("c", [0.0, 0.7, 1.2, 5.0])
@pytest.mark.parametrize("width", [1, 4, 10, 500])
def test_probabilities_are_those_of_the_formula(c: float, width: int) -> None:
    spreads = realistic_spreads(801, 40)
    p = ReferenceAgent(c, K=0.1, width=width).probabilities(spreads)
    for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
        values = spreads.values[start : min(stop, start + width)]
        shares = (values[0] - values + 0.1) ** -c
        expected = np.zeros(stop - start)
        expected[: len(values)] = shares / shares.sum()
        np.testing.assert_allclose(p[start:stop], expected, atol=1e-9)


def test_options_come_back_as_they_were_given() -> None:
    spreads = Spreads.from_lists([[-0.5, 0.3, 0.1]], [1])
    p = ReferenceAgent(1.0, width=2).probabilities(spreads)
    np.testing.assert_allclose(p, [0.0, 0.75, 0.25])


def test_competence_is_recovered_and_projected() -> None:
    agent = ReferenceAgent(1.1)
    chosen = agent.simulate(realistic_spreads(802, 1500), np.random.default_rng(803))
    assert (chosen.chosen < 10).all()
    posterior = fit_reference(chosen)
    assert abs(posterior.mean - 1.1) < 4 * posterior.sd
    projection = posterior.agent.project(chosen)
    assert projection.n == 1500
    assert abs(projection.z_mm) < 4


def test_choices_beyond_the_width_are_left_out_of_projections() -> None:
    spreads = Spreads.from_lists([[0.3, 0.2, 0.1]] * 4, [0, 1, 2, 2])
    assert ReferenceAgent(1.0, width=2).project(spreads).n == 2


@pytest.mark.parametrize("wrong", [{"c": -1.0}, {"c": 1.0, "K": 0.0}, {"c": 1.0, "width": 0}])
def test_impossible_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        ReferenceAgent(**wrong)  # type: ignore[arg-type]
