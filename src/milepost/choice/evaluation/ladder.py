"""Many agents of one model on the same decisions: what a ladder of ratings is made of.

For agents along a path only the chosen option, the first one and the information are wanted, and
from one agent to the next little changes. Where ln y is linear in numbers of the option
(`milepost.choice.evaluation.linear`) this is used twice over:

- ln y of all options and agents is one matrix product, and so is its slope.
- λ of one agent, carried on by a polynomial through those before, is nearly that of the next:
  mostly one Newton step is enough, and what it changes in p follows from the slopes at hand.

Other models are evaluated agent by agent.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from milepost.choice.evaluation.evaluate import evaluate, in_blocks
from milepost.choice.evaluation.linear import (
    LEAST_KNOWN,
    NOWHERE,
    best_option,
    carried,
    is_linear,
    linear_values,
    probability_table,
    settle,
    solve_exactly,
)
from milepost.choice.evaluation.numbers import ABREAST, LANES, add_rows, gather_factors
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import C, ChoiceModel
from milepost.choice.ratios.blend import ln_ell
from milepost.choice.ratios.powers import FURTHEST
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

_CLOSE = 1e-4
"""From here p at the end of a Newton step is carried on by its derivatives; ln p is then right to
1e-9."""
_KNOWN = 6
"""A polynomial through so many values guesses the next λ; more would only carry noise on."""
_ENOUGH = 3
"""From so many agents with the same best option on, its own ln ℓ is carried on."""
_NEXT = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [2.0, -1.0, 0.0, 0.0, 0.0, 0.0],
        [3.0, -3.0, 1.0, 0.0, 0.0, 0.0],
        [4.0, -6.0, 4.0, -1.0, 0.0, 0.0],
        [5.0, -10.0, 10.0, -5.0, 1.0, 0.0],
        [6.0, -15.0, 20.0, -15.0, 6.0, -1.0],
    ]
)
"""What the last values, latest first, are multiplied by for the next: differences are 0."""
_NOISE = 1e-14
"""Directions that count less than this, beside the first, are rounding."""


def evaluate_ladder(
    model: ChoiceModel, prepared: Prepared, theta: Floats, along: Floats, *, first: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return ln p of the chosen option, the expected information, and ln p of the first option.

    All are decisions × agents.

    Parameters
    ----------
    model, prepared
        The model, and spreads that were prepared for it.
    theta
        The working parameters of the agents, a row each.
    along
        The derivatives of the parameters by the number that the agents follow, a row each: the
        information is about that number.
    first
        Whether ln p of the first option is wanted; else there are no rows of it.
    """
    spreads = prepared.spreads
    ln_chosen = np.empty((len(spreads), len(theta)))
    information = np.empty_like(ln_chosen)
    ln_first = np.empty_like(ln_chosen if first else ln_chosen[:0])
    if not len(spreads):
        return ln_chosen, information, ln_first
    if not is_linear(model, prepared, theta, along):
        for column, (parameters, way) in enumerate(zip(theta, along, strict=True)):
            said = evaluate(model, prepared, parameters, information=True, along=way)
            ln_chosen[:, column] = said.ln_chosen
            information[:, column] = said.information[:, 0, 0]
            if first:
                with np.errstate(divide="ignore"):
                    ln_first[:, column] = np.log(said.first)
        return ln_chosen, information, ln_first
    kappa = float(np.exp(theta[0, model.place("kappa")]))
    start, table = probability_table(kappa)
    curve, utilities, factors, unit = _factors(
        model, kappa, theta.shape, theta.tobytes(), along.tobytes()
    )
    numbers = prepared.numbers(float(np.exp(theta[0, C])))
    # Only rows with a part whose factor some agents change go into the directions.
    moving = numbers.part_of[utilities[:, 1:].any(axis=1)]
    moving = np.unique(moving // ABREAST) * ABREAST

    def work(begin: int, end: int) -> None:
        _climb(
            spreads.offsets[begin : end + 1], spreads.values, spreads.chosen[begin:end],
            numbers.powers, numbers.parts, numbers.context[:, begin:end], numbers.part_of,
            numbers.context_of, moving, curve, utilities, factors, kappa, start, table,
            ln_chosen[begin:end], information[begin:end], ln_first[begin:end],
        )  # fmt: skip

    in_blocks(work, len(spreads), len(spreads.values) * len(theta))
    information *= unit**2
    return ln_chosen, information, ln_first


@lru_cache(maxsize=8)
def _factors(
    model: ChoiceModel, kappa: float, shape: tuple[int, int], theta: bytes, along: bytes
) -> tuple[Floats, Floats, Floats, float]:
    """How (1 + κ) ln y of each agent, and its slope, come from the numbers of an option.

    The numbers are δ^c at each depth, then the columns. Most columns count alike for all agents:
    these are added up once, with the fixed factors. What agents make of the others lies in a space
    of few dimensions, so they are first brought to its basis. Kept, as the same ladder is climbed
    by one batch of decisions after the other; so the arrays come as bytes.

    Returns
    -------
    tuple
        The basis for δ^c, a row a depth; for the columns a row each, the fixed factor first; the
        factors (of ln y of all agents, then of slopes), and the slopes' unit.
    """
    values, slopes = linear_values(
        model,
        kappa,
        np.frombuffer(theta).reshape(shape),
        np.frombuffer(along).reshape(shape),
    )
    assert slopes is not None
    alike = (values == values[0]).all(axis=0) & ~slopes.any(axis=0)
    columns = len(model.utilities)
    alike[: len(alike) - columns] = False
    fixed = np.where(alike, values[0], 0.0)[len(alike) - columns :]
    values, slopes = np.where(alike, 0.0, values), np.where(alike, 0.0, slopes)
    # On one scale, so that neither is lost beside the other.
    unit = float(np.abs(slopes).max(initial=0.0) / np.abs(values).max()) or 1.0
    left, sizes, right = np.linalg.svd(np.concatenate([values, slopes / unit]), full_matrices=False)
    count = int((sizes > _NOISE * sizes[0]).sum())
    room = -(-count // ABREAST) * ABREAST
    basis, factors = np.zeros((len(alike), room)), np.zeros((2 * shape[0], room))
    basis[:, :count] = right[:count].T
    factors[:, :count] = left[:, :count] * sizes[:count]
    depths = len(alike) - columns
    curve = np.zeros((-(-depths // ABREAST) * ABREAST, room))
    curve[:depths] = basis[:depths]
    utilities = np.concatenate([fixed[:, None], basis[depths:]], axis=1)
    return curve, utilities, factors, unit


@kernel
def _climb(
    offsets: Ints,
    worth: Floats,
    chosen: Ints,
    powers: Floats,
    parts: Floats,
    context: Floats,
    part_of: Ints,
    context_of: Ints,
    moving: Ints,
    curve: Floats,
    utilities: Floats,
    factors: Floats,
    kappa: float,
    start: float,
    table: Floats,
    ln_chosen: Floats,
    information: Floats,
    ln_first: Floats,
) -> None:
    """Fill ln p of the choices and the information of some decisions, agent by agent."""
    agents = len(factors) // 2
    most = 0
    for decision in range(len(offsets) - 1):
        most = max(most, offsets[decision + 1] - offsets[decision])
    most += LANES
    numbers = np.empty((factors.shape[1], most))
    gathered = np.zeros((len(parts), utilities.shape[1]))
    # Arrays of their own: rows of a common one are not known to be without gaps, and cost twice.
    base, z, way, level = np.empty(most), np.empty(most), np.empty(most), np.zeros(most)
    p, r = np.empty(most), np.empty(most)
    levels, own = np.empty(agents), np.empty(agents)
    for decision in range(len(offsets) - 1):
        first, size = offsets[decision], offsets[decision + 1] - offsets[decision]
        width = -(-size // LANES) * LANES
        place = chosen[decision]
        gather_factors(context, decision, part_of, context_of, utilities, gathered)
        _fill_numbers(first, width, powers, parts, moving, curve, gathered, base, numbers)
        real = _leave_out(worth, first, size, width, base, numbers)
        high = math.log(math.log(real * 1.0)) + 1e-12 if real > 1 else 0.0
        at, since = -1, 0
        x_top = 0.0
        for agent in range(agents):
            _multiply(factors, agent, base, numbers, width, z)
            best = best_option(z, width, max(at, 0))
            since = since + 1 if best == at else 0
            at, top = best, z[best]
            if real < 2:
                ln_chosen[decision, agent] = 0.0 if place == at else -math.inf
                information[decision, agent] = 0.0
                if len(ln_first) > 0:
                    ln_first[decision, agent] = 0.0 if at == 0 else -math.inf
                continue
            z[at] = NOWHERE
            if agent == 0:
                x_top = high - 0.7
            elif since >= _ENOUGH:
                x_top = min(_next(own, agent, since), high)
            else:
                # From the last values of λ, on the scale of ln y, the next is guessed.
                x_top = min(ln_ell(_next(levels, agent, agent) - top, kappa, x_top), high)
            settled, x_top, ell, shift = settle(
                z, width, top, kappa, start, table, high, x_top, _CLOSE, p, r
            )
            lam = ell + kappa * x_top
            if not settled:
                shift = 0.0
                lam = solve_exactly(z, width, at, top, kappa, p, r)
                x_top = ln_ell(lam, kappa, min(lam / kappa, 0.0))
                ell = math.exp(x_top)
            levels[agent], own[agent] = lam + top, x_top
            _multiply(factors, agents + agent, level, numbers, width, way)
            information[decision, agent] = _information(
                p, r, way, width, way[at], ell, kappa, shift
            )
            ln_chosen[decision, agent] = _ln_of(place, at, ell, z, top, lam, p, r, kappa, shift)
            if len(ln_first) > 0:
                ln_first[decision, agent] = _ln_of(0, at, ell, z, top, lam, p, r, kappa, shift)


@kernel
def _ln_of(
    place: int,
    at: int,
    ell: float,
    z: Floats,
    top: float,
    lam: float,
    p: Floats,
    r: Floats,
    kappa: float,
    shift: float,
) -> float:
    """Return ln p of one option."""
    if place == at:
        return -ell
    if z[place] <= NOWHERE:
        return -math.inf
    here = carried(p[place], r[place], kappa, shift)
    if here > LEAST_KNOWN:
        return math.log(here)
    b = lam + min(top - z[place], FURTHEST)
    return -math.exp(ln_ell(b, kappa, math.log(b) if b > 1.0 else min(b / kappa, 0.0)))


@kernel
def _next(series: Floats, known: int, count: int) -> float:
    """Go on with a series on the polynomial through its last values: its differences are 0."""
    row = min(count, _KNOWN) - 1
    guess = 0.0
    for step in range(row + 1):
        guess += _NEXT[row, step] * series[known - 1 - step]
    return guess


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
        row = out[j]
        row[:width] = 0.0
        add_rows(powers, 0, len(powers), first, width, curve, j, row)
        for low in moving:
            add_rows(parts, low, low + ABREAST, first, width, gathered, j + 1, row)


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
    factors: Floats, agent: int, base: Floats, numbers: Floats, size: int, out: Floats
) -> None:
    """Fill what there is already and Σ factor × number of each option, four at a time."""
    for i in range(size):
        out[i] = base[i]
    for j in range(0, factors.shape[1], ABREAST):
        one, two = factors[agent, j], factors[agent, j + 1]
        three, four = factors[agent, j + 2], factors[agent, j + 3]
        for i in range(size):
            out[i] += (
                one * numbers[j, i]
                + two * numbers[j + 1, i]
                + three * numbers[j + 2, i]
                + four * numbers[j + 3, i]
            )


@wide_kernel
def _information(
    p: Floats,
    r: Floats,
    way: Floats,
    size: int,
    way_best: float,
    ell: float,
    kappa: float,
    shift: float,
) -> float:
    """Return Σ p (d ln p)², d ln p = r (d ln y - Σ p r d ln y / Σ p r); slopes less the best's.

    p and r are carried on by the shift, see `milepost.choice.evaluation.linear.carried`.
    """
    rate = ell / (kappa + ell)
    mass = math.exp(-ell) * rate
    total = mass * rate
    mean = 0.0
    moved = 0.0
    square = 0.0
    for i in range(size):
        slope = way[i] - way_best
        more = shift / kappa * (1.0 - r[i]) * (1.0 - r[i])
        here = p[i] * r[i] * (1.0 - shift * r[i] + more)
        prr = here * r[i] * (1.0 + more)
        mass += here
        mean += here * slope
        total += prr
        moved += prr * slope
        square += prr * slope * slope
    if not mass > 0.0:
        return 0.0
    mean /= mass
    return max(square - mean * (2.0 * moved - mean * total), 0.0)
