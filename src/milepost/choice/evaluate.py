"""Probabilities of all options, and what fits and projections need of them, decision by decision.

The decisions are worked on in blocks, by threads where there are enough of them; every number
belongs to one decision, so the answer does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from milepost.choice import proxies
from milepost.choice.curves import curve_codes
from milepost.choice.depths import ADDITIVE, AVERAGED, MIXTURE
from milepost.choice.differences import (
    Scale,
    depth_differences,
    raw_losses,
    scaled_differences,
)
from milepost.choice.model import BLEND, FIRST, FLAT, LOSS, ChoiceModel
from milepost.choice.ratios import SHARES, differentiate, ratio_code, solve_all, solve_blends
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.choice.summaries import (
    add_information,
    expected_up_slopes,
    mix_lapse,
    summarise_choices,
    summarise_moments,
)

_BLOCK = 1_024
"""Decisions worked on at once: their arrays stay in the processor's cache."""
_WORTH_THREADS = 60_000
"""With fewer options than this a second thread costs more than it brings."""
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Prepared:
    """Spreads with their scaled differences, ready to be evaluated many times."""

    spreads: Spreads
    """The decisions."""
    scale: Scale
    """How differences were taken."""
    depths: tuple[int, ...] = ()
    """The depths of the columns of `depth_delta`."""

    @cached_property
    def delta(self) -> Floats:
        """Scaled difference of each option to the best; inf = padding."""
        return scaled_differences(self.spreads, self.scale)

    @cached_property
    def ln_delta(self) -> Floats:
        """Its logarithm."""
        return _ln(self.delta)

    @cached_property
    def loss(self) -> Floats:
        """What each option gives away, in the unit of the values."""
        return raw_losses(self.spreads)

    @cached_property
    def depth_delta(self) -> Floats:
        """Scaled differences by depth."""
        return depth_differences(self.spreads, self.scale, self.depths)

    @cached_property
    def ln_depth_delta(self) -> Floats:
        """Their logarithms."""
        return _ln(self.depth_delta)

    @cached_property
    def finite_delta(self) -> Floats:
        """Scaled differences with 0 for padding: what never happens adds nothing to a mean."""
        return np.where(np.isfinite(self.delta), self.delta, 0.0)

    @cached_property
    def utilities(self) -> dict[str, Floats]:
        """The features of the options that utilities multiply; 0 for padding."""
        cap = np.inf if self.scale.cap is None else self.scale.cap
        loss = np.where(np.isfinite(self.loss), np.minimum(self.loss, cap), 0.0)
        first = np.zeros(len(loss))
        first[self.spreads.offsets[:-1]] = 1.0
        return {LOSS: -loss, FIRST: first}


def prepare(spreads: Spreads, model: ChoiceModel) -> Prepared:
    """Make spreads ready for a model."""
    depths = model.depths.depths if model.depths is not None else ()
    return Prepared(spreads, model.scale, depths)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a model says of each decision; the derivatives are by the working parameters."""

    ln_chosen: Floats
    """Logarithm of the probability of the chosen option."""
    before: Floats
    """Probability of the options listed before the chosen one."""
    d_ln_chosen: Floats
    """Derivatives of `ln_chosen`, a column a parameter."""
    d_before: Floats
    """Derivatives of `before`."""
    first: Floats
    """Probability of the first option."""
    error: Floats
    """Expected scaled difference."""
    error_squared: Floats
    """Expected squared scaled difference."""
    entropy: Floats
    """Entropy of the choice, in nats."""
    d_first: Floats
    """Derivatives of `first`."""
    d_error: Floats
    """Derivatives of `error`."""
    information: Floats
    """Expected information, decisions × parameters × parameters; empty if not asked for."""
    probabilities: Floats
    """Probability of every option; empty if not asked for."""
    up_slopes: Floats
    """Expected derivatives of the weighted sum of up shares, points × parameters."""


def evaluate(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    *,
    information: bool = False,
    probabilities: bool = False,
    up_grid: Floats | None = None,
    workers: int | None = None,
) -> Evaluated:
    """Evaluate a model on every decision, with derivatives.

    Parameters
    ----------
    model, prepared
        The model, and spreads that were prepared for it.
    theta
        The working parameters (`ChoiceModel.parameters`): one row for all decisions, or one each.
    information
        Whether to work out the expected information of each decision as well.
    probabilities
        Whether to keep the probabilities of all options as well.
    up_grid
        Points at which to work out the expected slopes of the up shares (`milepost.fit`).
    workers
        Threads [default: all cores, where there are enough options].
    """
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    spreads = prepared.spreads
    count, size = len(spreads), rows.shape[1]
    answer = Evaluated(
        ln_chosen=np.empty(count),
        before=np.empty(count),
        d_ln_chosen=np.empty((count, size)),
        d_before=np.empty((count, size)),
        first=np.empty(count),
        error=np.empty(count),
        error_squared=np.empty(count),
        entropy=np.empty(count),
        d_first=np.empty((count, size)),
        d_error=np.empty((count, size)),
        information=np.zeros((count if information else 0, size, size)),
        probabilities=np.empty(len(spreads.values) if probabilities else 0),
        up_slopes=np.zeros((0 if up_grid is None else len(up_grid), size)),
    )
    # One part a block, added up at the end: the sum does not depend on which thread was first.
    slopes = np.zeros((-(-count // _BLOCK), *answer.up_slopes.shape))
    delta = prepared.finite_delta

    def work(first: int, last: int) -> None:
        bounds, ln_p, p, d_ln_p = _block(model, prepared, rows, first, last)
        at = slice(first, last)
        options = slice(spreads.offsets[first], spreads.offsets[last])
        if probabilities:
            answer.probabilities[options] = p
        summarise_choices(
            bounds,
            spreads.chosen[at],
            ln_p,
            p,
            d_ln_p,
            answer.ln_chosen[at],
            answer.before[at],
            answer.d_ln_chosen[at],
            answer.d_before[at],
        )
        summarise_moments(
            bounds,
            delta[options],
            ln_p,
            p,
            d_ln_p,
            answer.first[at],
            answer.error[at],
            answer.error_squared[at],
            answer.entropy[at],
            answer.d_first[at],
            answer.d_error[at],
        )
        if information:
            add_information(bounds, p, d_ln_p, answer.information[at])
        if up_grid is not None:
            part = slopes[first // _BLOCK]
            expected_up_slopes(bounds, p, d_ln_p, spreads.weights[at], up_grid, part)

    _in_blocks(work, count, len(spreads.values), workers)
    answer.up_slopes[:] = slopes.sum(axis=0)
    return answer


def ln_probabilities(
    model: ChoiceModel, prepared: Prepared, theta: Floats, *, workers: int | None = None
) -> Floats:
    """Return the logarithm of each option's probability; -inf = 0."""
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    spreads = prepared.spreads
    answer = np.empty(len(spreads.values))

    def work(first: int, last: int) -> None:
        _, ln_p, _, _ = _block(model, prepared, rows, first, last)
        answer[spreads.offsets[first] : spreads.offsets[last]] = ln_p

    _in_blocks(work, len(spreads), len(spreads.values), workers)
    return answer


def _in_blocks(
    work: Callable[[int, int], None], count: int, options: int, workers: int | None
) -> None:
    threads = workers or (_CORES if options >= _WORTH_THREADS else 1)
    blocks = [(at, min(at + _BLOCK, count)) for at in range(0, count, _BLOCK)]
    if threads == 1 or len(blocks) == 1:
        for first, last in blocks:
            work(first, last)
        return
    pool = _threads(threads)
    for done in [pool.submit(work, *block) for block in blocks]:
        done.result()


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them for each of many evaluations would cost more."""
    return ThreadPoolExecutor(count, thread_name_prefix="milepost-choice")


if hasattr(os, "register_at_fork"):
    # Threads do not live on in a forked process: it makes its own.
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _block(
    model: ChoiceModel, prepared: Prepared, theta: Floats, first: int, last: int
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return bounds, ln p, p and the derivatives of ln p for some of the decisions."""
    spreads = prepared.spreads
    low, high = int(spreads.offsets[first]), int(spreads.offsets[last])
    bounds = spreads.offsets[first : last + 1] - low
    rows = theta if len(theta) == 1 else theta[first:last]
    options = slice(low, high)
    scheme = model.depths
    curve = curve_codes(model.curve)
    ln_p = np.empty(high - low)
    rate = np.empty(high - low)
    z = np.empty(high - low)
    # Columns that no kernel fills, that of a lapse share, say 0.
    fills_all = scheme is None and theta.shape[1] == model.curve_parameters
    dz = (np.empty if fills_all else np.zeros)((high - low, theta.shape[1]))
    if scheme is not None and scheme.combine == MIXTURE:
        # Lapses of a mixture come from shares of the final depth.
        ln_p, dz = _mixture(model, prepared, rows, bounds, options)
        p = np.exp(ln_p)
        if model.lapse not in {None, FLAT}:
            final = np.ascontiguousarray(prepared.ln_depth_delta[options, -1])
            lapse_dz = np.zeros_like(dz)
            proxies.base(*curve, bounds, final, rows, z, lapse_dz)
            _add_utilities(model, prepared, options, bounds, rows, z, lapse_dz)
            _lapse(bounds, rows, ln_p, dz, z, lapse_dz)
            return bounds, ln_p, np.exp(ln_p), dz
    elif scheme is not None:
        shape = (np.asarray(scheme.offsets), scheme.matrix, rows, z, dz)
        if scheme.combine == AVERAGED:
            proxies.averaged(*curve, bounds, prepared.depth_delta[options], *shape)
        else:
            additive = scheme.combine == ADDITIVE
            proxies.combined(additive, *curve, bounds, prepared.ln_depth_delta[options], *shape)
    else:
        proxies.base(*curve, bounds, prepared.ln_delta[options], rows, z, dz)
    if scheme is None or scheme.combine != MIXTURE:
        _add_utilities(model, prepared, options, bounds, rows, z, dz)
        lapse_z = z.copy() if model.ratio == BLEND else z
        lapse_dz = dz.copy() if model.lapse not in {None, FLAT} else dz[:0]
        p = _solve(model, bounds, rows, z, dz, ln_p, rate)
        z = lapse_z
    if model.lapse is None:
        return bounds, ln_p, p, dz
    if model.lapse == FLAT:
        z = np.where(np.isfinite(prepared.delta[options]), 0.0, -np.inf)
        lapse_dz = np.zeros_like(dz)
    _lapse(bounds, rows, ln_p, dz, z, lapse_dz)
    return bounds, ln_p, np.exp(ln_p), dz


def _solve(
    model: ChoiceModel,
    bounds: Ints,
    theta: Floats,
    z: Floats,
    dz: Floats,
    ln_p: Floats,
    rate: Floats,
) -> Floats:
    """Fill ln p and turn dz into its derivatives; return p."""
    if model.ratio == BLEND:
        column = model.place("kappa")
        ln_kappa = np.ascontiguousarray(theta[:, column])
        solve_blends(bounds, ln_kappa, z, dz, column, ln_p, rate)
    else:
        solve_all(ratio_code(model.ratio), bounds, z, ln_p, rate)
    p: Floats = np.exp(ln_p)
    differentiate(bounds, p, rate, dz)
    return p


def _add_utilities(
    model: ChoiceModel,
    prepared: Prepared,
    options: slice,
    bounds: Ints,
    theta: Floats,
    z: Floats,
    dz: Floats,
) -> None:
    for name in model.utilities:
        feature = prepared.utilities[name][options]
        proxies.add_utility(bounds, feature, model.place(name), theta, z, dz)


def _lapse(
    bounds: Ints, theta: Floats, ln_p: Floats, d_ln_p: Floats, z: Floats, dz: Floats
) -> None:
    """Mix, in place, with the distribution that lapses come from: shares of e^z."""
    ln_k, rate = np.empty_like(ln_p), np.empty_like(ln_p)
    solve_all(SHARES, bounds, z, ln_k, rate)
    differentiate(bounds, np.exp(ln_k), rate, dz)
    mix_lapse(bounds, np.ascontiguousarray(theta[:, -1]), ln_k, dz, ln_p, d_ln_p)


def _mixture(
    model: ChoiceModel, prepared: Prepared, theta: Floats, bounds: Ints, options: slice
) -> tuple[Floats, Floats]:
    """One agent a depth: p = Σ w_d p_d, with its derivatives."""
    scheme = model.depths
    assert scheme is not None
    at = model.curve_parameters
    numbers = len(scheme.names)
    weights = scheme.weights(theta[:, at : at + numbers])
    features = scheme.matrix
    counts = np.diff(bounds)
    size = int(bounds[-1])
    curve = curve_codes(model.curve)
    terms = np.empty((len(scheme.depths), size))
    slopes = np.zeros((len(scheme.depths), size, theta.shape[1]))
    rate = np.empty(size)
    z = np.empty(size)
    for d in range(len(scheme.depths)):
        ln_delta = np.ascontiguousarray(prepared.ln_depth_delta[options, d])
        proxies.base(*curve, bounds, ln_delta, theta, z, slopes[d])
        _add_utilities(model, prepared, options, bounds, theta, z, slopes[d])
        _solve(model, bounds, theta, z, slopes[d], terms[d], rate)
        share = weights[:, d] if len(weights) == 1 else np.repeat(weights[:, d], counts)
        with np.errstate(divide="ignore"):
            terms[d] += np.log(share)
        # d ln w_d / d φ_k = F_dk - Σ w F
        mean = weights @ features
        by_number = features[d] - mean
        slopes[d, :, at : at + numbers] += (
            by_number if len(by_number) == 1 else np.repeat(by_number, counts, axis=0)
        )
    top = terms.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    parts = np.exp(terms - safe)
    total = parts.sum(axis=0)
    with np.errstate(divide="ignore"):
        ln_p = safe + np.log(total)
    shares = parts / np.where(total > 0, total, 1.0)
    return ln_p, np.einsum("dn,dnk->nk", shares, slopes)


def _ln(delta: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        answer: Floats = np.log(delta)
    return answer
