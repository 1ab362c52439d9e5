"""Truncated Gaussians: log Z, v and w of a win and of a draw, stable however far out.

With t = (m_i - m_j) / c and alpha = margin / c (Dangauthier, Herbrich, Minka & Graepel 2007):

- win: x = t - alpha, Z = Phi(x), v = N(x) / Phi(x), w = v (v + x);
- draw: Z = Phi(alpha - t) - Phi(-alpha - t), v = d log Z / dt, w = -d² log Z / dt². (The paper
  prints a minus in the draw's w where a plus belongs.)

v is a ratio that costs an exponential and an error function; here it is read from a table of
Taylor polynomials of degree 7, exact to 1e-14 relative on [-26, 3] and 1e-13 on [3, 4]. Below, a
continued fraction; above, the definition. The exponential of draws is read from tables too (Tang
1989, "Table-driven implementation of the exponential function"). The moments of two games at once,
where both lie in the table: `win_moments_of_two` and `draw_moments_of_two`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx

from milepost.history.numerics.lanes import (
    Pair,
    at_least,
    at_most,
    bits,
    both_above,
    both_below,
    firsts,
    pair,
    pair_at,
    seconds,
    signed,
    sizes,
)
from milepost.kernels import fused_kernel, inner_kernel, kernel

_LOW = -26.0
_HIGH = 4.0
_CELLS_A_UNIT = 16.0
_ROUNDER = 1.5 * 2.0**52
"""Added to a number, it leaves the nearest whole one in the last bits of the sum."""
_TO_CELL = _ROUNDER - _LOW * _CELLS_A_UNIT
_LAST_CELLS = np.uint64(1023)
"""Mask of the bits that say which cell: more than there are cells."""
_DEGREE = 7
_ROOT_TWO = math.sqrt(2.0)
_DENSITY_AT_ZERO = 1.0 / math.sqrt(2.0 * math.pi)
_LOG_DENSITY_AT_ZERO = math.log(_DENSITY_AT_ZERO)


def _ratio_table() -> npt.NDArray[np.float64]:
    """Taylor coefficients of v around the middle of every cell, in powers of a cell.

    v' = -v (v + x) gives all derivatives from v itself. The nearest complex zero of Phi lies 2.8
    from the real line, so with half a cell of 1/32 the series gains a factor 90 a term.
    """
    cells = int((_HIGH - _LOW) * _CELLS_A_UNIT) + 1
    x = np.asarray(_LOW + np.arange(cells) / _CELLS_A_UNIT, dtype=np.float64)
    table = np.zeros((cells, _DEGREE + 1))
    table[:, 0] = math.sqrt(2.0 / math.pi) / erfcx(-x / _ROOT_TWO)
    for n in range(_DEGREE):
        products = sum(table[:, i] * table[:, n - i] for i in range(n + 1))
        before = table[:, n - 1] if n else np.zeros(cells)
        table[:, n + 1] = -(products + x * table[:, n] + before) / (n + 1)
    return np.asarray(table / _CELLS_A_UNIT ** np.arange(_DEGREE + 1))


_TABLE = _ratio_table()

# exp(-y) is a power of 2, times a power of 2 ** (1/256), times a polynomial of what is left.
_HALVINGS = 2.0 ** -np.arange(1024.0)
_FRACTIONS = 2.0 ** (-np.arange(256.0) / 256.0)
_STEP = math.log(2.0) / 256.0
_STEPS_A_UNIT = 1.0 / _STEP


@kernel
def density(x: float) -> float:
    """Return N(x), the standard normal density."""
    return _DENSITY_AT_ZERO * math.exp(-0.5 * x * x)


@kernel
def below(x: float) -> float:
    """Return Phi(x), the standard normal integral."""
    return 0.5 * math.erfc(-x / _ROOT_TWO)


@kernel
def _tail_excess(x: float) -> float:
    """Return v + x for x < -26 by the continued fraction 1/(y + 2/(y + 3/(y + ...))), y = -x."""
    y = -x
    f = y
    for k in range(24, 1, -1):
        f = y + k / f
    return 1.0 / f


@inner_kernel
def in_table(x: float) -> float:
    """Return v(x) for -26 <= x < 4."""
    cells = x * _CELLS_A_UNIT
    placed = cells + _TO_CELL
    # Not signed: an index that cannot be negative need not be checked for it.
    cell = np.float64(placed).view(np.uint64) & _LAST_CELLS
    u = cells - (placed - _TO_CELL)
    uu = u * u
    low = (_TABLE[cell, 0] + _TABLE[cell, 1] * u) + (_TABLE[cell, 2] + _TABLE[cell, 3] * u) * uu
    high = (_TABLE[cell, 4] + _TABLE[cell, 5] * u) + (_TABLE[cell, 6] + _TABLE[cell, 7] * u) * uu
    return low + high * (uu * uu)  # type: ignore[no-any-return]


@inner_kernel
def _two_in_table(x: Pair) -> Pair:
    """Return `in_table` of two numbers."""
    cells = x * _CELLS_A_UNIT
    placed = cells + _TO_CELL
    bits_a, bits_b = bits(placed)
    a, b = bits_a & _LAST_CELLS, bits_b & _LAST_CELLS
    u = cells - (placed - _TO_CELL)
    uu = u * u
    a_01, b_01, a_23, b_23 = (
        pair_at(_TABLE, a, 0), pair_at(_TABLE, b, 0), pair_at(_TABLE, a, 2), pair_at(_TABLE, b, 2),
    )  # fmt: skip
    low = (firsts(a_01, b_01) + seconds(a_01, b_01) * u) + (
        firsts(a_23, b_23) + seconds(a_23, b_23) * u
    ) * uu
    a_45, b_45, a_67, b_67 = (
        pair_at(_TABLE, a, 4), pair_at(_TABLE, b, 4), pair_at(_TABLE, a, 6), pair_at(_TABLE, b, 6),
    )  # fmt: skip
    high = (firsts(a_45, b_45) + seconds(a_45, b_45) * u) + (
        firsts(a_67, b_67) + seconds(a_67, b_67) * u
    ) * uu
    return low + high * (uu * uu)


@inner_kernel
def _exp_minus(y: float) -> float:
    """Return exp(-y) for 0 <= y < 700."""
    placed = y * _STEPS_A_UNIT + _ROUNDER
    steps = np.float64(placed).view(np.uint64)
    r = (placed - _ROUNDER) * _STEP - y
    rr = r * r
    power = _halved(steps)
    return power + power * (r + rr * ((0.5 + r * (1.0 / 6.0)) + rr * (1.0 / 24.0)))


@inner_kernel
def _halved(steps: np.uint64) -> float:
    """Return 2 ** (-steps / 256), of the last bits of `steps`."""
    whole = (steps >> np.uint64(8)) & _LAST_CELLS
    return _HALVINGS[whole] * _FRACTIONS[steps & np.uint64(255)]  # type: ignore[no-any-return]


@inner_kernel
def _two_exp_minus(y: Pair) -> Pair:
    """Return `_exp_minus` of two numbers."""
    placed = y * _STEPS_A_UNIT + _ROUNDER
    a, b = bits(placed)
    r = (placed - _ROUNDER) * _STEP - y
    rr = r * r
    power = pair(_halved(a), _halved(b))
    return power + power * (r + rr * ((0.5 + r * (1.0 / 6.0)) + rr * (1.0 / 24.0)))


@kernel
def ratio(x: float) -> float:
    """Return v(x) = N(x) / Phi(x)."""
    if _LOW <= x < _HIGH:
        return in_table(x)
    if x < _LOW:
        return _tail_excess(x) - x
    return density(x) / below(x)


@inner_kernel
def win_moments(x: float) -> tuple[float, float]:
    """Return v and w of a win at x = t - alpha."""
    if _LOW <= x < _HIGH:
        v = in_table(x)
        return v, v * (v + x)
    return _far_win(x)


@inner_kernel
def wins_in_table(x: Pair) -> bool:
    """Return whether `win_moments_of_two` knows both wins."""
    return both_above(x, _LOW) and both_below(x, _HIGH)


@inner_kernel
def win_moments_of_two(x: Pair) -> tuple[Pair, Pair]:
    """Return v and w of two wins for which `wins_in_table`."""
    v = _two_in_table(x)
    return v, v * (v + x)


@kernel
def _far_win(x: float) -> tuple[float, float]:
    if x < _LOW:
        # v + x by itself: the difference of two large numbers would lose it.
        excess = _tail_excess(x)
        v = excess - x
        return v, v * excess
    v = density(x) / below(x)
    return v, v * (v + x)


@kernel
def log_below(x: float) -> float:
    """Return log Phi(x), exact in the lower tail too."""
    if x < -5.0:
        return _LOG_DENSITY_AT_ZERO - 0.5 * x * x - math.log(ratio(x))
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / _ROOT_TWO))
    return math.log(below(x))


# Gauss-Legendre points for draws with a tiny margin, where the difference of two Phi would cancel.
_POINTS, _WEIGHTS = (np.ascontiguousarray(half) for half in np.polynomial.legendre.leggauss(8))


@kernel
def _narrow_draw(t: float, alpha: float) -> tuple[float, float, float]:
    """Log Z, v and w of a draw with a tiny margin: density exp(u t - u²/2) over |u| < alpha."""
    zero, one, two = 0.0, 0.0, 0.0
    for k in range(8):
        u = alpha * _POINTS[k]
        mass = 0.5 * _WEIGHTS[k] * math.exp(u * t - 0.5 * u * u)
        zero += mass
        one += mass * u
        two += mass * u * u
    mean = one / zero
    log_z = math.log(2.0 * alpha) + _LOG_DENSITY_AT_ZERO - 0.5 * t * t + math.log(zero)
    return log_z, mean - t, 1.0 - (two / zero - mean * mean)


@kernel
def _wide_draw(t: float, d: float, s: float) -> tuple[float, float, float]:
    """Z, v and w of a draw for t >= 0 where both bounds lie beyond 4 sd: nearly certain."""
    nd, ns = density(d), density(s)
    outside = 0.5 * math.erfc(d / _ROOT_TWO) + 0.5 * math.erfc(s / _ROOT_TWO)
    v = (ns - nd) / (1.0 - outside)
    # An infinite margin: no news, not infinity times zero.
    far_d = d * nd if nd > 0.0 else 0.0
    far_s = s * ns if ns > 0.0 else 0.0
    return math.log1p(-outside), v, v * v + (far_d + far_s) / (1.0 - outside)


@kernel
def _is_narrow(t: float, alpha: float) -> bool:
    return alpha < 0.02 and alpha * t < 0.7


@inner_kernel
def draw_moments(t: float, alpha: float) -> tuple[float, float]:
    """Return v and w of a draw."""
    sign = 1.0
    if t < 0.0:
        sign, t = -1.0, -t
    d, s = alpha - t, alpha + t
    # d >= -s: what holds for s holds for d.
    if alpha >= 0.02 and d < _HIGH and s <= -_LOW:
        # All over N(d), so that nothing underflows: N(s) / N(d) = exp(-2 alpha t) <= 1.
        # The margin is not tiny here, so the rounding of `less` (expm1 costs twice as much) is
        # harmless: an absolute 1e-16 in v, 1e-14 in w.
        less = _exp_minus(2.0 * alpha * t) - 1.0
        # Phi(d) - Phi(-s), over N(d), is 1 / v(d) - (1 + less) / v(-s)
        lower, upper = in_table(d), in_table(-s)
        scale = lower * upper / (upper - (1.0 + less) * lower)
        v = less * scale
        w = v * v + (2.0 * alpha + s * less) * scale
    else:
        v, w = _far_draw(t, alpha, d, s)
    # Rounding in the far tail must not leave the open interval that EP relies on.
    return sign * v, min(max(w, 0.0), 1.0)


@inner_kernel
def draws_in_table(t: Pair, alpha: Pair) -> bool:
    """Return whether `draw_moments_of_two` knows both draws."""
    size = sizes(t)
    return (
        both_above(alpha, 0.02)
        and both_below(alpha - size, _HIGH)
        and both_below(alpha + size, -_LOW)
    )


@inner_kernel
def draw_moments_of_two(t: Pair, alpha: Pair) -> tuple[Pair, Pair]:
    """Return v and w of two draws for which `draws_in_table`; see `draw_moments`."""
    size = sizes(t)
    s = alpha + size
    less = _two_exp_minus((2.0 * alpha) * size) - 1.0
    lower, upper = _two_in_table(alpha - size), _two_in_table(0.0 - s)
    scale = lower * upper / (upper - (1.0 + less) * lower)
    v = less * scale
    w = v * v + (2.0 * alpha + s * less) * scale
    return signed(v, 0.0 - t), at_most(at_least(w, 0.0), 1.0)


@kernel
def _far_draw(t: float, alpha: float, d: float, s: float) -> tuple[float, float]:
    if d > _HIGH:
        _, v, w = _wide_draw(t, d, s)
        return v, w
    if _is_narrow(t, alpha):
        _, v, w = _narrow_draw(t, alpha)
        return v, w
    less = math.exp(-2.0 * alpha * t) - 1.0
    upper = 1.0 / ratio(-s) if s < 1e150 else 0.0
    scaled = 1.0 / ratio(d) - (1.0 + less) * upper
    v = less / scaled
    return v, v * v + (2.0 * alpha + s * less) / scaled


@kernel
def log_draw(t: float, alpha: float) -> float:
    """Return log Z of a draw."""
    t = abs(t)
    d, s = alpha - t, alpha + t
    if d > _HIGH:
        return _wide_draw(t, d, s)[0]
    if _is_narrow(t, alpha):
        return _narrow_draw(t, alpha)[0]
    scaled = 1.0 / ratio(d) - math.exp(-2.0 * alpha * t) / ratio(-s)
    return _LOG_DENSITY_AT_ZERO - 0.5 * d * d + math.log(scaled)


@inner_kernel
def log_z_parts(t: float, alpha: float, drawn: bool) -> tuple[float, float]:
    """Return a and b > 0, of which a - log b is log Z of a game.

    Where several logarithms are added up, their arguments can be multiplied first: one is enough.
    """
    if drawn:
        t = abs(t)
        d, s = alpha - t, alpha + t
        if alpha >= 0.02 and d < _HIGH and s <= -_LOW:
            # as in `draw_moments`
            far = _exp_minus(2.0 * alpha * t)
            lower, upper = in_table(d), in_table(-s)
            scale = lower * upper / (upper - far * lower)
            return _LOG_DENSITY_AT_ZERO - 0.5 * d * d, scale
        return log_draw(t, alpha), 1.0
    x = t - alpha
    if _LOW <= x < _HIGH:
        return _LOG_DENSITY_AT_ZERO - 0.5 * x * x, in_table(x)
    return log_below(x), 1.0


@inner_kernel
def log_z_parts_of_two(x: Pair, alpha: Pair, drawn: bool) -> tuple[Pair, Pair]:
    """Return `log_z_parts` of two games in the table: of draws at x = t, of wins at x = t - alpha.

    See `draws_in_table` and `wins_in_table`.
    """
    if drawn:
        size = sizes(x)
        d = alpha - size
        far = _two_exp_minus((2.0 * alpha) * size)
        lower, upper = _two_in_table(d), _two_in_table(0.0 - (alpha + size))
        scale = lower * upper / (upper - far * lower)
        return _LOG_DENSITY_AT_ZERO - (0.5 * d) * d, scale
    return _LOG_DENSITY_AT_ZERO - (0.5 * x) * x, _two_in_table(x)


@fused_kernel
def draw_slopes(t: float, alpha: float) -> tuple[float, float]:
    """Return the first and second derivative of a draw's log Z by alpha."""
    t = abs(t)
    d, s = alpha - t, alpha + t
    if alpha >= 0.02 and d < _HIGH and s <= -_LOW:
        far = _exp_minus(2.0 * alpha * t)
        lower, upper = in_table(d), in_table(-s)
        near = lower * upper / (upper - far * lower)  # N(d) / Z, as in `draw_moments`
        far *= near
    else:
        log_z = log_draw(t, alpha)
        near = _DENSITY_AT_ZERO * math.exp(-0.5 * d * d - log_z)
        far = _DENSITY_AT_ZERO * math.exp(-0.5 * s * s - log_z)
    first = near + far
    return first, -d * near - s * far - first * first
