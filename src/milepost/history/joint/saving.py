"""The move evidence of a joint history on disk, in the folder of the history.

``era.parquet`` has the era by period, ``levels.parquet`` the covariances of the levels, and
``sites.parquet`` the move evidence, so that an update can use it again. What results alone say
stands beside the curves.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost.history.beliefs import Lives
from milepost.history.joint.moves_fit import MovesFit
from milepost.history.joint.options import Moves
from milepost.io.files import read_table, write_table
from milepost.tables import as_frame

FILES = ("era.parquet", "levels.parquet", "sites.parquet")
_NUMBERS = (
    "slope", "slope_se", "spread", "spread_se", "form", "form_se", "era_drift", "mu",
    "log_evidence", "log_density", "used", "turns", "left_out", "designs", "far",
)  # fmt: skip


def save_moves(moves: MovesFit, folder: Path) -> dict[str, Any]:
    """Write the tables; return the numbers for the file of the history."""
    write_table(moves.era, folder / "era.parquet")
    columns = {f"level_{i}": column for i, column in enumerate(moves.covariance)}
    write_table(pl.DataFrame(columns), folder / "levels.parquet")
    if moves.sites is not None:
        write_table(as_frame(moves.sites), folder / "sites.parquet")
    return {name: getattr(moves, name) for name in _NUMBERS} | {"options": asdict(moves.options)}


def load_moves(about: dict[str, Any], folder: Path, results_only: Lives | None) -> MovesFit:
    """Read what `save_moves` wrote."""
    numbers = {name: about[name] for name in _NUMBERS}
    sites = folder / "sites.parquet"
    return MovesFit(
        **numbers,
        era=read_table(folder / "era.parquet"),
        covariance=np.ascontiguousarray(read_table(folder / "levels.parquet").to_numpy()),
        options=Moves(**about["options"]),
        sites=read_table(sites) if sites.exists() else None,
        results_only=results_only,
    )
