"""How well somebody has played through time, with a band.

One step of Newton's method from a reference rating R turns each game into a reading
R + U / I with the variance φ / I (+ σ_game²); see `milepost.fairplay.results.luck`. The level
moves as Brownian motion, of q Elo in a year: x(t) has the covariance q² |t - t₀|. How fast it moves
is not known: the answer averages over a fixed range of q, each weighed by how well it predicts the
readings. So a short or noisy record gives a flat line and a wide band, not a story.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from milepost.choice.spreads import Floats

DRIFTS = (0.0, 20.0, 40.0, 80.0, 160.0, 320.0)
"""q, in Elo for the root of a year: each as likely as the others beforehand."""
PRIOR_SD = 1000.0
"""What is known of the level beforehand, about the reference."""
MOST_POINTS = 400
"""Readings at more times than this are put together with their neighbours."""


@dataclass(frozen=True)
class Change:
    """From the first game to the last."""

    value: float
    """In Elo."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    rising: float
    """Probability that the level has risen."""


@dataclass(frozen=True, eq=False)
class Trend:
    """A level through time."""

    table: pl.DataFrame
    """One row a time with games: `time` (years), `mean`, `low`, `high`."""
    change: Change
    """From first to last."""
    drift: float
    """q, averaged over what the readings say of it."""


def trend(
    time: npt.ArrayLike,
    score: npt.ArrayLike,
    information: npt.ArrayLike,
    reference: float,
    dispersion: float,
    *,
    game_sd: float = 0.0,
    level: float = 0.95,
) -> Trend:
    """Smooth readings through time.

    Parameters
    ----------
    time
        When each game was played, in years.
    score, information
        U and I of each game at the reference rating.
    reference
        The rating that they were taken at.
    dispersion
        φ: variance of U over I.
    game_sd
        Form beyond it, in Elo.
    level
        Probability of the band.
    """
    when, step, variance = _readings(
        np.asarray(time, dtype=np.float64),
        np.asarray(score, dtype=np.float64),
        np.asarray(information, dtype=np.float64),
        dispersion,
        game_sd,
    )
    since = when - when[0]
    lag = np.minimum(since[:, None], since[None, :])
    means, covariances, evidence = [], [], []
    for drift in DRIFTS:
        prior = PRIOR_SD**2 + drift**2 * lag
        whole = prior + np.diag(variance)
        factor = cho_factor(whole, lower=True)
        means.append(prior @ cho_solve(factor, step))
        covariances.append(prior - prior @ cho_solve(factor, prior))
        half_log = float(np.log(np.diag(factor[0])).sum())
        evidence.append(-half_log - 0.5 * float(step @ cho_solve(factor, step)))
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean, sd = _mixed(weights, np.array(means), np.array([np.diag(each) for each in covariances]))
    quantile = float(ndtri(0.5 + level / 2))
    table = pl.DataFrame(
        {
            "time": when,
            "mean": reference + mean,
            "low": reference + mean - quantile * sd,
            "high": reference + mean + quantile * sd,
        }
    )
    moved = np.array([each[-1] - each[0] for each in means])
    spare = np.array([max(c[0, 0] + c[-1, -1] - 2 * c[0, -1], 1e-9) for c in covariances])
    change, change_sd = _mixed(weights, moved[:, None], spare[:, None])
    # With no drift at all the level is the same throughout: half a chance either way.
    rising = float(weights @ np.where(spare > 1e-6, ndtr(moved / np.sqrt(spare)), 0.5))
    value, half = float(change[0]), quantile * float(change_sd[0])
    return Trend(
        table, Change(value, value - half, value + half, rising), float(weights @ np.array(DRIFTS))
    )


def _readings(
    time: Floats, score: Floats, information: Floats, dispersion: float, game_sd: float
) -> tuple[Floats, Floats, Floats]:
    """Time, step and variance, at most so many, in order of time."""
    known = information > 0
    time, score, information = time[known], score[known], information[known]
    order = np.argsort(time, kind="stable")
    time, score, information = time[order], score[order], information[order]
    noise = dispersion / information + game_sd**2
    _, place = np.unique(time, return_inverse=True)
    if int(place.max()) >= MOST_POINTS:
        place = place * MOST_POINTS // (int(place.max()) + 1)
    weight = np.bincount(place, weights=1 / noise)
    step = np.bincount(place, weights=score / information / noise) / weight
    when = np.bincount(place, weights=time) / np.bincount(place)
    return when, step, 1 / weight


def _mixed(weights: Floats, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    mean = weights @ means
    variance = weights @ (variances + (means - mean) ** 2)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def years(dates: pl.Series) -> pl.Series:
    """Return dates (``2014.03.??``) as years with a fraction; null = not even the year is known."""
    parts = dates.str.extract_groups(r"^(\d{4})(?:\.(\d\d)(?:\.(\d\d))?)?")
    year = parts.struct.field("1").cast(pl.Float64, strict=False)
    month = parts.struct.field("2").cast(pl.Float64, strict=False)
    day = parts.struct.field("3").cast(pl.Float64, strict=False).fill_null(15.0)
    part = ((month - 1) / 12 + (day - 1) / 365.25).fill_null(0.5)
    return (year + part).alias("time")
