"""The comparison of ranked sides in one game, as kernels: truncated Gaussians and a chain of them.

`rank_sides` is what `rate_game` and the histories of teams have in common. Every form here keeps
its digits in upsets of any size, ties between very unequal sides, and for tiny and huge margins
and deviations; the closed forms of the literature are 0/0 there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from milepost.kernels import kernel

Floats = NDArray[np.float64]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
# Gauss-Legendre on [0, 1]: 32 nodes integrate exp(-40 x) to 1e-15, the steepest case below.
_LEGENDRE_X, _LEGENDRE_W = np.polynomial.legendre.leggauss(32)
_NODES = 0.5 * (_LEGENDRE_X + 1.0)
_NODE_WEIGHTS = 0.5 * _LEGENDRE_W

GAME_TOLERANCE = 1e-11
"""A game's EP has converged when no side's mean or deviation moves more, in its deviations."""
MAX_PASSES = 1000
"""Passes along the chain of sides after which a game is reported as not converged."""


@kernel
def above_margin(x: float) -> tuple[float, float, float, float]:
    """Return log Φ(x), v = N(x)/Φ(x), w = v (v + x), and 1 - w without cancellation."""
    if x < -8.0:
        # Laplace's continued fraction of the Mills ratio: v = y + d, d = 1/(y + g),
        # g = 2/(y + 3/(y + ...)); hence 1 - w = d (g - d), where nothing cancels.
        y = -x
        g = 0.0
        for k in range(40, 1, -1):
            g = k / (y + g)
        d = 1.0 / (y + g)
        v = y + d
        rest = d * (g - d)
        return -0.5 * x * x - _HALF_LOG_TWO_PI - math.log(v), v, 1.0 - rest, rest
    mass = 0.5 * math.erfc(-x * _ROOT_HALF)
    v = math.exp(-0.5 * x * x - _HALF_LOG_TWO_PI) / mass
    w = v * (v + x)
    log_mass = math.log1p(-0.5 * math.erfc(x * _ROOT_HALF)) if x > 0.0 else math.log(mass)
    return log_mass, v, w, 1.0 - w


@kernel
def within_margin(t: float, alpha: float) -> tuple[float, float, float, float]:
    """Return log P(|t + z| < alpha) for a standard normal z, then v, w, and 1 - w as for a win.

    v is the mean of z inside the interval and 1 - w its variance there.
    """
    middle = abs(t)
    a = middle - alpha
    sign = -1.0 if t > 0.0 else (1.0 if t < 0.0 else 0.0)
    if alpha >= 0.1 and a <= 2.0:
        # Neither narrow nor far out: the closed form (ttt_math.md, with the plus sign) keeps at
        # least twelve digits.
        b = middle + alpha
        above_b = 0.5 * math.erfc(b * _ROOT_HALF)
        if a > 0.0:
            mass = 0.5 * math.erfc(a * _ROOT_HALF) - above_b
            log_mass = math.log(mass)
        else:
            outside = above_b + 0.5 * math.erfc(-a * _ROOT_HALF)
            mass = 1.0 - outside
            log_mass = math.log1p(-outside)
        at_a = math.exp(-0.5 * a * a - _HALF_LOG_TWO_PI)
        at_b = math.exp(-0.5 * b * b - _HALF_LOG_TWO_PI)
        v = (at_a - at_b) / mass
        w = v * v + (b * at_b - a * at_a) / mass
        return log_mass, sign * v, w, 1.0 - w
    # Narrow or far out, where the closed form is 0/0: quadrature of exp(-s (a + s/2)) over the
    # interval from its end nearer to the mean, as far as the integrand is above exp(-40).
    length = 2.0 * alpha
    if a > 0.0:
        length = min(length, 80.0 / (a + math.sqrt(a * a + 80.0)))
    total = 0.0
    first = 0.0
    for k in range(_NODES.size):
        s = length * _NODES[k]
        density = _NODE_WEIGHTS[k] * math.exp(-s * (a + 0.5 * s))
        total += density
        first += density * _NODES[k]
    first /= total
    second = 0.0
    for k in range(_NODES.size):
        s = length * _NODES[k]
        density = _NODE_WEIGHTS[k] * math.exp(-s * (a + 0.5 * s))
        second += density * (_NODES[k] - first) ** 2
    rest = length * length * second / total
    log_mass = -0.5 * a * a - _HALF_LOG_TWO_PI + math.log(length) + math.log(total)
    return log_mass, sign * (a + length * first), 1.0 - rest, rest


@kernel
def log_overlap(variance: float, precision: float, shift: float) -> float:
    """Return the log integral of N(0, variance) times exp(-precision s²/2 + shift s)."""
    q = 1.0 + precision * variance
    return -0.5 * math.log(q) + 0.5 * variance * shift * shift / q


@kernel
def _meet(
    upper: tuple[float, float], lower: tuple[float, float], margin: float, tie: bool
) -> tuple[float, float, float, float, float]:
    """Compare two neighbouring sides, each (mean, variance) of what the others say of it.

    Returns log P(the result), and the messages to the upper and to the lower side as precision and
    precision times mean, in the form of ttt_math.md that never divides by w.
    """
    mean_a, variance_a = upper
    mean_b, variance_b = lower
    c = math.sqrt(variance_a + variance_b)
    t = (mean_a - mean_b) / c
    log_z, v, w, rest = within_margin(t, margin / c) if tie else above_margin(t - margin / c)
    # c² - w·variance, written so that it keeps its digits when w is close to 1.
    bottom_a = variance_b + variance_a * rest
    bottom_b = variance_a + variance_b * rest
    return (
        log_z,
        w / bottom_a,
        (w * mean_a + c * v) / bottom_a,
        w / bottom_b,
        (w * mean_b - c * v) / bottom_b,
    )


@kernel
def _with_message(
    mean: float, variance: float, precision: float, shift: float
) -> tuple[float, float]:
    q = 1.0 + precision * variance
    return (mean + variance * shift) / q, variance / q


@kernel
def rank_sides(
    mean: Floats,
    variance: Floats,
    margin: Floats,
    tie: NDArray[np.bool_],
    messages: Floats,
    tolerance: float,
    max_passes: int,
) -> tuple[float, int, float]:
    """Run EP along the chain of sides, best first, until no side moves more than `tolerance`.

    Parameters
    ----------
    mean, variance
        Of each side's performance before the game, on a scale whose origin is close to them.
    margin, tie
        For each pair of neighbours: the margin, and whether they tied.
    messages
        A row for each side, read as the start and overwritten with the result: precision and shift
        (precision times mean) from the pair above it, then from the pair below it.
    tolerance, max_passes
        When to stop.

    Returns
    -------
    tuple
        The log evidence, the passes made, and the largest move in the last one, in deviations.
    """
    sides = mean.size
    passes = 0
    moved = np.inf
    while moved > tolerance and passes < max_passes:
        moved = 0.0
        # Down the chain: what each pair says of its lower side.
        for e in range(sides - 1):
            upper = _with_message(mean[e], variance[e], messages[e, 0], messages[e, 1])
            lower = _with_message(
                mean[e + 1], variance[e + 1], messages[e + 1, 2], messages[e + 1, 3]
            )
            said = _meet(upper, lower, margin[e], tie[e])
            before = _with_message(lower[0], lower[1], messages[e + 1, 0], messages[e + 1, 1])
            after = _with_message(lower[0], lower[1], said[3], said[4])
            messages[e + 1, 0] = said[3]
            messages[e + 1, 1] = said[4]
            moved = max(moved, _move(before, after))
        # Up the chain: what each pair says of its upper side.
        for e in range(sides - 2, -1, -1):
            upper = _with_message(mean[e], variance[e], messages[e, 0], messages[e, 1])
            lower = _with_message(
                mean[e + 1], variance[e + 1], messages[e + 1, 2], messages[e + 1, 3]
            )
            said = _meet(upper, lower, margin[e], tie[e])
            before = _with_message(upper[0], upper[1], messages[e, 2], messages[e, 3])
            after = _with_message(upper[0], upper[1], said[1], said[2])
            messages[e, 2] = said[1]
            messages[e, 3] = said[2]
            moved = max(moved, _move(before, after))
        passes += 1
        if sides == 2:
            # One pair: the messages do not depend on each other, one pass is exact.
            moved = 0.0
    # EP evidence: what each pair makes likely given the rest, over what the two pairs around an
    # inner side agree upon. Shifts are taken from the side's own mean: the rest cancels.
    log_evidence = 0.0
    for e in range(sides - 1):
        upper = _with_message(mean[e], variance[e], messages[e, 0], messages[e, 1])
        lower = _with_message(mean[e + 1], variance[e + 1], messages[e + 1, 2], messages[e + 1, 3])
        log_evidence += _meet(upper, lower, margin[e], tie[e])[0]
        if e > 0:
            above = messages[e, 1] - messages[e, 0] * mean[e]
            below = messages[e, 3] - messages[e, 2] * mean[e]
            log_evidence += log_overlap(variance[e], messages[e, 0], above)
            log_evidence += log_overlap(variance[e], messages[e, 2], below)
            both = messages[e, 0] + messages[e, 2]
            log_evidence -= log_overlap(variance[e], both, above + below)
    return log_evidence, passes, moved


@kernel
def _move(before: tuple[float, float], after: tuple[float, float]) -> float:
    """How far a side moved, in its deviations, beyond what rounding alone does."""
    deviation = math.sqrt(after[1])
    rounding = 1e-14 * (abs(before[0]) + abs(after[0]))
    mean = max(abs(after[0] - before[0]) - rounding, 0.0) / deviation
    return max(mean, abs(math.sqrt(before[1]) / deviation - 1.0))
