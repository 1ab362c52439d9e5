"""Games of teams as arrays: the factor graph that the sweeps of `team_history` run over.

Names become numbers here, once. Games are sorted by time, sides by score; a node is one player at
one time at which he or she plays; a seat is one player's place in one game.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from milepost.errors import InputError
from milepost.history.periods import checked_period, clock_of, clocks_of, cut
from milepost.history.teams.game import Game
from milepost.history.teams.rate import draw_margin

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Graph(NamedTuple):
    """The arrays of the factor graph; numba takes a named tuple into a kernel as it is."""

    batch_games: Indices
    """Games at one time: batch b holds the games from batch_games[b] up to batch_games[b + 1]."""
    batch_nodes: Indices
    """Nodes at one time, likewise."""
    game_sides: Indices
    """Sides of a game, likewise, the best first."""
    side_seats: Indices
    """Seats of a side, likewise."""
    side_centre: Floats
    """What a side's players of prior mean would perform, less the mean of that in the game."""
    pair_margin: Floats
    """The margin between a side and the next one (unused for the last side of a game)."""
    pair_tie: NDArray[np.bool_]
    """Whether a side tied with the next one."""
    seat_node: Indices
    """The node of each seat."""
    seat_weight: Floats
    """The part in the game, 1 = all of it."""
    node_seats: Indices
    """Seats of a node: those in seats_by_node from node_seats[n] up to node_seats[n + 1]."""
    seats_by_node: Indices
    """All seats, sorted by their node."""
    previous: Indices
    """The same player's node before, or -1."""
    drift: Floats
    """The variance that the skill gains from the node before to this one."""


class Built(NamedTuple):
    """A graph, and what its nodes mean."""

    graph: Graph
    """The arrays."""
    labels: pl.DataFrame
    """Player, time, clock and games of each node, in the order of the nodes."""
    by_game: bool
    """Whether a player's consecutive nodes are one step apart, whatever the clock says."""


def share_of_ties(games: Sequence[Game]) -> float:
    """Return the share of tied pairs among all pairs of neighbours in the order of scores.

    Where every pair is tied the share would be 1 and its margin infinite: half a pair is then
    taken as decided, so that the margin stays finite and grows with the number of games.
    """
    pairs = sum(len(game.scores) - 1 for game in games)
    ties = sum(len(game.scores) - len(set(game.scores)) for game in games)
    return min(ties, pairs - 0.5) / pairs if pairs else 0.0


def build_graph(
    games: Sequence[Game],
    *,
    mu: float,
    beta: float,
    tau: float,
    draw_probability: float,
    period: str | float | None = None,
) -> Built:
    """Turn games into the arrays of the factor graph.

    Parameters
    ----------
    games
        In any order; games of one period form one batch, in the order of their times, then as
        given. Without times every game is a batch of its own, in the order given, and a player's
        consecutive games are one unit of time apart, whatever other games lie between; their times
        are then the numbers of the games, from 1.
    mu, beta, tau
        Prior mean, noise, and drift (its variance per unit of time is tau²).
    draw_probability
        Probability of a tie between two equal neighbours.
    period
        How time is cut, as in `milepost.history.periods.cut`; `None` = every time is a period.

    Raises
    ------
    InputError
        If the times are of different kinds, or there is a tie at a draw probability of zero.
    """
    times = _times(games, period)
    order, clocks, labels = times.order, times.clock, times.label
    nodes = _Nodes(tau * tau, times.step)
    batch_games, batch_nodes, game_sides, side_seats = [0], [0], [0], [0]
    centre: list[float] = []
    margin: list[float] = []
    tie: list[bool] = []
    seat_node: list[int] = []
    seat_weight: list[float] = []
    for position, g in enumerate(order):
        game = games[g]
        if position and times.batch[g] != times.batch[order[position - 1]]:
            batch_games.append(position)
            batch_nodes.append(len(nodes.player))
        ranking = sorted(range(len(game.teams)), key=lambda s: -game.scores[s])
        weights = game.weights or [[1.0] * len(team) for team in game.teams]
        # Differences alone count within a game: around their mean they keep their digits.
        levels = [mu * sum(weights[s]) for s in ranking]
        centre.extend(level - sum(levels) / len(levels) for level in levels)
        for place, s in enumerate(ranking):
            seat_node.extend(
                nodes.at(name, times.batch[g], clocks[g], labels[g]) for name in game.teams[s]
            )
            seat_weight.extend(weights[s])
            side_seats.append(len(seat_node))
            below = ranking[min(place + 1, len(ranking) - 1)]
            tie.append(below != s and game.scores[s] == game.scores[below])
            players = len(game.teams[s]) + len(game.teams[below])
            margin.append(draw_margin(draw_probability, players, beta))
        game_sides.append(len(tie))
    if games:
        batch_games.append(len(games))
        batch_nodes.append(len(nodes.player))
    if draw_probability == 0.0 and any(tie):
        raise InputError("expected a draw probability above 0 for games with ties, got 0")
    node = np.asarray(seat_node, dtype=np.int64)
    counts = np.bincount(node, minlength=len(nodes.player))
    graph = Graph(
        batch_games=np.asarray(batch_games, dtype=np.int64),
        batch_nodes=np.asarray(batch_nodes, dtype=np.int64),
        game_sides=np.asarray(game_sides, dtype=np.int64),
        side_seats=np.asarray(side_seats, dtype=np.int64),
        side_centre=np.asarray(centre, dtype=np.float64),
        pair_margin=np.asarray(margin, dtype=np.float64),
        pair_tie=np.asarray(tie, dtype=np.bool_),
        seat_node=node,
        seat_weight=np.asarray(seat_weight, dtype=np.float64),
        node_seats=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        seats_by_node=np.argsort(node, kind="stable").astype(np.int64),
        previous=np.asarray(nodes.previous, dtype=np.int64),
        drift=np.asarray(nodes.drift, dtype=np.float64),
    )
    frame = pl.DataFrame(
        {
            "player": pl.Series(nodes.player, dtype=pl.String),
            "time": pl.Series(nodes.label),
            "clock": pl.Series(nodes.clock, dtype=pl.Float64),
            "games": pl.Series(counts.astype(np.int32)),
        }
    )
    return Built(graph, frame, times.step is not None)


class _Nodes:
    """The nodes as they are met, in the order of time."""

    def __init__(self, drift_variance: float, step: float | None) -> None:
        self.player: list[str] = []
        self.label: list[Any] = []
        self.previous: list[int] = []
        self.drift: list[float] = []
        self._batch: list[int] = []
        self.clock: list[float] = []
        self._last: dict[str, int] = {}
        self._drift_variance = drift_variance
        self._step = step

    def at(self, name: str, batch: int, clock: float, label: Any) -> int:
        """Return the node of a player in a batch, made if it is new."""
        before = self._last.get(name, -1)
        if before >= 0 and self._batch[before] == batch:
            return before
        elapsed = 0.0
        if before >= 0:
            elapsed = clock - self.clock[before] if self._step is None else self._step
        self._last[name] = len(self.player)
        self.player.append(name)
        self.label.append(label)
        self.previous.append(before)
        self.drift.append(self._drift_variance * elapsed)
        self._batch.append(batch)
        self.clock.append(clock)
        return self._last[name]


class _Times(NamedTuple):
    """When the games were played."""

    order: list[int]
    """The games in the order of time."""
    batch: list[int]
    """For each game, the number of its batch."""
    clock: list[float]
    """For each game, its place on the clock that drift runs on."""
    label: list[Any]
    """For each game, the time that the curves show."""
    step: float | None
    """The time between a player's consecutive batches; `None` = what the clock says."""


def _times(games: Sequence[Game], period: str | float | None) -> _Times:
    given = [game.time for game in games]
    numbers = list(range(len(games)))
    if all(time is None for time in given):
        places = [n + 1.0 for n in numbers]
        return _Times(numbers, numbers, places, [n + 1 for n in numbers], 1.0)
    kinds = {date if isinstance(time, date) else type(time) for time in given}
    if not (kinds == {date} or kinds <= {int, float}):
        raise InputError("expected all games with a number, all with a date or all without a time")
    series = pl.Series("time", given, strict=False)
    if float in kinds:
        series = series.cast(pl.Float64)
    if period is None:
        label = series.unique().sort()
        batch = series.rank("dense").cast(pl.Int64).to_numpy() - 1
        clock = np.array([clock_of(time, "day") for time in label])
    else:
        batch, clock, label = _cut(series, checked_period(period))
    ordered = pl.DataFrame({"batch": batch, "time": series})
    order = ordered.select(pl.arg_sort_by("batch", "time", maintain_order=True)).to_series()
    shown = label.gather(batch).to_list()
    if period == "game":
        # Drift runs by steps; the clock is that of the times, by which questions are asked.
        return _Times(order.to_list(), batch.tolist(), clocks_of(series).tolist(), shown, 1.0)
    return _Times(order.to_list(), batch.tolist(), clock[batch].tolist(), shown, None)


def _cut(time: pl.Series, period: str | float) -> tuple[Indices, Floats, pl.Series]:
    if period == "event":
        raise InputError('games of teams have no events: expected another period than "event"')
    periods = cut(time, period)
    return periods.index, periods.clock, periods.label
