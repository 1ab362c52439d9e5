"""Kernels that sum the probabilities of a decision up: what fits and projections are made of."""

from __future__ import annotations

import math

import numpy as np

from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel


@kernel
def mix_lapse(
    offsets: Ints, logit: Floats, ln_k: Floats, d_ln_k: Floats, ln_p: Floats, d_ln_p: Floats
) -> None:
    """Mix in lapses, in place: P = (1 - l) p + l k, and its derivatives; l's stand last."""
    last = d_ln_p.shape[1] - 1
    for decision in range(len(offsets) - 1):
        x = logit[decision if len(logit) > 1 else 0]
        ln_l = -math.log1p(math.exp(-x)) if x > 0.0 else x - math.log1p(math.exp(x))
        ln_1l = ln_l - x
        lapse = math.exp(ln_l)
        for i in range(offsets[decision], offsets[decision + 1]):
            a = ln_1l + ln_p[i]
            b = ln_l + ln_k[i]
            top = max(a, b)
            if top == -math.inf:
                ln_p[i] = -math.inf
                d_ln_p[i, :] = 0.0
                continue
            part_a = math.exp(a - top)
            part_b = math.exp(b - top)
            total = part_a + part_b
            ln_p[i] = top + math.log(total)
            part_a /= total
            part_b /= total
            for k in range(last):
                d_ln_p[i, k] = (part_a * d_ln_p[i, k] if part_a > 0.0 else 0.0) + (
                    part_b * d_ln_k[i, k] if part_b > 0.0 else 0.0
                )
            # d ln((1-l)p + lk) / d logit l = (1-l) × k's part - l × p's part
            d_ln_p[i, last] = (1.0 - lapse) * part_b - lapse * part_a


@kernel
def summarise_choices(
    offsets: Ints,
    chosen: Ints,
    ln_p: Floats,
    p: Floats,
    d_ln_p: Floats,
    ln_chosen: Floats,
    before: Floats,
    d_ln_chosen: Floats,
    d_before: Floats,
) -> None:
    """Fill ln p of the chosen option, the probability listed before it, and their derivatives."""
    parameters = d_ln_p.shape[1]
    for decision in range(len(offsets) - 1):
        at = offsets[decision] + chosen[decision]
        ln_chosen[decision] = ln_p[at]
        sum_before = 0.0
        for k in range(parameters):
            d_ln_chosen[decision, k] = d_ln_p[at, k]
            d_before[decision, k] = 0.0
        for i in range(offsets[decision], at):
            sum_before += p[i]
            if p[i] > 0.0:
                for k in range(parameters):
                    d_before[decision, k] += p[i] * d_ln_p[i, k]
        before[decision] = sum_before


@kernel
def summarise_targets(
    offsets: Ints,
    target: Floats,
    ln_p: Floats,
    d_ln_p: Floats,
    ln_chosen: Floats,
    d_ln_chosen: Floats,
) -> None:
    """Fill Σ q ln p of each decision, q the probabilities of its choices, and the slopes."""
    parameters = d_ln_p.shape[1]
    for decision in range(len(offsets) - 1):
        total = 0.0
        for k in range(parameters):
            d_ln_chosen[decision, k] = 0.0
        for i in range(offsets[decision], offsets[decision + 1]):
            if target[i] > 0.0:
                total += target[i] * ln_p[i]
                for k in range(parameters):
                    d_ln_chosen[decision, k] += target[i] * d_ln_p[i, k]
        ln_chosen[decision] = total


@kernel
def summarise_moments(
    offsets: Ints,
    delta: Floats,
    ln_p: Floats,
    p: Floats,
    d_ln_p: Floats,
    first: Floats,
    error: Floats,
    error_squared: Floats,
    entropy: Floats,
    d_first: Floats,
    d_error: Floats,
) -> None:
    """Fill p_0, E δ, E δ², the entropy, and the derivatives of the first two."""
    parameters = d_ln_p.shape[1]
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        p_first = p[start]
        first[decision] = p_first
        for k in range(parameters):
            d_first[decision, k] = p_first * d_ln_p[start, k] if p_first > 0.0 else 0.0
            d_error[decision, k] = 0.0
        mean = 0.0
        square = 0.0
        surprise = 0.0
        for i in range(start, offsets[decision + 1]):
            if p[i] > 0.0:
                part = p[i] * delta[i]
                mean += part
                square += part * delta[i]
                surprise -= p[i] * ln_p[i]
                for k in range(parameters):
                    d_error[decision, k] += part * d_ln_p[i, k]
        error[decision] = mean
        error_squared[decision] = square
        entropy[decision] = surprise


@kernel
def add_information(offsets: Ints, p: Floats, d_ln_p: Floats, information: Floats) -> None:
    """Fill Σ p (d ln p)(d ln p)ᵀ of each decision."""
    parameters = d_ln_p.shape[1]
    for decision in range(len(offsets) - 1):
        for i in range(offsets[decision], offsets[decision + 1]):
            if p[i] > 0.0:
                for j in range(parameters):
                    part = p[i] * d_ln_p[i, j]
                    for k in range(j + 1):
                        information[decision, j, k] += part * d_ln_p[i, k]
        for j in range(parameters):
            for k in range(j):
                information[decision, k, j] = information[decision, j, k]


@kernel
def up_share_cross_moments(
    offsets: Ints, p: Floats, share: Floats, grid: Floats, total: Floats
) -> None:
    """Add up the covariance under the model of the mean up shares at the points of the grid.

    E up_q = q for every decision, Cov(up_q, up_q') = Σ_i p_i up_(q,i) up_(q',i) - q q' (the
    reference's section 5); `share` are the weights of the mean.
    """
    points = len(grid)
    below = np.empty(points)
    straddles = np.empty(points)
    up = np.empty(points)
    for decision in range(len(offsets) - 1):
        square = share[decision] ** 2
        # For each q: the probability of the options wholly below it, and the one that straddles.
        i = offsets[decision]
        last = offsets[decision + 1] - 1
        reached = 0.0
        for g in range(points):
            while i < last and reached + p[i] <= grid[g]:
                reached += p[i]
                i += 1
            below[g] = reached
            straddles[g] = p[i]
            up[g] = min(max((grid[g] - reached) / p[i], 0.0), 1.0) if p[i] > 0.0 else 0.0
        for g in range(points):
            for h in range(g, points):
                # The option that straddles q lies below q', if it does not straddle that too.
                same = below[h] <= below[g]
                both = below[g] + straddles[g] * up[g] * (up[h] if same else 1.0)
                part = square * (both - grid[g] * grid[h])
                total[g, h] += part
                if h > g:
                    total[h, g] += part


@kernel
def expected_up_slopes(
    offsets: Ints, p: Floats, d_ln_p: Floats, weights: Floats, grid: Floats, total: Floats
) -> None:
    """Add up the expected derivatives of the up shares under the model, weighted.

    E up_q = q whatever the parameters, so E d up_q = -Σ_i p_i up_(q,i) d ln p_i.
    """
    parameters = d_ln_p.shape[1]
    sums = np.empty(parameters)
    for decision in range(len(offsets) - 1):
        i = offsets[decision]
        last = offsets[decision + 1] - 1
        below = 0.0
        sums[:] = 0.0
        for g in range(len(grid)):
            while i < last and below + p[i] <= grid[g]:
                if p[i] > 0.0:
                    for k in range(parameters):
                        sums[k] += p[i] * d_ln_p[i, k]
                below += p[i]
                i += 1
            # p × up of the option that straddles q.
            part = min(max(grid[g] - below, 0.0), p[i])
            for k in range(parameters):
                straddling = part * d_ln_p[i, k] if part > 0.0 else 0.0
                total[g, k] -= weights[decision] * (sums[k] + straddling)


@kernel
def rank_frequencies(
    offsets: Ints, p: Floats, weights: Floats, projected: Floats, variance: Floats
) -> None:
    """Add up the weighted probability of the i-th option over the decisions, and its variance."""
    ranks = len(projected)
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        for i in range(start, min(offsets[decision + 1], start + ranks)):
            projected[i - start] += weights[decision] * p[i]
            variance[i - start] += weights[decision] ** 2 * p[i] * (1.0 - p[i])


@kernel
def draw_choices(offsets: Ints, p: Floats, uniform: Floats, chosen: Ints) -> None:
    """Draw one option a decision by its probability, from a uniform number each."""
    for decision in range(len(offsets) - 1):
        left = uniform[decision]
        pick = 0
        for i in range(offsets[decision], offsets[decision + 1]):
            if p[i] > 0.0:
                pick = i - offsets[decision]
                left -= p[i]
                if left < 0.0:
                    break
        chosen[decision] = pick
