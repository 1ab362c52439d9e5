"""Which player is meant by what somebody typed: the one finder for all of Milepost."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.players.lookalikes import may_be_one
from milepost.games.players.names import normalise_name, normalise_names, sound, sounds

_LISTED = 10
"""So many players are named in a message."""
_OTHERS = 3
"""So many other matches are named where one was taken."""
_UNLIKELY = 50
"""Other matches with less than one of so many games are not named."""
DOMINANT = 3
"""One of several players is meant if the next best known has at most one of so many games."""
_LITTLE_KNOWN = 30
"""Players of fewer games than this are little known."""
_ALIKE = 0.6
"""How alike two spellings are at least where one is suggested for the other (`difflib`)."""
_LOOKED_AT = 4000
"""So many names are compared letter by letter."""


@dataclass(frozen=True)
class PlayerMatch:
    """The player that was meant."""

    key: str
    """The player's key."""
    name: str
    """The player's name as written."""
    better_known: str = ""
    """Players with more games whose names hold what was typed, in words; empty = there are none."""
    others: str = ""
    """Players with fewer games who might have been meant too, in words; empty = there are none."""
    other_spellings: bool = False
    """Whether one of the others may be the same person, spelled in another way."""


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

    @cached_property
    def _sounding(self) -> pl.DataFrame:
        """The players with the sound of their names: only some questions need it."""
        return self._players.with_columns(sounds(self._players["plain"]).alias("sound"))

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

    def find_best_known(
        self, typed: str, games: Mapping[str, int] | None = None,
        strength: Mapping[str, float] | None = None,
    ) -> PlayerMatch:  # fmt: skip
        """Return the player most probably meant: of several, the best known by far.

        Who has the name as surname, or one that sounds alike, goes before those with the words
        anywhere, these before those whose names sound so, and they before those with a part of a
        word. Among equals the one is taken who has `DOMINANT` times the games of the next, or more
        games than anybody and more strength too; a whole name wins where there is no such player.

        Parameters
        ----------
        typed
            A name, or a part of one. With ``=`` in front it is a key, and nobody else is meant.
        games
            How many games of each key count, as those near some time; `None` = all.
        strength
            How strong each key is; `None` = not known.

        Raises
        ------
        InputError
            If nobody is meant, or several are; the message names those who are near.
        """
        typed = typed.strip()
        if typed.startswith("="):
            return self._exact(typed[1:].strip())
        plain = normalise_name(typed) or typed.lower()
        words = [word for word in plain.replace(",", " ").split() if word]
        players = self._sounding
        if games is not None:
            counted = pl.DataFrame(
                {"key": list(games), "near": list(games.values())},
                schema={"key": pl.String, "near": pl.Int64},
            )
            players = players.join(counted, on="key", how="left", maintain_order="left")
            players = players.with_columns(games=pl.col("near").fill_null(0)).drop("near")
        whole = (pl.col("plain") == plain) | (pl.col("plain_key") == plain)
        begins = pl.any_horizontal(
            pl.col(name).str.starts_with(f"{text}{end}")
            for name, text in (("plain", plain), ("plain_key", plain), ("sound", sound(plain)))
            for end in (",", " ")
        )
        if ", " in plain:  # the given name may be begun only
            begins = begins | pl.col("plain").str.starts_with(plain)
        sounds_so = pl.col("sound") == sound(plain)
        words_of = [
            pl.all_horizontal([test(word) for word in words] or [pl.lit(False)])
            for test in (_has_word, _sounds_like, _holds)
        ]
        for test in (
            whole | begins | sounds_so, words_of[0], words_of[1], _holds(plain) | words_of[2],
        ):  # fmt: skip
            near = _best_known_first(players.filter(test))
            if games is not None and len(near.filter(pl.col("games") > 0)):
                near = near.filter(pl.col("games") > 0)
            if near.is_empty():
                continue
            best = near.row(0, named=True)
            # Other spellings of one person are no rivals.
            one_person = [may_be_one(best["plain"], plain_name) for plain_name in near["plain"]]
            rivals = near.filter(~pl.Series(one_person))
            if (
                rivals.is_empty()
                or best["games"] >= DOMINANT * max(rivals["games"][0], 1)
                or _is_strongest(best["key"], best["games"], rivals, strength or {})
            ):
                return self._taken(best["key"], best["games"], near[1:])
            exact = near.filter(whole & (pl.col("games") * DOMINANT >= best["games"]))
            if len(exact) == 1:
                key, number = exact.select("key", "games").row(0)
                return self._taken(key, number, near.filter(pl.col("key") != key))
            raise InputError(
                f"{typed!r} may be {len(near):,} players: {_listed(near)}. Add a given name"
            )
        raise InputError(f"no player is called {typed!r}{self._near(plain)}")

    def search(self, typed: str) -> pl.DataFrame:
        """Return all players whose names hold the words typed, or come near them.

        Where those are little known, much better known players of nearly that name are added: who
        types "fisher" may mean Fischer.

        Returns
        -------
        polars.DataFrame
            key, name, games; the best known first.
        """
        plain = normalise_name(typed.strip()) or typed.strip().lower()
        words = [word for word in plain.replace(",", " ").split() if word]
        test = pl.all_horizontal(_holds(word) for word in words) if words else pl.lit(False)
        near = self._players.filter(test)
        best = 0 if near.is_empty() else int(near["games"].max())  # type: ignore[arg-type]
        if best < _LITTLE_KNOWN:
            alike = pl.col("key").is_in(self._near_keys(plain, 10))
            others = self._players.filter(alike & (pl.col("games") >= _UNLIKELY * best))
            near = pl.concat([near, others]).unique("key", keep="first", maintain_order=True)
        return _best_known_first(near).select("key", "name", "games")

    def _exact(self, key: str) -> PlayerMatch:
        row = self._players.filter(pl.col("key") == key)
        if row.is_empty():
            raise InputError(f"no player has the key {key!r}")
        return PlayerMatch(key, row["name"][0])

    def _taken(self, key: str, games: int, others: pl.DataFrame) -> PlayerMatch:
        name, plain = self._players.filter(pl.col("key") == key).select("name", "plain").row(0)
        told = others.filter(pl.col("games") * _UNLIKELY >= games)
        same = any(may_be_one(plain, other) for other in told["plain"].head(_OTHERS))
        listed = _listed(told, _OTHERS) if len(told) else ""
        return PlayerMatch(key, name, others=listed, other_spellings=same)

    def _match(self, row: dict[str, Any], plain: str) -> PlayerMatch:
        """A whole name may be a part of a better-known one: a "fischer" beside Fischer, Robert."""
        others = self._players.filter(_holds(plain), pl.col("games") > row["games"])
        better = _listed(_best_known_first(others)) if len(others) else ""
        return PlayerMatch(row["key"], row["name"], better)

    def _near(self, plain: str) -> str:
        keys = self._near_keys(plain, 3)
        near = self._players.filter(pl.col("key").is_in(keys)).sort("key")
        names = dict(zip(near["key"], near["name"], strict=True))
        known = list(dict.fromkeys(names[key] for key in keys))
        return f"; did you mean {' or '.join(known)}?" if known else ""

    def _near_keys(self, plain: str, most: int) -> list[str]:
        """Players whose name or surname is spelled much like what was typed, the nearest first."""
        surname = pl.col("plain").str.extract("^([^,]*),").fill_null(pl.col("plain"))
        around = self._players.with_columns(surname=surname)
        # Names of a very different length cannot be near; of a crowd the best known stand for all.
        reach = pl.any_horizontal(
            (pl.col(name).str.len_chars().cast(pl.Int64) - len(plain)).abs() <= 3
            for name in ("plain", "surname")
        )
        alike = pl.col("plain").str.starts_with(plain[:1]) | pl.col("surname").str.ends_with(
            plain[-3:]
        )
        around = _best_known_first(around.filter(reach & alike)).head(_LOOKED_AT)
        best: dict[str, tuple[float, int, str]] = {}
        for row in around.iter_rows(named=True):
            near = max(
                difflib.SequenceMatcher(None, plain, row[name]).ratio()
                for name in ("plain", "surname")
            )
            if near >= _ALIKE and (near, row["games"]) > best.get(row["surname"], (0.0, 0, ""))[:2]:
                best[row["surname"]] = (near, row["games"], row["key"])
        nearest = sorted(best.values(), key=lambda found: (-found[0], -found[1], found[2]))
        return [key for _, _, key in nearest[:most]]


def find_player(players: Any, typed: str) -> PlayerMatch:
    """Return the player of a table that a name, or a part of one, means: see `PlayerFinder`.

    >>> find_player({"key": ["szelhegyfi, ors"], "name": ["Szélhegyfi, Örs"]}, "Örs").key
    'szelhegyfi, ors'
    """
    return PlayerFinder(players).find(typed)


def _holds(part: str) -> pl.Expr:
    in_name = pl.col("plain").str.contains(part, literal=True)
    return in_name | pl.col("plain_key").str.contains(part, literal=True)


def _sounds_like(word: str) -> pl.Expr:
    pattern = rf"(?:^|[ ,]){re.escape(sound(word))}(?:$|[ ,])"
    return pl.col("sound").str.contains(pattern)


def _is_strongest(
    key: str, games: int, rivals: pl.DataFrame, strength: Mapping[str, float]
) -> bool:
    """Whether a player has more games than any rival, and is stronger than all of them too."""
    if key not in strength or games == rivals["games"][0]:
        return False
    return all(strength[key] > strength.get(rival, -math.inf) for rival in rivals["key"])


def _has_word(word: str) -> pl.Expr:
    pattern = rf"(?:^|[ ,]){re.escape(word)}(?:$|[ ,])"
    return pl.col("plain").str.contains(pattern) | pl.col("plain_key").str.contains(pattern)


def _best_known_first(players: pl.DataFrame) -> pl.DataFrame:
    return players.sort("games", "name", descending=[True, False])


def _listed(players: pl.DataFrame, most: int = _LISTED) -> str:
    rows = players.head(most).select("name", "games").iter_rows()
    more = f" and {len(players) - most:,} more" if len(players) > most else ""
    return "; ".join(f"{name}{_games(games)}" for name, games in rows) + more


def _games(number: int) -> str:
    return f" ({number:,} game{'' if number == 1 else 's'})" if number else ""
