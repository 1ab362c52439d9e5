"""A second, deeper look at the turns that seem to have cost most.

The costliest of a thousand turns are those that lost most, and those that the engine got most
wrong: the largest of many noisy numbers are too large. So before they are listed, each of them is
searched again, one line deep instead of all moves shallow: the position, and the one behind the
played move (plan ``single``). What is shown is what this search says. A turn whose loss it does not
see falls out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from platformdirs import user_cache_path

import milepost
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.spreads.build import LIMIT_PAWNS
from milepost.analysis.spreads.option_values import option_values
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.store import EvaluationStore
from milepost.api.analyses import Member, analyse, engine_setups
from milepost.api.decisions import Decisions
from milepost.errors import EngineError, InputError
from milepost.games.turns.notation import san_of
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.review.turn_costs import (
    GREATEST_PAWNS,
    POINTS_A_PAWN,
    expected_score,
    turn_costs,
)
from milepost.io.progress import Report
from milepost.tables import REVIEW_COSTLY

DEPTH = 16
"""Plies of the second look."""
CONFIRMED_POINTS = 0.05
"""A turn stays in the list if the second look sees it lose so much more than equals lose."""
_CANDIDATES = 2.5
"""So many turns are looked at again for each that is to be listed."""
_FOLDER = "second_look"


@dataclass(frozen=True)
class SecondLook:
    """Where second looks are kept, and whether an engine makes those that are missing."""

    store: str | Path
    """The store of second looks: one of its own, so that it is never taken for the first look."""
    engine: bool = False
    """Let an engine look where nothing is stored."""
    plan: Plan = make_plan("single", depth=DEPTH)  # noqa: RUF009 - a frozen value
    """What is searched."""
    program: str | None = None
    """The engine; see `milepost.analysis.engine.setup.find_engine`."""

    @classmethod
    def beside(
        cls, store: str | Path, *, engine: bool = False, program: str | None = None
    ) -> SecondLook:
        """Return the second looks that belong to an evaluation store.

        They are kept in a folder within it. Where that must not be written to, as in the sample
        that comes with the package, they are kept in the user's cache.
        """
        folder = Path(store) / _FOLDER
        if not _is_ours(folder) and (engine or not (folder / "store.json").exists()):
            folder = user_cache_path("milepost", appauthor=False) / _FOLDER
        return cls(folder, engine=engine, program=program)


def _is_ours(folder: Path) -> bool:
    """Whether a folder may be written to, and is no part of the installed package."""
    whole = folder.resolve()
    if whole.is_relative_to(Path(milepost.__file__).resolve().parent):
        return False
    there = next(each for each in (whole, *whole.parents) if each.exists())
    return os.access(there, os.W_OK)


@dataclass(frozen=True, eq=False)
class Looked:
    """The costly turns after a second look."""

    costly: pl.DataFrame
    """Those that stay, the costliest first; see `milepost.tables.REVIEW_COSTLY`."""
    candidates: int
    """Turns that were to be looked at again."""
    seen: int
    """Turns that were."""
    confirmed: int
    """Turns that the second look confirms, listed or not."""
    depth: int = DEPTH
    """How deep it looked."""
    problem: str = ""
    """Why the engine did not look; empty = it did, or was not asked to."""

    @property
    def note(self) -> str:
        """What must be known about the list."""
        if not self.seen:
            why = f" ({self.problem})" if self.problem else ""
            return (
                "the costly turns are not confirmed: no deeper search has looked at them"
                f"{why}, so some of them may be errors of the engine at this depth"
            )
        told = (
            f"of the {self.candidates} turns that seemed to cost most, a second look to depth "
            f"{self.depth} confirms {self.confirmed}; the costs listed are those of the second look"
        )
        if self.seen < self.candidates:
            told += f"; {self.candidates - self.seen} were not looked at again and are left out"
        return told


def look_again(
    mine: Decisions,
    own: pl.DataFrame,
    level: Any,
    calibration: Calibration,
    look: SecondLook | None,
    *,
    most: int,
    workers: int = 1,
    progress: Report | None = None,
) -> Looked:
    """Look again at the costliest turns, and return those whose cost is confirmed.

    Parameters
    ----------
    mine
        The player's decisions.
    own
        The same turns with their costs.
    level
        The Elo of the agents at each of them.
    calibration
        The agents.
    look
        Where second looks are; None = the list stays as it is.
    most
        How many turns to list.
    workers, progress
        For the engine.
    """
    number = max(most, round(_CANDIDATES * most))
    rows = own["cost"].fill_null(-np.inf).arg_sort(descending=True).head(number)
    first = own[rows].with_columns(
        pl.col("points_lost").alias("first_lost"),
        pl.lit(None, dtype=pl.Int64).alias("looked_depth"),
    )
    problem = ""
    stored = pl.DataFrame()
    if look is not None:
        setup = None
        if look.engine:
            try:
                setup = _let_engine_look(first, look, workers, progress)
            except EngineError as error:
                problem = str(error)
        stored = _stored_looks(first, look, setup)
    if look is None or stored.is_empty():
        return Looked(_table(first.head(most)), len(first), 0, 0, problem=problem)
    table = mine.table[rows]
    moves = [None] * len(rows) if mine.moves is None else mine.moves.gather(rows).to_list()
    chances = _chances(table, moves, calibration, np.asarray(level)[rows.to_numpy()])
    seen = [
        _second(row, second, chances[place], look.plan.depth)
        for place, (row, second) in enumerate(
            zip(first.iter_rows(named=True), stored.iter_rows(named=True), strict=True)
        )
        if second["moves"] is not None
    ]
    looked = pl.DataFrame(seen, schema_overrides=first.schema, infer_schema_length=None)
    kept = looked.filter(pl.col("cost") >= CONFIRMED_POINTS)
    costly = kept.sort("cost", descending=True, maintain_order=True).head(most)
    return Looked(_table(costly), len(first), len(looked), len(kept), look.plan.depth, problem)


def _let_engine_look(
    turns: pl.DataFrame, look: SecondLook, workers: int, progress: Report | None
) -> EngineSetup:
    setup = engine_setups([Member(look.plan, look.program)])[0]
    analyse(
        turns.select("game_id", "ply", "position", "played", "mover"),
        look.store, look.plan, engine=look.program, every_turn=True, workers=workers,
        progress=progress,
    )  # fmt: skip
    return setup


def _stored_looks(turns: pl.DataFrame, look: SecondLook, setup: EngineSetup | None) -> pl.DataFrame:
    """One row a turn: `moves` and `values` of its second look, null where there is none."""
    if not Path(look.store, "store.json").exists():
        return pl.DataFrame()
    store = EvaluationStore(look.store)
    # Without an engine here, any that has looked so deep will do.
    alike = [digest for digest, about in store.known_setups().items()
             if about.get("plan") == look.plan.text]  # fmt: skip
    digests = alike if setup is None else [setup.digest]
    keys = turns.select(
        pl.Series("position", [stored_position(fen) for fen in turns["position"]]),
        "played",
    )
    found = store.read(positions=keys["position"]).filter(pl.col("setup").is_in(digests))
    found = found.unique(["position", "played"], keep="first", maintain_order=True)
    if found.is_empty():
        return pl.DataFrame()
    values = found.select("position", "played").hstack(
        option_values(found).select("moves", "values")
    )
    return keys.join(values, on=["position", "played"], how="left", maintain_order="left")


def _chances(
    table: pl.DataFrame, moves: list[list[str] | None], calibration: Calibration, level: Any
) -> list[dict[str, float]]:
    """How often equals choose each move, for each turn."""
    costs = turn_costs(table, calibration, level)
    offsets = costs.spreads.offsets
    return [
        dict(zip(names or (), costs.probabilities[start:end].tolist(), strict=False))
        for names, start, end in zip(moves, offsets[:-1], offsets[1:], strict=True)
    ]


def _second(
    row: dict[str, Any], second: dict[str, Any], chance: dict[str, float], depth: int
) -> dict[str, Any]:
    """A turn as the second look sees it."""
    values = dict(zip(second["moves"], second["values"], strict=True))
    if row["played"] not in values:
        raise InputError(f"a second look does not value the played move {row['played']}")
    best = second["moves"][0]
    # The move behind is searched a ply further, and may come out above the best: no loss then.
    top = max(values.values())
    played = values[row["played"]]
    if played >= top:
        best = row["played"]
    lost = float(np.subtract(*expected_score([top, played], POINTS_A_PAWN)))
    worth, after = np.clip([top, played], -GREATEST_PAWNS, GREATEST_PAWNS).tolist()
    same = best == row["best"]
    expected = row["points_expected"]
    return {
        **row,
        "best": best,
        "best_san": san_of(row["position"], best),
        "best_chance": chance.get(best, row["best_chance"] if same else None),
        "better_chance": row["better_chance"] if same else None,
        "value": worth,
        "value_after": after,
        "loss": worth - after,
        "points_lost": lost,
        "cost": lost - (expected or 0.0),
        "decided": bool(abs(top) > LIMIT_PAWNS),
        "looked_depth": depth,
    }


def _table(turns: pl.DataFrame) -> pl.DataFrame:
    return REVIEW_COSTLY.conform(turns).select(REVIEW_COSTLY.names)
