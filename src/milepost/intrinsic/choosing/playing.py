"""Playing maps: which rule plays a game as strongly as people of an Elo do.

The agents of a calibration say how probable people's moves are to somebody who sees what the plan
sees. That is right for ratings and guesses, but it is no way to play. People know much that a
shallow search does not show. The agent makes up for it with a wider choice, so whoever draws moves
from it errs as often as people do by the plan's own values, but at random where people know better.
Judged by a deeper search, such a player is far too weak.

A playing map mends that. For each Elo it names an agent (by the Elo it has on the calibration's
path, mostly a greater one) and a sharpness: moves are drawn in proportion to p^sharpness. The two
are chosen by `scripts/write_playing.py` on human turns that were evaluated more deeply, so that the
deeper calibration rates the rule at just that Elo and sees it slip as people of that Elo do. Where
no rule can do so, the map ends: a plan does not claim an Elo that it cannot play.

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

SCHEMA = 1
NEAR, DECIDED = "near", "decided"
"""The parts of a map: within three pawns, and beyond."""
PARTS = (NEAR, DECIDED)
_SHIPPED = "milepost.data.playing"


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
    """For each of `PARTS` a table with rising Elo: the Elo, that of the agent, the sharpness."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns that the parts rest on."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made, and what the judge says of it."""

    def __post_init__(self) -> None:
        for part in PARTS:
            table = self.rules.get(part)
            if table is None or table.ndim != 2 or table.shape[1] != 3 or len(table) < 2:
                raise InputError(f"a playing map needs rules for positions that are {part}")
            if not (np.diff(table[:, 0]) > 0).all() or not (table[:, 2] > 0).all():
                raise InputError("the rules of a playing map rise with Elo, all sharpness over 0")

    @property
    def range(self) -> tuple[float, float]:
        """The Elos that it can play at."""
        table = self.rules[NEAR]
        return float(table[0, 0]), float(table[-1, 0])

    def rule(self, elo: float, part: str = NEAR) -> tuple[float, float]:
        """Return the agent's Elo and the sharpness for an Elo; beyond the ends as at the ends."""
        table = self.rules[part]
        agent = np.interp(elo, table[:, 0], table[:, 1])
        return float(agent), float(np.interp(elo, table[:, 0], table[:, 2]))

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


def sharpened(probabilities: Floats, sharpness: float) -> Floats:
    """Return probabilities in proportion to p^sharpness."""
    with np.errstate(divide="ignore"):
        ln_p = sharpness * np.log(probabilities)
    shares = np.exp(ln_p - ln_p.max())
    answer: Floats = shares / shares.sum()
    return answer
