"""Splines: SciPy's own, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from milepost.intrinsic.rating.splines import (
    EvenSpline,
    slope_shares,
    slope_shares_at,
    value_shares,
    values_of_rows,
)

X = np.arange(0.0, 4001.0, 100.0)
ROWS = np.random.default_rng(3).normal(size=(5, len(X))).cumsum(axis=1)
AT = np.linspace(-150.0, 4150.0, 301)


def test_rows_are_scipys() -> None:
    ours, theirs = EvenSpline(X, ROWS), CubicSpline(X, ROWS, axis=1)
    assert ours(AT) == pytest.approx(theirs(AT), abs=1e-11)
    assert ours.slope(AT) == pytest.approx(theirs(AT, 1), abs=1e-13)
    assert ours(1234.5) == pytest.approx(theirs(1234.5), abs=1e-12)


def test_one_row_and_one_place_each() -> None:
    assert EvenSpline(X, ROWS[0])(AT) == pytest.approx(CubicSpline(X, ROWS[0])(AT), abs=1e-11)
    own = np.array([0.0, 4000.0, 17.0, 2050.0, 3999.9])
    theirs = [CubicSpline(X, row) for row in ROWS]
    spline = EvenSpline(X, ROWS)
    assert spline.of_rows(own) == pytest.approx(
        [float(s(x)) for s, x in zip(theirs, own, strict=True)]
    )
    slopes = [float(s(x, 1)) for s, x in zip(theirs, own, strict=True)]
    assert spline.slope_of_rows(own) == pytest.approx(slopes)


@pytest.mark.parametrize("count", [4, 5])
def test_few_points(count: int) -> None:
    x = np.linspace(0.0, 2.0 * count - 2.0, count)
    assert EvenSpline(x, x**2 / 4.0)(3.0) == pytest.approx(2.25)


def test_many_rows_at_the_same_places_are_one_product() -> None:
    spline = EvenSpline(X, ROWS)
    assert pytest.approx(spline(AT), abs=1e-11) == ROWS @ value_shares(X, AT).T
    assert pytest.approx(spline.slope(AT), abs=1e-13) == ROWS @ slope_shares(X, AT).T
    for at in (-20.0, 0.0, 1234.5, 4000.0, 4100.0):
        assert slope_shares_at(X, at) == pytest.approx(slope_shares(X, at), abs=1e-15)


def test_some_rows_at_the_same_places_are_the_product() -> None:
    rng = np.random.default_rng(8)
    table, places = rng.normal(0, 5, (30, 41)), rng.uniform(0, 4000, 17)
    rows, shares = rng.integers(0, 30, 50), value_shares(np.arange(0.0, 4001.0, 100.0), places)
    np.testing.assert_allclose(
        values_of_rows(table, rows, shares), table[rows] @ shares.T, rtol=1e-12, atol=1e-12
    )
    assert values_of_rows(table, rows[:0], shares).shape == (0, 17)
