"""Which map reads ratings best off games it has not seen.

Whole games go into folds; each map is fitted to all folds but one and read on that one. Pieces of a
given number of turns are drawn game by game within a milepost, and their ratings compared with the
players' own Elo. A piece may lie across folds: each of its turns is read by the map that has not
seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.interpolate import CubicSpline

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.comparison.compare import score_choices
from milepost.fit.comparison.gate import HeldOut
from milepost.fit.methods.percentile import GRID, up_shares
from milepost.intrinsic.calibration.maps import (
    CENTRE,
    ERROR,
    LEAST_TURNS,
    MILEPOST,
    UNIT,
    RatingMap,
    expected_error,
    fit_map,
    reference_set,
)
from milepost.intrinsic.rating.likelihood_grid import RUNGS, climb, greatest
from milepost.io.progress import Progress, Report

SIZES = (50, 250, 1000)
"""Turns of a piece."""
BEYOND = 800.0
"""A rating farther beyond the fitted range than this counts as being there."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """A map read on games it has not seen."""

    kind: str
    """The map."""
    maps: tuple[RatingMap, ...]
    """The fit without each fold."""
    said: HeldOut
    """What its agents of the players' own Elo say of each decision."""
    read: Callable[[Ints], float]
    """The rating of some decisions, by number."""


def read_unseen(
    kind: str,
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
        See `milepost.intrinsic.calibration.maps`.
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
            progress(Progress(number, folds, kind))
        seen = spreads.take(fold != number)
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
    model = maps[0].path.model
    theta = np.empty((len(spreads), len(model.parameters)))
    assert spreads.rating is not None
    for number, found in enumerate(maps):
        here = fold == number
        theta[here] = found.path.theta(spreads.rating[here])
    said = score_choices(spreads, model, theta)
    reader = {"likelihood": _by_likelihood, "percentile": _by_percentile, "error": _by_error}
    return Unseen(kind, tuple(maps), said, reader[maps[0].reading](spreads, fold, maps))


def pieces(spreads: Spreads, size: int, repeats: int, rng: np.random.Generator) -> list[Ints]:
    """Draw pieces of decisions: games in a random order within each milepost, cut to size.

    Where mileposts have fewer than twice as many turns as a piece, neighbours are put together.
    """
    assert spreads.rating is not None
    near = np.round(spreads.rating / MILEPOST).astype(np.int64)
    typical = float(np.median(np.unique(near, return_counts=True)[1]))
    near = (near - near.min()) // max(int(np.ceil(2 * size / typical)), 1)
    found: list[Ints] = []
    for _ in range(repeats):
        place = rng.permutation(int(spreads.groups.max()) + 1)[spreads.groups]
        for level in np.unique(near):
            rows = np.flatnonzero(near == level)
            rows = rows[np.argsort(place[rows], kind="stable")]
            found += [rows[at : at + size] for at in range(0, len(rows) - size + 1, size)]
    return found


def errors_of(read: Callable[[Ints], float], spreads: Spreads, parts: Sequence[Ints]) -> Floats:
    """Return true and read ratings of pieces, a row each; readings far away are brought near."""
    assert spreads.rating is not None
    low, high = float(spreads.rating.min()) - BEYOND, float(spreads.rating.max()) + BEYOND
    rows = [
        (float(spreads.rating[part].mean()), float(np.clip(read(part), low, high)))
        for part in parts
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def accuracy(pairs: Floats) -> dict[str, float]:
    """Return bias, root mean square error, correlation and slope of readings."""
    if len(pairs) < 3:
        return {"pieces": float(len(pairs))}
    true, found = pairs.T
    gap = found - true
    return {
        "pieces": float(len(pairs)),
        "bias": float(gap.mean()),
        "rmse": float(np.sqrt((gap**2).mean())),
        "correlation": float(np.corrcoef(true, found)[0, 1]),
        "slope": float(np.polyfit(true, found, 1)[0]),
    }


def accuracy_table(
    readers: dict[str, Callable[[Ints], float]],
    spreads: Spreads,
    *,
    sizes: Sequence[int] = SIZES,
    repeats: int = 5,
    seed: int = 2012,
) -> pl.DataFrame:
    """Return how well each reader does on pieces of each size; all get the same pieces."""
    rows = []
    for size in sizes:
        parts = pieces(spreads, size, repeats, np.random.default_rng((seed, size)))
        if not parts:
            continue
        rows += [
            {"map": name, "turns": size, **accuracy(errors_of(read, spreads, parts))}
            for name, read in readers.items()
        ]
    if not rows:
        raise InputError("no milepost has enough turns to cut pieces from")
    return pl.DataFrame(rows)


def _by_likelihood(
    spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]
) -> Callable[[Ints], float]:
    table = np.empty((len(spreads), len(RUNGS)))
    for number, found in enumerate(maps):
        here = fold == number
        table[here] = climb(spreads.take(here), found.path).ln_chosen
    weights = spreads.weights

    def read(part: Ints) -> float:
        return greatest(CubicSpline(RUNGS, weights[part] @ table[part]))

    return read


def _by_percentile(
    spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]
) -> Callable[[Ints], float]:
    shares = np.empty((len(spreads), len(RUNGS), len(GRID)), dtype=np.float32)
    for number, found in enumerate(maps):
        here = np.flatnonzero(fold == number)
        prepared = prepare(spreads.take(here), found.path.model)
        up = np.empty((len(here), len(GRID)))
        for column, rung in enumerate(RUNGS):
            said = evaluate(found.path.model, prepared, found.path.theta(rung))
            up_shares(said.before, said.ln_chosen, GRID, up)
            shares[here, column] = up
    weights = spreads.weights

    def read(part: Ints) -> float:
        share = weights[part] / weights[part].sum()
        gap = np.einsum("t,trq->rq", share, shares[part]) - GRID
        return greatest(CubicSpline(RUNGS, -(gap**2).sum(axis=1)))

    return read


def _by_error(spreads: Spreads, fold: Ints, maps: Sequence[RatingMap]) -> Callable[[Ints], float]:
    from milepost.fit.agent import fit_model

    lines = np.array([found.error_line for found in maps])
    reference = maps[0].reference
    model = maps[0].path.model
    assert maps[0].kind == ERROR
    assert reference is not None

    def read(part: Ints) -> float:
        fit = fit_model(spreads.take(part), model, covariance="none")
        error, _ = expected_error(reference, model, fit.theta)
        readings = CENTRE + UNIT * (error - lines[:, 0]) / lines[:, 1]
        return float(np.bincount(fold[part], minlength=len(maps)) @ readings / len(part))

    return read
