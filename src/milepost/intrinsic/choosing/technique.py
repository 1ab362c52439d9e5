"""Technique: how a move is chosen in endings that people learn, and where a mate is near.

People who can mate with a rook do so by a method, which values to a small depth do not show: all
moves keep the win, and the steps towards the mate are hundredths of a pawn. Nobody has fitted this:
few games go on so far. So it is a rule, P ∝ exp(-d / τ), where τ falls with Elo. With a rook or a
queen against the bare king d is how many moves the mate is away, with a pawn how many the promotion
is (`milepost.analysis.spreads.known_endings`). With other men against a bare king it is the room
that a move leaves the king (`milepost.analysis.spreads.bare_king`); there a mate that the engine
sees leaves less room than any other move, a shorter one less than a longer one. Moves that give the
win away keep the share that the agent gives them up to 1300, and a tenth of it for every 250 points
more: who has learnt the method guards what is won. So does the bare king a draw.

The fitted agents for decided positions have seen 45 mates in four or less, too few for a fit: so a
near mate is a rule too. It is seen with a probability of 1 - 0.03 n 2^((1800 - Elo)/300), and who
sees it plays it; who does not chooses as the agent does. (Of those 45 people played 36; in at least
four of the others the score of the game seems to err, since a mate in one was followed by a move
that lost.)

The same goes for a mate in one that a move would allow, in decided positions: who sees it leaves
the move. Agents look at all depths, and at the small ones an engine that is far ahead prunes so
much that it misses such mates, so the agents would walk into them as if they were hard to see.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milepost.analysis.engine.search_output import LEAST_MATE_CP, MATE_CP
from milepost.analysis.spreads.known_endings import KnownEnding
from milepost.choice.spreads import Floats

_ELOS = (1200.0, 1600.0, 1800.0, 2400.0, 2800.0)
_SQUARES = (3.0, 1.2, 0.55, 0.4, 0.3)
"""τ at these ratings, in squares of room; between them ln τ is linear, beyond them τ stays."""
_AWAY = (0.7, 0.55, 0.45, 0.3, 0.2)
"""τ in moves that the mate or promotion is away."""
_MATE_SQUARES = 1.0
"""A mate in n counts as minus 100 squares of room, and so many more for each move."""
_LEARNT, _TENTH = 1300.0, 250.0
"""From this Elo on slips against a bare king grow rare, tenfold in so many points."""
KEPT_PAWNS = 3.0
"""A move that is worth less gives the win away."""


NEAR_MATE = 4
"""Mates in so many moves or fewer count as near."""
_MISSED = 0.03
"""How often 1800 does not see a mate in one; n times as often a mate in n."""
_HALVED = 300.0
"""In so many points of Elo it becomes half as often."""


def temperature(elo: float) -> float:
    """Return τ of a rating, in squares of room."""
    return _between(elo, _SQUARES)


def _between(elo: float, values: tuple[float, ...]) -> float:
    return float(np.exp(np.interp(elo, _ELOS, np.log(values))))


def technique_probabilities(
    room: Floats, values: Floats, probabilities: Floats, elo: float
) -> Floats:
    """Return how probable each move is against a bare king.

    Parameters
    ----------
    room
        What each move leaves the bare king.
    values
        In pawns as spreads hold them: a mate in n is 300 - n/100.
    probabilities
        As the agent for decided positions chooses.
    elo
        Of the mover.
    """
    moves = np.round((MATE_CP / 100 - values) * 100)
    mates = values > LEAST_MATE_CP / 100
    left = np.where(mates, _MATE_SQUARES * moves - 100.0, room)
    keeps = values >= KEPT_PAWNS
    if not keeps.any():
        return probabilities
    shares = np.where(keeps, np.exp((left[keeps].min() - left) / temperature(elo)), 0.0)
    return _guarded(keeps, shares, probabilities, elo)


def known_ending_probabilities(ending: KnownEnding, probabilities: Floats, elo: float) -> Floats:
    """Return how probable each move is in an ending that people learn.

    Parameters
    ----------
    ending
        Where each move leads to.
    probabilities
        As the agent chooses.
    elo
        Of the mover.
    """
    wins = np.isfinite(ending.away)
    keeps = wins if ending.ahead else ~wins
    if not keeps.any():
        if not ending.ahead or ending.takes.all():
            return probabilities
        # A draw all the same: but nobody lets the last man be taken who sees it.
        kept = probabilities * np.where(ending.takes, _missed(elo), 1.0)
        drawn: Floats = kept / kept.sum() if kept.sum() > 0 else probabilities
        return drawn
    if ending.ahead:
        further = np.where(keeps, ending.away - ending.away[keeps].min(), 0.0)
        shares = np.where(keeps, np.exp(-further / _between(elo, _AWAY)), 0.0)
    else:  # a draw is kept as the agent chooses
        shares = np.where(keeps, np.maximum(probabilities, 1e-300), 0.0)
        if ending.takes.any():  # who sees it takes the last man
            missed = _missed(elo)
            taking = ending.takes / ending.takes.sum()
            shares = (1.0 - missed) * taking + missed * shares / shares.sum()
    return _guarded(keeps, shares, probabilities, elo)


def _guarded(
    keeps: npt.NDArray[np.bool_], shares: Floats, probabilities: Floats, elo: float
) -> Floats:
    """Moves that keep the result by their shares; the others as rarely as one who has learnt it."""
    rare = probabilities * min(10.0 ** ((_LEARNT - elo) / _TENTH), 1.0)
    slips = rare[~keeps].sum()
    answer: Floats = np.where(keeps, (1.0 - slips) * shares / shares.sum(), rare)
    return answer


def _missed(elo: float, moves: int = 1) -> float:
    """How often something that lies so many moves away is not seen."""
    return float(min(_MISSED * moves * 2.0 ** ((1800.0 - elo) / _HALVED), 1.0))


def see_threats(probabilities: Floats, values: Floats, elo: float) -> Floats:
    """Return the probabilities with moves that allow mate in one left as often as people see it.

    Parameters
    ----------
    probabilities
        As the agent chooses.
    values
        Of the same moves, in pawns: to be mated in one is -299.99.
    elo
        Of the mover.
    """
    allows = values < -(MATE_CP - 1.5) / 100
    rest = float(probabilities[~allows].sum())
    if not allows.any() or not rest > 0:
        return probabilities
    missed = _missed(elo)
    kept = missed * probabilities
    answer: Floats = np.where(allows, kept, probabilities * (1.0 - kept[allows].sum()) / rest)
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
    missed = _missed(elo, moves)
    shortest = np.isclose(values, values.max(), atol=1e-6)
    seen = np.where(shortest, 1.0 / shortest.sum(), 0.0)
    answer: Floats = (1.0 - missed) * seen + missed * probabilities
    return answer
