"""Games, turns, results and players read from whatever the user has: PGN, tables in files, frames.

Keys and duplicates are settled over all games tables at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from milepost.errors import InputError, TableError
from milepost.games.duplicates import find_duplicates
from milepost.games.lost import NO_FILE
from milepost.games.pgn.blocks import Chunk
from milepost.games.pgn.readers import HEADER_BATCH, errors_table, read_chunk, read_headers
from milepost.games.players.resolve import NameCounts, find_players, resolve_players, with_keys
from milepost.games.results.from_games import are_named, results_of_games
from milepost.games.results.from_table import results_of_table
from milepost.games.stream import GameStream, Summary
from milepost.games.turns.replay import BOOK_MOVES, attach_games, turns_of_games
from milepost.io.files import read_table, typed_table
from milepost.io.progress import Report
from milepost.io.sources import Inputs, Source, Sources, find_sources
from milepost.io.work import Frames
from milepost.tables import ERRORS, GAMES, RESULTS, TURNS, Table, as_frame, is_frame

GAMES_COLUMNS = {"white", "black", "result", "moves"}
"""By these a games table is known among others."""

NamedFrame = tuple[str | None, pl.DataFrame]
"""A table and the name of its file; `None` = it never was in one."""


def read_games(
    data: Inputs | Any,
    *,
    aliases: Any = None,
    keep_duplicates: bool = False,
    workers: int = 1,
    progress: Report | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read games into memory, from PGN or games tables.

    Parameters
    ----------
    data
        Files, folders or patterns, one or several (see `milepost.io.sources.find_sources`), or a
        frame.
    aliases
        See `milepost.games.players.resolve.find_players`.
    keep_duplicates
        Report duplicate games, but keep them.
    workers
        Processes to read PGN with. With more than one, the calling script needs the usual
        ``if __name__ == "__main__"``.
    progress
        Called with the bytes of PGN that are dealt with.

    Returns
    -------
    games, errors
        See `milepost.tables.GAMES` and `milepost.tables.ERRORS`.
    """
    found = tables_or_pgn(data)
    if not isinstance(found, Sources):
        games, _, errors = settle_games(found, aliases=aliases, keep_duplicates=keep_duplicates)
        return games.drop("white_name", "black_name"), errors
    options = {"aliases": aliases, "keep_duplicates": keep_duplicates, "workers": workers}
    with GameStream(found, read_chunk, progress=progress, **options) as stream:
        frames = (games.select(GAMES.names) for games in stream.frames())
        return pl.concat([GAMES.empty(), *frames]), stream.all_errors()


def read_turns(
    data: Inputs | Any,
    *,
    book_moves: int = BOOK_MOVES,
    aliases: Any = None,
    keep_duplicates: bool = False,
    workers: int = 1,
    progress: Report | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read turns into memory, from PGN, games tables or turns tables.

    Parameters
    ----------
    data
        Files, folders or patterns, one or several (see `milepost.io.sources.find_sources`), or a
        frame of games or turns. Players of tables keep the keys that they have there.
    book_moves
        Moves a side that are marked as book, for PGN and games tables.
    aliases, keep_duplicates, workers, progress
        For PGN; see `read_games`.

    Returns
    -------
    turns, errors
        See `milepost.tables.TURNS` and `milepost.tables.ERRORS`.

    Raises
    ------
    InputError
        If a table holds neither games nor turns, or a game's moves are not legal.
    """
    found = tables_or_pgn(data)
    if not isinstance(found, Sources):
        frames = [_turns_of_table(name, frame, book_moves) for name, frame in found]
        return pl.concat([TURNS.empty(), *frames]), ERRORS.empty()
    options = {"aliases": aliases, "keep_duplicates": keep_duplicates, "workers": workers}
    with GameStream(found, TurnsReader(book_moves), progress=progress, **options) as stream:
        return pl.concat([TURNS.empty(), *turns_of_stream(stream)]), stream.all_errors()


def read_results(
    data: Inputs | Any,
    *,
    mapping: Mapping[str, str] | None = None,
    keep_names: bool = False,
    aliases: Any = None,
    keep_duplicates: bool = False,
    progress: Report | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read who beat whom into memory: from PGN headers, games tables, or any table.

    Parameters
    ----------
    data
        Files, folders or patterns, one or several (see `milepost.io.sources.find_sources`), or a
        frame.
    mapping
        For tables: which columns hold what; see
        `milepost.games.results.from_table.results_of_table`.
    keep_names
        For tables: leave the players' names as they are, as their keys.
    aliases
        See `milepost.games.players.resolve.find_players`.
    keep_duplicates
        For games: report duplicates, but keep them.
    progress
        Called with the bytes of PGN that are dealt with.

    Returns
    -------
    results, errors
        See `milepost.tables.RESULTS` and `milepost.tables.ERRORS`.
    """
    found = tables_or_pgn(data)
    if not isinstance(found, Sources):
        results, errors, _ = results_of_tables(
            found,
            mapping,
            keep_names=keep_names,
            aliases=aliases,
            keep_duplicates=keep_duplicates,
        )
        return results, errors
    check_headers_options(mapping, keep_names=keep_names)
    options = {"aliases": aliases, "keep_duplicates": keep_duplicates, "progress": progress}
    with GameStream(found, read_headers, batch_games=HEADER_BATCH, **options) as stream:
        frames = results_of_stream(stream, require_moves=False)
        return pl.concat([RESULTS.empty(), *frames]), stream.all_errors()


def check_headers_options(mapping: Mapping[str, str] | None, *, keep_names: bool) -> None:
    """Refuse for PGN what only tables take."""
    if mapping:
        raise InputError("a mapping is for tables; PGN headers need none")
    if keep_names:
        raise InputError("names are kept for tables only; those of PGN headers are always resolved")


def list_players(
    data: Inputs | Any, *, aliases: Any = None, progress: Report | None = None
) -> pl.DataFrame:
    """Return the players table of PGN (headers only) or games tables.

    Parameters
    ----------
    data
        Files, folders or patterns, one or several (see `milepost.io.sources.find_sources`), or a
        frame.
    aliases
        See `milepost.games.players.resolve.find_players`.
    progress
        Called with the bytes of PGN that are dealt with.

    Returns
    -------
    polars.DataFrame
        See `milepost.tables.PLAYERS`.
    """
    found = tables_or_pgn(data)
    if not isinstance(found, Sources):
        return find_players(_concatenated(found), aliases=aliases)
    counts = NameCounts()
    with GameStream(found, read_headers, batch_games=HEADER_BATCH, progress=progress) as stream:
        for games in stream.frames():
            counts.add(games)
    return resolve_players(counts.table(), aliases=aliases)


def tables_or_pgn(data: Inputs | Any) -> list[NamedFrame] | Sources:
    """Return the tables that the data are, or the files if they are PGN; looked for once."""
    if is_frame(data):
        return [(None, as_frame(data))]
    sources = find_sources(data)
    return read_tables(sources) if sources.are_tables else sources


def read_tables(sources: Iterable[Source]) -> list[NamedFrame]:
    """Read tables as they are, with the names of their files."""
    return [(source.name, read_table(source.name)) for source in sources]


@dataclass(frozen=True)
class TurnsReader:
    """Reads a chunk and replays its games."""

    book_moves: int

    def __call__(self, chunk: Chunk) -> Frames:
        """Return the tables of `read_chunk` and `turns`."""
        return read_chunk(chunk, book_moves=self.book_moves)


def turns_of_stream(stream: GameStream) -> Iterator[pl.DataFrame]:
    """Yield the turns of the games that a stream keeps."""
    for piece in stream.pieces():
        rows = piece.kept.arg_true().cast(pl.Int32)
        replayed = piece.frames("turns").filter(pl.col("row").is_in(rows.implode()))
        yield attach_games(replayed, piece.games)


def _turns_of_table(name: str | None, frame: pl.DataFrame, book_moves: int) -> pl.DataFrame:
    columns = set(frame.columns)
    if {"position", "played"} <= columns:
        turns = _conformed(name, frame, TURNS).select(TURNS.names)
        # Tables of other programs know players by one name only.
        return turns.with_columns(
            pl.coalesce("mover_name", "mover").alias("mover_name"),
            pl.coalesce("opponent_name", "opponent").alias("opponent_name"),
        )
    if {"moves", "white", "black"} <= columns:
        return turns_of_games(_conformed(name, frame, GAMES), book_moves=book_moves)
    raise InputError(f"{name or 'the table'} is neither a turns nor a games table")


def results_of_stream(stream: GameStream, *, require_moves: bool) -> Iterator[pl.DataFrame]:
    """Yield the results of the games that a stream keeps; count what is left out."""
    for games in stream.frames():
        stream.summary.findings["no moves"] += int((games["full_moves"] == 0).sum())
        kept = games.filter(pl.col("full_moves") > 0) if require_moves else games
        # Who has no name has no key.
        named = kept["white_key"].is_not_null() & kept["black_key"].is_not_null()
        results = results_of_games(kept, named=named)
        unnamed = len(kept) - int(named.sum())
        stream.summary.findings["no name"] += unnamed
        stream.summary.findings["no result"] += max(0, len(kept) - len(results) - unnamed)
        stream.summary.findings["no date"] += results["time"].null_count()
        stream.summary.kept += len(results) - len(games)
        yield results


def results_of_tables(
    tables: list[NamedFrame],
    mapping: Mapping[str, str] | None = None,
    *,
    keep_names: bool = False,
    aliases: Any = None,
    keep_duplicates: bool = False,
) -> tuple[pl.DataFrame, pl.DataFrame, Summary]:
    """Return the results in tables, with the players' keys; see `read_results`.

    Returns
    -------
    results, errors, summary
    """
    if not mapping and all(set(frame.columns) >= GAMES_COLUMNS for _, frame in tables):
        games, summary, errors = settle_games(
            tables, aliases=aliases, keep_duplicates=keep_duplicates
        )
        results = results_of_games(games)
        unnamed = int((~are_named(games)).sum())
        summary.findings["no name"] = unnamed
        summary.findings["no result"] = max(0, len(games) - len(results) - unnamed)
        return results, errors, summary
    if keep_duplicates:
        raise InputError("duplicates are looked for among games: rows of other tables are all kept")
    if keep_names and aliases is not None:
        raise InputError("names are either kept as they are or joined by aliases, not both")
    pieces, refused = [], [ERRORS.empty()]
    for name, frame in tables:
        try:
            rows, bad = results_of_table(frame, mapping, source=name)
        except TableError as error:
            raise error if name is None else TableError(f"{name}: {error}") from error
        pieces.append(rows)
        problems = bad.select(
            pl.lit("unreadable").alias("kind"),
            pl.lit(name or NO_FILE).alias("source"),
            pl.col("row").cast(pl.Int64).alias("line"),
            "reason",
        )
        refused.append(ERRORS.conform(problems).select(ERRORS.names))
    results = pl.concat(pieces, how="vertical_relaxed")
    summary = Summary(files=len(tables))
    if not keep_names:
        results, summary.joined = _with_player_keys(results, aliases)
    both = pl.concat([results["player_1"], results["player_2"].alias("player_1")])
    summary.players = both.n_unique()
    errors = pl.concat(refused)
    if len(errors) and not len(results):
        first = errors["reason"][0]
        raise InputError(
            f"none of the {len(errors):,} rows can be used; the first: {first} (a mapping says "
            "which columns hold what)"
        )
    summary.games = len(results) + len(errors)
    summary.findings["unreadable"] = len(errors)
    return results, errors, summary


def _with_player_keys(results: pl.DataFrame, aliases: Any) -> tuple[pl.DataFrame, int]:
    """Set keys and names from the names as written; also return how many aliases were used."""
    pairs = results.select(pl.col("player_1").alias("white"), pl.col("player_2").alias("black"))
    players = find_players(pairs, aliases=aliases)
    key_of = dict(players.select("spelling", "key").iter_rows())
    name_of = dict(players.select("spelling", "name").iter_rows())
    # Results that milepost wrote have keys for players, and their names already.
    results = results.with_columns(
        pl.coalesce(f"name_{side}", pl.col(f"player_{side}").replace(name_of)).alias(f"name_{side}")
        for side in (1, 2)
    ).with_columns(pl.col("player_1", "player_2").replace(key_of))
    return results, len(players.filter(pl.col("joined_by") == "alias"))


def settle_games(
    tables: list[NamedFrame], *, aliases: Any = None, keep_duplicates: bool = False
) -> tuple[pl.DataFrame, Summary, pl.DataFrame]:
    """Settle over all games tables who is who and which games are duplicates.

    A selection may hold a game in two sets on purpose: only games of the same group are duplicates.

    Returns
    -------
    games, summary, errors
        The games with `white_name` and `black_name`, the players' names to show.
    """
    games = _concatenated(tables)
    summary = Summary(files=len(tables), games=len(games))
    players = find_players(games, aliases=aliases)
    games = GAMES.conform(with_keys(games, players))
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


def _concatenated(tables: list[NamedFrame]) -> pl.DataFrame:
    frames = [_conformed(name, frame, GAMES) for name, frame in tables]
    return pl.concat(frames, how="diagonal_relaxed")


def _conformed(name: str | None, frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    return table.conform(frame) if name is None else typed_table(frame, table, name)


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
