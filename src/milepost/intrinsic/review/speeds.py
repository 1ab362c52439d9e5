"""The time-control curve: how well the same people play at each speed.

Ratings of two speeds are of two lists, so they say nothing about speed; the moves of one account at
several speeds do. Every account's turns at one speed give a rating and its error; in

    rating = account + speed + e

the accounts are free, and the speeds are measured against one of them. Accounts with one speed say
nothing and are left out. The residuals widen the errors where they are larger than stated.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import ndtri

from milepost.choice.spreads import Spreads
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.interval import estimate
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb

SPEEDS = ("bullet", "blitz", "rapid", "classical")
AGAINST = "rapid"
"""Speeds are measured against this one: it has most turns."""
LEAST_CELL = 40
"""Turns that an account needs at a speed."""


def speed_cells(
    table: pl.DataFrame, calibration: Calibration, ladder: Ladder | None = None
) -> pl.DataFrame:
    """Return the rating of each account at each speed: mover, speed, turns, rating, se."""
    table = table.with_row_index("row")
    grid = ladder if ladder is not None else climb(Spreads.from_table(table), calibration.map.path)
    rows = []
    for (mover, speed), part in table.group_by("mover", "speed", maintain_order=True):
        if speed not in SPEEDS or len(part) < LEAST_CELL:
            continue
        found = estimate(
            grid.take(part["row"].to_numpy()), calibration.variation, calibration.map_error
        )
        if np.isfinite(found.rating):
            rows.append((mover, speed, len(part), part["game_id"].n_unique(), found.rating,
                         found.se_turns))  # fmt: skip
    schema = {"mover": pl.String, "speed": pl.String, "turns": pl.Int64, "games": pl.Int64,
              "rating": pl.Float64, "se": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def speed_curve(table: pl.DataFrame, calibration: Calibration, *, level: float = 0.95) \
        -> pl.DataFrame:  # fmt: skip
    """Return by how much the same accounts play better or worse at each speed than at rapid.

    Returns
    -------
    polars.DataFrame
        One row a speed: `speed`, `turns`, `accounts`, `difference`, `se`, `low`, `high`.
    """
    cells = speed_cells(table, calibration)
    return curve_of_cells(cells, level=level)


def curve_of_cells(cells: pl.DataFrame, *, level: float = 0.95) -> pl.DataFrame:
    """Fit accounts and speeds to cells; see `speed_cells`."""
    several = cells.group_by("mover").len().filter(pl.col("len") > 1)["mover"]
    cells = cells.filter(pl.col("mover").is_in(several.implode()))
    columns = {"speed": pl.String, "turns": pl.Int64, "accounts": pl.Int64,
               "difference": pl.Float64, "se": pl.Float64, "low": pl.Float64,
               "high": pl.Float64}  # fmt: skip
    if not len(cells) or AGAINST not in cells["speed"].to_list():
        return pl.DataFrame(schema=columns)
    accounts = sorted(cells["mover"].unique())
    speeds = [each for each in SPEEDS if each in set(cells["speed"]) and each != AGAINST]
    design = np.zeros((len(cells), len(accounts) + len(speeds)))
    for row, (mover, speed) in enumerate(cells.select("mover", "speed").rows()):
        design[row, accounts.index(mover)] = 1
        if speed != AGAINST:
            design[row, len(accounts) + speeds.index(speed)] = 1
    weight = 1 / cells["se"].to_numpy() ** 2
    inverse = np.linalg.pinv(design.T @ (weight[:, None] * design))
    answer = inverse @ (design.T @ (weight * cells["rating"].to_numpy()))
    left = cells["rating"].to_numpy() - design @ answer
    spare = len(cells) - np.linalg.matrix_rank(design)
    widen = max(1.0, float(weight @ left**2) / spare) if spare > 0 else 1.0
    quantile = float(ndtri(0.5 + level / 2))
    rows = []
    for speed in SPEEDS:
        part = cells.filter(pl.col("speed") == speed)
        if not len(part):
            continue
        place = len(accounts) + speeds.index(speed) if speed != AGAINST else None
        value = 0.0 if place is None else float(answer[place])
        se = 0.0 if place is None else float(np.sqrt(widen * inverse[place, place]))
        rows.append((speed, int(part["turns"].sum()), len(part), value, se,
                     value - quantile * se, value + quantile * se))  # fmt: skip
    return pl.DataFrame(rows, schema=columns, orient="row")
