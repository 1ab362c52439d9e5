"""Curves: how attractive an option is that is worse than the best by δ; g(0) = 1.

With u = (δ/s)^c, s the sensitivity and c the consistency (Regan & Haworth 2011, section 3):

========  =========================  ===============================
invexp    exp(-u)                    inverse exponential, the default
ipa       1 / (1 + u)                inverse polynomial
ipb       (1 + δ/s)^(-c)             inverse polynomial, other form
secha     sech(u)                    hyperbolic secant
sechb     sech²(u/2)                 hyperbolic secant, squared
========  =========================  ===============================

``"A+B"`` is a mixture of two, m·A(δ; s, c) + (1-m)·B(δ; k·s, c). Everything is done with ln g and
its derivatives by ln s and ln c, which neither overflow nor vanish where g does.
"""

from __future__ import annotations

import math

from milepost.errors import InputError
from milepost.io.suggest import did_you_mean
from milepost.kernels import kernel

INVEXP, IPA, IPB, SECHA, SECHB = range(5)
CURVES = {"invexp": INVEXP, "ipa": IPA, "ipb": IPB, "secha": SECHA, "sechb": SECHB}
NO_CURVE = -1
LARGEST_LN_U = 14.0
"""u stops growing at about a million: the share is 0 by then, and products stay finite."""


def curve_codes(name: str) -> tuple[int, int]:
    """Return the codes of a curve's parts; the second is -1 unless it is a mixture.

    Raises
    ------
    InputError
        If there is no such curve.
    """
    parts = name.split("+")
    if not 1 <= len(parts) <= 2 or any(part not in CURVES for part in parts):
        raise InputError(
            f"a curve is one of {', '.join(CURVES)}, or a mixture as in 'invexp+ipb'; got {name!r}"
            f"{did_you_mean(name, CURVES)}"
        )
    return CURVES[parts[0]], CURVES[parts[1]] if len(parts) == 2 else NO_CURVE


@kernel
def ln_curve(code: int, t: float, c: float) -> tuple[float, float, float]:
    """Return ln g and its derivatives by ln s and ln c; t = ln(δ/s).

    From d ln u / d ln s = -c and d ln u / d ln c = c·t.
    """
    if t == -math.inf:
        return 0.0, 0.0, 0.0
    if t == math.inf:
        return -math.inf, 0.0, 0.0
    if code == IPB:
        x = math.exp(min(t, 500.0))
        ln_1x = math.log1p(x)
        return -c * ln_1x, c * x / (1.0 + x), -c * ln_1x
    exponent = c * t
    capped = exponent > LARGEST_LN_U
    u = math.exp(LARGEST_LN_U if capped else exponent)
    if code == INVEXP:
        value = -u
        slope = -u  # d ln g / d ln u
    elif code == IPA:
        value = -math.log1p(u)
        slope = -u / (1.0 + u)
        if capped:
            value = -exponent - math.log1p(math.exp(-exponent))
    elif code == SECHA:
        value = math.log(2.0) - u - math.log1p(math.exp(-2.0 * u))
        slope = -u * math.tanh(u)
    else:
        value = 2.0 * math.log(2.0) - u - 2.0 * math.log1p(math.exp(-u))
        slope = -u * math.tanh(0.5 * u)
    return value, -c * slope, exponent * slope


@kernel
def ln_mixture(
    first: int, second: int, t: float, c: float, m: float, ln_k: float
) -> tuple[float, float, float, float, float]:
    """Return ln of m·A + (1-m)·B and its derivatives by ln s, ln c, logit m, ln k."""
    a, a_s, a_c = ln_curve(first, t, c)
    b, b_s, b_c = ln_curve(second, t - ln_k, c)
    if a == -math.inf and b == -math.inf:
        return -math.inf, 0.0, 0.0, 0.0, 0.0
    top = max(a, b)
    weight_a = m * math.exp(a - top)
    weight_b = (1.0 - m) * math.exp(b - top)
    total = weight_a + weight_b
    share_a = weight_a / total
    share_b = weight_b / total
    return (
        top + math.log(total),
        share_a * a_s + share_b * b_s,
        share_a * a_c + share_b * b_c,
        # d ln(mA + (1-m)B) / d logit m = m(1-m)(A - B) / (mA + (1-m)B)
        share_a * (1.0 - m) - share_b * m,
        share_b * b_s,
    )
