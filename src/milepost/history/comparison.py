"""Two players, each at a time of his own: what is known about who was the stronger."""

from __future__ import annotations

import math
from dataclasses import dataclass

from milepost.history.beliefs import Belief
from milepost.history.eras import CAUTION_YEARS, LEAST_CHANCE, caution
from milepost.history.joint.moves_fit import ASSUMPTION
from milepost.history.numerics.gaussians import below
from milepost.io.shown import percent


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two players, each at a time of his own."""

    keys: tuple[str, str]
    """Their keys."""
    players: tuple[str, str]
    """Their names as written."""
    times: tuple[str, str]
    """The times, as they were asked for."""
    first: Belief
    """The first player's skill at his time."""
    second: Belief
    """The second player's skill at his time."""
    difference: Belief
    """First less second, the history's settings taken as true. Different players are taken as
    independent, as EP does; the same player at two times is not: the covariance along his life is
    computed."""
    years_apart: float
    """The time between the two (years, for dates)."""
    scale_sd: float
    """How much is left open about the scale between the two times, as a standard deviation: by the
    settings (`milepost.history.eras`) or, on the joint scale, by the move evidence of the eras."""
    unit: str = "points"
    """What the numbers are: points of the history, or Elo."""
    joint: bool = False
    """Whether they are intrinsic Elo, of results and moves."""
    notes: tuple[str, ...] = ()
    """What is doubtful about the times asked for: no games near them."""

    @property
    def sd(self) -> float:
        """The standard deviation of the difference, with what the settings leave open."""
        return math.hypot(self.difference.sd, self.scale_sd)

    @property
    def probability(self) -> float:
        """Probability that the first was the stronger: his skill then above the other's then."""
        return _above_zero(Belief(self.difference.mean, self.sd))

    @property
    def probability_as_fitted(self) -> float:
        """The same with the history's settings taken as true: too sure over much time."""
        return _above_zero(self.difference)

    @property
    def chance(self) -> str:
        """The probability in words, no finer than the times apart support."""
        # Nothing is certain about two skills, though a float may say so.
        known = min(max(self.probability, 1e-12), 1.0 - 1e-12)
        coarse = bool(caution(self.years_apart)) and not self.joint
        return percent(known, LEAST_CHANCE if coarse else 0.001)

    @property
    def caution(self) -> str:
        """What to be careful about: much time between, no games near the times; else empty."""
        between = caution(self.years_apart)
        if self.joint:
            between = ASSUMPTION if self.years_apart > CAUTION_YEARS else ""
        return ". ".join(part.rstrip(".") for part in (*self.notes, between) if part)

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        return f"Chance that {self.players[0]} ({self.times[0]}) was stronger: {self.chance}"

    def __repr__(self) -> str:
        """Return the answer in a few lines."""
        (one, two), (then, later) = self.players, self.times
        lines = [
            f"{one} ({then}) against {two} ({later})",
            f"difference {self.difference.mean:.0f} ± {self.sd:.0f} {self.unit}",
            self.sentence,
        ]
        return "\n".join([*lines, f"Caution: {self.caution}"] if self.caution else lines)


def _above_zero(difference: Belief) -> float:
    if difference.sd == 0.0:
        return 0.5 if difference.mean == 0.0 else float(difference.mean > 0.0)
    return below(difference.mean / difference.sd)
