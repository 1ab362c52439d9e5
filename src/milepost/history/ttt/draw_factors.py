"""The factors of games between players who each have a draw margin of their own.

d is the difference of the performances of i and j. i wins iff d > margin_j (the opponent's), j wins
iff -d > margin_i, else a draw: -margin_i <= d <= margin_j. A draw comes in two forms: ``between``,
the exact factor on (d, margin_i, margin_j), and the authors' ``two-factor`` form, two separate
greater-than factors on the same two performances. Dangauthier, Herbrich, Minka & Graepel (2007),
section 4.

Every message comes from the first two derivatives of log Z in the cavity's mean (g1 the slope, g2
the curvature with its sign turned): precision g2 / (1 - var g2). log Z is concave in all means
(Prekopa), so a message's precision is never negative and every cavity stays proper.
"""

from __future__ import annotations

import math

from milepost.history.numerics.gaussians import log_below, win_moments
from milepost.history.numerics.orthant import quadrant_derivatives
from milepost.kernels import inner_kernel, kernel

Six = tuple[float, float, float, float, float, float]
Eight = tuple[float, float, float, float, float, float, float, float]
Two = tuple[float, float]


@inner_kernel
def to_message(mean: float, var: float, g1: float, g2: float) -> tuple[float, float]:
    """Return the message that moves a cavity to the moments that g1 and g2 stand for."""
    # Rounding must not make the precision negative or infinite.
    g2 = max(g2, 0.0)
    left = 1.0 / max(1.0 - var * g2, 1e-9)
    return g2 * left, (g2 * mean + g1) * left


@inner_kernel
def greater(
    m_i: float, v_i: float, m_j: float, v_j: float, m_e: float, v_e: float, lead: float,
    noise: float, side: float, sign: float,
) -> tuple[Six, Two]:  # fmt: skip
    """Return the messages of side * d + sign * margin > 0 to i, j and the margin, and g1, g2 in d.

    A win of i is side 1, sign -1; a draw's two factors are side -1 and side 1 with sign 1.
    """
    ss = v_i + v_j + v_e + noise
    # root and division do not wait for each other
    over = 1.0 / ss
    inverse = math.sqrt(ss) * over
    v, w = win_moments((side * (m_i - m_j + lead) + sign * m_e) * inverse)
    g1, g2 = v * inverse, w * over
    pi_i, tau_i = to_message(m_i, v_i, side * g1, g2)
    pi_j, tau_j = to_message(m_j, v_j, -side * g1, g2)
    pi_e, tau_e = to_message(m_e, v_e, sign * g1, g2)
    return (pi_i, tau_i, pi_j, tau_j, pi_e, tau_e), (side * g1, g2)


@kernel
def greater_log_z(
    m_i: float, v_i: float, m_j: float, v_j: float, m_e: float, v_e: float, lead: float,
    noise: float, side: float, sign: float,
) -> float:  # fmt: skip
    """Return log Z of `greater`."""
    s = math.sqrt(v_i + v_j + v_e + noise)
    return log_below((side * (m_i - m_j + lead) + sign * m_e) / s)


@kernel
def greater_slope(
    m_i: float, v_i: float, m_j: float, v_j: float, m_e: float, v_e: float, lead: float,
    noise: float, side: float, sign: float,
) -> tuple[float, float]:  # fmt: skip
    """Return g1 and g2 of `greater` in d."""
    ss = v_i + v_j + v_e + noise
    s = math.sqrt(ss)
    v, w = win_moments((side * (m_i - m_j + lead) + sign * m_e) / s)
    return side * v / s, w / ss


@inner_kernel
def between_derivatives(
    d: float, cc: float, m_ei: float, v_ei: float, m_ej: float, v_ej: float
) -> Six:
    """Return log Z and its derivatives by the means A, B of a = margin_j - d, b = margin_i + d."""
    a, b = 1.0 / math.sqrt(cc + v_ej), 1.0 / math.sqrt(cc + v_ei)
    log_z, l_h, l_k, l_hh, l_hk, l_kk = quadrant_derivatives(
        (m_ej - d) * a, (m_ei + d) * b, -cc * (a * b)
    )
    return log_z, l_h * a, l_k * b, l_hh * (a * a), l_hk * (a * b), l_kk * (b * b)


@inner_kernel
def between(
    m_i: float, v_i: float, m_j: float, v_j: float, m_ei: float, v_ei: float, m_ej: float,
    v_ej: float, lead: float, noise: float,
) -> tuple[Eight, Two]:  # fmt: skip
    """Return the messages of a draw, exact form, to i, j, margin_j, margin_i, and g1, g2 in d."""
    _, l_a, l_b, l_aa, l_ab, l_bb = between_derivatives(
        m_i - m_j + lead, v_i + v_j + noise, m_ei, v_ei, m_ej, v_ej
    )
    g1, g2 = l_b - l_a, -(l_aa - 2.0 * l_ab + l_bb)
    pi_i, tau_i = to_message(m_i, v_i, g1, g2)
    pi_j, tau_j = to_message(m_j, v_j, -g1, g2)
    pi_ej, tau_ej = to_message(m_ej, v_ej, l_a, -l_aa)
    pi_ei, tau_ei = to_message(m_ei, v_ei, l_b, -l_bb)
    return (pi_i, tau_i, pi_j, tau_j, pi_ej, tau_ej, pi_ei, tau_ei), (g1, g2)


@kernel
def positive(mean: float, var: float) -> tuple[float, float]:
    """Return the message that a margin is positive."""
    s = math.sqrt(var)
    v, w = win_moments(mean / s)
    return to_message(mean, var, v / s, w / var)


@inner_kernel
def through_noise(pi: float, tau: float, variance: float) -> tuple[float, float]:
    """Return a Gaussian message after it has passed a noise of that variance."""
    shrink = 1.0 / (1.0 + pi * variance)
    return pi * shrink, tau * shrink
