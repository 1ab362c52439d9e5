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
from milepost.choice.evaluation.lockstep import (
    GROUP,
    NOWHERE,
    STEPS_A_UNIT,
    carried,
    greatest,
    new_group,
    place_of,
    settle,
)
from milepost.choice.evaluation.numbers import LANES, OptionNumbers, add_rows, gather_factors
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import BLEND, C, ChoiceModel, S
from milepost.choice.ratios.blend import ln_ell, solve_blend
from milepost.choice.ratios.powers import FURTHEST
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel

_LAST_ELL = 90.0
"""Where the table ends: p is 1e-39 there, and taken for 0 beyond."""
LEAST_KNOWN = 1e-37
"""A p under this is not taken from the table."""
_CLOSE = 1e-6
"""From here p at the end of a Newton step is carried on by its derivatives, right to 1e-11."""


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
    c, least = float(np.exp(theta[0, C])), float(theta[:, S].min())
    # Where u would be cut off, ln y is no longer linear in it. Mostly a bound is enough to tell.
    if c * (prepared.furthest_at_most - least) <= LARGEST_LN_U:
        return True
    return bool(c * (prepared.numbers(c).furthest - least) <= LARGEST_LN_U)


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
    *,
    roots: Floats | None = None,
    logarithms: bool = True,
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return bounds, ln p, p and the derivative of ln p for some of the decisions.

    As `milepost.choice.evaluation.blocks.evaluate_block` does; without a direction the derivative
    is 0. `roots` are ln ℓ of the best option of every decision, from agents nearby: with them less
    is to be solved (NaN = not known). They are replaced by those found here. Without `logarithms`
    there is p alone.
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
    values, slopes = linear_values(model, kappa, rows, ways)
    numbers = prepared.numbers(float(np.exp(rows[0, C])))
    answer = solve_block(
        numbers, (bounds, options.start), spreads.values, numbers.context[:, first:last], values,
        slopes, kappa, None if roots is None else roots[first:last], logarithms=logarithms,
    )  # fmt: skip
    return bounds, *answer


def solve_block(
    numbers: OptionNumbers,
    places: tuple[Ints, int],
    worth: Floats,
    context: Floats,
    values: Floats,
    slopes: Floats | None,
    kappa: float,
    roots: Floats | None,
    *,
    logarithms: bool = True,
) -> tuple[Floats, Floats, Floats]:
    """Return ln p, p and the derivative of ln p for decisions whose numbers are there.

    Parameters
    ----------
    numbers, context
        The numbers of the options, and those of just these decisions.
    places, worth
        The bounds of the decisions from 0, and where the first begins in the numbers and in
        `worth`, the values of the options.
    values, slopes
        See `linear_values`.
    kappa
        The blend.
    roots, logarithms
        See `linear_block`.
    """
    bounds, begin = places
    start, table = probability_table(kappa)
    count = int(bounds[-1])
    p = np.empty(count)
    ln_p, slope = (np.empty(count if logarithms else 0) for _ in range(2))
    _solve_decisions(
        bounds, begin, worth, numbers.powers, numbers.parts, context, numbers.part_of,
        numbers.context_of, values,
        np.zeros((0, values.shape[1])) if slopes is None else slopes,
        kappa, start, table, np.full(len(bounds) - 1, np.nan) if roots is None else roots,
        ln_p, p, slope,
    )  # fmt: skip
    return ln_p, p, slope[:, None]


@lru_cache(maxsize=8)
def probability_table(kappa: float) -> tuple[float, Floats]:
    """The first of some points b = ℓ + κ ln ℓ, where two options share all; p, r = ℓ/(κ+ℓ), p, …"""
    half = math.log(2.0)
    start = half + kappa * math.log(half) - 2.0 / STEPS_A_UNIT
    count = int((_LAST_ELL + kappa * math.log(_LAST_ELL) - start) * STEPS_A_UNIT) + 2
    table = np.empty(2 * count)
    _fill_table(start, kappa, table)
    return start, table


@kernel
def _fill_table(start: float, kappa: float, table: Floats) -> None:
    x = math.log(math.log(2.0))
    for i in range(len(table) // 2):
        x = ln_ell(start + i / STEPS_A_UNIT, kappa, x)
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
    roots: Floats,
    ln_p: Floats,
    p: Floats,
    slope: Floats,
) -> None:
    """Fill ln p, p and the derivative of ln p; one row of values for all decisions, or one each.

    Where there is no room for ln p, p alone.
    """
    depths = values.shape[1] - len(part_of)
    count, most = len(offsets) - 1, 0
    for decision in range(count):
        most = max(most, offsets[decision + 1] - offsets[decision])
    most += LANES
    group, way = new_group(most), np.zeros((GROUP, most))
    best, sought = np.zeros(GROUP, dtype=np.int64), np.zeros(GROUP, dtype=np.bool_)
    # Of ln y, and of its slope.
    curve, utilities = np.zeros((len(powers), 2)), np.zeros((len(part_of), 2))
    factors = np.zeros((len(parts), 2))
    for begin_group in range(0, count, GROUP):
        together = min(GROUP, count - begin_group)
        for g in range(together):
            decision = begin_group + g
            first, size = offsets[decision], offsets[decision + 1] - offsets[decision]
            row = decision if len(values) > 1 else 0
            curve[:depths, 0], utilities[:, 0] = values[row, :depths], values[row, depths:]
            if len(slopes) > 0:
                curve[:depths, 1], utilities[:, 1] = slopes[row, :depths], slopes[row, depths:]
            gather_factors(context, decision, part_of, context_of, utilities, factors)
            real = _fill_row(
                begin + first, size, worth, powers, parts, curve, factors, len(slopes) > 0,
                group.z[g], way[g],
            )  # fmt: skip
            group.width[g] = -(-size // LANES) * LANES
            group.top[g] = greatest(group.z, g, group.width[g])
            best[g] = place_of(group.z, g, size, group.top[g], 0)
            sought[g] = real > 1
            if real > 1:
                group.z[g, best[g]] = NOWHERE
                high, known = math.log(math.log(real * 1.0)) + 1e-12, roots[decision]
                group.high[g] = high
                group.x[g] = min(known, high) if known < math.inf else high - 0.7
        sought[together:] = False
        group.waiting[:] = sought
        settle(group, kappa, start, table, _CLOSE)
        for g in range(together):
            first, last = offsets[begin_group + g], offsets[begin_group + g + 1]
            z, here, rate, top = group.z[g], group.p[g], group.r[g], group.top[g]
            x_top, lam, shift = 0.0, -math.inf, 0.0
            if group.settled[g]:
                x_top, shift = group.root[g], group.shift[g]
                lam = math.exp(x_top) + kappa * x_top
            elif sought[g]:
                lam = solve_exactly(z, last - first, best[g], top, kappa, here, rate)
                x_top = ln_ell(lam, kappa, min(lam / kappa, 0.0))
            if sought[g]:
                roots[begin_group + g] = x_top
            _fill_answers(
                z, way[g], here, rate, last - first, best[g], top, lam, x_top, shift, kappa,
                ln_p[first:last], p[first:last], slope[first:last],
            )  # fmt: skip


@kernel
def _fill_row(
    first: int,
    size: int,
    worth: Floats,
    powers: Floats,
    parts: Floats,
    curve: Floats,
    factors: Floats,
    moves: bool,
    z: Floats,
    way: Floats,
) -> int:
    """Fill (1 + κ) ln y of the options of one decision, and its slope; return how many are real."""
    width = -(-size // LANES) * LANES
    z[:width], way[:width] = 0.0, 0.0
    add_rows(powers, 0, len(powers), first, width, curve, 0, z)
    add_rows(parts, 0, len(parts), first, width, factors, 0, z)
    if moves:
        add_rows(powers, 0, len(powers), first, width, curve, 1, way)
        add_rows(parts, 0, len(parts), first, width, factors, 1, way)
    z[size:width] = NOWHERE
    real = size
    while real > 0 and worth[first + real - 1] == -math.inf:
        # Padding stands last.
        real -= 1
        z[real], way[real] = NOWHERE, 0.0
    return real


@kernel
def _fill_probabilities(
    z: Floats,
    here: Floats,
    rate: Floats,
    size: int,
    at: int,
    top: float,
    lam: float,
    x_top: float,
    shift: float,
    kappa: float,
    p: Floats,
) -> None:
    """Fill p of one decision."""
    for i in range(size):
        p[i] = carried(here[i], rate[i], kappa, shift)
    for i in range(size):
        if i == at:
            p[i] = math.exp(-math.exp(x_top)) if lam > -math.inf else 1.0
        elif not z[i] > NOWHERE:
            p[i] = 0.0
        elif not p[i] > LEAST_KNOWN:
            p[i] = math.exp(-far_ell(z[i], top, lam, kappa))


@kernel
def far_ell(z: float, top: float, lam: float, kappa: float) -> float:
    """Return ℓ of an option that is too improbable for the table."""
    b = lam + min(top - z, FURTHEST)
    return math.exp(ln_ell(b, kappa, math.log(b) if b > 1.0 else min(b / kappa, 0.0)))


@kernel
def _fill_answers(
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
    """Fill ln p, p and d ln p = r (d ln y - Σ p r d ln y / Σ p r) of one decision; r = ℓ/(κ+ℓ).

    Without room for ln p, p alone.
    """
    if len(ln_p) == 0:
        _fill_probabilities(z, here, rate, size, at, top, lam, x_top, shift, kappa, p)
        return
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
                ell = far_ell(z[i], top, lam, kappa)
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
