"""Spreads with their scaled differences, ready to be evaluated many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milepost.choice.columns import option_features
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
    def furthest(self) -> float:
        """The greatest logarithm of a difference that is no padding."""
        logarithms = self.ln_depth_delta if self.depths else self.ln_delta
        greatest = logarithms.max(initial=-np.inf)
        if greatest == np.inf:
            greatest = logarithms.max(initial=-np.inf, where=logarithms < np.inf)
        return float(greatest)

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
