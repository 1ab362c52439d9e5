"""Spreads with their scaled differences, ready to be evaluated many times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from milepost.choice.columns import option_features
from milepost.choice.evaluation.numbers import (
    NumbersInBlocks,
    OptionNumbers,
    furthest_at_most,
    numbers_in_blocks,
    option_numbers,
    runs_in_vectors,
)
from milepost.choice.model import ChoiceModel
from milepost.choice.scale import (
    Scale,
    depth_differences,
    raw_losses,
    scaled_differences,
)
from milepost.choice.spreads import Floats, Spreads


@dataclass(frozen=True, eq=False)
class Prepared:
    """Spreads with their scaled differences, ready to be evaluated many times."""

    spreads: Spreads
    """The decisions."""
    scale: Scale
    """How differences were taken."""
    depths: tuple[int, ...] = ()
    """The depths of the columns of `depth_delta`."""
    utilities: tuple[str, ...] = ()
    """The names of the columns of `features`."""
    _numbers: dict[float, OptionNumbers] = field(default_factory=dict, repr=False)

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

    def numbers(self, c: float) -> OptionNumbers:
        """Return the numbers that linear models of this c go by."""
        if c not in self._numbers:
            ln_delta = None
            if not self.depths:
                ln_delta = self.ln_delta[:, None]
            elif not runs_in_vectors(self.scale, self.spreads):
                ln_delta = self.ln_depth_delta
            self._numbers[c] = option_numbers(
                self.spreads, self.scale, self.depths, self.utilities, c, ln_delta
            )
        return self._numbers[c]

    def numbers_in_blocks(self, c: float) -> NumbersInBlocks | None:
        """Return what makes them block by block; None = only all at once."""
        if not self.depths or not runs_in_vectors(self.scale, self.spreads):
            return None
        return numbers_in_blocks(self.spreads, self.scale, self.depths, self.utilities, c)

    @cached_property
    def furthest_at_most(self) -> float:
        """What the logarithm of the greatest difference cannot exceed; inf = that is not known."""
        if not self.depths or not runs_in_vectors(self.scale, self.spreads):
            return math.inf
        return furthest_at_most(self.spreads, self.scale)

    @cached_property
    def finite_delta(self) -> Floats:
        """Scaled differences with 0 for padding: what never happens adds nothing to a mean."""
        return np.where(np.isfinite(self.delta), self.delta, 0.0)

    @cached_property
    def features(self) -> Floats:
        """The columns of the utilities, one row an option; 0 for padding."""
        return option_features(self.utilities, self.spreads, self.scale)


def prepare(spreads: Spreads, model: ChoiceModel) -> Prepared:
    """Make spreads ready for a model."""
    depths = model.depths.depths if model.depths is not None else ()
    return Prepared(spreads, model.scale, depths, model.utilities)


def _ln(delta: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        answer: Floats = np.log(delta)
    return answer
