"""The ``%eval`` comments of games, as evaluations."""

from __future__ import annotations

from typing import Any

import polars as pl

from milepost.analysis.engine.search_output import Value
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.exchange.rows import Imported, Refused, add_rows
from milepost.analysis.store.positions import UNNAMED_MOVE, stored_position, variant_exclusions
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError
from milepost.games.turns.replay import turns_of_games
from milepost.tables import EVALUATIONS, GAMES, TURNS


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

    Returns
    -------
    Imported
        Games whose moves are not legal are refused.
    """
    turns, refused = _turns(GAMES.conform(games))
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
    for name, test in variant_exclusions():
        counts[name] = len(turns.filter(test))
        turns = turns.filter(~test)
    known = turns.filter(
        pl.coalesce("eval_cp", "eval_mate").is_not_null(),
        pl.coalesce("best_cp", "best_mate").is_not_null(),
    )
    counts["without both comments"] = len(turns) - len(known)
    setup = comments_setup()
    rows = [
        _comment_row(setup.digest, *row)
        for row in known.select(
            "position", "played", "eval_cp", "eval_mate", "best_cp", "best_mate"
        ).iter_rows()
    ]
    return add_rows(store, setup, pl.DataFrame(rows, schema=EVALUATIONS.dtypes), counts, refused)


def _turns(games: pl.DataFrame) -> tuple[pl.DataFrame, list[Refused]]:
    """Return the turns of the games that can be replayed; a bad game costs the others nothing."""
    try:
        return turns_of_games(games), []
    except InputError:
        found, refused = [TURNS.empty()], []
        for row in range(len(games)):
            try:
                found.append(turns_of_games(games[row]))
            except InputError as error:
                refused.append(Refused(row + 1, str(error)))
        return pl.concat(found), refused


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
