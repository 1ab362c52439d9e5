"""Juries: the evaluations of several engines or depths, averaged into one.

Each member's evaluations stay in the store under their own set-up; the average is stored beside
them under a set-up of its own, which names the members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.store import EvaluationStore
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
    tables = [
        {(row["position"], row["played"]): row for row in store.read(member.digest).to_dicts()}
        for member in members
    ]
    known = store.keys(setup.digest)
    averaged = []
    for position, played in dict.fromkeys(key for table in tables for key in table):
        # A plan that does not look at the played move has one evaluation for whichever it is.
        each = [table.get((position, played)) or table.get((position, None)) for table in tables]
        rows = [row for row in each if row is not None]
        if len(rows) == len(members) and (position, played) not in known:
            found = average(rows, setup.digest)
            if found["moves"] or not any(row["moves"] for row in rows):
                averaged.append(found)
    store.append(averaged)
    return setup, len(averaged)


def average(rows: Sequence[dict[str, Any]], setup: str) -> dict[str, Any]:
    """Return the average of several evaluations of one position.

    Depths are averaged one by one as far as all members went. If they went to different depths,
    the jury's verdict, the average of what each member says at its own full depth, stands at the
    greatest depth of all, and there is nothing at the depths between. A move has a value only where
    every member has one; a shallower value of a move never takes the place of one that is missing.
    Moves with a verdict come first, by its value; others behind, the deeper ones first; equal ones
    in the first member's order. Moves that have no value anywhere are left out. The nodes are not
    known if a member's are not.
    """
    shared = [move for move in rows[0]["moves"] if all(move in row["moves"] for row in rows[1:])]
    tables = [_values(row) for row in rows]
    depths = [len(row["cp"]) for row in rows]
    common, last = min(depths), max(depths)
    means: dict[tuple[int, str], int] = {}
    for move in shared:
        for depth in range(1, last + 1):
            places = [depth] * len(rows)
            if depth > common:
                if depth < last:
                    continue
                places = depths
            found = [table.get((at, move)) for table, at in zip(tables, places, strict=True)]
            mean = _mean(found)
            if mean is not None:
                means[depth, move] = mean
    deepest = {move: depth for depth, move in sorted(means)}
    moves = sorted(
        (move for move in shared if move in deepest),
        key=lambda move: (-deepest[move], -means[deepest[move], move]),
    )
    cp = [
        [means.get((depth, move)) for move in moves]
        for depth in range(1, max(deepest.values(), default=0) + 1)
    ]
    nodes = [row["nodes"] for row in rows]
    return {
        "position": rows[0]["position"],
        "played": next((row["played"] for row in rows if row["played"] is not None), None),
        "setup": setup,
        "moves": moves,
        "cp": cp,
        "mate": [[None] * len(level) for level in cp],
        "nodes": None if None in nodes else sum(nodes),
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


def _mean(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known)) if len(known) == len(values) and known else None
