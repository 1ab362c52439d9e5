"""The count ratio: was the judge's first move played more often than honest players play it?

The menu's alternatives say move by move whom a helper would have copied. A helper that searches
deeper than the judge often prefers the judge's second or third move: as a whole such play looks
like a stronger player, and the full likelihood forgives it. The plain count of first moves does
not, for it grows slowly with strength. So a part of the evidence ratio looks at nothing else:
whether the judge's first move was played, turn by turn. With m_t(θ) its probability for an agent,
help that agrees with the judge more often than chance has

    P_b(first move) = m e^b / (1 - m + m e^b),        b of `TILTS`,

(an exponential tilt of the count), and the ratio is

    E_c = mean over b of ∫ Π P_b π(θ) dθ / ∫ Π P_0 π(θ) dθ,

strengths of player and games integrated out as in `milepost.fairplay.evidence.ratio`. Under the
same null it is an e-value for what was counted, and so for the moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from milepost.choice.spreads import Floats, Ints

TILTS: Final = (0.25, 0.5, 1.0)
"""b, in log odds; all weigh the same."""
WEIGHT: Final = 0.5
"""What the count ratio weighs in E; the menu has the rest."""
_EDGE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class FirstMoves:
    """How likely the judge's first move is, on the turns of one performance."""

    chance: Floats
    """Its probability for an agent at each node of strength, turns × nodes."""
    starts: Ints
    """Game g has the turns ``starts[g]`` to ``starts[g + 1]``."""

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        p = np.clip(self.chance, _EDGE, 1 - _EDGE)
        return np.log(p), np.log(1 - p)

    @cached_property
    def _scales(self) -> Floats:
        """Σ ln(1 - m + m e^b) of each game, games × tilts × nodes."""
        each = np.log(1 + np.expm1(TILTS)[:, None] * self.chance[:, None, :])
        answer: Floats = np.add.reduceat(each, self.starts[:-1], axis=0)
        return answer

    def likelihoods(self, hit: Floats, mixing: Floats, first: int, last: int) -> Floats:
        """Return the log-likelihoods of the counts of some games, games × (1 + tilts) × strengths.

        Not tilted, then each tilt.

        Parameters
        ----------
        hit
            1 where the first move was played, of all turns.
        mixing
            Each game's own strength (columns) given the player's (rows).
        first, last
            The games, the last one not included.
        """
        at = slice(int(self.starts[first]), int(self.starts[last]))
        starts = self.starts[first:last] - at.start
        yes, no = self._logs
        each = np.where(hit[at, None] > 0, yes[at], no[at])
        alone = np.add.reduceat(each, starts, axis=0)[:, None]
        hits = np.add.reduceat(hit[at], starts)[:, None, None]
        shift = np.array(TILTS)[:, None] * hits - self._scales[first:last]
        rows = np.concatenate([alone, alone + shift], axis=1)
        top = rows.max(axis=2, keepdims=True)
        answer: Floats = np.log(np.exp(rows - top) @ mixing.transpose(0, 2, 1)) + top
        return answer
