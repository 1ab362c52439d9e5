"""Probabilities of all options, and what fits and projections need of them, decision by decision.

The decisions are worked on in blocks, by threads where there are enough of them; every number
belongs to one decision, so the answer does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from milepost.choice.evaluation.blocks import evaluate_block
from milepost.choice.evaluation.linear import is_linear, linear_block
from milepost.choice.evaluation.prepared import Prepared, prepare
from milepost.choice.evaluation.summaries import (
    add_information,
    expected_up_slopes,
    summarise_choices,
    summarise_moments,
    summarise_targets,
)
from milepost.choice.model import ChoiceModel
from milepost.choice.spreads import Floats, Ints, Spreads

__all__ = [
    "Evaluated",
    "Prepared",
    "evaluate",
    "ln_probabilities",
    "prepare",
    "probabilities_nearby",
]

_BLOCK = 1_024
"""Decisions worked on at once: their arrays stay in the processor's cache."""
_WORTH_THREADS = 60_000
"""With fewer options than this a second thread costs more than it brings."""
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a model says of each decision; the derivatives are by the working parameters."""

    ln_chosen: Floats
    """Logarithm of the probability of the chosen option; with targets its mean over them."""
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
    along: Floats | None = None,
    targets: Floats | None = None,
    roots: Floats | None = None,
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
    along
        Directions in which the parameters move, one row or one a decision: all derivatives are then
        in that direction, a single column.
    targets
        Probabilities of all options (adding up to 1 in each decision) with which they are chosen,
        in place of one that was: `Evaluated.ln_chosen` and its slopes are means over them.
    roots
        One number a decision, NaN or what agents nearby have left here: filled with what shortens
        the work for the next ones; see `probabilities_nearby`.
    workers
        Threads [default: all cores, where there are enough options].
    """
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    spreads = prepared.spreads
    count, size = len(spreads), rows.shape[1]
    ways = None if along is None else np.atleast_2d(np.asarray(along, dtype=np.float64))
    if ways is not None:
        size = 1
    answer = empty_answer(
        spreads,
        size,
        information=information,
        probabilities=probabilities,
        points=0 if up_grid is None else len(up_grid),
    )
    # One part a block, added up at the end: the sum does not depend on which thread was first.
    slopes = np.zeros((-(-count // _BLOCK), *answer.up_slopes.shape))
    delta = prepared.finite_delta
    block: Callable[..., tuple[Ints, Floats, Floats, Floats]] = evaluate_block
    if ways is not None and is_linear(model, prepared, rows, ways):
        block = partial(linear_block, roots=roots)

    def work(first: int, last: int) -> None:
        bounds, ln_p, p, d_ln_p = block(model, prepared, rows, first, last, ways)
        summarise(answer, spreads, first, last, ln_p, p, d_ln_p, delta, targets)
        at = slice(first, last)
        if information:
            add_information(bounds, p, d_ln_p, answer.information[at])
        if up_grid is not None:
            part = slopes[first // _BLOCK]
            expected_up_slopes(bounds, p, d_ln_p, spreads.weights[at], up_grid, part)

    in_blocks(work, count, len(spreads.values), workers)
    answer.up_slopes[:] = slopes.sum(axis=0)
    return answer


def empty_answer(
    spreads: Spreads,
    size: int,
    *,
    information: bool = False,
    probabilities: bool = False,
    points: int = 0,
) -> Evaluated:
    """Return room for what a model of `size` derivatives says; see `evaluate`."""
    count = len(spreads)
    return Evaluated(
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
        up_slopes=np.zeros((points, size)),
    )


def summarise(
    answer: Evaluated,
    spreads: Spreads,
    first: int,
    last: int,
    ln_p: Floats,
    p: Floats,
    d_ln_p: Floats,
    delta: Floats,
    targets: Floats | None = None,
) -> None:
    """Fill in what the probabilities of some decisions' options add up to.

    `delta` are the scaled differences of all options, 0 for padding.
    """
    at = slice(first, last)
    options = slice(spreads.offsets[first], spreads.offsets[last])
    bounds = spreads.offsets[first : last + 1] - options.start
    if len(answer.probabilities):
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
    if targets is not None:
        summarise_targets(
            bounds,
            targets[options],
            ln_p,
            d_ln_p,
            answer.ln_chosen[at],
            answer.d_ln_chosen[at],
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


def ln_probabilities(
    model: ChoiceModel, prepared: Prepared, theta: Floats, *, workers: int | None = None
) -> Floats:
    """Return the logarithm of each option's probability; -inf = 0."""
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    spreads = prepared.spreads
    answer = np.empty(len(spreads.values))
    block = linear_block if is_linear(model, prepared, rows, None) else evaluate_block

    def work(first: int, last: int) -> None:
        _, ln_p, _, _ = block(model, prepared, rows, first, last)
        answer[spreads.offsets[first] : spreads.offsets[last]] = ln_p

    in_blocks(work, len(spreads), len(spreads.values), workers)
    return answer


def probabilities_nearby(
    model: ChoiceModel, prepared: Prepared, theta: Floats, roots: Floats
) -> Floats:
    """Return each option's probability for agents near those that `evaluate` was asked about.

    Parameters
    ----------
    model, prepared, theta
        As for `evaluate`.
    roots
        What it left there; it stays as it is.
    """
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    if not is_linear(model, prepared, rows, None):
        answer: Floats = np.exp(ln_probabilities(model, prepared, theta))
        return answer
    spreads, own = prepared.spreads, roots.copy()
    answer = np.empty(len(spreads.values))

    def work(first: int, last: int) -> None:
        _, _, p, _ = linear_block(model, prepared, rows, first, last, roots=own, logarithms=False)
        answer[spreads.offsets[first] : spreads.offsets[last]] = p

    in_blocks(work, len(spreads), len(spreads.values))
    return answer


def in_blocks(
    work: Callable[[int, int], None],
    count: int,
    options: int,
    workers: int | None = None,
    *,
    block: int = _BLOCK,
) -> None:
    """Call `work` with the first and the last of each block of decisions, by threads if it pays."""
    threads = workers or (_CORES if options >= _WORTH_THREADS else 1)
    blocks = [(at, min(at + block, count)) for at in range(0, count, block)]
    if threads == 1 or len(blocks) == 1:
        for first, last in blocks:
            work(first, last)
        return
    pool = _threads(threads)
    for done in [pool.submit(work, *ends) for ends in blocks]:
        done.result()


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them for each of many evaluations would cost more."""
    return ThreadPoolExecutor(count, thread_name_prefix="milepost-choice")


if hasattr(os, "register_at_fork"):
    # Threads do not live on in a forked process: it makes its own.
    os.register_at_fork(after_in_child=_threads.cache_clear)
