"""How a difference in strength becomes chances of win, draw and loss: one link for every method.

An ordered probit. With x the difference, v its variance (0 for methods that have none) and z the
mean strength of the two (in standard units of the games fitted to),

    c² = spread² + weight v,
    P(win) = Φ((x + lead - margin)/c),   P(loss) = Φ((-x - lead - margin)/c)

The plain form fits margin, lead and spread; the form ``by strength`` lets margin and lead change
with z: margin exp(b z), lead + l z. All are fitted to games before those to be predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]
_LEAST = 1e-9
_ENOUGH = 80_000


@dataclass(frozen=True)
class Link:
    """A fitted link."""

    numbers: tuple[float, ...]
    """ln margin, its change with z, ln spread, lead, its change with z, weight of the variance."""
    centre: float
    """Mean strength that z counts from."""
    unit: float
    """Strength of one unit of z."""
    log_loss: float
    """Mean log-loss of the games it was fitted to."""

    def __call__(self, one: Floats, two: Floats, variance: Floats, own: Floats | None) -> Floats:
        """Return a row (win, draw, loss) for each game from both strengths."""
        z = (0.5 * (one + two) - self.centre) / self.unit
        return outcomes(np.array(self.numbers), one - two, variance, z, own)


def outcomes(
    numbers: Floats, apart: Floats, variance: Floats, z: Floats, own: Floats | None
) -> Floats:
    """Return a row (win, draw, loss) for each game; `own` holds both players' own margins."""
    a, b, spread, lead, by_z, weight = numbers
    c = np.sqrt(np.exp(2.0 * spread) + np.exp(weight) * variance)
    x = apart + lead + by_z * z
    factor = np.exp(a + b * z)
    margin_1, margin_2 = (factor, factor) if own is None else (factor * own[0], factor * own[1])
    win, loss = ndtr((x - margin_2) / c), ndtr((-x - margin_1) / c)
    draw = np.maximum(1.0 - win - loss, _LEAST)
    table = np.stack([np.maximum(win, _LEAST), draw, np.maximum(loss, _LEAST)], axis=1)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def fit_link(
    one: Floats, two: Floats, score: Floats, *, variance: Floats | None = None,
    own: Floats | None = None, by_strength: bool = False,
) -> Link:  # fmt: skip
    """Fit a link to games: strengths of both players, White's score.

    Of very many games every k-th is used, so many that the six numbers are still exact enough.
    """
    every = slice(None, None, max(1, len(one) // _ENOUGH))
    one, two, score = one[every], two[every], score[every]
    variance = None if variance is None else variance[every]
    own = None if own is None else own[:, every]
    v = np.zeros(len(one)) if variance is None else variance
    mean = 0.5 * (one + two)
    centre, unit = float(mean.mean()), float(mean.std())
    z, apart = (mean - centre) / unit, one - two
    size = float(np.std(apart))
    start = np.array([np.log(0.5 * size), 0.0, np.log(size), 0.2 * size, 0.0, 0.0])
    if own is not None:
        start[0] = 0.0
    # Steps of one are sensible in every number.
    steps = np.array([1.0, 1.0, 1.0, 0.3 * size, 0.3 * size, 1.0])
    free = [0, 2, 3] + ([1, 4] if by_strength else []) + ([] if variance is None else [5])
    column = np.where(score == 1.0, 0, np.where(score == 0.5, 1, 2))
    rows = np.arange(len(score))

    def numbers_of(u: Floats) -> Floats:
        numbers = start.copy()
        numbers[free] += steps[free] * u
        # A variance counts, but not without bound.
        numbers[5] = np.clip(numbers[5], -6.0, 3.0)
        return numbers

    def loss(u: Floats) -> float:
        table = outcomes(numbers_of(u), apart, v, z, own)
        return -float(np.log(table[rows, column]).mean())

    found = minimize(loss, np.zeros(len(free)), method="BFGS", options={"gtol": 1e-5})
    numbers = tuple(float(n) for n in numbers_of(found.x))
    return Link(numbers, centre, unit, float(found.fun))
