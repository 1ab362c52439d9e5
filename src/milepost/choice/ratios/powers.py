"""The powers ratio: p_i = p_0^(1/y_i), solved for p_0.

ln p_i = -a_i L with a_i = y_top / y_i, so that a is 1 for the most attractive option; L > 0 makes
the probabilities sum to one. (The sign trap: the exponent is 1/y ≥ 1. The 2012 compendium, as
extracted, shows y, which would make worse moves likelier.)
"""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.spreads import Floats
from milepost.kernels import kernel, vector_kernel

FURTHEST = 600.0
"""Options less attractive by a factor over e^600 have probability 0, and a finite ln p."""
NEARLY = 1e-8
"""Newton squares the error: one step from here is exact to rounding."""
ITERATIONS = 200
_PATIENCE = 15
"""So many Newton steps are enough unless the options have very many scales."""
_UNDERFLOW = 745.0
_LN = np.concatenate([[-np.inf], np.log(np.arange(1, 300))])
_PADDING = 1e270
"""a of an option that nobody chooses: finite, so that sums stay numbers."""
_FAST_LIMIT = 44.0
"""Terms under e^-44 are left out of fast sums."""
_FAST_LEAST = 1e-10
"""Where L comes out smaller than this, what fast sums leave out may count."""


@kernel
def solve_powers(
    z: Floats, start: int, stop: int, at: int, top: float, ln_p: Floats, rate: Floats
) -> None:
    """Fill ln p and r = -ln p of one decision; `at` is its most attractive option."""
    others = _exponents(z, start, stop, at, top, rate)
    length = 0.0
    if others > 0:
        length = _fast_length(rate, start, stop, at, others)
        if length < _FAST_LEAST:
            length = _length(rate, start, stop, at, others)
    for i in range(start, stop):
        if rate[i] == _PADDING:
            ln_p[i] = -math.inf
            rate[i] = 0.0
        else:
            ln_p[i] = -rate[i] * length
            rate[i] = -ln_p[i]


@kernel
def _exponents(z: Floats, start: int, stop: int, at: int, top: float, a: Floats) -> int:
    """Fill a; return the number of real options besides the top one."""
    others = 0
    for i in range(start, stop):
        if z[i] == -math.inf:
            a[i] = _PADDING
        else:
            a[i] = math.exp(min(top - z[i], FURTHEST))
            others += i != at
    return others


@kernel
def _lower_bound(a: Floats, start: int, stop: int, at: int) -> float:
    """Any n options with a ≤ A have Σ p ≥ n exp(-A L), so the root is not below ln n / A.

    Taken over the top option and the first so many others, in the order of the options, which is
    nearly that of their attractiveness.
    """
    bound = 0.0
    running = 1.0
    count = 1
    for i in range(start, stop):
        if i != at and a[i] < _PADDING:
            count += 1
            running = max(running, a[i])
            ln_count = _LN[count] if count < len(_LN) else math.log(count)
            bound = max(bound, ln_count / running)
    return bound


@kernel
def _length(a: Floats, start: int, stop: int, at: int, others: int) -> float:
    """Solve for L.

    Newton on k(L) = ln Σ' exp(-a_i L) - ln(1 - exp(-L)), the sum without the top option. k is
    convex and falls, so from the left of its root the steps rise to it and never pass it; and it is
    nearly linear both where the top option is nearly certain and where it is not. Stopping on a
    small step alone would leave Σ p ≠ 1 where some a is huge; k is 0 just when Σ p = 1.
    """
    low, high = _lower_bound(a, start, stop, at), math.log(others + 1.0)
    length = low
    for iteration in range(ITERATIONS):
        rest = 0.0
        slope = 0.0
        for i in range(start, stop):
            if i != at and a[i] * length < _UNDERFLOW:
                p = math.exp(-a[i] * length)
                rest += p
                slope += a[i] * p
        left = -math.expm1(-length)
        k = math.log(rest / left) if rest > 0.0 else -math.inf
        step = k / (slope / rest + (1.0 - left) / left) if rest > 0.0 else -math.inf
        if abs(k) <= NEARLY:
            return length + step
        if k > 0.0:
            low = length
        else:
            high = length
        length += step
        lost = iteration >= _PATIENCE and high > 1.05 * low
        if lost or not low < length < high:
            # Options of very many scales: halve the bracket, in ln L.
            length = math.sqrt(low) * math.sqrt(high)
            if not low < length < high:
                return low
    return length


@vector_kernel
def _fast_sums(a: Floats, start: int, stop: int, length: float) -> tuple[float, float]:
    """Return Σ exp(-a L) and Σ a exp(-a L), to 1e-13.

    exp(x) = (exp(x / 256))^256: a polynomial and eight squarings, without branches or calls, which
    compilers turn into vectors; some three times as fast as calls of exp.
    """
    total = 0.0
    slope = 0.0
    for i in range(start, stop):
        x = -min(a[i] * length, _FAST_LIMIT) * (1.0 / 256.0)
        p = 1.0 + x * (1 / 7) * (1.0 + x * (1 / 8))
        p = 1.0 + x * (1 / 4) * (1.0 + x * (1 / 5) * (1.0 + x * (1 / 6) * p))
        p = 1.0 + x * (1.0 + x * (1 / 2) * (1.0 + x * (1 / 3) * p))
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        total += p
        slope += a[i] * p if a[i] * length < _FAST_LIMIT else 0.0
    return total, slope


@kernel
def _fast_length(a: Floats, start: int, stop: int, at: int, others: int) -> float:
    """As `_length`, with fast sums; 0 where it does not settle in a few steps."""
    length = _lower_bound(a, start, stop, at)
    for _ in range(_PATIENCE):
        rest, slope = _fast_sums(a, at + 1, stop, length)
        if at > start:
            rest_before, slope_before = _fast_sums(a, start, at, length)
            rest += rest_before
            slope += slope_before
        left = -math.expm1(-length)
        k = math.log(rest / left)
        length += k / (slope / rest + (1.0 - left) / left)
        if abs(k) <= NEARLY:
            return length
        if not length > 0.0:
            return 0.0
    return 0.0
