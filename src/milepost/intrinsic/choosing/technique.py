"""Technique: how a move is chosen against a bare king, and where a mate is near.

People who can mate with a rook do so by a method, which values to a small depth do not show: all
moves keep the win, and the steps towards the mate are hundredths of a pawn. Nobody has fitted this:
few games go on so far. So it is a rule. A move is the likelier the nearer it brings the mate, as
the engine sees it: P ∝ exp(v / τ), where v are pawns, and a mate in n is worth 100 - n/2 of them.
τ falls with Elo.

The fitted agents for decided positions have seen 45 mates in four or less, too few for a fit: so a
near mate is a rule too. It is seen with a probability of 1 - 0.03 n 2^((1800 - Elo)/300), and who
sees it plays it; who does not chooses as the agent does. (Of those 45 people played 36; in at least
four of the others the score of the game seems to err, since a mate in one was followed by a move
that lost.)
"""

from __future__ import annotations

import numpy as np

from milepost.analysis.engine.search_output import LEAST_MATE_CP, MATE_CP
from milepost.choice.spreads import Floats

MATE_PAWNS = 100.0
MOVE_PAWNS = 0.5
"""What a move nearer to the mate is worth."""
_ELOS = (1200.0, 1600.0, 2000.0, 2400.0, 2800.0)
_PAWNS = (0.40, 0.20, 0.10, 0.05, 0.03)
"""τ at these ratings; between them ln τ is linear, beyond them τ stays."""


NEAR_MATE = 4
"""Mates in so many moves or fewer count as near."""
_MISSED = 0.03
"""How often 1800 does not see a mate in one; n times as often a mate in n."""
_HALVED = 300.0
"""In so many points of Elo it becomes half as often."""


def temperature(elo: float) -> float:
    """Return τ of a rating, in pawns."""
    return float(np.exp(np.interp(elo, _ELOS, np.log(_PAWNS))))


def technique_probabilities(values: Floats, elo: float) -> Floats:
    """Return how probable each move is against a bare king.

    Parameters
    ----------
    values
        In pawns as spreads hold them: a mate in n is 300 - n/100.
    elo
        Of the mover.
    """
    size = np.abs(values)
    moves = np.round((MATE_CP / 100 - size) * 100)
    mates = size > LEAST_MATE_CP / 100
    worth = np.where(mates, np.copysign(MATE_PAWNS - MOVE_PAWNS * moves, values), values)
    shares = np.exp((worth - worth.max()) / temperature(elo))
    answer: Floats = shares / shares.sum()
    return answer


def see_mates(probabilities: Floats, values: Floats, elo: float) -> Floats:
    """Return the probabilities with near mates seen as often as people see them.

    Parameters
    ----------
    probabilities
        As the agent chooses.
    values
        Of the same moves, in pawns: a mate in n is 300 - n/100.
    elo
        Of the mover.
    """
    moves = round((MATE_CP / 100 - float(values.max())) * 100)
    if not 1 <= moves <= NEAR_MATE:
        return probabilities
    missed = min(_MISSED * moves * 2.0 ** ((1800.0 - elo) / _HALVED), 1.0)
    shortest = np.isclose(values, values.max(), atol=1e-6)
    seen = np.where(shortest, 1.0 / shortest.sum(), 0.0)
    answer: Floats = (1.0 - missed) * seen + missed * probabilities
    return answer
