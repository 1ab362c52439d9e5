"""Measure honest people: biases, dispersions and reference performances of events without doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import chdtri

from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.fairplay.evidence.standard_scores import within_performances
from milepost.fairplay.performances import Board, Performance, make_board, performances
from milepost.fairplay.reference.honest import MIDDLE, UNIT, HonestPlayers, Reference
from milepost.fairplay.results.luck import measure_play_sd
from milepost.fairplay.results.mirror import measure_result_pull, mirror_test
from milepost.fairplay.screen import LEAST_TURNS
from milepost.intrinsic.calibration.calibration import Calibration

LEAST_GAMES: Final = 5
"""Performances of fewer games are no reference."""
BAND: Final = 200
"""Ratings are looked at in bands of so many points."""
ENOUGH_EVENTS: Final = 10
"""With fewer events neither biases are measured, nor what results tell of moves."""
_LEAST_IN_BAND = 30
_DOUBT = 0.025
"""A band whose scores vary more than this tail of chi-square allows gets a wider null."""


@dataclass(frozen=True, eq=False)
class PerformanceSums:
    """One performance by its sums: all that the measurement needs."""

    event: str
    """The event."""
    rating: float
    """The rating from before it."""
    turns: int
    """Turns."""
    games: int
    """Games."""
    sums: Floats
    """Figures less those of agents, by player-game."""
    covariance: Floats
    """The agents' covariance, by player-game."""
    game_turns: Floats
    """Turns, by player-game."""
    step: float
    """ΣU / ΣI: how far the performance reads from the rating, in points."""
    information: float
    """ΣI."""


def sums_of(board: Board, event: str) -> list[PerformanceSums]:
    """Return the sums of all performances of an event."""
    answer = []
    scores, ladder = board.scores, board.ladder
    apart = scores.chosen - scores.expected
    for real in performances(board):
        starts = real.turns.starts[:-1]
        part = ladder.take(real.rows)
        information = float(part.information_at(real.rating).sum())
        answer.append(
            PerformanceSums(
                event=event,
                rating=real.rating,
                turns=len(real),
                games=real.games,
                sums=np.add.reduceat(apart[real.rows], starts),
                covariance=np.add.reduceat(scores.covariance[real.rows], starts),
                game_turns=np.diff(real.turns.starts).astype(np.float64),
                step=float(part.scores(real.rating).sum()) / information,
                information=information,
            )
        )
    return answer


def measure(
    events: Mapping[str, pl.DataFrame],
    calibration: Calibration,
    *,
    least_turns: int = LEAST_TURNS,
    least_games: int = LEAST_GAMES,
    widened: Sequence[tuple[float, float, float]] = (),
    made: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[HonestPlayers, pl.DataFrame]:
    """Measure how honest players play, as one calibration sees them.

    Parameters
    ----------
    events
        The decisions of complete events, by name.
    calibration
        The calibration; players', events' and games' variation are its own.
    least_turns, least_games
        Performances with less are left out.
    widened
        Ratings from, to, and a further standard deviation: where players are known, from elsewhere,
        to be off.
    made
        How the events were read.
    tell
        Called with a line for each event.

    Returns
    -------
    HonestPlayers
        With the reference performances.
    polars.DataFrame
        The performances: `event`, `elo`, `turns`, `games`, `z`, `ln_e`, `ln_e_worst`, `mirror`.

    Raises
    ------
    InputError
        If there are fewer than ten performances.
    """
    assumed = HonestPlayers.assumed(calibration)
    boards: dict[str, Board] = {}
    for name, table in events.items():
        boards[name] = make_board(enough_turns(table, least_turns), calibration, assumed)
        if tell is not None:
            tell(f"{name}: {len(boards[name].table):,} turns")
    sums = [each for name, board in boards.items() for each in sums_of(board, name)]
    sums = [each for each in sums if each.turns >= least_turns and each.games >= least_games]
    if len(sums) < 10:
        raise InputError(f"{len(sums)} performances are too few to measure honest play by")
    # A line through a few events would follow the events, which differ from each other.
    many = len(boards) >= ENOUGH_EVENTS
    honest = replace(
        assumed,
        measured=True,
        offset=_offset(sums, assumed) if many else (0.0, 0.0),
        bias=_bias(sums) if many else np.zeros((2, 3)),
        dispersion=np.maximum(_dispersion(sums), 1.0),
        rests_on=_told(sums),
        made=dict(made or {}),
    )
    if many:
        pairs = [(board.table, board.ladder) for board in boards.values()]
        honest = replace(
            honest,
            play_sd=measure_play_sd(pairs, calibration),
            pull=measure_result_pull(pairs, calibration),
        )
    rows = reference_rows(boards, honest, least_turns, least_games)
    bands = (*_bands(rows, boards, honest, least_turns, least_games), *widened)
    if bands:
        honest = replace(honest, bands=bands)
        rows = reference_rows(boards, honest, least_turns, least_games)
    known = Reference(
        *(np.sort(rows[name].drop_nulls().to_numpy()) for name in ("z", "ln_e", "mirror"))
    )
    return replace(honest, reference=known), rows


def reference_rows(
    boards: Mapping[str, Board], honest: HonestPlayers, least_turns: int, least_games: int
) -> pl.DataFrame:
    """Return the statistics of all performances beside given honest players."""
    rows = []
    for name, board in boards.items():
        seen = replace(board, honest=honest)
        mirror = mirror_test(seen.table, seen.calibration, seen.ladder, pull=honest.pull)
        mirrors = dict(mirror.select("player", "z").iter_rows())
        rows += [
            {
                "event": name,
                "elo": real.rating,
                "turns": len(real),
                "games": real.games,
                "z": real.scored.combined,
                "z_match": float(real.scored.adjusted[0]),
                "z_error": float(real.scored.adjusted[1]),
                "z_likelihood": float(real.scored.adjusted[2]),
                "ln_e": real.evidence.ln_e,
                "ln_e_worst": real.evidence.ln_e_worst,
                "mirror": mirrors.get(real.player),
            }
            for real in performances(seen)
            if len(real) >= least_turns and real.games >= least_games
        ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"mirror": pl.Float64})


def enough_turns(table: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return the turns of players with enough of them: others have a few by shared openings."""
    many = table.group_by("mover").len().filter(pl.col("len") >= least)["mover"]
    return table.filter(pl.col("mover").is_in(many.implode()))


def _line(x: Floats, y: Floats, weights: Floats) -> Floats:
    """A weighted line: at the middle, and its slope."""
    design = np.stack([np.ones(len(x)), x], axis=1)
    normal = design.T @ (weights[:, None] * design)
    return np.asarray(np.linalg.solve(normal, design.T @ (weights * y)), dtype=np.float64)


def _offset(sums: Sequence[PerformanceSums], honest: HonestPlayers) -> tuple[float, float]:
    x = np.array([(each.rating - MIDDLE) / UNIT for each in sums])
    steps = np.array([each.step for each in sums])
    variance = honest.game_dispersion / np.array([each.information for each in sums])
    weights = 1 / (variance + honest.player_sd**2 + honest.event_sd**2)
    at_middle, slope = _line(x, steps, weights)
    return float(at_middle), float(slope)


def _bias(sums: Sequence[PerformanceSums]) -> Floats:
    x = np.array([(each.rating - MIDDLE) / UNIT for each in sums])
    turns = np.array([float(each.turns) for each in sums])
    rates = np.stack([each.sums.sum(axis=0) / each.turns for each in sums])
    lines = [_line(x, rates[:, figure], turns) for figure in range(3)]
    return np.stack(lines, axis=1)


def _dispersion(sums: Sequence[PerformanceSums]) -> Floats:
    number: Ints = np.repeat(np.arange(len(sums)), [each.games for each in sums])
    return within_performances(
        np.concatenate([each.sums for each in sums]),
        np.concatenate([each.covariance for each in sums]),
        np.concatenate([each.game_turns for each in sums]),
        number,
    )


def _bands(
    rows: pl.DataFrame,
    boards: Mapping[str, Board],
    honest: HonestPlayers,
    least_turns: int,
    least_games: int,
) -> tuple[tuple[float, float, float], ...]:
    """Bands of ratings whose scores vary more than they should, with what widens the null there."""
    bands = []
    for low in sorted((rows["elo"] // BAND * BAND).unique().to_list()):
        part = rows.filter((pl.col("elo") >= low) & (pl.col("elo") < low + BAND))
        squares = float((part["z"] ** 2).sum())
        if len(part) < _LEAST_IN_BAND or squares <= float(chdtri(len(part), _DOUBT)):
            continue
        for extra in np.arange(10.0, 301.0, 10.0):
            wider = replace(honest, bands=((low, low + BAND, float(extra)),))
            tried = _z_in_band(boards, wider, low, least_turns, least_games)
            if float((tried**2).mean()) <= 1.0:
                break
        bands.append((float(low), float(low + BAND), float(extra)))
    return tuple(bands)


def _z_in_band(
    boards: Mapping[str, Board],
    honest: HonestPlayers,
    low: float,
    least_turns: int,
    least_games: int,
) -> Floats:
    found: list[Performance] = [
        real
        for board in boards.values()
        for real in performances(replace(board, honest=honest))
        if low <= real.rating < low + BAND
    ]
    return np.array(
        [
            real.scored.combined
            for real in found
            if len(real) >= least_turns and real.games >= least_games
        ]
    )


def _told(sums: Sequence[PerformanceSums]) -> str:
    ratings = [each.rating for each in sums]
    return (
        f"{len(sums):,} performances of {len({each.event for each in sums})} complete events, "
        f"{sum(each.turns for each in sums):,} turns, {min(ratings):.0f} to {max(ratings):.0f} Elo"
    )
