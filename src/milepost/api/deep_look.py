"""The deep look of a full fair-play test: the best move of a deep search, from store or engine.

It is kept in a store of its own within the evaluation store's folder, so that it is never taken for
the evaluations of all moves; see `milepost.fairplay.deep.look`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from milepost.analysis.engine.setup import readable_setup
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.store.store import EvaluationStore
from milepost.api.analyses import Member, analyse, engine_setups
from milepost.api.decisions import Decisions
from milepost.choice.spreads import Ints
from milepost.errors import EngineError
from milepost.fairplay.deep.pull import DeepPull
from milepost.fairplay.evidence.juries import best_moves
from milepost.io.progress import Report

_FOLDER = "deep_look"


def deep_store(store: str | Path) -> Path:
    """Return where the deep looks of an evaluation store are kept."""
    return Path(store) / _FOLDER


def deep_plan(pull: DeepPull) -> Plan:
    """Return the search: one line, the best move alone."""
    return make_plan("multipv", depth=pull.depth, width=1)


def look_deep(
    turns: pl.DataFrame,
    store: str | Path,
    pull: DeepPull,
    *,
    workers: int = 1,
    progress: Report | None = None,
) -> str:
    """Let the engine search what is missing; return why it did not, or nothing.

    Parameters
    ----------
    turns
        The turns to look at: `game_id`, `ply`, `position`, `played`, `mover`.
    store
        The evaluation store beside whose evaluations the deep look is kept.
    pull
        What was measured of honest players, and with which set-up.
    workers, progress
        For the engine.
    """
    plan = deep_plan(pull)
    try:
        setup = engine_setups([Member(plan)])[0]
        if setup.digest != pull.setup:
            return (
                "honest players were measured with another engine than "
                f"{readable_setup(setup.as_dict())}"
            )
        analyse(
            turns.select("game_id", "ply", "position", "played", "mover"), deep_store(store), plan,
            every_turn=True, workers=workers, progress=progress,
        )  # fmt: skip
    except EngineError as error:
        return str(error)
    return ""


def stored_deep_moves(read: Decisions, store: str | Path | None, pull: DeepPull) -> Ints:
    """Return the deep search's option of each decision; -1 = not stored."""
    nothing = np.full(len(read.table), -1, dtype=np.int64)
    if store is None or read.moves is None or not Path(deep_store(store), "store.json").exists():
        return nothing
    best = best_moves(EvaluationStore(deep_store(store)), pull.setup, read.table["position"])
    pairs = zip(read.moves.to_list(), best, strict=True)
    return np.array(
        [options.index(move) if move in options else -1 for options, move in pairs], dtype=np.int64
    )
