"""A ladder of agents and the choosers' own agents on the same decisions, block by block.

The numbers of the options (`milepost.choice.evaluation.numbers`) take much more room than what is
made of them. So those of one block of decisions are made, everybody who asks of it is answered
while they are near the processor, and then comes the next block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.choice.evaluation.evaluate import (
    Evaluated,
    empty_answer,
    evaluate,
    in_blocks,
    probabilities_nearby,
    summarise,
)
from milepost.choice.evaluation.ladder import Rungs, evaluate_ladder
from milepost.choice.evaluation.linear import is_linear, linear_values, solve_block
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import C, ChoiceModel
from milepost.choice.spreads import Floats, Ints

_BLOCK = 256
"""Decisions of a block: its numbers stay in the processor's own cache."""


@dataclass(frozen=True, eq=False)
class PlacedAgents:
    """Agents, each of which sees some of the decisions."""

    theta: Floats
    """Their working parameters, a row each."""
    along: Floats
    """The directions in which these move, a row each."""
    which: Ints
    """The agent of each decision."""
    nearby: tuple[Floats, ...] = ()
    """The parameters of others close to each of them, whose probabilities are wanted too."""


@dataclass(frozen=True, eq=False)
class Together:
    """What all of them say."""

    ln_chosen: Floats
    """Of the ladder, see `evaluate_ladder`; so are the next two."""
    information: Floats
    ln_first: Floats
    said: Evaluated
    """What the placed agents say."""
    roots: Floats
    """What shortens the work for others nearby; see `probabilities_nearby`."""
    nearby: tuple[Floats, ...]
    """Probability of every option for each of those nearby."""


def evaluate_together(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    along: Floats,
    placed: PlacedAgents,
    *,
    step: float,
    first: bool = False,
    probabilities: bool = False,
) -> Together:
    """Evaluate a ladder of agents, and one agent for each decision with others nearby.

    Parameters
    ----------
    model, prepared, theta, along, step, first
        As for `evaluate_ladder`.
    placed
        The agents of the decisions.
    probabilities
        Whether to keep what these give to all options.
    """
    spreads = prepared.spreads
    numbers = prepared.numbers_in_blocks(float(np.exp(theta[0, C])))
    agents = np.concatenate([theta, placed.theta, *placed.nearby])
    ways = np.concatenate([along, placed.along])
    if numbers is None or not len(spreads) or not is_linear(model, prepared, agents, ways):
        return _one_after_the_other(
            model, prepared, theta, along, placed, step, first, probabilities
        )
    rungs = Rungs(model, theta, along, step)
    ladder = rungs.room(len(spreads), first)
    answer = empty_answer(spreads, 1, probabilities=probabilities)
    roots = np.full(len(spreads), np.nan)
    nearby = tuple(np.empty(len(spreads.values)) for _ in placed.nearby)
    values, slopes = linear_values(model, rungs.kappa, placed.theta, placed.along)
    assert slopes is not None
    others = [linear_values(model, rungs.kappa, rows, None)[0] for rows in placed.nearby]
    delta = prepared.finite_delta

    def work(begin: int, end: int) -> None:
        options = slice(int(spreads.offsets[begin]), int(spreads.offsets[end]))
        bounds = spreads.offsets[begin : end + 1] - options.start
        here, worth, which = numbers.block(begin, end), spreads.values[options], placed.which
        at = which[begin:end]
        rungs.climb(
            here, bounds, worth, spreads.chosen[begin:end], [part[begin:end] for part in ladder]
        )
        own = roots[begin:end]
        places = (bounds, 0)
        ln_p, p, d_ln_p = solve_block(
            here, places, worth, here.context, values[at], slopes[at], rungs.kappa, own
        )
        summarise(answer, spreads, begin, end, ln_p, p, d_ln_p, delta)
        for rows, out in zip(others, nearby, strict=True):
            _, out[options], _ = solve_block(
                here, places, worth, here.context, rows[at], None, rungs.kappa, own.copy(),
                logarithms=False,
            )  # fmt: skip

    in_blocks(work, len(spreads), len(spreads.values) * len(theta), block=_BLOCK)
    ladder[1][:] *= rungs.unit**2
    return Together(*ladder, answer, roots, nearby)


def _one_after_the_other(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    along: Floats,
    placed: PlacedAgents,
    step: float,
    first: bool,
    probabilities: bool,
) -> Together:
    roots = np.full(len(prepared.spreads), np.nan)
    ladder = evaluate_ladder(model, prepared, theta, along, step=step, first=first)
    said = evaluate(
        model,
        prepared,
        placed.theta[placed.which],
        probabilities=probabilities,
        along=placed.along[placed.which],
        roots=roots,
    )
    nearby = tuple(
        probabilities_nearby(model, prepared, rows[placed.which], roots) for rows in placed.nearby
    )
    return Together(*ladder, said, roots, nearby)
