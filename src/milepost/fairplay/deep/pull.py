"""What is known of honest players and a deep search's moves; see `milepost.fairplay.deep.look`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from milepost.choice.spreads import Floats

DEPTH: Final = 12
"""Plies of the deep look: one line, the best move alone."""
LEAST_HONEST: Final = 30
"""Honest performances that must have been looked at deep before the look counts in E. With
fewer, a model wrong in some kind of position would not have shown itself, and people would pay."""
MIDDLE, UNIT = 2200.0, 400.0
"""Lines over the rating: at 2200, and by how much they rise with 400 points."""
QUIET_MOVES, QUIET_PAWNS = 8, 0.2
"""A turn is quiet where so many moves lie within so many pawns of the best."""
LATE_MOVE = 61
"""From this move on a turn is late."""


@dataclass(frozen=True, eq=False)
class TurnKinds:
    """What kind of turn each one is, as far as the pull is concerned: 1 or 0 each.

    Honest players find deep moves oftener in quiet turns and in long endings than agents do, and
    engines' games are full of both.
    """

    agree: Floats
    """The judge's best move is the deep one."""
    quiet: Floats
    """Many moves are nearly as good as the best."""
    late: Floats
    """The game is long already."""

    def __getitem__(self, rows: Any) -> TurnKinds:
        """Return those of some turns."""
        return TurnKinds(self.agree[rows], self.quiet[rows], self.late[rows])


@dataclass(frozen=True, eq=False)
class DeepPull:
    """How much likelier honest players take a deep search's move than agents do."""

    depth: int
    """Of that search."""
    agreed: tuple[float, float]
    """b where the judge's best move is the deep one: at 2200, and by how much more for 400 points
    of rating."""
    other: tuple[float, float]
    """b where it is another."""
    sd: float
    """σ: how b varies from player to player."""
    kinds: tuple[float, float] = (0.0, 0.0)
    """By how much b is greater in quiet turns, and in late ones."""
    setup: str = ""
    """Digest of the engine's set-up that it was measured with: of no other is anything known."""
    rests_on: str = ""
    """What it was measured on."""
    ln_e: Floats = field(default_factory=lambda: np.empty(0))
    """Logarithms of the evidence ratios of honest performances with the deep look, rising; each by
    a pull that was measured on other events."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How it was made."""

    @property
    def counts(self) -> bool:
        """Whether enough honest performances stand behind it to let it change E."""
        return len(self.ln_e) >= LEAST_HONEST

    def share_above(self, ln_e: float) -> float | None:
        """Return (1 + honest ratios at least as high) / (1 + all); None = too few to say."""
        if not self.counts:
            return None
        above = len(self.ln_e) - int(np.searchsorted(self.ln_e, ln_e - 1e-12))
        return (1 + above) / (1 + len(self.ln_e))

    def tilt(self, ratings: Floats, kinds: TurnKinds) -> Floats:
        """Return b, turns × ratings.

        Parameters
        ----------
        ratings
            The ratings.
        kinds
            What kind of turn each one is.
        """
        x = (ratings - MIDDLE) / UNIT
        same = self.agreed[0] + self.agreed[1] * x
        apart = self.other[0] + self.other[1] * x
        agree = kinds.agree[:, None]
        more = self.kinds[0] * kinds.quiet + self.kinds[1] * kinds.late
        answer: Floats = agree * same + (1 - agree) * apart + more[:, None]
        return answer

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "depth": self.depth,
            "agreed": list(self.agreed),
            "other": list(self.other),
            "sd": self.sd,
            "kinds": list(self.kinds),
            "setup": self.setup,
            "rests_on": self.rests_on,
            "ln_e": [round(float(value), 4) for value in np.sort(self.ln_e)],
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DeepPull:
        """Make one of what `to_dict` gave."""
        first, second = (tuple(map(float, values[name])) for name in ("agreed", "other"))
        kinds = values.get("kinds", (0.0, 0.0))
        return cls(
            depth=int(values["depth"]),
            agreed=(first[0], first[1]),
            other=(second[0], second[1]),
            sd=float(values["sd"]),
            kinds=(float(kinds[0]), float(kinds[1])),
            setup=str(values["setup"]),
            rests_on=str(values["rests_on"]),
            ln_e=np.sort(np.array(values["ln_e"], dtype=np.float64)),
            made=dict(values["made"]),
        )
