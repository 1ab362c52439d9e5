"""The kernel of the evidence ratio: the menu's likelihoods of games, by the player's strength.

With ρ = e/p the ratio of a helped choice's probability to an agent's, a turn's likelihood is p
times 1 - q + q ρ. The first schedules part by turns, the others by games. All of it is gathered as
plain products, each row with its own scale, and integrated over the game's own strength by one
product of matrices.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from milepost.choice.logarithms import exp, ln
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

_PLACES: Final = (0, 1, 3, 2, 4)
"""Where a game's alternatives stand among the menu's schedules, in the order they are made."""
_LANES: Final = 8
"""Nodes are taken in whole vectors."""
_AT_ONCE: Final = 8
"""So many factors stay far inside what a number can hold; then the largest is brought to 1."""
_LEAST: Final = 1e-300
"""The least number whose logarithm is taken in vectors."""


@kernel
def add_games(
    starts: Ints,
    ln_p: Floats,
    helped: Floats,
    difficult: Floats,
    behind: Floats,
    stake: Floats,
    mixing: Floats,
    shares: Floats,
    within: float,
    answer: Floats,
    alone: Floats,
) -> None:
    """Add the log-likelihoods of some games to those of the menu, and to that without help."""
    nodes, kinds, assistants = ln_p.shape[1], len(shares), helped.shape[0]
    width = -(-nodes // _LANES) * _LANES
    most = 0
    for game in range(len(starts) - 1):
        most = max(most, starts[game + 1] - starts[game])
    inverse, ratio = np.ones((most, width)), np.zeros((most, width))
    rows = 1 + 5 * assistants * kinds
    weight, scale = np.empty((rows, nodes)), np.empty(rows)
    base, own, single, whole = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
    product = np.zeros(width)
    # The turns of each schedule that parts by turns: every turn, difficult turns, when behind.
    turns, counts = np.empty((3, most), dtype=np.int64), np.empty(3, dtype=np.int64)
    table = answer.reshape((5, assistants * kinds, nodes))
    for game in range(len(starts) - 1):
        first, last = starts[game], starts[game + 1]
        top = _fill_base(ln_p, first, last, nodes, base, own, inverse)
        _fill_turns(difficult, behind, first, last, turns, counts)
        total_stake = stake[first:last].sum()
        weight[0], scale[0] = own[:nodes], 0.0
        row = 1
        for k in range(assistants):
            single[:] = 0.0
            for t in range(last - first):
                share = stake[first + t] / total_stake
                _fill_ratio(helped[k, first + t], inverse, t, share, ratio, single)
            whole[:nodes] = 1.0
            whole_scale = _multiply(ratio, turns[0], counts[0], within, whole)
            for j in range(kinds):
                q = shares[j]
                for m in range(3):
                    product[:] = own
                    scale[row] = _multiply(ratio, turns[m], counts[m], q, product)
                    weight[row] = product[:nodes]
                    row += 1
                # 1 - q + q e^w with w = ln whole + its scale: the larger part stays a plain number.
                high = max(0.0, whole_scale)
                rest, part = (1.0 - q) * math.exp(-high), q * math.exp(whole_scale - high)
                for n in range(nodes):
                    weight[row, n] = own[n] * (1.0 - q + q * single[n])
                    weight[row + 1, n] = own[n] * (rest + part * whole[n])
                scale[row], scale[row + 1] = 0.0, high
                row += 2
        mixed = np.dot(weight, mixing[game].T)
        _add_logarithms(mixed, 0, top, alone)
        for row in range(1, rows):
            _add_logarithms(
                mixed, row, scale[row] + top, table[_PLACES[(row - 1) % 5], (row - 1) // 5]
            )


@kernel
def _fill_base(
    ln_p: Floats, first: int, last: int, nodes: int, base: Floats, own: Floats, inverse: Floats
) -> float:
    """Fill the likelihood of a game without help and 1/p of its turns; return its logarithm."""
    base[:nodes] = 0.0
    for t in range(first, last):
        _add_turn(ln_p, t, inverse, t - first, base)
    top: float = base[:nodes].max()
    for n in range(nodes):
        own[n] = math.exp(base[n] - top)
    return top


@wide_kernel
def _add_turn(ln_p: Floats, turn: int, inverse: Floats, t: int, base: Floats) -> None:
    for n in range(ln_p.shape[1]):
        base[n] += ln_p[turn, n]
        inverse[t, n] = exp(-ln_p[turn, n])


@kernel
def _fill_turns(
    difficult: Floats, behind: Floats, first: int, last: int, turns: Ints, counts: Ints
) -> None:
    counts[:] = 0
    for t in range(last - first):
        turns[0, t] = t
        if difficult[first + t] != 0.0:
            turns[1, counts[1]] = t
            counts[1] += 1
        if behind[first + t] != 0.0:
            turns[2, counts[2]] = t
            counts[2] += 1
    counts[0] = last - first


@wide_kernel
def _fill_ratio(
    helped: float, inverse: Floats, t: int, share: float, ratio: Floats, single: Floats
) -> None:
    for n in range(len(single)):
        rho = helped * inverse[t, n]
        ratio[t, n] = rho
        single[n] += share * rho


@kernel
def _multiply(ratio: Floats, turns: Ints, count: int, q: float, product: Floats) -> float:
    """Multiply by 1 - q + q ρ of some turns; return the logarithm of what was taken out."""
    scale = 0.0
    for begin in range(0, count, _AT_ONCE):
        end = min(begin + _AT_ONCE, count)
        for t in range(begin, end - 1, 2):
            _times_both(ratio, turns[t], turns[t + 1], q, product)
        if (end - begin) % 2:
            _times_both(ratio, turns[end - 1], -1, q, product)
        scale += math.log(_to_one(product))
    return scale


@wide_kernel
def _times_both(ratio: Floats, one: int, two: int, q: float, product: Floats) -> None:
    """Multiply by the factors of two turns, or of one alone."""
    rest = 1.0 - q
    if two < 0:
        for n in range(len(product)):
            product[n] *= rest + q * ratio[one, n]
    else:
        for n in range(len(product)):
            product[n] *= (rest + q * ratio[one, n]) * (rest + q * ratio[two, n])


@wide_kernel
def _to_one(product: Floats) -> float:
    """Bring the largest to 1; return it."""
    top = 0.0
    for n in range(len(product)):
        top = max(top, product[n])
    over = 1.0 / top
    for n in range(len(product)):
        product[n] *= over
    return top


@kernel
def _add_logarithms(mixed: Floats, row: int, more: float, answer: Floats) -> None:
    """Add the logarithms of a row and a number."""
    if _add_fast(mixed, row, more, answer) < _LEAST:
        for n in range(len(answer)):
            if mixed[row, n] < _LEAST:
                answer[n] += math.log(mixed[row, n]) - math.log(_LEAST)


@wide_kernel
def _add_fast(mixed: Floats, row: int, more: float, answer: Floats) -> float:
    """As `_add_logarithms`, with `_LEAST` for what is less; return the least number."""
    least = 1.0
    for n in range(len(answer)):
        value = mixed[row, n]
        least = min(least, value)
        answer[n] += ln(max(value, _LEAST)) + more
    return least
