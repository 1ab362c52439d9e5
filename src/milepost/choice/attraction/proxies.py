"""ln y of every option, and its derivatives by the agent's parameters.

The parameters of a decision are a row of `theta`, on the scale on which fits move: ln s, ln c; for
a mixture of curves logit m and ln k; for depth weights the numbers φ. One row serves all decisions,
or each has its own (parameters that follow a rating).
"""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.attraction.curves import ln_curve, ln_mixture
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel


@kernel
def ln_g(first: int, second: int, ln_delta: float, theta: Floats, out: Floats) -> float:
    """Return ln g at δ, with its derivatives by ln s, ln c (logit m, ln k) in `out`."""
    t = ln_delta - theta[0]
    c = math.exp(theta[1])
    if second < 0:
        value, out[0], out[1] = ln_curve(first, t, c)
        return value
    m = 1.0 / (1.0 + math.exp(-theta[2]))
    value, out[0], out[1], out[2], out[3] = ln_mixture(first, second, t, c, m, theta[3])
    return value


@kernel
def base(
    first: int,
    second: int,
    offsets: Ints,
    ln_delta: Floats,
    theta: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    """Fill z = ln y = ln g(δ) and its derivatives, one depth."""
    curve_parameters = 2 if second < 0 else 4
    out = np.zeros(4)
    rows = theta.shape[0]
    for decision in range(len(offsets) - 1):
        row = theta[decision if rows > 1 else 0]
        ln_s, c = row[0], math.exp(row[1])
        for i in range(offsets[decision], offsets[decision + 1]):
            if second < 0:
                z[i], dz[i, 0], dz[i, 1] = ln_curve(first, ln_delta[i] - ln_s, c)
            else:
                z[i] = ln_g(first, second, ln_delta[i], row, out)
                for k in range(curve_parameters):
                    dz[i, k] = out[k]


@kernel
def depth_weights(logit_offsets: Floats, features: Floats, phi: Floats, w: Floats) -> None:
    """Fill the weights of the depths: a softmax, see `milepost.choice.depths`."""
    top = -math.inf
    for d in range(len(w)):
        w[d] = logit_offsets[d]
        for k in range(features.shape[1]):
            w[d] += features[d, k] * phi[k]
        top = max(top, w[d])
    total = 0.0
    for d in range(len(w)):
        w[d] = math.exp(w[d] - top)
        total += w[d]
    for d in range(len(w)):
        w[d] /= total


@kernel
def averaged(
    first: int,
    second: int,
    offsets: Ints,
    delta: Floats,
    logit_offsets: Floats,
    features: Floats,
    theta: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    """Fill z = ln g(Σ w_d δ_d) and its derivatives.

    ln g depends on δ/s alone, so d ln g / d ln δ = -d ln g / d ln s; and
    d δ̄ / d φ_k = Σ w_d (δ_d - δ̄) F_dk.
    """
    curve_parameters = 2 if second < 0 else 4
    depths, numbers = features.shape
    out = np.zeros(4)
    w = np.empty(depths)
    rows = theta.shape[0]
    for decision in range(len(offsets) - 1):
        row = theta[decision if rows > 1 else 0]
        if decision == 0 or rows > 1:
            depth_weights(logit_offsets, features, row[curve_parameters:], w)
        for i in range(offsets[decision], offsets[decision + 1]):
            mean = 0.0
            for d in range(depths):
                mean += w[d] * delta[i, d]
            z[i] = ln_g(first, second, math.log(mean) if mean > 0.0 else -math.inf, row, out)
            for k in range(curve_parameters):
                dz[i, k] = out[k]
            for k in range(numbers):
                dz[i, curve_parameters + k] = 0.0
            if 0.0 < mean < math.inf:
                for d in range(depths):
                    share = -out[0] * w[d] * (delta[i, d] - mean) / mean
                    for k in range(numbers):
                        dz[i, curve_parameters + k] += share * features[d, k]


@kernel
def combined(
    additive: bool,
    first: int,
    second: int,
    offsets: Ints,
    ln_delta: Floats,
    logit_offsets: Floats,
    features: Floats,
    theta: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    """Fill z = ln Σ w_d g(δ_d) (additive) or Σ w_d ln g(δ_d) (geometric), with derivatives."""
    curve_parameters = 2 if second < 0 else 4
    depths, numbers = features.shape
    w = np.empty(depths)
    g = np.empty(depths)
    share = np.empty(depths)
    by_number = np.empty(depths)
    slopes = np.zeros((depths, 4))
    rows = theta.shape[0]
    for decision in range(len(offsets) - 1):
        row = theta[decision if rows > 1 else 0]
        if decision == 0 or rows > 1:
            depth_weights(logit_offsets, features, row[curve_parameters:], w)
        for i in range(offsets[decision], offsets[decision + 1]):
            for d in range(depths):
                g[d] = ln_g(first, second, ln_delta[i, d], row, slopes[d])
            z[i] = _combine(additive, w, g, share, by_number)
            for k in range(curve_parameters + numbers):
                dz[i, k] = 0.0
            for d in range(depths):
                for k in range(curve_parameters):
                    dz[i, k] += share[d] * slopes[d, k]
                for k in range(numbers):
                    dz[i, curve_parameters + k] += by_number[d] * features[d, k]


@kernel
def _combine(additive: bool, w: Floats, g: Floats, share: Floats, by_number: Floats) -> float:
    """Return ln y of one option; fill how it moves with each ln g, and with F φ of each depth.

    From d w_d / d φ_k = w_d (F_dk - Σ w F).
    """
    top = -math.inf
    total = 0.0
    for d in range(len(w)):
        top = max(top, g[d])
        total += w[d] * g[d]
    if top == -math.inf:
        share[:] = 0.0
        by_number[:] = 0.0
        return -math.inf
    if not additive:
        for d in range(len(w)):
            share[d] = w[d]
            by_number[d] = w[d] * (g[d] - total)
        return total
    total = 0.0
    for d in range(len(w)):
        share[d] = w[d] * math.exp(g[d] - top)
        total += share[d]
    for d in range(len(w)):
        share[d] /= total
        by_number[d] = share[d] - w[d]
    return top + math.log(total)
