"""The mirror test: do a player's opponents, in just these games, play below themselves?

For one player let M be the opponents' player-games of these games. All other
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
from scipy.special import ndtr

from milepost.errors import InputError
from milepost.fairplay.results.player_games import (
    NO_GAMES,
    WHITE_ADVANTAGE,
    EventLevel,
    PlayerGames,
    gather_games,
)
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import Ladder

LEAST_OPPONENTS_TURNS = 60
"""With fewer turns of opponents there is no mirror test."""
LEAST_OPPONENTS = 3
"""With fewer opponents there is no mirror test."""


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
NO_PULL = ResultPull(slope=0.0, remaining=1.0)
"""As if results told nothing of the moves: for comparison alone."""


def mirror_test(
    decisions: pl.DataFrame,
    calibration: Calibration,
    ladder: Ladder,
    *,
    pull: ResultPull = RESULT_PULL,
    white_advantage: float = WHITE_ADVANTAGE,
    least_turns: int = LEAST_OPPONENTS_TURNS,
    least_opponents: int = LEAST_OPPONENTS,
    games: PlayerGames | None = None,
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
    games
        The decisions gathered by player and game, if they are already.

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
    if games is None:
        games = gather_games(decisions, ladder, white_advantage)
    games = _without_results(games, pull)
    dispersion = calibration.variation.game_dispersion.value * pull.remaining
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(games.names):
        against = games.player[games.other] == code
        turns = int(games.turns[against].sum())
        who = np.unique(games.player[against])
        elsewhere = games.of_same_players(against) & ~against
        row = {
            "player": name,
            "opponents": len(who),
            "games": int(against.sum()),
            "turns": turns,
            "elsewhere_turns": int(games.turns[elsewhere].sum()),
        }
        if not against.any():
            row["reason"] = NO_GAMES
        elif turns < least_turns:
            row["reason"] = f"{turns} turns of opponents: fewer than {least_turns}"
        elif len(who) < least_opponents:
            row["reason"] = f"{len(who)} opponents: fewer than {least_opponents}"
        else:
            row |= _mirror(games, calibration.variation, dispersion, against)
        rows.append(row)
    return pl.DataFrame([{name: row.get(name) for name in _MIRROR} for row in rows], schema=_MIRROR)


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
        games = gather_games(decisions, ladder, white_advantage)
        level = EventLevel.of(games, calibration.variation).level
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


def _mirror(
    games: PlayerGames,
    variation: PlayerVariation,
    dispersion: float,
    against: npt.NDArray[np.bool_],
) -> dict[str, float]:
    event = EventLevel.of(games, variation, dispersion=dispersion, counted=~against)
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


def _without_results(games: PlayerGames, pull: ResultPull) -> PlayerGames:
    """Take out of every U what the result of the game says of it."""
    explained = pull.slope * np.sqrt(games.information) * games.surplus
    return replace(games, score_sum=games.score_sum - explained)


_REAL = pl.Float64
_MIRROR: dict[str, Any] = {
    "player": pl.String, "opponents": pl.Int64, "games": pl.Int64, "turns": pl.Int64,
    "elsewhere_turns": pl.Int64, "gap": _REAL, "gap_se": _REAL, "z": _REAL, "p": _REAL,
    "reason": pl.String,
}  # fmt: skip
