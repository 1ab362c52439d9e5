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
TOO_MANY_TIMES: Final = 20.0
"""Of n honest performances none may have a ratio over so many times n."""
MIDDLE, UNIT = 2200.0, 400.0
"""Lines over the rating: at 2200, and by how much they rise with 400 points."""
QUIET_MOVES, QUIET_PAWNS = 8, 0.2
"""A turn is quiet where so many moves lie within so many pawns of the best."""
LATE_MOVE = 61
"""From this move on a turn is late."""


FLOOR: Final = 0.02
"""A deep move that agents give less than this is taken for one that they give so much: among honest
players such moves were played as often (23 % of 74 turns under 0.01, 23 % of 615 from 0.01 to
0.05, by stockfish15.1-bullet)."""
_LEAST_P = 1e-6


def log_odds(p: Floats, floor: float = _LEAST_P) -> Floats:
    """Return ln p/(1 - p), of probabilities that are not below a floor."""
    kept = np.clip(p, floor, 1 - _LEAST_P)
    answer: Floats = np.log(kept / (1 - kept))
    return answer


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
    flatter: tuple[float, float] = (0.0, 0.0)
    """By how much b rises with the agents' log odds of the deep move, where the judge agrees and
    elsewhere. Below 0: what agents think next to impossible, honest players do find at times."""
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
    def enough(self) -> bool:
        """Whether so many honest performances were looked at that something can be said."""
        return len(self.ln_e) >= LEAST_HONEST

    @property
    def keeps_its_promise(self) -> bool:
        """Whether the ratios of honest performances look like e-values.

        Their mean is at most 1 within two standard errors. And none is over 20 n: if each of n is
        over x with a probability of at most 1/x, one of them is over 20 n once in twenty times.
        """
        count = len(self.ln_e)
        if not count:
            return False
        e = np.exp(np.minimum(self.ln_e, 600.0))
        error = float(e.std()) / np.sqrt(count)
        return bool(e.mean() <= 1 + 2 * error and e.max() <= TOO_MANY_TIMES * count)

    @property
    def counts(self) -> bool:
        """Whether it may change E: honest performances enough, and their ratios as they must be."""
        return self.enough and self.keeps_its_promise

    def share_above(self, ln_e: float) -> float | None:
        """Return (1 + honest ratios at least as high) / (1 + all); None = too few to say."""
        if not self.enough:
            return None
        above = len(self.ln_e) - int(np.searchsorted(self.ln_e, ln_e - 1e-12))
        return (1 + above) / (1 + len(self.ln_e))

    def tilt(self, ratings: Floats, kinds: TurnKinds, p: Floats) -> Floats:
        """Return b, turns × ratings.

        Parameters
        ----------
        ratings
            The ratings.
        kinds
            What kind of turn each one is.
        p
            The agents' probability of the deep move, turns × ratings.
        """
        x = (ratings - MIDDLE) / UNIT
        same = self.agreed[0] + self.agreed[1] * x
        apart = self.other[0] + self.other[1] * x
        agree = kinds.agree[:, None]
        more = self.kinds[0] * kinds.quiet + self.kinds[1] * kinds.late
        flatter = agree * self.flatter[0] + (1 - agree) * self.flatter[1]
        odds = log_odds(p, FLOOR)
        # Up to the floor first, then as measured.
        lines = agree * same + (1 - agree) * apart + more[:, None]
        answer: Floats = lines + flatter * odds + odds - log_odds(p)
        return answer

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "depth": self.depth,
            "agreed": list(self.agreed),
            "other": list(self.other),
            "sd": self.sd,
            "kinds": list(self.kinds),
            "flatter": list(self.flatter),
            "setup": self.setup,
            "rests_on": self.rests_on,
            "ln_e": [round(float(value), 4) for value in np.sort(self.ln_e)],
            "made": dict(self.made),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DeepPull:
        """Make one of what `to_dict` gave."""
        first, second = (tuple(map(float, values[name])) for name in ("agreed", "other"))
        kinds, flatter = (values.get(name, (0.0, 0.0)) for name in ("kinds", "flatter"))
        return cls(
            depth=int(values["depth"]),
            agreed=(first[0], first[1]),
            other=(second[0], second[1]),
            sd=float(values["sd"]),
            kinds=(float(kinds[0]), float(kinds[1])),
            flatter=(float(flatter[0]), float(flatter[1])),
            setup=str(values["setup"]),
            rests_on=str(values["rests_on"]),
            ln_e=np.sort(np.array(values["ln_e"], dtype=np.float64)),
            made=dict(values["made"]),
        )
