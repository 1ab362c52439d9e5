"""The third ratio, of the draft paper: p_i ln(1/p_0) / (p_0 ln(1/p_i)) = y_i.

It multiplies the ratio of shares with that of powers. With ℓ = -ln p it reads
ℓ_i + ln ℓ_i = λ - ln y_i, so that ℓ is Lambert's W of e^(λ - ln y).
"""

from __future__ import annotations

import math

from milepost.choice.powers import FURTHEST, ITERATIONS, NEARLY
from milepost.choice.spreads import Floats
from milepost.kernels import kernel

_UNDERFLOW = 745.0


@kernel
def solve_product(
    z: Floats, start: int, stop: int, at: int, top: float, ln_p: Floats, rate: Floats
) -> None:
    """Fill ln p and r = ℓ/(1+ℓ) of one decision; `at` is its most attractive option."""
    others = 0
    for i in range(start, stop):
        others += i != at and z[i] > -math.inf
    x_top = -math.inf
    if others > 0:
        x_top = _top(z, start, stop, at, top, others, ln_p, rate)
    for i in range(start, stop):
        if i == at:
            ell = math.exp(x_top)
            ln_p[i] = -ell
            rate[i] = ell / (1.0 + ell)
        elif z[i] == -math.inf:
            ln_p[i] = -math.inf
            rate[i] = 0.0
        else:
            ell = math.exp(ln_p[i])
            ln_p[i] = -ell
            rate[i] = ell / (1.0 + ell)


@kernel
def _ln_ell(b: float, x: float) -> float:
    """Solve e^x + x = b from a guess, by Newton; the left side is convex and rises."""
    for _ in range(50):
        e = math.exp(x)
        step = (e + x - b) / (e + 1.0)
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
        guess = x[i] + change * (1.0 - rate[i])
        x[i] = _ln_ell(lam + min(top - z[i], FURTHEST), guess)
        ell = math.exp(x[i])
        rate[i] = ell / (1.0 + ell)
        if ell < _UNDERFLOW:
            p = math.exp(-ell)
            rest += p
            slope += p * rate[i]
    return rest, slope


@kernel
def _top(
    z: Floats, start: int, stop: int, at: int, top: float, others: int, x: Floats, rate: Floats
) -> float:
    """Solve for ln ℓ of the top option, by a safeguarded Newton; `x` is left with the others'.

    As for powers, on the logarithm of the ratio of what the others have and what the top option
    leaves. The bracket: with ℓ = ln n the top option has 1/n and no other one more.
    """
    high = math.log(math.log(others + 1.0)) + 1e-12
    low = -FURTHEST - 50.0
    x_top = high - 0.7
    lam = math.exp(x_top) + x_top
    for i in range(start, stop):
        b = lam + min(top - z[i], FURTHEST)
        x[i] = b if b < 0.0 else math.log1p(b) - 0.5 * math.log1p(0.25 * b)
        rate[i] = 0.0
    change = 0.0
    for _ in range(ITERATIONS):
        ell = math.exp(x_top)
        rest, slope = _carry(z, start, stop, at, top, ell + x_top, change, x, rate)
        left = -math.expm1(-ell)
        k = math.log(rest / left) if rest > 0.0 else -math.inf
        if k > 0.0:
            low = x_top
        else:
            high = x_top
        new = 0.5 * (low + high)
        if rest > 0.0:
            # d λ / d x = 1 + ℓ; d ln(1 - e^-ℓ) / d x = ℓ e^-ℓ / (1 - e^-ℓ)
            newton = x_top + k / ((slope / rest) * (1.0 + ell) + ell * (1.0 - left) / left)
            if low <= newton <= high:
                new = newton
        change = math.exp(new) + new - ell - x_top
        x_top = new
        if abs(k) <= NEARLY or change == 0.0:
            break
    _carry(z, start, stop, at, top, math.exp(x_top) + x_top, change, x, rate)
    return x_top
