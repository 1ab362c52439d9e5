"""What move evidence said in a joint history, and the scale that it gave."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from milepost.history.beliefs import Belief, Lives
from milepost.history.joint.options import Moves
from milepost.history.records import Floats

ASSUMPTION = (
    "The map from moves to Elo is taken as the same in every era: nothing in the data tests that."
)
"""What stands beside every answer on the joint scale."""


@dataclass(frozen=True, eq=False, repr=False)
class MovesFit:
    """What move evidence said: intrinsic skill is era + slope × (skill − mu)."""

    slope: float
    """Elo a point of skill."""
    slope_se: float
    """Its standard error; 0 = given."""
    spread: float
    """How players of equal skill differ in their moves, for life, Elo."""
    spread_se: float
    """Its standard error; 0 = given."""
    form: float
    """How one player's games differ, Elo."""
    form_se: float
    """Its standard error; 0 = given."""
    era_drift: float
    """Elo that a unit of time adds to the era."""
    mu: float
    """The skill whose intrinsic Elo the era is."""
    era: pl.DataFrame
    """For each period: time, clock, era (Elo of a skill of mu), sd (of the level: mean skill plus
    era, at this slope), information, players, turns, era_by_slope (its derivative)."""
    covariance: Floats
    """Covariances of the levels of the periods, Elo²."""
    log_evidence: float
    """Joint evidence less that of the results, in nats (the era at its best)."""
    log_density: float
    """ln p(sites | results), the era integrated out."""
    used: int
    """Sites that were used."""
    turns: int
    """Turns behind them."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Sites that were not, by reason."""
    designs: Mapping[str, int] = field(default_factory=dict)
    """Turns by design."""
    far: int = 0
    """Sites taken more than 100 Elo from what the history expects."""
    options: Moves = field(default_factory=Moves)
    """What was given, and what was learned."""
    sites: Any = None
    """The move evidence, so that an update can use it again; `None` = not kept."""
    results_only: Lives | None = None
    """What results alone say."""

    def at(self, moment: float) -> tuple[float, float]:
        """Return the era at a moment on the clock, and the variance of the level there."""
        row = self._weights(moment)
        era = float(row @ self.era["era"].to_numpy())
        return era, float(row @ self.covariance @ row) + self._beyond(moment)

    def level_variance(self, moment_1: float, moment_2: float) -> float:
        """Return the variance of the difference between the levels at two moments."""
        apart = self._weights(moment_1) - self._weights(moment_2)
        further = abs(self._beyond(moment_1) - self._beyond(moment_2))
        return max(float(apart @ self.covariance @ apart), 0.0) + further

    def lever(self, skill: Any, moment: float) -> Any:
        """Return by how much the intrinsic Elo of a skill moves with the slope.

        Where the sites of a time are, moves tell the level whatever the slope is; for skills far
        above or below them the slope carries it over.
        """
        by_slope = float(self._weights(moment) @ self.era["era_by_slope"].to_numpy())
        return skill - self.mu + by_slope

    def intrinsic(self, skill: Belief, moment: float) -> Belief:
        """Return a skill at a moment as intrinsic Elo: with the era's error, and the slope's."""
        era, variance = self.at(moment)
        own, slope = self.slope * skill.sd, self.slope_se * self.lever(skill.mean, moment)
        sd = math.sqrt(own**2 + variance + slope**2)
        return Belief(era + self.slope * (skill.mean - self.mu), sd)

    def scale_sd(self, skills: tuple[float, float], moments: tuple[float, float]) -> float:
        """Return what eras and slope leave open about the difference of two skills."""
        ends = [self.lever(skill, moment) for skill, moment in zip(skills, moments, strict=True)]
        slope = self.slope_se * (ends[0] - ends[1])
        return math.sqrt(self.level_variance(*moments) + slope**2)

    def _weights(self, moment: float) -> Floats:
        clock = self.era["clock"].to_numpy()
        inside = min(max(moment, clock[0]), clock[-1])
        after = int(np.clip(np.searchsorted(clock, inside), 1, max(len(clock) - 1, 1)))
        row = np.zeros(len(clock))
        if len(clock) == 1:
            row[0] = 1.0
            return row
        share = (inside - clock[after - 1]) / (clock[after] - clock[after - 1])
        row[after - 1], row[after] = 1.0 - share, share
        return row

    def _beyond(self, moment: float) -> float:
        """Variance that the walk adds beyond the history's ends."""
        clock = self.era["clock"]
        beyond = max(float(clock[0]) - moment, moment - float(clock[-1]), 0.0)
        return self.era_drift**2 * beyond

    def __repr__(self) -> str:
        """Return the numbers in a few lines."""
        lines = [
            f"{self.used:,} sites, {self.turns:,} turns"
            + "".join(f"; {count:,} left out {why}" for why, count in self.left_out.items()),
            f"slope {self.slope:.3f}{_error(self.slope_se, 3)} Elo a point of skill",
            f"players of equal skill differ by {self.spread:.0f}{_error(self.spread_se)} Elo",
            f"a player's games differ by {self.form:.0f}{_error(self.form_se)} Elo beside that",
            f"era: {self.options.era}, {self.era_drift:.3g} Elo a year",
            f"ln p(moves | results) {self.log_density:.1f} nats",
            ASSUMPTION,
        ]
        return "\n".join(lines)


def _error(error: float, digits: int = 0) -> str:
    return f" ± {error:.{digits}f}" if error > 0 else " (given)"
