"""Playing maps: which rule plays a game as strongly as people of an Elo do.

The agents of a calibration say how probable people's moves are to somebody who sees what the plan
sees. That is right for ratings and guesses, but it is no way to play. People know much that a
shallow search does not show. The agent makes up for it with a wider choice, so whoever draws moves
from it errs as often as people do by the plan's own values, but at random where people know better.
Judged by a deeper search, such a player is far too weak.

A playing map mends that. For each Elo it names a rule of three figures: an agent (by the Elo it has
on the calibration's path), a sharpness and a caution. Moves are drawn in proportion to
p^sharpness exp(-caution x), where x is what a move gives away beyond 0.3 pawns by the plan's own
values. They are chosen by `scripts/write_playing.py` on human turns that were evaluated more
deeply. Within three pawns the deeper calibration must rate the rule at just that Elo, and see it
slip as people of that Elo do; in decided positions, where nobody is rated, it must slip as people
do. Where no rule can do so, the map ends: a plan does not claim an Elo that it cannot play.

Caution is there because a shallow plan slips in two ways. It cannot see some slips at all, and
people do not make those. So it must make fewer of those that it can see.

One file a set-up, of figures only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from milepost.choice.spreads import Floats
from milepost.errors import InputError

SCHEMA = 2
NEAR, DECIDED = "near", "decided"
"""The parts of a map: within three pawns, and beyond."""
PARTS = (NEAR, DECIDED)
_SHIPPED = "milepost.data.playing"
CAUTION_FROM, CAUTION_MOST = 0.3, 4.0
"""Pawns given away that caution does not mind, and how many more count at most."""


@dataclass(frozen=True)
class Rule:
    """How to play like one Elo."""

    agent: float
    """The Elo of the agent on its path."""
    sharpness: float = 1.0
    """Probabilities are raised to this power."""
    caution: float = 0.0
    """How much rarer a move becomes, in logarithms, for each pawn that it gives away."""

    def apply(self, probabilities: Floats, losses: Floats) -> Floats:
        """Return the agent's probabilities for the moves of one position, as they are played.

        Parameters
        ----------
        probabilities
            As the agent chooses.
        losses
            What each move gives away by the plan's own values, in pawns.
        """
        with np.errstate(divide="ignore"):
            ln_p = np.log(probabilities)
        ln_p = self.sharpness * ln_p - self.caution * minded(losses)
        shares = np.exp(ln_p - ln_p.max())
        answer: Floats = shares / shares.sum()
        return answer


def minded(losses: Floats) -> Floats:
    """Return what caution minds of the pawns that moves give away."""
    answer: Floats = np.clip(losses - CAUTION_FROM, 0.0, CAUTION_MOST)
    return answer


@dataclass(frozen=True, eq=False)
class PlayingMap:
    """The rules by which one set-up of an engine plays like an Elo."""

    setup: str
    """Digest of the engine set-up."""
    agents: str
    """The calibration whose agents are sharpened."""
    decided: str
    """The calibration whose agents for decided positions are sharpened there."""
    judge: str
    """The calibration that rates them."""
    rules: Mapping[str, Floats]
    """For each of `PARTS` a table with rising Elo: the Elo, then the figures of its `Rule`."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns that the parts rest on."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made, and what the judge says of it."""

    def __post_init__(self) -> None:
        for part in PARTS:
            table = self.rules.get(part)
            if table is None or table.ndim != 2 or table.shape[1] != 4 or len(table) < 2:
                raise InputError(f"a playing map needs rules for positions that are {part}")
            rising = (np.diff(table[:, 0]) > 0).all()
            if not (rising and (table[:, 2] > 0).all() and (table[:, 3] >= 0).all()):
                raise InputError(
                    "the rules of a playing map rise with Elo, sharpness over 0, caution from 0"
                )

    @property
    def range(self) -> tuple[float, float]:
        """The Elos that it can play at."""
        table = self.rules[NEAR]
        return float(table[0, 0]), float(table[-1, 0])

    def rule(self, elo: float, part: str = NEAR) -> Rule:
        """Return the rule for an Elo; beyond the ends as at the ends."""
        table = self.rules[part]
        return Rule(*(float(np.interp(elo, table[:, 0], column)) for column in table[:, 1:].T))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "schema": SCHEMA,
            "setup": self.setup,
            "agents": self.agents,
            "decided": self.decided,
            "judge": self.judge,
            "rules": {part: self.rules[part].tolist() for part in PARTS},
            "counts": dict(self.counts),
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Any, *, source: str = "this") -> PlayingMap:
        """Make it of what `to_dict` gave.

        Raises
        ------
        InputError
            If it is none.
        """
        if not isinstance(values, Mapping) or values.get("schema") != SCHEMA:
            raise InputError(f"{source} holds no playing map")
        try:
            return cls(
                setup=str(values["setup"]),
                agents=str(values["agents"]),
                decided=str(values["decided"]),
                judge=str(values["judge"]),
                rules={part: np.array(values["rules"][part], dtype=np.float64) for part in PARTS},
                counts=dict(values["counts"]),
                made=dict(values["made"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{source} holds a damaged playing map: {error}") from error


@cache
def playing_maps() -> dict[str, PlayingMap]:
    """Return the playing maps that come with the package, by set-up."""
    found = {}
    for file in sorted(resources.files(_SHIPPED).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".json"):
            values = json.loads(file.read_text(encoding="utf-8"))
            one = PlayingMap.from_dict(values, source=file.name)
            found[one.setup] = one
    return found
