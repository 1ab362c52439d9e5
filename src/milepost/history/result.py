"""A fitted history: curves, and the questions it answers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from milepost.errors import InputError, MilepostWarning
from milepost.games.players.find import PlayerFinder, PlayerMatch
from milepost.history.baselines.step_ratings import Ratings, rating_chances
from milepost.history.beliefs import Belief, Lives
from milepost.history.eras import (
    CAUTION_YEARS,
    LEAST_CHANCE,
    LOGISTIC_BETA,
    caution,
    scale_sd,
)
from milepost.history.joint.inflation import inflation_of
from milepost.history.joint.moves_fit import ASSUMPTION, MovesFit
from milepost.history.models import Elo, Glicko2, Model
from milepost.history.numerics.gaussians import below
from milepost.history.numerics.orthant import quadrant
from milepost.history.periods import clock_of
from milepost.history.records import Floats
from milepost.history.sweeping import Sweeping

if TYPE_CHECKING:
    import pandas as pd


class NameWarning(MilepostWarning):
    """A name was taken for one player, and better-known ones have it too."""


class Prediction(NamedTuple):
    """Probabilities of a game's results for the first player named; they sum to 1."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two players, each at a time of his own."""

    keys: tuple[str, str]
    """Their keys."""
    players: tuple[str, str]
    """Their names as written."""
    times: tuple[str, str]
    """The times, as they were asked for."""
    first: Belief
    """The first player's skill at his time."""
    second: Belief
    """The second player's skill at his time."""
    difference: Belief
    """First less second, the history's settings taken as true. Different players are taken as
    independent, as EP does; the same player at two times is not: the covariance along his life is
    computed."""
    years_apart: float
    """The time between the two (years, for dates)."""
    scale_sd: float
    """How much is left open about the scale between the two times, as a standard deviation: by the
    settings (`milepost.history.eras`) or, on the joint scale, by the move evidence of the eras."""
    scale: str = "results"
    """``"results"``: points of skill; ``"joint"``: intrinsic Elo."""

    @property
    def sd(self) -> float:
        """The standard deviation of the difference, with what the settings leave open."""
        return math.hypot(self.difference.sd, self.scale_sd)

    @property
    def probability(self) -> float:
        """Probability that the first was the stronger: his skill then above the other's then."""
        return _above_zero(Belief(self.difference.mean, self.sd))

    @property
    def probability_as_fitted(self) -> float:
        """The same with the history's settings taken as true: too sure over much time."""
        return _above_zero(self.difference)

    @property
    def chance(self) -> str:
        """The probability in words, no finer than the times apart support."""
        # Nothing is certain about two skills, though a float may say so.
        known = min(max(self.probability, 1e-12), 1.0 - 1e-12)
        coarse = bool(self.caution) and self.scale == "results"
        return percent(known, LEAST_CHANCE if coarse else 0.001)

    @property
    def caution(self) -> str:
        """A line of caution where much time lies between; else empty."""
        if self.scale == "joint":
            return ASSUMPTION if self.years_apart > CAUTION_YEARS else ""
        return caution(self.years_apart)

    def __repr__(self) -> str:
        """Return the answer in a few lines."""
        (one, two), (then, later) = self.players, self.times
        unit = "Elo" if self.scale == "joint" else "points"
        lines = [
            f"{one} ({then}) against {two} ({later})",
            f"difference {self.difference.mean:.0f} ± {self.sd:.0f} {unit}",
            f"chance that the first was the stronger: {self.chance}",
        ]
        return "\n".join([*lines, f"Caution: {self.caution}"] if self.caution else lines)


@dataclass(frozen=True)
class Kept:
    """What an update starts from."""

    results: pl.DataFrame
    """The results as given."""
    row: Any
    """For each game of the records, its row there."""
    message: Floats | None
    """The games' messages at the end; `None` = start afresh."""


def _above_zero(difference: Belief) -> float:
    if difference.sd == 0.0:
        return 0.5 if difference.mean == 0.0 else float(difference.mean > 0.0)
    return below(difference.mean / difference.sd)


def percent(probability: float, finest: float = 0.001) -> str:
    """Return a probability in per cent, or that it lies beyond the finest that can be told."""
    if 0.0 < probability < finest:
        return f"under {100 * finest:g} %"
    if 1.0 - finest < probability < 1.0:
        return f"over {100 * (1.0 - finest):g} %"
    return f"{100 * probability:.1f} %"


@dataclass(frozen=True, repr=False)
class History:
    """Every player's skill over time.

    Wherever a player is asked for, the key, the name as written or a part of it will do.
    """

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
    model: Model
    """What was fitted."""
    period: str | float
    """How time was cut: year, month, day, event, game, or a length."""
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
    draw_share: float = math.nan
    """The share of draws among the games, by weight; NaN = not known."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Players' names as written, by their keys; keys that are not here are shown themselves."""
    sweeping: Sweeping = field(default_factory=Sweeping)
    """How it was swept; an update is swept alike."""
    moves: MovesFit | None = None
    """What move evidence said, and the scale that it gave; `None` = there was none."""
    _skill: Lives | Ratings | None = None
    _margins: Lives | None = None
    _kept: Kept | None = None

    @property
    def nodes(self) -> int:
        """How many (player, period) pairs there are: the rows of the curves."""
        return self.curves.height

    def name_of(self, key: str) -> str:
        """Return a player's name as written."""
        return self.names.get(key, key)

    def find(self, typed: str) -> PlayerMatch:
        """Return the player that a name, or a part of one, means.

        Raises
        ------
        InputError
            If nobody is meant, or several are.

        Warns
        -----
        NameWarning
            If a whole name is also part of the names of better-known players.
        """
        match = self._finder.find(typed)
        if match.better_known:
            warnings.warn(
                f"using {match.name}; better known are {match.better_known}",
                NameWarning,
                stacklevel=3,
            )
        self._keys[typed] = self._keys[match.key] = match.key
        return match

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
        a, b = self._key(a), self._key(b)
        if a == b:
            raise InputError(f"expected two different players, got {self.name_of(a)!r} twice")
        moment = clock_of(time, self.period)
        one, two = self._lives.at(a, moment), self._lives.at(b, moment)
        lead = {None: 0.0, 1: 1.0, 2: -1.0}[first_mover] * self._advantage(moment)
        if isinstance(self._skill, Ratings) or isinstance(self.model, Elo | Glicko2):
            return Prediction(
                *rating_chances(one, two, margin=self.draw_margin, lead=lead).tolist()
            )
        apart = one.mean - two.mean + lead
        cc = one.sd**2 + two.sd**2 + 2.0 * self.model.beta**2
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
        return self._lives.at(self._key(player), clock_of(time, self.period))

    def rank(
        self, time: Any, *, within: float = 1.0, games: int = 0, scale: str | None = None
    ) -> pl.DataFrame:
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
        scale
            ``"joint"`` (intrinsic Elo; the default where there is move evidence) or ``"results"``
            (points; results alone).

        Returns
        -------
        polars.DataFrame
            rank, player (the key), name (as written), mean, sd (null for elo), games (so far), and
            the margin's mean and sd.
        """
        moment = clock_of(time, self.period)
        moves, lives = self._on(scale)
        chosen, mean, sd, last = lives.all_at(moment, within)
        if moves is not None:
            era, variance = moves.at(moment)
            lever = moves.slope_se * moves.lever(mean, moment)
            sd = np.sqrt((moves.slope * sd) ** 2 + variance + lever**2)
            mean = era + moves.slope * (mean - moves.mu)
        so_far = np.cumsum(self.curves["games"].to_numpy())
        begin = self._lives.start[chosen]
        before = np.where(begin > 0, so_far[begin - 1], 0)
        columns: dict[str, Any] = {
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
        return self._named(frame).with_row_index("rank", offset=1)

    def compare(
        self, a: str, b: str, time_a: Any = None, time_b: Any = None, *, scale: str | None = None
    ) -> Comparison:
        """Compare two players, each at his own time.

        Parameters
        ----------
        a, b
            Players; or, without times, ``"Name@1972"``.
        time_a, time_b
            The times.
        scale
            As for `rank`.

        Raises
        ------
        InputError
            If a time is missing, a player is not known, or the model states no uncertainty (elo).
        """
        a, time_a = _split(a, time_a)
        b, time_b = _split(b, time_b)
        a, b = self._key(a), self._key(b)
        moments = clock_of(time_a, self.period), clock_of(time_b, self.period)
        moves, lives = self._on(scale)
        first, second = lives.at(a, moments[0]), lives.at(b, moments[1])
        variance = first.sd**2 + second.sd**2
        if math.isnan(variance):
            raise InputError(
                f"the model {self.model.name} has no uncertainty to compare by: subtract the "
                "ratings"
            )
        if a == b:
            variance -= 2.0 * lives.covariance(a, *moments)
        apart = abs(moments[0] - moments[1])
        names, times = (self.name_of(a), self.name_of(b)), (str(time_a), str(time_b))
        if moves is not None:
            own = moves.slope * math.sqrt(max(variance, 0.0))
            one, two = (
                moves.intrinsic(*each) for each in zip((first, second), moments, strict=True)
            )
            return Comparison(
                (a, b), names, times, one, two, Belief(one.mean - two.mean, own), apart,
                moves.scale_sd((first.mean, second.mean), moments), "joint",
            )  # fmt: skip
        beta = LOGISTIC_BETA if isinstance(self.model, Elo | Glicko2) else self.model.beta
        return Comparison(
            (a, b),
            names,
            times,
            first,
            second,
            Belief(first.mean - second.mean, math.sqrt(max(variance, 0.0))),
            apart,
            scale_sd(beta, apart),
        )

    def inflation(self, group: Any = "top:100", *, reference: Any = None) -> pl.DataFrame:
        """Return how the level of a group changed through time, by moves and by results alone.

        Parameters
        ----------
        group
            ``"top:100"`` (so many of the highest skill in each period), ``"all"``, or players.
        reference
            What levels are compared with: a time, or the first and the last one of a span; `None` =
            the period of most move evidence.

        Returns
        -------
        polars.DataFrame
            time, group, players, level (intrinsic Elo) with its 95 % interval low to high, change
            (from the reference) and change_sd, level_results and change_results (results alone, at
            the slope of the history), era, era_sd, turns.

        Raises
        ------
        InputError
            If the history has no move evidence, or the group nobody.
        """
        moves, _ = self._on("joint")
        assert moves is not None
        if not isinstance(group, str):
            group = [self._key(each) for each in group]
        bounds = None
        if reference is not None:
            span = reference if isinstance(reference, tuple | list) else (reference, reference)
            bounds = clock_of(span[0], self.period), clock_of(span[1], self.period)
        return inflation_of(self.curves, moves, group, bounds)

    def to_polars(self) -> pl.DataFrame:
        """Return the curves with the players' names beside their keys."""
        return self._named(self.curves)

    def to_pandas(self) -> pd.DataFrame:
        """Return the curves with the players' names beside their keys, for pandas."""
        return self.to_polars().to_pandas()

    @cached_property
    def _finder(self) -> PlayerFinder:
        counted = self.curves.group_by(key="player").agg(pl.col("games").sum())
        names = counted["key"].replace_strict(
            dict(self.names), default=None, return_dtype=pl.String
        )
        return PlayerFinder(counted.with_columns(name=names))

    @cached_property
    def _keys(self) -> dict[str, str]:
        """What was typed, and who was meant: who was found once is not asked about again."""
        return {}

    def _key(self, typed: str) -> str:
        return self._keys[typed] if typed in self._keys else self.find(typed).key

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        names = frame["player"].replace_strict(
            dict(self.names), default=frame["player"], return_dtype=pl.String
        )
        others = [name for name in frame.columns if name != "player"]
        return frame.select("player", names.alias("name"), *others)

    @property
    def _lives(self) -> Lives | Ratings:
        if self._skill is None:
            raise InputError("this history was saved without what questions need: fit it again")
        return self._skill

    def _on(self, scale: str | None) -> tuple[MovesFit | None, Lives | Ratings]:
        """The joint scale (`None` = that of results), and the lives to ask."""
        if scale not in (None, "joint", "results"):
            raise InputError(f"expected the scale joint or results, got {scale!r}")
        if scale == "joint" and self.moves is None:
            raise InputError(
                "this history has no move evidence, and so no joint scale: fit it with moves"
            )
        if self.moves is None or scale != "results":
            return self.moves, self._lives
        if self.moves.results_only is None:
            raise InputError(
                "this joint history does not keep what results alone say: fit it again"
            )
        return None, self.moves.results_only

    def _advantage(self, moment: float) -> float:
        clock = self.paths["clock"].to_numpy()
        place = max(int(np.searchsorted(clock, moment, side="right")) - 1, 0)
        return float(self.paths["first_mover"][place])

    def _facts(self) -> list[tuple[str, str]]:
        """What the history is, for people."""
        state = "converged" if self.converged else "NOT CONVERGED"
        first, last = self.paths["time"][0], self.paths["time"][-1]
        rows = [
            ("model", self.model.name),
            ("games", f"{self.games:,}, from {first} to {last}"),
            ("players", f"{self.players:,}"),
            ("player-periods", f"{self.nodes:,} (period: {self.period})"),
            ("log evidence a game", f"{self.log_evidence / self.games:.4f} nats"),
            ("sweeps", f"{self.sweeps}, {state}"),
            ("remaining error", f"about {self.remaining_error:.2g} points"),
        ]
        if self.moves is not None:
            told = f"{self.moves.used:,} sites, {self.moves.turns:,} turns"
            rows.append(("move evidence", f"{told}, {self.moves.slope:.3f} Elo a point"))
        if self.skipped:
            rows.append(("rows left out", f"{sum(self.skipped.values()):,}"))
        return rows

    def __repr__(self) -> str:
        """Return a short table."""
        return "\n".join(f"{name:<20} {value}" for name, value in self._facts())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in self._facts())
        return f"<table><caption>History</caption>{rows}</table>"


def _split(player: str, time: Any) -> tuple[str, Any]:
    if time is not None:
        return player, time
    name, mark, when = player.rpartition("@")
    if not mark or not name.strip() or not when.strip():
        raise InputError(
            f'expected a name and a time for {player!r}, as in "{player.strip("@ ")}@1972"'
        )
    return name.strip(), when.strip()
