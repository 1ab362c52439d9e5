"""Evaluations in the schema of the shared analysis files, whose making is known to the last option.

They get the set-up that a run of the plan ``quick`` has, and are then taken for such a run; so each
row must be what such a run gives: a legal position, all its legal moves, a value for each. Mates
stand there on our own scale, as ±(30000 - n); other values of that engine end at about 4,600.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from milepost.analysis.engine.search_output import LEAST_MATE_CP, MATE_CP
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.exchange.rows import Imported, Refused, add_rows
from milepost.analysis.plans import make_plan
from milepost.analysis.store.positions import legal_moves, position_problem, stored_positions
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError, TableError
from milepost.io.files import UNREADABLE
from milepost.tables import as_frame

_COLUMNS = ("fen", "played", "moves", "cp")


def shared_setup() -> EngineSetup:
    """Return the set-up of the shared schema: the plan quick with Debian's Stockfish 15.1."""
    plan = make_plan("quick")
    options = tuple(sorted(plan.options.items()))
    return EngineSetup("Stockfish 15.1", "nn-ad9b42354671.nnue", options, plan.text)


def import_shared(data: Any, store: EvaluationStore) -> Imported:
    """Store evaluations in the schema of the shared analysis files.

    Parameters
    ----------
    data
        A Parquet file, or a table with the columns `fen`, `played`, `moves` and `cp` (for each
        depth from 1 to 10 a list as long as `moves`; mates as ±(30000 - n)).
    store
        Where they go.

    Returns
    -------
    Imported
        The nodes searched are not known: null. A row that a run of ``quick`` cannot have given is
        refused.

    Raises
    ------
    InputError
        If the file cannot be read.
    TableError
        If columns are missing or of another type.
    """
    frame, refused = _checked(_read_shared(data))
    setup = shared_setup()
    value = pl.element()
    is_mate = value.abs() > LEAST_MATE_CP
    mate = pl.when(is_mate).then(value.sign() * (MATE_CP - value.abs()))
    cp = pl.when(~is_mate).then(value)
    rows = frame.with_columns(pl.col("cp").cast(pl.List(pl.List(pl.Int32)))).select(
        stored_positions(frame["fen"]).alias("position"),
        pl.lit(None, dtype=pl.String).alias("played"),
        pl.lit(setup.digest).alias("setup"),
        pl.col("moves"),
        pl.col("cp").list.eval(value.list.eval(cp)).alias("cp"),
        pl.col("cp").list.eval(value.list.eval(mate)).alias("mate"),
        pl.lit(None, dtype=pl.Int64).alias("nodes"),
    )
    return add_rows(store, setup, rows, {"rows read": len(frame) + len(refused)}, refused)


def _checked(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Refused]]:
    """Return the rows that a run of quick can have given, and what is wrong with the others."""
    try:
        frame = frame.with_columns(
            pl.col("fen").cast(pl.String),
            pl.col("moves").cast(pl.List(pl.String)),
            pl.col("cp").cast(pl.List(pl.List(pl.Float64))),
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(f"fen, moves or cp are of a wrong type: {error}") from error
    reasons = frame.select(pl.coalesce(*_doubts()).alias("reason"))["reason"].to_list()
    for place, (fen, moves) in enumerate(frame.select("fen", "moves").iter_rows()):
        if reasons[place] is None:
            reasons[place] = _problem_of_moves(fen, moves)
    refused = [Refused(row, why) for row, why in enumerate(reasons, start=1) if why is not None]
    return frame.filter(pl.Series([why is None for why in reasons], dtype=pl.Boolean)), refused


def _doubts() -> list[pl.Expr]:
    """What can be told without a board, the first one that holds being the reason."""
    depth = make_plan("quick").depth
    width = pl.col("moves").list.len()
    lengths = pl.col("cp").list.eval(pl.element().list.len()).list
    value = pl.element()
    odd = value.is_nan() | (value != value.round()) | (value.abs() >= MATE_CP)
    last = pl.col("cp").list.last().list
    tests = {
        "no FEN": pl.col("fen").is_not_null(),
        "no moves": width > 0,
        f"expected {depth} lists of centipawns as long as the moves": (
            (pl.col("cp").list.len() == depth) & (lengths.min() == width) & (lengths.max() == width)
        ),
        "a value that is no whole number of centipawns, or out of range": ~(
            pl.col("cp").list.eval(value.list.eval(odd.fill_null(False)).list.any()).list.any()
        ),
        "a move without a value at the last depth": ~last.eval(value.is_null()).list.any(),
        "the moves do not stand best first": ~last.eval(
            (value.diff() > 0).fill_null(False)
        ).list.any(),
    }
    return [
        pl.when(~holds.fill_null(False)).then(pl.lit(reason)) for reason, holds in tests.items()
    ]


def _problem_of_moves(fen: str, moves: list[str]) -> str | None:
    problem = position_problem(fen)
    if problem is not None:
        return problem
    legal = legal_moves(fen)
    wrong = sorted(set(moves) - legal)
    if wrong:
        return f"{wrong[0]} is not a legal move there"
    if len(set(moves)) < len(moves):
        return "a move stands twice"
    if len(moves) < len(legal):
        return f"{len(moves)} of {len(legal)} legal moves"
    return None


def _read_shared(data: Any) -> pl.DataFrame:
    if isinstance(data, str | Path):
        try:
            frame = pl.read_parquet(data)
        except UNREADABLE as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{data} cannot be read as Parquet: {said[0]}") from error
    else:
        frame = as_frame(data)
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise TableError(f"the shared schema needs the columns {', '.join(missing)}")
    return frame
