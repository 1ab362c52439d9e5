"""Agents for decided positions: where one side is more than three pawns ahead.

Calibrations rest on turns within three pawns (Regan & Haworth 2011), so their agents say nothing of
how people convert or resist. These agents are fitted, by `scripts/write_decided.py`, to the turns
beyond: how probable each move was for people of a given Elo, with values by depth, as the others
are. One file a set-up, of figures only.

Two rules of their own stand beside the fit. Of mates the nearer is the better, whatever its
distance: `mate_ladder` gives mates a worth on which agents can tell them apart. And against a bare
king people play by technique, not by values: see `milepost.intrinsic.choosing.technique`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

import numpy as np

from milepost.analysis.engine.search_output import LEAST_MATE_CP, MATE_CP
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.paths import AgentPath, path_from_dict

LIMIT_PAWNS = 3.0
"""Beyond this the position counts as decided; what calibrations leave out."""
SCHEMA = 1
_SHIPPED = "milepost.data.decided"


@dataclass(frozen=True, eq=False)
class DecidedAgents:
    """Agents along Elo for decided positions, for one set-up of an engine."""

    setup: str
    """Digest of the engine set-up."""
    path: AgentPath
    """The agent of each rating."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns and games they rest on."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How they were made, and how well they predict."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "schema": SCHEMA,
            "setup": self.setup,
            "counts": dict(self.counts),
            "path": self.path.to_dict(),
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Any, *, source: str = "this") -> DecidedAgents:
        """Make it of what `to_dict` gave.

        Raises
        ------
        InputError
            If it is none.
        """
        if not isinstance(values, Mapping) or values.get("schema") != SCHEMA:
            raise InputError(f"{source} holds no agents for decided positions")
        try:
            return cls(
                setup=str(values["setup"]),
                path=path_from_dict(values["path"]),
                counts=dict(values["counts"]),
                made=dict(values["made"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{source} holds damaged agents: {error}") from error


def decided_for(setup: str) -> DecidedAgents | None:
    """Return the agents for decided positions that come with the package; None = there are none."""
    for file in sorted(resources.files(_SHIPPED).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".json"):
            found = DecidedAgents.from_dict(
                json.loads(file.read_text(encoding="utf-8")), source=file.name
            )
            if found.setup == setup:
                return found
    return None


MOST_PAWNS = 15.0
"""More than this is no more to a human, short of a mate."""
MATE_STEP = 10.0
"""A mate in n is worth so many pawns, divided by n, on top of that."""


def mate_ladder(values: Floats) -> Floats:
    """Return values in pawns with mates brought near: ±(15 + 10/n), other values within ±15.

    Among the engine's values a mate lies 300 pawns up, where the log scale cannot tell a mate in
    one from a lost queen. People can: the nearer a mate, the more it stands out.
    """
    size = np.abs(values)
    mates = size > LEAST_MATE_CP / 100
    moves = np.maximum(np.round((MATE_CP / 100 - size) * 100), 1.0)
    worth = np.where(mates, MOST_PAWNS + MATE_STEP / moves, np.minimum(size, MOST_PAWNS))
    answer: Floats = np.copysign(worth, values)
    return answer


def on_mate_ladder(spreads: Spreads) -> Spreads:
    """Return decisions with their values on the mate ladder; the order of the options stays."""
    table = spreads.depth_values
    return replace(
        spreads,
        values=mate_ladder(spreads.values),
        depth_values=None if table is None else mate_ladder(table),
    )
