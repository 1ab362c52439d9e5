"""Player-games: how far each game of an event was played from the players' Elos, and their levels.

With u the derivative of a turn's log-likelihood by the rating at the mover's own
Elo, and I its expected information, U and I are their sums over a player's turns in a game; one
step U / I says how far that game was played from the player's Elo. The likeliest rating of some 28
turns often has no bound; U always exists, is sound for one turn, and adds up. The step is exact
close to the Elo and overstates what is far below it. The components of the calibration
(`milepost.intrinsic.calibration.variance_components`) say how honest play varies:

    U / I = a + b + d,   Var d = φ / I + σ_game²,

with a ~ N(0, σ_event²) for the whole event and b ~ N(0, σ_player²) for the player.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.intrinsic.calibration.player_variation import PlayerVariation, add_up
from milepost.intrinsic.rating.likelihood_grid import Ladder

WHITE_ADVANTAGE = 35.0
"""What the first move is worth, in Elo. BayesElo (Coulom) has 32.8 as its default;
the 5,716 games of the 120 events for estimating have 32 ± 4 about their Elos."""
POINT = float(np.log(10)) / 400.0
"""The logistic curve's slope is this times e (1 - e)."""
_NEEDED = (
    "game_id", "mover", "opponent", "colour", "mover_elo", "opponent_elo", "score",
)  # fmt: skip
NO_GAMES = "no game with a result, both Elos and evaluated turns of both sides"


@dataclass(frozen=True, eq=False)
class PlayerGames:
    """One player's turns of one game, for all that count; `other` is the opponent's."""

    names: list[str]
    """The players' keys, in order."""
    player: Ints
    """Code of the player."""
    other: Ints
    """Number of the opponent's player-game."""
    score_sum: Floats
    """U."""
    information: Floats
    """I."""
    turns: Ints
    """Decisions."""
    elo: Floats
    """The player's Elo."""
    result: Floats
    """The player's score in the game."""
    expected: Floats
    """What the Elos promise."""
    of_row: Ints
    """For each decision its player-game; -1 = does not count."""
    game_ids: tuple[str, ...]
    """The game."""

    def __len__(self) -> int:
        return len(self.player)

    @property
    def surplus(self) -> Floats:
        answer: Floats = self.result - self.expected
        return answer

    @property
    def slope(self) -> Floats:
        """Points of score for each point of Elo."""
        answer: Floats = POINT * self.expected * (1 - self.expected)
        return answer

    def of_same_players(self, members: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether each is of a player who has one of some player-games."""
        there = np.zeros(len(self.names), dtype=np.bool_)
        there[self.player[members]] = True
        answer: npt.NDArray[np.bool_] = there[self.player]
        return answer

    def sum_by_player(self, values: npt.ArrayLike) -> Floats:
        return add_up(self.player, np.asarray(values, dtype=np.float64), len(self.names))


def gather_games(
    decisions: pl.DataFrame, ladder: Ladder, white_advantage: float, *, paired: bool = True
) -> PlayerGames:
    """Sum the turns of games that count by player and game.

    Unless `paired`, player-games without one of the opponent's count too; their `other` is -1.
    """
    missing = [name for name in _NEEDED if name not in decisions.columns]
    if missing:
        raise InputError(f"splitting results needs the columns {', '.join(missing)} of the turns")
    if len(decisions) != len(ladder):
        raise InputError(
            f"the ladder has {len(ladder):,} decisions, the table {len(decisions):,}: "
            "they must be the same"
        )
    own, against, result = (
        decisions[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in ("mover_elo", "opponent_elo", "score")
    )
    known = np.isfinite(own)
    at = np.where(known, own, ladder.rungs.mean())
    score = ladder.weights * np.where(known, ladder.scores(at), 0.0)
    information = ladder.weights * np.where(known, ladder.information_at(at), 0.0)
    game_ids, movers, opponents, colours = (
        decisions[name].to_list() for name in ("game_id", "mover", "opponent", "colour")
    )
    ids, names = sorted({*game_ids} - {None}), sorted({*movers, *opponents} - {None})
    game, mover, opponent = _codes(ids, game_ids), _codes(names, movers), _codes(names, opponents)
    # Games in the order of their names, then movers, then opponents.
    told = np.flatnonzero((game >= 0) & (mover >= 0) & (opponent >= 0))
    keys, first, which = np.unique(
        _key(game[told], mover[told], opponent[told], len(names)),
        return_index=True,
        return_inverse=True,
    )
    # A player-game is as its first turn says.
    first = told[first]
    sums, informed = (add_up(which, each[told], len(keys)) for each in (score, information))
    counts = (
        np.array([colours[row] is not None for row in first], dtype=np.bool_)
        & ~(np.isnan(own) | np.isnan(against) | np.isnan(result))[first]
        & (informed > 0)
    )
    if paired:
        others = _opponents(keys[counts], game, mover, opponent, first[counts], len(names))
        counts[np.flatnonzero(counts)[others < 0]] = False
    number = np.where(counts, np.cumsum(counts) - 1, -1)
    of_row = np.full(len(decisions), -1, dtype=np.int64)
    of_row[told] = number[which]
    first = first[counts]
    white = np.array([colours[row] == "white" for row in first], dtype=np.bool_)
    advantage = np.where(white, white_advantage, -white_advantage)
    return PlayerGames(
        names=names,
        player=mover[first],
        other=_opponents(keys[counts], game, mover, opponent, first, len(names)),
        score_sum=sums[counts],
        information=informed[counts],
        turns=np.bincount(which, minlength=len(keys))[counts],
        elo=own[first],
        result=result[first],
        expected=1 / (1 + np.exp(-POINT * (own[first] - against[first] + advantage))),
        of_row=of_row,
        game_ids=tuple(game_ids[row] for row in first),
    )


def _codes(names: list[str], each: list[str | None]) -> Ints:
    """Which of some names each is; -1 = none of them."""
    number = {name: code for code, name in enumerate(names)}
    return np.array([number.get(name, -1) for name in each], dtype=np.int64)  # type: ignore[arg-type]


def _key(game: Ints, mover: Ints, opponent: Ints, players: int) -> Ints:
    """One number for game, mover and opponent, in their order."""
    answer: Ints = (game * players + mover) * players + opponent
    return answer


def _opponents(
    keys: Ints, game: Ints, mover: Ints, opponent: Ints, first: Ints, players: int
) -> Ints:
    """Where the opponent's player-game stands among some, each given by a turn; -1 = nowhere."""
    mirrored = _key(game[first], opponent[first], mover[first], players)
    place = np.searchsorted(keys, mirrored)
    there = keys[np.minimum(place, len(keys) - 1)] == mirrored if len(keys) else place < 0
    answer: Ints = np.where(there, place, -1)
    return answer


@dataclass(frozen=True, eq=False)
class EventLevel:
    """The event's level a and every player's b, predicted from some of the player-games."""

    level: float
    """Prediction of a."""
    level_variance: float
    """Variance of its error."""
    mean: Floats
    """b of each player, predicted with a at `level`."""
    pulled: Floats
    """By how much that prediction falls with a: κ of each player."""
    variance: Floats
    """Variance of the error of b if a were known."""
    reliability: Floats
    """ρ of each player-game."""
    shares: Floats
    """How much of each step goes into the prediction of a."""
    own_shares: Floats
    """And into that of the player's b, beside a."""
    spare: Floats
    """Variance of d."""
    sds: tuple[float, float]
    """σ_player and σ_event."""

    @classmethod
    def of(
        cls,
        games: PlayerGames,
        variation: PlayerVariation,
        *,
        dispersion: float | None = None,
        play_sd: float = 0.0,
        counted: npt.NDArray[np.bool_] | None = None,
    ) -> EventLevel:
        """Predict from all player-games, or from those that are counted."""
        phi = variation.game_dispersion.value if dispersion is None else dispersion
        player, event, form = (
            part.used**2 for part in (variation.player_sd, variation.event_sd, variation.game_sd)
        )
        whole = phi + form * games.information
        here = np.ones(len(games)) if counted is None else counted.astype(np.float64)
        weight = games.sum_by_player(here * games.information / whole)
        pull = games.sum_by_player(here * games.score_sum / whole)
        # A player's mean has the variance σ_player² + 1 / weight about a.
        precision = weight / (1 + player * weight)
        total = 1 / event + precision.sum() if event > 0 else np.inf
        level = float((pull / (1 + player * weight)).sum()) / total
        single = here * games.information / whole / (1 + player * weight)[games.player]
        reliability = play_sd**2 * games.information / (phi + play_sd**2 * games.information)
        return cls(
            level=level,
            level_variance=1 / total,
            mean=player * (pull - weight * level) / (1 + player * weight),
            pulled=player * precision,
            variance=player / (1 + player * weight),
            reliability=reliability,
            shares=single / total,
            own_shares=player * single,
            spare=whole / games.information,
            sds=(variation.player_sd.used, variation.event_sd.used),
        )

    def play(self, games: PlayerGames) -> Floats:
        """Play of each player-game, in Elo."""
        strength = self.mean[games.player]
        step = games.score_sum / games.information - self.level
        answer: Floats = strength + self.reliability * (step - strength)
        return answer

    def play_error(self, games: PlayerGames, weights: Floats) -> float:
        """Standard error of the sum of weights times play, about that of weights times b.

        That error is linear in a, in every b and in every d, which are independent.
        """
        steps = weights * self.reliability
        strengths = games.sum_by_player(weights - steps)
        on_level = -float(steps.sum() + strengths @ self.pulled)
        on_d = steps + strengths[games.player] * self.own_shares + on_level * self.shares
        on_b = on_level * games.sum_by_player(self.shares) - strengths * (1 - self.pulled)
        on_a = on_level * (1 - float(self.shares.sum()))
        player, event = self.sds
        square = float(on_d**2 @ self.spare) + player**2 * float(on_b @ on_b) + (event * on_a) ** 2
        return float(np.sqrt(square))
