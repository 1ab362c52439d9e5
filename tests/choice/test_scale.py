"""Scaled differences against quadrature and the worked values of the reference."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from tests.choice.makers import plain_differences, realistic_spreads

from milepost.choice import Scale, Spreads
from milepost.choice.scale import depth_differences, raw_losses, scaled_differences
from milepost.errors import InputError

PLAIN = Scale(tie_shift=0.0, cap=None)


def quadrature(low: float, high: float, constant: float) -> float:
    """∫ dx / (C + |x|) by scipy.integrate.quad, on either side of the kink."""
    cuts = [low, 0.0, high] if low < 0 < high else [low, high]
    return sum(
        float(integrate.quad(lambda x: 1 / (constant + abs(x)), a, b, epsabs=1e-12)[0])
        for a, b in pairwise(cuts)
    )


@settings(max_examples=60, deadline=None)
@given(
    values=st.tuples(*[st.integers(-12_000, 12_000).map(lambda x: x / 1000)] * 2),
    constant=st.sampled_from([0.3, 1.0, 2.5]),
)
def test_log_scale_is_the_integral(values: tuple[float, float], constant: float) -> None:
    best, worse = max(values), min(values)
    spreads = Spreads.from_lists([[best, worse]], [0])
    delta = scaled_differences(spreads, Scale(constant=constant, tie_shift=0.0, cap=None))
    assert delta[0] == 0.0
    assert delta[1] == pytest.approx(quadrature(worse, best, constant), abs=2e-12)


@pytest.mark.parametrize(
    ("best", "worse", "expected"),
    [
        (0.0, -1.0, 0.693),  # ipr_math, section 1
        (1.0, 0.0, 0.693),
        (-1.0, -2.0, 0.405),
        (0.5, -0.5, 0.811),  # opposite signs: ln 1.5 + ln 1.5
    ],
)
def test_the_worked_values(best: float, worse: float, expected: float) -> None:
    delta = scaled_differences(Spreads.from_lists([[best, worse]], [0]), PLAIN)
    assert delta[1] == pytest.approx(expected, abs=6e-4)


def test_realistic_spreads_by_the_paper() -> None:
    """The two cases of the paper written out, with cap and tie shift."""
    spreads = realistic_spreads(2, 60)
    delta = scaled_differences(spreads, Scale())
    for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
        plain = plain_differences([float(v) for v in spreads.values[start:stop]])
        np.testing.assert_allclose(delta[start:stop], plain, atol=1e-14)


def test_the_cap_clips_but_keeps() -> None:
    spreads = Spreads.from_lists([[0.5, -3.4, -3.5, -3.6, -90.0]], [0])
    delta = scaled_differences(spreads, Scale(tie_shift=0.0, cap=4.0))
    at_cap = math.log(1.5) + math.log(4.5)
    np.testing.assert_allclose(delta[2:], at_cap, atol=1e-14)
    assert delta[1] < at_cap
    raw = scaled_differences(spreads, Scale("raw", tie_shift=0.0, cap=4.0))
    np.testing.assert_allclose(raw, [0.0, 3.9, 4.0, 4.0, 4.0], atol=1e-14)
    np.testing.assert_allclose(
        scaled_differences(spreads, Scale("raw", tie_shift=0.0, cap=None)), raw_losses(spreads)
    )


def test_only_later_ties_of_the_best_are_shifted() -> None:
    spreads = Spreads.from_lists([[0.2, 0.2, 0.19, 0.0, 0.0, 0.2], [-1.0, -1.5, -1.5]], [0, 0])
    delta = scaled_differences(spreads, Scale("raw", tie_shift=0.03))
    np.testing.assert_allclose(delta, [0, 0.03, 0.03, 0.01, 0.2, 0.2, 0, 0.5, 0.5], atol=1e-15)
    off = scaled_differences(spreads, Scale("raw", tie_shift=0.0))
    np.testing.assert_allclose(off, [0, 0, 0, 0.01, 0.2, 0.2, 0, 0.5, 0.5], atol=1e-15)


def test_capped_options_are_no_ties() -> None:
    delta = scaled_differences(Spreads.from_lists([[9.0, 1.0, 1.0]], [0]), Scale("raw"))
    assert delta.tolist() == [0.0, 4.0, 4.0]


def test_win_probability() -> None:
    """1 / (1 + 10^(-cp/400)), values in pawns."""
    values = [2.5, 0.3, 0.0, -1.2]
    chance = [1 / (1 + 10 ** (-100 * v / 400)) for v in values]
    delta = scaled_differences(
        Spreads.from_lists([values], [0]), Scale("win-probability", cap=None, tie_shift=0.0)
    )
    np.testing.assert_allclose(delta, [chance[0] - c for c in chance], atol=1e-15)
    assert chance[0] - chance[2] == pytest.approx(0.8083176725494586 - 0.5)


def test_padding_is_infinitely_far() -> None:
    spreads = Spreads.from_lists([[0.5, 0.5, -np.inf]], [0])
    for difference in ("log", "raw", "win-probability"):
        delta = scaled_differences(spreads, Scale(difference))
        assert delta[2] == np.inf
        assert delta[1] == 0.03


def test_depths_are_taken_against_the_best_of_their_own() -> None:
    table = [[[0.1, 0.5], [0.4, 0.2], [0.4, 0.5]]]
    spreads = Spreads.from_lists([[0.5, 0.2, 0.5]], [0], depth_values=table, depths=[3, 9])
    # best first: 0.5 (0.1 at depth 3), 0.5 (0.4), 0.2 (0.4)
    delta = depth_differences(spreads, Scale("raw"), [3, 9])
    np.testing.assert_allclose(delta, [[0.3, 0.0], [0.0, 0.03], [0.0, 0.3]], atol=1e-15)
    np.testing.assert_array_equal(
        depth_differences(spreads, Scale("raw"), [9])[:, 0],
        scaled_differences(spreads, Scale("raw")),
    )


def test_a_missing_depth_takes_the_next_greater_one() -> None:
    nan = np.nan
    table = [[[nan, 0.3, 0.5], [0.9, nan, 0.2], [nan, nan, 0.1]]]
    spreads = Spreads.from_lists([[0.5, 0.2, 0.1]], [0], depth_values=table)
    delta = depth_differences(spreads, Scale("raw", tie_shift=0.0), [1, 2, 3])
    seen = np.array([[0.3, 0.3, 0.5], [0.9, 0.2, 0.2], [0.1, 0.1, 0.1]])
    np.testing.assert_allclose(delta, seen.max(axis=0) - seen, atol=1e-15)


def test_the_final_depth_has_the_final_values() -> None:
    """The last column does not count: `values` does."""
    spreads = Spreads.from_lists([[0.5, 0.2]], [0], depth_values=[[[0.5, np.nan], [0.2, 7.0]]])
    delta = depth_differences(spreads, Scale("raw"), [2])
    np.testing.assert_allclose(delta[:, 0], [0.0, 0.3], atol=1e-15)


def test_depths_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match=r"\[4\] are needed; have 1, 2, 3"):
        depth_differences(realistic_spreads(3, 2, depths=True), Scale(), [1, 4])
    with pytest.raises(InputError, match="have none"):
        depth_differences(realistic_spreads(3, 2), Scale(), [1])
