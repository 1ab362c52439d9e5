"""Models whose ln y is linear in numbers of the option: probabilities by a table.

All calibrations by likelihood have such a model: the curve is the inverse exponential of one c,
depths are averaged by logarithm, and the ratio is the blend of one κ. Then

    ln y = -s^-c Σ w_d δ_d^c + Σ b × column,

and δ^c and the columns are numbers that no agent changes. And p depends on λ - ln y alone, by a
function of one number: it is looked up in a table, right to 1e-11 of itself.

Options stand in rows of whole lanes, so that loops over them run in vectors to the end; what fills
a row up is `NOWHERE`, which nobody chooses.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from milepost.choice.attraction.curves import INVEXP, LARGEST_LN_U, NO_CURVE, curve_codes
from milepost.choice.depths import GEOMETRIC
from milepost.choice.evaluation.numbers import LANES, add_rows, gather_factors
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import BLEND, C, ChoiceModel, S
from milepost.choice.ratios.blend import ln_ell, solve_blend
from milepost.choice.ratios.powers import FURTHEST
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

_STEPS_A_UNIT = 32
"""Of the table: so few that most of it stays in the processor's nearest memory. From the nearest
point on, by derivatives, ln p is right to 1e-11 and r to 1e-8."""
NOWHERE = -1e30
"""(1 + κ) ln y of what is no option: beyond the end of the table."""
_LAST_ELL = 90.0
"""Where the table ends: p is 1e-39 there, and taken for 0 beyond."""
LEAST_KNOWN = 1e-37
"""A p under this is not taken from the table."""
_LEAST_REST = 1e-30
"""Where all options but the best have less than this together, the table is not fine enough."""
_LN_LEAST_REST = math.log(_LEAST_REST)
_SMALL = 1e-3
"""Of this the fifth power is rounding."""
_NEAR = 1e-7
"""Newton squares the error: one step from here is exact, whatever rounding made of the bracket."""
_CLOSE = 1e-6
"""From here p at the end of a Newton step is carried on by its derivatives, right to 1e-11."""
_PATIENCE = 30


def is_linear(model: ChoiceModel, prepared: Prepared, theta: Floats, along: Floats | None) -> bool:
    """Whether ln y is linear in numbers that all the agents share, and p a function of one."""
    depths = model.depths
    if (
        curve_codes(model.curve) != (INVEXP, NO_CURVE)
        or model.ratio != BLEND
        or model.lapse is not None
        or (depths is not None and depths.combine != GEOMETRIC)
    ):
        return False
    fixed = [C, model.place("kappa")]
    if (theta[:, fixed] != theta[0, fixed]).any():
        return False
    if along is not None and along[:, fixed].any():
        return False
    c = float(np.exp(theta[0, C]))
    # Where u would be cut off, ln y is no longer linear in it.
    return bool(c * (prepared.numbers(c).furthest - theta[:, S].min()) <= LARGEST_LN_U)


def linear_values(
    model: ChoiceModel, kappa: float, theta: Floats, along: Floats | None
) -> tuple[Floats, Floats | None]:
    """Return by what the numbers of an option are multiplied for (1 + κ) ln y, and for its slope.

    The numbers are δ^c at each depth, then the columns; a row an agent.
    """
    c = np.exp(theta[0, C])
    weights = np.ones((len(theta), 1))
    at = slice(model.curve_parameters, model.utility_places.start)
    if model.depths is not None:
        weights = model.depths.weights(theta[:, at])
    curve = -np.exp(-c * theta[:, [S]]) * weights
    places = model.utility_places
    values = (1.0 + kappa) * np.concatenate([curve, theta[:, places]], axis=1)
    if along is None:
        return values, None
    moves = -c * along[:, [S]]
    if model.depths is not None:
        by_number = along[:, at] @ model.depths.matrix.T
        # d w_d / d φ = w_d (F_d - Σ w F)
        moves = moves + by_number - (weights * by_number).sum(axis=1, keepdims=True)
    return values, (1.0 + kappa) * np.concatenate([curve * moves, along[:, places]], axis=1)


def linear_block(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    first: int,
    last: int,
    along: Floats | None = None,
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return bounds, ln p, p and the derivative of ln p for some of the decisions.

    As `milepost.choice.evaluation.blocks.evaluate_block` does; without a direction the derivative
    is 0.
    """
    spreads = prepared.spreads
    options = slice(int(spreads.offsets[first]), int(spreads.offsets[last]))
    bounds = spreads.offsets[first : last + 1] - options.start
    rows = theta if len(theta) == 1 else theta[first:last]
    ways = along if along is None or len(along) == 1 else along[first:last]
    if ways is not None and len(ways) != len(rows):
        size = (max(len(rows), len(ways)), theta.shape[1])
        rows, ways = np.broadcast_to(rows, size), np.broadcast_to(ways, size)
    kappa = float(np.exp(rows[0, model.place("kappa")]))
    start, table = probability_table(kappa)
    values, slopes = linear_values(model, kappa, rows, ways)
    numbers = prepared.numbers(float(np.exp(rows[0, C])))
    count = options.stop - options.start
    ln_p, p, slope = np.empty(count), np.empty(count), np.empty(count)
    _solve_decisions(
        bounds, options.start, spreads.values, numbers.powers, numbers.parts,
        numbers.context[:, first:last], numbers.part_of, numbers.context_of, values,
        np.zeros((0, values.shape[1])) if slopes is None else slopes,
        kappa, start, table, ln_p, p, slope,
    )  # fmt: skip
    return bounds, ln_p, p, slope[:, None]


@lru_cache(maxsize=8)
def probability_table(kappa: float) -> tuple[float, Floats]:
    """The first of some points b = ℓ + κ ln ℓ, where two options share all; p, r = ℓ/(κ+ℓ), p, …"""
    half = math.log(2.0)
    start = half + kappa * math.log(half) - 2.0 / _STEPS_A_UNIT
    count = int((_LAST_ELL + kappa * math.log(_LAST_ELL) - start) * _STEPS_A_UNIT) + 2
    table = np.empty(2 * count)
    _fill_table(start, kappa, table)
    return start, table


@kernel
def _fill_table(start: float, kappa: float, table: Floats) -> None:
    x = math.log(math.log(2.0))
    for i in range(len(table) // 2):
        x = ln_ell(start + i / _STEPS_A_UNIT, kappa, x)
        ell = math.exp(x)
        table[2 * i] = math.exp(-ell)
        table[2 * i + 1] = ell / (kappa + ell)
    table[-2:] = 0.0


@kernel
def _solve_decisions(
    offsets: Ints,
    begin: int,
    worth: Floats,
    powers: Floats,
    parts: Floats,
    context: Floats,
    part_of: Ints,
    context_of: Ints,
    values: Floats,
    slopes: Floats,
    kappa: float,
    start: float,
    table: Floats,
    ln_p: Floats,
    p: Floats,
    slope: Floats,
) -> None:
    """Fill ln p, p and the derivative of ln p; one row of values for all decisions, or one each."""
    depths = values.shape[1] - len(part_of)
    most = 0
    for decision in range(len(offsets) - 1):
        most = max(most, offsets[decision + 1] - offsets[decision])
    most += LANES
    z, way, here, rate = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    # Of ln y, and of its slope.
    curve, utilities = np.zeros((len(powers), 2)), np.zeros((len(part_of), 2))
    factors = np.zeros((len(parts), 2))
    for decision in range(len(offsets) - 1):
        first, size = offsets[decision], offsets[decision + 1] - offsets[decision]
        width = -(-size // LANES) * LANES
        row = decision if len(values) > 1 else 0
        curve[:depths, 0], utilities[:, 0] = values[row, :depths], values[row, depths:]
        if len(slopes) > 0:
            curve[:depths, 1], utilities[:, 1] = slopes[row, :depths], slopes[row, depths:]
        gather_factors(context, decision, part_of, context_of, utilities, factors)
        z[:width], way[:width] = 0.0, 0.0
        add_rows(powers, 0, len(powers), begin + first, width, curve, 0, z)
        add_rows(parts, 0, len(parts), begin + first, width, factors, 0, z)
        if len(slopes) > 0:
            add_rows(powers, 0, len(powers), begin + first, width, curve, 1, way)
            add_rows(parts, 0, len(parts), begin + first, width, factors, 1, way)
        z[size:width] = NOWHERE
        real = size
        while real > 0 and worth[begin + first + real - 1] == -math.inf:
            # Padding stands last.
            real -= 1
            z[real], way[real] = NOWHERE, 0.0
        at = best_option(z, size, 0)
        top, x_top, lam, shift = z[at], 0.0, -math.inf, 0.0
        if real > 1:
            z[at] = NOWHERE
            high = math.log(math.log(real * 1.0)) + 1e-12
            settled, x_top, _, shift = settle(
                z, width, top, kappa, start, table, high, high - 0.7, _CLOSE, here, rate
            )
            lam = math.exp(x_top) + kappa * x_top
            if not settled:
                shift = 0.0
                lam = solve_exactly(z, size, at, top, kappa, here, rate)
                x_top = ln_ell(lam, kappa, min(lam / kappa, 0.0))
        _fill_logarithms(
            z, way, here, rate, size, at, top, lam, x_top, shift, kappa,
            ln_p[first : first + size], p[first : first + size], slope[first : first + size],
        )  # fmt: skip


@kernel
def _fill_logarithms(
    z: Floats,
    way: Floats,
    here: Floats,
    rate: Floats,
    size: int,
    at: int,
    top: float,
    lam: float,
    x_top: float,
    shift: float,
    kappa: float,
    ln_p: Floats,
    p: Floats,
    slope: Floats,
) -> None:
    """Fill ln p, p and d ln p = r (d ln y - Σ p r d ln y / Σ p r) of one decision; r = ℓ/(κ+ℓ)."""
    mass, mean = 0.0, 0.0
    for i in range(size):
        ell = math.inf
        p[i], slope[i] = 0.0, 0.0
        if i == at:
            # A single option is certain.
            ell = math.exp(x_top) if lam > -math.inf else 0.0
            p[i] = math.exp(-ell)
        elif z[i] > NOWHERE:
            p[i] = carried(here[i], rate[i], kappa, shift)
            if p[i] > LEAST_KNOWN:
                ell = -math.log(p[i])
            else:
                b = lam + min(top - z[i], FURTHEST)
                ell = math.exp(ln_ell(b, kappa, math.log(b) if b > 1.0 else min(b / kappa, 0.0)))
                p[i] = math.exp(-ell)
        ln_p[i] = -ell
        if p[i] > 0.0:
            slope[i] = ell / (kappa + ell)
            mass += p[i] * slope[i]
            mean += p[i] * slope[i] * way[i]
        elif ell < math.inf:
            slope[i] = ell / (kappa + ell)
    mean = mean / mass if mass > 0.0 else 0.0
    for i in range(size):
        slope[i] = slope[i] * (way[i] - mean) if mass > 0.0 else 0.0


@wide_kernel
def greatest(z: Floats, size: int) -> float:
    """Return the greatest of some numbers."""
    top = NOWHERE
    for i in range(size):
        top = max(top, z[i])
    return top


@kernel
def best_option(z: Floats, size: int, guess: int) -> int:
    """Return where the greatest of some numbers is: the first of several; mostly the guess is."""
    top = greatest(z, size)
    if z[guess] == top:
        return guess
    for i in range(size):
        if z[i] == top:
            return i
    return 0


@wide_kernel
def look_up(
    z: Floats, size: int, level: float, kappa: float, start: float, table: Floats, p: Floats,
    r: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Fill p and r at b = level - z; return the sums of p and of p r.

    From the nearest point of the table on by the derivatives dℓ/db = r, dr/db = r g with
    g = (1 - r)²/κ, and dg/db = -2 g u with u = r (1 - r)/κ. Outside the table, which a guess may
    be, the values of its end are taken.
    """
    rest = 0.0
    slope = 0.0
    shift = (level - start) * _STEPS_A_UNIT
    last = len(table) // 2 - 1.0
    over = 1.0 / kappa
    for i in range(size):
        t = min(max(shift - z[i] * _STEPS_A_UNIT, 0.0), last)
        k = np.uint32(np.int32(t + 0.5))
        h = (t - k) * (1.0 / _STEPS_A_UNIT)
        there = table[np.uint32(2) * k + np.uint32(1)]
        part = there * over
        g = (1.0 - there) * (over - part)
        bend = g - 2.0 * (part - part * there)
        rise = there * g * h
        turn = bend * bend - 2.0 * g * part * (2.0 - 3.0 * there)
        second, third = bend * h, turn * h * h
        more = h * (there + rise * (0.5 + second * (1.0 / 6.0) + third * (1.0 / 24.0)))
        fall = 1.0 / 24.0 - more * (1.0 / 120.0)
        fall = 1.0 - more * (1.0 - more * (0.5 - more * (1.0 / 6.0 - more * fall)))
        p[i] = table[np.uint32(2) * k] * fall
        r[i] = there + rise * (1.0 + 0.5 * second + (1.0 / 6.0) * third)
        rest += p[i]
        slope += p[i] * r[i]
    return rest, slope


@kernel
def carried(p: float, r: float, kappa: float, shift: float) -> float:
    """Return p at b a little further: dℓ/db = r and dr/db = r (1 - r)² / κ."""
    bend = r - (1.0 - r) * (1.0 - r) / kappa
    return p + shift * p * r * (0.5 * shift * bend - 1.0)


@kernel
def settle(
    z: Floats,
    size: int,
    top: float,
    kappa: float,
    start: float,
    table: Floats,
    high: float,
    guess: float,
    close: float,
    p: Floats,
    r: Floats,
) -> tuple[bool, float, float, float]:
    """Solve for ln ℓ of the best option, whose z is `NOWHERE` here; fill p and r of the others.

    As `milepost.choice.ratios.blend` does, on the logarithm of the ratio of what the others have
    and what the best option leaves, until that is as close to 0 as `close`; the Newton step from
    there is still made. Returns whether it settled (the table may be too coarse), ln ℓ, ℓ,
    and by how much b is to be carried on from where p and r are.
    """
    low = _LN_LEAST_REST
    x = max(guess, low)
    for _ in range(_PATIENCE):
        ell = math.exp(x)
        rest, slope = look_up(z, size, ell + kappa * x + top, kappa, start, table, p, r)
        if not rest > _LEAST_REST:
            return False, x, ell, 0.0
        left = -math.expm1(-ell)
        k = _ln_near(rest / left)
        if k > 0.0:
            low = x
        else:
            high = x
        new = x + k / ((slope / rest) * (kappa + ell) + ell * (1.0 - left) / left)
        if abs(k) <= _NEAR or (abs(k) <= close and low <= new <= high):
            grown = ell * _exp_less_1(new - x)
            return True, new, ell + grown, grown + kappa * (new - x)
        x = new if low <= new <= high else 0.5 * (low + high)
    return False, x, math.exp(x), 0.0


@kernel
def _ln_near(x: float) -> float:
    """Return the logarithm of what is mostly near 1: then without a call."""
    y = x - 1.0
    if abs(y) < _SMALL:
        return y * (1.0 - y * (0.5 - y * (1.0 / 3.0 - y * 0.25)))
    return math.log(x)


@kernel
def _exp_less_1(x: float) -> float:
    """Return e^x - 1 of what is mostly near 0."""
    if abs(x) < _SMALL:
        return x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0))))
    return math.expm1(x)


@kernel
def solve_exactly(
    z: Floats, size: int, at: int, top: float, kappa: float, p: Floats, r: Floats
) -> float:
    """Solve one decision without the table; fill p and r of the others, return λ - ln y."""
    real, ln_p, rate = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        # What is further below is all alike.
        real[i] = max(z[i], top - FURTHEST) if z[i] > NOWHERE else -math.inf
    real[at] = top
    solve_blend(real, 0, size, at, top, kappa, ln_p, rate)
    nearest = -1
    for i in range(size):
        p[i], r[i] = 0.0, 0.0
        if i != at and z[i] > NOWHERE:
            p[i] = math.exp(ln_p[i])
            r[i] = rate[i]
            if nearest < 0 or z[i] > z[nearest]:
                nearest = i
    # By the option that comes next: ln ℓ of the best may be too small for a number.
    ell = -ln_p[nearest]
    value: float = ell + kappa * math.log(ell) - min(top - z[nearest], FURTHEST)
    return value
