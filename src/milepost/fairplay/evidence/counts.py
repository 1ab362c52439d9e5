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
from typing import Final

import numpy as np

from milepost.choice.logarithms import ln
from milepost.choice.spreads import Floats, Ints
from milepost.kernels import kernel, wide_kernel

TILTS: Final = (0.25, 0.5, 1.0)
"""b, in log odds; all weigh the same."""
WEIGHT: Final = 0.5
"""What the count ratio weighs in E; the menu has the rest."""
_EDGE: Final = 1e-9
"""No chance is taken to be closer to 0 or to 1."""
_AT_ONCE: Final = 32
"""The product of so many chances is a number whose logarithm can be taken."""


@dataclass(frozen=True, eq=False)
class FirstMoves:
    """How likely the judge's first move is, on the turns of one performance."""

    chance: Floats
    """Its probability for an agent at each node of strength, turns × nodes."""
    starts: Ints
    """Game g has the turns ``starts[g]`` to ``starts[g + 1]``."""

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
        rows = np.zeros((last - first, 1 + len(TILTS), self.chance.shape[1]))
        _add_counts(
            self.starts[first : last + 1], self.chance, hit, np.array(TILTS), np.expm1(TILTS), rows
        )
        top = rows.max(axis=2, keepdims=True)
        answer: Floats = np.log(np.exp(rows - top) @ mixing.transpose(0, 2, 1)) + top
        return answer


@kernel
def _add_counts(
    starts: Ints, chance: Floats, hit: Floats, tilts: Floats, gains: Floats, rows: Floats
) -> None:
    """Add the log-likelihoods of the counts of games by node: not tilted, then each tilt.

    Factors are multiplied, and the logarithm is taken of some turns together: one of each turn
    would be most of the work. `gains` are e^b - 1.
    """
    products = np.ones((1 + len(gains), chance.shape[1]))
    for game in range(len(starts) - 1):
        hits = 0.0
        for turn in range(starts[game], starts[game + 1]):
            hits += hit[turn]
            _multiply(chance, turn, hit[turn] > 0.0, gains, products)
            done = turn + 1 - starts[game]
            if done % _AT_ONCE == 0 or turn + 1 == starts[game + 1]:
                _take_logarithms(products, rows[game])
        for k in range(len(gains)):
            # What was summed for a tilt so far is the logarithm of its scale, Π (1 - m + m e^b).
            for n in range(chance.shape[1]):
                rows[game, 1 + k, n] = rows[game, 0, n] + tilts[k] * hits - rows[game, 1 + k, n]


@wide_kernel
def _multiply(chance: Floats, turn: int, hit: bool, gains: Floats, products: Floats) -> None:
    """Multiply by the chance of what was played on a turn, and by the scales of the tilts."""
    for n in range(chance.shape[1]):
        first = min(max(chance[turn, n], _EDGE), 1.0 - _EDGE)
        products[0, n] *= first if hit else 1.0 - first
    for k in range(len(gains)):
        for n in range(chance.shape[1]):
            products[1 + k, n] *= 1.0 + gains[k] * chance[turn, n]


@wide_kernel
def _take_logarithms(products: Floats, sums: Floats) -> None:
    """Add the logarithms of products to sums, and begin new products."""
    for k in range(products.shape[0]):
        for n in range(products.shape[1]):
            sums[k, n] += ln(products[k, n])
            products[k, n] = 1.0
