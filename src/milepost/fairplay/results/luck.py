"""Where a score came from: own play, the opponents' play, the rest.

Question 4 of Regan & Haworth (2011, "Intrinsic Chess Ratings") is what part luck or collusion had
in a high result. A player's score less what the Elos promise is split into what the player's own
play explains, what the opponents' play against this player explains, and the rest. The mirror test
asks one thing more: do the opponents of a player, in just these games, play further below
themselves than honest opponents do? Both are evidence about moves and say nothing about reasons.

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
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fairplay.results.player_games import (
    NO_GAMES,
    WHITE_ADVANTAGE,
    EventLevel,
    PlayerGames,
    gather_games,
)
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.interval import GameSums, Shares, estimate_games
from milepost.intrinsic.rating.likelihood_grid import Ladder
from milepost.intrinsic.rating.rate import LEAST_TURNS

PLAY_SD = 240.0
"""τ, in Elo, by `measure_play_sd` on the same 19 events: 240 ± 21 (leaving out one at a time)."""
_PLAY_SD_ENDS = (10.0, 2000.0)


def split_results(
    decisions: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder,
    *,
    play_sd: float = PLAY_SD,
    white_advantage: float = WHITE_ADVANTAGE,
    level: float = 0.95,
    games: PlayerGames | None = None,
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
    games
        The decisions gathered by player and game, if they are already.

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
    if games is None:
        games = gather_games(decisions, ladder, white_advantage)
    event = EventLevel.of(games, calibration.variation, play_sd=play_sd)
    play, slope = event.play(games), games.slope
    own_play = games.sum_by_player(slope * play)
    against = -games.sum_by_player(slope * play[games.other])
    surplus, counts = games.sum_by_player(games.surplus), games.sum_by_player(np.ones(len(games)))
    chance = np.sqrt(games.sum_by_player(_result_variance(games)))
    units = GameSums.of(ladder, games.of_row, len(games))
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(games.names):
        mine = games.player == code
        if not mine.any():
            rows.append({"player": name, "games": 0, "turns": 0, "reason": NO_GAMES})
            continue
        others = np.zeros(len(games), dtype=np.bool_)
        others[games.other[mine]] = True
        elsewhere = games.of_same_players(others) & ~others
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
    return pl.DataFrame([{name: row.get(name) for name in _SPLIT} for row in rows], schema=_SPLIT)


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
    games = gather_games(decisions, ladder, white_advantage, paired=False)
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
    from scipy.optimize import brentq

    gathered = [gather_games(*event, white_advantage) for event in events]

    def lack(play_sd: float) -> float:
        """What play explains of the surplus, less what it states; falls as τ rises."""
        stated = explained = 0.0
        for games in gathered:
            event = EventLevel.of(games, calibration.variation, play_sd=play_sd)
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


def _result_variance(games: PlayerGames) -> Floats:
    """Of each game's score: e (1 - e), less a quarter of the probability of a draw.

    That is the share of draws here, but no more than the expected score allows.
    """
    share = float((games.result == 0.5).mean()) if len(games) else 0.0
    draws = np.minimum(share, 2 * np.minimum(games.expected, 1 - games.expected))
    answer: Floats = games.expected * (1 - games.expected) - draws / 4
    return answer


def _step(games: PlayerGames, members: npt.NDArray[np.bool_]) -> float:
    return float(games.score_sum[members].sum() / games.information[members].sum())


def _rating(
    what: str,
    units: GameSums,
    games: PlayerGames,
    members: npt.NDArray[np.bool_],
    calibration: Calibration,
    level: float,
) -> dict[str, float | int | None]:
    """The rating of some player-games together, with its performance interval."""
    turns = int(games.turns[members].sum())
    answer: dict[str, float | int | None] = {f"{what}_turns": turns}
    if turns:
        answer[f"{what}_elo"] = float(games.elo[members] @ games.turns[members]) / turns
    if turns < LEAST_TURNS:
        return answer
    players = np.bincount(games.player[members], weights=games.turns[members]) / turns
    shares = Shares(players=float((players**2).sum()))
    found = estimate_games(
        units.take(members), calibration.variation, calibration.map_error,
        shares=shares, level=level,
    )  # fmt: skip
    ends = {"rating": found.rating, "low": found.low, "high": found.high}
    known = {name: value if np.isfinite(value) else None for name, value in ends.items()}
    return answer | {f"{what}_{name}": value for name, value in known.items()}


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
