"""Two numbers at once: in machine code as in plain Python, and as one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.history.numerics import lanes
from milepost.history.numerics.gaussians import (
    draw_moments,
    draw_moments_of_two,
    draws_in_table,
    log_z_parts,
    log_z_parts_of_two,
    win_moments,
    win_moments_of_two,
    wins_in_table,
)
from milepost.history.numerics.lanes import (
    at_least,
    at_most,
    bits,
    both_above,
    both_below,
    chosen,
    firsts,
    pair,
    pair_at,
    parts,
    roots,
    seconds,
    set_pair,
    signed,
    sizes,
)
from milepost.kernels import kernel, kernel_digest


@kernel
def every_function(array: Any, out: Any) -> tuple[int, bool, bool, float, float]:
    """Use each of them once or more; what is written to `out` and returned tells what they do."""
    a, b = pair_at(array, 0, 0), pair_at(array, 1, 1)
    set_pair(out, 0, 0, a + b * 2.0)
    set_pair(out, 0, 2, 3.0 - a / b)
    set_pair(out, 1, 0, firsts(a, b) * seconds(a, b))
    set_pair(out, 1, 2, roots(sizes(a)) - signed(b, a))
    set_pair(out, 2, 0, at_most(at_least(a, 0.5), 2.0))
    set_pair(out, 2, 2, chosen(both_above(a, -10.0), a, b))
    low, high = bits(a)
    one, two = parts(pair(1.5, 2.5) + 1.0 / b)
    return int((low ^ high) >> np.uint64(40)), both_above(a, 0.0), both_below(a, 9.0), one, two


def test_machine_code_does_what_plain_python_does() -> None:
    array = np.array([[1.25, -4.0, 3.0], [0.5, 7.0, -0.3]])
    found, expected = np.zeros((3, 4)), np.zeros((3, 4))
    plain = getattr(every_function, "py_func", every_function)
    assert every_function(array, found) == pytest.approx(plain(array, expected), rel=1e-15)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_numbers_that_are_none() -> None:
    assert not both_above(np.array([1.0, math.nan]), 0.0)
    assert not both_below(np.array([math.nan, 1.0]), 2.0)
    assert np.isnan(roots(np.array([4.0, -4.0])).tolist()).tolist() == [False, True]


@kernel
def wins_of_two(x: Any, out: Any) -> bool:
    """Moments, then the parts of log Z, of two wins."""
    at = pair(x[0], x[1])
    if not wins_in_table(at):
        return False
    v, w = win_moments_of_two(at)
    exponent, over = log_z_parts_of_two(at, at, False)
    for row, value in enumerate((v, w, exponent, over)):
        set_pair(out, row, 0, value)
    return True


@kernel
def draws_of_two(t: Any, alpha: Any, out: Any) -> bool:
    """The same of two draws."""
    at, margin = pair(t[0], t[1]), pair(alpha[0], alpha[1])
    if not draws_in_table(at, margin):
        return False
    v, w = draw_moments_of_two(at, margin)
    exponent, over = log_z_parts_of_two(at, margin, True)
    for row, value in enumerate((v, w, exponent, over)):
        set_pair(out, row, 0, value)
    return True


@given(st.lists(st.floats(-25.9, 3.9), min_size=2, max_size=2))
def test_two_wins_are_one_win_twice(x: list[float]) -> None:
    out = np.empty((4, 2))
    assert wins_of_two(np.array(x), out)
    for lane, at in enumerate(x):
        one = (*win_moments(at), *log_z_parts(at, 0.0, False))
        assert out[:, lane] == pytest.approx(one, rel=1e-14, abs=1e-15)


@given(
    st.lists(st.floats(-20, 20), min_size=2, max_size=2),
    st.lists(st.floats(0.03, 3.9), min_size=2, max_size=2),
)
def test_two_draws_are_one_draw_twice(t: list[float], alpha: list[float]) -> None:
    out = np.empty((4, 2))
    assert draws_of_two(np.array(t), np.array(alpha), out)
    for lane in range(2):
        one = (*draw_moments(t[lane], alpha[lane]), *log_z_parts(t[lane], alpha[lane], True))
        assert out[:, lane] == pytest.approx(one, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("x", [(-26.5, 0.0), (0.0, 4.0), (math.nan, 0.0)])
def test_wins_out_of_the_table_are_told(x: tuple[float, float]) -> None:
    assert not wins_of_two(np.array(x), np.empty((4, 2)))


@pytest.mark.parametrize("alpha", [(0.01, 1.0), (1.0, 6.0), (1.0, math.nan)])
def test_draws_out_of_the_table_are_told(alpha: tuple[float, float]) -> None:
    assert not draws_of_two(np.array([0.1, 0.2]), np.array(alpha), np.empty((4, 2)))


@pytest.mark.skipif(not hasattr(every_function, "py_func"), reason="nothing is compiled")
def test_a_change_of_the_instructions_is_a_change_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # `pair` is a function of plain Python: its code alone would not tell.
    before = kernel_digest(wins_of_two)
    monkeypatch.setitem(vars(lanes.pair), "written_by", "something else")
    assert kernel_digest(wins_of_two) != before
