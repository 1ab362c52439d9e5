"""Every decision at every rung of a ladder of ratings: what one path of agents says of it.

The log-likelihood of any set of decisions, as a function of the rating, is a sum of rows; so the
ratings of thousands of groups, posteriors after each game and cross-validation cost one pass over
the decisions. Between rungs cubic splines interpolate: over 100 points logarithms bend so little
that a rating moves by less than a tenth of a point (asserted by a test).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from milepost.choice.evaluation.evaluate import Prepared, evaluate, prepare
from milepost.choice.evaluation.ladder import evaluate_ladder
from milepost.choice.evaluation.together import PlacedAgents, evaluate_together
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.calibration.player_variation import OwnAgents
from milepost.intrinsic.rating.splines import EvenSpline, slope_shares
from milepost.kernels import kernel

RUNGS = np.arange(0.0, 4001.0, 100.0)
"""The ratings of the rungs: far beyond anybody, so that an estimate at an end means no bound."""
_FINE = 10.0
"""The greatest likelihood is first looked for in steps of so many points."""
_CLOSE = 1e-8
"""… and then as closely as this."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Decisions × rungs."""

    rungs: Floats
    """The ratings."""
    ln_chosen: Floats
    """Logarithm of the probability of each choice at each rung."""
    information: Floats
    """Expected information about the rating that each decision gives at each rung."""
    weights: Floats
    """How much each decision counts."""
    groups: Ints
    """What each decision belongs to (a game)."""
    ln_first: Floats | None = None
    """Logarithm of the probability of each first option at each rung, if it was asked for."""

    @cached_property
    def _rows(self) -> EvenSpline:
        return EvenSpline(self.rungs, self.ln_chosen)

    def rows(self) -> EvenSpline:
        """Return the log-likelihood of each decision as a function of the rating."""
        return self._rows

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.weights)

    @classmethod
    def joined(cls, parts: Sequence[Ladder], groups: Ints) -> Ladder:
        """Return the decisions of several ladders, without the first options; `groups` are all."""
        return cls(
            parts[0].rungs,
            np.concatenate([part.ln_chosen for part in parts]),
            np.concatenate([part.information for part in parts]),
            np.concatenate([part.weights for part in parts]),
            groups,
        )

    def take(self, rows: npt.ArrayLike) -> Ladder:
        """Return some of the decisions, by number or by mask."""
        chosen = np.asarray(rows)
        return Ladder(
            self.rungs,
            self.ln_chosen[chosen],
            self.information[chosen],
            self.weights[chosen],
            self.groups[chosen],
            None if self.ln_first is None else self.ln_first[chosen],
        )

    def log_likelihood(self) -> EvenSpline:
        """Return the log-likelihood of all decisions as a function of the rating."""
        return EvenSpline(self.rungs, self.weights @ self.ln_chosen)

    def scores(self, rating: npt.ArrayLike) -> Floats:
        """Return the derivative of each decision's log-likelihood by the rating.

        `rating` is one number for all decisions, or one each.
        """
        at = np.asarray(rating, dtype=np.float64)
        # Many decisions, few ratings.
        ratings, which = np.unique(at, return_inverse=True)
        shares = slope_shares(self.rungs, ratings)[which]
        answer: Floats = np.einsum("tr,tr->t", self.ln_chosen, np.atleast_2d(shares))
        return answer

    def information_at(self, rating: npt.ArrayLike, rows: Ints | None = None) -> Floats:
        """Return the expected information of each decision, or of some, at a rating or at one each.

        `rows` are the numbers of some decisions.
        """
        which = np.arange(len(self)) if rows is None else rows
        at = np.asarray(rating, dtype=np.float64)
        place = np.clip((at - self.rungs[0]) / (self.rungs[1] - self.rungs[0]), 0, None)
        low = np.minimum(place.astype(np.int64), len(self.rungs) - 2)
        share = np.minimum(place - low, 1.0)
        answer: Floats = (1 - share) * self.information[which, low] + share * self.information[
            which, low + 1
        ]
        return answer


def climb(
    decisions: Spreads | Prepared, path: AgentPath, rungs: Floats = RUNGS, *, first: bool = False
) -> Ladder:
    """Work out a ladder.

    Parameters
    ----------
    decisions
        The decisions, with values by depth if the path's agents look at them; or what was prepared
        of them for the path's model.
    path
        The agents.
    rungs
        The ratings, evenly spaced.
    first
        Whether the probabilities of the first options are wanted too.

    Raises
    ------
    InputError
        If the decisions have no values by depth and the agents need them.
    """
    model = path.model
    spreads = decisions.spreads if isinstance(decisions, Prepared) else decisions
    _check_depths(spreads, path)
    prepared = decisions if isinstance(decisions, Prepared) else prepare(decisions, model)
    ln_chosen, information, ln_first = evaluate_ladder(
        model,
        prepared,
        path.theta(rungs),
        path.slope(rungs),
        step=float(rungs[1] - rungs[0]),
        first=first,
    )
    return Ladder(
        rungs,
        ln_chosen,
        information,
        spreads.weights,
        spreads.groups,
        ln_first if first else None,
    )


def climb_beside_own(
    prepared: Prepared,
    path: AgentPath,
    own: Floats,
    rungs: Floats = RUNGS,
    *,
    first: bool = False,
    probabilities: bool = False,
    nearby: Sequence[float] = (),
) -> tuple[Ladder, OwnAgents]:
    """Work out a ladder and what agents of the players' own Elo say, in one go over the decisions.

    Parameters
    ----------
    prepared, path, rungs, first
        As for `climb`.
    own, probabilities
        As for `milepost.intrinsic.calibration.player_variation.own_agents`.
    nearby
        By how many points others differ from the agents of the own Elo, whose probabilities are
        wanted too.

    Raises
    ------
    InputError
        If the decisions have no values by depth and the agents need them.
    """
    spreads = prepared.spreads
    _check_depths(spreads, path)
    # Many decisions, few players.
    ratings, which = np.unique(own, return_inverse=True)
    said = evaluate_together(
        path.model,
        prepared,
        path.theta(rungs),
        path.slope(rungs),
        PlacedAgents(
            path.theta(ratings),
            path.slope(ratings),
            which,
            tuple(path.theta(ratings + apart) for apart in nearby),
        ),
        step=float(rungs[1] - rungs[0]),
        first=first,
        probabilities=probabilities,
    )
    ladder = Ladder(
        rungs,
        said.ln_chosen,
        said.information,
        spreads.weights,
        spreads.groups,
        said.ln_first if first else None,
    )
    others = dict(zip(nearby, said.nearby, strict=True))
    return ladder, OwnAgents(ratings, which, said.said, said.roots, others)


def climb_at_once(spreads: Spreads, path: AgentPath, rungs: Floats = RUNGS) -> Ladder:
    """Work out the ladder of a few decisions: as `climb`, but all rungs in one evaluation.

    Each decision stands there once a rung; for one decision that is several times as fast.
    """
    _check_depths(spreads, path)
    count, model = len(spreads), path.model
    many = spreads.take(np.tile(np.arange(count), len(rungs)))
    theta, slope = (np.repeat(each(rungs), count, axis=0) for each in (path.theta, path.slope))
    said = evaluate(model, prepare(many, model), theta, information=True, along=slope)
    information = said.information[:, 0, 0]
    shape = (len(rungs), count)
    return Ladder(
        rungs,
        said.ln_chosen.reshape(shape).T,
        information.reshape(shape).T,
        spreads.weights,
        spreads.groups,
    )


def _check_depths(spreads: Spreads, path: AgentPath) -> None:
    depths = path.model.depths
    if depths is not None and not set(depths.depths) <= set(spreads.depths):
        raise InputError(
            f"these agents look at the depths {_span(depths.depths)}, the decisions have "
            f"{_span(spreads.depths) if spreads.depths else 'none'}"
        )


def greatest(function: EvenSpline) -> float:
    """Return where a spline is greatest: inside, or at an end."""
    x = function.x
    fine = _fine_places(float(x[0]), float(x[-1]))
    return float(_greatest(x[0], x[1] - x[0], function.c, fine, np.empty(len(fine))))


@kernel
def _greatest(x: float, step: float, c: Floats, fine: Floats, values: Floats) -> float:
    _fill_values(x, step, c, fine, values)
    # By hand: an array function of Numba's would load SciPy along with the kernel.
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    place: float = fine[best]
    if best == 0 or best == len(fine) - 1:
        return place
    left, right = fine[best - 1], fine[best + 1]
    if _slope_at(x, step, c, left) <= 0.0 or _slope_at(x, step, c, right) >= 0.0:
        return place
    return _turn(x, step, c, left, right)


@lru_cache(maxsize=8)
def _fine_places(low: float, high: float) -> Floats:
    return np.arange(low, high + _FINE / 2, _FINE)


@kernel
def _piece(x: float, step: float, pieces: int, at: float) -> int:
    return min(max(int((at - x) / step), 0), pieces - 1)


@kernel
def _value_at(x: float, step: float, c: Floats, at: float) -> float:
    """Return the value of a spline, as `EvenSpline` does."""
    k = _piece(x, step, c.shape[1], at)
    over = at - (x + k * step)
    value: float = ((c[0, k] * over + c[1, k]) * over + c[2, k]) * over + c[3, k]
    return value


@kernel
def _slope_at(x: float, step: float, c: Floats, at: float) -> float:
    k = _piece(x, step, c.shape[1], at)
    over = at - (x + k * step)
    slope: float = (3.0 * c[0, k] * over + 2.0 * c[1, k]) * over + c[2, k]
    return slope


@kernel
def _fill_values(x: float, step: float, c: Floats, at: Floats, values: Floats) -> None:
    for i in range(len(at)):
        values[i] = _value_at(x, step, c, at[i])


@kernel
def _turn(x: float, step: float, c: Floats, rising: float, falling: float) -> float:
    """Return where the slope is 0, between a place where it is positive and one where not."""
    while abs(falling - rising) > _CLOSE:
        middle = 0.5 * (rising + falling)
        if _slope_at(x, step, c, middle) > 0.0:
            rising = middle
        else:
            falling = middle
    return 0.5 * (rising + falling)


@kernel
def _crossing(x: float, step: float, c: Floats, level: float, above: float, under: float) -> float:
    """Return where a spline has a value, between a place where it is above and one where not."""
    while abs(under - above) > _CLOSE:
        middle = 0.5 * (above + under)
        if _value_at(x, step, c, middle) > level:
            above = middle
        else:
            under = middle
    return 0.5 * (above + under)


def greatest_of_rows(rungs: Floats, rows: Floats) -> Floats:
    """Return where the spline through each row is greatest: `greatest`, for many at once."""
    if not len(rows):
        return np.empty(0)
    spline = EvenSpline(rungs, rows)
    fine = np.arange(rungs[0], rungs[-1] + _FINE / 2, _FINE)
    best = spline(fine).argmax(axis=1)
    end = len(fine) - 1
    low, high = fine[np.maximum(best - 1, 0)], fine[np.minimum(best + 1, end)]
    slope = spline.slope_of_rows
    inside = (best > 0) & (best < end) & (slope(low) > 0) & (slope(high) < 0)
    while (high - low).max() > 1e-4:
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    answer: Floats = np.where(inside, (low + high) / 2, fine[best])
    return answer


def drop_points(function: EvenSpline, top: float, drop: float) -> tuple[float, float]:
    """Return where a spline has fallen by `drop` under its value at `top`, to either side.

    An end that it does not reach is infinite: nothing in the decisions bounds the rating there.
    """
    x = function.x
    fine = _fine_places(float(x[0]), float(x[-1]))
    low, high = _drop_points(x[0], x[1] - x[0], function.c, fine, np.empty(len(fine)), top, drop)
    return float(low), float(high)


@kernel
def _drop_points(
    x: float, step: float, c: Floats, fine: Floats, values: Floats, top: float, drop: float
) -> tuple[float, float]:
    _fill_values(x, step, c, fine, values)
    level = _value_at(x, step, c, top) - drop
    low, high = -np.inf, np.inf
    for i in range(len(fine)):
        if values[i] < level and fine[i] < top:
            low = fine[i]
        elif values[i] < level and fine[i] > top:
            high = fine[i]
            break
    if low > -np.inf:
        low = _crossing(x, step, c, level, min(low + _FINE, top), low)
    if high < np.inf:
        high = _crossing(x, step, c, level, max(high - _FINE, top), high)
    return low, high


def _span(depths: tuple[int, ...]) -> str:
    return f"{depths[0]} to {depths[-1]}"
