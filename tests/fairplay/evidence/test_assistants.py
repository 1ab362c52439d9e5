from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm
from tests.uncompiled import uncompiled

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


def some_decisions() -> Spreads:
    """Equal options, close ones, far ones, padding, and gaps at the depth that is looked at."""
    rng = np.random.default_rng(5)
    values = [sorted(rng.normal(0, 0.5, 9).round(2), reverse=True) for _ in range(12)]
    values += [[0.4], [0.3, 0.3, 0.3], [0.5, 0.49, 0.2, -np.inf], [9.0, 0.0]]
    depths = [
        [[rng.choice([0.1, 0.2, np.nan]), value] if value > -np.inf else [value] * 2
         for value in each]
        for each in values
    ]  # fmt: skip
    return Spreads.from_lists(values, [0] * len(values), depth_values=depths)


def everything() -> list[list[float]]:
    answer: list[list[float]] = assistants.helped_probabilities(some_decisions()).tolist()
    return answer


def test_another_engine_is_the_plain_sum_over_points() -> None:
    some = some_decisions()
    found = assistants.other_engine(some)
    points = np.linspace(-6.0, 6.0, 81)
    step = 12.0 / 80 / 30
    for first, stop in zip(some.offsets[:-1], some.offsets[1:], strict=True):
        loss = (some.values[first] - some.values[first:stop]) / assistants.NOISE_PAWNS
        near = loss[loss <= 6.0]
        # Φ is taken at the nearest points of a table, φ where it is.
        places = points + np.round((near[:, None] - 6.0 + 13.0) / step) * step - 13.0 + 6.0
        ln_phi = log_ndtr(places)
        shifted = points + near[:, None]
        chance = np.exp(ln_phi.sum(axis=0) - ln_phi - 0.5 * shifted**2).sum(axis=1)
        expected = np.zeros(stop - first)
        expected[: len(near)] = chance / chance.sum()
        np.testing.assert_allclose(found[first:stop], expected, rtol=1e-11, atol=1e-15)


def test_equal_options_share_at_half_the_depth() -> None:
    some = some_decisions()
    assert some.depth_values is not None
    values = np.where(np.isnan(some.depth_values[:, 0]), some.values, some.depth_values[:, 0])
    found = assistants.shallow_engine(some)
    for first, stop in zip(some.offsets[:-1], some.offsets[1:], strict=True):
        best = values[first:stop] == values[first:stop].max()
        np.testing.assert_array_equal(found[first:stop], best / best.sum())


def test_uncompiled_assistants_say_the_same() -> None:
    plain = uncompiled(
        "tests.fairplay.evidence.test_assistants",
        "milepost.fairplay.evidence.assistants._noisy_best",
    )
    np.testing.assert_allclose(plain, everything(), rtol=1e-12, atol=1e-15)
