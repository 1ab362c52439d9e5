"""The evaluated turns of ``../shared/data/analysis`` as spreads, for benchmarks and tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from milepost.analysis.spreads.option_columns import add_option_columns
from milepost.choice import Spreads
from milepost.choice.spreads import Ints
from milepost.tables import CONTEXT, OPTION

ANALYSIS = Path(__file__).resolve().parents[2] / "shared" / "data" / "analysis"
WHOLE_GAMES = ANALYSIS / "whole_games.parquet"
RANDOM_TURNS = ANALYSIS / "random_turns_2011-2014.parquet"
LIMIT_CP = 300
"""Turns whose best move is worth more are left out, as the 2011 paper does."""


def read_turns(path: Path = RANDOM_TURNS) -> pl.DataFrame:
    """Return the turns that the paper would use, each with its mover's rating."""
    frame = pl.read_parquet(path)
    best = pl.col("cp").list.last().list.first()
    white = pl.col("fen").str.contains(" w ", literal=True)
    return frame.filter(~pl.col("repeated") & (best.abs() <= LIMIT_CP)).with_columns(
        pl.when(white).then("white_elo").otherwise("black_elo").cast(pl.Float64).alias("elo"),
        (pl.col("milepost") * 100_000 + pl.col("game")).alias("game_key"),
    )


def spreads_of(frame: pl.DataFrame) -> Spreads:
    """Return the turns as spreads, in pawns, with all depths, grouped by game."""
    moves = frame["moves"].to_list()
    counts = np.array([len(each) for each in moves], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    depths = len(frame["cp"][0])
    flat = frame["cp"].explode(empty_as_null=False).explode(empty_as_null=False).to_numpy()
    table = np.empty((offsets[-1], depths))
    starts = offsets[:-1] * depths
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    for depth in range(depths):
        table[:, depth] = flat[np.repeat(starts + depth * counts, counts) + within] / 100.0
    chosen = [each.index(played) for each, played in zip(moves, frame["played"], strict=True)]
    return Spreads.from_arrays(
        offsets,
        table[:, -1],
        np.array(chosen, dtype=np.int64),
        groups=frame["game_key"].to_numpy(),
        rating=frame["elo"].to_numpy(),
        depth_values=table,
        columns={
            name.removeprefix(OPTION): frame[name].explode(empty_as_null=False).to_numpy()
            for name in frame.columns
            if name.startswith(OPTION)
        },
        context={
            name.removeprefix(CONTEXT): frame[name].to_numpy()
            for name in frame.columns
            if name.startswith(CONTEXT)
        },
    )


@dataclass(frozen=True, eq=False)
class Turns:
    """Decisions with what classes of turns need."""

    spreads: Spreads
    """The decisions."""
    move_numbers: Ints
    """The number of each move."""
    colours: Ints
    """0 where White moves, 1 where Black does: tells the sides of a game apart."""
    events: list[str] | None = None
    """The event of each decision with its year; None = not known."""


def read_decisions(path: Path, *, columns: bool = True) -> Turns:
    """Return the decisions of a file of `ANALYSIS`, or of a table of decisions of rated players.

    Parameters
    ----------
    path
        The file. A table of decisions (`milepost spreads`) brings its columns of options along, and
        they know the move before each turn; in the random turns of `ANALYSIS` that is not known.
    columns
        Whether to work out what kind of move each option is, for models that go by it.
    """
    frame = pl.read_parquet(path)
    if "values" in frame.columns:
        frame = frame.filter(pl.col("mover_elo").is_not_null())
        if not columns:
            frame = frame.select(pl.exclude(f"^({OPTION}|{CONTEXT}).*$"))
        about = [pl.col(name).cast(pl.String).fill_null("") for name in ("event", "year")]
        return Turns(
            Spreads.from_table(frame),
            frame["move_number"].to_numpy(),
            frame["ply"].to_numpy() % 2,
            frame.select(pl.concat_str(about, separator=" ")).to_series().to_list(),
        )
    frame = read_turns(path)
    # Files of different periods number their games from 0 too.
    game = pl.concat_str(pl.col("period", "milepost", "game").cast(pl.String), separator=" ")
    frame = frame.with_columns(game.alias("game_id"), game.rank("dense").alias("game_key"))
    if columns:
        named = frame.with_columns(pl.col("fen").alias("position"), pl.col("fen").alias("key"))
        frame = add_option_columns(named, named)
    ply = frame["ply"].to_numpy()
    return Turns(spreads_of(frame), ply // 2 + 1, ply % 2)
