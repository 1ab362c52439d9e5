"""Who is who: spellings joined into players on evidence, and the players of any input.

Two spellings are one player if they are the same after `normalise_name`, if they stand beside the
same FIDE id, or if the user's alias file says so. Spellings beside different FIDE ids are different
players, however alike, unless the alias file joins them. Everything else is only listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from milepost.errors import TableError
from milepost.games.players.names import normalise_name, normalise_names
from milepost.games.players.spellings import Spellings
from milepost.io.files import read_table
from milepost.tables import PLAYERS, as_frame

NAME_COLUMNS = ("spelling", "fide_id", "games", "first_year", "last_year")


class NameCounts:
    """Counts spellings over a stream of games, in memory that grows with the names only."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, games: pl.DataFrame, spellings: Spellings | None = None) -> None:
        """Count the names of a frame with white, black, their FIDE ids, and year."""
        spellings = Spellings.of_games(games) if spellings is None else spellings
        for rows in spellings.sides.values():
            counted = (
                pl.DataFrame({"row": rows, "year": games["year"]})
                .group_by("row")
                .agg(
                    pl.len().cast(pl.Int64).alias("games"),
                    pl.col("year").min().alias("first_year"),
                    pl.col("year").max().alias("last_year"),
                )
            )
            part = spellings.names[counted["row"]].hstack(counted.drop("row"))
            self._parts.append(part)
            self._rows += len(part)
        if self._rows > 200_000:
            self._parts = [self.table()]
            # Twice the distinct names may gather before they are counted together again.
            self._rows = max(0, 200_000 - len(self._parts[0]))

    def table(self) -> pl.DataFrame:
        """Return one row for each spelling and id, in alphabetical order."""
        if not self._parts:
            return pl.DataFrame(schema={name: PLAYERS.dtypes[name] for name in NAME_COLUMNS})
        return (
            pl.concat(self._parts)
            .group_by("spelling", "fide_id")
            .agg(pl.col("games").sum(), pl.col("first_year").min(), pl.col("last_year").max())
            .sort("spelling", "fide_id", nulls_last=True)
        )


def find_players(games: Any, *, aliases: Any = None) -> pl.DataFrame:
    """Return the players table of a games table.

    Parameters
    ----------
    games
        A games table (polars, pandas, Arrow); the columns white and black are enough.
    aliases
        A table with the columns `spelling` and `name`, or its file: each spelling is that name's
        player.

    Returns
    -------
    polars.DataFrame
        See `milepost.tables.PLAYERS`.
    """
    frame = as_frame(games)
    missing = {"white", "black"} - set(frame.columns)
    if missing:
        raise TableError(f"players need the columns {', '.join(sorted(missing))}")
    wanted = {"white_fide_id": pl.Int64, "black_fide_id": pl.Int64, "year": pl.Int32}
    frame = frame.with_columns(
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in wanted.items()
        if name not in frame.columns
    )
    counts = NameCounts()
    counts.add(frame)
    return resolve_players(counts.table(), aliases=aliases)


def people(players: pl.DataFrame) -> pl.DataFrame:
    """Return one row a player of a players table, those with most games first.

    Returns
    -------
    polars.DataFrame
        `name`, `spellings`, `fide_ids`, `games`, `first_year`, `last_year`, `joined_by`, `key`.
    """

    def listed(column: str, separator: str) -> pl.Expr:
        values = pl.col(column).drop_nulls().unique().sort().cast(pl.String)
        return values.str.join(separator)

    return (
        players.group_by("key")
        .agg(
            pl.col("name").first(),
            listed("spelling", " | ").alias("spellings"),
            listed("fide_id", " ").alias("fide_ids"),
            pl.col("games").sum(),
            pl.col("first_year").min(),
            pl.col("last_year").max(),
            listed("joined_by", ", "),
        )
        .sort("games", "key", descending=[True, False])
        .select(
            "name", "spellings", "fide_ids", "games", "first_year", "last_year", "joined_by", "key"
        )
    )


def resolve_players(names: pl.DataFrame, *, aliases: Any = None) -> pl.DataFrame:
    """Join spellings into players; see the module's text for the evidence that counts.

    Parameters
    ----------
    names
        One row for each spelling and FIDE id, as `NameCounts.table` returns them.
    aliases
        As in `find_players`.
    """
    alias_of = _aliases(aliases)
    named = names.with_columns(normalise_names(names["spelling"]).alias("norm"))
    named = named.filter(pl.col("norm").is_not_null()).with_columns(
        pl.col("norm").is_in(list(alias_of)).alias("aliased")
    )
    if alias_of:
        named = named.with_columns(pl.col("norm").replace(alias_of))
    # Nearly all names stand alone: one spelling, and no other one beside the same id.
    alone = (pl.len().over("norm") == 1) & ~pl.col("aliased")
    alone &= pl.col("fide_id").is_null() | (pl.len().over("fide_id") == 1)
    named = named.with_columns(alone.alias("alone"))
    simple = named.filter("alone").with_columns(
        pl.col("norm").alias("key"),
        pl.col("spelling").alias("name"),
        pl.lit("spelling").alias("joined_by"),
    )
    joined = _join_rows(named.filter(~pl.col("alone")).to_dicts())
    frame = pl.concat([PLAYERS.conform(simple).select(PLAYERS.names), joined])
    return frame.sort("key", "games", "spelling", "fide_id", descending=[False, True, False, False])


def _join_rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Join the spellings that share a name or an id with others."""
    # The ids beside a name; one that has none of its own takes those of its aliases, so that an
    # alias never parts a spelling from others beside the same id.
    ids_of: dict[bool, defaultdict[str, set[int]]] = {
        aliased: defaultdict(set) for aliased in (False, True)
    }
    for row in rows:
        if row["fide_id"] is not None:
            ids_of[row["aliased"]][row["norm"]].add(row["fide_id"])
    groups: defaultdict[tuple[str, Any], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        own_ids = ids_of[False][row["norm"]]
        ids = own_ids or ids_of[True][row["norm"]]
        fide_id = row["fide_id"]
        if fide_id is None or (row["aliased"] and fide_id not in own_ids):
            fide_id = next(iter(ids)) if len(ids) == 1 else None
        groups[("name", row["norm"]) if fide_id is None else ("id", fide_id)].append(row)

    leaders = {group: _leading(members) for group, members in groups.items()}
    taken: defaultdict[str, int] = defaultdict(int)
    for leader in leaders.values():
        taken[leader["norm"]] += 1
    resolved = []
    for group, members in groups.items():
        leader = leaders[group]
        shared = taken[leader["norm"]] > 1 and group[0] == "id"
        key = f"{leader['norm']} #{group[1]}" if shared else leader["norm"]
        for row in members:
            by = "alias" if row["aliased"] else "spelling"
            if by == "spelling" and row["norm"] != leader["norm"]:
                by = "fide id"
            resolved.append(
                {"key": key, "name": leader["spelling"], "joined_by": by}
                | {name: row[name] for name in NAME_COLUMNS}
            )
    return pl.DataFrame(resolved, schema=PLAYERS.dtypes) if resolved else PLAYERS.empty()


def with_keys(
    games: pl.DataFrame, players: pl.DataFrame, spellings: Spellings | None = None
) -> pl.DataFrame:
    """Set keys and names to show (white_key, white_name …) of games from a players table."""
    spellings = Spellings.of_games(games) if spellings is None else spellings
    found = spellings.names.join(
        players.select("spelling", "fide_id", "key", "name"),
        on=["spelling", "fide_id"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return games.with_columns(
        found[name].gather(rows).alias(f"{side}_{name}")
        for side, rows in spellings.sides.items()
        for name in ("key", "name")
    )


def with_names(games: pl.DataFrame) -> pl.DataFrame:
    """Set white_name and black_name, the players' names to show, of games that have keys.

    A name is the spelling that most of these games have for the key; see `_leading`.
    """
    sides = [
        games.select(pl.col(f"{side}_key").alias("key"), pl.col(side).alias("spelling"))
        for side in ("white", "black")
    ]
    length = pl.col("spelling").str.len_chars()
    leading = (
        pl.concat(sides)
        .drop_nulls()
        .group_by("key", "spelling")
        .agg(pl.len().alias("games"))
        .sort("key", "games", length, "spelling", descending=[False, True, True, False])
        .unique("key", keep="first")
    )
    names = dict(leading.select("key", "spelling").iter_rows())
    return games.with_columns(
        pl.col(f"{side}_key").replace_strict(names, default=None, return_dtype=pl.String)
        .alias(f"{side}_name")
        for side in ("white", "black")
    )  # fmt: skip


def _leading(members: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The row whose spelling names the player: most games, then longest, then alphabet."""
    by_spelling: dict[str, dict[str, Any]] = {}
    for row in members:
        seen = by_spelling.get(row["spelling"])
        games = row["games"] + (seen["games"] if seen else 0)
        by_spelling[row["spelling"]] = {**row, "games": games}
    # An aliased spelling never names the player: the user gave another name for it.
    return min(
        by_spelling.values(),
        key=lambda row: (row["aliased"], -row["games"], -len(row["spelling"]), row["spelling"]),
    )


def _aliases(aliases: Any) -> dict[str, str]:
    if aliases is None:
        return {}
    frame = read_table(aliases) if isinstance(aliases, str | Path) else as_frame(aliases)
    if not {"spelling", "name"} <= set(frame.columns):
        raise TableError(
            f"an alias table needs the columns spelling and name; found {', '.join(frame.columns)}"
        )
    result: dict[str, str] = {}
    for spelling, name in frame.select("spelling", "name").iter_rows():
        own, target = normalise_name(spelling), normalise_name(name)
        if own is None or target is None:
            raise TableError(f"the alias {spelling!r} = {name!r} names nobody")
        if result.get(own, target) != target:
            raise TableError(f"the alias file gives {spelling!r} two names")
        if own != target:
            result[own] = target
    # A chain of aliases ends at its last name.
    for own in list(result):
        seen = {own}
        while result[own] in result:
            if result[own] in seen:
                raise TableError(f"the aliases of {own!r} go round in a circle")
            seen.add(result[own])
            result[own] = result[result[own]]
    return result
