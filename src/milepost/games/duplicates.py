"""The same game recorded twice: found over any number of games, the first one kept.

Two records are one game if

- ``identical``: all of the seven main tags and the moves are the same; or
- ``moves``: they have the same moves and result, and the same year or the same players; games of
  fewer than 25 moves a side (many short draws are alike) need both; or
- ``record``: the same players, full date, round, result and number of moves.

The same players are those with the same surnames and first initials, since sources spell names
differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from milepost.games.players.names import name_signatures
from milepost.games.players.spellings import Spellings
from milepost.tables import GAMES

_LONG_GAME_PLIES = 50
_NONE = -1


@dataclass
class SeenDigests:
    """Which digests came before and where: sixteen bytes for each, whatever their number.

    A few sorted arrays, merged as they grow; a dictionary of numbers needs several times as much.
    """

    _runs: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = field(default_factory=list)

    def first_places(
        self, digests: NDArray[np.uint64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return where each digest was first seen, -1 if never, and remember the new ones."""
        order = np.argsort(digests, kind="stable")
        ordered = digests[order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
        unique = ordered[begins]
        # Within this batch the earliest one is the first.
        firsts = earliest = places[order[begins]]
        fresh = np.ones(len(unique), dtype=np.bool_)
        for known, where in self._runs:
            index = np.minimum(np.searchsorted(known, unique), len(known) - 1)
            hit = (known[index] == unique) & fresh
            firsts = np.where(hit, where[index], firsts)
            fresh &= ~hit
        found = np.empty(len(digests), dtype=np.int64)
        found[order] = np.repeat(firsts, np.diff(np.append(begins, len(ordered))))
        found[found == places] = _NONE
        if fresh.any():
            self._runs.append((unique[fresh], earliest[fresh]))
            while len(self._runs) > 1 and len(self._runs[-1][0]) * 2 > len(self._runs[-2][0]):
                self._merge_last()
        return found

    def _merge_last(self) -> None:
        (a, where_a), (b, where_b) = self._runs.pop(), self._runs.pop()
        digests, places = np.concatenate((a, b)), np.concatenate((where_a, where_b))
        order = np.argsort(digests, kind="stable")
        self._runs.append((digests[order], places[order]))


@dataclass(frozen=True)
class Duplicate:
    """A game that was recorded before."""

    place: int
    """Where it stands in the order of all games, from 0."""
    first: int
    """Where the game that is kept stands."""
    rule: str
    """identical, moves or record."""


class DuplicateFinder:
    """Finds duplicates over a stream of frames of games, in bounded memory a game."""

    def __init__(self) -> None:
        self._seen: defaultdict[int, SeenDigests] = defaultdict(SeenDigests)
        self._kept_for: dict[int, int] = {}
        self._known = pl.DataFrame(schema={"name": pl.String, "signed": pl.UInt64})

    def find(
        self, games: pl.DataFrame, first_place: int, spellings: Spellings | None = None
    ) -> Iterator[Duplicate]:
        """Yield the games of this frame that came before, in this frame or an earlier one.

        Parameters
        ----------
        games
            Consecutive games; the columns moves and plies may be missing (headers only).
        first_place
            The place of the first of them in the order of all games.
        spellings
            The players' names, if they are known already.
        """
        spellings = Spellings.of_games(games) if spellings is None else spellings
        signatures = self._signatures_of(spellings.names["spelling"])
        signed = games.with_columns(
            signatures.gather(rows).alias(f"_{side}") for side, rows in spellings.sides.items()
        )
        found: dict[int, tuple[int, str]] = {}
        rules = [*self._rules(games.columns)]
        told = signed.select(
            *(rule[1].fill_null(False).alias(f"told {i}") for i, rule in enumerate(rules)),
            *(pl.struct(rule[2]).hash().alias(f"hash {i}") for i, rule in enumerate(rules)),
        )
        for number, (rule, _, _) in enumerate(rules):
            is_told = told[f"told {number}"].to_numpy()
            places = np.flatnonzero(is_told) + first_place
            digests = told[f"hash {number}"].to_numpy()[is_told]
            firsts = self._seen[number].first_places(digests, places)
            for place, first in zip(places[firsts >= 0], firsts[firsts >= 0], strict=True):
                found.setdefault(int(place), (int(first), rule))
        for place in sorted(found):
            first, rule = found[place]
            # The record that it repeats may itself repeat an earlier one.
            self._kept_for[place] = self._kept_for.get(first, first)
            yield Duplicate(place, self._kept_for[place], rule)

    def _signatures_of(self, names: pl.Series) -> pl.Series:
        """Digests of what sources agree on of the names; each name is looked at once."""
        given = names.alias("name").to_frame()
        new = given.join(self._known, on="name", how="anti").drop_nulls().unique()["name"]
        if len(new):
            signed = pl.DataFrame({"name": new, "signed": name_signatures(new)})
            # A null's digest would be that of a name.
            digest = pl.when(pl.col("signed").is_not_null()).then(pl.col("signed").hash())
            self._known = pl.concat([self._known, signed.with_columns(digest.alias("signed"))])
        return given.join(self._known, on="name", how="left", maintain_order="left")["signed"]

    @staticmethod
    def _rules(columns: list[str]) -> Iterator[tuple[str, pl.Expr, list[str]]]:
        named = pl.col("_white").is_not_null() & pl.col("_black").is_not_null()
        players = ["_white", "_black"]
        if "moves" in columns:
            yield "identical", pl.repeat(True, pl.len()), ["game_id"]
            long = pl.col("plies") >= _LONG_GAME_PLIES
            dated = pl.col("year").is_not_null()
            played = ["moves", "fen", "result"]
            yield "moves", long & named, [*played, *players]
            yield "moves", long & dated, [*played, "year"]
            yield "moves", (pl.col("plies") > 0) & named & dated, [*played, *players, "year"]
        full_date = pl.col("date").str.contains("?", literal=True).not_()
        recorded = named & full_date & pl.col("round").is_not_null() & (pl.col("result") != "*")
        record = [*players, "date", "round", "result", "full_moves"]
        yield "record", recorded & (pl.col("full_moves") > 0), record


def find_duplicates(games: Any) -> pl.DataFrame:
    """Return the duplicates in a games table.

    Returns
    -------
    polars.DataFrame
        The columns `row` and `first_row` (from 0) and `rule`.
    """
    frame = GAMES.conform(games)
    found = DuplicateFinder().find(frame, 0)
    return pl.DataFrame(
        [(duplicate.place, duplicate.first, duplicate.rule) for duplicate in found],
        schema={"row": pl.Int64, "first_row": pl.Int64, "rule": pl.String},
        orient="row",
    )
