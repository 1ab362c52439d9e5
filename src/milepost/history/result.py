"""A fitted history: curves, and the questions it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from milepost.errors import InputError
from milepost.history.baselines.step_ratings import Ratings, rating_chances
from milepost.history.beliefs import Belief, Lives
from milepost.history.numerics.gaussians import below
from milepost.history.numerics.orthant import quadrant
from milepost.history.options import Options
from milepost.history.periods import clock_of


class Prediction(NamedTuple):
    """Probabilities of a game's results for the first player named; they sum to 1."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class Comparison:
    """Two players, each at a time of his own."""

    probability: float
    """Probability that the first was the stronger: his skill then above the other's then."""
    first: Belief
    """The first player's skill at his time."""
    second: Belief
    """The second player's skill at his time."""
    difference: Belief
    """First less second. Different players are taken as independent, as EP does; the same player
    at two times is not: the covariance along his life is computed."""


@dataclass(frozen=True, repr=False)
class History:
    """Every player's skill over time."""

    curves: pl.DataFrame
    """One row for each player and period with games: see the curves table."""
    log_evidence: float
    """EP's log evidence of all results, in nats; after the filter, the sum of its predictions.
    NaN for models that have none."""
    converged: bool
    """Whether the fixed point is nearer than the tolerance (the filter: always)."""
    sweeps: int
    """Sweeps made, forward and back; 1 for the filter."""
    remaining_error: float
    """Estimated distance to the fixed point, in rating points; 0 for the filter."""
    options: Options
    """How it was fitted."""
    games: int
    """How many games were used."""
    players: int
    """How many players they have."""
    draw_margin: float
    """The common draw margin (elo and glicko2: that of a logistic with scale 400); NaN where
    margins are the players' own."""
    paths: pl.DataFrame
    """For each period: time, clock, newcomer_mean, first_mover (the advantage)."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    improper: int = 0
    """Updates left out in the last sweep because a cavity was not a proper Gaussian."""
    _skill: Lives | Ratings | None = None
    _margins: Lives | None = None
    _kept: Any = None
    """What `update` starts from: see `milepost.history.fit`."""

    @property
    def nodes(self) -> int:
        """How many (player, period) pairs there are: the rows of the curves."""
        return self.curves.height

    def predict(self, a: str, b: str, time: Any, *, first_mover: int | None = None) -> Prediction:
        """Return the probabilities that `a` beats, draws with and loses to `b`.

        Both skills are those of the moment, drift included. After a converged fit the beliefs at a
        time inside the data have seen later games; see `milepost.history.prequential` for honest
        prediction of the past. Elo and Glicko-2 define an expected score only: their draws come
        from a margin (Rao & Kupper 1967) that gives the share of draws on average. Of games between
        teams, this is the game of two single players.

        Parameters
        ----------
        a, b
            The players.
        time
            A date, or a number (a year, for dates).
        first_mover
            1 if `a` moves first, 2 if `b` does, `None` = nobody has that advantage.

        Raises
        ------
        InputError
            If a player is not known.
        """
        if first_mover not in (None, 1, 2):
            raise InputError(f"expected 1, 2 or None as the first mover, got {first_mover!r}")
        if a == b:
            raise InputError(f"expected two different players, got {a!r} twice")
        moment = clock_of(time, self.options.period)
        one, two = self._lives.at(a, moment), self._lives.at(b, moment)
        lead = {None: 0.0, 1: 1.0, 2: -1.0}[first_mover] * self._advantage(moment)
        if isinstance(self._skill, Ratings):
            return Prediction(
                *rating_chances(one, two, margin=self.draw_margin, lead=lead).tolist()
            )
        apart = one.mean - two.mean + lead
        cc = one.sd**2 + two.sd**2 + 2.0 * self.options.beta**2
        if self._margins is None:
            c = math.sqrt(cc)
            win, loss = (
                below((apart - self.draw_margin) / c),
                below((-apart - self.draw_margin) / c),
            )
            return Prediction(win, max(0.0, 1.0 - win - loss), loss)
        own, other = self._margins.at(a, moment), self._margins.at(b, moment)
        s_win, s_loss = math.sqrt(cc + other.sd**2), math.sqrt(cc + own.sd**2)
        win, loss = below((apart - other.mean) / s_win), below((-apart - own.mean) / s_loss)
        draw, _ = quadrant(
            (other.mean - apart) / s_win, (own.mean + apart) / s_loss, -cc / (s_win * s_loss)
        )
        # A Gaussian margin may be negative, and then both could win: what is left is shared out.
        total = win + draw + loss
        return Prediction(win / total, draw / total, loss / total)

    def skill(self, player: str, time: Any) -> Belief:
        """Return what is known about a player's skill at any time."""
        return self._lives.at(player, clock_of(time, self.options.period))

    def at(self, time: Any, *, within: float = 1.0, games: int = 0) -> pl.DataFrame:
        """Return the ranking at a time.

        Parameters
        ----------
        time
            A date or a number.
        within
            Only players with a period of games at most this long before or after (in years, for
            dates).
        games
            Only players with at least this many games up to that time (or in their first period).

        Returns
        -------
        polars.DataFrame
            rank, player, mean, sd (null for elo), games (so far), and the margin's mean and sd.
        """
        moment = clock_of(time, self.options.period)
        chosen, mean, sd, last = self._lives.all_at(moment, within)
        so_far = np.cumsum(self.curves["games"].to_numpy())
        begin = self._lives.start[chosen]
        before = np.where(begin > 0, so_far[begin - 1], 0)
        columns = {
            "player": self._lives.names.gather(chosen),
            "mean": mean,
            "sd": pl.Series(sd).fill_nan(None),
            "games": so_far[last] - before,
        }
        if self._margins is not None:
            _, columns["margin_mean"], columns["margin_sd"], _ = self._margins.all_at(
                moment, within
            )
        frame = pl.DataFrame(columns).filter(pl.col("games") >= games)
        frame = frame.sort("mean", "player", descending=[True, False])
        return frame.with_row_index("rank", offset=1)

    def compare(self, a: str, b: str, time_a: Any = None, time_b: Any = None) -> Comparison:
        """Compare two players, each at his own time.

        Parameters
        ----------
        a, b
            Players; or, without times, ``"Name@1972"``.
        time_a, time_b
            The times.

        Raises
        ------
        InputError
            If a time is missing, a player is not known, or the model states no uncertainty (elo).
        """
        a, time_a = _split(a, time_a)
        b, time_b = _split(b, time_b)
        moments = clock_of(time_a, self.options.period), clock_of(time_b, self.options.period)
        first, second = self._lives.at(a, moments[0]), self._lives.at(b, moments[1])
        variance = first.sd**2 + second.sd**2
        if math.isnan(variance):
            raise InputError(
                f"the model {self.options.model} has no uncertainty to compare by: subtract the "
                "ratings"
            )
        if a == b:
            variance -= 2.0 * self._lives.covariance(a, *moments)
        difference = Belief(first.mean - second.mean, math.sqrt(max(variance, 0.0)))
        if difference.sd == 0.0:
            probability = 0.5 if difference.mean == 0.0 else float(difference.mean > 0.0)
        else:
            probability = below(difference.mean / difference.sd)
        return Comparison(probability, first, second, difference)

    def update(self, more: Any) -> History:
        """Return the history with more results, started from this one's messages.

        The answer is that of a fresh fit to all results, within the tolerance; `skipped` counts
        the rows left out then and now.

        Raises
        ------
        InputError
            If this history does not keep its results (elo, glicko2 and games of teams), or the
            times of one are dates and those of the other numbers.
        """
        from milepost.history.fit import update

        return update(self, more)

    def save(self, folder: str | Path) -> None:
        """Write the history into a folder: Parquet tables, and JSON for the rest."""
        from milepost.history.saving import save

        save(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> History:
        """Read a history that `save` wrote."""
        from milepost.history.saving import load

        return load(Path(folder))

    @property
    def _lives(self) -> Lives | Ratings:
        if self._skill is None:
            raise InputError("this history was saved without what questions need: fit it again")
        return self._skill

    def _advantage(self, moment: float) -> float:
        clock = self.paths["clock"].to_numpy()
        place = max(int(np.searchsorted(clock, moment, side="right")) - 1, 0)
        return float(self.paths["first_mover"][place])

    def __repr__(self) -> str:
        """Return a short table."""
        state = "converged" if self.converged else "NOT CONVERGED"
        rows = [
            ("model", self.options.model),
            ("games", f"{self.games:,}"),
            ("players", f"{self.players:,}"),
            ("player-periods", f"{self.nodes:,} (period: {self.options.period})"),
            ("log evidence a game", f"{self.log_evidence / self.games:.4f} nats"),
            ("sweeps", f"{self.sweeps}, {state}"),
            ("remaining error", f"about {self.remaining_error:.2g} points"),
        ]
        if self.skipped:
            rows.append(("rows left out", f"{sum(self.skipped.values()):,}"))
        return "\n".join(f"{name:<20} {value}" for name, value in rows)


def _split(player: str, time: Any) -> tuple[str, Any]:
    if time is not None:
        return player, time
    name, mark, when = player.rpartition("@")
    if not mark or not name:
        raise InputError(f'expected a time for {player!r}, as in "{player}@1972"')
    return name, when.strip()
