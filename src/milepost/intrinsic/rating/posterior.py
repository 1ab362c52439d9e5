"""How likely a sequence of choices is for given ratings, and what is known of the rating after it.

The posterior is honest about what the agents do not know: each game's log-likelihood is tempered by
1 / (φ + ω_g² I), the ratio of what its score varies under the agents to what it varies in life
(`milepost.intrinsic.calibration.player_variation`), and the result is widened by the error of the
calibration and by the spread between players of equal Elo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.ndimage import gaussian_filter1d

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import RUNGS, Ladder, climb

STEP = 5.0
"""The posterior lives on a grid of so many points."""


@dataclass(frozen=True)
class Prior:
    """What is known of a rating beforehand: normal, or even over a range."""

    mean: float | None = None
    """Mean of the normal; None = even over the range."""
    sd: float = 0.0
    """Its standard deviation."""
    low: float = 600.0
    """Lower end of the range."""
    high: float = 3400.0
    """Upper end."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.mean is not None and not (0 < self.sd < np.inf):
            raise InputError(f"a prior needs a standard deviation over 0, got {self.sd}")
        if self.mean is not None and not RUNGS[0] < self.mean < RUNGS[-1]:
            raise InputError(
                f"the prior's mean is an Elo between {RUNGS[0]:.0f} and {RUNGS[-1]:.0f}, got "
                f"{self.mean}"
            )
        if not self.low < self.high:
            raise InputError(f"the prior's range is empty: {self.low} to {self.high}")

    def log_density(self, ratings: Floats) -> Floats:
        """Return its logarithm, up to a constant."""
        if self.mean is None:
            inside = (ratings >= self.low) & (ratings <= self.high)
            return np.where(inside, 0.0, -np.inf)
        answer: Floats = -0.5 * ((ratings - self.mean) / self.sd) ** 2
        return answer


@dataclass(frozen=True, eq=False)
class Followed:
    """Choices in order, with what was learnt of the rating."""

    turns: pl.DataFrame
    """One row a choice: its probability for each given rating."""
    totals: pl.DataFrame
    """One row a given rating: logarithm of the probability of all choices, and a choice's mean."""
    games: pl.DataFrame
    """One row a game: the posterior after it."""
    grid: Floats
    """Ratings of the final posterior."""
    density: Floats
    """Its density."""


def follow(
    spreads: Spreads,
    calibration: Calibration,
    ratings: Sequence[float],
    *,
    prior: Prior | None = None,
    level: float = 0.95,
) -> Followed:
    """Return how likely choices are for given ratings, and the posterior after each game.

    Parameters
    ----------
    spreads
        The choices in the order in which they were made, grouped by game.
    calibration
        The calibration.
    ratings
        The ratings to ask about.
    prior
        What is known beforehand [default: even from 600 to 3400].
    level
        Probability of the intervals.
    """
    ladder = climb(spreads, calibration.map.path)
    rows = ladder.rows()
    asked = np.asarray(ratings, dtype=np.float64)
    ln_p = np.stack([rows(rating) for rating in asked], axis=1) if len(asked) else None
    turns = {"group": spreads.groups}
    totals: list[dict[str, float]] = []
    if ln_p is not None:
        for place, rating in enumerate(asked):
            turns[f"p_{rating:g}"] = np.exp(ln_p[:, place])
            total = float(spreads.weights @ ln_p[:, place])
            totals.append(
                {
                    "elo": float(rating),
                    "turns": len(spreads),
                    "ln_probability": total,
                    "log10_probability": total / float(np.log(10)),
                    "mean_probability": float(np.exp(total / spreads.weights.sum())),
                }
            )
    games, grid, density = _posteriors(ladder, calibration, prior or Prior(), level)
    return Followed(pl.DataFrame(turns), pl.DataFrame(totals), games, grid, density)


def _posteriors(
    ladder: Ladder, calibration: Calibration, prior: Prior, level: float
) -> tuple[pl.DataFrame, Floats, Floats]:
    grid = np.arange(ladder.rungs[0], ladder.rungs[-1] + STEP / 2, STEP)
    total = prior.log_density(grid)
    _, first = np.unique(ladder.groups, return_index=True)
    rows = []
    density = _density(total)
    seen = 0
    for group in ladder.groups[np.sort(first)]:
        here = ladder.take(ladder.groups == group)
        seen += len(here)
        information = np.interp(grid, ladder.rungs, here.weights @ here.information)
        # The temper of a game is that at the likeliest rating so far: a number, not a function of
        # the rating, so that it shifts no peak by itself.
        at = int(density.argmax())
        spread = calibration.spread
        temper = 1.0 / (spread.dispersion + spread.form_sd**2 * information[at])
        total = total + min(temper, 1.0) * here.log_likelihood()(grid)
        density = _density(total)
        told = _widened(density, grid, calibration)
        counts = {"group": int(group), "turns": len(here), "turns_so_far": seen}
        rows.append({**counts, **_of(told, grid, level)})
    told = _widened(density, grid, calibration)
    return pl.DataFrame(rows), grid, told / STEP


def _density(logarithm: Floats) -> Floats:
    raised = np.exp(logarithm - logarithm.max())
    answer: Floats = raised / raised.sum()
    return answer


def _widened(density: Floats, grid: Floats, calibration: Calibration) -> Floats:
    """The density with the errors that more turns would not remove."""
    middle = float(density @ grid)
    error = float(np.interp(middle, *calibration.map_error))
    sd = float(np.hypot(error, calibration.spread.players_sd))
    wide = gaussian_filter1d(density, sd / STEP, mode="nearest")
    answer: Floats = wide / wide.sum()
    return answer


def _of(density: Floats, grid: Floats, level: float) -> dict[str, float]:
    mean = float(density @ grid)
    below = np.cumsum(density)
    low, high = (1 - level) / 2, (1 + level) / 2
    return {
        "mean": mean,
        "sd": float(np.sqrt(density @ (grid - mean) ** 2)),
        "low": float(np.interp(low, below, grid)),
        "high": float(np.interp(high, below, grid)),
    }
