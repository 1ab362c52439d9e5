"""Are two groups of one player's turns played equally well? A difference with interval and p.

Question 5 of Regan & Haworth (2011, draft): is somebody weaker in the endgame than in the opening?
The difference d of the two ratings is read off the profile likelihood

    P(d) = max over E of  L_first(E + d) + L_second(E),

which is lopsided where turns are few, as the likelihoods are. The same games may lie in both
groups, and scores of a player's game vary more than agents' do; so the drop that bounds d, and the
likelihood ratio 2 (P(d̂) - P(0)), are divided by how much more d̂ varies than independent agents
would let it: Σ over games (U_first / I_first - U_second / I_second)², drawn to the calibration's φ
as in `milepost.intrinsic.rating.interval`, over 1 / I_first + 1 / I_second. What both groups share
(the player, the event, most of the calibration's error) cancels; errors of baselines are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri

from milepost.choice.spreads import Floats
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.interval import GAMES_OF_PRIOR
from milepost.intrinsic.rating.likelihood_grid import Ladder, greatest
from milepost.io.shown import interval_text

_STEP = 10.0
_REACH = 3000.0


@dataclass(frozen=True)
class Difference:
    """By how much one group of turns was played better than another."""

    first: str
    """What the first group is."""
    second: str
    """What the second is."""
    value: float
    """Rating of the first less that of the second, in Elo; NaN = one of them has no bound."""
    low: float
    """Lower end of the interval; -inf = no bound."""
    high: float
    """Its upper end."""
    p: float
    """How often a player who plays both alike shows a difference as large, either way."""
    level: float
    """Probability of the interval."""
    first_turns: int
    """Turns of the first group."""
    second_turns: int
    """Turns of the second."""
    games: int
    """Games that they come from."""
    note: str = ""
    """What must be known."""

    def __str__(self) -> str:
        """Say it in a line."""
        pair = f"{self.first} against {self.second}"
        turns = f"{self.first_turns:,} and {self.second_turns:,} turns"
        if not np.isfinite(self.value):
            return f"{pair}: no difference can be given ({self.note or turns})"
        bounds = interval_text(self.low, self.high, form="+.0f")
        share = "under 0.001" if self.p < 0.001 else f"{self.p:.2g}"
        return (
            f"{pair}: {self.value:+.0f} Elo ({self.level:.0%} interval: {bounds}), p = {share}; "
            f"{turns} of {self.games} games"
        )


def difference(
    first: Ladder,
    second: Ladder,
    variation: PlayerVariation,
    *,
    names: tuple[str, str] = ("first", "second"),
    extra_se: float = 0.0,
    level: float = 0.95,
) -> Difference:
    """Compare two groups of turns of one player.

    Parameters
    ----------
    first, second
        The turns; a game's number must mean the same game in both.
    variation
        How real players vary.
    names
        What to call the groups.
    extra_se
        Standard error of what was taken out of the two beforehand: baselines of phases.
    level
        Probability of the interval.
    """
    games = len(np.union1d(first.groups, second.groups))
    nothing = Difference(
        *names, np.nan, -np.inf, np.inf, np.nan, level, len(first), len(second), games
    )
    if not len(first) or not len(second):
        which = names[0] if not len(first) else names[1]
        return Difference(**(vars(nothing) | {"note": f"no turn to rate: {which}"}))
    tops = [greatest(each.log_likelihood()) for each in (first, second)]
    ends = first.rungs[0], first.rungs[-1]
    steps, profile = _profile(first, second)
    if any(not ends[0] < top < ends[1] for top in tops):
        return Difference(**(vars(nothing) | {"note": "one of them sets no bound"}))
    value = tops[0] - tops[1]
    stretch = _stretch(first, second, tops, variation, extra_se)
    peak = float(np.interp(value, steps, profile))
    at_zero = float(np.interp(0.0, steps, profile))
    ratio = max(2 * (peak - at_zero), 0.0) / stretch
    drop = 0.5 * float(ndtri(0.5 + level / 2)) ** 2 * stretch
    low, high = _bounds(steps, profile, value, peak - drop)
    p = float(chdtrc(1, ratio))
    return Difference(*names, value, low, high, p, level, len(first), len(second), games)


def _profile(first: Ladder, second: Ladder) -> tuple[Floats, Floats]:
    rungs = first.rungs
    grid = np.arange(rungs[0], rungs[-1] + _STEP / 2, _STEP)
    one, two = (each.log_likelihood()(grid) for each in (first, second))
    reach = min(int(_REACH / _STEP), len(grid) - 1)
    profile = np.empty(2 * reach + 1)
    for place, shift in enumerate(range(-reach, reach + 1)):
        low, high = max(0, -shift), min(len(grid), len(grid) - shift)
        profile[place] = (one[low + shift : high + shift] + two[low:high]).max()
    return np.linspace(-reach, reach, 2 * reach + 1, dtype=np.float64) * _STEP, profile


def _stretch(
    first: Ladder,
    second: Ladder,
    tops: list[float],
    variation: PlayerVariation,
    extra_se: float,
) -> float:
    """How much more the difference varies than with independent agents."""
    games = np.union1d(first.groups, second.groups)
    influence = np.zeros(len(games))
    agents = 0.0
    for sign, ladder, top in ((1, first, tops[0]), (-1, second, tops[1])):
        information = float(ladder.weights @ ladder.information_at(top))
        place = np.searchsorted(games, ladder.groups)
        influence += sign * np.bincount(
            place, weights=ladder.weights * ladder.scores(top) / information, minlength=len(games)
        )
        agents += 1 / information
    count = len(games)
    own = float((influence**2).sum()) * count / (count - 1) if count > 1 else 0.0
    expected = variation.game_dispersion.value * agents
    drawn = ((count - 1) * own + GAMES_OF_PRIOR * expected) / (count - 1 + GAMES_OF_PRIOR)
    return max((drawn + extra_se**2) / agents, 1e-9)


def _bounds(steps: Floats, profile: Floats, value: float, least: float) -> tuple[float, float]:
    under = profile < least
    below, above = (np.flatnonzero(under & side) for side in (steps < value, steps > value))
    low, high = -np.inf, np.inf
    if len(below):
        at = below[-1]
        low = float(np.interp(least, profile[at : at + 2], steps[at : at + 2]))
    if len(above):
        at = above[0]
        high = float(np.interp(-least, -profile[at - 1 : at + 1], steps[at - 1 : at + 1]))
    return low, high
