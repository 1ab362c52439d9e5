"""By how much turns of one kind read above the ratings of those who chose, and taking it out.

An opening that everybody knows reads higher than its players are; so do all slow games of a server
whose ratings begin elsewhere. Such a shift x is where the likelihood of all choices together, each
at its chooser's own rating plus x, is greatest: Σ u(own + x) = 0, with u the derivative of a
choice's log-likelihood by the rating. Its error is clustered by the player.
`milepost.intrinsic.calibration.bias.reading_error` is the first step of Newton's method to it; for
shifts of hundreds of points the root is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milepost.choice.spreads import Floats
from milepost.intrinsic.rating.likelihood_grid import Ladder

REACH = 2000.0
"""Shifts are looked for so far to either side."""
_COARSE = 50.0


@dataclass(frozen=True)
class Shift:
    """By how much turns read above the ratings of those who chose."""

    value: float
    """In Elo; NaN = these turns set no bound."""
    se: float
    """Standard error, clustered by player."""
    turns: int = 0
    """Turns it rests on."""
    games: int = 0
    """Games."""
    players: int = 0
    """Players."""

    @property
    def known(self) -> bool:
        """Whether there is one."""
        return bool(np.isfinite(self.value) and np.isfinite(self.se))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "value": round(self.value, 1),
            "se": round(self.se, 1),
            "turns": self.turns,
            "games": self.games,
            "players": self.players,
        }


UNKNOWN = Shift(float("nan"), float("nan"))
NONE = Shift(0.0, 0.0)
"""No shift at all."""


def measure_shift(
    ladder: Ladder,
    own: npt.ArrayLike,
    players: npt.ArrayLike,
    *,
    least_players: int = 5,
) -> Shift:
    """Measure by how much turns read above the ratings of those who chose.

    Parameters
    ----------
    ladder
        The turns.
    own
        The chooser's rating, for each turn.
    players
        Who chose: errors are clustered by it, for one player's turns share one's own distance from
        the rating.
    least_players
        With fewer players there is no error, and so no shift.
    """
    at = np.asarray(own, dtype=np.float64)
    _, who = np.unique(np.asarray(players), return_inverse=True)
    count = int(who.max()) + 1 if len(who) else 0
    games = len(np.unique(ladder.groups))
    if count < least_players:
        return replace(UNKNOWN, turns=len(ladder), games=games, players=count)
    from scipy.optimize import brentq

    def score(shift: float) -> Floats:
        inside = np.clip(at + shift, ladder.rungs[0], ladder.rungs[-1])
        answer: Floats = ladder.weights * ladder.scores(inside)
        return answer

    # The likelihood may be flat or have several tops far away: first the greatest in coarse steps.
    coarse = np.arange(-REACH, REACH + _COARSE / 2, _COARSE)
    heights = [float(ladder.weights @ _ln_chosen_at(ladder, at + shift)) for shift in coarse]
    best = int(np.argmax(heights))
    left, right = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    if best in {0, len(coarse) - 1} or score(left).sum() <= 0 or score(right).sum() >= 0:
        return replace(UNKNOWN, turns=len(ladder), games=games, players=count)
    value = float(brentq(lambda shift: float(score(shift).sum()), left, right, xtol=0.01))
    inside = np.clip(at + value, ladder.rungs[0], ladder.rungs[-1])
    information = float(ladder.weights @ ladder.information_at(inside))
    sums = np.bincount(who, weights=score(value))
    se = float(np.sqrt((sums**2).sum() * count / (count - 1))) / information
    return Shift(value, se, len(ladder), games, count)


def without_shifts(ladder: Ladder, shifts: npt.ArrayLike) -> Ladder:
    """Return turns as if they read no higher than their choosers are.

    A turn whose kind reads x above the rating is, at the rating E, what an agent of E + x does.

    Parameters
    ----------
    ladder
        The turns.
    shifts
        x of each turn, in Elo.
    """
    x = np.broadcast_to(np.asarray(shifts, dtype=np.float64), (len(ladder),))
    rungs = ladder.rungs
    ln_chosen, information = np.empty_like(ladder.ln_chosen), np.empty_like(ladder.information)
    for column, rung in enumerate(rungs):
        at = np.clip(rung + x, rungs[0], rungs[-1])
        ln_chosen[:, column] = _ln_chosen_at(ladder, at)
        information[:, column] = ladder.information_at(at)
    return replace(ladder, ln_chosen=ln_chosen, information=information)


def _ln_chosen_at(ladder: Ladder, rating: Floats) -> Floats:
    """The log-likelihood of each turn at a rating of its own; the ends stand for what is beyond."""
    rungs = ladder.rungs
    at = np.clip(rating, rungs[0], rungs[-1])
    return ladder.rows().of_rows(at)


def together(first: Shift, second: Shift) -> Shift:
    """Return two independent measurements of one shift as one, each by its precision."""
    if not first.known:
        return second
    if not second.known:
        return first
    weights = np.array([first.se**-2, second.se**-2])
    value = float(weights @ [first.value, second.value] / weights.sum())
    return Shift(
        value,
        float(weights.sum() ** -0.5),
        first.turns + second.turns,
        first.games + second.games,
        first.players + second.players,
    )
