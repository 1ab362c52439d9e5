"""Which player is meant by what somebody typed: the one finder for all of Milepost."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.players.names import normalise_name, normalise_names

_LISTED = 10
"""So many players are named in a message."""


@dataclass(frozen=True)
class PlayerMatch:
    """The player that was meant."""

    key: str
    """The player's key."""
    name: str
    """The player's name as written."""
    better_known: str = ""
    """Players with more games whose names hold what was typed, in words; empty = there are none."""


class PlayerFinder:
    """Finds players among some by their keys, their names, or parts of them.

    Parameters
    ----------
    players
        A table (polars, pandas, Arrow) with the column `key` and, as far as they are known, `name`
        (as written; by default the key) and `games` (how many; by default none are known). Rows
        with one key are one player: the first name counts, and the games are summed.
    """

    def __init__(self, players: Any):
        frame = players if isinstance(players, pl.DataFrame) else pl.DataFrame(players)
        if "name" not in frame.columns:
            frame = frame.with_columns(pl.col("key").alias("name"))
        if "games" not in frame.columns:
            frame = frame.with_columns(pl.lit(0).alias("games"))
        frame = frame.filter(pl.col("key").is_not_null()).with_columns(
            pl.coalesce("name", "key").alias("name")
        )
        frame = frame.group_by("key").agg(pl.col("name").first(), pl.col("games").sum()).sort("key")
        self._players = frame.with_columns(
            normalise_names(frame["key"]).alias("plain_key"),
            normalise_names(frame["name"]).alias("plain"),
        )

    def find(self, typed: str) -> PlayerMatch:
        """Return the one player that a name, or a part of one, means.

        Case, accents and the order of words make no difference. A whole name wins over parts of
        others.

        Raises
        ------
        InputError
            If nobody is meant, or several are; the message names those who are near.
        """
        typed = typed.strip()
        plain = normalise_name(typed) or typed.lower()
        words = [word for word in plain.replace(",", " ").split() if word]
        for test in (
            pl.col("key") == typed,
            pl.col("name") == typed,
            (pl.col("plain") == plain) | (pl.col("plain_key") == plain),
            _holds(plain),
            pl.all_horizontal(_holds(word) for word in words) if words else pl.lit(False),
        ):
            near = _best_known_first(self._players.filter(test))
            if len(near) == 1:
                return self._match(near.row(0, named=True), plain)
            if len(near):
                raise InputError(f"{typed!r} may be {len(near):,} players: {_listed(near)}")
        raise InputError(f"no player is called {typed!r}{self._near(plain)}")

    def _match(self, row: dict[str, Any], plain: str) -> PlayerMatch:
        """A whole name may be a part of a better-known one: a "fischer" beside Fischer, Robert."""
        others = self._players.filter(_holds(plain), pl.col("games") > row["games"])
        better = _listed(_best_known_first(others)) if len(others) else ""
        return PlayerMatch(row["key"], row["name"], better)

    def _near(self, plain: str) -> str:
        same_letter = self._players.filter(pl.col("plain").str.starts_with(plain[:1]))
        names = dict(zip(same_letter["plain"], same_letter["name"], strict=True))
        surnames = {name.split(",")[0]: whole for name, whole in names.items() if "," in name}
        near = [names[name] for name in difflib.get_close_matches(plain, list(names), n=3)]
        near += [surnames[name] for name in difflib.get_close_matches(plain, list(surnames), n=3)]
        known = list(dict.fromkeys(near))[:3]
        return f"; did you mean {' or '.join(known)}?" if known else ""


def find_player(players: Any, typed: str) -> PlayerMatch:
    """Return the player of a table that a name, or a part of one, means: see `PlayerFinder`.

    >>> find_player({"key": ["szelhegyfi, ors"], "name": ["Szélhegyfi, Örs"]}, "Örs").key
    'szelhegyfi, ors'
    """
    return PlayerFinder(players).find(typed)


def _holds(part: str) -> pl.Expr:
    in_name = pl.col("plain").str.contains(part, literal=True)
    return in_name | pl.col("plain_key").str.contains(part, literal=True)


def _best_known_first(players: pl.DataFrame) -> pl.DataFrame:
    return players.sort("games", "name", descending=[True, False])


def _listed(players: pl.DataFrame) -> str:
    rows = players.head(_LISTED).select("name", "games").iter_rows()
    more = f" and {len(players) - _LISTED:,} more" if len(players) > _LISTED else ""
    return "; ".join(f"{name} ({games:,} games)" if games else name for name, games in rows) + more
