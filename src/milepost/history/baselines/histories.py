"""Elo and Glicko-2 as histories: the ratings after each period, for comparison."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from milepost.history.baselines.elo import run_elo
from milepost.history.baselines.glicko2 import run_glicko2
from milepost.history.baselines.step_ratings import Ratings, margin_of_share
from milepost.history.beliefs import Belief
from milepost.history.models import Elo, Glicko2
from milepost.history.records import Floats, Records
from milepost.history.result import History
from milepost.tables import CURVES

NEW_DEVIATION = 350.0
"""A newcomer's rating deviation in Glicko-2."""


def newcomer(model: Elo | Glicko2) -> Belief:
    """Return the rating and deviation that a player begins with."""
    return Belief(model.mu, NEW_DEVIATION if isinstance(model, Glicko2) else math.nan)


def fit_elo(records: Records, model: Elo) -> History:
    """Rate all games one by one; newcomers begin at `mu`, and K is that of `run_elo`."""
    one, two, score = _stream(records)
    lead = _lead(model)
    run = run_elo(
        one, two, score, players=records.players, initial=model.mu, advantage=lead * records.mover
    )
    mean = _after(records, run.rating_1, run.rating_2, run.ratings)
    return _history(records, model, mean, None, run.difference + lead * records.mover)


def fit_glicko2(records: Records, model: Glicko2) -> History:
    """Rate period by period; newcomers begin at `mu`, the rest is Glickman's.

    A player's deviation after a period is that at the beginning of the player's next one. A first
    mover's advantage counts in predictions only: Glickman's updates know none.
    """
    one, two, score = _stream(records)
    period = np.repeat(np.arange(records.periods), np.diff(records.game_start))
    run = run_glicko2(one, two, score, period, players=records.players, rating=model.mu)
    mean = _after(records, run.rating_1, run.rating_2, run.ratings)
    sd = _after(records, run.deviation_1, run.deviation_2, run.deviations)
    return _history(records, model, mean, sd, run.difference + _lead(model) * records.mover)


def _lead(model: Elo | Glicko2) -> float:
    return 0.0 if model.first_mover is None else float(model.first_mover)


def _stream(records: Records) -> tuple[Floats, Floats, Floats]:
    one, two = records.node_player[records.first], records.node_player[records.second]
    return one, two, np.where(records.drawn, 0.5, 1.0)  # type: ignore[return-value]


def _after(records: Records, before_1: Floats, before_2: Floats, last: Floats) -> Floats:
    """Return the value after each node: that before the player's next one, or the last."""
    nodes = np.stack([records.first, records.second], axis=1).ravel()
    values = np.stack([before_1, before_2], axis=1).ravel()
    start = np.empty(records.nodes)
    # Of several values for one node the last written stays: backwards, the first game's.
    start[nodes[::-1]] = values[::-1]
    ends = records.following < 0
    return np.where(ends, last[records.node_player], start[records.following])


def _history(
    records: Records, model: Elo | Glicko2, mean: Floats, sd: Floats | None, difference: Floats
) -> History:
    order = np.lexsort((records.node_period, records.node_player))
    columns = {
        "player": records.names.gather(records.node_player[order]),
        "time": records.label.gather(records.node_period[order]),
        "mean": mean[order],
        "games": records.node_games[order],
    }
    if sd is not None:
        columns["sd"] = sd[order]
    counts = np.bincount(records.node_player, minlength=records.players)
    ratings = Ratings(
        names=records.names,
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        clock=records.asked_clock[records.node_period[order]],
        mean=mean[order],
        sd=np.full(records.nodes, math.nan) if sd is None else sd[order],
        newcomer=newcomer(model),
    )
    given = model.draw
    return History(
        curves=CURVES.conform(pl.DataFrame(columns)),
        log_evidence=math.nan,
        converged=True,
        sweeps=1,
        remaining_error=0.0,
        model=model,
        period=records.period,
        games=records.games,
        players=records.players,
        draw_margin=(
            margin_of_share(difference, float(records.drawn.mean()))
            if isinstance(given, str) else float(given)
        ),
        paths=pl.DataFrame({
            "time": records.label, "clock": records.asked_clock,
            "newcomer_mean": np.full(records.periods, model.mu),
            "first_mover": np.full(records.periods, _lead(model)),
        }),
        skipped=dict(records.skipped),
        draw_share=records.draw_share,
        apart=records.apart,
        _skill=ratings,
    )  # fmt: skip
