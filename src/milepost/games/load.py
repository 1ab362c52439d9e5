"""Games and turns read back from whatever the user has: PGN, games tables, turns tables.

Keys and duplicates are settled over all games tables at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milepost.errors import InputError
from milepost.games.duplicates import find_duplicates
from milepost.games.pgn.blocks import Chunk
from milepost.games.pgn.readers import HEADER_BATCH, errors_table, read_chunk, read_headers
from milepost.games.players.resolve import NameCounts, find_players, resolve_players, with_keys
from milepost.games.results.from_games import are_named, results_of_games
from milepost.games.results.from_table import results_of_table
from milepost.games.stream import GameStream, Summary
from milepost.games.turns.replay import BOOK_MOVES, attach_games, turns_of_games
from milepost.io.files import read_table
from milepost.io.progress import Report
from milepost.io.sources import Source, are_tables, find_sources
from milepost.io.work import Frames
from milepost.tables import ERRORS, GAMES, RESULTS, TURNS

Inputs = Iterable[str | Path]


def read_games(inputs: Inputs, **options: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read PGN into memory.

    Parameters
    ----------
    inputs
        Files, folders, patterns; see `milepost.io.sources.find_sources`.
    **options
        As for `milepost.games.stream.GameStream`. With more than one worker, the calling script
        needs the usual ``if __name__ == "__main__"``.

    Returns
    -------
    games, errors
        See `milepost.tables.GAMES` and `milepost.tables.ERRORS`.
    """
    with GameStream(inputs, read_chunk, **options) as stream:
        return pl.concat([GAMES.empty(), *map(_in_order, stream.frames())]), stream.all_errors()


def read_results(
    inputs: Inputs, *, mapping: Mapping[str, str] | None = None, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read results into memory from PGN headers or tables; see `write_results`."""
    sources = find_sources(inputs)
    if are_tables(sources):
        results, errors, _ = results_of_tables(sources, mapping, options)
        return results, errors
    options = {"batch_games": HEADER_BATCH, **options}
    with GameStream(inputs, read_headers, **options) as stream:
        frames = results_of_stream(stream, require_moves=False)
        return pl.concat([RESULTS.empty(), *frames]), stream.all_errors()


def read_turns(
    inputs: Inputs, *, book_moves: int = BOOK_MOVES, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the turns of PGN games into memory; see `read_games`."""
    with GameStream(inputs, TurnsReader(book_moves), **options) as stream:
        return pl.concat([TURNS.empty(), *turns_of_stream(stream)]), stream.all_errors()


@dataclass(frozen=True)
class TurnsReader:
    """Reads a chunk and replays its games."""

    book_moves: int

    def __call__(self, chunk: Chunk) -> Frames:
        """Return the tables of `read_chunk` and `turns`."""
        return read_chunk(chunk, book_moves=self.book_moves)


def turns_of_stream(stream: GameStream) -> Iterator[pl.DataFrame]:
    for piece in stream.pieces():
        rows = piece.kept.arg_true().cast(pl.Int32)
        replayed = piece.frames("turns").filter(pl.col("row").is_in(rows.implode()))
        yield attach_games(replayed, piece.games)


def results_of_stream(stream: GameStream, *, require_moves: bool) -> Iterator[pl.DataFrame]:
    for games in stream.frames():
        stream.summary.findings["no moves"] += int((games["full_moves"] == 0).sum())
        kept = games.filter(pl.col("full_moves") > 0) if require_moves else games
        results = results_of_games(kept)
        unnamed = int((~are_named(kept)).sum())
        stream.summary.findings["no name"] += unnamed
        stream.summary.findings["no result"] += max(0, len(kept) - len(results) - unnamed)
        stream.summary.findings["no date"] += results["time"].null_count()
        stream.summary.kept += len(results) - len(games)
        yield results


def results_of_tables(
    sources: list[Source], mapping: Mapping[str, str] | None, options: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame, Summary]:
    """Read results from tables, with the players' keys."""
    games_columns = {"white", "black", "result", "moves"}
    frames = [(source.name, read_table(source.name)) for source in sources]
    if not mapping and all(games_columns <= set(frame.columns) for _, frame in frames):
        games, summary, errors = load_games(
            sources,
            aliases=options.get("aliases"),
            keep_duplicates=options.get("keep_duplicates", False),
        )
        results = results_of_games(games)
        unnamed = int((~are_named(games)).sum())
        summary.findings["no name"] = unnamed
        summary.findings["no result"] = max(0, len(games) - len(results) - unnamed)
        return results, errors, summary
    if options.get("keep_duplicates"):
        raise InputError("--keep-duplicates is for games: rows of other tables are all kept")
    if options.get("keep_names") and options.get("aliases") is not None:
        raise InputError("--keep-names leaves the names as they are: give no --aliases with it")
    pieces, refused = [], [ERRORS.empty()]
    for name, frame in frames:
        found, bad = results_of_table(frame, mapping, source=name)
        pieces.append(found)
        errors = bad.select(
            pl.lit("unreadable").alias("kind"),
            pl.lit(name).alias("source"),
            pl.col("row").cast(pl.Int64).alias("line"),
            "reason",
        )
        refused.append(ERRORS.conform(errors).select(ERRORS.names))
    results = pl.concat(pieces, how="vertical_relaxed").with_columns(
        pl.coalesce("name_1", "player_1").alias("name_1"),
        pl.coalesce("name_2", "player_2").alias("name_2"),
    )
    summary = Summary(files=len(sources))
    if not options.get("keep_names", False):
        pairs = results.select(pl.col("player_1").alias("white"), pl.col("player_2").alias("black"))
        players = find_players(pairs, aliases=options.get("aliases"))
        key_of = dict(players.select("spelling", "key").iter_rows())
        results = results.with_columns(pl.col("player_1", "player_2").replace(key_of))
        summary.joined = len(players.filter(pl.col("joined_by") == "alias"))
    both = pl.concat([results["player_1"], results["player_2"].alias("player_1")])
    summary.players = both.n_unique()
    all_refused = pl.concat(refused)
    if len(all_refused) and not len(results):
        first = all_refused["reason"][0]
        raise InputError(
            f"none of the {len(all_refused):,} rows can be used; the first: {first} (see --map)"
        )
    summary.games = len(results) + len(all_refused)
    summary.findings["unreadable"] = len(all_refused)
    return results, all_refused, summary


def _in_order(games: pl.DataFrame) -> pl.DataFrame:
    return games.select(GAMES.names)


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


def load_turns(
    inputs: Iterable[str | Path],
    *,
    book_moves: int = BOOK_MOVES,
    workers: int = 1,
    progress: Report | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the turns of PGN files, games tables or turns tables.

    Parameters
    ----------
    inputs
        See `milepost.io.sources.find_sources`.
    book_moves
        Moves a side that are marked as book, for PGN and games tables.
    workers
        Processes to read PGN with.
    progress
        Called with the progress of reading PGN.

    Returns
    -------
    turns, errors
        See `milepost.tables.TURNS` and `milepost.tables.ERRORS`.
    """
    names = [str(each) for each in inputs]
    sources = find_sources(names)
    if not are_tables(sources):
        return read_turns(names, book_moves=book_moves, workers=workers, progress=progress)
    frames = []
    for source in sources:
        columns = set(read_table(source.name).columns)
        if {"position", "played"} <= columns:
            frames.append(read_table(source.name, TURNS))
        elif {"moves", "white", "black"} <= columns:
            games = read_table(source.name, GAMES)
            frames.append(turns_of_games(games, book_moves=book_moves))
        else:
            raise InputError(f"{source.name} is neither a turns nor a games table")
    return pl.concat([frame.select(TURNS.names) for frame in frames]), ERRORS.empty()


def load_games_of(
    inputs: Iterable[str | Path], *, workers: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the games of PGN files or games tables, and what was wrong with them."""
    names = [str(each) for each in inputs]
    sources = find_sources(names)
    if not are_tables(sources):
        return read_games(names, workers=workers)
    frames = [read_table(source.name, GAMES) for source in sources]
    return pl.concat(frames, how="diagonal_relaxed"), ERRORS.empty()


def list_players(
    inputs: Iterable[str | Path], *, aliases: Any = None, progress: Report | None = None
) -> pl.DataFrame:
    """Return the players table of PGN files (headers only) or games tables.

    Parameters
    ----------
    inputs
        See `milepost.io.sources.find_sources`.
    aliases
        See `milepost.games.players.resolve.find_players`.
    progress
        Called with the bytes of input that are dealt with.
    """
    names = list(inputs)
    sources = find_sources(names)
    if are_tables(sources):
        games = pl.concat(
            [read_table(source.name, GAMES) for source in sources], how="diagonal_relaxed"
        )
        return find_players(games, aliases=aliases)
    counts = NameCounts()
    with GameStream(names, read_headers, batch_games=HEADER_BATCH, progress=progress) as stream:
        for games in stream.frames():
            counts.add(games)
    return resolve_players(counts.table(), aliases=aliases)
