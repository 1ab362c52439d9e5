"""Variance components: against a dense Gaussian likelihood, closed forms and known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2, multivariate_normal

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.methods.mixed_model import (
    DISPERSION,
    FIRST,
    SECOND,
    UNIT,
    MixedModel,
    Units,
)


def units(
    events: int,
    players: int,
    games: int,
    *,
    phi: float = 1.4,
    game: float = 0.0,
    player: float = 0.0,
    event: float = 0.0,
    crossed: int = 0,
    information: float | None = None,
    seed: int = 1,
) -> Units:
    """Round robins: players within events; the first `crossed` play in all events."""
    rng = np.random.default_rng(seed)
    second = np.repeat(np.arange(events), players * games)
    first = np.repeat(np.arange(events * players), games)
    place = first % players
    first = np.where(place < crossed, place, first)
    count = len(first)
    weight = rng.uniform(0.5, 2.0, count) * 8e-6 if information is None else None
    weight = np.full(count, information) if weight is None else weight
    value = (
        25 + rng.normal(0, event, events)[second] + rng.normal(0, player, first.max() + 1)[first]
    )
    value = value + rng.normal(0, game, count) + rng.normal(0, 1, count) * np.sqrt(phi / weight)
    return Units(value, weight, first, second, np.ones((count, 1)))


def dense_deviance(data: Units, components: dict[str, float], *, restricted: bool) -> float:
    """By the definition: Harville's restricted likelihood with the whole covariance matrix."""
    same_first = data.first[:, None] == data.first[None, :]
    same_second = data.second[:, None] == data.second[None, :]
    v: Floats = np.diag(components[DISPERSION] / data.information + components[UNIT])
    v = v + components[FIRST] * same_first + components[SECOND] * same_second
    x = data.covariates
    inner = x.T @ np.linalg.solve(v, x)
    gamma = np.linalg.solve(inner, x.T @ np.linalg.solve(v, data.values))
    density = multivariate_normal(x @ gamma, v).logpdf(data.values)
    answer = -2 * float(density) - len(data) * float(np.log(2 * np.pi))
    return answer + (float(np.linalg.slogdet(inner)[1]) if restricted else 0.0)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("crossed", [0, 2])
@pytest.mark.parametrize("zero", [None, UNIT, FIRST, SECOND])
def test_the_likelihood_is_that_of_the_dense_gaussian(
    restricted: bool, crossed: int, zero: str | None
) -> None:
    data = units(4, 5, 3, player=80, event=50, crossed=crossed)
    data = Units(
        data.values, data.information, data.first, data.second,
        np.column_stack([data.covariates, np.linspace(-1, 1, len(data))]),
    )  # fmt: skip
    components = {DISPERSION: 1.3, UNIT: 900.0, FIRST: 6400.0, SECOND: 2500.0}
    if zero is not None:
        components[zero] = 0.0
    model = MixedModel(data, restricted=restricted)
    expected = dense_deviance(data, components, restricted=restricted)
    assert model.deviance(components) == pytest.approx(expected, rel=1e-10)
    few = Units(data.values, data.information, data.second, data.first, data.covariates)
    swapped = {**components, FIRST: components[SECOND], SECOND: components[FIRST]}
    assert MixedModel(few, restricted=restricted).deviance(swapped) == pytest.approx(expected)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("shape", [(6, 5), (12, 1)])
def test_slopes_are_those_of_differences(restricted: bool, shape: tuple[int, int]) -> None:
    model = MixedModel(units(*shape, 3, player=80, event=50, crossed=1), restricted=restricted)
    components = {DISPERSION: 1.3, UNIT: 900.0, FIRST: 6400.0, SECOND: 2500.0}
    deviance, slopes = model.slope(components)
    assert deviance == pytest.approx(model.deviance(components))
    for name, value in components.items():
        step = 1e-5 * value
        ends = [model.deviance({**components, name: value + way * step}) for way in (-1, 1)]
        assert slopes[name] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-4)


def test_a_balanced_nested_design_gives_the_estimates_of_the_analysis_of_variance() -> None:
    """With all mean squares in order REML is ANOVA (Searle, Casella & McCulloch, 1992, ch. 3)."""
    a, b, n, information = 8, 6, 7, 1e-3
    data = units(a, b, n, phi=1.5, player=60, event=90, information=information, seed=4)
    y = data.values.reshape(a, b, n)
    cell, row = y.mean(axis=2), y.mean(axis=(1, 2))
    within = ((y - cell[:, :, None]) ** 2).sum() / (a * b * (n - 1))
    players = n * ((cell - row[:, None]) ** 2).sum() / (a * (b - 1))
    events = b * n * ((row - row.mean()) ** 2).sum() / (a - 1)
    assert within < players < events
    found = MixedModel(data).fit({UNIT: 0.0})
    assert found.converged
    assert found.components[DISPERSION] == pytest.approx(within * information, rel=1e-4)
    assert found.components[FIRST] == pytest.approx((players - within) / n, rel=1e-3)
    assert found.components[SECOND] == pytest.approx((events - players) / (b * n), rel=1e-3)
    assert found.coefficients[0] == pytest.approx(y.mean())
    assert found.covariance[0, 0] == pytest.approx(events / (a * b * n), rel=1e-3)


def test_known_components_are_found() -> None:
    data = units(40, 10, 9, phi=1.4, game=250, player=150, event=120, crossed=1, seed=8)
    model = MixedModel(data)
    found = model.fit()
    truth = {DISPERSION: 1.4, UNIT: 250.0, FIRST: 150.0, SECOND: 120.0}
    for name, true in truth.items():
        known = model.profile(found, name)
        assert known.low < true < known.high, name
        assert known.low < known.value < known.high, name
    assert model.profile(found, FIRST).high < 200
    assert found.coefficients[0] == pytest.approx(25, abs=4 * found.covariance[0, 0] ** 0.5)


def test_nothing_there_is_a_result_with_an_upper_bound() -> None:
    model = MixedModel(units(12, 10, 9, phi=1.4, seed=3))
    found = model.fit({UNIT: 0.0})
    known = model.profile(found, FIRST, {UNIT: 0.0})
    assert known.low == 0
    assert known.value < 100
    assert 40 < known.high < 150
    # What an interval reckons with is neither nothing nor the bound.
    assert 0 < known.used < known.high


def test_one_event_sets_no_bound_on_the_variation_of_events() -> None:
    model = MixedModel(units(1, 10, 9, phi=1.4, player=100, seed=3))
    known = model.profile(model.fit(), SECOND)
    assert (known.low, known.high) == (0, float("inf"))


@pytest.mark.parametrize("player", [0.0, 150.0])
def test_profile_intervals_cover(player: float) -> None:
    inside, fixed = 0, {UNIT: 0.0}
    for seed in range(100):
        model = MixedModel(units(8, 8, 6, player=player, event=100, seed=100 + seed))
        found = model.fit(fixed)
        # The profile's interval holds the truth if its drop there is under 3.84.
        true = model.fit({**fixed, FIRST: player**2}, starts=[found.components])
        inside += true.deviance - found.deviance <= chi2.ppf(0.95, 1)
    # At the border of what is possible they cover 97.5 % of the time.
    assert binom.ppf(0.001, 100, 0.95) <= inside
    assert player == 0 or inside <= binom.ppf(0.999, 100, 0.95)


def test_the_ends_of_an_interval_are_where_the_profile_has_fallen() -> None:
    model = MixedModel(units(8, 8, 6, player=200, event=100, seed=7))
    found = model.fit()
    for name in (DISPERSION, FIRST):
        known = model.profile(found, name)
        for end in (known.low, known.high):
            value = end if name == DISPERSION else end**2
            drop = model.fit({name: value}).deviance - found.deviance
            assert drop == pytest.approx(chi2.ppf(0.95, 1), rel=0.1), name


def test_what_cannot_be_fitted_is_refused() -> None:
    one = np.ones(3)
    codes = np.zeros(3, dtype=np.int64)
    with pytest.raises(InputError, match="information"):
        Units(one, np.array([1.0, 0.0, 1.0]), codes, codes, one[:, None])
    with pytest.raises(InputError, match="covariates"):
        Units(one, one, codes, codes, np.ones((2, 1)))
