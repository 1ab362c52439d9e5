"""The positive quadrant of two correlated Gaussians: its probability, slope and curvature.

For a ~ N(A, s_a²), b ~ N(B, s_b²) with correlation rho < 0, h = A / s_a, k = B / s_b:
Z = P(a > 0, b > 0) = Phi2(h, k; rho). All moments of the truncated pair follow from Z and two
one-dimensional terms (Rosenbaum 1961, Tallis 1961); here in the form of derivatives of log Z.

Phi2 is found from its limit at rho = -1 and Plackett's (1954) derivative in rho,

    Phi2(h, k; rho) = max(0, Phi(h) + Phi(k) - 1)
        + 1/(2 pi) int_0^x0 exp(-(h+k)²/(2x²) + h k / (1 + sqrt(1-x²))) / sqrt(1-x²) dx,

x0 = sqrt(1 - rho²), for rho < -0.8; from rho = 0 else (Drezner & Wesolowsky 1990); both by
Gauss-Legendre with as many points as the integrand asks for. Where x0 is small, as it is for draws
between players whose margins are known well beside the noise of a game, the integral's smooth part
is a short series in x², every term of which has a closed form: no points at all. Where Z is small
(players far apart) the quadrant is integrated from its corner with relative accuracy instead.
Measured against adaptive quadrature: log Z to 1e-9 or better, 80 sd out included
(tests/history/numerics/test_orthant.py).
"""

from __future__ import annotations

import math

import numpy as np

from milepost.history.numerics.gaussians import below, density, in_table, log_below
from milepost.history.records import Floats
from milepost.kernels import inner_kernel, kernel

_TWO_PI = 2.0 * math.pi
_SMALL = 1e-4


def _points(number: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(number)
    return np.ascontiguousarray(0.5 * (x + 1.0)), np.ascontiguousarray(0.5 * w)


_X16, _W16 = _points(16)
_X32, _W32 = _points(32)

_NARROW = 0.25
"""Up to this x0 the series below is used."""
_TERMS = 8
_NO_WEIGHT = 45.0
"""So many nats down nothing is left of a probability."""


def _series() -> tuple[tuple[float, ...], ...]:
    """Coefficients of exp(p / (1 + r) - p / 2) / r, r = sqrt(1 - y), in y and then in p.

    The first left out is about 0.2 y⁸, which is 5e-11 at the largest x0, and 1e-13 in Z.
    """
    # 1 / (1 + r) has Catalan numbers over 2 4^n as its coefficients; with its derivative c the
    # logarithm of the whole has the derivative p c + 1 / (2 (1 - y)).
    c = [n * math.comb(2 * n, n) / (n + 1) / (2.0 * 4.0**n) for n in range(1, _TERMS)]
    rows = [np.eye(1, _TERMS)[0]]
    for n in range(1, _TERMS):
        total = np.zeros(_TERMS)
        for k in range(n):
            total += 0.5 * rows[n - 1 - k]
            total[1:] += c[k] * rows[n - 1 - k][:-1]
        rows.append(total / n)
    return tuple(tuple(float(x) for x in row[: n + 1]) for n, row in enumerate(rows))


_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7 = _series()


@kernel
def _near_minus_one(h: float, k: float, x0: float) -> float:
    """Plackett's integral from rho = -1."""
    total = 0.0
    spread = 0.5 * (h + k) * (h + k)
    product = h * k
    steep = spread / (x0 * x0)
    if steep > 45.0:
        return 0.0
    # exp(-steep / u²) on (0, 1]: a steep one lives near 1 only; a flat one has a kink near 0.
    if steep > 2.0:
        low = math.sqrt(steep / (steep + 40.0))
        for n in range(16):
            u = low + (1.0 - low) * _X16[n]
            x = x0 * u
            root = math.sqrt(1.0 - x * x)
            inner = product / (1.0 + root) - spread / (x * x)
            total += _W16[n] * math.exp(inner) / root
        return total * (1.0 - low) * x0 / _TWO_PI
    # Flat: the first three terms of the smooth part in x² exactly (Genz 2004), the rest by points.
    x2 = x0 * x0
    fall = x0 * math.exp(-steep)
    gap = abs(h + k)
    zero = fall - gap * math.sqrt(_TWO_PI) * below(-gap / x0)
    one = (x2 * fall - 2.0 * spread * zero) / 3.0
    two = (x2 * x2 * fall - 2.0 * spread * one) / 5.0
    g1 = 0.125 * product + 0.5
    g2 = 0.125 * product + product * product / 128.0 + 0.375
    start = math.exp(0.5 * product)
    for n in range(16):
        x = x0 * _X16[n]
        xx = x * x
        root = math.sqrt(1.0 - xx)
        smooth = math.exp(product / (1.0 + root)) / root - start * (1.0 + xx * (g1 + xx * g2))
        total += _W16[n] * smooth * math.exp(-spread / xx)
    return (total * x0 + start * (zero + g1 * one + g2 * two)) / _TWO_PI


@kernel
def _from_zero(h: float, k: float, rho: float) -> float:
    """Plackett's integral from rho = 0."""
    total = 0.0
    angle = math.asin(rho)
    for n in range(32):
        sine = math.sin(angle * _X32[n])
        inner = (h * k * sine - 0.5 * (h * h + k * k)) / (1.0 - sine * sine)
        total += _W32[n] * math.exp(inner)
    return total * angle / _TWO_PI


@kernel
def _log_corner(h: float, k: float, rho: float, x0: float) -> float:
    """Log Phi2 with relative accuracy, for h <= k: integrate over a from the corner outwards.

    Z = N(h) int_0^oo exp(h s - s²/2) Phi((k - rho h + rho s) / x0) ds for h <= 0: the integrand
    falls from s = 0 on, and its logarithm is concave.
    """
    start = (k - rho * h) / x0
    slope = rho / x0
    top = log_below(start)
    # where the integrand has fallen by 40 nats
    low, high = 0.0, 1.0
    while h * high - 0.5 * high * high + log_below(start + slope * high) - top > -40.0:
        low, high = high, 2.0 * high
    for _ in range(8):
        middle = 0.5 * (low + high)
        if h * middle - 0.5 * middle * middle + log_below(start + slope * middle) - top > -40.0:
            low = middle
        else:
            high = middle
    # panels that grow: the fall may be steep at once, or begin at an edge inside
    total = 0.0
    panels = 6
    for panel in range(panels):
        begin, end = high * panel / panels, high * (panel + 1) / panels
        for n in range(16):
            s = begin + (end - begin) * _X16[n]
            inner = h * s - 0.5 * s * s + log_below(start + slope * s) - top
            total += _W16[n] * (end - begin) * math.exp(inner)
    return math.log(density(0.0)) - 0.5 * h * h + top + math.log(total)


@inner_kernel
def _is_narrow(h: float, k: float, x0: float) -> bool:
    return x0 <= _NARROW and min(h, k) > -3.5 and max(h, k) < 25.0


@inner_kernel
def _in_narrow(h: float, k: float, x0: float) -> tuple[float, float, float]:
    """Return Z where x0 is small, and the densities at h and k."""
    density_h, density_k = density(h), density(k)
    z = 0.0
    gap = abs(h + k)
    if h + k > 0.0:
        tail_h, tail_k = density_h / in_table(-abs(h)), density_k / in_table(-abs(k))
        z = (1.0 - tail_h if h > 0.0 else tail_h) - (tail_k if k > 0.0 else 1.0 - tail_k)
    x2 = x0 * x0
    twice = gap * gap
    steep = 0.5 * twice / x2
    if steep < _NO_WEIGHT:
        # int x^2n exp(-spread / x²) dx for n = 0, and each of the others from the one before it
        part = gap / in_table(-gap / x0)
        i_0 = x0 - part
        edge = x0 * x2
        i_1 = (edge - twice * i_0) * (1.0 / 3.0)
        edge *= x2
        i_2 = (edge - twice * i_1) * (1.0 / 5.0)
        edge *= x2
        i_3 = (edge - twice * i_2) * (1.0 / 7.0)
        edge *= x2
        i_4 = (edge - twice * i_3) * (1.0 / 9.0)
        edge *= x2
        i_5 = (edge - twice * i_4) * (1.0 / 11.0)
        edge *= x2
        i_6 = (edge - twice * i_5) * (1.0 / 13.0)
        edge *= x2
        i_7 = (edge - twice * i_6) * (1.0 / 15.0)
        p = h * k
        pp = p * p
        p4 = pp * pp
        total = i_0 + i_1 * (_S1[0] + _S1[1] * p)
        total += i_2 * (_S2[0] + _S2[1] * p + _S2[2] * pp)
        total += i_3 * (_S3[0] + _S3[1] * p + (_S3[2] + _S3[3] * p) * pp)
        total += i_4 * (_S4[0] + _S4[1] * p + (_S4[2] + _S4[3] * p) * pp + _S4[4] * p4)
        total += i_5 * (
            _S5[0] + _S5[1] * p + (_S5[2] + _S5[3] * p) * pp + (_S5[4] + _S5[5] * p) * p4
        )
        total += i_6 * (
            _S6[0] + _S6[1] * p + (_S6[2] + _S6[3] * p) * pp
            + (_S6[4] + _S6[5] * p + _S6[6] * pp) * p4
        )  # fmt: skip
        total += i_7 * (
            _S7[0] + _S7[1] * p + (_S7[2] + _S7[3] * p) * pp
            + (_S7[4] + _S7[5] * p + (_S7[6] + _S7[7] * p) * pp) * p4
        )  # fmt: skip
        z += total * math.exp(0.5 * p - steep) / _TWO_PI
    return z, density_h, density_k


@kernel
def quadrant(h: float, k: float, rho: float) -> tuple[float, float]:
    """Return Z = Phi2(h, k; rho) and its logarithm, for -1 < rho <= 0."""
    x0 = math.sqrt((1.0 - rho) * (1.0 + rho))
    if _is_narrow(h, k, x0):
        z, _, _ = _in_narrow(h, k, x0)
        if z > _SMALL:
            return z, math.log(z)
    return _anywhere(h, k, rho, x0)


@kernel
def _anywhere(h: float, k: float, rho: float, x0: float) -> tuple[float, float]:
    """Return Z and its logarithm by points."""
    low, high = min(h, k), max(h, k)
    if low > -3.5:
        if rho < -0.8:
            z = _near_minus_one(h, k, x0)
            if h + k > 0.0:
                # Phi(h) + Phi(k) - 1, with the smaller tail subtracted from the smaller part
                z += below(low) - below(-high)
        else:
            z = below(h) * below(k) + _from_zero(h, k, rho)
        if z > _SMALL:
            return z, math.log(z)
    if low <= 0.0:
        log_z = _log_corner(low, high, rho, x0)
        return math.exp(log_z), log_z
    # Both positive, and yet improbable: rho next to -1, h and k next to 0; nothing to lose there.
    z = max(z, 1e-300)
    return z, math.log(z)


@inner_kernel
def quadrant_derivatives(
    h: float, k: float, rho: float
) -> tuple[float, float, float, float, float, float]:
    """Return log Z and its derivatives: L_h, L_k, L_hh, L_hk, L_kk."""
    x0 = math.sqrt((1.0 - rho) * (1.0 + rho))
    inverse = 1.0 / x0
    to_k, to_h = (k - rho * h) * inverse, (h - rho * k) * inverse
    z = 0.0
    if _is_narrow(h, k, x0):
        z, density_h, density_k = _in_narrow(h, k, x0)
    if z > _SMALL:
        # N(h) N(to_k) = N(k) N(to_h) is the density of both, times x0. Its share of a tail beyond
        # 25 sd is nothing: any number will do there.
        both = math.exp(-0.5 * (h * h + to_k * to_k)) / _TWO_PI
        tail_k = both / in_table(-min(abs(to_k), 25.0))
        tail_h = both / in_table(-min(abs(to_h), 25.0))
        over = 1.0 / z
        log_z = math.log(z)
        l_h = (density_h - tail_k if to_k > 0.0 else tail_k) * over
        l_k = (density_k - tail_h if to_h > 0.0 else tail_h) * over
        joint = both * inverse * over
    else:
        log_z, l_h, l_k, joint = _far_slopes(h, k, rho, x0, to_h, to_k)
    return (
        log_z,
        l_h,
        l_k,
        -h * l_h - rho * joint - l_h * l_h,
        joint - l_h * l_k,
        -k * l_k - rho * joint - l_k * l_k,
    )


@kernel
def _far_slopes(
    h: float, k: float, rho: float, x0: float, to_h: float, to_k: float
) -> tuple[float, float, float, float]:
    """Return log Z, its slopes and the density of both over Z, however small Z is."""
    _, log_z = _anywhere(h, k, rho, x0)
    # everything over Z, in logarithms, so that far draws do not become 0 / 0
    norm = math.log(_TWO_PI)
    l_h = math.exp(-0.5 * h * h - 0.5 * norm + log_below(to_k) - log_z)
    l_k = math.exp(-0.5 * k * k - 0.5 * norm + log_below(to_h) - log_z)
    return log_z, l_h, l_k, math.exp(-0.5 * (h * h + to_k * to_k) - norm - log_z) / x0
