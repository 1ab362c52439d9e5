"""How likely a sequence of choices is for given ratings, and what is known of the rating after it.

The posterior is honest about what the agents do not know: the log-likelihood is tempered by 1 / φ,
the ratio of what a game's score varies under the agents to what it varies in life
(`milepost.intrinsic.calibration.player_variation`). Two questions are answered, as a rating does:
how well these games were played, and how strong the player is; the second adds how players of equal
Elo, events and a player's games differ. What is known beforehand is about the player.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.interval import ONE_PLAYER, Shares, variation_parts
from milepost.intrinsic.rating.likelihood_grid import RUNGS, Ladder, climb, climb_at_once
from milepost.intrinsic.rating.splines import EvenSpline

STEP = 5.0
"""The posterior lives on a grid of so many points."""
_FLOOR = 1e-290
"""What is less likely than this is all alike: the logarithm of nothing is none."""
_FAR = 10.0
"""Widening reaches so many standard deviations."""


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
    """Its density: how well these games were played."""
    player_density: Floats
    """The density of how strong the player is."""


@dataclass
class _Game:
    """What the decisions of one game have said so far."""

    ln_chosen: Floats
    """Log-likelihood of the choices at each rung."""
    information: Floats
    """Expected information at each rung."""
    mode: int
    """Where on the grid the posterior was greatest before the game."""
    share: Floats
    """What the game adds to the logarithm of the posterior, on the grid."""


class LiveRating:
    """The posterior of one chooser's Elo, updated while decisions come in.

    A decision costs the work of the rungs, however many came before: of each game only the sums at
    the rungs are kept, as its temper changes with each of its decisions.
    """

    def __init__(
        self, calibration: Calibration, prior: Prior | None = None, shares: Shares = ONE_PLAYER
    ):
        """Begin with nothing but the prior [default: even from 600 to 3400]."""
        self.calibration = calibration
        """Elo as agents."""
        self.shares = shares
        """Over how many events the decisions are spread."""
        self.n = 0
        """Decisions seen."""
        self.grid = np.arange(RUNGS[0], RUNGS[-1] + STEP / 2, STEP)
        """Ratings of the posterior."""
        self._prior = (prior or Prior()).log_density(self.grid)
        self._total = np.zeros(len(self.grid))
        self._density = _density(self._prior)
        self._games: dict[str, _Game] = {}

    def add(self, game: str, spreads: Spreads) -> None:
        """Take decisions of one game into account.

        Raises
        ------
        InputError
            If the agents look at depths whose values are not there.
        """
        self.add_rows(game, climb_at_once(spreads, self.calibration.map.path))

    def add_rows(self, game: str, rows: Ladder) -> None:
        """Take rows of a ladder into account that belong to one game."""
        mode, nothing = int(self._density.argmax()), np.zeros(1)
        known = self._games.get(game) or _Game(nothing, nothing, mode, nothing)
        ln_chosen = known.ln_chosen + rows.weights @ rows.ln_chosen
        information = known.information + rows.weights @ rows.information
        self._put(game, _Game(ln_chosen, information, known.mode, known.share))
        self.n += len(rows)

    def _put(self, name: str, game: _Game) -> None:
        temper = 1.0 / max(self.calibration.variation.game_dispersion.value, 1.0)
        share = temper * EvenSpline(RUNGS, game.ln_chosen + np.zeros(len(RUNGS)))(self.grid)
        before = self._total - game.share if name in self._games else self._total
        self._total = before + share
        self._density = _density(self._prior + self._total)
        self._games[name] = replace(game, share=share)

    def _errors(self) -> tuple[float, float]:
        """The error of the calibration, and what players, events and games vary, at the middle."""
        middle = float(self._density @ self.grid)
        by_game = np.array(
            [np.interp(middle, RUNGS, game.information) for game in self._games.values()]
        )
        total = float(by_game.sum())
        share = float((by_game**2).sum()) / total**2 if total > 0 else 1.0
        parts = variation_parts(self.calibration.variation, self.shares, share)
        return float(np.interp(middle, *self.calibration.map_error)), float(np.linalg.norm(parts))

    def probabilities(self, *, player: bool = False) -> Floats:
        """Return the posterior on the grid: how well the games were played, or how strong the
        player is."""
        map_error, varies = self._errors()
        if player:
            likely = _widened(_density(self._total), float(np.hypot(map_error, varies)))
            return _density(self._prior + np.log(np.maximum(likely, _FLOOR)))
        beforehand = _widened(_density(self._prior), varies)
        now = _density(np.log(np.maximum(beforehand, _FLOOR)) + self._total)
        return _widened(now, map_error)

    def known(self, level: float = 0.95, *, player: bool = False) -> dict[str, float]:
        """Return mean, standard deviation and the ends of the central interval."""
        density, grid = self.probabilities(player=player), self.grid
        mean = float(density @ grid)
        below = np.cumsum(density)
        low, high = (1 - level) / 2, (1 + level) / 2
        return {
            "mean": mean,
            "sd": float(np.sqrt(density @ (grid - mean) ** 2)),
            "low": float(np.interp(low, below, grid)),
            "high": float(np.interp(high, below, grid)),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values, to go on from later."""
        games = {
            name: {
                "ln_chosen": game.ln_chosen.tolist(),
                "information": game.information.tolist(),
                "mode": game.mode,
            }
            for name, game in self._games.items()
        }
        return {"n": self.n, "games": games}

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], calibration: Calibration, prior: Prior | None = None
    ) -> LiveRating:
        """Make a state of what `to_dict` gave, for the same calibration and prior.

        Raises
        ------
        InputError
            If it is none.
        """
        state = cls(calibration, prior)
        try:
            for name, game in values["games"].items():
                ln_chosen = np.array(game["ln_chosen"], dtype=np.float64)
                information = np.array(game["information"], dtype=np.float64)
                kept = _Game(ln_chosen, information, int(game["mode"]), np.zeros(1))
                state._put(name, kept)
            state.n = int(values["n"])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no state of a chooser's Elo: {error}") from error
        return state


def follow(
    spreads: Spreads,
    calibration: Calibration,
    ratings: Sequence[float],
    *,
    prior: Prior | None = None,
    level: float = 0.95,
    shares: Shares = ONE_PLAYER,
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
    shares
        Over how many events the choices are spread.
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
    state = LiveRating(calibration, prior or Prior(), shares)
    games = _posteriors(ladder, state, level)
    return Followed(
        turns=pl.DataFrame(turns),
        totals=pl.DataFrame(totals),
        games=games,
        grid=state.grid,
        density=state.probabilities() / STEP,
        player_density=state.probabilities(player=True) / STEP,
    )


def _posteriors(ladder: Ladder, state: LiveRating, level: float) -> pl.DataFrame:
    _, first = np.unique(ladder.groups, return_index=True)
    rows = []
    for group in ladder.groups[np.sort(first)]:
        here = ladder.take(ladder.groups == group)
        state.add_rows(str(group), here)
        counts = {"group": int(group), "turns": len(here), "turns_so_far": state.n}
        player = {f"player_{key}": value for key, value in state.known(level, player=True).items()}
        rows.append({**counts, **state.known(level), **player})
    return pl.DataFrame(rows)


def _widened(density: Floats, sd: float) -> Floats:
    from scipy.ndimage import gaussian_filter1d

    if not sd > 0:
        return density
    wide = gaussian_filter1d(density, sd / STEP, mode="nearest", truncate=_FAR)
    answer: Floats = wide / wide.sum()
    return answer


def _density(logarithm: Floats) -> Floats:
    raised = np.exp(logarithm - logarithm.max())
    answer: Floats = raised / raised.sum()
    return answer
