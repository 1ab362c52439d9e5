"""Many agents of one model on the same decisions: what a ladder of ratings is made of.

For agents along a path only the chosen option, the first one and the information are wanted, and
from one agent to the next little changes. Where ln y is linear in numbers of the option
(`milepost.choice.evaluation.linear`) this is used twice over:

- ln y of all options and agents is one matrix product, and so is its slope.
- λ of one agent, carried on by a polynomial through those before and their slopes, is nearly that
  of the next: mostly one Newton step is enough, and what it changes in p follows from the slopes
  at hand.

Other models are evaluated agent by agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from milepost.choice.evaluation.climbing import TERMS, climb_decisions
from milepost.choice.evaluation.evaluate import evaluate, in_blocks
from milepost.choice.evaluation.linear import is_linear, linear_values, probability_table
from milepost.choice.evaluation.numbers import ABREAST, OptionNumbers
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.model import C, ChoiceModel
from milepost.choice.spreads import Floats, Ints

_NOISE = 1e-14
"""Directions that count less than this, beside the first, are rounding."""


def evaluate_ladder(
    model: ChoiceModel,
    prepared: Prepared,
    theta: Floats,
    along: Floats,
    *,
    step: float,
    first: bool = False,
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
    step
        By how much that number rises from one agent to the next.
    first
        Whether ln p of the first option is wanted; else there are no rows of it.
    """
    spreads = prepared.spreads
    rungs = Rungs(model, theta, along, step)
    ln_chosen, information, ln_first = rungs.room(len(spreads), first)
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
    numbers = prepared.numbers(float(np.exp(theta[0, C])))

    def work(begin: int, end: int) -> None:
        here = replace(numbers, context=numbers.context[:, begin:end])
        answers = [part[begin:end] for part in (ln_chosen, information, ln_first)]
        bounds, chosen = spreads.offsets[begin : end + 1], spreads.chosen[begin:end]
        rungs.climb(here, bounds, spreads.values, chosen, answers)

    in_blocks(work, len(spreads), len(spreads.values) * len(theta))
    information *= rungs.unit**2
    return ln_chosen, information, ln_first


class Rungs:
    """Agents that follow one another, ready to be climbed where ln y is linear."""

    def __init__(self, model: ChoiceModel, theta: Floats, along: Floats, step: float):
        """Take them as `evaluate_ladder` does."""
        self.model, self.theta, self.along, self.step = model, theta, along, step

    @cached_property
    def kappa(self) -> float:
        """The blend of all the agents."""
        return float(np.exp(self.theta[0, self.model.place("kappa")]))

    @property
    def unit(self) -> float:
        """What slopes, and the root of the information, are to be multiplied by."""
        return self._factors[3]

    @cached_property
    def _factors(self) -> tuple[Floats, Floats, Floats, float]:
        theta, along = self.theta, self.along
        return _factors(self.model, self.kappa, theta.shape, theta.tobytes(), along.tobytes())

    @cached_property
    def _moving(self) -> Ints:
        """The utilities whose factor some agents change."""
        return np.flatnonzero(self._factors[1][:, 1:].any(axis=1))

    def room(self, count: int, first: bool) -> tuple[Floats, Floats, Floats]:
        """Return room for what the agents say of so many decisions; see `evaluate_ladder`."""
        agents = len(self.theta)
        ln_first = np.empty((count if first else 0, agents))
        return np.empty((count, agents)), np.empty((count, agents)), ln_first

    def climb(
        self,
        numbers: OptionNumbers,
        bounds: Ints,
        worth: Floats,
        chosen: Ints,
        answers: Sequence[Floats],
    ) -> None:
        """Fill what is known of some decisions; the information is still to be scaled.

        Parameters
        ----------
        numbers
            Of the options, and in its context of just these decisions.
        bounds
            Where the decisions are in the numbers and in `worth`, the values of the options.
        chosen
            The choices.
        answers
            Room for ln p of the choices, the information, and ln p of the first options, if that is
            wanted.
        """
        curve, utilities, factors, unit = self._factors
        start, table = probability_table(self.kappa)
        # Only rows with a part whose factor some agents change go into the directions.
        moving_rows = np.unique(numbers.part_of[self._moving] // ABREAST) * ABREAST
        climb_decisions(
            bounds, worth, chosen, numbers.powers, numbers.parts, numbers.context,
            numbers.part_of, numbers.context_of, self._moving, moving_rows, curve, utilities,
            factors, self.step * unit, self.kappa, start, table, *answers,
        )  # fmt: skip


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
    room = -(-count // TERMS) * TERMS
    basis, factors = np.zeros((len(alike), room)), np.zeros((2 * shape[0], room))
    basis[:, :count] = right[:count].T
    factors[:, :count] = left[:, :count] * sizes[:count]
    depths = len(alike) - columns
    curve = np.zeros((-(-depths // ABREAST) * ABREAST, room))
    curve[:depths] = basis[:depths]
    utilities = np.concatenate([fixed[:, None], basis[depths:]], axis=1)
    return curve, utilities, factors, unit
