"""Where a score came from: own play, the opponents' play, the rest; and the mirror test.

Question 4 of Regan & Haworth (2011, "Intrinsic Chess Ratings") is what part luck or collusion had
in a high result. A player's score less what the Elos promise is split into what the player's own
play explains, what the opponents' play against this player explains, and the rest. The mirror test
asks one thing more: do the opponents of a player, in just these games, play further below
themselves than honest opponents do? Both are evidence about moves and say nothing about reasons.

**Player-games.** With u the derivative of a turn's log-likelihood by the rating at the mover's own
Elo, and I its expected information, U and I are their sums over a player's turns in a game; one
step U / I says how far that game was played from the player's Elo. The likeliest rating of some 28
turns often has no bound; U always exists, is sound for one turn, and adds up. The step is exact
close to the Elo and overstates what is far below it. The components of the calibration
(`milepost.intrinsic.calibration.variance_components`) say how honest play varies:

    U / I = a + b + d,   Var d = φ / I + σ_game²,

with a ~ N(0, σ_event²) for the whole event and b ~ N(0, σ_player²) for the player.

**The split.** a moves everybody alike (preparation, deflation, a fault of the map), and wins nobody
a game: it is estimated and taken out. The player's level b is predicted from all games: their step
is drawn to 0 by σ_player² / (σ_player² + φ / ΣI). In each game play is that level, moved towards
the step of just this game by ρ = τ² / (τ² + φ / I). Game by game it is turned into points with the
slope of the expected score, (ln 10 / 400) e (1 - e); the opponents' likewise with the other sign.
The rest is what remains, so that the parts add up to the surplus.

τ is not in the calibration: there φ has all that games vary by, and from moves alone it cannot be
told how much of that wins points. Results tell: τ is where the play of honest games explains their
surplus one to one (`measure_play_sd`). It has both in it, how reliable one game's step is and that
no game is worth more than a point, and is no claim that anybody's level varies so. Taking all of
φ - 1 for play instead would hand out about three times as many points as play explains, and leave
a rest that varies more than the surplus.

The standard errors say how far a part is off, among honest players, from what the level b alone
makes of these games: by the variation of moves, by not knowing b, and by not knowing a. The rest
has that of the two others together; `chance_sd` says how much results vary anyway.

**The mirror test.** For one player let M be the opponents' player-games of these games. All other
player-games of the event, and the Elos, predict a + b of each opponent; the statistic is Σ_M (U - I
(a + b)), over the root of its variance: that of U, and that of the prediction. So neither an
opponent's own level nor the event's counts.

A game that is lost has bad moves in it, so the opponents of whoever wins read low by selection.
Therefore every U is first freed from what its game's result says of it: κ √I (score - expected),
with the variance that remains; κ is measured on honest events (`ResultPull`). In units of √I it is
alike for short and long games; in Elo it is not. The price: opponents who lose on purpose are
compared with honest losers, so that only what is worse than an ordinary loss is seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.player_variation import PlayerVariation, add_up
from milepost.intrinsic.rating.interval import Shares, estimate
from milepost.intrinsic.rating.likelihood_grid import Ladder
from milepost.intrinsic.rating.rate import LEAST_TURNS

WHITE_ADVANTAGE = 35.0
"""What the first move is worth, in Elo. BayesElo (Coulom) has 32.8 as its default;
the 5,716 games of the 120 events for estimating have 32 ± 4 about their Elos."""
LEAST_OPPONENTS_TURNS = 60
"""With fewer turns of opponents there is no mirror test."""
LEAST_OPPONENTS = 3
"""With fewer opponents there is no mirror test."""
_POINT = float(np.log(10)) / 400.0
"""The logistic curve's slope is this times e (1 - e)."""
_NEEDED = (
    "game_id", "mover", "opponent", "colour", "mover_elo", "opponent_elo", "score",
)  # fmt: skip
_PLAY_SD_ENDS = (10.0, 2000.0)
_NO_GAMES = "no game with a result, both Elos and evaluated turns of both sides"


@dataclass(frozen=True)
class ResultPull:
    """What the result of an honest game says of the moves in it."""

    slope: float
    """κ: by how many √I the score U of a player-game rises with each point above expectation."""
    remaining: float
    """The share of the variance of U that is left when that is taken out."""
    slope_se: float = float("nan")
    """Standard error of `slope`, clustered by event; NaN = not known."""
    player_games: int = 0
    """Player-games that it rests on."""
    events: int = 0
    """Events that it rests on."""


RESULT_PULL = ResultPull(slope=0.894, remaining=0.927, slope_se=0.104, player_games=1636, events=19)
"""Measured by `measure_result_pull` on 19 round-robins for estimating, 1417 to 2882 Elo, with the
calibration stockfish15.1-bullet. Another set-up has other information: measure it there."""
PLAY_SD = 240.0
"""τ, in Elo, by `measure_play_sd` on the same 19 events: 240 ± 21 (leaving out one at a time)."""
NO_PULL = ResultPull(slope=0.0, remaining=1.0)
"""As if results told nothing of the moves: for comparison alone."""


@dataclass(frozen=True, eq=False)
class _PlayerGames:
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
        answer: Floats = _POINT * self.expected * (1 - self.expected)
        return answer

    def sum_by_player(self, values: npt.ArrayLike) -> Floats:
        return add_up(self.player, np.asarray(values, dtype=np.float64), len(self.names))


def split_results(
    decisions: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder,
    *,
    play_sd: float = PLAY_SD,
    white_advantage: float = WHITE_ADVANTAGE,
    level: float = 0.95,
) -> pl.DataFrame:
    """Split every player's score into own play, the opponents' play and the rest.

    Games count whose result and Elos are known and where both sides have evaluated turns.

    Parameters
    ----------
    decisions
        The decisions of one event, see `milepost.tables.DECISIONS`.
    calibration
        The calibration of the engine set-up that made the evaluations.
    ladder
        These decisions, row by row, on the calibration's path.
    play_sd
        τ: by how much play differs from game to game, in Elo, as results see it.
    white_advantage
        What the first move is worth, in Elo.
    level
        Probability of the performance intervals of opponents.

    Returns
    -------
    polars.DataFrame
        One row a player, ordered by `player`. `games, turns, elo` (mean), `score, expected,
        surplus`, then in points of score `own_play, opponents_play, rest` with `_se` each,
        which add up to the surplus, and `chance_sd`; in Elo `own_gap` and `opponents_gap`, steps as
        they are. Of the opponents' turns against this player: `opponents, opponents_turns,
        opponents_elo, opponents_rating, opponents_low, opponents_high`, and in their other games
        `elsewhere_turns, elsewhere_rating, elsewhere_low, elsewhere_high`. `reason` says why there
        is nothing; null = there is.

    Raises
    ------
    InputError
        If a column is missing, or ladder and decisions do not go together.
    """
    games = _gather(decisions, ladder, white_advantage)
    event = _Event.of(games, calibration.variation, play_sd=play_sd)
    play, slope = event.play(games), games.slope
    own_play = games.sum_by_player(slope * play)
    against = -games.sum_by_player(slope * play[games.other])
    surplus, counts = games.sum_by_player(games.surplus), games.sum_by_player(np.ones(len(games)))
    chance = np.sqrt(games.sum_by_player(_result_variance(games)))
    units = replace(ladder, groups=games.of_row)
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(games.names):
        mine = games.player == code
        if not mine.any():
            rows.append({"player": name, "games": 0, "turns": 0, "reason": _NO_GAMES})
            continue
        others = np.zeros(len(games), dtype=np.bool_)
        others[games.other[mine]] = True
        elsewhere = np.isin(games.player, games.player[others]) & ~others
        own, theirs = np.where(mine, slope, 0.0), np.where(others, -slope, 0.0)
        rows.append(
            {
                "player": name,
                "games": int(counts[code]),
                "turns": int(games.turns[mine].sum()),
                "elo": float(games.elo[mine].mean()),
                "score": float(games.result[mine].sum()),
                "expected": float(games.expected[mine].sum()),
                "surplus": surplus[code],
                "own_play": own_play[code],
                "own_play_se": event.play_error(games, own),
                "opponents_play": against[code],
                "opponents_play_se": event.play_error(games, theirs),
                "rest": surplus[code] - own_play[code] - against[code],
                "rest_se": event.play_error(games, own + theirs),
                "chance_sd": chance[code],
                "own_gap": _step(games, mine),
                "opponents_gap": _step(games, others),
                "opponents": len(np.unique(games.player[others])),
                **_rating("opponents", units, games, others, calibration, level),
                **_rating("elsewhere", units, games, elsewhere, calibration, level),
                "reason": None,
            }
        )
    return _table(rows, _SPLIT)


def play_by_game(
    decisions: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder,
    *,
    play_sd: float = PLAY_SD,
    white_advantage: float = WHITE_ADVANTAGE,
) -> pl.DataFrame:
    """Say of every game how each side played beside its own Elo.

    Unlike in `split_results` nothing is learned from the other games: the step of a game is drawn
    to 0, the Elo, by ρ = τ² / (τ² + φ / I). A side whose opponent has no evaluated turns counts
    too.

    Parameters
    ----------
    decisions, calibration, ladder, play_sd, white_advantage
        As for `split_results`.

    Returns
    -------
    polars.DataFrame
        One row a player and game, by `game_id` and `player`: `opponent, turns, elo, score,
        expected`; in Elo `gap` (the step as it is) with `gap_se`, `play` (drawn) with `play_se`; in
        points of score `points` with `points_se`.

    Raises
    ------
    InputError
        If a column is missing, or ladder and decisions do not go together.
    """
    games = _gather(decisions, ladder, white_advantage, paired=False)
    spare = calibration.variation.game_dispersion.value / games.information
    reliability = play_sd**2 / (play_sd**2 + spare)
    gap = games.score_sum / games.information
    play, play_se = reliability * gap, play_sd * np.sqrt(1 - reliability)
    names = np.array(games.names, dtype=object)
    return pl.DataFrame(
        {
            "game_id": list(games.game_ids),
            "player": names[games.player].tolist(),
            "turns": games.turns,
            "elo": games.elo,
            "score": games.result,
            "expected": games.expected,
            "gap": gap,
            "gap_se": np.sqrt(spare),
            "play": play,
            "play_se": play_se,
            "points": games.slope * play,
            "points_se": games.slope * play_se,
        },
        schema_overrides={"game_id": pl.String, "player": pl.String},
    )


def mirror_test(
    decisions: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder,
    *,
    pull: ResultPull = RESULT_PULL,
    white_advantage: float = WHITE_ADVANTAGE,
    least_turns: int = LEAST_OPPONENTS_TURNS,
    least_opponents: int = LEAST_OPPONENTS,
) -> pl.DataFrame:
    """Test for every player whether opponents play far below themselves in just these games.

    Parameters
    ----------
    decisions, calibration, ladder, white_advantage
        As for `split_results`.
    pull
        What results of honest games say of the moves; `NO_PULL` = nothing.
    least_turns, least_opponents
        With fewer there is no test.

    Returns
    -------
    polars.DataFrame
        One row a player, ordered by `player`: `opponents`, their `games` and `turns` against this
        player, `elsewhere_turns` in their other games, `gap` (how far from themselves they played,
        in Elo, negative = below, results taken out) with `gap_se`; `z`, standard normal for honest
        games, and `p` = Φ(z), the low tail; `reason` says why there is no test; null = there is.

    Raises
    ------
    InputError
        If a column is missing, or ladder and decisions do not go together.
    """
    games = _without_results(_gather(decisions, ladder, white_advantage), pull)
    dispersion = calibration.variation.game_dispersion.value * pull.remaining
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(games.names):
        against = games.player[games.other] == code
        turns = int(games.turns[against].sum())
        who = np.unique(games.player[against])
        elsewhere = np.isin(games.player, who) & ~against
        row = {
            "player": name,
            "opponents": len(who),
            "games": int(against.sum()),
            "turns": turns,
            "elsewhere_turns": int(games.turns[elsewhere].sum()),
        }
        if not against.any():
            row["reason"] = _NO_GAMES
        elif turns < least_turns:
            row["reason"] = f"{turns} turns of opponents: fewer than {least_turns}"
        elif len(who) < least_opponents:
            row["reason"] = f"{len(who)} opponents: fewer than {least_opponents}"
        else:
            row |= _mirror(games, calibration.variation, dispersion, against)
        rows.append(row)
    return _table(rows, _MIRROR)


def mirror_p(z: float, reference: npt.ArrayLike) -> tuple[float, float]:
    """Return the larger of the model's p and that of honest performances, and its floor.

    Parameters
    ----------
    z
        The statistic of `mirror_test`.
    reference
        The statistics of honest performances, found in the same way.

    Returns
    -------
    p, floor
        max(Φ(z), (1 + how many are as low) / (n + 1)); p cannot be smaller than 1 / (n + 1).
    """
    honest = np.asarray(reference, dtype=np.float64)
    floor = 1.0 / (len(honest) + 1)
    found = (1 + int((honest <= z).sum())) * floor
    return max(float(ndtr(z)), found), floor


def measure_result_pull(
    events: Iterable[tuple[pl.DataFrame, Ladder]],
    calibration: Calibration,
    *,
    white_advantage: float = WHITE_ADVANTAGE,
) -> ResultPull:
    """Measure what results say of the moves, on honest events.

    U less I a over √I, with a the event's level, is regressed on score less expected score.

    Parameters
    ----------
    events
        Decisions of one event and their ladder, of each.
    calibration, white_advantage
        As for `split_results`.

    Raises
    ------
    InputError
        If there is no event, or no result differs from what was expected.
    """
    tops, bottoms, values, surpluses = [], [], [], []
    for decisions, ladder in events:
        games = _gather(decisions, ladder, white_advantage)
        level = _Event.of(games, calibration.variation).level
        value = (games.score_sum - games.information * level) / np.sqrt(games.information)
        tops.append(float(value @ games.surplus))
        bottoms.append(float(games.surplus @ games.surplus))
        values.append(value)
        surpluses.append(games.surplus)
    bottom = sum(bottoms)
    if not bottom > 0:
        raise InputError("measuring the pull of results needs games with results")
    slope = sum(tops) / bottom
    leaning = np.array(tops) - slope * np.array(bottoms)
    value, surplus = np.concatenate(values), np.concatenate(surpluses)
    left = float(((value - slope * surplus) ** 2).sum() / (value**2).sum())
    error = float(np.linalg.norm(leaning)) / bottom if len(tops) > 1 else float("nan")
    return ResultPull(slope, left, error, len(value), len(tops))


def measure_play_sd(
    events: Iterable[tuple[pl.DataFrame, Ladder]],
    calibration: Calibration,
    *,
    white_advantage: float = WHITE_ADVANTAGE,
) -> float:
    """Measure τ on honest events: with it, play explains the surplus of games one to one.

    Parameters
    ----------
    events
        Decisions of one event and their ladder, of each.
    calibration, white_advantage
        As for `split_results`.

    Returns
    -------
    float
        τ in Elo; 0 = play explains nothing.

    Raises
    ------
    InputError
        If no τ between the two ends will do.
    """
    gathered = [_gather(*event, white_advantage) for event in events]

    def lack(play_sd: float) -> float:
        """What play explains of the surplus, less what it states; falls as τ rises."""
        stated = explained = 0.0
        for games in gathered:
            event = _Event.of(games, calibration.variation, play_sd=play_sd)
            play = event.play(games)
            points = games.slope * (play - play[games.other])
            stated += float(points @ points)
            explained += float(points @ games.surplus)
        return explained - stated

    low, high = _PLAY_SD_ENDS
    if lack(low) <= 0:
        return 0.0
    if lack(high) > 0:
        raise InputError(f"these games set no bound to how play varies below {high:.0f} Elo")
    return float(brentq(lack, low, high, xtol=0.1))


def _gather(
    decisions: pl.DataFrame, ladder: Ladder, white_advantage: float, *, paired: bool = True
) -> _PlayerGames:
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
    frame = decisions.select(_NEEDED).with_row_index("row")
    own = frame["mover_elo"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    known = np.isfinite(own)
    at = np.where(known, own, ladder.rungs.mean())
    frame = frame.with_columns(
        pl.Series("u", ladder.weights * np.where(known, ladder.scores(at), 0.0)),
        pl.Series("i", ladder.weights * np.where(known, ladder.information_at(at), 0.0)),
    )
    names = sorted({*frame["mover"].drop_nulls(), *frame["opponent"].drop_nulls()})
    keys = ["game_id", "mover", "opponent"]
    facts = ["colour", "mover_elo", "opponent_elo", "score"]
    found = (
        frame.group_by(keys)
        .agg(pl.col(facts).first(), pl.col("u", "i").sum(), pl.len().alias("turns"), "row")
        .drop_nulls([*keys, *facts])
        .filter(pl.col("i") > 0)
        .sort(keys)
    )
    mirrored = found.select("game_id", mover="opponent", opponent="mover")
    if paired:
        found = found.join(mirrored, on=keys, how="semi")
    found = found.sort(keys).with_row_index("unit")
    others = found.select("game_id", "unit", mover="opponent", opponent="mover")
    found = found.join(others.rename({"unit": "other"}), on=keys, how="left").sort(keys)
    code = {name: number for number, name in enumerate(names)}
    of_row = np.full(len(frame), -1, dtype=np.int64)
    pairs = found.select("unit", "row").explode("row")
    of_row[pairs["row"].to_numpy()] = pairs["unit"].to_numpy()
    elo, against = (found[name].cast(pl.Float64).to_numpy() for name in facts[1:3])
    first = np.where(found["colour"].to_numpy() == "white", white_advantage, -white_advantage)
    return _PlayerGames(
        names=names,
        player=np.array([code[name] for name in found["mover"]], dtype=np.int64),
        other=found["other"].cast(pl.Int64).fill_null(-1).to_numpy(),
        score_sum=found["u"].to_numpy(),
        information=found["i"].to_numpy(),
        turns=found["turns"].to_numpy().astype(np.int64),
        elo=elo,
        result=found["score"].cast(pl.Float64).to_numpy(),
        expected=1 / (1 + np.exp(-_POINT * (elo - against + first))),
        of_row=of_row,
        game_ids=tuple(found["game_id"]),
    )


@dataclass(frozen=True, eq=False)
class _Event:
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
        games: _PlayerGames,
        variation: PlayerVariation,
        *,
        dispersion: float | None = None,
        play_sd: float = 0.0,
        counted: npt.NDArray[np.bool_] | None = None,
    ) -> _Event:
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

    def play(self, games: _PlayerGames) -> Floats:
        """Play of each player-game, in Elo."""
        strength = self.mean[games.player]
        step = games.score_sum / games.information - self.level
        answer: Floats = strength + self.reliability * (step - strength)
        return answer

    def play_error(self, games: _PlayerGames, weights: Floats) -> float:
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


def _mirror(
    games: _PlayerGames,
    variation: PlayerVariation,
    dispersion: float,
    against: npt.NDArray[np.bool_],
) -> dict[str, float]:
    event = _Event.of(games, variation, dispersion=dispersion, counted=~against)
    information = np.where(against, games.information, 0.0)
    by_player = games.sum_by_player(information)
    total = float(information.sum())
    predicted = float(by_player @ (event.level + event.mean))
    gap = float(games.score_sum[against].sum()) - predicted
    variance = (
        float((dispersion * information + variation.game_sd.used**2 * information**2).sum())
        + float(by_player**2 @ event.variance)
        + float(by_player @ (1 - event.pulled)) ** 2 * event.level_variance
    )
    z = gap / float(np.sqrt(variance))
    return {
        "gap": gap / total,
        "gap_se": float(np.sqrt(variance)) / total,
        "z": z,
        "p": float(ndtr(z)),
    }


def _without_results(games: _PlayerGames, pull: ResultPull) -> _PlayerGames:
    """Take out of every U what the result of the game says of it."""
    explained = pull.slope * np.sqrt(games.information) * games.surplus
    return replace(games, score_sum=games.score_sum - explained)


def _result_variance(games: _PlayerGames) -> Floats:
    """Of each game's score: e (1 - e), less a quarter of the probability of a draw.

    That is the share of draws here, but no more than the expected score allows.
    """
    share = float((games.result == 0.5).mean()) if len(games) else 0.0
    draws = np.minimum(share, 2 * np.minimum(games.expected, 1 - games.expected))
    answer: Floats = games.expected * (1 - games.expected) - draws / 4
    return answer


def _step(games: _PlayerGames, members: npt.NDArray[np.bool_]) -> float:
    return float(games.score_sum[members].sum() / games.information[members].sum())


def _rating(
    what: str,
    ladder: Ladder,
    games: _PlayerGames,
    members: npt.NDArray[np.bool_],
    calibration: Calibration,
    level: float,
) -> dict[str, float | int | None]:
    """The rating of some player-games together, with its performance interval."""
    turns = int(games.turns[members].sum())
    answer: dict[str, float | int | None] = {f"{what}_turns": turns}
    if turns:
        answer[f"{what}_elo"] = float(np.average(games.elo[members], weights=games.turns[members]))
    if turns < LEAST_TURNS:
        return answer
    rows = np.flatnonzero(np.append(members, False)[ladder.groups])
    players = np.bincount(games.player[members], weights=games.turns[members]) / turns
    shares = Shares(players=float((players**2).sum()))
    found = estimate(
        ladder.take(rows), calibration.variation, calibration.map_error, shares=shares, level=level
    )
    ends = {"rating": found.rating, "low": found.low, "high": found.high}
    known = {name: value if np.isfinite(value) else None for name, value in ends.items()}
    return answer | {f"{what}_{name}": value for name, value in known.items()}


def _table(rows: list[dict[str, Any]], columns: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)


_REAL = pl.Float64
_SPLIT: dict[str, Any] = {
    "player": pl.String, "games": pl.Int64, "turns": pl.Int64, "elo": _REAL, "score": _REAL,
    "expected": _REAL, "surplus": _REAL, "own_play": _REAL, "own_play_se": _REAL,
    "opponents_play": _REAL, "opponents_play_se": _REAL, "rest": _REAL, "rest_se": _REAL,
    "chance_sd": _REAL, "own_gap": _REAL, "opponents_gap": _REAL, "opponents": pl.Int64,
    "opponents_turns": pl.Int64, "opponents_elo": _REAL, "opponents_rating": _REAL,
    "opponents_low": _REAL, "opponents_high": _REAL, "elsewhere_turns": pl.Int64,
    "elsewhere_elo": _REAL, "elsewhere_rating": _REAL, "elsewhere_low": _REAL,
    "elsewhere_high": _REAL, "reason": pl.String,
}  # fmt: skip
_MIRROR: dict[str, Any] = {
    "player": pl.String, "opponents": pl.Int64, "games": pl.Int64, "turns": pl.Int64,
    "elsewhere_turns": pl.Int64, "gap": _REAL, "gap_se": _REAL, "z": _REAL, "p": _REAL,
    "reason": pl.String,
}  # fmt: skip
