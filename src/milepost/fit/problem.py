"""What every fit works on: a model, prepared decisions, and which parameters may move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from milepost.choice.evaluation.evaluate import Evaluated, Prepared, evaluate, prepare
from milepost.choice.model import C, ChoiceModel, S
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError

S_LIMITS = (1e-6, 1e4)
C_LIMITS = (0.01, 20.0)
"""Beyond these a fit has run away; it is reported as not converged."""
LN_K_LIMIT = 12.0
_START_S = (0.01, 0.04, 0.12, 0.3, 0.8)
"""Times the median difference."""
_START_C = (0.3, 0.5, 0.9, 1.6)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model to be fitted."""

    model: ChoiceModel
    """The model."""
    prepared: Prepared
    """The decisions."""
    start: Floats
    """Working parameters from which to set out; those that do not move stay there."""
    free: npt.NDArray[np.bool_]
    """Which parameters may move."""
    known_start: bool = False
    """Whether `start` is close to the answer already, so that no other need be tried."""

    @property
    def weights(self) -> Floats:
        """How much each decision counts."""
        return self.prepared.spreads.weights

    def full(self, moving: Floats) -> Floats:
        """Return all working parameters, given those that move."""
        theta = self.start.copy()
        theta[self.free] = moving
        return theta

    def evaluate(
        self,
        moving: Floats,
        *,
        information: bool = False,
        probabilities: bool = False,
        up_grid: Floats | None = None,
    ) -> Evaluated:
        """Evaluate the model at given values of the parameters that move."""
        return evaluate(
            self.model,
            self.prepared,
            self.full(moving),
            information=information,
            probabilities=probabilities,
            up_grid=up_grid,
        )

    def weighted(self, weights: Floats) -> Problem:
        """Return the same problem with other weights of the decisions."""
        prepared = Prepared(
            self.prepared.spreads.weighted(weights), self.prepared.scale, self.prepared.depths
        )
        # The differences do not depend on the weights: hand over what was worked out.
        prepared.__dict__.update(
            {k: v for k, v in self.prepared.__dict__.items() if k not in {"spreads"}}
        )
        return replace(self, prepared=prepared)

    def escaped(self, theta: Floats) -> bool:
        """Say whether s, c, or the k of a mixture has run away."""
        s, c = np.exp(theta[0]), np.exp(theta[1])
        near = S_LIMITS[0] < s < S_LIMITS[1] and C_LIMITS[0] < c < C_LIMITS[1]
        if self.model.mixes_curves:
            near = near and abs(theta[self.model.place("k")]) < LN_K_LIMIT
        return not near


def make_problem(
    spreads: Spreads, model: ChoiceModel, fixed: Mapping[str, float] | None = None
) -> Problem:
    """Set up a fit; parameters in `fixed` (named as people read them) do not move.

    Raises
    ------
    InputError
        If there are no decisions that say anything, or fewer than parameters.
    """
    if not len(spreads) or not (spreads.weights > 0).any():
        raise InputError("there are no decisions to fit to")
    start = model.start(fixed)
    free = np.ones(len(start), dtype=bool)
    for name in fixed or {}:
        free[model.place(name)] = False
    if model.mixes_curves and len(set(model.curve.split("+"))) == 2 and "k" not in (fixed or {}):
        # Two different curves share one scale; two equal ones differ by it.
        free[model.place("k")] = False
    useful = int(((spreads.weights > 0) & (spreads.counts > 1)).sum())
    if useful < max(int(free.sum()), 2):
        raise InputError(
            f"{useful} decisions with at least two options are too few for {int(free.sum())} "
            "parameters"
        )
    return Problem(model, prepare(spreads, model), start, free)


def part_of(problem: Problem, decisions: Ints) -> Problem:
    """Return the problem on some of its decisions."""
    prepared = prepare(problem.prepared.spreads.take(decisions), problem.model)
    return replace(problem, prepared=prepared)


def coarse_starts(problem: Problem) -> list[Floats]:
    """Return starting points on a coarse grid of s and c, around the size of the differences."""
    delta = problem.prepared.delta
    real = delta[(delta > 0) & np.isfinite(delta)]
    typical = float(np.median(real)) if len(real) else 1.0
    answers = []
    for s in typical * np.array(_START_S) if problem.free[S] else [np.exp(problem.start[S])]:
        for c in _START_C if problem.free[C] else [np.exp(problem.start[C])]:
            theta = problem.start.copy()
            theta[S], theta[C] = np.log(s), np.log(c)
            answers.append(theta[problem.free])
    return answers
