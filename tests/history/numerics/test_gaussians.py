"""Truncated Gaussians against quadrature and exact forms, far out in the tails too."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import IntegrationWarning, quad
from scipy.special import erfcx, log_ndtr

from milepost.history.numerics.gaussians import (
    draw_moments,
    log_below,
    log_draw,
    log_z_parts,
    ratio,
    win_moments,
)


def quadrature(t: float, alpha: float) -> tuple[float, float, float]:
    """Log Z, v, w of a draw: the density exp(u t - u²/2) over |u| < alpha, scaled by its peak."""
    peak = min(alpha, max(-alpha, t))
    top = peak * t - peak * peak / 2
    width = 40 / max(1.0, abs(t - peak))
    low, high = max(-alpha, peak - width), min(alpha, peak + width)

    def moment(power: int, about: float) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IntegrationWarning)
            edges = np.linspace(low, high, 9)
            return math.fsum(
                quad(
                    lambda u: (u - about) ** power * math.exp(u * t - u * u / 2 - top),
                    a, b, epsabs=0, epsrel=1e-12,
                )[0]
                for a, b in itertools.pairwise(edges)
            )  # fmt: skip

    mass = moment(0, 0.0)
    mean = peak + moment(1, peak) / mass
    log_z = math.log(mass) + top - t * t / 2 - 0.5 * math.log(2 * math.pi)
    return log_z, mean - t, 1 - moment(2, mean) / mass


def test_ratio_is_exact_from_80_sd_below_to_8_above() -> None:
    for x in np.concatenate([np.linspace(-80, 8, 3001), [-1e3, -1e6]]):
        exact = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
        assert ratio(x) == pytest.approx(exact, rel=1e-12)


def test_the_last_number_before_the_end_of_the_table() -> None:
    for x in (np.nextafter(4.0, 0.0), 4.0, -26.0, np.nextafter(-26.0, -30.0)):
        exact = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
        assert win_moments(float(x))[0] == pytest.approx(exact, rel=1e-12)


def test_log_z_in_parts_is_log_z() -> None:
    for t in np.concatenate([np.linspace(-12, 12, 401), [-40.0, 30.0]]):
        for alpha in (1e-3, 0.02, 0.3, 1.0, 5.0):
            a, b = log_z_parts(t, alpha, True)
            assert a - math.log(b) == pytest.approx(log_draw(t, alpha), rel=1e-12, abs=1e-13)
            a, b = log_z_parts(t, alpha, False)
            assert a - math.log(b) == pytest.approx(log_ndtr(t - alpha), rel=1e-12, abs=1e-13)


def test_win_moments_in_the_far_tail() -> None:
    for x in (-30.0, -80.0, -1e4, -1e8):
        v, w = win_moments(x)
        # v = y + 1/y - 2/y³ ..., w = 1 - 1/y² + 6/y⁴ ...
        assert v == pytest.approx(-x - 1 / x, rel=1e-5)
        assert 1 - w == pytest.approx(1 / x**2, rel=1e-2, abs=1e-15)
        assert 0 <= w <= 1


def test_log_below_against_scipy() -> None:
    for x in np.linspace(-90, 12, 997):
        assert log_below(x) == pytest.approx(float(log_ndtr(x)), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 0.001, 0.0199, 0.0201, 0.1, 0.4, 1, 3, 10, 40])
@pytest.mark.parametrize("t", [0.0, 0.1, 0.7, 3.0, 10.0, 25.0, 80.0])
def test_draws_against_quadrature(t: float, alpha: float) -> None:
    log_z, v, w = quadrature(t, alpha)
    assert log_draw(t, alpha) == pytest.approx(log_z, rel=1e-11, abs=1e-11)
    assert draw_moments(t, alpha) == pytest.approx((v, w), rel=1e-9, abs=1e-9)


def test_the_papers_misprint_is_put_right() -> None:
    # ttt_math.md: at t = 0.4, alpha = 0.7 the printed minus would give -0.145
    assert draw_moments(0.4, 0.7)[1] == pytest.approx(0.849, abs=5e-4)


@given(st.floats(-90, 90), st.floats(1e-9, 60))
def test_draws_are_symmetric_and_w_lies_between_0_and_1(t: float, alpha: float) -> None:
    v, w = draw_moments(t, alpha)
    assert draw_moments(-t, alpha) == pytest.approx((-v, w), abs=1e-15)
    assert 0 <= w <= 1
    assert math.isfinite(v)
    assert math.isfinite(log_draw(t, alpha))


@given(st.floats(-8, 8), st.floats(0.001, 6))
def test_win_draw_and_loss_sum_to_one(t: float, alpha: float) -> None:
    logs = (log_below(t - alpha), log_draw(t, alpha), log_below(-t - alpha))
    assert math.fsum(map(math.exp, logs)) == pytest.approx(1.0, abs=1e-12)


def test_an_infinite_margin_brings_no_news() -> None:
    assert draw_moments(1.0, math.inf) == (0.0, 0.0)
    assert log_draw(1.0, math.inf) == 0.0
