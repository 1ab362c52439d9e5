"""The one-parameter agents of 2009 (Di Fatta, Haworth & Regan): P(i) ∝ (v_max - v_i + K)^-c.

They look at the first `width` options only, in raw units. With s = K this is the curve
(1 + δ/s)^-c under shares, so everything that agents can do, they can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milepost.choice.agent import Agent
from milepost.choice.projections import Projection
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError

_LEAST_C = 1e-12
"""Stands for c = 0, a choice at random: no probability differs by more than rounding."""


@dataclass(frozen=True)
class ReferenceAgent:
    """A chooser of apparent competence c.

    Examples
    --------
    >>> spreads = Spreads.from_lists([[0.3, 0.1, -0.5]], [0])
    >>> ReferenceAgent(c=1.0, width=2).probabilities(spreads).round(3)
    array([0.75, 0.25, 0.  ])
    """

    c: float
    """Apparent competence, c ≥ 0; 0 chooses at random."""
    K: float = 0.1
    """Keeps the best option's probability finite; in the unit of the values."""
    width: int = 10
    """How many of the options it looks at."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers."""
        if not (0 <= self.c < np.inf and 0 < self.K < np.inf and self.width >= 1):
            raise InputError(f"c ≥ 0, K > 0 and a width from 1 are needed, got {self}")

    @property
    def agent(self) -> Agent:
        """The same chooser as an agent that looks at all options."""
        return Agent(
            s=self.K,
            c=max(self.c, _LEAST_C),
            curve="ipb",
            ratio="shares",
            difference="raw",
            tie_shift=0.0,
            cap=None,
        )

    def probabilities(self, spreads: Spreads) -> Floats:
        """Return the probability of every option as given; 0 beyond the width."""
        return self.agent.probabilities(self._narrowed(spreads))

    def simulate(self, spreads: Spreads, rng: np.random.Generator) -> Spreads:
        """Return the same decisions, chosen by the agent."""
        return spreads.choosing(self.agent.simulate(self._narrowed(spreads), rng).chosen)

    def project(self, spreads: Spreads) -> Projection:
        """Return what the agent would do, beside what was done, where that is within the width.

        Decisions whose choice lies beyond the width are left out, as in the fits; the projection's
        `n` counts the others.
        """
        return self.agent.project(self._narrowed(spreads.take(spreads.chosen < self.width)))

    def _narrowed(self, spreads: Spreads) -> Spreads:
        place = np.arange(len(spreads.values)) - np.repeat(spreads.offsets[:-1], spreads.counts)
        values = np.where(place < self.width, spreads.values, -np.inf)
        return replace(spreads, values=values, depth_values=None, depths=())
