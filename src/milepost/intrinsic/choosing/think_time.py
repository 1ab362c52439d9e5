"""How long people think: a log-normal time, fitted to games with clocks.

ln(seconds) is normal. Its mean is linear in what is known before the move: the clock that is left,
the increment, the half-move, how many moves look alike (the entropy of the agent's choice), whether
the move takes back, and whether there is only one. The coefficients and their source are in
`data/think_time.json`, written by `scripts/write_think_time.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

TERMS = (
    "constant", "ln_left", "ln_left_squared", "ln_increment", "opening", "late", "entropy",
    "recapture", "trouble",
)  # fmt: skip
"""What the mean of ln(seconds) is linear in."""
OPENING_PLIES = 20.0
TROUBLE_SECONDS = 60.0


@dataclass(frozen=True)
class Moment:
    """What is known before a move, as far as thinking time goes."""

    left_seconds: float
    """On the clock."""
    increment_seconds: float
    """What every move adds."""
    ply: int
    """Half-moves before this one."""
    entropy: float
    """Of the choice, in nats."""
    recapture: bool
    """Whether the likeliest move takes back."""

    @property
    def terms(self) -> list[float]:
        """The numbers of `TERMS`."""
        left = math.log1p(max(self.left_seconds, 0.0))
        return [
            1.0,
            left,
            left**2,
            math.log1p(max(self.increment_seconds, 0.0)),
            math.exp(-self.ply / OPENING_PLIES),
            max(self.ply - 40, 0) / 40.0,
            self.entropy,
            1.0 if self.recapture else 0.0,
            1.0 if self.left_seconds < TROUBLE_SECONDS else 0.0,
        ]


@dataclass(frozen=True)
class ThinkTimes:
    """The log-normal times of people."""

    coefficients: Mapping[str, float]
    """Of the mean of ln(seconds), by `TERMS`."""
    sd: float
    """Standard deviation of ln(seconds)."""
    made: Mapping[str, Any]
    """What it was fitted to, and how well it fits."""

    def mean_ln(self, moment: Moment) -> float:
        """Return the mean of ln(seconds)."""
        weights = [self.coefficients[name] for name in TERMS]
        return float(np.dot(weights, moment.terms))

    def draw(self, moment: Moment, rng: np.random.Generator) -> float:
        """Draw a thinking time, in seconds."""
        return math.exp(self.mean_ln(moment) + self.sd * float(rng.standard_normal()))


@cache
def think_times() -> ThinkTimes:
    """Return the times that come with the package."""
    text = resources.files("milepost.data").joinpath("think_time.json").read_text(encoding="utf-8")
    values = json.loads(text)
    return ThinkTimes(values["coefficients"], float(values["sd"]), values["made"])


_SPEED_SECONDS = (1.5, 5.0, 30.0, 120.0)
_SPEED_ELO = (-1000.0, -720.0, -230.0, 0.0)
"""Elo by moves less rating, against classical games, by seconds a move. Rapid and blitz are our own
measurement, each with a standard error of about 250 (docs/papers2011.md, `2011-speeds`); bullet is
the same slope carried on."""


def clock_offset(seconds_a_move: float) -> float:
    """Return by how much play at a time control is weaker than classical play, in Elo (0 or less).

    Rough: see the figures' errors beside them.
    """
    at = math.log(max(seconds_a_move, 0.1))
    return float(np.interp(at, np.log(_SPEED_SECONDS), _SPEED_ELO))
