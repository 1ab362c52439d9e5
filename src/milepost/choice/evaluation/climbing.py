"""The kernel that leads decisions up a ladder of agents, rung by rung, several in lockstep."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from milepost.choice.evaluation.linear import LEAST_KNOWN, far_ell, solve_exactly
from milepost.choice.evaluation.lockstep import (
    GROUP,
    NOWHERE,
    Group,
    carried,
    new_group,
    place_of,
    settle,
)
from milepost.choice.evaluation.numbers import ABREAST, LANES, add_rows
from milepost.choice.logarithms import ln
from milepost.choice.ratios.blend import ln_ell
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

TERMS: Final = 6
"""Directions are taken so many at a time."""
_CLOSE: Final = 1e-5
"""From here p at the end of a Newton step is carried on by its derivatives; ln p is then right to
1e-10."""
_NEXT: Final = np.array(
    [
        [1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [-4.0, 5.0, 0.0, 4.0, 2.0, 0.0],
        [-18.0, 9.0, 10.0, 9.0, 18.0, 3.0],
    ]
)
"""What the last values, latest first, and then their slopes are multiplied by for the next: that of
the polynomial through them (Hermite). Three of them guess better than six values without slopes."""


@kernel
def climb_decisions(
    offsets: Ints,
    worth: Floats,
    chosen: Ints,
    powers: Floats,
    parts: Floats,
    context: Floats,
    part_of: Ints,
    context_of: Ints,
    moving: Ints,
    moving_rows: Ints,
    curve: Floats,
    utilities: Floats,
    factors: Floats,
    stride: float,
    kappa: float,
    start: float,
    table: Floats,
    ln_chosen: Floats,
    information: Floats,
    ln_first: Floats,
) -> None:
    """Fill ln p of the choices and the information of some decisions, agent by agent.

    `moving` are the utilities whose factor changes from agent to agent, `moving_rows` the rows of
    the parts (the first of four) that have one of them as a factor; `stride` is what slopes are
    multiplied by for the change from one agent to the next.
    """
    agents, room = len(factors) // 2, factors.shape[1]
    count, most = len(offsets) - 1, 0
    for decision in range(count):
        most = max(most, offsets[decision + 1] - offsets[decision])
    most += LANES
    numbers, base = np.empty((GROUP, room, most)), np.empty((GROUP, most))
    gathered = np.zeros((len(parts), utilities.shape[1]))
    group, way = new_group(most), np.empty((GROUP, most))
    # The best option, since how many agents it is, the number of real ones, and the greatest ln ℓ.
    best, since = np.zeros(GROUP, dtype=np.int64), np.zeros(GROUP, dtype=np.int64)
    real, highest = np.zeros(GROUP, dtype=np.int64), np.zeros(GROUP)
    # λ and ln ℓ of the best option for the agents so far, with their slopes.
    levels, own = np.zeros((GROUP, 2, agents)), np.zeros((GROUP, 2, agents))
    for begin in range(0, count, GROUP):
        together = min(GROUP, count - begin)
        for g in range(together):
            first, size = offsets[begin + g], offsets[begin + g + 1] - offsets[begin + g]
            width = -(-size // LANES) * LANES
            _gather(context, begin + g, part_of, context_of, moving, utilities, gathered)
            _fill_numbers(
                first, width, powers, parts, moving_rows, curve, gathered, base[g], numbers[g]
            )
            real[g] = _leave_out(worth, first, size, width, base[g], numbers[g])
            highest[g] = math.log(math.log(real[g] * 1.0)) + 1e-12 if real[g] > 1 else 0.0
            best[g], since[g], group.width[g] = -1, 0, width
        for agent in range(agents):
            _multiply(
                factors, agent, agents + agent, base, numbers, together, group.width, group.z, way,
                group.top,
            )  # fmt: skip
            for g in range(together):
                at = place_of(group.z, g, group.width[g], group.top[g], max(best[g], 0))
                since[g] = since[g] + 1 if at == best[g] else 0
                best[g], group.waiting[g] = at, real[g] > 1
                group.z[g, at] = NOWHERE
                group.high[g] = highest[g]
                group.x[g] = _guess(group, g, agent, since[g], levels[g], own[g], highest[g], kappa)
            settle(group, kappa, start, table, _CLOSE)
            for g in range(together):
                place, at = chosen[begin + g], best[g]
                if real[g] < 2:
                    information[begin + g, agent] = 0.0
                    ln_chosen[begin + g, agent] = 0.0 if place == at else -math.inf
                    if len(ln_first) > 0:
                        ln_first[begin + g, agent] = 0.0 if at == 0 else -math.inf
                    continue
                if not group.settled[g]:
                    _settle_exactly(group, g, at, kappa)
                lam = group.ell[g] + kappa * group.root[g]
                information[begin + g, agent], moves = _information(
                    group.p, group.r, way, g, group.width[g], way[g, at], group.ell[g],
                    group.alone[g], kappa, group.shift[g],
                )  # fmt: skip
                levels[g, 0, agent], own[g, 0, agent] = lam + group.top[g], group.root[g]
                levels[g, 1, agent] = stride * (moves + way[g, at])
                own[g, 1, agent] = stride * moves / (kappa + group.ell[g])
                ln_chosen[begin + g, agent] = _p_or_ln(group, g, place, at, lam, kappa)
                if len(ln_first) > 0:
                    ln_first[begin + g, agent] = _p_or_ln(group, g, 0, at, lam, kappa)
        for g in range(together):
            _take_logarithms(ln_chosen, begin + g)
            if len(ln_first) > 0:
                _take_logarithms(ln_first, begin + g)


@kernel
def _guess(
    group: Group,
    g: int,
    agent: int,
    since: int,
    levels: Floats,
    own: Floats,
    highest: float,
    kappa: float,
) -> float:
    """Return what ln ℓ of the best option may be, from those of the agents before."""
    if agent == 0 or not group.waiting[g]:
        return highest - 0.7
    if since > 0:
        return min(_next(own, agent, since), highest)
    # There is another best option: λ, on the scale of ln y, goes on.
    level = _next(levels, agent, agent) - group.top[g]
    return min(ln_ell(level, kappa, own[0, agent - 1]), highest)


@kernel
def _settle_exactly(group: Group, g: int, at: int, kappa: float) -> None:
    """Solve a decision for which the table is too coarse."""
    lam = solve_exactly(group.z[g], group.width[g], at, group.top[g], kappa, group.p[g], group.r[g])
    group.root[g] = ln_ell(lam, kappa, min(lam / kappa, 0.0))
    group.ell[g], group.shift[g] = math.exp(group.root[g]), 0.0
    group.alone[g] = math.exp(-group.ell[g])


@kernel
def _p_or_ln(group: Group, g: int, place: int, at: int, lam: float, kappa: float) -> float:
    """Return p of one option, or ln p where that is known: neither is ever taken for the other."""
    if place == at:
        ln_best: float = -group.ell[g]
        return ln_best
    if group.z[g, place] <= NOWHERE:
        return -math.inf
    here = carried(group.p[g, place], group.r[g, place], kappa, group.shift[g])
    return here if here > LEAST_KNOWN else -far_ell(group.z[g, place], group.top[g], lam, kappa)


@wide_kernel
def _take_logarithms(rows: Floats, row: int) -> None:
    """Turn what is positive into its logarithm."""
    for i in range(rows.shape[1]):
        value = rows[row, i]
        rows[row, i] = ln(value) if value > 0.0 else value


@kernel
def _next(series: Floats, known: int, count: int) -> float:
    """Go on with a series on the polynomial through its last values with their slopes."""
    row = min(count, len(_NEXT)) - 1
    guess = 0.0
    for step in range(row + 1):
        at = known - 1 - step
        guess += _NEXT[row, step] * series[0, at] + _NEXT[row, step + 3] * series[1, at]
    return guess


@wide_kernel
def _gather(
    context: Floats,
    decision: int,
    part_of: Ints,
    context_of: Ints,
    moving: Ints,
    utilities: Floats,
    out: Floats,
) -> None:
    """Fill the factors of the parts in one decision: the fixed ones, and those of directions.

    As `gather_factors` does, but only the utilities that are `moving` count in the directions.
    """
    for row in range(len(out)):
        for j in range(out.shape[1]):
            out[row, j] = 0.0
    for k in range(len(part_of)):
        out[part_of[k], 0] += context[context_of[k], decision] * utilities[k, 0]
    for k in moving:
        share, row = context[context_of[k], decision], part_of[k]
        for j in range(1, out.shape[1]):
            out[row, j] += share * utilities[k, j]


@kernel
def _fill_numbers(
    first: int,
    width: int,
    powers: Floats,
    parts: Floats,
    moving: Ints,
    curve: Floats,
    gathered: Floats,
    base: Floats,
    out: Floats,
) -> None:
    """Bring δ^c and the columns of one decision to the basis; a row each of its directions.

    `base` is what the columns with fixed factors add up to.
    """
    base[:width] = 0.0
    add_rows(parts, 0, len(parts), first, width, gathered, 0, base)
    for j in range(len(out)):
        out[j, :width] = 0.0
    for low in range(0, len(powers), ABREAST):
        _add_to_directions(powers, low, first, width, curve, 0, out)
    for low in moving:
        _add_to_directions(parts, low, first, width, gathered, 1, out)


@wide_kernel
def _add_to_directions(
    rows: Floats, low: int, first: int, width: int, factors: Floats, column: int, out: Floats
) -> None:
    """Add Σ factor × number over four rows to all directions, two at a time; as `add_rows`."""
    last = first + width
    a, b = rows[low, first:last], rows[low + 1, first:last]
    c, d = rows[low + 2, first:last], rows[low + 3, first:last]
    for j in range(0, len(out), 2):
        k = column + j
        one, two = factors[low, k], factors[low + 1, k]
        three, four = factors[low + 2, k], factors[low + 3, k]
        uno, due = factors[low, k + 1], factors[low + 1, k + 1]
        tre, quattro = factors[low + 2, k + 1], factors[low + 3, k + 1]
        for i in range(width):
            out[j, i] += one * a[i] + two * b[i] + three * c[i] + four * d[i]
            out[j + 1, i] += uno * a[i] + due * b[i] + tre * c[i] + quattro * d[i]


@kernel
def _leave_out(
    worth: Floats, first: int, size: int, width: int, base: Floats, numbers: Floats
) -> int:
    """Let nobody choose padding, nor what belongs to the next decision; return what is left."""
    real = size
    while real > 0 and worth[first + real - 1] == -math.inf:  # it stands last
        real -= 1
    base[real:width] = NOWHERE
    numbers[:, real:width] = 0.0
    return real


@wide_kernel
def _multiply(
    factors: Floats,
    agent: int,
    slope: int,
    base: Floats,
    numbers: Floats,
    together: int,
    width: Ints,
    z: Floats,
    way: Floats,
    top: Floats,
) -> None:
    """Fill z = base + Σ factor × number of each option, its slope, and the greatest z."""
    for j in range(0, factors.shape[1], TERMS):
        one, two, three = factors[agent, j], factors[agent, j + 1], factors[agent, j + 2]
        four, five, six = factors[agent, j + 3], factors[agent, j + 4], factors[agent, j + 5]
        uno, due, tre = factors[slope, j], factors[slope, j + 1], factors[slope, j + 2]
        quattro, cinque, sei = factors[slope, j + 3], factors[slope, j + 4], factors[slope, j + 5]
        for g in range(together):
            for i in range(width[g]):
                a, b, c = numbers[g, j, i], numbers[g, j + 1, i], numbers[g, j + 2, i]
                d, e, f = numbers[g, j + 3, i], numbers[g, j + 4, i], numbers[g, j + 5, i]
                more = one * a + two * b + three * c + four * d + five * e + six * f
                moves = uno * a + due * b + tre * c + quattro * d + cinque * e + sei * f
                z[g, i] = (base[g, i] if j == 0 else z[g, i]) + more
                way[g, i] = (0.0 if j == 0 else way[g, i]) + moves
    for g in range(together):
        best = NOWHERE
        for i in range(width[g]):
            best = max(best, z[g, i])
        top[g] = best


@wide_kernel
def _information(
    p: Floats,
    r: Floats,
    way: Floats,
    row: int,
    size: int,
    way_best: float,
    ell: float,
    alone: float,
    kappa: float,
    shift: float,
) -> tuple[float, float]:
    """Return Σ p (d ln p)², and dλ less the slope of the best option.

    d ln p = r (d ln y - dλ), dλ = Σ p r d ln y / Σ p r; all slopes are taken less the best's. p and
    r are carried on by the shift, see `carried`.
    """
    rate = ell / (kappa + ell)
    mass = alone * rate
    total = mass * rate
    mean = 0.0
    moved = 0.0
    square = 0.0
    for i in range(size):
        slope = way[row, i] - way_best
        one = r[row, i]
        more = shift / kappa * (1.0 - one) * (1.0 - one)
        here = p[row, i] * one * (1.0 - shift * one + more)
        prr = here * one * (1.0 + more)
        mass += here
        mean += here * slope
        total += prr
        moved += prr * slope
        square += prr * slope * slope
    if not mass > 0.0:
        return 0.0, 0.0
    mean /= mass
    return max(square - mean * (2.0 * moved - mean * total), 0.0), mean
