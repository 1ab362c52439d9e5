"""Results turned into arrays: players and (player, period) nodes as integers, games by period.

Names map to integers here, once; everything behind this module sees arrays only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.errors import InputError, MilepostWarning
from milepost.history.numbering import (
    largest_group,
    lay_in_rounds,
    link_nodes,
    nodes_by_player,
    number_names,
    number_nodes,
    order_in_time,
    room_for,
)
from milepost.history.periods import checked_period, clocks_of, cut
from milepost.tables import RESULTS

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


_LATEST = 1e12
"""The greatest time, in any unit: seconds since 1970 last for 30,000 years."""


_HEAVIEST = 1e12
"""The greatest weight: sums of more lose what the other games say, or overflow."""


class SkippedResultsWarning(MilepostWarning):
    """Some results could not be used and were left out."""


@dataclass(frozen=True)
class Records:
    """The games between two players, by period.

    Within a period every player's games stand in the order of their times, then as given. Games
    that have no player in common may stand in any order: see
    `milepost.history.numbering.lay_in_rounds`.
    """

    names: pl.Series
    """The players' names; a player's number is the place here."""
    first: Ints
    """For each game, the node of the winner; in a draw, of player_1."""
    second: Ints
    """For each game, the node of the loser; in a draw, of player_2."""
    drawn: npt.NDArray[np.bool_]
    """For each game, whether it was drawn."""
    mover: npt.NDArray[np.int8]
    """For each game, 1 if `first` moved first, -1 if `second` did, 0 if neither is known to."""
    weight: Floats
    """For each game, its weight; an empty array if every weight is 1."""
    row: npt.NDArray[np.int64]
    """For each game, the row of the caller's table that it came from."""
    swapped: npt.NDArray[np.bool_]
    """For each game, whether `first` is the caller's player_2."""
    game_start: npt.NDArray[np.int64]
    """The games of period p are those from game_start[p] up to game_start[p + 1]."""
    node_start: npt.NDArray[np.int64]
    """The nodes of period p are those from node_start[p] up to node_start[p + 1]."""
    node_player: Ints
    """For each node, its player."""
    node_period: Ints
    """For each node, its period."""
    node_games: Ints
    """For each node, how many games the player has in the period."""
    previous: Ints
    """For each node, the same player's node before it; -1 = none."""
    following: Ints
    """For each node, the same player's node after it; -1 = none."""
    elapsed: Floats
    """For each node, the time since the same player's node before it; 0 = there is none."""
    clock: Floats
    """For each period, its place on the clock."""
    label: pl.Series
    """For each period, the time it is shown by."""
    period: str | float
    """How time was cut: year, month, day, event, game, or a length."""
    skipped: Mapping[str, int]
    """How many rows were left out, by reason."""

    @property
    def games(self) -> int:
        """How many games there are."""
        return len(self.first)

    @property
    def players(self) -> int:
        """How many players there are."""
        return len(self.names)

    @property
    def nodes(self) -> int:
        """How many (player, period) pairs with games there are."""
        return len(self.node_player)

    @property
    def periods(self) -> int:
        """How many periods with games there are."""
        return len(self.clock)

    @property
    def asked_clock(self) -> Floats:
        """For each period, the clock by which questions name it.

        With the period ``"game"`` drift runs by each player's own games, but a time asked for is
        one as the results have them.
        """
        return clocks_of(self.label) if self.period == "game" else self.clock

    @property
    def by_player(self) -> npt.NDArray[np.int64]:
        """The nodes by player, then by period."""
        return nodes_by_player(self.node_player, self.players)

    @property
    def draw_share(self) -> float:
        """The share of draws among the games, by weight."""
        if len(self.weight):
            return float(self.weight[self.drawn].sum() / self.weight.sum())
        return float(self.drawn.mean())

    @property
    def apart(self) -> int:
        """How many players no chain of games links with the largest group."""
        one, two = self.node_player[self.first], self.node_player[self.second]
        return self.players - largest_group(one, two, self.players)


def read_records(
    results: Any, *, period: str | float = "year", shuffle: np.random.Generator | None = None
) -> Records:
    """Turn a results table into arrays.

    Parameters
    ----------
    results
        The results table: anything `milepost.tables.RESULTS.conform` takes.
    period
        ``"year"``, ``"month"``, ``"day"``, ``"event"``, ``"game"``, or a length in the unit of the
        times (years, for dates).
    shuffle
        Where a random order of the games within each period comes from; `None` = by time, then as
        given.

    Returns
    -------
    Records

    Raises
    ------
    InputError
        If no row can be used, or the times are neither dates nor numbers.

    Warns
    -----
    SkippedResultsWarning
        If rows were left out: no time, a year that cannot be, no player, a player against himself,
        a score that is not 1, 0.5 or 0, a first mover other than 1 or 2, a weight that is not
        positive and finite.
    """
    period = checked_period(period)
    frame = RESULTS.conform(results)
    if frame["time"].dtype.is_nested():
        raise InputError(f"the times are {frame['time'].dtype}; expected dates or numbers")
    if frame.is_empty():
        raise InputError("the results table has no rows")
    good, skipped = _usable(frame)
    if skipped:
        told = ", ".join(f"{count} with {reason}" for reason, count in skipped.items())
        if not good.any():
            raise InputError(f"no result can be used: {told}")
        warnings.warn(
            f"left out {sum(skipped.values())} of {len(frame)} results: {told}",
            SkippedResultsWarning,
            stacklevel=3,
        )
    columns = ["time", "player_1", "player_2", "score", "first_mover", "weight", "event"]
    rows = frame.select(columns).with_row_index("row")
    if skipped:
        rows = rows.filter(good)
    return _arrays(rows, period, skipped, shuffle)


def _usable(frame: pl.DataFrame) -> tuple[pl.Series, dict[str, int]]:
    """Which rows can be used, and how many not, each counted under its first fault."""
    if _are_all_usable(frame):
        return pl.repeat(True, len(frame), eager=True), {}
    time = pl.col("time")
    if frame["time"].dtype.is_numeric():
        # Beyond that a float does not tell one period from the next.
        time = pl.when(time.cast(pl.Float64).abs() < _LATEST).then(time)
    blank = [pl.col(c).is_null() | (pl.col(c) == "") for c in ("player_1", "player_2")]
    score, weight = pl.col("score"), pl.col("weight")
    faults = {
        "no time": time.is_null(),
        "a year that cannot be": _no_year(frame["time"]),
        "no player": blank[0] | blank[1],
        "a player against himself": pl.col("player_1") == pl.col("player_2"),
        "a score other than 1, 0.5 and 0": ~(
            (score == 0) | (score == 0.5) | (score == 1)
        ).fill_null(False),
        "a first mover other than 1 and 2": ~pl.col("first_mover").is_in([1, 2]).fill_null(True),
        "a weight that is not positive": ~(weight.is_finite() & (weight > 0)).fill_null(True),
        "a weight beyond 1e12": (weight > _HEAVIEST).fill_null(False),
    }
    none = frame.select(good=~pl.any_horizontal(*faults.values())).to_series()
    if none.all():
        return none, {}
    kind = pl.lit(None, dtype=pl.String)
    for reason, test in reversed(faults.items()):
        kind = pl.when(test).then(pl.lit(reason)).otherwise(kind)
    kinds = frame.select(kind.alias("kind")).to_series()
    bad = kinds.drop_nulls().value_counts().rows()
    counts = dict(bad)
    return kinds.is_null(), {reason: counts[reason] for reason in faults if reason in counts}


def _are_all_usable(frame: pl.DataFrame) -> bool:
    """Whether nothing is wrong with any row, by the least and greatest values: nearly all tables.

    `False` may also mean that this cannot be seen at a glance.
    """
    time, one, two = frame["time"], frame["player_1"], frame["player_2"]
    if any(column.null_count() for column in (time, one, two, frame["score"])):
        return False
    if time.dtype.is_integer():
        if not _lie_within(time, 1, 2999):
            return False
    elif not (time.dtype.is_temporal() or _lie_within(time, -_LATEST / 2, _LATEST / 2)):
        return False
    score, empty = frame["score"].to_numpy(), [bool((side == "").any()) for side in (one, two)]
    if any(empty) or bool((one == two).any()):
        return False
    if not np.all((score == 1.0) | (score == 0.5) | (score == 0.0)):
        return False
    return all(
        column.null_count() == len(column) or _lie_within(column, low, high)
        for column, low, high in (
            (frame["first_mover"], 1, 2), (frame["weight"], 1.0 / _HEAVIEST, _HEAVIEST),
        )
    )  # fmt: skip


def _lie_within(values: pl.Series, low: float, high: float) -> bool:
    """Whether numbers lie between two bounds; NaN does not."""
    if not values.dtype.is_numeric() or (values.dtype.is_float() and values.is_nan().any()):
        return False
    return bool(low <= values.min() and values.max() <= high)  # type: ignore[operator]


def _no_year(times: pl.Series) -> pl.Expr:
    """Whether a time is no year, where nearly all the times are years (20240 among 2023, 2024)."""
    whole = times.dtype.is_integer() and times.is_between(1000, 2999).mean()
    if not whole or float(whole) < 0.5:  # type: ignore[arg-type]
        return pl.lit(False)
    return ~pl.col("time").is_between(1, 2999).fill_null(True)


def _arrays(
    rows: pl.DataFrame, period: str | float, skipped: Mapping[str, int],
    shuffle: np.random.Generator | None,
) -> Records:  # fmt: skip
    periods = cut(rows["time"], period, rows["event"])
    names, one, two = number_names(rows["player_1"], rows["player_2"])
    # Stable: games of one time keep the caller's order, and the filter follows it.
    place = rows["time"] if shuffle is None else shuffle.permutation(rows.height)
    order = order_in_time(periods.index, place)
    index, row = periods.index, rows["row"].to_numpy().astype(np.int64)
    if order is not None:
        rows = rows.select("score", "first_mover", "weight")[order]
        index, one, two, row = index[order], one[order], two[order], row[order]

    number, games = len(periods.clock), len(one)
    game_start = np.searchsorted(index, np.arange(number + 1)).astype(np.int64)
    node_one, node_two = np.empty_like(one), np.empty_like(two)
    node_player = np.empty(2 * games, dtype=np.int32)
    node_start = number_nodes(
        game_start, one, two, np.full(len(names), -1, dtype=np.int32), node_one, node_two,
        node_player,
    )  # fmt: skip
    nodes = int(node_start[-1])
    node_player = node_player[:nodes].copy()
    node_period = np.repeat(np.arange(number, dtype=np.int32), np.diff(node_start))
    counts = np.bincount(node_one, minlength=nodes) + np.bincount(node_two, minlength=nodes)
    previous, following = np.empty_like(node_player), np.empty_like(node_player)
    link_nodes(node_player, np.full(len(names), -1, dtype=np.int32), previous, following)

    weight, movers = _weights(rows["weight"]), rows["first_mover"]
    white = np.zeros(games, dtype=np.int8)
    if movers.null_count() < games:
        white = movers.fill_null(0).cast(pl.Int8).to_numpy()
    laid = room_for(games, weighted=len(weight) > 0)
    lay_in_rounds(
        game_start, node_one, node_two, rows["score"].to_numpy(), white, weight, row, nodes, laid
    )
    return Records(
        names=names,
        first=laid.first,
        second=laid.second,
        drawn=laid.drawn,
        mover=laid.mover,
        weight=laid.weight,
        row=laid.row,
        swapped=laid.swapped,
        game_start=game_start,
        node_start=node_start,
        node_player=node_player,
        node_period=node_period,
        node_games=counts.astype(np.int32),
        previous=previous,
        following=following,
        elapsed=_elapsed(periods.clock, node_period, previous, by_game=period == "game"),
        clock=periods.clock,
        label=periods.label,
        period=period,
        skipped=dict(skipped),
    )


def _weights(column: pl.Series) -> Floats:
    """The weights; an empty array if every weight is 1."""
    if column.null_count() == len(column):
        return np.empty(0)
    weight = column.fill_null(1.0).to_numpy()
    return np.empty(0) if np.all(weight == 1.0) else np.ascontiguousarray(weight)


def _elapsed(clock: Floats, node_period: Ints, previous: Ints, *, by_game: bool) -> Floats:
    if by_game:  # the clock counts each player's own games
        return np.asarray(previous >= 0, dtype=np.float64)
    here = clock[node_period]
    # A newcomer stands before himself.
    before = np.where(previous < 0, np.arange(len(previous), dtype=np.int32), previous)
    return np.asarray(here - here[before])
