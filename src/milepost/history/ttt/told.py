"""What skills are told from outside: Gaussian observations of skill plus a level by period.

An observation z of a node says z = skill + era of its period + noise. All is in rating points: an
observation in another unit is divided by its slope first. The message to the skill is a constant of
the sweeps, the era moves with the Newton steps alone. Where a node has several observations, they
are one: precisions add up, values are averaged by them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.history.records import Floats, Ints


@dataclass
class Told:
    """Observations of nodes, and the level that they share by period."""

    precision: Floats
    """For each node, 1 / variance; 0 = nothing is told."""
    value: Floats
    """For each node, the observation, in points counted from `mu`."""
    period: Ints
    """For each node, its period."""
    era: Floats
    """For each period, the level: what an observation is above the skill, in points."""
    era_link: Floats
    """From period to period, the precision of the era's walk."""
    learned: bool
    """Whether the era is an unknown; else it stays as given."""
    unit: float
    """The slope: how much a point is worth in the unit of the observations."""

    def __post_init__(self) -> None:
        """Remember which nodes are told anything: few of many."""
        self.there = np.flatnonzero(self.precision)
        self.there_precision = self.precision[self.there]
        self.there_period = self.period[self.there]

    def product(self, direction: Floats, era: Floats, image: Floats, era_image: Floats) -> float:
        """Add what the observations do to a direction of skills and era; return its square."""
        apart = direction[self.there]
        if self.learned:
            apart = apart + era[self.there_period]
        force = self.there_precision * apart
        image[self.there] += force
        if self.learned:
            era_image += np.bincount(self.there_period, weights=force, minlength=len(era))
        return float(np.sum(force * apart))

    @property
    def message(self) -> Floats:
        """For each node, the message to its skill: precision, precision times mean."""
        apart = self.precision * (self.value - self.era[self.period])
        return np.stack([self.precision, apart], axis=1)

    def force(self, means: Floats) -> Floats:
        """Return for each node what its observation pulls by."""
        return np.asarray(self.precision * (self.value - self.era[self.period] - means))

    def by_period(self, values: Floats) -> Floats:
        """Return the sums of some values of nodes by period."""
        sums = np.bincount(self.period, weights=values, minlength=len(self.era))
        return np.asarray(sums, dtype=np.float64)

    def step_size(self, step: Floats) -> float:
        """Return the largest part of an era's step, in points or the observations' unit.

        The smaller of the two counts: with a tiny slope an era in points has no digits to spare.
        """
        return float(np.max(np.abs(step), initial=0.0)) * min(1.0, self.unit)


def pass_on(told: Told | None, belief: Floats) -> None:
    """Add what is told to the beliefs of the skills."""
    if told is not None:
        belief += told.message


def hold_still(told: Told | None, belief: Floats, by: Floats, begin: int, end: int) -> None:
    """Undo for the observations that all messages were moved: what is told stays where it is.

    For the nodes from `begin` up to `end`.
    """
    if told is not None:
        belief[begin:end, 1] -= told.precision[begin:end] * by[begin:end]


def move_era(told: Told, belief: Floats, by: Floats) -> None:
    """Move the era, and with it what the skills are told."""
    belief[:, 1] -= told.precision * by[told.period]
    told.era += by
