"""Logarithms and exponentials that run in vectors: library calls would stop a loop from that.

All are right to two units in the last place on the numbers that they are for (asserted by a test
against NumPy); they know no special values, so who calls them sees to 0, infinity and NaN.

Powers of two pass through numbers of 32 bits on their way to a float and back: for those of 64 bits
most processors have no instruction in vectors.
"""

from __future__ import annotations

import numpy as np

from milepost.kernels import inlined_kernel

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_OVER_LN2 = 1.44269504088896338700
_ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bits of √½: mantissas are taken from here to √2."""
_LARGEST = 700.0


@inlined_kernel
def ln(x: float) -> float:
    """Return the logarithm of a normal positive number: fdlibm's polynomial in (m - 1)/(m + 1)."""
    bits = np.float64(x).view(np.int64)
    power = (bits - np.int64(_ROOT_HALF)) >> np.int64(52)
    f = np.int64(bits - (power << np.int64(52))).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = 1.531383769920937332e-01 + z * 1.479819860511658591e-01
    series = 2.222219843214978396e-01 + z * (1.818357216161805012e-01 + z * series)
    series = 3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * series)
    series = z * (6.666666666666735130e-01 + z * series)
    half = 0.5 * f * f
    k = np.float64(np.int32(power))
    return k * _LN2_HIGH - ((half - (s * (half + series) + k * _LN2_LOW)) - f)


@inlined_kernel
def ln_1_more(x: float) -> float:
    """Return ln(1 + x) of x ≥ 0, small ones included."""
    u = 1.0 + x
    # What was lost in the sum.
    return ln(u) + (x - (u - 1.0)) / u


@inlined_kernel
def exp(x: float) -> float:
    """Return e^x, x from -700 to 700 (what lies outside is taken for the end)."""
    inside = min(max(x, -_LARGEST), _LARGEST)
    n = np.floor(inside * _OVER_LN2 + 0.5)
    y = (inside - n * _LN2_HIGH) - n * _LN2_LOW
    answer: float = 1.0 + y * (1.0 + y * (0.5 + y * _series(y)))
    answer *= np.int64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return answer


@inlined_kernel
def exp_less_1(x: float) -> float:
    """Return e^x - 1, x from -700 to 700, small ones included."""
    inside = min(max(x, -_LARGEST), _LARGEST)
    n = np.floor(inside * _OVER_LN2 + 0.5)
    y = (inside - n * _LN2_HIGH) - n * _LN2_LOW
    more = y * (1.0 + y * (0.5 + y * _series(y)))
    power = np.int64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52)).view(np.float64)
    answer: float = power * more + (power - 1.0)
    return answer


@inlined_kernel
def _series(y: float) -> float:
    """Return 1/3! + y/4! + …, for y up to half of ln 2."""
    series = 1.0 / 39916800.0 + y * (1.0 / 479001600.0 + y * (1.0 / 6227020800.0))
    series = 1.0 / 362880.0 + y * (1.0 / 3628800.0 + y * series)
    series = 1.0 / 5040.0 + y * (1.0 / 40320.0 + y * series)
    series = 1.0 / 120.0 + y * (1.0 / 720.0 + y * series)
    return 1.0 / 6.0 + y * (1.0 / 24.0 + y * series)
