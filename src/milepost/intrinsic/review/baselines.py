"""Figures that come with the package: how phases read, who falls for traps, where pools lie.

A calibration is right over all turns together, not phase by phase: what everybody knows by heart
reads high, and what is short of time reads low. `data/review/CALIBRATION.json` holds by how much
each phase of the calibration's own population reads above those players' Elo, and how often people
fall for traps beside the agents (`studies/review.py`). `data/review/pools.json` holds by how much
the moves of each pool read above the ratings of that pool. All with errors, turns and source; made
by `scripts/write_review_figures.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.games.pools import is_elo
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.review.shifts import NONE, UNKNOWN, Shift
from milepost.intrinsic.review.traps import TrapCorrection
from milepost.intrinsic.review.turn_costs import POINTS_A_PAWN

_FOLDER = "milepost.data.review"
_POOLS = "pools"


@dataclass(frozen=True)
class PhaseBaselines:
    """By how much each phase reads above the players' Elo, for one calibration."""

    shifts: Mapping[str, Shift] = field(default_factory=dict)
    """By phase; empty = not measured."""
    source: str = ""
    """The games they were measured on."""
    points_a_pawn: float = POINTS_A_PAWN
    """k of the expected score, for the values of this set-up."""
    traps: TrapCorrection = field(default_factory=TrapCorrection)
    """How often people fall for traps, beside the agents."""

    def of_turns(self, phase: pl.Series) -> Floats:
        """Return the shift of each turn; 0 where none was measured."""
        known = {name: shift.value for name, shift in self.shifts.items() if shift.known}
        return phase.replace_strict(known, default=0.0, return_dtype=pl.Float64).to_numpy()

    def se_of(self, phase: pl.Series, weights: npt.ArrayLike) -> float:
        """Return the error that the baselines add to a mean over turns of these phases."""
        whole = np.asarray(weights, dtype=np.float64)
        if not whole.sum() > 0:
            return 0.0
        square = 0.0
        for name, shift in self.shifts.items():
            if shift.known:
                share = float(whole[(phase == name).fill_null(False).to_numpy()].sum())
                square += (share / float(whole.sum()) * shift.se) ** 2
        return float(np.sqrt(square))


@dataclass(frozen=True)
class Pools:
    """By how much moves read above the ratings of their pool."""

    bands: Mapping[str, tuple[tuple[float, float, Shift], ...]] = field(default_factory=dict)
    """By pool, for each band of its ratings: where it begins, where it ends, the shift."""
    speeds: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The time-control curve: how the same accounts play at each speed, beside rapid."""

    def of(self, pool: str, rating: float | None) -> Shift:
        """Return the shift of a pool at a rating: none for Elos, unknown where not measured."""
        if is_elo(pool):
            return NONE
        if rating is None:
            return UNKNOWN
        for low, high, shift in self.bands.get(pool, ()):
            if low <= rating < high:
                return shift
        return UNKNOWN


def phase_baselines(calibration: Calibration) -> PhaseBaselines:
    """Return the baselines that come with a calibration; empty where there are none."""
    values = _read(calibration.name)
    if values is None or values.get("setup") != calibration.setup:
        return PhaseBaselines()
    shifts = {name: _shift(each) for name, each in values["phases"].items()}
    return PhaseBaselines(
        shifts,
        str(values["source"]),
        float(values["points_a_pawn"]["value"]),
        TrapCorrection(**values.get("traps", {})),
    )


def phases_told(calibration: Calibration) -> str:
    """Say how evenly a calibration rates the phases of ordinary players."""
    shifts = phase_baselines(calibration).shifts
    if not shifts:
        return f"How evenly {calibration.name} rates the phases was not measured."
    told = ", ".join(f"{name} {each.value:+.0f} ± {each.se:.0f}" for name, each in shifts.items())
    return (
        f"With {calibration.name}, phases of ordinary players rate this far from their Elo: "
        f"{told}. A review allows for that."
    )


def shipped_pools() -> Pools:
    """Return the pools that come with the package."""
    values = _read(_POOLS)
    if values is None:
        return Pools()
    return Pools(
        {
            name: tuple((float(band["from"]), float(band["to"]), _shift(band)) for band in bands)
            for name, bands in values["pools"].items()
        },
        pl.DataFrame(values["speeds"], infer_schema_length=None),
    )


def _read(name: str) -> dict[str, Any] | None:
    path = resources.files(_FOLDER).joinpath(f"{name}.json")
    if not path.is_file():
        return None
    values = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise InputError(f"{name}.json holds no figures of reviews")
    return values


def _shift(values: Mapping[str, Any]) -> Shift:
    numbers = {name: values[name] for name in ("value", "se", "turns", "games", "players")}
    return Shift(**numbers)
