"""Juries: the evaluations of several engines or depths, averaged into one.

Each member's evaluations stay in the store under their own set-up; the average is stored beside
them under a set-up of its own, which names the members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from milepost.analysis.engine.search_output import MATE_CP, Value
from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError


@dataclass(frozen=True)
class Member:
    """One member of a jury: an engine, and what it searches."""

    plan: Plan
    """What to search."""
    engine: str | None = None
    """The engine; see `milepost.analysis.engine.setup.find_engine`."""


def parse_member(text: str, first: Member) -> Member:
    """Return the member that differs from the first one as a text says, such as ``depth=12``.

    Parameters
    ----------
    text
        ``engine=``, ``plan=``, ``depth=`` or ``width=``, several of them separated by semicolons.
    first
        What holds for all that the text does not name. With another plan, depth and width are that
        plan's own.

    Raises
    ------
    InputError
        If the text is not of that form, or a number is not at least 1.
    """
    given: dict[str, str] = {}
    for part in text.split(";"):
        key, equals, value = part.strip().partition("=")
        if key not in ("engine", "plan", "depth", "width") or not equals:
            raise InputError(f"a jury: expected engine=, plan=, depth= or width=, got {part!r}")
        given[key] = value
    try:
        numbers = {name: int(given[name]) for name in ("depth", "width") if name in given}
    except ValueError:
        raise InputError(f"a jury: depth and width are numbers: {text!r}") from None
    if min(numbers.values(), default=1) < 1:
        raise InputError(f"a jury: depth and width are at least 1: {text!r}")
    name = given.get("plan", first.plan.name)
    if name == first.plan.name:
        numbers.setdefault("depth", first.plan.depth)
        if name == "multipv":
            numbers.setdefault("width", first.plan.width)
    plan = make_plan(
        name,
        depth=numbers.get("depth"),
        width=numbers.get("width"),
        timeout=first.plan.timeout,
    )
    return Member(plan, given.get("engine", first.engine))


def jury_setup(members: Sequence[EngineSetup]) -> EngineSetup:
    """Return the set-up under which the average of these members is stored."""
    if len(members) < 2 or len({member.digest for member in members}) < len(members):
        raise InputError("a jury needs at least two members, no two of them alike")
    names = " + ".join(f"{member.name} ({member.plan})" for member in members)
    digests = "+".join(sorted(member.digest for member in members))
    options = (("Mate", str(MATE_CP)), ("Members", digests))
    return EngineSetup(f"jury of {names}", "", options, "jury")


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
    in the first member's order. Moves that have no value anywhere are left out. Mates are averaged
    as `Value.cents`, on the scale that spreads have too; where all members see a mate for the same
    side, so does the jury. The nodes are not known if a member's are not.
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
    levels = [
        [Value.of_cents(means[depth, move]) if (depth, move) in means else None for move in moves]
        for depth in range(1, max(deepest.values(), default=0) + 1)
    ]
    nodes = [row["nodes"] for row in rows]
    return {
        "position": rows[0]["position"],
        "played": next((row["played"] for row in rows if row["played"] is not None), None),
        "setup": setup,
        "moves": moves,
        "cp": [[value and value.cp for value in level] for level in levels],
        "mate": [[value and value.mate for value in level] for level in levels],
        "nodes": None if None in nodes else sum(nodes),
    }


def _values(row: dict[str, Any]) -> dict[tuple[int, str], int]:
    values = {}
    for depth, (cps, mates) in enumerate(zip(row["cp"], row["mate"], strict=True), start=1):
        for move, cp, mate in zip(row["moves"], cps, mates, strict=True):
            if mate is not None or cp is not None:
                values[depth, move] = Value(cp, mate).cents
    return values


def _mean(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known)) if len(known) == len(values) and known else None
