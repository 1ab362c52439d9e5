"""What a fitted history knows about each player at any moment, between and beyond periods too.

Kept for every (player, period): what the past says after the period's games, and what the future
says before them, each a Gaussian in natural form. At a moment between two periods both drift to it
and are multiplied: the exact smoothed belief, not an interpolation of means.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.errors import InputError
from milepost.history.records import Floats, Ints, Records
from milepost.history.ttt.graph import Chains, Longs
from milepost.kernels import kernel


@dataclass(frozen=True)
class Belief:
    """A Gaussian belief about one number."""

    mean: float
    """Its mean."""
    sd: float
    """Its standard deviation."""


def place_of(names: pl.Series, player: str) -> int:
    """Return the place of a player's key among the sorted keys.

    Raises
    ------
    InputError
        If there is no such player.
    """
    place = int(names.search_sorted(player))
    if place < len(names) and names[place] == player:
        return place
    raise InputError(f"no player has the key {player!r}")


@dataclass(frozen=True)
class Lives:
    """One quantity (skill, or draw margin) of all players, sorted by player, then by time."""

    names: pl.Series
    """The players, sorted."""
    start: Longs
    """Where each player's rows begin, and where the last one's end."""
    clock: Floats
    """For each row, its place on the clock."""
    table: Floats
    """For each row: precision, precision times mean of the past, then of the future."""
    offset: float
    """What means are counted from."""
    drift: float
    """Variance that a unit of the clock adds."""
    steps: Floats | None = None
    """For each row, its place on the player's own clock where drift runs on that one (a step for
    each of his games) and not on `clock`; a value then holds until his next game. `None` = drift
    runs on `clock`."""
    pace: Floats | None = None
    """For each row, how much faster than usual a value drifts until the next row (newcomers may
    change faster); `None` = as usual."""

    def rows_of(self, player: str) -> tuple[int, int]:
        """Return where a player's rows begin and end.

        Raises
        ------
        InputError
            If there is no such player.
        """
        place = place_of(self.names, player)
        return int(self.start[place]), int(self.start[place + 1])

    def at(self, player: str, moment: float) -> Belief:
        """Return the belief about a player at a moment on the clock."""
        begin, end = self.rows_of(player)
        row = self._row(begin, end, moment)
        pi, tau = self._moment(row, begin, end, moment)
        return Belief(self.offset + tau / pi, 1.0 / math.sqrt(pi))

    def all_at(self, moment: float, within: float) -> tuple[Longs, Floats, Floats, Longs]:
        """Return player, mean, sd and last row, of those with a game within some time."""
        begin, end = self.start[:-1], self.start[1:]
        past = np.add.reduceat((self.clock <= moment).astype(np.int64), begin)
        row = begin + past - 1
        has_past, has_future = past > 0, row + 1 < end
        last, after = np.where(has_past, row, begin), np.where(has_future, row + 1, end - 1)
        gap_past = np.where(has_past, moment - self.clock[last], np.inf)
        gap_future = np.where(has_future, self.clock[after] - moment, np.inf)
        drift_past, drift_future = gap_past, gap_future
        if self.pace is not None:
            pace = self.pace[last]
            drift_past, drift_future = pace * gap_past, pace * gap_future
        if self.steps is not None:
            drift_past = np.zeros(len(row))
            drift_future = np.where(has_past, self.steps[after] - self.steps[last], 0.0)
        chosen = np.flatnonzero(np.minimum(gap_past, gap_future) <= within)
        pi, tau = np.zeros(len(chosen)), np.zeros(len(chosen))
        for has, rows, gap, column in (
            (has_past, last, drift_past, 0), (has_future, after, drift_future, 2),
        ):  # fmt: skip
            use = has[chosen]
            known = np.where(use, self.table[rows[chosen], column], 0.0)
            shrink = 1.0 / (1.0 + known * self.drift * np.where(use, gap[chosen], 0.0))
            pi += known * shrink
            tau += np.where(use, self.table[rows[chosen], column + 1], 0.0) * shrink
        return chosen.astype(np.int64), self.offset + tau / pi, 1.0 / np.sqrt(pi), last[chosen]

    def at_rows(self) -> tuple[Floats, Floats]:
        """Return mean and sd of every row at its own time: past and future meet there."""
        clock = self.clock if self.steps is None else self.steps
        ends = self.start[1:] - 1
        future, gap = np.zeros((len(clock), 2)), np.zeros(len(clock))
        future[:-1], gap[:-1] = self.table[1:, 2:], np.diff(clock)
        future[ends], gap[ends] = 0.0, 0.0
        shrink = 1.0 / (1.0 + future[:, 0] * gap * self.drift)
        pi = self.table[:, 0] + future[:, 0] * shrink
        tau = self.table[:, 1] + future[:, 1] * shrink
        return self.offset + tau / pi, 1.0 / np.sqrt(pi)

    def covariance(self, player: str, moment_1: float, moment_2: float) -> float:
        """Return the covariance of one player's values at two moments.

        Between neighbours s < t of a chain, Cov(x_s, x_t | all) = V_s / (V_s + drift) Var(x_t),
        V_s what the past alone says at s (Rauch, Tung & Striebel 1965); gains multiply.
        """
        low, high = sorted((moment_1, moment_2))
        begin, end = self.rows_of(player)
        if self.steps is not None:
            return self._covariance_of_rows(begin, end, low, high)
        variance = self.at(player, high).sd ** 2
        clock = self.clock[begin:end]
        inner = begin + np.flatnonzero((clock > low) & (clock < high))
        moments = [low, *self.clock[inner], high]
        gain = 1.0
        for here, there in itertools.pairwise(moments):
            row = begin + int(np.searchsorted(clock, here, side="right")) - 1
            if row < begin:
                # Before the first game only the future speaks: the chain runs backwards there.
                return self._before_first(player, low, high, variance)
            pi = self.table[row, 0]
            drift = self._drift_after(row)
            known = 1.0 / pi + drift * (here - self.clock[row])
            gain *= known / (known + drift * (there - here))
        return gain * variance

    def _drift_after(self, row: int) -> float:
        """Variance that a unit of the clock adds behind a row."""
        return self.drift if self.pace is None else self.drift * float(self.pace[row])

    def _row(self, begin: int, end: int, moment: float) -> int:
        """The last row up to a moment; begin - 1 if there is none."""
        return begin + int(np.searchsorted(self.clock[begin:end], moment, side="right")) - 1

    def _covariance_of_rows(self, begin: int, end: int, low: float, high: float) -> float:
        """The same where the player moves from game to game: gains of the steps between."""
        assert self.steps is not None
        first, last = (max(self._row(begin, end, moment), begin) for moment in (low, high))
        gain = 1.0
        for row in range(first, last):
            known = 1.0 / self.table[row, 0]
            gain *= known / (known + self.drift * (self.steps[row + 1] - self.steps[row]))
        pi, _ = self._moment(last, begin, end, float(self.clock[last]))
        return float(gain / pi)

    def _before_first(self, player: str, low: float, high: float, variance: float) -> float:
        begin, _ = self.rows_of(player)
        first = float(self.clock[begin])
        if high <= first:
            return variance
        return self.covariance(player, first, high)

    def _moment(self, row: int, begin: int, end: int, moment: float) -> tuple[float, float]:
        pi = tau = 0.0
        if self.steps is not None:
            # On the own clock a moment is that of the last game; before the first one, the first.
            clock, moment = self.steps, float(self.steps[max(row, begin)])
        else:
            clock = self.clock
        drift = self._drift_after(max(row, begin))
        if row >= begin:
            shrink = 1.0 / (1.0 + self.table[row, 0] * drift * (moment - clock[row]))
            pi, tau = self.table[row, 0] * shrink, self.table[row, 1] * shrink
        if row + 1 < end:
            after = row + 1
            shrink = 1.0 / (1.0 + self.table[after, 2] * drift * (clock[after] - moment))
            pi += self.table[after, 2] * shrink
            tau += self.table[after, 3] * shrink
        return float(pi), float(tau)


def lives_of(
    records: Records, chains: Chains, *, offset: float, drift: float, pace: Floats | None = None
) -> Lives:
    """Return what the messages of a history say about each player's past and future.

    `pace` says for each node how much faster than usual values drift behind it.
    """
    order = records.by_player
    table = np.empty((records.nodes, 4))
    _past_and_future(order, records.previous, chains, table)
    counts = np.bincount(records.node_player, minlength=records.players)
    return Lives(
        names=records.names,
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        clock=records.asked_clock[records.node_period[order]],
        table=table,
        offset=offset,
        drift=drift,
        steps=own_steps(counts) if records.period == "game" else None,
        pace=None if pace is None else pace[order],
    )


@kernel
def _past_and_future(order: Longs, previous: Ints, chains: Chains, table: Floats) -> None:
    belief, forward, backward = chains
    for row in range(len(order)):
        node = order[row]
        for column in range(2):
            table[row, column] = belief[node, column] - backward[node, column]
            # Nothing lies before a player's first period but the prior: there the whole belief
            # drifts back.
            past = forward[node, column] if previous[node] >= 0 else 0.0
            table[row, 2 + column] = belief[node, column] - past


def own_steps(counts: npt.NDArray[Any]) -> Floats:
    """Return 0, 1, 2 ... for each player's rows, from how many rows each has."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(counts.sum()) - np.repeat(ends - counts, counts), dtype=np.float64)
