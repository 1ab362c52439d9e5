"""The games over the board of ``../shared/data`` by month, for the studies of histories.

A game whose month is not known trains with the December of its year (so nothing before the year's
end has seen it) and is never predicted. Games flagged as fast train like all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.history.records import Records, read_records

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = DATA / "otb_results.parquet"
_SCORE = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]


def read_games(first: int, last: int, path: Path = RESULTS) -> pl.DataFrame:
    """Return the games of some years as a results table, with `known` for a known month."""
    columns = ["white_key", "black_key", "date", "year", "result", "white_elo", "black_elo", "fast"]
    frame = pl.read_parquet(path, columns=columns)
    month = pl.col("date").str.slice(5, 2).cast(pl.Int32, strict=False)
    day = pl.col("date").str.slice(8, 2).cast(pl.Int32, strict=False)
    known = month.is_between(1, 12).fill_null(False)
    # The day only orders games within a month; past the 28th it does not matter which.
    day = pl.when(known & day.is_between(1, 27).fill_null(False)).then(day).otherwise(28)
    return (
        frame.filter(pl.col("year").is_between(first, last).fill_null(False))
        .filter(pl.col("white_key") != pl.col("black_key"))
        .select(
            time=pl.date("year", pl.when(known).then(month).otherwise(12), day),
            player_1="white_key",
            player_2="black_key",
            score=pl.col("result").cast(pl.String).replace_strict(_SCORE),
            first_mover=pl.lit(1, dtype=pl.Int8),
            elo_1=pl.col("white_elo").cast(pl.Float64),
            elo_2=pl.col("black_elo").cast(pl.Float64),
            known=known,
            fast="fast",
            year="year",
        )
        .sort("time", maintain_order=True)
    )


@dataclass(frozen=True)
class Games:
    """The games in the order of the records, and what the studies ask of them."""

    records: Records
    """The records, by month."""
    node_1: npt.NDArray[np.int32]
    """White's node."""
    node_2: npt.NDArray[np.int32]
    """Black's node."""
    score: Floats
    """White's score."""
    elo_1: Floats
    """White's printed Elo; NaN = none."""
    elo_2: Floats
    """Black's printed Elo; NaN = none."""
    year: Indices
    """The year."""
    month: Indices
    """Months since the year 0."""
    known: Bools
    """Whether the month is known."""
    fast: Bools
    """Whether the event's name says blitz, rapid or the like."""
    earlier: Indices
    """Games before the month of that player of the two who has fewer."""

    @property
    def rated(self) -> Bools:
        """The main set: both Elos printed, both with 20 earlier games, month known, not fast."""
        both = ~np.isnan(self.elo_1) & ~np.isnan(self.elo_2)
        return both & self.known & ~self.fast & (self.earlier >= 20)


def by_month(frame: pl.DataFrame) -> Games:
    """Cut games into months and put all columns in the order of the records."""
    records = read_records(frame, period="month")
    rows = frame[records.row]
    one = np.where(records.swapped, records.second, records.first)
    two = np.where(records.swapped, records.first, records.second)
    earlier = _earlier_games(records)
    return Games(
        records=records,
        node_1=one,
        node_2=two,
        score=rows["score"].to_numpy(),
        elo_1=rows["elo_1"].fill_null(np.nan).to_numpy(),
        elo_2=rows["elo_2"].fill_null(np.nan).to_numpy(),
        year=rows["year"].cast(pl.Int64).to_numpy(),
        month=(rows["time"].dt.year().cast(pl.Int64) * 12 + rows["time"].dt.month() - 1).to_numpy(),
        known=rows["known"].to_numpy(),
        fast=rows["fast"].to_numpy(),
        earlier=np.minimum(earlier[one], earlier[two]),
    )


def _earlier_games(records: Records) -> Indices:
    """For each node, the player's games in earlier months."""
    order = np.argsort(records.node_player, kind="stable")
    games = records.node_games[order].astype(np.int64)
    before = np.cumsum(games) - games
    player = records.node_player[order]
    starts = np.concatenate([[True], player[1:] != player[:-1]])
    before -= np.maximum.accumulate(np.where(starts, before, 0))
    out = np.empty_like(before)
    out[order] = before
    return out
