"""Evaluations made elsewhere, brought into a store.

Each source has a set-up of its own in the store, so that its values never mix with others: only
`import_shared`, whose making is known to the last option, gets the set-up that a run of the plan
``quick`` has, and is then taken for such a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from milepost.analysis.deltalog import read_delta_log
from milepost.analysis.deltaturns import delta_evaluations
from milepost.analysis.engines import EngineSetup
from milepost.analysis.plans import make_plan
from milepost.analysis.searchlog import Value
from milepost.analysis.store import EvaluationStore, stored_position
from milepost.errors import InputError, TableError
from milepost.games.turns import turns_of_games
from milepost.tables import EVALUATIONS, TURNS, as_frame

SHARED_MATE = 30_000
"""The shared schema writes a mate in n as this less n centipawns."""
LEAST_SHARED_MATE = 29_000
"""What is more than this is a mate there; the engine's own values end far below (about 4,600)."""
UNNAMED_MOVE = "0000"
"""Stands for a best move whose value is known but not its name; UCI's null move, never legal."""

_SHARED_COLUMNS = ("fen", "played", "moves", "cp")
_WHOLE_FEN = r"^(\S+ \S+ \S+ \S+ \S+) \S+$"


@dataclass(frozen=True)
class Imported:
    """What became of an import."""

    setup: EngineSetup
    """The set-up under which the evaluations are stored."""
    counts: dict[str, int]
    """Rows read, left out by reason, already in the store, and stored."""


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
        The nodes searched are not known: null.

    Raises
    ------
    InputError
        If the file cannot be read.
    TableError
        If columns are missing, a FEN is not whole, or the lists do not fit each other.
    """
    frame = _read_shared(data)
    depth = make_plan("quick").depth
    width = pl.col("moves").list.len()
    fits = (
        (width > 0)
        & (pl.col("cp").list.len() == depth)
        & pl.col("cp").list.eval(pl.element().list.len()).list.min().eq(width)
        & pl.col("cp").list.eval(pl.element().list.len()).list.max().eq(width)
        & pl.col("fen").str.contains(_WHOLE_FEN)
    )
    wrong = frame.with_row_index("row").filter(~fits.fill_null(False))
    if len(wrong):
        raise TableError(
            f"row {wrong['row'][0]}: expected a whole FEN, moves, and {depth} lists of centipawns "
            "as long as the moves"
        )
    setup = shared_setup()
    value = pl.element()
    is_mate = value.abs() > LEAST_SHARED_MATE
    mate = pl.when(is_mate).then(value.sign() * (SHARED_MATE - value.abs()))
    cp = pl.when(~is_mate).then(value)
    rows = frame.with_columns(pl.col("cp").cast(pl.List(pl.List(pl.Int32)))).select(
        pl.col("fen").str.replace(_WHOLE_FEN, "${1} 1").alias("position"),
        pl.lit(None, dtype=pl.String).alias("played"),
        pl.lit(setup.digest).alias("setup"),
        pl.col("moves"),
        pl.col("cp").list.eval(value.list.eval(cp)).alias("cp"),
        pl.col("cp").list.eval(value.list.eval(mate)).alias("mate"),
        pl.lit(None, dtype=pl.Int64).alias("nodes"),
    )
    return _add(store, setup, rows, {"rows read": len(frame)})


def shared_turns(data: Any) -> pl.DataFrame:
    """Return the turns of a file in the shared schema; see `import_shared`.

    The files begin behind the book and hold no turns with one legal move. Games are told apart by
    period, milepost and game; the players go by the names of the file.
    """
    frame = _read_shared(data)
    white = pl.col("ply") % 2 == 0

    def mover(suffix: str = "") -> pl.Expr:
        return pl.when(white).then(f"white{suffix}").otherwise(f"black{suffix}")

    def opponent(suffix: str = "") -> pl.Expr:
        return pl.when(white).then(f"black{suffix}").otherwise(f"white{suffix}")

    turns = frame.select(
        pl.concat_str("period", "milepost", "game", separator="/").alias("game_id"),
        "ply",
        pl.col("fen").str.extract(r" (\d+)$").cast(pl.Int32).alias("move_number"),
        mover().alias("mover"),
        opponent().alias("opponent"),
        pl.when(white).then(pl.lit("white")).otherwise(pl.lit("black")).alias("colour"),
        mover("_elo").alias("mover_elo"),
        opponent("_elo").alias("opponent_elo"),
        pl.col("fen").alias("position"),
        "played",
        pl.lit(False).alias("book"),
        pl.col("repeated").alias("repetition"),
        pl.lit(False).alias("only_move"),
        "event",
        pl.col("date").str.extract(r"^(\d{4})").cast(pl.Int32).alias("year"),
    )
    return TURNS.conform(turns).select(TURNS.names)


def _read_shared(data: Any) -> pl.DataFrame:
    if isinstance(data, str | Path):
        try:
            frame = pl.read_parquet(data)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{data} cannot be read as Parquet: {error}") from error
    else:
        frame = as_frame(data)
    missing = [name for name in _SHARED_COLUMNS if name not in frame.columns]
    if missing:
        raise TableError(f"the shared schema needs the columns {', '.join(missing)}")
    return frame


def comments_setup() -> EngineSetup:
    """Return the set-up of ``%eval`` comments: which engine made them is not known."""
    return EngineSetup("eval comments", "", (), "single depth unknown")


def import_eval_comments(games: Any, store: EvaluationStore) -> Imported:
    """Store the ``%eval`` comments of games as the plan ``single`` would.

    The comment behind a move is the worth of the move; the comment behind the move before it is the
    worth of the position, that is of its best move, whose name nobody wrote down. So a turn with
    both comments becomes

    - the played move alone, if it is worth at least as much as the position: it is then the best
      move known, as in ``single`` when the engine's move was played;
    - else an unnamed best move (`UNNAMED_MOVE`) and the played one.

    Turns with one comment only are left out: a played move alone would look like the best one.
    Depths are not known; the values stand at depth 1. Such evaluations are good for the average
    difference, less so for how often the first move was found: whether a small difference is an
    error or noise between two searches cannot be told.

    Parameters
    ----------
    games
        A games table; see `milepost.tables.GAMES`.
    store
        Where they go. If two games differ about a position and a move, the first one counts.

    Raises
    ------
    InputError
        If a game's moves are not legal.
    """
    turns = turns_of_games(games)
    counts = {"rows read": len(turns)}
    before_cp = pl.col("eval_cp").shift(1).over("game_id")
    before_mate = pl.col("eval_mate").shift(1).over("game_id")
    mate = pl.col("eval_mate")
    turns = turns.with_columns(
        # The player before saw it from the other side.
        (-before_cp).alias("best_cp"),
        (-before_mate).alias("best_mate"),
        # To mate in n more moves behind this one is to mate in n + 1 with it.
        pl.when(mate >= 0).then(mate + 1).otherwise(mate).alias("eval_mate"),
    ).with_columns(pl.when(pl.col("eval_mate").is_null()).then("eval_cp").alias("eval_cp"))
    turns = turns.with_columns(
        pl.when(pl.col("best_mate").is_null()).then("best_cp").alias("best_cp")
    )
    standard = turns.filter(pl.col("variant").fill_null("standard") == "standard")
    counts["Chess960"] = len(turns) - len(standard)
    known = standard.filter(
        pl.coalesce("eval_cp", "eval_mate").is_not_null(),
        pl.coalesce("best_cp", "best_mate").is_not_null(),
    )
    counts["without both comments"] = len(standard) - len(known)
    setup = comments_setup()
    rows = [
        _comment_row(setup.digest, *row)
        for row in known.select(
            "position", "played", "eval_cp", "eval_mate", "best_cp", "best_mate"
        ).iter_rows()
    ]
    return _add(store, setup, pl.DataFrame(rows, schema=EVALUATIONS.dtypes), counts)


def _comment_row(
    setup: str,
    fen: str,
    played: str,
    cp: int | None,
    mate: int | None,
    best_cp: int | None,
    best_mate: int | None,
) -> dict[str, Any]:
    own, best = Value(cp, mate), Value(best_cp, best_mate)
    listed = [(played, own)]
    if best.order > own.order:
        listed.insert(0, (UNNAMED_MOVE, best))
    return {
        "position": stored_position(fen),
        "played": played,
        "setup": setup,
        "moves": [move for move, _ in listed],
        "cp": [[value.cp for _, value in listed]],
        "mate": [[value.mate for _, value in listed]],
        "nodes": None,
    }


def import_delta_log(
    handle: TextIO, store: EvaluationStore, *, engine: str = "unknown engine"
) -> Imported:
    """Store the turns of a delta log; see `milepost.analysis.deltalog`.

    Parameters
    ----------
    handle
        An open text file.
    store
        Where they go.
    engine
        What is known about the engine: logs of different engines must not be mixed.

    Raises
    ------
    InputError
        If a line is not what it should be, or a turn has no position: the message has the line.
    """
    entries = read_delta_log(handle)
    setup = EngineSetup(engine, "", (), "delta log")
    rows = delta_evaluations(entries, setup.digest)
    return _add(store, setup, rows, {"rows read": len(entries)})


def _add(
    store: EvaluationStore, setup: EngineSetup, rows: pl.DataFrame, counts: dict[str, int]
) -> Imported:
    """Add rows that are not there yet, each key once."""
    once = rows.unique(["position", "played"], keep="first", maintain_order=True)
    there = pl.DataFrame(
        list(store.keys(setup.digest)),
        schema={"position": pl.String, "played": pl.String},
        orient="row",
    )
    new = once.join(there, on=["position", "played"], how="anti", nulls_equal=True)
    counts["the same position again"] = len(rows) - len(once)
    counts["already in the store"] = len(once) - len(new)
    counts["stored"] = len(new)
    store.add_setup(setup)
    store.append(new)
    return Imported(setup, counts)
