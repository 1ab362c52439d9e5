"""Whole numbers for players and for (player, period) nodes, and the order of games in time.

This is half of what a history of millions of games costs before its first sweep, so nothing is
sorted that can be counted, and no name is looked at more than twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.kernels import kernel

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_SEEDS = (2007, 1850)
"""Two hashes of 64 bits: names that share one number would have to share both."""
_FEW = 4096
"""So few rows are numbered without tables."""


def number_names(one: pl.Series, two: pl.Series) -> tuple[pl.Series, Ints, Ints]:
    """Return all names in their order, and for each side the places of its names there."""
    hashed = len(one) > _FEW and _by_hashes(one, two)
    return hashed or _by_sorting(one, two)


def _by_sorting(one: pl.Series, two: pl.Series) -> tuple[pl.Series, Ints, Ints]:
    names = pl.concat([one.unique(), two.unique()]).unique().sort().rename("player")
    kind = pl.Enum(names)
    numbers = [s.cast(kind).to_physical().cast(pl.Int32).to_numpy() for s in (one, two)]
    return names, numbers[0], numbers[1]


def largest_group(one: Ints, two: Ints, players: int) -> int:
    """Return how many players the largest group has whose games link everybody in it."""
    leader = _leaders(one, two, players)
    return int(np.bincount(leader).max()) if players else 0


def are_linked(games: pl.DataFrame, a: str, b: str) -> bool:
    """Return whether a chain of games (`player_1`, `player_2`) leads from one player to another."""
    both = pl.concat([games["player_1"], games["player_2"].alias("player_1")])
    number = both.cast(pl.Categorical).to_physical().cast(pl.Int64).rank("dense").to_numpy() - 1
    half = len(games)
    leader = _leaders(
        number[:half].astype(np.int64), number[half:].astype(np.int64), int(number.max()) + 1
    )
    where = [np.flatnonzero((both == key).to_numpy()) for key in (a, b)]
    if not all(len(rows) for rows in where):
        return False
    return bool(leader[int(number[where[0][0]])] == leader[int(number[where[1][0]])])


@kernel
def _leaders(one: Ints, two: Ints, players: int) -> Longs:
    """For each player, the leader of the group: union by size, paths halved (Tarjan 1975)."""
    leader = np.arange(players)
    size = np.ones(players, dtype=np.int64)
    for game in range(len(one)):
        a, b = np.int64(one[game]), np.int64(two[game])
        while leader[a] != a:
            leader[a] = leader[leader[a]]
            a = leader[a]
        while leader[b] != b:
            leader[b] = leader[leader[b]]
            b = leader[b]
        if a != b:
            if size[a] < size[b]:
                a, b = b, a
            leader[b] = a
            size[a] += size[b]
    for player in range(players):
        a = np.int64(player)
        while leader[a] != a:
            a = leader[a]
        leader[player] = a
    return leader


def hashed_names(names: pl.Series) -> tuple[Hashes, Hashes]:
    """Return two hashes of each name, which together tell it from every other."""
    key, check = (names.hash(seed).to_numpy() for seed in _SEEDS)
    return key, check


def _by_hashes(one: pl.Series, two: pl.Series) -> tuple[pl.Series, Ints, Ints] | None:
    """The same by a table of hashes; `None` if two names share one (once in 10⁹ tables)."""
    rows = len(one)
    numbers = [np.empty(rows, dtype=np.int32) for _ in range(2)]
    known = 0
    table = _Table(1 << 16)
    for place, side in enumerate((one, two)):
        key, check = hashed_names(side)
        begin = 0
        while begin < rows:
            begin, known = _number_hashes(
                key, check, numbers[place], begin, place * rows, known, *table.arrays
            )
            if begin < 0:
                return None
            if begin < rows:
                table = table.larger(known)
    seen = table.seen[:known]
    late = int(np.searchsorted(seen, rows))
    names = pl.concat([one.gather(seen[:late]), two.gather(seen[late:] - rows)]).rename("player")
    # One thread: several need more than twice the processor time for the same names.
    sort = pl.arg_sort_by("player", multithreaded=False)
    order = names.to_frame().select(sort).to_series().to_numpy()
    rank = np.empty(known, dtype=np.int32)
    rank[order] = np.arange(known, dtype=np.int32)
    return names.gather(order), rank[numbers[0]], rank[numbers[1]]


class _Table:
    """Hashes with open addresses: at most half of the places are taken."""

    def __init__(self, size: int):
        self.slot = np.full(size, -1, dtype=np.int32)
        self.key = np.empty(size // 2, dtype=np.uint64)
        self.check = np.empty(size // 2, dtype=np.uint64)
        self.seen = np.empty(size // 2, dtype=np.int64)

    @property
    def arrays(self) -> tuple[Ints, Hashes, Hashes, Longs]:
        return self.slot, self.key, self.check, self.seen

    def larger(self, known: int) -> _Table:
        """Return a table of four times the size with the same names in it."""
        made = _Table(4 * len(self.slot))
        for old, new in zip(self.arrays[1:], made.arrays[1:], strict=True):
            new[:known] = old[:known]
        _place_again(made.key[:known], made.slot)
        return made


@kernel
def _number_hashes(
    keys: Hashes, checks: Hashes, numbers: Ints, begin: int, offset: int, known: int, slot: Ints,
    key: Hashes, check: Hashes, seen: Longs,
) -> tuple[int, int]:  # fmt: skip
    """Number the rows from `begin` on; return where the table was full, and how many are known.

    A row of -1 says that two names share a hash.
    """
    mask = np.uint64(len(slot) - 1)
    for row in range(begin, len(keys)):
        at = keys[row] & mask
        while slot[at] >= 0 and key[slot[at]] != keys[row]:
            at = (at + np.uint64(1)) & mask
        number = slot[at]
        if number < 0:
            if known == len(key):
                return row, known
            number = known
            slot[at] = number
            key[number], check[number], seen[number] = keys[row], checks[row], row + offset
            known += 1
        elif check[number] != checks[row]:
            return -1, known
        numbers[row] = number
    return len(keys), known


@kernel
def _place_again(key: Hashes, slot: Ints) -> None:
    mask = np.uint64(len(slot) - 1)
    for number in range(len(key)):
        at = key[number] & mask
        while slot[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slot[at] = number


def order_in_time(index: Longs, place: npt.NDArray[np.generic] | pl.Series) -> Longs | None:
    """Return the stable order by period, then by place; `None` = the rows stand in it.

    Parameters
    ----------
    index
        For each row, its period: 0, 1, 2 ...
    place
        For each row, what orders it within its period.
    """
    places = pl.Series("t", place)
    if pl.Series(index).is_sorted():
        if places.is_sorted():
            return None
        order = np.arange(len(index), dtype=np.int64)
    else:
        order = np.empty(len(index), dtype=np.int64)
        _count_sort(index, np.bincount(index), order)
    if not places.gather(order).is_sorted():
        frame = pl.DataFrame({"p": index, "t": places})
        sort = pl.arg_sort_by("p", "t", maintain_order=True)
        order = frame.select(sort).to_series().to_numpy().astype(np.int64)
    return order


@kernel
def _count_sort(index: Longs, counts: Longs, order: Longs) -> None:
    at = np.zeros(len(counts), dtype=np.int64)
    for cell in range(1, len(counts)):
        at[cell] = at[cell - 1] + counts[cell - 1]
    for row in range(len(index)):
        order[at[index[row]]] = row
        at[index[row]] += 1


@kernel
def nodes_by_player(node_player: Ints, players: int) -> Longs:
    """Return the nodes by player, then by period."""
    at = np.zeros(players + 1, dtype=np.int64)
    for node in range(len(node_player)):
        at[node_player[node] + 1] += 1
    for player in range(players):
        at[player + 1] += at[player]
    order = np.empty(len(node_player), dtype=np.int64)
    for node in range(len(node_player)):
        order[at[node_player[node]]] = node
        at[node_player[node]] += 1
    return order


@kernel
def number_nodes(
    game_start: Longs, one: Ints, two: Ints, last: Ints, node_one: Ints, node_two: Ints,
    node_player: Ints,
) -> Longs:  # fmt: skip
    """Give every (period, player) a number, by period, then by player.

    By player, so that whoever walks through the nodes of a period finds their neighbours in time in
    rising order too: that is read several times as fast as in an order by chance. `last` is -1 for
    each player. Returns where each period's nodes begin.
    """
    periods = len(game_start) - 1
    node_start = np.zeros(periods + 1, dtype=np.int64)
    # whoever plays in a period, in the order of the games
    there = np.empty(len(node_player), dtype=np.int32)
    begin = end = 0
    for period in range(periods):
        for game in range(game_start[period], game_start[period + 1]):
            if last[one[game]] < begin:
                last[one[game]] = begin
                there[end] = one[game]
                end += 1
            if last[two[game]] < begin:
                last[two[game]] = begin
                there[end] = two[game]
                end += 1
        begin = end
        node_start[period + 1] = end
    # By player, then back by period: this sorts all periods at once, and compares nothing.
    period_of = np.empty(begin, dtype=np.int32)
    for period in range(periods):
        period_of[node_start[period] : node_start[period + 1]] = period
    at = node_start[:-1].copy()
    for node in nodes_by_player(there[:begin], len(last)):
        period = period_of[node]
        node_player[at[period]] = there[node]
        at[period] += 1
    for period in range(periods):
        for node in range(node_start[period], node_start[period + 1]):
            last[node_player[node]] = node
        for game in range(game_start[period], game_start[period + 1]):
            node_one[game], node_two[game] = last[one[game]], last[two[game]]
    return node_start


class Laid(NamedTuple):
    """The games in the order of `lay_in_rounds`: see `milepost.history.records.Records`."""

    first: Ints
    second: Ints
    drawn: npt.NDArray[np.bool_]
    mover: npt.NDArray[np.int8]
    weight: npt.NDArray[np.float64]
    row: Longs
    swapped: npt.NDArray[np.bool_]


def room_for(games: int, *, weighted: bool) -> Laid:
    """Return room for games that are laid in rounds."""
    return Laid(
        first=np.empty(games, dtype=np.int32),
        second=np.empty(games, dtype=np.int32),
        drawn=np.empty(games, dtype=np.bool_),
        mover=np.empty(games, dtype=np.int8),
        weight=np.empty(games if weighted else 0),
        row=np.empty(games, dtype=np.int64),
        swapped=np.empty(games, dtype=np.bool_),
    )


@kernel
def lay_in_rounds(
    game_start: Longs, one: Ints, two: Ints, score: npt.NDArray[np.float64],
    white: npt.NDArray[np.int8], weight: npt.NDArray[np.float64], row: Longs, nodes: int,
    laid: Laid,
) -> None:  # fmt: skip
    """Lay the games of each period in rounds: nobody plays twice in a round.

    Every node keeps the order of its games, so whoever visits the games one after the other finds
    the same as in the order given; but neighbours do not wait for each other, which a processor
    turns into time. There are as many rounds as the longest chain has games, each of which needs
    the one before. A game stands as far between the first round and the last as it does in the
    longest chain through it: so the last rounds are about as full as the first. Wins and draws take
    turns at coming first in a round, so that games of a kind stand together.

    `white` says which of the two moved first: 1, 2, or 0 for neither.
    """
    first, second, drawn, mover = laid.first, laid.second, laid.drawn, laid.mover
    weights, rows, swapped = laid.weight, laid.row, laid.swapped
    before, after = np.zeros(nodes, dtype=np.int32), np.zeros(nodes, dtype=np.int32)
    most = np.max(game_start[1:] - game_start[:-1])
    behind, ahead = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    counts = np.zeros(2 * most, dtype=np.int32)
    for period in range(len(game_start) - 1):
        begin, end = game_start[period], game_start[period + 1]
        for game in range(begin, end):
            chain = max(before[one[game]], before[two[game]])
            behind[game - begin] = chain
            before[one[game]] = before[two[game]] = chain + 1
        rounds = 0
        for game in range(end - 1, begin - 1, -1):
            chain = max(after[one[game]], after[two[game]]) + 1
            ahead[game - begin] = chain
            after[one[game]] = after[two[game]] = chain
            rounds = max(rounds, behind[game - begin] + chain)
        # From here on `behind` is the cell: two of them a round, one for each kind.
        for game in range(begin, end):
            here = behind[game - begin]
            # A float of 53 bits is exact here, and divides faster. The next game of a chain is
            # rounds / length >= 1 further on: at least one round.
            middle = (here + 0.5) * rounds / (here + ahead[game - begin])
            number = int(middle)
            number = 2 * number + ((score[game] == 0.5) ^ (number & 1))
            behind[game - begin] = number
            counts[number] += 1
        place = 0
        for number in range(2 * rounds):
            size = counts[number]
            counts[number] = place
            place += size
        for game in range(begin, end):
            number = behind[game - begin]
            place = begin + counts[number]
            counts[number] += 1
            lost = score[game] == 0.0
            first[place] = two[game] if lost else one[game]
            second[place] = one[game] if lost else two[game]
            drawn[place], swapped[place] = score[game] == 0.5, lost
            sign = 1 if white[game] == 1 else (-1 if white[game] == 2 else 0)
            mover[place] = -sign if lost else sign
            rows[place] = row[game]
            if len(weights):
                weights[place] = weight[game]
        counts[: 2 * rounds] = 0


@kernel
def link_nodes(node_player: Ints, last: Ints, previous: Ints, following: Ints) -> None:
    """Write each node's neighbours in its player's life; `last` is -1 for each player."""
    for node in range(len(node_player)):
        before = last[node_player[node]]
        previous[node], following[node] = before, -1
        if before >= 0:
            following[before] = node
        last[node_player[node]] = node
