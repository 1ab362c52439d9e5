"""Turns: every decision of every game, with its position and what is known about it."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.games.players.resolve import with_names
from milepost.games.turns.fen import FenWriter
from milepost.games.turns.phases import OPENING, next_phase
from milepost.io.arrow_buffers import Longs, as_series, list_starts, number_column
from milepost.tables import GAMES, TURNS

BOOK_MOVES = 8
"""Moves a side that count as book (Regan & Haworth 2011; the 2009 paper leaves out twelve)."""

_NEVER = 1 << 40
"""A ply that no game has."""

REPLAY_SCHEMA: dict[str, Any] = {
    "row": pl.Int32,
    "ply": pl.Int32,
    "move_number": pl.Int32,
    "white_moves": pl.Boolean,
    "position": pl.String,
    "played": pl.String,
    "phase": pl.String,
    "book": pl.Boolean,
    "repetition": pl.Boolean,
    "only_move": pl.Boolean,
}


class TurnRecorder:
    """Writes down the turns of one game while it is played on a board."""

    def __init__(self, board: chess.Board, *, row: int, book_plies: int):
        """Begin a game.

        Parameters
        ----------
        board
            The board that the game is played on, in its first position.
        row
            The game's row in its frame.
        book_plies
            Half-moves that are marked as book.
        """
        self.rows: list[tuple[Any, ...]] = []
        """What was written down, in the columns of `REPLAY_SCHEMA`."""
        self._board = board
        self._row = row
        self._book_plies = book_plies
        self._writer = FenWriter(board)
        self._seen: set[str] = set()
        self._phase = OPENING

    def record(self, move: chess.Move, uci: str) -> None:
        """Write down the position on the board and the move that is played next."""
        board = self._board
        placement = self._writer.placement()
        self._phase = next_phase(board, self._phase)
        legal = board.generate_legal_moves()
        next(legal, None)
        only_move = next(legal, None) is None
        number = board.fullmove_number
        ply = len(self.rows)
        self.rows.append(
            (
                self._row,
                ply,
                number,
                board.turn,
                f"{placement} {board.halfmove_clock} {number}",
                uci,
                self._phase,
                ply < self._book_plies,
                placement in self._seen,
                only_move,
            )
        )
        self._seen.add(placement)
        self._writer.will_play(move)


def turns_of_games(games: Any, *, book_moves: int = BOOK_MOVES) -> pl.DataFrame:
    """Return the turns of a games table, game by game, in the order in which they were played.

    Parameters
    ----------
    games
        A games table (polars, pandas, Arrow); see `milepost.tables.GAMES`.
    book_moves
        Moves a side that are marked as book. Games from a set-up position have no book.

    Returns
    -------
    polars.DataFrame
        See `milepost.tables.TURNS`.

    Raises
    ------
    InputError
        If a game's moves are not legal from its first position.
    """
    frame = GAMES.conform(games)
    if not {"white_name", "black_name"} <= set(frame.columns):
        frame = with_names(frame)
    return attach_games(replay(frame, book_moves=book_moves), frame)


def replay(games: pl.DataFrame, *, book_moves: int = BOOK_MOVES) -> pl.DataFrame:
    """Replay the games of a frame; `row` of the result is the game's row in the frame."""
    rows: list[tuple[Any, ...]] = []
    chosen = games.select("game_id", "moves", "fen", "variant")
    for row, (game_id, moves, fen, variant) in enumerate(chosen.iter_rows()):
        if not moves:
            continue  # also a game whose FEN tag is no position: it was kept without moves
        try:
            board = chess.Board(fen or chess.STARTING_FEN, chess960=variant == "chess960")
        except ValueError as error:
            raise InputError(f"game {game_id}: the FEN is not a position: {error}") from error
        recorder = TurnRecorder(board, row=row, book_plies=book_plies_of(fen, book_moves))
        for ply, uci in enumerate(moves.split()):
            try:
                move = chess.Move.from_uci(uci)
            except ValueError as error:
                raise InputError(f"game {game_id}, ply {ply + 1}: {error}") from error
            if not board.is_legal(move):
                raise InputError(f"game {game_id}, ply {ply + 1}: {uci} is not legal")
            recorder.record(move, uci)
            board.push(move)
        rows += recorder.rows
    return replayed_frame(rows)


def replayed_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Return what recorders have written down as a frame."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in REPLAY_SCHEMA)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=dtype)
            for (name, dtype), values in zip(REPLAY_SCHEMA.items(), columns, strict=True)
        ]
    )


def book_plies_of(fen: str | None, book_moves: int) -> int:
    """Return how many half-moves of a game are book: none after a set-up position."""
    set_up = bool(fen) and fen != chess.STARTING_FEN
    return 0 if set_up else 2 * book_moves


def attach_games(replayed: pl.DataFrame, games: pl.DataFrame) -> pl.DataFrame:
    """Add to replayed turns what the game knows: players, Elos, clocks, event, score.

    The games need `white_name` and `black_name`, the players' names to show, beside the columns of
    `milepost.tables.GAMES`: see `milepost.games.players.resolve.with_keys`.
    """
    rows = replayed["row"].cast(pl.Int64).to_numpy()
    white = replayed["white_moves"].to_numpy()
    sides = pl.concat([_seen_by(games, "white", "black"), _seen_by(games, "black", "white")])
    turns = replayed.hstack(sides[np.where(white, rows, rows + len(games))])
    ply = replayed["ply"].cast(pl.Int64).to_numpy()
    told = [
        _told_at(games[column], rows, plies).alias(name)
        for name, column, plies in (
            # The clock after the mover's last move; before the first nothing is known for sure.
            ("clock_before", "clocks", np.where(ply >= 2, ply - 2, _NEVER)),
            ("clock_after", "clocks", ply),
            ("seconds", "elapsed", ply),
            ("eval_cp", "eval_cp", ply),
            ("eval_mate", "eval_mate", ply),
        )
    ]
    spent = pl.col("clock_before") - pl.col("clock_after") + pl.col("increment").fill_null(0.0)
    own = pl.when("white_moves")
    turns = turns.hstack(told).with_columns(
        pl.coalesce("seconds", spent.clip(lower_bound=0.0)).alias("seconds"),
        own.then("eval_cp").otherwise(-pl.col("eval_cp")).alias("eval_cp"),
        own.then("eval_mate").otherwise(-pl.col("eval_mate")).alias("eval_mate"),
    )
    return TURNS.conform(turns.select(TURNS.names))


def _seen_by(games: pl.DataFrame, mover: str, opponent: str) -> pl.DataFrame:
    """What the games know of the turns of one side."""
    score = (
        pl.when(pl.col("result") == "1-0")
        .then(1.0)
        .when(pl.col("result") == "0-1")
        .then(0.0)
        .when(pl.col("result") == "1/2-1/2")
        .then(0.5)
    )
    group = pl.col("group") if "group" in games.columns else pl.lit(None, dtype=pl.String)
    return games.select(
        "game_id", "variant", "event", "round", "year", "date", "site", "speed",
        group.alias("group"),
        # Players without a name are still two different people in one game.
        pl.coalesce(f"{mover}_key", mover).alias("mover"),
        pl.coalesce(f"{opponent}_key", opponent).alias("opponent"),
        pl.coalesce(f"{mover}_name", mover).alias("mover_name"),
        pl.coalesce(f"{opponent}_name", opponent).alias("opponent_name"),
        pl.lit(mover).alias("colour"),
        pl.col(f"{mover}_elo").alias("mover_elo"),
        pl.col(f"{opponent}_elo").alias("opponent_elo"),
        (score if mover == "white" else 1.0 - score).alias("score"),
        _increment().alias("increment"),
    )  # fmt: skip


def _told_at(lists: pl.Series, rows: Longs, plies: Longs) -> pl.Series:
    """What stood beside a move: an entry of the list of each turn's game; null = none."""
    if lists.null_count() == len(lists):
        return lists.clear(1).explode().new_from_index(0, len(rows))
    array = lists.to_arrow()
    starts = list_starts(array)
    lengths = np.diff(starts)
    if array.null_count:  # what lies under a null is not told
        lengths[lists.is_null().to_numpy()] = 0
    there = plies < lengths[rows]
    places = np.where(there, starts[:-1][rows] + plies, 0)
    known = number_column(places, np.packbits(there, bitorder="little"))
    return as_series("", array.values).gather(as_series("", known))


def _increment() -> pl.Expr:
    return pl.col("time_control").str.extract(r"^\s*(?:\d+/)?\d+\+(\d+)").cast(pl.Float64)
