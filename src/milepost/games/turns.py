"""Turns: every decision of every game, with its position and what is known about it."""

from __future__ import annotations

from typing import Any

import chess
import polars as pl

from milepost.errors import InputError
from milepost.games.phases import OPENING, next_phase
from milepost.tables import GAMES, TURNS

BOOK_MOVES = 8
"""Moves a side that count as book (Regan & Haworth 2011; the 2009 paper leaves out twelve)."""

_REPLAY_SCHEMA: dict[str, Any] = {
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
    return attach_games(replay(frame, book_moves=book_moves), frame)


def replay(games: pl.DataFrame, *, book_moves: int = BOOK_MOVES) -> pl.DataFrame:
    """Replay the games of a frame; `row` of the result is the game's row in the frame."""
    columns: dict[str, list[Any]] = {name: [] for name in _REPLAY_SCHEMA}
    chosen = games.select("game_id", "moves", "fen", "variant")
    for row, (game_id, moves, fen, variant) in enumerate(chosen.iter_rows()):
        board = chess.Board(fen or chess.STARTING_FEN, chess960=variant == "chess960")
        try:
            _replay_game(board, moves.split(), row, 0 if fen else 2 * book_moves, columns)
        except ValueError as error:
            raise InputError(f"game {game_id}: {error}") from error
    return pl.DataFrame(columns, schema=_REPLAY_SCHEMA)


def _replay_game(
    board: chess.Board, moves: list[str], row: int, book_plies: int, columns: dict[str, list[Any]]
) -> None:
    add = {name: values.append for name, values in columns.items()}
    seen: set[str] = set()
    phase = OPENING
    for ply, uci in enumerate(moves):
        position = board.fen()
        placement = position.rsplit(" ", 2)[0]
        phase = next_phase(board, phase)
        legal = board.generate_legal_moves()
        next(legal, None)
        add["row"](row)
        add["ply"](ply)
        add["move_number"](board.fullmove_number)
        add["white_moves"](board.turn)
        add["position"](position)
        add["played"](uci)
        add["phase"](phase)
        add["book"](ply < book_plies)
        add["repetition"](placement in seen)
        add["only_move"](next(legal, None) is None)
        seen.add(placement)
        move = chess.Move.from_uci(uci)
        if not board.is_pseudo_legal(move):
            raise ValueError(f"ply {ply + 1}: {uci} is not legal in {position}")
        board.push(move)


def attach_games(replayed: pl.DataFrame, games: pl.DataFrame) -> pl.DataFrame:
    """Add to replayed turns what the game knows: players, Elos, clocks, event, score."""
    about = games.with_row_index("row").with_columns(pl.col("row").cast(pl.Int32))
    if "group" not in about.columns:
        about = about.with_columns(pl.lit(None, dtype=pl.String).alias("group"))
    joined = replayed.join(about.drop("moves"), on="row", how="inner", maintain_order="left")
    white = pl.col("white_moves")
    ply = pl.col("ply")
    white_score = (
        pl.when(pl.col("result") == "1-0")
        .then(1.0)
        .when(pl.col("result") == "0-1")
        .then(0.0)
        .when(pl.col("result") == "1/2-1/2")
        .then(0.5)
    )

    def mover(column: str) -> pl.Expr:
        return pl.when(white).then(pl.col(f"white_{column}")).otherwise(pl.col(f"black_{column}"))

    def opponent(column: str) -> pl.Expr:
        return pl.when(white).then(pl.col(f"black_{column}")).otherwise(pl.col(f"white_{column}"))

    # Players without a name are still two different people in one game.
    turns = joined.with_columns(
        pl.coalesce("white_key", "white").alias("white_key"),
        pl.coalesce("black_key", "black").alias("black_key"),
    ).with_columns(
        mover("key").alias("mover"),
        opponent("key").alias("opponent"),
        pl.when(white).then(pl.lit("white")).otherwise(pl.lit("black")).alias("colour"),
        mover("elo").alias("mover_elo"),
        opponent("elo").alias("opponent_elo"),
        _clock_before(ply).alias("clock_before"),
        pl.col("clocks").list.get(ply, null_on_oob=True).alias("clock_after"),
        pl.col("elapsed").list.get(ply, null_on_oob=True).alias("seconds"),
        *(
            pl.when(white).then(value).otherwise(-value).alias(name)
            for name in ("eval_cp", "eval_mate")
            for value in (pl.col(name).list.get(ply, null_on_oob=True),)
        ),
        pl.when(white).then(white_score).otherwise(1.0 - white_score).alias("score"),
    )
    spent = pl.col("clock_before") - pl.col("clock_after") + _increment().fill_null(0.0)
    turns = turns.with_columns(pl.coalesce("seconds", spent.clip(lower_bound=0.0)).alias("seconds"))
    return TURNS.conform(turns).select(TURNS.names)


def _clock_before(ply: pl.Expr) -> pl.Expr:
    """The clock after the mover's last move; before the first one nothing is known for sure."""
    before = pl.col("clocks").list.get(ply - 2, null_on_oob=True)
    return pl.when(ply >= 2).then(before)


def _increment() -> pl.Expr:
    return pl.col("time_control").str.extract(r"^\s*(?:\d+/)?\d+\+(\d+)").cast(pl.Float64)
