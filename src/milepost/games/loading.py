"""Games tables read back: several at once, with keys and duplicates settled over all of them."""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.files import read_table
from milepost.games.duplicates import find_duplicates
from milepost.games.players import find_players, with_keys
from milepost.games.reading import errors_table
from milepost.games.sources import Source
from milepost.games.stream import Summary
from milepost.tables import GAMES


def are_tables(sources: list[Source]) -> bool:
    """Whether the inputs are tables; PGN and tables at once are refused."""
    tables = [source.is_table for source in sources]
    if any(tables) and not all(tables):
        raise InputError("give either PGN or tables, not both at once")
    return all(tables)


def table_inputs(sources: list[Source]) -> list[dict[str, Any]]:
    """Return name, size and digest of each file, for the provenance."""
    inputs: list[dict[str, Any]] = []
    for source in sources:
        if source.path is None:
            inputs.append({"name": source.name})
            continue
        with source.path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        inputs.append({"name": source.name, "bytes": source.size, "sha256": digest})
    return inputs


def load_games(
    sources: list[Source], *, aliases: Any = None, keep_duplicates: bool = False
) -> tuple[pl.DataFrame, Summary, pl.DataFrame]:
    """Read games tables and settle who is who over all of them.

    A selection may hold a game in two sets on purpose: only games of the same group are duplicates.

    Returns
    -------
    games, summary, errors
    """
    games = pl.concat([read_table(each.name, GAMES) for each in sources], how="diagonal_relaxed")
    summary = Summary(files=len(sources), games=len(games))
    players = find_players(games, aliases=aliases)
    games = with_keys(games, players)
    games = GAMES.conform(games)
    summary.players = players["key"].n_unique()
    dropped = _duplicates_by_group(games)
    summary.findings["duplicate"] = len(dropped)
    what = "kept" if keep_duplicates else "left out"
    errors = [
        {name: games[name][row] for name in ("source", "line", "white", "black", "event", "date")}
        | {
            "kind": "duplicate",
            "reason": f"{what}: same game ({rule}) as {games['source'][first]} "
            f"line {games['line'][first]}",
            "plies_kept": games["plies"][row],
        }
        for row, first, rule in dropped.iter_rows()
    ]
    if len(dropped) and not keep_duplicates:
        rows = pl.Series(range(len(games)), dtype=pl.Int64)
        games = games.filter(~rows.is_in(dropped["row"].implode()))
    summary.kept = len(games)
    return games, summary, errors_table(errors)


def _duplicates_by_group(games: pl.DataFrame) -> pl.DataFrame:
    """The duplicates of each group by itself, by their rows in the whole table."""
    if "group" not in games.columns:
        return find_duplicates(games)
    numbered = games.with_row_index("_row")
    pieces = []
    for part in numbered.partition_by("group", maintain_order=True):
        rows = part["_row"].cast(pl.Int64)
        found = find_duplicates(part.drop("_row"))
        pieces.append(
            found.with_columns(
                rows.gather(found["row"]).alias("row"),
                rows.gather(found["first_row"]).alias("first_row"),
            )
        )
    return pl.concat(pieces or [find_duplicates(games)]).sort("row")
