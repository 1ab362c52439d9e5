"""Time cut into periods: the label that a period is shown by, and the clock that drift runs on.

Every period has a *clock*: a number that elapsed time is taken from. For dates it counts years
(a month is 1/12, a day 1/365.2425), so that `tau` means the same whatever the period; for numbers
it is the number itself, in the caller's unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.errors import InputError

NAMED_PERIODS = ("year", "month", "day", "event", "game")
DAYS_A_YEAR = 365.2425
LONG_GAP = 5.0
"""More time than this without games (in years, for dates) is a gap: curves are broken there."""
_EPOCH = 1970.0


@dataclass(frozen=True)
class Periods:
    """The periods of a set of games."""

    index: npt.NDArray[np.int64]
    """For each row, the number of its period, from 0."""
    clock: npt.NDArray[np.float64]
    """For each period, its place on the clock, not decreasing."""
    label: pl.Series
    """For each period, the time it is shown by: a year, a date or a number."""


def checked_period(period: Any) -> str | float:
    """Return a period's name, or its positive length.

    Raises
    ------
    InputError
        If it is neither.
    """
    if isinstance(period, str):
        if period in NAMED_PERIODS:
            return period
        known = ", ".join(NAMED_PERIODS)
        raise InputError(f"expected one of {known}, or a number, as the period; got {period!r}")
    known_number = isinstance(period, int | float) and not isinstance(period, bool)
    if known_number and math.isfinite(period) and period > 0:
        return float(period)
    raise InputError(f"expected a positive length as the period, got {period!r}")


def cut(time: pl.Series, period: str | float, event: pl.Series | None = None) -> Periods:
    """Give every game its period.

    Parameters
    ----------
    time
        Dates, or numbers, without nulls. Numbers count years where the period is a name.
    period
        See `milepost.history.fit`.
    event
        The events' names, for the period ``"event"``; a game without one is an event by itself
        with the other nameless games of its time.

    Raises
    ------
    InputError
        If the times are neither dates nor numbers.
    """
    if period == "event":
        return _events(time, event)
    if period == "game":
        return _games(time)
    if time.dtype == pl.Datetime:
        time = time.dt.date()
    if time.dtype == pl.Date:
        return _dates(time, period)
    if not time.dtype.is_numeric():
        raise InputError(f"expected dates or numbers as the times, got {time.dtype}")
    length = {"year": 1.0, "month": 1.0 / 12.0, "day": 1.0 / DAYS_A_YEAR}.get(str(period))
    step = length if length is not None else float(period)
    if time.dtype.is_integer() and step == 1.0:
        cells = time.cast(pl.Int64).to_numpy()
    else:
        # The nudge keeps 0.3 / 0.1 in the third step, not the second.
        cells = np.floor(time.cast(pl.Float64).to_numpy() / step + 1e-9)
    found, index = _distinct(cells)
    clock = found * step
    whole = bool(np.all(clock == np.round(clock)))
    label = pl.Series("time", clock.astype(np.int64) if whole else clock)
    return Periods(index.astype(np.int64), clock, label)


def clock_of(time: Any, period: str | float) -> float:
    """Return the place on the clock of a moment that a caller names.

    Raises
    ------
    InputError
        If it is neither a date nor a finite number (as text: ``"1972"``, ``"1972-07-11"``; a month,
        ``"1972-07"``, is its first day).
    """
    if isinstance(time, str):
        time = _read_time(time.strip())
    if isinstance(time, datetime):
        time = time.date()
    if isinstance(time, date):
        if period == "year":
            return float(time.year)
        if period == "month":
            return time.year + (time.month - 1) / 12.0
        return _EPOCH + (time - date(1970, 1, 1)).days / DAYS_A_YEAR
    if isinstance(time, int | float | np.integer | np.floating) and math.isfinite(time):
        return float(time)
    raise InputError(f"expected a date or a finite number, got {time!r}")


def _read_time(text: str) -> float | date:
    try:
        return float(text)
    except ValueError:
        month = re.fullmatch(r"(\d{4})-(\d{1,2})", text)
        try:
            if month is not None:
                return date(int(month[1]), int(month[2]), 1)
            return date.fromisoformat(text)
        except ValueError as error:
            raise InputError(
                f"expected a year (1972), a month (1972-07), a date (1972-07-11) or a number as "
                f"the time, got {text!r}"
            ) from error


def _distinct(cells: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the sorted distinct whole numbers, and the place of each given one among them."""
    low, high = (cells.min(), cells.max()) if len(cells) else (0, 0)
    if high - low > 1e6:
        found, index = np.unique(cells, return_inverse=True)
        return found, index.astype(np.int64)
    # Few numbers in a row, as years are: counting is many times faster than sorting.
    shifted = (cells - low).astype(np.int64)
    there = np.bincount(shifted) > 0
    place = np.cumsum(there) - 1
    return (np.flatnonzero(there) + low).astype(cells.dtype), place[shifted]


def _dates(time: pl.Series, period: str | float) -> Periods:
    if period == "year":
        years = time.dt.year().cast(pl.Int64)
        found, index = _distinct(years.to_numpy())
        return Periods(index.astype(np.int64), found.astype(np.float64), pl.Series("time", found))
    if period == "month":
        months = (time.dt.year().cast(pl.Int64) * 12 + time.dt.month() - 1).to_numpy()
        found, index = _distinct(months)
        parts = pl.DataFrame({"y": found // 12, "m": found % 12 + 1})
        label = parts.select(time=pl.date("y", "m", 1)).to_series()
        return Periods(index.astype(np.int64), found / 12.0, label)
    days = time.to_physical().cast(pl.Int64).to_numpy()
    step = 1.0 if period == "day" else float(period) * DAYS_A_YEAR
    found, index = np.unique(np.floor(days / step + 1e-9), return_inverse=True)
    starts = np.ceil(found * step - 1e-6).astype(np.int32)
    label = pl.Series("time", starts).cast(pl.Date)
    return Periods(index.astype(np.int64), _EPOCH + found * step / DAYS_A_YEAR, label)


def _events(time: pl.Series, event: pl.Series | None) -> Periods:
    """An event stands at the time of its first game; events of one time keep their order."""
    if event is None:
        raise InputError('the period "event" needs the column event')
    rows = pl.DataFrame({"time": time, "event": event}).with_row_index("row")
    starts = rows.group_by("event").agg(pl.col("time").min().alias("start"))
    rows = rows.join(starts, on="event", how="left", nulls_equal=True, maintain_order="left")
    rows = rows.with_columns(
        start=pl.when(pl.col("event").is_null()).then(pl.col("time")).otherwise(pl.col("start"))
    )
    groups = (
        rows.group_by("start", "event").agg(pl.col("row").min()).sort("start", "row")
    ).with_row_index("period")
    rows = rows.join(
        groups.select("start", "event", "period"),
        on=["start", "event"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    index = rows["period"].cast(pl.Int64).to_numpy()
    label = groups["start"].rename("time")
    return Periods(index, clocks_of(label), label)


def _games(time: pl.Series) -> Periods:
    """Every game is a period of its own, and one step of the clock, whatever its time."""
    index = np.empty(len(time), dtype=np.int64)
    order = time.arg_sort(nulls_last=True).to_numpy() if not time.is_sorted() else None
    index[slice(None) if order is None else order] = np.arange(len(time))
    label = time if order is None else time.gather(order)
    return Periods(index, np.arange(len(time), dtype=np.float64), label.rename("time"))


def clocks_of(label: pl.Series) -> npt.NDArray[np.float64]:
    """Return the place on the clock of times as they are: dates in years, numbers unchanged.

    Raises
    ------
    InputError
        If they are neither.
    """
    if label.dtype == pl.Datetime:
        label = label.dt.date()
    if label.dtype == pl.Date:
        days = label.to_physical().cast(pl.Float64).to_numpy()
        return np.asarray(_EPOCH + days / DAYS_A_YEAR, dtype=np.float64)
    if not label.dtype.is_numeric():
        raise InputError(f"expected dates or numbers as the times, got {label.dtype}")
    return np.asarray(label.cast(pl.Float64).to_numpy(), dtype=np.float64)
