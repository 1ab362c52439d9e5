"""What a map says of games it has not seen, and the ratings it reads off them.

Whole games go into folds; each map is fitted to all folds but one and read on that one. A piece of
turns may lie across folds: each of its turns is read by the map that has not seen it. How good the
readings are: `milepost.intrinsic.calibration.accuracy`; whom they wrong:
`milepost.intrinsic.calibration.bias`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.fit.comparison.compare import score_choices
from milepost.fit.comparison.gate import HeldOut
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.intrinsic.calibration.accuracy import Contender, Reader
from milepost.intrinsic.calibration.maps import (
    CENTRE,
    ERROR,
    LEAST_TURNS,
    UNIT,
    RatingMap,
    expected_error,
    fit_map,
    reference_set,
)
from milepost.intrinsic.rating.likelihood_grid import RUNGS, climb, greatest_of_rows
from milepost.intrinsic.rating.simple_measures import (
    CENTIPAWNS,
    LICHESS,
    statistic_reader,
    turn_statistics,
)
from milepost.io.progress import Progress, Report

SLOW_CUTS = 3
"""The map of 2012 fits every piece anew: it gets so many cuts, the others all."""

MapFitter = Callable[[Spreads, RatingMap | None], RatingMap]
"""From decisions, and a map to set out from, to a map."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """A map read on games it has not seen."""

    kind: str
    """The map."""
    maps: tuple[RatingMap, ...]
    """The fit without each fold."""
    theta: Floats
    """The parameters of the agent of each chooser's own Elo, a row a decision."""
    score: Floats
    """Derivative of each choice's log-likelihood by the rating, at the chooser's own Elo."""
    information: Floats
    """Expected information of each decision about the rating, there too."""
    said: HeldOut
    """What its agents of the players' own Elo say of each decision."""
    read: Reader
    """The ratings of pieces, by the numbers of their decisions."""

    @property
    def contender(self) -> Contender:
        """The map as one of those whose accuracy is compared."""
        slow = self.maps[0].reading == "error"
        return Contender(self.read, self.information, SLOW_CUTS if slow else None)


def read_unseen(
    kind: str | MapFitter,
    spreads: Spreads,
    fold: Ints,
    *,
    start: RatingMap | None = None,
    progress: Report | None = None,
) -> Unseen:
    """Fit a map without each fold, and read it on that fold.

    Parameters
    ----------
    kind
        See `milepost.intrinsic.calibration.maps`; or what fits a map of one's own.
    spreads
        The decisions, with ratings.
    fold
        The fold of each decision; whole games in one fold.
    start
        The map of all decisions, to set out from.
    progress
        Called with the folds done.
    """
    folds = int(fold.max()) + 1
    reference = reference_set(spreads)
    maps = []
    for number in range(folds):
        if progress is not None:
            progress(Progress(number, folds, kind if isinstance(kind, str) else ""))
        seen = spreads.take(fold != number)
        if not isinstance(kind, str):
            maps.append(kind(seen, start))
            continue
        maps.append(
            fit_map(
                kind,
                seen,
                reference=reference,
                start=start,
                covariance=False,
                # Folds take turns away: what had enough in all must not fail for that.
                least=LEAST_TURNS // 2,
            )
        )
    return read_folds(maps, spreads, fold)


def read_folds(maps: Sequence[RatingMap], spreads: Spreads, fold: Ints | None = None) -> Unseen:
    """Read each fold with its map; without folds all decisions with the only one.

    Parameters
    ----------
    maps
        A map for each fold, all of one model.
    spreads
        Decisions with ratings that the maps have not seen.
    fold
        The fold of each decision [default: all in the first].
    """
    assert spreads.rating is not None
    fold = np.zeros(len(spreads), dtype=np.int64) if fold is None else fold
    model = maps[0].path.model
    theta = np.empty((len(spreads), len(model.parameters)))
    slope = np.empty_like(theta)
    for number, found in enumerate(maps):
        here = fold == number
        theta[here] = found.path.theta(spreads.rating[here])
        slope[here] = found.path.slope(spreads.rating[here])
    own = evaluate(model, prepare(spreads, model), theta, information=True, along=slope)
    reader = {"likelihood": _by_likelihood, "percentile": _by_percentile, "error": _by_error}
    return Unseen(
        kind=maps[0].kind,
        maps=tuple(maps),
        theta=theta,
        score=own.d_ln_chosen[:, 0],
        information=own.information[:, 0, 0],
        said=score_choices(spreads, model, theta),
        read=reader[maps[0].reading](spreads, fold, maps),
    )


def simple_contenders(
    spreads: Spreads, fold: Ints, names: Sequence[str] = (LICHESS, CENTIPAWNS)
) -> dict[str, Contender]:
    """Return what people use instead, each with a curve over Elo that has not seen the fold."""
    assert spreads.rating is not None
    statistics = turn_statistics(spreads)
    return {
        name: Contender(statistic_reader(statistics[name], spreads.rating, fold)) for name in names
    }


def _sums(parts: Ints, weights: Floats, table: Floats) -> Floats:
    """The weighted sum of a table's rows over the decisions of each piece."""
    count, size = parts.shape
    places = np.arange(0, count * size + 1, size)
    chosen = parts.ravel()
    matrix = csr_array((weights[chosen], chosen, places), shape=(count, len(table)))
    answer: Floats = matrix @ table
    return answer


def _by_likelihood(spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]) -> Reader:
    @cache  # worked out when the first piece is read: biases need none
    def table() -> Floats:
        answer = np.empty((len(spreads), len(RUNGS)))
        for number, found in enumerate(maps):
            here = fold == number
            if here.any():
                answer[here] = climb(spreads.take(here), found.path).ln_chosen
        return answer

    def read(parts: Ints) -> Floats:
        return greatest_of_rows(RUNGS, _sums(parts, spreads.weights, table()))

    return read


def _by_percentile(spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]) -> Reader:
    @cache
    def table() -> Floats:
        shares = np.empty((len(spreads), len(RUNGS), len(GRID)))
        for number, found in enumerate(maps):
            here = np.flatnonzero(fold == number)
            prepared = prepare(spreads.take(here), found.path.model)
            up = np.empty((len(here), len(GRID)))
            for column, rung in enumerate(RUNGS):
                said = evaluate(found.path.model, prepared, found.path.theta(rung))
                up_shares(said.before, said.ln_chosen, GRID, up)
                shares[here, column] = up
        return shares.reshape(len(spreads), -1)

    def read(parts: Ints) -> Floats:
        total = spreads.weights[parts].sum(axis=1)
        up = _sums(parts, spreads.weights, table()).reshape(len(parts), len(RUNGS), len(GRID))
        gap = up / total[:, None, None] - GRID
        return greatest_of_rows(RUNGS, -(gap**2).sum(axis=2))

    return read


def _by_error(spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]) -> Reader:
    from milepost.fit.agent import fit_model

    lines = np.array([found.error_line for found in maps])
    reference = maps[0].reference
    model = maps[0].path.model
    assert maps[0].kind == ERROR
    assert reference is not None

    def read_piece(part: Ints) -> float:
        fit = fit_model(spreads.take(part), model, covariance="none")
        error, _ = expected_error(reference, model, fit.theta)
        readings = CENTRE + UNIT * (error - lines[:, 0]) / lines[:, 1]
        return float(np.bincount(fold[part], minlength=len(maps)) @ readings / len(part))

    return lambda parts: np.array([read_piece(part) for part in parts])
