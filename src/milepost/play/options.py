"""The UCI options of the bot: what it declares, and what a value may be.

Nothing heavy is imported here: a GUI asks for the options before anything else, and some wait only
a moment for the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from milepost.errors import InputError

PLANS = ("bullet", "blitz", "quick", "standard")
USUAL_PLAN = "quick"
CHOICES = ("sample", "likeliest")
THINK_TIMES = ("instant", "human", "fixed")
EMPTY = "<empty>"
"""How UCI writes an empty text."""


@dataclass(frozen=True)
class Option:
    """An option as UCI declares it."""

    name: str
    """Its name."""
    kind: str
    """spin, check, combo or string."""
    default: str
    """The value it begins with."""
    least: int | None = None
    """spin: the least value."""
    most: int | None = None
    """spin: the greatest value."""
    choices: tuple[str, ...] = ()
    """combo: the values."""

    @property
    def line(self) -> str:
        """The line that declares it."""
        text = f"option name {self.name} type {self.kind} default {self.default or EMPTY}"
        if self.kind == "spin":
            text += f" min {self.least} max {self.most}"
        return text + "".join(f" var {choice}" for choice in self.choices)

    def read(self, value: str) -> str | None:
        """Return a value as it is kept; None = it is not possible."""
        if self.kind == "check":
            return value.lower() if value.lower() in ("true", "false") else None
        if self.kind == "combo":
            return next((each for each in self.choices if each.lower() == value.lower()), None)
        if self.kind == "spin":
            try:
                number = int(value)
            except ValueError:
                return None
            assert self.least is not None
            assert self.most is not None
            return str(min(max(number, self.least), self.most))
        return "" if value == EMPTY else value

    def bounded(self, value: str) -> str | None:
        """Say that a value is kept within the bounds of the option; None = it lies within them."""
        kept = self.read(value)
        if self.kind != "spin" or kept is None or int(kept) == int(value):
            return None
        if self.least == self.most:
            return f"{self.name} is fixed at {kept}: with {value} no calibration would hold"
        return f"{self.name} takes {self.least} to {self.most}: {kept} is used, not {int(value)}"


def playing_range(plan: str) -> tuple[int, int]:
    """Return the Elos that a plan can play at, without loading more than a small file."""
    data = resources.files("milepost.data")
    file = data.joinpath("playing").joinpath(f"stockfish15.1-{plan}.json")
    if file.is_file():
        rules = json.loads(file.read_text(encoding="utf-8"))["rules"]["near"]
        low, high = rules[0][0], rules[-1][0]
    else:
        file = data.joinpath("calibrations").joinpath(f"stockfish15.1-{plan}.json")
        low, high = json.loads(file.read_text(encoding="utf-8"))["range"]
    return int(-(-low // 1)), int(high // 1)


def plan_of(agent: str | None) -> str:
    """Return the plan that a person's agent was fitted with; without one, the usual plan.

    Raises
    ------
    InputError
        If the file cannot be read, or holds no agent. What else is wrong is told when it is loaded.
    """
    if agent is None:
        return USUAL_PLAN
    try:
        values = json.loads(Path(agent).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"the agent {agent} cannot be read: {error.strerror or error} "
            "(milepost personify makes one)"
        ) from error
    except ValueError as error:
        raise InputError(
            f"{agent} is no agent of a person: it is no JSON (milepost personify makes one)"
        ) from error
    setup = values.get("setup_text") if isinstance(values, dict) else None
    if not isinstance(setup, str):
        raise InputError(f"{agent} holds no agent of a person (milepost personify makes one)")
    plan = setup.rpartition(", ")[2].partition(" ")[0]
    return plan if plan in PLANS else USUAL_PLAN


def declare(given: Mapping[str, str]) -> dict[str, Option]:
    """Return the options, some with other defaults than usual.

    Parameters
    ----------
    given
        What the command line asks for, by the options' names.
    """
    low, high = playing_range(given.get("Plan", USUAL_PLAN))
    options = [
        Option("UCI_LimitStrength", "check", "true"),
        Option("UCI_Elo", "spin", "1800", low, high),
        Option("UCI_Opponent", "string", ""),
        Option("UCI_AnalyseMode", "check", "false"),
        Option("UCI_ShowWDL", "check", "false"),
        Option("Ponder", "check", "false"),
        Option("MultiPV", "spin", "1", 1, 256),
        Option("Hash", "spin", "16", 16, 16),
        Option("Threads", "spin", "1", 1, 1),
        Option("Move Overhead", "spin", "50", 0, 5000),
        Option("SyzygyPath", "string", ""),
        Option("OwnBook", "check", "true"),
        Option("BookFile", "string", ""),
        Option("BookDepth", "spin", "8", 0, 40),
        Option("Agent", "string", ""),
        Option("Calibration", "string", ""),
        Option("Plan", "combo", USUAL_PLAN, choices=PLANS),
        Option("Choice", "combo", "sample", choices=CHOICES),
        Option("Seed", "spin", "-1", -1, 2**31 - 1),
        Option("Form", "spin", "0", 0, 300),
        Option("ThinkTime", "combo", "instant", choices=THINK_TIMES),
        Option("ClockStrength", "check", "false"),
    ]
    return {
        option.name: replace(option, default=option.read(given[option.name]) or option.default)
        if option.name in given
        else option
        for option in options
    }
