"""Ratio models: from the attractiveness y of the options to their probabilities p.

All have the form ln p_i = F(ln y_i - λ), with λ such that the probabilities sum to one:

=======  ==============================================  ==========================
shares   p_i / p_0 = y_i                                 F(x) = x
powers   ln(1/p_0) / ln(1/p_i) = y_i, p_i = p_0^(1/y_i)  F(x) = -exp(-x)
product  p_i ln(1/p_0) / (p_0 ln(1/p_i)) = y_i           F(x) = -ℓ, ℓ + ln ℓ = -x
blend    product with ln^κ, and y^(1+κ)                  F(x) = -ℓ, ℓ + κ ln ℓ = -x
=======  ==============================================  ==========================

(y_0 = 1 in these ratios; with values of several depths no option need have y = 1, and λ takes its
place.) Since only ln y_i - λ enters, a common factor of the y changes nothing. With
r_i = F'(ln y_i - λ), which is 1, ℓ_i and ℓ_i/(κ + ℓ_i) for ℓ = -ln p, every derivative follows:
d ln p_i = r_i (d ln y_i - dλ), dλ = Σ p r d ln y / Σ p r.
"""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.ratios.blend import solve_blend
from milepost.choice.ratios.powers import solve_powers
from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.io.suggest import did_you_mean
from milepost.kernels import kernel

SHARES, POWERS, PRODUCT, BLEND = range(4)
RATIOS = {"shares": SHARES, "powers": POWERS, "product": PRODUCT, "blend": BLEND}


def ratio_code(name: str) -> int:
    """Return the code of a ratio model.

    Raises
    ------
    InputError
        If there is no such model.
    """
    if name not in RATIOS:
        raise InputError(
            f"the ratio is one of {', '.join(RATIOS)}, got {name!r}{did_you_mean(name, RATIOS)}"
        )
    return RATIOS[name]


@kernel
def solve(
    code: int, z: Floats, start: int, stop: int, kappa: float, ln_p: Floats, rate: Floats
) -> None:
    """Fill `ln_p` and `rate` (r of the module's text) of one decision from z = ln y."""
    top = z[start]
    at = start
    for i in range(start + 1, stop):
        if z[i] > top:
            top = z[i]
            at = i
    if code == SHARES:
        total = 0.0
        for i in range(start, stop):
            total += math.exp(z[i] - top)
        ln_total = math.log(total)
        for i in range(start, stop):
            ln_p[i] = z[i] - top - ln_total
            rate[i] = 1.0
    elif code == POWERS:
        solve_powers(z, start, stop, at, top, ln_p, rate)
    else:
        solve_blend(z, start, stop, at, top, kappa, ln_p, rate)


@kernel
def solve_all(code: int, offsets: Ints, z: Floats, ln_p: Floats, rate: Floats) -> None:
    """Solve every decision."""
    for decision in range(len(offsets) - 1):
        solve(code, z, offsets[decision], offsets[decision + 1], 1.0, ln_p, rate)


@kernel
def solve_blends(
    offsets: Ints, ln_kappa: Floats, z: Floats, dz: Floats, column: int, ln_p: Floats, rate: Floats
) -> None:
    """Solve every decision with its own κ; z and dz become those of (1 + κ) ln y.

    The derivative by κ at fixed λ, from ℓ + κ ln ℓ = λ - (1 + κ) z, is that of an option whose
    ln y moves by z + ln ℓ; it stands in its column, by ln κ.
    """
    rows = len(ln_kappa)
    for decision in range(len(offsets) - 1):
        kappa = math.exp(ln_kappa[decision if rows > 1 else 0])
        start, stop = offsets[decision], offsets[decision + 1]
        top = -math.inf
        for i in range(start, stop):
            top = max(top, z[i])
        for i in range(start, stop):
            # Only differences count: from here z is that to the most attractive option.
            z[i] = (z[i] - top) * (1.0 + kappa)
            for k in range(dz.shape[1]):
                dz[i, k] *= 1.0 + kappa
        solve(BLEND, z, start, stop, kappa, ln_p, rate)
        for i in range(start, stop):
            if z[i] > -math.inf and ln_p[i] < 0.0:
                dz[i, column] = kappa * (z[i] / (1.0 + kappa) + math.log(-ln_p[i]))
            else:
                dz[i, column] = 0.0


@kernel
def differentiate(offsets: Ints, p: Floats, rate: Floats, dz: Floats) -> None:
    """Turn d ln y (one column a parameter) into d ln p, in place."""
    parameters = dz.shape[1]
    mean = np.empty(parameters)
    for decision in range(len(offsets) - 1):
        start, stop = offsets[decision], offsets[decision + 1]
        mass = 0.0
        mean[:] = 0.0
        for i in range(start, stop):
            weight = p[i] * rate[i]
            if weight > 0.0:
                mass += weight
                for k in range(parameters):
                    mean[k] += weight * dz[i, k]
        for i in range(start, stop):
            for k in range(parameters):
                if mass > 0.0:
                    dz[i, k] = rate[i] * (dz[i, k] - mean[k] / mass)
                else:
                    dz[i, k] = 0.0
