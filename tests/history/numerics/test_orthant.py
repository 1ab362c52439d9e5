"""The quadrant of two correlated Gaussians against adaptive quadrature."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.integrate import IntegrationWarning, quad
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from milepost.history.numerics.orthant import _far_slopes, quadrant, quadrant_derivatives


def log_quadrant(h: float, k: float, rho: float) -> float:
    """Log P(a > 0, b > 0) by integrating over a, around the peak of the integrand."""
    h, k = min(h, k), max(h, k)
    x0 = math.sqrt((1 - rho) * (1 + rho))

    def log_f(x: float) -> float:
        return float(-x * x / 2 + log_ndtr((k + rho * x) / x0))

    peak = minimize_scalar(
        lambda x: -log_f(x), bounds=(-h, max(-h, 0) + 60), method="bounded",
        options={"xatol": 1e-10},
    ).x  # fmt: skip
    top, peak = max((log_f(-h), -h), (log_f(peak), peak))
    edges = []
    for sign in (-1, 1):
        step = 1e-6
        while log_f(peak + sign * step) - top > -50 and step < 100:
            step *= 1.3
        edges.append(peak + sign * step)
    points = np.linspace(max(-h, edges[0]), edges[1], 25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)
        total = math.fsum(
            quad(lambda x: math.exp(log_f(x) - top), a, b, epsabs=0, epsrel=1e-12)[0]
            for a, b in itertools.pairwise(points)
        )
    return top + math.log(total) - 0.5 * math.log(2 * math.pi)


@pytest.mark.parametrize("rho", [-0.1, -0.5, -0.79, -0.81, -0.95, -0.978, -0.995, -0.9999])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0, 10.0, 80.0])
def test_probability_against_quadrature(rho: float, scale: float) -> None:
    rng = np.random.default_rng(int(1000 * scale - 100 * rho))
    for draw in range(5):
        h, k = rng.normal(0, scale, 2)
        if draw % 2:
            # a band not wider than the margins' own spread: the hard region
            k = -h + abs(rng.normal()) * 3 * math.sqrt(1 - rho**2)
        if rho < -0.999 and min(h, k) < -30:
            continue  # 1e8 nats out, where relative accuracy is 1e-8
        exact = log_quadrant(h, k, rho)
        assert quadrant(h, k, rho)[1] == pytest.approx(exact, rel=2e-9, abs=2e-9)


@pytest.mark.parametrize("rho", [-0.3, -0.9, -0.98])
@pytest.mark.parametrize(("h", "k"), [(0.3, 0.4), (0.1, 0.0), (-1.5, 2.0), (3.0, -2.5), (-7, 8)])
def test_derivatives_against_differences(h: float, k: float, rho: float) -> None:
    _, l_h, l_k, l_hh, l_hk, l_kk = quadrant_derivatives(h, k, rho)
    e = 1e-4

    def log_z(x: float, y: float) -> float:
        return quadrant(x, y, rho)[1]

    def slope(x: float, y: float) -> tuple[float, float]:
        return quadrant_derivatives(x, y, rho)[1:3]

    assert l_h == pytest.approx((log_z(h + e, k) - log_z(h - e, k)) / (2 * e), abs=1e-4, rel=1e-4)
    assert l_k == pytest.approx((log_z(h, k + e) - log_z(h, k - e)) / (2 * e), abs=1e-4, rel=1e-4)
    up, down = slope(h + e, k), slope(h - e, k)
    assert l_hh == pytest.approx((up[0] - down[0]) / (2 * e), abs=1e-4, rel=1e-3)
    assert l_hk == pytest.approx((up[1] - down[1]) / (2 * e), abs=1e-4, rel=1e-3)
    assert l_kk == pytest.approx(
        (slope(h, k + e)[1] - slope(h, k - e)[1]) / (2 * e), abs=1e-4, rel=1e-3
    )


def test_quarter_of_the_plane_at_the_origin() -> None:
    for rho in (-0.999, -0.98, -0.5, -0.01):
        exact = 0.25 + math.asin(rho) / (2 * math.pi)
        assert quadrant(0.0, 0.0, rho)[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("x0", [0.001, 0.01, 0.05, 0.1, 0.17, 0.2, 0.2499])
def test_series_is_what_the_points_find(x0: float) -> None:
    """Where correlations are near -1 a series takes the place of quadrature: to 1e-10."""
    rng = np.random.default_rng(int(1e4 * x0))
    rho = -math.sqrt((1 - x0) * (1 + x0))
    x0 = math.sqrt((1 - rho) * (1 + rho))
    seen = 0
    while seen < 200:
        h = rng.uniform(-3.4, 4.0)
        k = -h + 4 * x0 * rng.normal() if seen % 2 else rng.uniform(-3.4, 4.0)
        if quadrant(h, k, rho)[0] < 1e-4:
            continue
        seen += 1
        log_z, l_h, l_k, joint = _far_slopes(h, k, rho, x0, (h - rho * k) / x0, (k - rho * h) / x0)
        found = quadrant_derivatives(h, k, rho)
        assert quadrant(h, k, rho)[1] == pytest.approx(log_z, abs=1e-10)
        assert found[:3] == pytest.approx((log_z, l_h, l_k), rel=1e-10, abs=1e-10)
        assert found[4] == pytest.approx(joint - l_h * l_k, rel=1e-9, abs=1e-9)
