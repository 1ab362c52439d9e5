"""One player against a field: the expected score, and the chance of a score, a result or a norm.

For organisers (Dangauthier et al. 2007 name match-making and admission as uses of ratings). The
score of a tournament is the sum of games that are independent once the player's own skill is known;
that skill is not, and it is the same in every game. So the distribution of the score is computed
exactly at the nodes of a Gauss-Hermite rule over the own skill, and averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from milepost.errors import InputError
from milepost.history.models import TTT, TTTD, TrueSkill
from milepost.history.numerics.orthant import quadrant

if TYPE_CHECKING:
    from milepost.history.records import Floats
    from milepost.history.result import History

_NODES = 33
"""Of the rule over the own skill: exact to more digits than anybody will read."""
DP = (
    0, 7, 14, 21, 29, 36, 43, 50, 57, 65, 72, 80, 87, 95, 102, 110, 117, 125, 133, 141, 149, 158,
    166, 175, 184, 193, 202, 211, 220, 230, 240, 251, 262, 273, 284, 296, 309, 322, 336, 351, 366,
    383, 401, 422, 444, 470, 501, 538, 589, 677, 800,
)  # fmt: skip
"""The difference of rating that a share of points stands for, by per cent above 50: FIDE Rating
Regulations (Handbook B.02), table 8.1.1."""


@dataclass(frozen=True)
class NormRule:
    """What a title norm asks of a score: FIDE Handbook B.01, sections 1.4.1 and 1.4.6 to 1.4.9.

    The rest of the regulations (titles and federations of the opponents, time control, arbiters) is
    not looked at.
    """

    performance: float
    """The least performance rating (1.4.8): the opponents' average plus `DP` of the score."""
    average: float = 0.0
    """The least average rating of the opponents (1.4.8)."""
    floor: float = 0.0
    """One opponent below it, the lowest, counts as rated so (1.4.6b, c)."""
    games: int = 9
    """The least number of games (1.4.1)."""


NORMS = {
    "GM": NormRule(2600.0, 2380.0, 2200.0),
    "IM": NormRule(2450.0, 2230.0, 2050.0),
    "WGM": NormRule(2400.0, 2180.0, 2000.0),
    "WIM": NormRule(2250.0, 2030.0, 1850.0),
}
"""The norms of FIDE's International Title Regulations (Handbook B.01, in force since January 2024);
the numbers are those of the regulations of 2017 too."""
UNRATED = 1400.0
"""What an opponent without a rating counts as (1.4.6d; 1000 before 2024)."""


@dataclass(frozen=True)
class FieldForecast:
    """What a player may expect against a field."""

    name: str
    """The player."""
    opponents: tuple[str, ...]
    """The opponents, by their names."""
    expected: Floats
    """The expected score of each game."""
    chances: Floats
    """The chance of every score: 0, ½, 1 … n."""

    @property
    def score(self) -> float:
        """The expected score."""
        return float(self.expected.sum())

    @property
    def sd(self) -> float:
        """The standard deviation of the score."""
        points = 0.5 * np.arange(len(self.chances))
        mean = float(points @ self.chances)
        return math.sqrt(max(float((points - mean) ** 2 @ self.chances), 0.0))

    def at_least(self, score: float) -> float:
        """Return the chance of this score or a better one."""
        first = max(math.ceil(2.0 * score - 1e-9), 0)
        return float(self.chances[first:].sum())


def forecast_field(
    history: History, player: str, opponents: Sequence[str], time: Any,
    *, movers: Sequence[int | None] | None = None,
) -> FieldForecast:  # fmt: skip
    """Return what a player may expect against a field at a time.

    Parameters
    ----------
    history
        A history of `TTT`, `TTTD` or `TrueSkill`.
    player
        The player's key.
    opponents
        The keys of the opponents, one a game; one may come several times, and is then taken as
        independent from game to game.
    time
        When.
    movers
        For each game 1 = the player moves first, 2 = the opponent, `None` = nobody.

    Raises
    ------
    InputError
        If the field is empty, a player is not known, or the model has no uncertainty to go by.
    """
    if not opponents:
        raise InputError("expected at least one opponent")
    if not isinstance(history.model, TTT | TTTD | TrueSkill):
        raise InputError(f"the model {history.model.name} has no chances to forecast a field by")
    if player in opponents:
        raise InputError(f"{history.name_of(player)} cannot be in the own field")
    sides = [None] * len(opponents) if movers is None else list(movers)
    if len(sides) != len(opponents):
        raise InputError(f"expected a colour for each of {len(opponents)} games, got {len(sides)}")
    moment = history.moment(time)
    own = history._lives.at(player, moment)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    skills = own.mean + own.sd * nodes
    spread = np.zeros((_NODES, 1))
    spread[:, 0] = 1.0
    expected = []
    for key, mover in zip(opponents, sides, strict=True):
        lead = history._lead(mover, moment)
        win, draw, loss = _chances(history, player, key, moment, skills + lead)
        expected.append(float(weights @ (win + 0.5 * draw)))
        longer = np.zeros((_NODES, spread.shape[1] + 2))
        longer[:, :-2] += loss[:, None] * spread
        longer[:, 1:-1] += draw[:, None] * spread
        longer[:, 2:] += win[:, None] * spread
        spread = longer
    return FieldForecast(
        history.name_of(player), tuple(history.name_of(key) for key in opponents),
        np.array(expected), weights @ spread,
    )  # fmt: skip


def norm_score(ratings: Sequence[float], rule: NormRule) -> tuple[float | None, float]:
    """Return the least score that makes a norm against opponents of these ratings.

    Returns
    -------
    (float or None, float)
        The score, `None` if none does; and the average of the opponents, the lowest raised to the
        floor, rounded as the regulations say.
    """
    if not ratings:
        raise InputError("expected the ratings of the opponents")
    rated = sorted(ratings)
    rated[0] = max(rated[0], rule.floor)
    average = math.floor(sum(rated) / len(rated) + 0.5)
    if len(rated) < rule.games or average < rule.average:
        return None, average
    for half_points in range(2 * len(rated) + 1):
        if average + performance_gain(0.5 * half_points, len(rated)) >= rule.performance:
            return 0.5 * half_points, average
    return None, average


def performance_gain(score: float, games: int) -> int:
    """Return by how much a performance lies above the opponents' average: FIDE's table `DP`.

    >>> performance_gain(7, 9)
    220
    """
    percent = math.floor(100.0 * score / games + 0.5)
    return DP[percent - 50] if percent >= 50 else -DP[50 - percent]


def _chances(
    history: History, player: str, key: str, moment: float, skills: Floats
) -> tuple[Floats, Floats, Floats]:
    """Chances against one opponent, for each skill that the player may have."""
    assert isinstance(history.model, TTT | TTTD | TrueSkill)
    other = history._lives.at(key, moment)
    apart = skills - other.mean
    cc = other.sd**2 + 2.0 * history.model.beta**2
    if history._margins is None:
        c = math.sqrt(cc)
        win = np.asarray(ndtr((apart - history.draw_margin) / c))
        loss = np.asarray(ndtr((-apart - history.draw_margin) / c))
        return win, np.maximum(1.0 - win - loss, 0.0), loss
    mine, theirs = history._margins.at(player, moment), history._margins.at(key, moment)
    s_win, s_loss = math.sqrt(cc + theirs.sd**2), math.sqrt(cc + mine.sd**2)
    win = np.asarray(ndtr((apart - theirs.mean) / s_win))
    loss = np.asarray(ndtr((-apart - mine.mean) / s_loss))
    draw = np.array([
        quadrant((theirs.mean - a) / s_win, (mine.mean + a) / s_loss, -cc / (s_win * s_loss))[0]
        for a in apart
    ])  # fmt: skip
    total = win + draw + loss
    return win / total, draw / total, loss / total


@dataclass(frozen=True)
class NormForecast:
    """The chance of a norm, or of any score, in a field."""

    forecast: FieldForecast
    """What the player may expect."""
    wanted: str
    """What is to be reached, in words."""
    needed: float | None
    """The least score that does; `None` = no score does."""
    average: float | None = None
    """The opponents' average rating, as the rule counts it."""
    ratings: tuple[float, ...] = ()
    """The opponents' ratings that the average is made of."""
    reason: str = ""
    """Why no score does."""

    @property
    def chance(self) -> float:
        """The chance of reaching it."""
        return 0.0 if self.needed is None else self.forecast.at_least(self.needed)


def norm_in_field(
    forecast: FieldForecast, ratings: Sequence[float], rule: NormRule, wanted: str
) -> NormForecast:
    """Return the chance of a norm in a field.

    Parameters
    ----------
    forecast
        What the player may expect against the field.
    ratings
        The opponents' ratings, in their order.
    rule
        What the norm asks.
    wanted
        What it is called.

    Raises
    ------
    InputError
        If there is not a rating for each opponent.
    """
    if len(ratings) != len(forecast.opponents):
        raise InputError(
            f"expected a rating for each of {len(forecast.opponents)} opponents, got {len(ratings)}"
        )
    needed, average = norm_score(ratings, rule)
    reason = ""
    if needed is None:
        reason = f"no score in this field has a performance of {rule.performance:.0f}"
        if len(ratings) < rule.games:
            reason = f"a norm needs {rule.games} games, and these are {len(ratings)}"
        elif average < rule.average:
            reason = (
                f"the opponents' average is {average:.0f}, and has to be {rule.average:.0f} at "
                "least"
            )
    return NormForecast(forecast, wanted, needed, average, tuple(ratings), reason)
