"""Juries: the evaluations of several engines or depths, averaged into one.

Each member's evaluations stay in the store under their own set-up; the average is stored beside
them under a set-up of its own, which names the members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milepost.analysis.engines import EngineSetup
from milepost.analysis.store import EvaluationStore
from milepost.errors import InputError

MATE_CP = 10_000
"""A mate in n counts as this less n centipawns where it must be averaged with other values."""


def jury_setup(members: Sequence[EngineSetup]) -> EngineSetup:
    """Return the set-up under which the average of these members is stored."""
    if len(members) < 2 or len({member.digest for member in members}) < len(members):
        raise InputError("a jury needs at least two members, no two of them alike")
    names = " + ".join(f"{member.name} ({member.plan})" for member in members)
    digests = "+".join(sorted(member.digest for member in members))
    return EngineSetup(f"jury of {names}", "", (("Members", digests),), "jury")


def add_jury(store: EvaluationStore, members: Sequence[EngineSetup]) -> tuple[EngineSetup, int]:
    """Average the members' evaluations of every position that all of them have, and store it.

    Returns
    -------
    setup, positions
        The jury's set-up, and how many positions were new.
    """
    setup = jury_setup(members)
    store.add_setup(setup)
    frames = [store.read(member.digest) for member in members]
    rows: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for frame in frames:
        for row in frame.iter_rows(named=True):
            rows.setdefault((row["position"], row["played"]), []).append(row)
    known = store.keys(setup.digest)
    averaged = [
        average(each, setup.digest)
        for key, each in rows.items()
        if len(each) == len(members) and key not in known
    ]
    store.append(averaged)
    return setup, len(averaged)


def average(rows: Sequence[dict[str, Any]], setup: str) -> dict[str, Any]:
    """Return the average of several evaluations of one position.

    Moves that a member did not evaluate are left out. Depths are averaged one by one as far as all
    members went; if they went to different depths, the average of their final values comes last.
    Moves of equal worth stand in the first member's order.
    """
    shared = [move for move in rows[0]["moves"] if all(move in row["moves"] for row in rows[1:])]
    tables = [_values(row) for row in rows]
    common = min(len(row["cp"]) for row in rows)
    by_depth = [
        [_mean([table.get((depth, move)) for table in tables]) for move in shared]
        for depth in range(1, common + 1)
    ]
    final = [
        _mean([_final(row, table, move) for row, table in zip(rows, tables, strict=True)])
        for move in shared
    ]
    if any(len(row["cp"]) != common for row in rows):
        by_depth.append(final)
    elif by_depth:
        by_depth[-1] = final
    worth = [-MATE_CP if value is None else value for value in final]
    order = sorted(range(len(shared)), key=lambda place: (-worth[place], place))
    cp = [[level[place] for place in order] for level in by_depth]
    return {
        "position": rows[0]["position"],
        "played": rows[0]["played"],
        "setup": setup,
        "moves": [shared[place] for place in order],
        "cp": cp,
        "mate": [[None] * len(level) for level in cp],
        "nodes": sum(row["nodes"] for row in rows),
    }


def _values(row: dict[str, Any]) -> dict[tuple[int, str], int]:
    values = {}
    for depth, (cps, mates) in enumerate(zip(row["cp"], row["mate"], strict=True), start=1):
        for move, cp, mate in zip(row["moves"], cps, mates, strict=True):
            if mate is not None:
                values[depth, move] = MATE_CP - mate if mate > 0 else -MATE_CP - mate
            elif cp is not None:
                values[depth, move] = cp
    return values


def _final(row: dict[str, Any], table: dict[tuple[int, str], int], move: str) -> int | None:
    """The deepest value of a move."""
    depths = range(len(row["cp"]), 0, -1)
    return next((table[depth, move] for depth in depths if (depth, move) in table), None)


def _mean(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known)) if len(known) == len(values) and known else None
