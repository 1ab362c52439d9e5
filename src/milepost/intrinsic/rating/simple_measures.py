"""What people use instead: match rate, centipawn loss, lichess accuracy; each with its best map.

Every one is a number a turn whose mean falls or rises with Elo. Its map is the smooth curve of
that mean over Elo (a polynomial fitted to all turns), and a rating is where the curve has the mean
of the turns to be rated: unbiased, as the agents' ratings are, and not drawn to the middle as a
regression of Elo on the number would be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milepost.choice.evaluation.prepared import prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.scale import Scale
from milepost.choice.spreads import Floats, Ints, Spreads

DEGREE = 2
CAP_PAWNS = 3.0
_CENTRE, _UNIT = 2100.0, 500.0
_GRID = np.arange(0.0, 4001.0, 5.0)


def win_percent(pawns: Floats) -> Floats:
    """Lichess' winning chances in per cent (`ipr_math`, section 10)."""
    answer: Floats = 50 + 50 * (2 / (1 + np.exp(-0.368208 * pawns)) - 1)
    return answer


def turn_statistics(spreads: Spreads) -> dict[str, Floats]:
    """Return the numbers of every turn, by name.

    ``lichess accuracy`` is that of single moves, 103.1668 e^(-0.04354 d) - 3.1669 with d the
    winning chances given away; its mean over turns is taken, without the weights by volatility
    that lichess gives the moves of one game.
    """
    starts = spreads.offsets[:-1]
    best = spreads.values[starts]
    played = spreads.values[starts + spreads.chosen]
    loss = best - played
    given_away = np.maximum(win_percent(best) - win_percent(played), 0.0)
    scaled = prepare(spreads, ChoiceModel(scale=Scale())).delta[starts + spreads.chosen]
    accuracy = 103.1668 * np.exp(-0.04354 * given_away) - 3.1669
    return {
        "match rate": (spreads.chosen == 0).astype(np.float64),
        "centipawn loss": 100 * np.minimum(loss, 10.0),
        "centipawn loss, capped at 3 pawns": 100 * np.minimum(loss, CAP_PAWNS),
        "scaled difference": scaled,
        "lichess accuracy": np.clip(accuracy, 0.0, 100.0),
    }


def statistic_reader(values: Floats, ratings: Floats, fold: Ints) -> Callable[[Ints], float]:
    """Return a reader of ratings off a number a turn, each turn by a curve that has not seen it.

    Parameters
    ----------
    values
        The number of each turn.
    ratings
        The rating of each turn's player.
    fold
        The fold of each turn.
    """
    x = (ratings - _CENTRE) / _UNIT
    inside = (ratings.min() <= _GRID) & (ratings.max() >= _GRID)
    curves = []
    for number in range(int(fold.max()) + 1):
        seen = fold != number
        curve = np.polynomial.Polynomial.fit(x[seen], values[seen], DEGREE)
        curves.append(_straightened(curve((_GRID - _CENTRE) / _UNIT), inside))
    table = np.stack(curves)

    def read(part: Ints) -> float:
        share = np.bincount(fold[part], minlength=len(table)) / len(part)
        curve = share @ table
        rising = curve[-1] > curve[0]
        order = curve if rising else -curve
        wanted = values[part].mean() if rising else -values[part].mean()
        return float(np.interp(wanted, np.maximum.accumulate(order), _GRID))

    return read


def _straightened(curve: Floats, inside: np.ndarray) -> Floats:
    """A curve that goes on straight beyond the ratings it was fitted on."""
    first, last = np.flatnonzero(inside)[[0, -1]]
    answer = curve.copy()
    steps = np.arange(len(curve))
    slope_low = (curve[last] - curve[first]) / (last - first)
    answer[:first] = curve[first] + slope_low * (steps[:first] - first)
    answer[last:] = curve[last] + slope_low * (steps[last:] - last)
    return answer
