"""Ratios between shares and powers: ℓ_i + κ ln ℓ_i = λ - ln y_i, ℓ = -ln p.

With κ = 1 this is the third form of the draft paper, p_i ln(1/p_0) / (p_0 ln(1/p_i)) = y_i, which
multiplies the ratio of shares with that of powers; ℓ is then Lambert's W of e^(λ - ln y). With
κ = 0 it is shares, and for large κ, with ln y taken (1 + κ) times, it goes to powers: one number
says how sharply improbable options are shunned.
"""

from __future__ import annotations

import math

from milepost.choice.ratios.powers import FURTHEST, ITERATIONS, NEARLY
from milepost.choice.spreads import Floats
from milepost.kernels import kernel

_UNDERFLOW = 745.0


@kernel
def solve_blend(
    z: Floats,
    start: int,
    stop: int,
    at: int,
    top: float,
    kappa: float,
    ln_p: Floats,
    rate: Floats,
) -> None:
    """Fill ln p and r = ℓ/(κ+ℓ) of one decision; `at` is its most attractive option."""
    others = 0
    for i in range(start, stop):
        others += i != at and z[i] > -math.inf
    x_top = -math.inf
    if others > 0:
        x_top = _top(z, start, stop, at, top, kappa, others, ln_p, rate)
    for i in range(start, stop):
        if i == at:
            ell = math.exp(x_top)
            ln_p[i] = -ell
            rate[i] = ell / (kappa + ell)
        elif z[i] == -math.inf:
            ln_p[i] = -math.inf
            rate[i] = 0.0
        else:
            ell = math.exp(ln_p[i])
            ln_p[i] = -ell
            rate[i] = ell / (kappa + ell)


@kernel
def ln_ell(b: float, kappa: float, x: float) -> float:
    """Solve e^x + κ x = b from a guess, by Newton; the left side is convex and rises."""
    for _ in range(100):
        e = math.exp(x)
        # From the flat side of the curve a whole step may jump far to the right.
        step = max((e + kappa * x - b) / (e + kappa), -3.0)
        x -= step
        if abs(step) <= 1e-8 * (1.0 + abs(x)):
            # The next step would be of the order of the square of this one.
            break
    return x


@kernel
def _carry(
    z: Floats,
    start: int,
    stop: int,
    at: int,
    top: float,
    kappa: float,
    lam: float,
    change: float,
    x: Floats,
    rate: Floats,
) -> tuple[float, float]:
    """Carry ln ℓ of the others along with λ and put it right; return Σ p and -dΣp/dλ."""
    rest = 0.0
    slope = 0.0
    for i in range(start, stop):
        if i == at or z[i] == -math.inf:
            continue
        # d ln ℓ / d λ = 1 / (κ + ℓ) = (1 - r) / κ
        guess = x[i] + change * (1.0 - rate[i]) / kappa
        x[i] = ln_ell(lam + min(top - z[i], FURTHEST), kappa, guess)
        ell = math.exp(x[i])
        rate[i] = ell / (kappa + ell)
        if ell < _UNDERFLOW:
            p = math.exp(-ell)
            rest += p
            slope += p * rate[i]
    return rest, slope


@kernel
def _top(
    z: Floats,
    start: int,
    stop: int,
    at: int,
    top: float,
    kappa: float,
    others: int,
    x: Floats,
    rate: Floats,
) -> float:
    """Solve for ln ℓ of the top option, by a safeguarded Newton; `x` is left with the others'.

    As for powers, on the logarithm of the ratio of what the others have and what the top option
    leaves. The bracket: with ℓ = ln n the top option has 1/n and no other one more.
    """
    high = math.log(math.log(others + 1.0)) + 1e-12
    low = -FURTHEST - 50.0
    x_top = high - 0.7
    lam = math.exp(x_top) + kappa * x_top
    for i in range(start, stop):
        # Above the root: e^x + κ x = b has x ≤ ln b for b > 1, and x ≤ b / κ for b < 0.
        b = lam + min(top - z[i], FURTHEST)
        x[i] = math.log(b) if b > 1.0 else min(b / kappa, 0.0) if b < 0.0 else 0.0
        rate[i] = 1.0
    change = 0.0
    for _ in range(ITERATIONS):
        ell = math.exp(x_top)
        rest, slope = _carry(z, start, stop, at, top, kappa, ell + kappa * x_top, change, x, rate)
        left = -math.expm1(-ell)
        k = math.log(rest / left) if rest > 0.0 else -math.inf
        if k > 0.0:
            low = x_top
        else:
            high = x_top
        new = 0.5 * (low + high)
        if rest > 0.0:
            # d λ / d x = κ + ℓ; d ln(1 - e^-ℓ) / d x = ℓ e^-ℓ / (1 - e^-ℓ)
            newton = x_top + k / ((slope / rest) * (kappa + ell) + ell * (1.0 - left) / left)
            if low <= newton <= high:
                new = newton
        change = math.exp(new) - ell + kappa * (new - x_top)
        x_top = new
        if abs(k) <= NEARLY or change == 0.0:
            break
    lam = math.exp(x_top) + kappa * x_top
    _carry(z, start, stop, at, top, kappa, lam, change, x, rate)
    return x_top
