"""The fixed menu of alternatives to honest play, with weights that nobody may change afterwards.

An alternative says when a player was helped (a *schedule*), by whom (an *assistant*), and how often
(a *share* q). Half of the evidence ratio is the mean over the whole menu with these weights (the
other half counts first moves: `milepost.fairplay.evidence.counts`), so it pays for
every alternative that it considers; taking the best one instead would accuse everybody sooner or
later. The list follows the cases that arbiters ask about; see `docs/fairplay.md`.

The greatest weight lies on the plainest case, the set-up's own best move on any turn. In one game
there is little to tell alternatives apart by, and every other one adds its own noise: with a tenth
of the weight there, the ratio saw less than the plain match rate did.

=================  =================================================================================
every turn         each turn with probability q
difficult turns    each turn with probability q where an agent of this rating would lose much
one turn a game    with probability q one turn of the game, the likelier the more is at stake there
when behind        each turn with probability q where the position is worse by half a pawn or more
whole games        each game with probability q, then nearly every turn of it
=================  =================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from milepost.choice.spreads import Floats

SCHEDULES: Final = {
    "every turn": 0.50,
    "difficult turns": 0.15,
    "one turn a game": 0.10,
    "when behind": 0.05,
    "whole games": 0.20,
}
"""When, with its weight."""
HELPERS: Final = {
    "best of this set-up": 0.70,
    "another engine": 0.20,
    "half the depth": 0.04,
    "near the best": 0.06,
}
"""Who, with its weight: the assistants of `milepost.fairplay.evidence.assistants`."""
JURY: Final = 0.40
"""The weight of other engines' own moves together, in studies: `check` takes none."""
SHARES: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.95)
"""How often; all weigh the same."""
DIFFICULT_ERROR: Final = 0.12
"""A turn is difficult where an agent of the player's rating is expected to lose so much, scaled."""
BEHIND_PAWNS: Final = -0.5
"""A player is behind where the best option is worth at most so much."""
WITHIN_GAME: Final = 0.9
"""In a game that is helped as a whole, the share of its turns."""


@dataclass(frozen=True, eq=False)
class Chances:
    """When help may come, on some turns: what the schedules say of each."""

    difficult: Floats
    """1 where the turn is difficult for this rating."""
    behind: Floats
    """1 where the player is behind."""
    stake: Floats
    """What an agent of this rating is expected to lose: at which turn one piece of help falls."""


def chances(expected_error: Floats, best: Floats) -> Chances:
    """Return what the schedules say of turns; nothing here depends on what was played.

    Parameters
    ----------
    expected_error
        The scaled error that an agent of the player's rating is expected to make.
    best
        Worth of the best option, in pawns for the player.
    """
    return Chances(
        difficult=(expected_error >= DIFFICULT_ERROR).astype(np.float64),
        behind=(best <= BEHIND_PAWNS).astype(np.float64),
        stake=np.maximum(expected_error, 1e-4),
    )


@cache
def weights(juries: int = 0) -> Floats:
    """Return the weights of all alternatives: schedules × assistants × shares; their sum is 1.

    Parameters
    ----------
    juries
        Further engines whose own evaluations are at hand: together they take `JURY` of the weight
        of the assistants, whichever they are.
    """
    when = np.array(list(SCHEDULES.values()))
    who = np.array(list(HELPERS.values()))
    if juries:
        who = np.concatenate([(1 - JURY) * who, np.full(juries, JURY / juries)])
    often = np.full(len(SHARES), 1 / len(SHARES))
    table: Floats = when[:, None, None] * who[None, :, None] * often[None, None, :]
    table.flags.writeable = False
    return table
