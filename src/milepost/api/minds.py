"""What the bot thinks with: its plans, their agents, and the Elos that each of them can play at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from milepost.analysis.engine.setup import EngineSetup, readable_setup
from milepost.analysis.plans import Plan, make_plan
from milepost.analysis.run.run import engine_setup
from milepost.errors import InputError, NoCalibrationError
from milepost.intrinsic.calibration.calibration import (
    Calibration,
    calibration_for,
    load_calibration,
)
from milepost.intrinsic.choosing.choose import Chooser
from milepost.intrinsic.choosing.decided import decided_for
from milepost.intrinsic.choosing.personal import PersonalAgent
from milepost.intrinsic.choosing.playing import playing_maps

PLANS = ("bullet", "blitz", "quick", "standard")
"""The plans that the bot plays by, the cheapest first."""
PLAN = "quick"
"""What it plays by, unless told otherwise or in haste."""
_BLITZ_DEPTH = 8
_LOOK_AGAIN = {"bullet": "blitz", "blitz": "quick"}
"""Which plan looks again where a plan finds the position decided.

Far ahead, Stockfish prunes nearly everything at small depths: a search to depth 6 may have a
hundred nodes and not see that a move allows mate in one. Depth 8 is cheap there, and sees it; but
by depth 8 alone bots of 2300 and more won fewer of such positions than weaker ones did.
"""


def bot_plan(name: str) -> Plan:
    """Return a plan of the bot by its name: *blitz* is the beginning of *quick*, to depth 8.

    Raises
    ------
    InputError
        If it is not one of `PLANS`.
    """
    if name not in PLANS:
        raise InputError(f"the bot's plans are {', '.join(PLANS)}; got {name!r}")
    return make_plan(PLAN, depth=_BLITZ_DEPTH) if name == "blitz" else make_plan(name)


@dataclass(frozen=True, eq=False)
class Mind:
    """What the bot thinks with under one plan."""

    name: str
    """The plan's name, one of `PLANS`."""
    plan: Plan
    """How the engine searches."""
    chooser: Chooser
    """The agents that were calibrated for it."""
    decided: Mind | None = None
    """Who looks again in decided positions; None = nobody needs to."""

    @property
    def range(self) -> tuple[float, float]:
        """The whole Elos that it can play at."""
        return whole_elos(self.chooser.playing_range)


def whole_elos(ends: tuple[float, float]) -> tuple[float, float]:
    return float(np.ceil(ends[0])), float(np.floor(ends[1]))


def shipped_ranges() -> dict[str, tuple[float, float]]:
    """Return the Elos that each plan can play at with the shipped engine set-up."""
    maps = {each.made["plan"]: each.range for each in playing_maps().values()}
    return {
        name: whole_elos(
            maps[name] if name in maps else load_calibration(f"stockfish15.1-{name}").range
        )
        for name in PLANS
    }


def cheapest_plan(elo: float | None) -> str:
    """Return the cheapest plan that can play at an Elo; the usual one if none can."""
    for name, (low, high) in shipped_ranges().items():
        if elo is not None and low <= elo <= high:
            return name
    return PLAN


def usual_plan(agent: PersonalAgent | None = None) -> str:
    """Return the plan that the bot plays by: that of a person's agent, else the usual one."""
    if agent is not None:
        for name in PLANS:
            if agent.setup_text.endswith(bot_plan(name).text):
                return name
    return PLAN


def out_of_range(plan: str, ends: tuple[float, float], elo: float) -> str:
    """Say that a plan cannot play at an Elo, and which one can."""
    said = f"the plan {plan} plays at Elo {ends[0]:.0f} to {ends[1]:.0f}, got {elo:g}"
    other = cheapest_plan(elo)
    low, high = shipped_ranges()[other]
    return f"{said}; the plan {other} can" if low <= elo <= high else said


def find_minds(
    program: str | Path,
    plan: str = PLAN,
    calibration: Calibration | str | Path | None = None,
    agent: PersonalAgent | None = None,
) -> tuple[EngineSetup, list[Mind]]:
    """Return the set-up of an engine, and what to think with: a plan and the cheaper ones.

    Raises
    ------
    InputError
        If the plan is not one of `PLANS`, or the calibration is for another set-up.
    NoCalibrationError
        If the package has none for this engine.
    """
    wanted = bot_plan(plan)
    setup = engine_setup(program, wanted, {})
    minds = []
    for name in reversed(PLANS[: PLANS.index(plan) + 1]):
        try:
            mind = _mind(setup, name, calibration if name == plan else None, agent)
        except NoCalibrationError as error:
            if name != plan:
                continue  # a cheaper plan without one is no plan to fall back to
            raise NoCalibrationError(_no_calibration(setup)) from error
        again = _LOOK_AGAIN.get(name)
        if again is not None and mind.chooser.playing is not None:
            mind = replace(mind, decided=_mind(setup, again, None, agent))
        minds.append(mind)
    return setup, minds


def _mind(
    setup: EngineSetup,
    name: str,
    calibration: Calibration | str | Path | None,
    agent: PersonalAgent | None,
) -> Mind:
    """What to think with under one plan.

    Raises
    ------
    NoCalibrationError
        If the package has no calibration for it, and none is given.
    """
    plan = bot_plan(name)
    digest = replace(setup, plan=plan.text).digest
    playing = playing_maps().get(digest)
    if calibration is not None:
        known = calibration
        known = known if isinstance(known, Calibration) else load_calibration(known)
        _refuse_other_plan(known, setup, name)
        known.refuse_other(digest)
    else:
        known = load_calibration(playing.agents if playing else calibration_for(digest))
    if playing is not None and playing.agents != known.name:
        playing = None  # it is about other agents
    shift = agent.shift if agent is not None and agent.setup == known.setup else None
    decided = None if playing is None else decided_for(load_calibration(playing.decided).setup)
    chooser = Chooser(known, decided_for(known.setup), shift, playing, decided)
    return Mind(name, plan, chooser)


def _refuse_other_plan(known: Calibration, setup: EngineSetup, name: str) -> None:
    """Say which plan a calibration is for, if it is for this engine but not for this plan.

    Raises
    ------
    InputError
        If so.
    """
    for other in PLANS:
        if other != name and replace(setup, plan=bot_plan(other).text).digest == known.setup:
            raise InputError(
                f"the calibration {known.name} is for the plan {other}, and this is {name}: ask "
                f"for the plan {other}, or give a calibration for {name}"
            )


def _no_calibration(setup: EngineSetup) -> str:
    return (
        f"no calibration comes with the package for {readable_setup(setup.as_dict())}: the shipped "
        "ones are for Stockfish 15.1 (Debian: apt-get install stockfish); milepost.bridge carries "
        "one over to another engine"
    )
