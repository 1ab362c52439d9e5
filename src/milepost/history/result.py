"""A fitted history: curves, and the questions it answers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl

from milepost.errors import InputError, MilepostWarning
from milepost.games.players.find import PlayerFinder, PlayerMatch
from milepost.history.baselines.step_ratings import Ratings, rating_chances
from milepost.history.beliefs import Belief, Lives
from milepost.history.comparison import Comparison
from milepost.history.eras import LOGISTIC_BETA, scale_sd
from milepost.history.joint.inflation import inflation_of
from milepost.history.joint.moves_fit import MovesFit
from milepost.history.models import Elo, Glicko2, Model
from milepost.history.numbering import are_linked
from milepost.history.numerics.gaussians import below
from milepost.history.numerics.orthant import quadrant
from milepost.history.periods import LONG_GAP, clock_of
from milepost.history.records import Floats
from milepost.history.scales import POINTS, Scale, on_scale
from milepost.history.sweeping import Sweeping

if TYPE_CHECKING:
    import pandas as pd


LEAST_GAMES = 30
MOST_SD = 0.3
"""A ranking without a minimum of games leaves out players with fewer than `LEAST_GAMES`, or of whom
so little is known that the standard deviation is above `MOST_SD` beta (members of closed circles
among them), if `ENOUGH_PLAYERS` are left."""
ENOUGH_PLAYERS = 10
NEAR_YEARS = 5.0
"""A name with a time means the player with most games at most so long before or after."""


class NameWarning(MilepostWarning):
    """A name was taken for one player, and others have it too."""

    def __init__(self, message: str, *, other_spellings: bool = False):
        super().__init__(message)
        self.other_spellings = other_spellings
        """Whether one of the others may be the same person, spelled in another way."""


class Prediction(NamedTuple):
    """Probabilities of a game's results for the first player named; they sum to 1."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class Kept:
    """What an update starts from."""

    results: pl.DataFrame
    """The results as given."""
    row: Any
    """For each game of the records, its row there."""
    message: Floats | None
    """The games' messages at the end; `None` = start afresh."""


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
    apart: int | None = None
    """Players whom no chain of games links with the largest group: their level beside it is not
    known from results. `None` = not counted (teams, slices)."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Players' names as written, by their keys; keys that are not here are shown themselves."""
    sweeping: Sweeping = field(default_factory=Sweeping)
    """How it was swept; an update is swept alike."""
    scale: Scale = POINTS
    """What the numbers mean: points of this history, or another scale that `on` put them on."""
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

    def on(self, scale: str) -> Self:
        """Return the history on another scale, for every question alike.

        Parameters
        ----------
        scale
            ``"points"`` or ``"results"``, what results alone say; ``"elo"``, the same by a
            straight line to the Elos printed beside the games (`scale.lines` then say which line,
            and how far off it is); ``"joint"``, intrinsic Elo, where there is move evidence.

        Raises
        ------
        InputError
            If there is no such scale, or too few games have what it needs.
        """
        return on_scale(self, scale)  # type: ignore[return-value]

    def find(self, typed: str, at: Any = None) -> PlayerMatch:
        """Return the player that a name, or a part of one, most probably means.

        Of several the one by far best known is taken: ``"fischer"`` is Robert James, not a namesake
        of four games. ``"=fischer"`` is the player of that key and nobody else.

        Parameters
        ----------
        typed
            The name.
        at
            A time; then the games at most five years from it count, not all.

        Raises
        ------
        InputError
            If nobody is meant, or several are.

        Warns
        -----
        NameWarning
            If others may have been meant.
        """
        if at is None:
            games, near = None, ""
        else:
            games, near = self._games_near(self.moment(at)), f" around {at}"
            if not games.keys() & set(self._finder.search(typed)["key"]):
                games, near = None, ""  # nobody of that name has games then: all games count
        match = self._finder.find_best_known(typed, games, self._strength)
        self._asked.add(match.key)
        if match.others:
            doubt = ", perhaps the same person spelled differently" * match.other_spellings
            warnings.warn(
                NameWarning(
                    f"using {match.name}; other matches{near}: {match.others}{doubt}",
                    other_spellings=match.other_spellings,
                ),
                stacklevel=3,
            )
        return match

    def key_of(self, typed: str) -> str:
        """Return a player's key: what is a key already stays, other names are found.

        Warns
        -----
        NameWarning
            If a key is also a part of the names of better-known players, or as for `find`.
        """
        if typed in self._asked:
            return typed
        if typed not in self._all_keys:
            return self.find(typed).key
        self._asked.add(typed)
        better = self._finder.find(typed).better_known
        if better:
            warnings.warn(
                f"using {self.name_of(typed)}; better known are {better}",
                NameWarning,
                stacklevel=3,
            )
        return typed

    def moment(self, time: Any) -> float:
        """Return the place of a time on the clock; ``"now"`` is the last time with games."""
        if isinstance(time, str) and time.strip().lower() == "now":
            return float(self.paths["clock"].max())  # type: ignore[arg-type]
        return clock_of(time, self.period)

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
        a, b = self.key_of(a), self.key_of(b)
        if a == b:
            raise InputError(f"expected two different players, got {self.name_of(a)!r} twice")
        moment = self.moment(time)
        one, two = self._lives.at(a, moment), self._lives.at(b, moment)
        lead = self._lead(first_mover, moment)
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
        return self._lives.at(self.key_of(player), self.moment(time))

    def level(self, player: str, time: Any) -> Belief:
        """Return the skill of a player as it is shown: intrinsic Elo where moves tell it."""
        key, moment = self.key_of(player), self.moment(time)
        skill = self._lives.at(key, moment)
        return skill if self.moves is None else self.moves.intrinsic(skill, moment)

    @property
    def unit(self) -> str:
        """What the numbers of rankings, comparisons and levels are."""
        return self.scale.unit if self.moves is None else "intrinsic Elo"

    def far_from_games(self, player: str, time: Any) -> str:
        """Return a sentence if a player has no games near a time; else nothing.

        What is known then is only what his skill may have become: over more than five years, or
        beyond the end of the history, that is hardly an answer.
        """
        period, times = self.period, self.curves["time"]
        if period == "game" or not (isinstance(period, str) or times.dtype.is_temporal()):
            return ""  # the clock does not count years
        key, moment = self.key_of(player), self.moment(time)
        times = self.curves.filter(pl.col("player") == key)["time"]
        clock = np.array([clock_of(each, period) for each in times])
        if np.min(np.abs(clock - moment)) <= LONG_GAP:
            return ""
        before, after = clock[clock < moment], clock[clock > moment]
        times = times.cast(pl.String)
        last = f"the last before is of {times[len(before) - 1]}" if len(before) else ""
        following = f"the next is of {times[len(before)]}" if len(after) else ""
        where = ", ".join(part for part in (last, following) if part)
        return f"{self.name_of(key)} has no game within {LONG_GAP:.0f} years of {time}: {where}"

    def quality(self, a: str, b: str, time: Any, *, first_mover: int | None = None) -> float:
        """Return how even a game is, from 0 to 1: TrueSkill's quality of a match.

        It is the density of a tie between the two performances, beside that of two players known
        exactly and of one skill (Herbrich, Minka & Graepel 2006, section 4): sqrt(2 beta² / c²)
        exp(-d² / 2 c²), with c² = 2 beta² + both variances and d the difference of the means. So
        it is low for unequal players, and for those of whom little is known.

        Parameters
        ----------
        a, b, time, first_mover
            As for `predict`.
        """
        lead = self._lead(first_mover, self.moment(time))
        one, two = self.skill(a, time), self.skill(b, time)
        own = 2.0 * self._beta**2
        known = [0.0 if math.isnan(skill.sd) else skill.sd**2 for skill in (one, two)]
        c2 = own + sum(known)
        return math.sqrt(own / c2) * math.exp(-((one.mean - two.mean + lead) ** 2) / (2.0 * c2))

    def rank(
        self, time: Any, *, within: float = 1.0, games: int | None = None, scale: str | None = None
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
            Only players with at least this many games up to that time (or in their first period);
            `None` = 30, and only players whose sd is at most 0.3 beta, if there are ten such; else
            all players.
        scale
            See `on`; `None` = intrinsic Elo where there is move evidence, else the history's own.

        Returns
        -------
        polars.DataFrame
            rank, player (the key), name (as written), mean, sd (null for elo), games (so far), and
            the margin's mean and sd.
        """
        if scale is not None:
            return self.on(scale).rank(time, within=within, games=games)
        moment = self.moment(time)
        chosen, mean, sd, last = self._lives.all_at(moment, within)
        # How well a player is known beside the others is a matter of points, on any scale.
        hardly_known = np.nan_to_num(sd) > MOST_SD * self._beta
        moves = self.moves
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
            "hardly_known": hardly_known,
        }
        if self._margins is not None:
            _, columns["margin_mean"], columns["margin_sd"], _ = self._margins.all_at(
                moment, within
            )
        frame = pl.DataFrame(columns)
        if games is not None:
            frame = frame.filter(pl.col("games") >= games)
        else:
            known = frame.filter((pl.col("games") >= LEAST_GAMES) & ~pl.col("hardly_known"))
            frame = known if len(known) >= ENOUGH_PLAYERS else frame
        frame = frame.drop("hardly_known").sort("mean", "player", descending=[True, False])
        return self._named(frame).with_row_index("rank", offset=1)

    def linked(self, a: str, b: str) -> bool:
        """Return whether a chain of games leads from one player to the other.

        Where none does, results do not say who is stronger: the answer rests on what the model
        takes newcomers for. Of a history that was saved without its results it is not known, and
        taken as so.
        """
        if not self.apart or self._kept is None:
            return True
        games = self._kept.results[np.sort(self._kept.row)]
        return are_linked(games, self.key_of(a), self.key_of(b))

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
        if scale is not None:
            return self.on(scale).compare(a, b, time_a, time_b)
        (a, time_a), (b, time_b) = self._at(a, time_a), self._at(b, time_b)
        moments = self.moment(time_a), self.moment(time_b)
        first, second = self._lives.at(a, moments[0]), self._lives.at(b, moments[1])
        variance = first.sd**2 + second.sd**2
        if math.isnan(variance):
            raise InputError(
                f"the model {self.model.name} has no uncertainty to compare by: subtract the "
                "ratings"
            )
        if a == b:
            variance -= 2.0 * self._lives.covariance(a, *moments)
        apart = abs(moments[0] - moments[1])
        names, times = (self.name_of(a), self.name_of(b)), (str(time_a), str(time_b))
        told = [self.far_from_games(*each) for each in ((a, time_a), (b, time_b))]
        notes = tuple(dict.fromkeys(note for note in told if note))
        moves = self.moves
        if moves is not None:
            own = moves.slope * math.sqrt(max(variance, 0.0))
            one, two = (
                moves.intrinsic(*each) for each in zip((first, second), moments, strict=True)
            )
            return Comparison(
                (a, b), names, times, one, two, Belief(one.mean - two.mean, own), apart,
                moves.scale_sd((first.mean, second.mean), moments), "Elo", True, notes,
            )  # fmt: skip
        return Comparison(
            (a, b),
            names,
            times,
            first,
            second,
            Belief(first.mean - second.mean, math.sqrt(max(variance, 0.0))),
            apart,
            scale_sd(self._beta, apart),
            self.scale.unit,
            notes=notes,
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
        moves = self.on("joint").moves
        assert moves is not None
        if not isinstance(group, str):
            group = [self.key_of(each) for each in group]
        bounds = None
        if reference is not None:
            span = reference if isinstance(reference, tuple | list) else (reference, reference)
            bounds = self.moment(span[0]), self.moment(span[1])
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

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        names = frame["player"].replace_strict(
            dict(self.names), default=frame["player"], return_dtype=pl.String
        )
        others = [name for name in frame.columns if name != "player"]
        return frame.select("player", names.alias("name"), *others)

    @cached_property
    def _all_keys(self) -> frozenset[str]:
        return frozenset(self.curves["player"])

    @cached_property
    def _strength(self) -> dict[str, float]:
        """The highest mean of every player."""
        return dict(self.curves.group_by("player").agg(pl.col("mean").max()).iter_rows())

    @cached_property
    def _asked(self) -> set[str]:
        """Keys asked for before: who was told of once is not told of again."""
        return set()

    def _games_near(self, moment: float) -> dict[str, int]:
        """Games of every player around a time."""
        clock = self._lives.clock
        near = np.abs(clock - moment) <= NEAR_YEARS
        counts = self.curves.select("player", "games").filter(near).group_by("player").sum()
        return dict(counts.iter_rows())

    def _at(self, player: str, time: Any) -> tuple[str, Any]:
        """A key and a time; of ``"Name@1972"`` the player is one of that time."""
        if time is not None:
            return self.key_of(player), time
        name, mark, when = player.rpartition("@")
        if not mark or not name.strip() or not when.strip():
            raise InputError(
                f'expected a name and a time for {player!r}, as in "{player.strip("@ ")}@1972"'
            )
        return self.find(name, at=when.strip()).key, when.strip()

    @property
    def _beta(self) -> float:
        return LOGISTIC_BETA if isinstance(self.model, Elo | Glicko2) else self.model.beta

    @property
    def _lives(self) -> Lives | Ratings:
        if self._skill is None:
            raise InputError("this history was saved without what questions need: fit it again")
        return self._skill

    def _lead(self, first_mover: int | None, moment: float) -> float:
        """What the first player named is ahead by for moving first, or behind by."""
        if first_mover not in (None, 1, 2):
            raise InputError(f"expected 1, 2 or None as the first mover, got {first_mover!r}")
        if first_mover is None:
            return 0.0
        ahead = self._advantage(moment)
        return ahead if first_mover == 1 else -ahead

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
