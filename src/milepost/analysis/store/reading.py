"""Evaluations of a store, read as those of a plan that they hold as their first depths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from milepost.analysis.engine.setup import EngineSetup, choose_setup
from milepost.analysis.plans import Plan, parse_plan
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import InputError


@dataclass(frozen=True)
class Reading:
    """Which evaluations of a store are read, and as what."""

    stored: str
    """Digest of the set-up under which they are stored."""
    setup: str
    """Digest of the set-up as which they are read."""
    details: dict[str, Any] = field(default_factory=dict)
    """That set-up; `cut_from` is there if it is not the stored one."""
    depth: int | None = None
    """How many of their depths are taken; `None` = all."""


def find_reading(
    store: EvaluationStore, setup: str | None = None, plan: Plan | None = None
) -> Reading:
    """Return which set-up of a store to read, by its digest, by a plan, or because it is the only.

    Parameters
    ----------
    store
        The store.
    setup
        Digest, or its beginning, of the set-up wanted, where several fit.
    plan
        The plan wanted: evaluations of it, or else of a plan that holds it, cut to its depth.

    Raises
    ------
    InputError
        If no set-up fits, or several do.
    """
    known = store.known_setups()
    if plan is None:
        digest = store.pick_setup(setup)
        return Reading(digest, digest, known.get(digest, {}))
    stored = store.stored_setups()
    readings = [
        reading
        for digest in stored
        if (reading := _read_as(digest, known.get(digest, {}), plan)) is not None
        and (setup is None or any(each.startswith(setup) for each in (digest, reading.setup)))
    ]
    exact = [reading for reading in readings if reading.depth is None]
    fitting = {reading.stored: reading for reading in exact or readings}
    if not fitting:
        raise InputError(
            f"the store {store.folder} holds no evaluations of the plan {plan.text}, nor of one "
            "that holds it: analyse the games with it"
        )
    return fitting[choose_setup(list(fitting), known, None)]


def _read_as(digest: str, about: dict[str, Any], plan: Plan) -> Reading | None:
    own = parse_plan(str(about.get("plan", "")))
    if own is None or not (own.text == plan.text or own.holds(plan)):
        return None
    if own.text == plan.text:
        return Reading(digest, digest, about)
    options = tuple(sorted(about["options"].items()))
    setup = EngineSetup(about["name"], about["net"], options, plan.text)
    details = {**setup.as_dict(), "cut_from": f"{digest}, {own.text}"}
    return Reading(digest, setup.digest, details, plan.depth)
