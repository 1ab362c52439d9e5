"""What Elo and Glicko-2 know about each player at any moment: the rating after the last games.

Unlike a smoothed history (`milepost.history.beliefs`) a rating stays as it is between periods, and
before the first one everybody is a newcomer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.baselines.streams import logistic_outcomes
from milepost.history.beliefs import Belief, place_of
from milepost.history.records import Floats
from milepost.history.ttt.graph import Longs

SCALE = 400.0
"""Points that multiply the odds by ten."""


@dataclass(frozen=True)
class Ratings:
    """The ratings of all players, sorted by player, then by time."""

    names: pl.Series
    """The players, sorted."""
    start: Longs
    """Where each player's rows begin, and where the last one's end."""
    clock: Floats
    """For each row, its place on the clock."""
    mean: Floats
    """For each row, the rating after the games of its period."""
    sd: Floats
    """For each row, the rating deviation then; NaN where the model has none."""
    newcomer: Belief
    """What is said of a player before the first game."""

    def at(self, player: str, moment: float) -> Belief:
        """Return the rating of a player at a moment on the clock."""
        place = place_of(self.names, player)
        begin, end = int(self.start[place]), int(self.start[place + 1])
        row = begin + int(np.searchsorted(self.clock[begin:end], moment, side="right")) - 1
        if row < begin:
            return self.newcomer
        return Belief(float(self.mean[row]), float(self.sd[row]))

    def all_at(self, moment: float, within: float) -> tuple[Longs, Floats, Floats, Longs]:
        """Return player, mean, sd and last row, of those with a game within some time."""
        begin, end = self.start[:-1], self.start[1:]
        past = np.add.reduceat((self.clock <= moment).astype(np.int64), begin)
        row = begin + past - 1
        last, after = np.where(past > 0, row, begin), np.minimum(row + 1, end - 1)
        gap_past = np.where(past > 0, moment - self.clock[last], np.inf)
        gap_future = np.where(row + 1 < end, self.clock[after] - moment, np.inf)
        chosen = np.flatnonzero(np.minimum(gap_past, gap_future) <= within).astype(np.int64)
        new = past[chosen] == 0
        rows = last[chosen]
        return (
            chosen,
            np.where(new, self.newcomer.mean, self.mean[rows]),
            np.where(new, self.newcomer.sd, self.sd[rows]),
            rows,
        )

    def covariance(self, player: str, moment_1: float, moment_2: float) -> float:
        """Refuse: these models say nothing about how a player's two ratings go together.

        Raises
        ------
        InputError
        """
        raise InputError(
            f"a model of ratings does not say how the errors of {player!r} at two times go together"
        )


def rating_chances(one: Belief, two: Belief, *, margin: float, lead: float) -> Floats:
    """Return the chances of win, draw and loss between two ratings (Rao & Kupper 1967).

    Where ratings have deviations, the difference is shrunk by Glickman's g of both.
    """
    chances = logistic_outcomes(
        (one.mean - two.mean) * _shrink(one.sd, two.sd), margin=margin, advantage=lead, scale=SCALE
    )
    return np.asarray(chances[0])


def _shrink(sd_1: float, sd_2: float) -> float:
    if math.isnan(sd_1) or math.isnan(sd_2):
        return 1.0
    phi2 = (sd_1**2 + sd_2**2) * (math.log(10.0) / SCALE) ** 2
    return 1.0 / math.sqrt(1.0 + 3.0 * phi2 / math.pi**2)


def margin_of_share(difference: Floats, drawn: float) -> float:
    """Return the margin under which games have the given share of draws on average.

    Parameters
    ----------
    difference
        For each game, what the ratings before it differed by, the first mover's lead included.
    drawn
        The share of draws. With draws only, half a game is taken to be decided.
    """
    share = min(drawn, 1.0 - 0.5 / len(difference))
    if share <= 0.0:
        return 0.0
    # A chance of a draw does not depend on the sign; a few thousand bins stand for all games.
    counts, edges = np.histogram(np.abs(difference), bins=4096)
    middle = 0.5 * (edges[1:] + edges[:-1])[counts > 0]
    counts = counts[counts > 0]
    low, high = 0.0, 1.0

    def on_average(margin: float) -> float:
        chances = logistic_outcomes(middle, margin=margin, scale=SCALE)[:, 1]
        return float(chances @ counts / len(difference))

    while on_average(high) < share:
        low, high = high, 2.0 * high
    for _ in range(60):
        margin = 0.5 * (low + high)
        low, high = (margin, high) if on_average(margin) < share else (low, margin)
    return 0.5 * (low + high)
