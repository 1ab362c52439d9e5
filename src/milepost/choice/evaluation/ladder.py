"""Many agents of one model on the same decisions: what a ladder of ratings is made of.

For agents along a path only the chosen option and the information are wanted, and from one agent to
the next little changes. Where the curve is the inverse exponential of one c, depths are averaged by
logarithm and the ratio is the blend of one κ, which all calibrations by likelihood have, this is
used twice over:

- ln y = -s^-c Σ w_d δ_d^c + Σ b × column is linear in numbers of the option that no agent changes.
  So ln y of all options and agents is one matrix product, and so is its slope.
- p depends on λ - ln y alone, by a function of one number: it is looked up in a table. λ of one
  agent, carried on by a polynomial through those before, is nearly that of the next: mostly one
  Newton step is enough, and what it changes in p follows from the slopes at hand.

Other models are evaluated agent by agent.
"""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.attraction.curves import INVEXP, LARGEST_LN_U, NO_CURVE, curve_codes
from milepost.choice.depths import GEOMETRIC
from milepost.choice.evaluation.evaluate import evaluate, in_blocks
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import BLEND, C, ChoiceModel, S
from milepost.choice.ratios.blend import ln_ell, solve_blend
from milepost.choice.ratios.powers import FURTHEST
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, vector_kernel

_STEPS_A_UNIT = 128
"""Of the table. With a cubic in each step p is right to 1e-11 of itself, its slope to 1e-8."""
_LAST_ELL = 90.0
"""Where the table ends: p is 1e-39 there, and taken for 0 beyond."""
_LEAST_REST = 1e-30
"""Where all options but the best have less than this together, the table is not fine enough."""
_NEAR = 1e-7
"""Newton squares the error: one step from here is exact, and changes p by no more than this."""
_CLOSE = 1e-4
"""From here p at the end of a Newton step is carried on by its derivatives, right to 1e-11."""
_KNOWN = 6
"""A polynomial through so many values guesses the next λ; more would only carry noise on."""
_PATIENCE = 30
_NOISE = 1e-14
"""Directions that count less than this, beside the first, are rounding."""


def evaluate_ladder(
    model: ChoiceModel, prepared: Prepared, theta: Floats, along: Floats
) -> tuple[Floats, Floats]:
    """Return ln p of the chosen option and the expected information, decisions × agents.

    Parameters
    ----------
    model, prepared
        The model, and spreads that were prepared for it.
    theta
        The working parameters of the agents, a row each.
    along
        The derivatives of the parameters by the number that the agents follow, a row each: the
        information is about that number.
    """
    spreads = prepared.spreads
    ln_chosen = np.empty((len(spreads), len(theta)))
    information = np.empty_like(ln_chosen)
    if not len(spreads):
        return ln_chosen, information
    if not _is_linear(model, prepared, theta, along):
        for column, (parameters, way) in enumerate(zip(theta, along, strict=True)):
            said = evaluate(model, prepared, parameters, information=True, along=way)
            ln_chosen[:, column] = said.ln_chosen
            information[:, column] = said.information[:, 0, 0]
        return ln_chosen, information
    kappa = float(np.exp(theta[0, model.place("kappa")]))
    start, table = _table(kappa)
    basis, factors, unit = _factors(model, kappa, theta, along)
    ln_delta = prepared.ln_delta[:, None] if model.depths is None else prepared.ln_depth_delta

    def work(first: int, last: int) -> None:
        _climb(
            spreads.offsets[first : last + 1], spreads.chosen[first:last], ln_delta,
            prepared.features, float(np.exp(theta[0, C])), basis, factors, kappa, start, table,
            ln_chosen[first:last], information[first:last],
        )  # fmt: skip

    in_blocks(work, len(spreads), len(spreads.values) * len(theta))
    information *= unit**2
    return ln_chosen, information


def _is_linear(model: ChoiceModel, prepared: Prepared, theta: Floats, along: Floats) -> bool:
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
    if (theta[:, fixed] != theta[0, fixed]).any() or along[:, fixed].any():
        return False
    # Where u would be cut off, ln y is no longer linear in it.
    far = prepared.ln_delta if depths is None else prepared.ln_depth_delta
    furthest = far.max(initial=-np.inf, where=far < np.inf)
    return bool(np.exp(theta[0, C]) * (furthest - theta[:, S].min()) <= LARGEST_LN_U)


def _factors(
    model: ChoiceModel, kappa: float, theta: Floats, along: Floats
) -> tuple[Floats, Floats, float]:
    """How (1 + κ) ln y of each agent, and its slope, come from the numbers of an option.

    These are δ^c at each depth, then the columns. What agents make of them lies in a space of few
    dimensions, for most parameters do not move: so the numbers are first brought to its basis.
    Returns the basis, the factors (of ln y of all agents, then of slopes), and the slopes' unit.
    """
    c = np.exp(theta[0, C])
    by_s = -c * along[:, [S]]
    weights, by_weights = np.ones((len(theta), 1)), np.zeros((len(theta), 1))
    if model.depths is not None:
        at = slice(model.curve_parameters, model.utility_places.start)
        weights = model.depths.weights(theta[:, at])
        moves = along[:, at] @ model.depths.matrix.T
        # d w_d / d φ = w_d (F_d - Σ w F)
        by_weights = moves - (weights * moves).sum(axis=1, keepdims=True)
    curve = -np.exp(-c * theta[:, [S]]) * weights
    places = model.utility_places
    values = np.concatenate([curve, theta[:, places]], axis=1)
    slopes = np.concatenate([curve * (by_s + by_weights), along[:, places]], axis=1)
    # On one scale, so that neither is lost beside the other.
    unit = float(np.abs(slopes).max(initial=0.0) / np.abs(values).max()) or 1.0
    both = (1.0 + kappa) * np.concatenate([values, slopes / unit])
    left, sizes, right = np.linalg.svd(both, full_matrices=False)
    count = int((sizes > _NOISE * sizes[0]).sum())
    factors = np.ascontiguousarray(left[:, :count] * sizes[:count])
    return np.ascontiguousarray(right[:count].T), factors, unit


def _table(kappa: float) -> tuple[float, Floats]:
    """p and dp/db at points b = ℓ + κ ln ℓ, from where two options share all; and the first b."""
    half = math.log(2.0)
    start = half + kappa * math.log(half) - 2.0 / _STEPS_A_UNIT
    count = int((_LAST_ELL + kappa * math.log(_LAST_ELL) - start) * _STEPS_A_UNIT) + 2
    table = np.empty((count, 2))
    _fill_table(start, kappa, table)
    return start, table


@kernel
def _fill_table(start: float, kappa: float, table: Floats) -> None:
    x = math.log(math.log(2.0))
    for i in range(len(table)):
        x = ln_ell(start + i / _STEPS_A_UNIT, kappa, x)
        ell = math.exp(x)
        table[i, 0] = math.exp(-ell)
        table[i, 1] = -table[i, 0] * ell / (kappa + ell) / _STEPS_A_UNIT
    table[len(table) - 1, :] = 0.0


@kernel
def _climb(
    offsets: Ints,
    chosen: Ints,
    ln_delta: Floats,
    features: Floats,
    c: float,
    basis: Floats,
    factors: Floats,
    kappa: float,
    start: float,
    table: Floats,
    ln_chosen: Floats,
    information: Floats,
) -> None:
    """Fill ln p of the choices and the information of some decisions, agent by agent."""
    agents = len(factors) // 2
    most = 0
    for decision in range(len(offsets) - 1):
        most = max(most, offsets[decision + 1] - offsets[decision])
    numbers = np.empty((basis.shape[1], most))
    z, way, below, p, pr = np.empty((5, most))
    levels = np.empty(agents)
    for decision in range(len(offsets) - 1):
        first, size = offsets[decision], offsets[decision + 1] - offsets[decision]
        place = chosen[decision]
        _fill_numbers(first, size, ln_delta, features, c, basis, numbers)
        # From the last values of λ, on the scale of ln y, the next is guessed.
        x_top, x_chosen = 0.0, 0.0
        for agent in range(agents):
            _multiply(factors[agent], numbers, size, z)
            at, others = _far_below(ln_delta, first, size, z, below)
            if others == 0:
                ln_chosen[decision, agent] = 0.0 if place == at else -math.inf
                information[decision, agent] = 0.0
                continue
            high = math.log(math.log(others + 1.0)) + 1e-12
            x_top = high - 0.7 if agent == 0 else x_top
            if agent > 0:
                guess = _next(levels, agent)
                x_top = min(ln_ell(guess - z[at], kappa, x_top), high)
            settled, x_top = _settle(below, size, kappa, start, table, high, x_top, p, pr)
            lam = math.exp(x_top) + kappa * x_top
            if not settled:
                lam = _exactly(z, size, at, kappa, below, p, pr)
                x_top = ln_ell(lam, kappa, min(lam / kappa, 0.0))
            ell = math.exp(x_top)
            _multiply(factors[agents + agent], numbers, size, way)
            information[decision, agent] = _information(p, pr, way, size, at, ell, kappa)
            if place == at:
                ln_chosen[decision, agent] = -ell
            elif ln_delta[first + place, 0] == math.inf:
                ln_chosen[decision, agent] = -math.inf
            else:
                b = lam + below[place]
                if agent == 0 or x_chosen > 5.0:
                    x_chosen = math.log(b) if b > 1.0 else min(b / kappa, 0.0)
                x_chosen = ln_ell(b, kappa, x_chosen)
                ln_chosen[decision, agent] = -math.exp(x_chosen)
            levels[agent] = lam + z[at]


@kernel
def _next(levels: Floats, known: int) -> float:
    """Go on with a series on the polynomial through its last values: its differences are 0."""
    count = min(known, _KNOWN)
    guess, factor = 0.0, -1.0
    for step in range(count):
        factor *= -(count - step) / (step + 1.0)
        guess += factor * levels[known - 1 - step]
    return guess


@kernel
def _fill_numbers(
    first: int, size: int, ln_delta: Floats, features: Floats, c: float, basis: Floats, out: Floats
) -> None:
    """Bring δ^c and the columns of one decision to the basis; a row each of its directions."""
    depths, columns, directions = ln_delta.shape[1], features.shape[1], basis.shape[1]
    row = np.empty(directions)
    for i in range(size):
        row[:] = 0.0
        if ln_delta[first + i, 0] < math.inf:
            for d in range(depths):
                power = math.exp(c * ln_delta[first + i, d])
                for j in range(directions):
                    row[j] += power * basis[d, j]
            for k in range(columns):
                feature = features[first + i, k]
                if feature != 0.0:
                    for j in range(directions):
                        row[j] += feature * basis[depths + k, j]
        for j in range(directions):
            out[j, i] = row[j]


@vector_kernel
def _multiply(factors: Floats, numbers: Floats, size: int, out: Floats) -> None:
    """Fill Σ factor × number of each option."""
    for i in range(size):
        out[i] = factors[0] * numbers[0, i]
    for j in range(1, len(factors)):
        for i in range(size):
            out[i] += factors[j] * numbers[j, i]


@kernel
def _far_below(
    ln_delta: Floats, first: int, size: int, z: Floats, below: Floats
) -> tuple[int, int]:
    """Fill how far each option is below the best; inf for the best itself and for padding.

    Returns where the best is, and how many others there are.
    """
    at, others = -1, 0
    for i in range(size):
        if ln_delta[first + i, 0] < math.inf:
            others += 1
            if at < 0 or z[i] > z[at]:
                at = i
    for i in range(size):
        below[i] = min(z[at] - z[i], FURTHEST)
        if ln_delta[first + i, 0] == math.inf:
            below[i] = math.inf
    below[at] = math.inf
    return at, others - 1


@vector_kernel
def _look_up(
    below: Floats, size: int, lam: float, start: float, table: Floats, p: Floats, pr: Floats
) -> tuple[float, float]:
    """Fill p and p r at b = λ + how far each option is below the best; return their sums.

    Outside the table, which a guess of λ may be, the values of its end are taken.
    """
    rest = 0.0
    slope = 0.0
    shift = (lam - start) * _STEPS_A_UNIT
    last = len(table) - 1.0 - 1e-9
    for i in range(size):
        t = min(max(below[i] * _STEPS_A_UNIT + shift, 0.0), last)
        k = np.uint32(t)
        x = t - k
        low, low_slope = table[k, 0], table[k, 1]
        high, high_slope = table[k + np.uint32(1), 0], table[k + np.uint32(1), 1]
        # The cubic through both values with both slopes.
        rise = high - low
        a = low_slope + high_slope - 2.0 * rise
        b = 3.0 * rise - 2.0 * low_slope - high_slope
        p[i] = low + x * (low_slope + x * (b + x * a))
        pr[i] = -_STEPS_A_UNIT * (low_slope + x * (2.0 * b + x * 3.0 * a))
        rest += p[i]
        slope += pr[i]
    return rest, slope


@vector_kernel
def _carry_on(p: Floats, pr: Floats, size: int, kappa: float, shift: float) -> None:
    """Move p and p r to b a little further: dℓ/db = r and dr/db = r (1 - r)² / κ."""
    for i in range(size):
        r = min(max(pr[i] / (p[i] + 1e-300), 0.0), 1.0)
        bend = r - (1.0 - r) * (1.0 - r) / kappa
        p[i] += shift * pr[i] * (0.5 * shift * bend - 1.0)
        pr[i] *= 1.0 - shift * bend


@kernel
def _settle(
    below: Floats,
    size: int,
    kappa: float,
    start: float,
    table: Floats,
    high: float,
    guess: float,
    p: Floats,
    pr: Floats,
) -> tuple[bool, float]:
    """Solve for ln ℓ of the best option; leave p and p r of the others there.

    As `milepost.choice.ratios.blend` does, on the logarithm of the ratio of what the others have
    and what the best option leaves. False where the table is too coarse, or nothing settles.
    """
    low = math.log(_LEAST_REST)
    x = max(guess, low)
    for _ in range(_PATIENCE):
        ell = math.exp(x)
        rest, slope = _look_up(below, size, ell + kappa * x, start, table, p, pr)
        if not rest > _LEAST_REST:
            return False, x
        left = -math.expm1(-ell)
        k = math.log(rest / left)
        if k > 0.0:
            low = x
        else:
            high = x
        new = x + k / ((slope / rest) * (kappa + ell) + ell * (1.0 - left) / left)
        if abs(k) <= _NEAR:
            return True, new
        if abs(k) <= _CLOSE and low <= new <= high:
            _carry_on(p, pr, size, kappa, math.exp(new) - ell + kappa * (new - x))
            return True, new
        x = new if low <= new <= high else 0.5 * (low + high)
    return False, x


@vector_kernel
def _information(
    p: Floats, pr: Floats, way: Floats, size: int, at: int, ell: float, kappa: float
) -> float:
    """Return Σ p (d ln p)², d ln p = r (d ln y - Σ p r d ln y / Σ p r); slopes less the best's."""
    rate = ell / (kappa + ell)
    mass = math.exp(-ell) * rate
    total = mass * rate
    mean = 0.0
    moved = 0.0
    square = 0.0
    for i in range(size):
        slope = way[i] - way[at]
        # r is under 1; at the end of the table, where p is 0, it is anything.
        prr = pr[i] * min(max(pr[i] / (p[i] + 1e-300), 0.0), 1.0)
        mass += pr[i]
        mean += pr[i] * slope
        total += prr
        moved += prr * slope
        square += prr * slope * slope
    if not mass > 0.0:
        return 0.0
    mean /= mass
    return max(square - mean * (2.0 * moved - mean * total), 0.0)


@kernel
def _exactly(
    z: Floats, size: int, at: int, kappa: float, below: Floats, p: Floats, pr: Floats
) -> float:
    """Solve one decision without the table; fill p and p r of the others, return λ - ln y."""
    real = np.empty(size)
    for i in range(size):
        real[i] = z[at] - below[i]
    real[at] = z[at]
    ln_p, rate = np.empty(size), np.empty(size)
    solve_blend(real, 0, size, at, z[at], kappa, ln_p, rate)
    nearest = -1
    for i in range(size):
        p[i], pr[i] = 0.0, 0.0
        if i != at:
            p[i] = math.exp(ln_p[i])
            pr[i] = p[i] * rate[i]
            if nearest < 0 or below[i] < below[nearest]:
                nearest = i
    # By the option that comes next: ln ℓ of the best may be too small for a number.
    ell = -ln_p[nearest]
    value: float = ell + kappa * math.log(ell) - below[nearest]
    return value
