"""A history that goes forward with the newcomers' rules of the prediction study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milepost.errors import InputError
from milepost.history.models import Forecast
from milepost.history.prediction.forward import forecast
from milepost.history.prediction.newcomers import Company, faster_newcomers, newcomers_pace
from milepost.history.records import Floats, Records
from milepost.history.ttt.from_model import fresh_state
from milepost.history.ttt.own_margins import TTTDState
from milepost.io.progress import Report


@dataclass(frozen=True)
class ForecastHistory:
    """What was known before and after each period."""

    state: TTTDState
    """The messages after the last period."""
    pace: Floats
    """For each node, how much faster than usual values drift behind it."""
    log_probability: Floats
    """For each game, the log probability of its result by what was known before its period."""

    @property
    def log_evidence(self) -> float:
        """The sum of these, by weight."""
        weight = self.state.records.weight
        logs = self.log_probability
        return float(logs @ weight if len(weight) else logs.sum())


def forecast_history(
    records: Records, model: Forecast, *, window: int | None = None, rounds: int = 1,
    start: int = 0, progress: Report | None = None,
) -> ForecastHistory:  # fmt: skip
    """Go once through all games, each predicted from what came before its period only.

    Parameters
    ----------
    records
        The games.
    model
        The numbers.
    window
        How many periods are smoothed again after each; `None` = as many as the model's window of
        time has.
    rounds, start
        See `milepost.history.prediction.forward.predict_forward`.
    progress
        Called after each period.

    Raises
    ------
    InputError
        If each game is a period: a first period of one game has no company.
    """
    if records.period == "game":
        raise InputError(
            "a forecast knows newcomers by the players met in their first period: expected a "
            "period longer than a game"
        )
    pace = newcomers_pace(records, factor=model.factor, years=model.years)
    drifting = faster_newcomers(records, factor=model.factor, years=model.years)
    state = fresh_state(drifting, model)
    assert isinstance(state, TTTDState)
    company = Company(slope=model.slope, behind=model.behind, sd=model.company_sd)
    if window is None:
        window = periods_in(records, model.window)
    seen = forecast(
        state, window=window, rounds=rounds, start=start, company=company, progress=progress
    )
    won = np.where(records.swapped, seen.loss, seen.win)
    with np.errstate(divide="ignore"):  # an impossible result is impossible, not an error
        logs = np.log(np.where(records.drawn, seen.draw, won))
    return ForecastHistory(state, pace, np.asarray(logs))


def periods_in(records: Records, time: float) -> int:
    """Return how many periods, as they usually follow each other, make up a time."""
    if time == 0.0 or records.periods < 2:
        return 0
    usual = float(np.median(np.diff(records.clock)))
    return max(1, round(time / usual)) if usual > 0.0 else 1
