"""Who is an equal: the Elo of the agents that a player's turns are compared with.

Over the board it is the player's Elo. A rating of a server is brought to the Elo scale by the shift
of its pool: what the moves of that pool read above its ratings, learned from the opponents in the
games at hand, from the figures that come with the package, or from both together, always with an
error. Where neither is there, or the player has no rating, it is the rating of these very turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.choice.spreads import Floats, Spreads
from milepost.games.pools import is_elo
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.review.baselines import Pools
from milepost.intrinsic.review.shifts import Shift, measure_shift, together

LEAST_LEARNED = 200
"""With fewer turns of opponents a pool's shift is not learned from the games at hand."""
OWN_ELO = "own Elo"
OWN_TURNS = "the rating of these turns"


@dataclass(frozen=True)
class PoolLevel:
    """How ratings of one pool become Elos."""

    pool: str
    """The pool."""
    shift: Shift
    """What moves read above its ratings."""
    source: str
    """Where that comes from."""
    fallback: float = float("nan")
    """The Elo to compare with where the shift or the player's rating is not known."""
    fallback_se: float = float("nan")
    """Its error."""


def learn_shift(table: pl.DataFrame, calibration: Calibration) -> Shift | None:
    """Learn a pool's shift from turns of players with a rating in it; None = too few turns."""
    rated = table.filter(
        pl.col("mover_elo").is_not_null(), pl.col("mover").is_not_null(), ~pl.col("decided")
    )
    if len(rated) < LEAST_LEARNED:
        return None
    ladder = climb(Spreads.from_table(rated), calibration.map.path)
    own = rated["mover_elo"].cast(pl.Float64).to_numpy()
    found = measure_shift(ladder, own, rated["mover"].to_numpy())
    return found if found.known else None


def pool_level(
    pool: str,
    shipped: Pools,
    learned: Shift | None,
    *,
    rating: float | None = None,
    fallback: tuple[float, float] = (float("nan"), float("nan")),
) -> PoolLevel:
    """Decide how ratings of a pool, about the given one, become Elos, and say from what."""
    known = shipped.of(pool, rating)
    if is_elo(pool):
        return PoolLevel(pool, known, OWN_ELO, *fallback)
    sources = []
    if known.known:
        sources.append("the figures that come with the package")
    if learned is not None:
        sources.append(f"{learned.turns:,} turns of opponents in these games")
    if not sources:
        return PoolLevel(pool, known, OWN_TURNS, *fallback)
    shift = known if learned is None else together(known, learned)
    return PoolLevel(pool, shift, " and ".join(sources), *fallback)


def levels_of(
    table: pl.DataFrame, levels: Mapping[str, PoolLevel]
) -> tuple[Floats, Floats, pl.Series]:
    """Return for each turn the Elo of equals, its error, and whether it is the turns' own."""
    own = table["mover_elo"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    shift, error, back, back_se = (
        table["pool"]
        .replace_strict({name: pick(each) for name, each in levels.items()}, default=None,
                        return_dtype=pl.Float64)
        .fill_null(np.nan)
        .to_numpy()
        for pick in (_value, _se, _fallback, _fallback_se)
    )  # fmt: skip
    level = own + shift
    lacking = ~np.isfinite(level)
    answer: Floats = np.where(lacking, back, level)
    errors: Floats = np.where(lacking, back_se, error)
    return answer, np.where(np.isfinite(errors), errors, 0.0), pl.Series("own_turns", lacking)


def _value(level: PoolLevel) -> float:
    return level.shift.value


def _se(level: PoolLevel) -> float:
    return level.shift.se


def _fallback(level: PoolLevel) -> float:
    return level.fallback


def _fallback_se(level: PoolLevel) -> float:
    return level.fallback_se
