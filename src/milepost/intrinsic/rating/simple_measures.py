"""What people use instead: match rate, centipawn loss, lichess accuracy; each with its best map.

Every one is a number a turn whose mean falls or rises with Elo. Its map is the smooth curve of
that mean over Elo (a polynomial fitted to all turns), and a rating is where the curve has the mean
of the turns to be rated: unbiased, as the agents' ratings are, and not drawn to the middle as a
regression of Elo on the number would be.

Lichess describes its formulas at https://lichess.org/page/accuracy; its source (lila,
``WinPercent.scala`` and ``AccuracyPercent.scala``) has the same constants with more digits. The
source also holds evaluations within ten pawns, as we do, and adds one point to every move's
accuracy, which we leave out: the curve over Elo would take it off again. The accuracy of a *game*
there is the mean of a mean weighted by the volatility of the game and of a harmonic mean. Pieces of
turns from many games have no volatility, so here it is the plain mean over moves.
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
CEILING_PAWNS = 10.0
LICHESS, CENTIPAWNS = "lichess accuracy", "centipawn loss"
"""The measures that every calibration is compared with."""
_CENTRE, _UNIT = 2100.0, 500.0
_GRID = np.arange(0.0, 4001.0, 5.0)


def win_percent(pawns: Floats) -> Floats:
    """Lichess' winning chances in per cent (`ipr_math`, section 10), from at most ten pawns."""
    held = np.clip(pawns, -CEILING_PAWNS, CEILING_PAWNS)
    answer: Floats = 50 + 50 * (2 / (1 + np.exp(-0.368208 * held)) - 1)
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
        CENTIPAWNS: 100 * np.minimum(loss, CEILING_PAWNS),
        "centipawn loss, capped at 3 pawns": 100 * np.minimum(loss, CAP_PAWNS),
        "scaled difference": scaled,
        LICHESS: np.clip(accuracy, 0.0, 100.0),
    }


def statistic_reader(values: Floats, ratings: Floats, fold: Ints) -> Callable[[Ints], Floats]:
    """Return a reader of ratings off a number a turn, each turn by a curve that has not seen it.

    Parameters
    ----------
    values
        The number of each turn.
    ratings
        The rating of each turn's player.
    fold
        The fold of each turn.

    Returns
    -------
    callable
        From pieces (a row each, of the numbers of its turns) to a rating each.
    """
    x = (ratings - _CENTRE) / _UNIT
    inside = (ratings.min() <= _GRID) & (ratings.max() >= _GRID)
    curves = []
    for number in range(int(fold.max()) + 1):
        seen = fold != number
        curve = np.polynomial.Polynomial.fit(x[seen], values[seen], DEGREE)
        curves.append(_straightened(curve((_GRID - _CENTRE) / _UNIT), inside))
    table = np.stack(curves)

    def read(parts: Ints) -> Floats:
        shares = np.stack([(fold[parts] == number).mean(axis=1) for number in range(len(table))])
        curves = shares.T @ table
        turn = np.where(curves[:, -1] > curves[:, 0], 1.0, -1.0)
        order = np.maximum.accumulate(turn[:, None] * curves, axis=1)
        wanted = turn * values[parts].mean(axis=1)
        # Each piece has a curve of its own: linear interpolation, row by row.
        above = np.clip((order < wanted[:, None]).sum(axis=1), 1, len(_GRID) - 1)
        rows = np.arange(len(parts))
        low, high = order[rows, above - 1], order[rows, above]
        step = np.divide(wanted - low, high - low, out=np.ones(len(parts)), where=high > low)
        answer: Floats = _GRID[above - 1] + np.clip(step, 0.0, 1.0) * (_GRID[1] - _GRID[0])
        return answer

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
