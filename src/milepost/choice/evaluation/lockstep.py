"""Several decisions in lockstep: what is done once a decision runs in vectors over decisions.

A root is sought in each decision, by Newton: half of the time would go into logarithms and
exponentials of single numbers. So `GROUP` decisions take their steps together. What is done with
all options, which run in vectors as they are, is done for one decision after the other.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from milepost.choice.logarithms import exp, exp_less_1, ln
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

Bools = npt.NDArray[np.bool_]

GROUP: Final = 8
"""So many decisions go together."""
NOWHERE: Final = -1e30
"""(1 + κ) ln y of what is no option: beyond the end of the table."""
STEPS_A_UNIT: Final = 64
"""Of the table: so few that most of it stays in the processor's nearest memory. From the nearest
point on, by derivatives, ln p is right to 1e-11 and r to 1e-9."""
_LEAST_REST: Final = 1e-30
"""Where all options but the best have less than this together, the table is not fine enough."""
_LN_LEAST_REST: Final = math.log(_LEAST_REST)
_NEAR: Final = 1e-7
"""Newton squares the error: one step from here is exact, whatever rounding made of the bracket."""
_PATIENCE: Final = 30


class Group(NamedTuple):
    """Decisions that go together; arrays of the options have a row each."""

    z: Floats
    """(1 + κ) ln y of the options, the best one's and that of no option `NOWHERE`."""
    p: Floats
    """Probabilities of the options but the best, near the root."""
    r: Floats
    """ℓ/(κ+ℓ) of these options."""
    width: Ints
    """How many options there are, in whole vectors."""
    top: Floats
    """z of the best option."""
    high: Floats
    """What ln ℓ of the best option is not above."""
    x: Floats
    """ln ℓ of the best option, to begin with as it is guessed."""
    waiting: Bools
    """Whether its root is still sought: to be set for each decision that has one."""
    settled: Bools
    """Whether it was found (the table may be too coarse)."""
    root: Floats
    """ln ℓ of the best option."""
    ell: Floats
    """ℓ of the best option."""
    alone: Floats
    """The probability of the best option."""
    shift: Floats
    """By how much b is to be carried on from where p and r are."""
    low: Floats
    """What x is not below."""
    here: Floats
    """ℓ at x."""
    level: Floats
    """λ at x, on the scale of z."""
    rest: Floats
    """Σ p at x."""
    slope: Floats
    """Σ p r at x."""
    k: Floats
    """The logarithm of what the others have over what the best option leaves."""
    new: Floats
    """x after the step."""
    grown: Floats
    """By how much ℓ grows with the step."""
    places: npt.NDArray[np.int32]
    """Of the options of one decision: the nearest points of the table …"""
    apart: Floats
    """… and how far b is from there."""


@kernel
def new_group(most: int) -> Group:
    """Return room for decisions of so many options."""
    return Group(
        z=np.empty((GROUP, most)),
        p=np.empty((GROUP, most)),
        r=np.empty((GROUP, most)),
        width=np.zeros(GROUP, dtype=np.int64),
        top=np.zeros(GROUP),
        high=np.zeros(GROUP),
        x=np.zeros(GROUP),
        waiting=np.zeros(GROUP, dtype=np.bool_),
        settled=np.zeros(GROUP, dtype=np.bool_),
        root=np.zeros(GROUP),
        ell=np.zeros(GROUP),
        alone=np.zeros(GROUP),
        shift=np.zeros(GROUP),
        low=np.zeros(GROUP),
        here=np.ones(GROUP),
        level=np.zeros(GROUP),
        rest=np.ones(GROUP),
        slope=np.ones(GROUP),
        k=np.zeros(GROUP),
        new=np.zeros(GROUP),
        grown=np.zeros(GROUP),
        places=np.zeros(most, dtype=np.int32),
        apart=np.zeros(most),
    )


@wide_kernel
def look_up(group: Group, kappa: float, start: float, table: Floats) -> None:
    """Fill p and r at b = level - z of the decisions that wait, and the sums of p and of p r.

    From the nearest point of the table on by the derivatives dℓ/db = r, dr/db = r g with
    g = (1 - r)²/κ, and dg/db = -2 g u with u = r (1 - r)/κ. Outside the table, which a guess may
    be, the values of its end are taken.

    First all places in the table are found, then what stands there is fetched: in one loop the
    compiler would find the places one by one.
    """
    places, apart = group.places, group.apart
    last = len(table) // 2 - 1.0
    over = 1.0 / kappa
    for g in range(GROUP):
        if not group.waiting[g]:
            continue
        size = group.width[g]
        shift = (group.level[g] - start) * STEPS_A_UNIT
        for i in range(size):
            t = min(max(shift - group.z[g, i] * STEPS_A_UNIT, 0.0), last)
            k = np.int32(t + 0.5)
            places[i] = k
            apart[i] = (t - k) * (1.0 / STEPS_A_UNIT)
        rest = 0.0
        slope = 0.0
        for i in range(size):
            at = np.uint32(2) * np.uint32(places[i])
            h = apart[i]
            there = table[at + np.uint32(1)]
            part = there * over
            bends = (1.0 - there) * (over - part)
            bend = bends - 2.0 * (part - part * there)
            turn = bend * bend - 2.0 * bends * part * (2.0 - 3.0 * there)
            second, third = bend * h, turn * h * h
            rise = there * bends * h
            more = h * (there + rise * (0.5 + second * (1.0 / 6.0)))
            fall = 1.0 - more * (1.0 - more * (0.5 - more * (1.0 / 6.0 - more * (1.0 / 24.0))))
            here = table[at] * fall
            rate = there + rise * (1.0 + 0.5 * second + (1.0 / 6.0) * third)
            group.p[g, i] = here
            group.r[g, i] = rate
            rest += here
            slope += here * rate
        group.rest[g], group.slope[g] = rest, slope


@kernel
def settle(group: Group, kappa: float, start: float, table: Floats, close: float) -> None:
    """Solve for ln ℓ of the best options, whose z are `NOWHERE` here; fill p and r of the others.

    As `milepost.choice.ratios.blend` does, on the logarithm of the ratio of what the others have
    and what the best option leaves, until that is as close to 0 as `close`; the Newton step from
    there is still made. What bounds x from above is lost on the way.
    """
    waiting, x, k, new = group.waiting, group.x, group.k, group.new
    low, high = group.low, group.high
    left = 0
    for g in range(GROUP):
        low[g] = _LN_LEAST_REST
        x[g] = max(x[g], _LN_LEAST_REST)
        group.settled[g] = False
        left += waiting[g]
    for _ in range(_PATIENCE):
        if left == 0:
            break
        _levels(x, group.top, kappa, group.here, group.level)
        look_up(group, kappa, start, table)
        for g in range(GROUP):
            if waiting[g] and not group.rest[g] > _LEAST_REST:
                waiting[g], group.rest[g], group.slope[g] = False, 1.0, 1.0
                left -= 1
        _step(x, group.here, group.rest, group.slope, kappa, k, new, group.grown)
        for g in range(GROUP):
            if not waiting[g]:
                continue
            if k[g] > 0.0:
                low[g] = x[g]
            else:
                high[g] = x[g]
            inside = low[g] <= new[g] <= high[g]
            if abs(k[g]) <= _NEAR or (abs(k[g]) <= close and inside):
                group.root[g] = new[g]
                group.ell[g] = group.here[g] + group.grown[g]
                group.shift[g] = group.grown[g] + kappa * (new[g] - x[g])
                group.settled[g], waiting[g] = True, False
                left -= 1
            else:
                x[g] = new[g] if inside else 0.5 * (low[g] + high[g])
    waiting[:] = False
    _best_chances(group.ell, group.alone)


@wide_kernel
def _levels(x: Floats, top: Floats, kappa: float, ell: Floats, level: Floats) -> None:
    """Fill ℓ at x, and λ on the scale of z."""
    for g in range(GROUP):
        ell[g] = exp(x[g])
        level[g] = ell[g] + kappa * x[g] + top[g]


@wide_kernel
def _best_chances(ell: Floats, answer: Floats) -> None:
    for g in range(GROUP):
        answer[g] = exp(-ell[g])


@wide_kernel
def _step(
    x: Floats,
    ell: Floats,
    rest: Floats,
    slope: Floats,
    kappa: float,
    k: Floats,
    new: Floats,
    grown: Floats,
) -> None:
    """Make a Newton step in each decision; see `Group`."""
    for g in range(GROUP):
        left = -exp_less_1(-ell[g])
        k[g] = ln(rest[g] / left)
        step = k[g] / ((slope[g] / rest[g]) * (kappa + ell[g]) + ell[g] * (1.0 - left) / left)
        new[g] = x[g] + step
        grown[g] = ell[g] * exp_less_1(step)


@kernel
def carried(p: float, r: float, kappa: float, shift: float) -> float:
    """Return p at b a little further: dℓ/db = r and dr/db = r (1 - r)² / κ."""
    bend = r - (1.0 - r) * (1.0 - r) / kappa
    return p + shift * p * r * (0.5 * shift * bend - 1.0)


@wide_kernel
def greatest(z: Floats, row: int, size: int) -> float:
    """Return the greatest number of a row."""
    top = NOWHERE
    for i in range(size):
        top = max(top, z[row, i])
    return top


@kernel
def place_of(z: Floats, row: int, size: int, value: float, guess: int) -> int:
    """Return where a number stands in a row: at the guess, or at the first place."""
    if z[row, guess] == value:
        return guess
    for i in range(size):
        if z[row, i] == value:
            return i
    return 0
