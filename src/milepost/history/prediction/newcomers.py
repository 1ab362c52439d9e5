"""Newcomers: what the company they keep says about them, and how much faster they change.

A history gives every newcomer one prior, and says that who meets whom tells nothing. Both are false
where fields are made by strength: a player who appears among masters is no beginner. Here a
newcomer's prior is moved towards the players met in the first period, once that period is over, so
that no prediction knows a pairing that hangs on a result of its own period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from milepost.errors import InputError
from milepost.history.records import Floats, Records
from milepost.history.ttt.own_margins import TTTDState
from milepost.history.ttt.state import TTTState


@dataclass(frozen=True)
class Company:
    """How much a newcomer's first opponents say about the newcomer.

    With F the mean of what was known of them (newcomers among them left out, counted from mu), the
    newcomer's skill is N(mu + slope F - behind, sd²). Newcomers whose company is not known, and all
    of them while their first period is predicted, have N(level, sigma²), where the level is the
    mean of the newcomers of the last `memory` units of time, learned as time goes on.
    """

    slope: float = 0.9
    """By how much a newcomer is better for each point that the company is better."""
    behind: float = 80.0
    """By how much a newcomer is weaker than company of the level mu."""
    sd: float = 300.0
    """Standard deviation of a newcomer's skill, given the company; below the sigma of the model."""
    memory: float = 2.0
    """Over how much time the level is averaged."""
    least: int = 50
    """With fewer newcomers than this in that time, the level stays as it is."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("sd", "memory"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise InputError(f"expected a positive {name}, got {getattr(self, name)!r}")
        if not (math.isfinite(self.slope) and math.isfinite(self.behind)) or self.least < 1:
            raise InputError("expected finite slope and behind, and at least one for a level")


class Follower:
    """Gives newcomers their priors while a history goes forward: see `Company`."""

    def __init__(self, state: TTTState | TTTDState, rule: Company):
        if not rule.sd < state.model.sigma:
            raise InputError(
                f"expected the newcomers' sd in known company below their sigma "
                f"{state.model.sigma:g}, got {rule.sd:g}"
            )
        self._state = state
        self._rule = rule
        records = state.records
        self._new = records.previous < 0
        self._level = 0.0

    def before(self, period: int, told: npt.NDArray[np.bool_]) -> None:
        """Set the level of a period's newcomers, and add what their company says.

        The level is known to predictions of the period; the company is not, for it enters the
        beliefs alone and not the messages from the past. Nodes marked in `told` (of the period)
        keep what they were told otherwise.
        """
        state, rule = self._state, self._rule
        graph, records = state.graph, state.records
        state.level[period] = self._level
        begin, end = int(records.node_start[period]), int(records.node_start[period + 1])
        games = slice(int(records.game_start[period]), int(records.game_start[period + 1]))
        ours = np.concatenate([graph.first[games], graph.second[games]])
        theirs = np.concatenate([graph.second[games], graph.first[games]])
        use = self._new[ours] & ~self._new[theirs]
        last = records.previous[theirs[use]]
        known = state.chains.belief[last] - state.chains.backward[last]
        place = ours[use] - begin
        number = np.bincount(place, minlength=end - begin)
        total = np.bincount(place, known[:, 1] / known[:, 0], minlength=end - begin)
        given = (number > 0) & ~told
        precision, wide = rule.sd**-2, state.model.sigma**-2
        wanted = rule.slope * total / np.maximum(number, 1) - rule.behind
        belief = state.chains.belief[begin:end]
        belief[given, 0] += precision - wide
        belief[given, 1] += precision * wanted[given] - wide * self._level

    def after(self, period: int) -> None:
        """Learn the level again from the newcomers of the last years, as they look now."""
        records = self._state.records
        since = int(np.searchsorted(records.clock, records.clock[period] - self._rule.memory))
        nodes = slice(int(records.node_start[since]), int(records.node_start[period + 1]))
        recent = self._new[nodes]
        if int(recent.sum()) < self._rule.least:
            return
        belief = self._state.chains.belief[nodes][recent]
        self._level = float(np.mean(belief[:, 1] / belief[:, 0]))


def faster_newcomers(records: Records, *, factor: float, years: float) -> Records:
    """Let skills drift faster in the first years of a player's record.

    The variance that time adds is multiplied by 1 + factor exp(-age / years), where the age is the
    time from the player's first period to the one that the drift begins at.

    Raises
    ------
    InputError
        If the factor is negative or the years are not positive.
    """
    pace = newcomers_pace(records, factor=factor, years=years)
    has = records.previous >= 0
    elapsed: Floats = records.elapsed.copy()
    elapsed[has] *= pace[records.previous[has]]
    return replace(records, elapsed=elapsed)


def newcomers_pace(records: Records, *, factor: float, years: float) -> Floats:
    """Return for each node how much faster than usual a skill drifts behind it.

    See `faster_newcomers`, which uses it.
    """
    if not (math.isfinite(factor) and factor >= 0.0 and math.isfinite(years) and years > 0.0):
        raise InputError(f"expected factor >= 0 and years > 0, got {factor!r} and {years!r}")
    clock = records.clock[records.node_period]
    began = np.full(records.players, np.inf)
    np.minimum.at(began, records.node_player, clock)
    age = clock - began[records.node_player]
    return np.asarray(1.0 + factor * np.exp(-age / years), dtype=np.float64)
