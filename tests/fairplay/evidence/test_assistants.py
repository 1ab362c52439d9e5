from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from milepost.choice.spreads import Spreads
from milepost.fairplay.evidence import assistants, menu


def spreads(*values: list[float]) -> Spreads:
    return Spreads.from_lists(list(values), [0] * len(values))


def test_the_menu_weighs_just_these_assistants() -> None:
    assert list(assistants.ASSISTANTS) == list(menu.HELPERS)


def test_probabilities_of_every_assistant_add_up_to_one() -> None:
    rng = np.random.default_rng(3)
    some = spreads(*(sorted(rng.normal(0, 1, 12), reverse=True) for _ in range(20)))
    table = assistants.helped_probabilities(some)
    sums = np.add.reduceat(table, some.offsets[:-1], axis=1)
    assert np.allclose(sums, 1.0)
    assert (table >= 0).all()


def test_the_same_engine_shares_between_equal_options() -> None:
    assert assistants.same_engine(spreads([1.0, 1.0, 0.5])).tolist() == [0.5, 0.5, 0.0]


def test_near_best_takes_at_most_three_within_its_distance() -> None:
    found = assistants.near_best(spreads([1.0, 0.9, 0.8, 0.75], [1.0, 0.6]))
    assert found.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 1, 0])


@pytest.mark.parametrize("values", [[0.3, 0.2], [0.5, 0.45, 0.1, -2.0], [1.0, 1.0, 1.0]])
def test_another_engine_takes_the_best_of_noisy_values(values: list[float]) -> None:
    # P(i) = ∫ φ((x - v_i)/s)/s Π_{j≠i} Φ((x - v_j)/s) dx, by scipy's adaptive quadrature.
    noise = assistants.NOISE_PAWNS

    def density(x: float, i: int) -> float:
        others = [norm.cdf((x - v) / noise) for j, v in enumerate(values) if j != i]
        return float(norm.pdf(x, values[i], noise) * np.prod(others))

    expected = [quad(density, -5, 5, args=(i,), limit=200)[0] for i in range(len(values))]
    assert assistants.other_engine(spreads(values)) == pytest.approx(expected, abs=2e-3)


def test_half_the_depth_looks_at_the_values_of_that_depth() -> None:
    some = Spreads.from_lists([[1.0, 0.5]], [0], depth_values=[[[0.0, 0.2, 1.0], [0.1, 0.9, 0.5]]])
    # Depths 1, 2, 3: the second one prefers the second option.
    assert assistants.shallow_engine(some).tolist() == [0.0, 1.0]


def test_half_the_depth_without_depths_is_the_set_up_itself() -> None:
    assert assistants.shallow_engine(spreads([1.0, 0.5])).tolist() == [1.0, 0.0]
