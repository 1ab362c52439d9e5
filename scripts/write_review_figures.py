"""Measure the figures that `milepost review` ships: baselines of phases, pools, speeds.

    python scripts/write_review_figures.py phases CALIBRATION TURNS... --store DIR
    python scripts/write_review_figures.py pools TURNS... --store DIR

TURNS are turns tables (`milepost turns`) of the games; which of their turns count is what the store
holds. Phases are measured on the calibration's own population, pools with `stockfish15.1-bullet`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.choice.spreads import Spreads
from milepost.games.pools import is_elo, pool_of_turns
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb
from milepost.intrinsic.review.groups import PHASES
from milepost.intrinsic.review.shifts import Shift, measure_shift
from milepost.intrinsic.review.speeds import curve_of_cells, speed_cells

DATA = Path(mp.__file__).parent / "data" / "review"
POOL_CALIBRATION = "stockfish15.1-bullet"
POINTS_A_PAWN = {
    "stockfish15.1-quick": {"value": 0.623, "se": 0.025, "turns": 13254},
    "stockfish15.1-bullet": {"value": 0.445, "se": 0.017, "turns": 13254},
}
"""`milepost.intrinsic.review.turn_costs.measure_points_a_pawn` on all random turns of 2011 to 2014,
decided ones too."""
LEAST_TURNS = 150
"""Bands of a pool with fewer turns are not shipped."""
BANDS = (1200, 1600, 2000, 2300, 2600, 3100)
"""How far a list lies off the Elo scale depends on where in the list: bands of its ratings."""


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["phases", "pools"])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--store", required=True)
    parser.add_argument("--source", default="")
    parser.add_argument("--out", type=Path, default=DATA)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "phases":
        values = phases(given.names[0], given.names[1:], given.store, given.source)
        path = given.out / f"{given.names[0]}.json"
    else:
        values = pools(given.names, given.store)
        path = given.out / "pools.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(values, indent=1))


def read(names: list[str], store: str, calibration: Calibration) -> pl.DataFrame:
    """The rated decisions of turns tables, with their pool."""
    turns = pl.concat([pl.read_parquet(name) for name in names], how="diagonal_relaxed")
    plan = "bullet" if "bullet" in calibration.name else "quick"
    table = mp.decisions(turns, store, plan=plan).table
    for name in ("site", "speed"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    return table.filter(pl.col("mover_elo").is_not_null()).with_columns(pool_of_turns())


def shift_of(table: pl.DataFrame, ladder: Ladder, wanted: Any) -> Shift:
    """The shift of some turns."""
    here = np.flatnonzero(wanted)
    part = table[here]
    own = part["mover_elo"].cast(pl.Float64).to_numpy()
    return measure_shift(ladder.take(here), own, part["mover"].to_numpy())


def phases(name: str, names: list[str], store: str, source: str) -> dict[str, Any]:
    """Baselines of phases; the check fits them on one half of the games, reads the other."""
    calibration = mp.load_calibration(name)
    table = read(names, store, calibration)
    ladder = climb(Spreads.from_table(table), calibration.map.path)
    found = {
        phase: shift_of(table, ladder, (table["phase"] == phase).to_numpy()) for phase in PHASES
    }
    _, game = np.unique(table["game_id"].to_numpy(), return_inverse=True)
    half = np.random.default_rng(2011).permutation(game.max() + 1)[game] % 2 == 0
    after = {}
    for phase in PHASES:
        here = (table["phase"] == phase).to_numpy()
        gaps = []
        for first in (half, ~half):
            fitted, other = (shift_of(table, ladder, here & part) for part in (first, ~first))
            gaps.append((other.value - fitted.value, float(np.hypot(other.se, fitted.se))))
        after[phase] = [[round(gap, 1), round(se, 1)] for gap, se in gaps]
    return {
        "calibration": name,
        "setup": calibration.setup,
        "source": source,
        "phases": {phase: shift.to_dict() for phase, shift in found.items()},
        "other_half_less_fitted_half": after,
        "points_a_pawn": POINTS_A_PAWN[name],
    }


def pools(names: list[str], store: str) -> dict[str, Any]:
    """Shifts of pools by bands of rating, and how the same accounts play at each speed."""
    calibration = mp.load_calibration(POOL_CALIBRATION)
    table = read(names, store, calibration)
    return pools_of(table, climb(Spreads.from_table(table), calibration.map.path), calibration)


def pools_of(table: pl.DataFrame, ladder: Ladder, calibration: Calibration) -> dict[str, Any]:
    """The same of decisions and their ladder."""
    found: dict[str, list[dict[str, Any]]] = {}
    rating = table["mover_elo"].cast(pl.Float64).to_numpy()
    for pool in sorted(table["pool"].unique()):
        for low, high in pairwise(BANDS):
            here = (table["pool"] == pool).to_numpy() & (rating >= low) & (rating < high)
            if here.sum() < LEAST_TURNS:
                continue
            shift = shift_of(table, ladder, here)
            if shift.known:
                found.setdefault(pool, []).append({"from": low, "to": high, **shift.to_dict()})
    server = np.array([not is_elo(pool) for pool in table["pool"]])
    cells = speed_cells(table.filter(server), calibration, ladder.take(server))
    return {
        "calibration": calibration.name,
        "pools": found,
        "speeds": [
            {key: round(v, 1) if isinstance(v, float) else v for key, v in row.items()}
            for row in curve_of_cells(cells).to_dicts()
        ],
    }


if __name__ == "__main__":
    main()
