"""Small results for the tests of histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from milepost.history import History, Sweeping, Tuning, fit_history
from milepost.history import prequential as _prequential
from milepost.history import tune as _tune
from milepost.history.models import make_model


def table(rows: Sequence[tuple[Any, str | None, str | None, float | None]]) -> pl.DataFrame:
    """Results from rows (time, player_1, player_2, score)."""
    return pl.DataFrame(rows, schema=["time", "player_1", "player_2", "score"], orient="row")


def simulated(
    games: int, players: int, periods: int, seed: int = 1, *, draws: float = 0.3
) -> pl.DataFrame:
    """Games between random pairs, with drifting skills; player_1 moves first, worth 40 points."""
    rng = np.random.default_rng(seed)
    start = rng.normal(0, 200, players)
    drift = rng.normal(0, 40, (periods, players)).cumsum(axis=0)
    time = np.sort(rng.integers(0, periods, games))
    one = rng.integers(0, players, games)
    two = (one + rng.integers(1, players, games)) % players
    rows = np.arange(games)
    skill = start + drift[time]
    performed = skill[rows, one] - skill[rows, two] + 40 + rng.normal(0, 400, games)
    margin = 400 * draws
    score = np.where(performed > margin, 1.0, np.where(performed < -margin, 0.0, 0.5))
    return pl.DataFrame({
        "time": 1900 + time,
        "player_1": [f"p{i:04}" for i in one],
        "player_2": [f"p{i:04}" for i in two],
        "score": score,
        "first_mover": np.ones(games, dtype=np.int8),
    })  # fmt: skip


def fit(results: Any, model: str = "ttt", **options: Any) -> History:
    """`fit_history` with the options of the model, the period and the sweeping told by names."""
    period, sweeping, progress = _apart(options)
    return fit_history(
        results, make_model(model, **options), period=period, sweeping=sweeping, progress=progress
    )


def prequential(results: Any, model: str = "ttt", **options: Any) -> Any:
    """`milepost.history.prequential`, likewise."""
    how = {name: options.pop(name) for name in ("window", "rounds", "start") if name in options}
    period, _, _ = _apart(options)
    return _prequential(results, make_model(model, **options), period=period, **how)


def tune(results: Any, model: str = "ttt", **options: Any) -> Tuning:
    """`milepost.history.tune`, likewise: options with several values are varied."""
    names = ("by", "window", "start", "optimise", "evaluations")
    how = {name: options.pop(name) for name in names if name in options}
    period, sweeping, progress = _apart(options)
    several = {name: value for name, value in options.items() if isinstance(value, list)}
    fixed = {name: value for name, value in options.items() if name not in several}
    chosen: Any = make_model(model, **fixed)  # what is none to tune is refused there
    return _tune(
        results, chosen, vary=several, period=period, sweeping=sweeping,
        progress=progress, **how,
    )  # fmt: skip


def _apart(options: dict[str, Any]) -> tuple[Any, Sweeping | None, Any]:
    controls = {
        name: options.pop(name)
        for name in ("tolerance", "max_sweeps", "workers")
        if name in options
    }
    sweeping = Sweeping(**controls) if controls else None
    return options.pop("period", "year"), sweeping, options.pop("progress", None)
