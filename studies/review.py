"""How far the figures of a review can be trusted, on turns that no fit has seen.

    python -m studies.review --store DIR TURNS...

TURNS are turns tables (`milepost turns`) of the games of 1976 to 2009 whose evaluations are in the
store (`milepost store import DIR whole_games.parquet --kind scored`). Prints
how often the better move is found beside how often it is said to be, the same for falling for traps
and for losing less, phases with and without baselines, and what a pawn is worth in points.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import milepost as mp
from milepost.api.review import EVERY_TURN
from milepost.choice.spreads import Spreads
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.review.baselines import PhaseBaselines, phase_baselines
from milepost.intrinsic.review.groups import PHASES
from milepost.intrinsic.review.shifts import measure_shift, without_shifts
from milepost.intrinsic.review.traps import find_traps
from milepost.intrinsic.review.turn_costs import measure_points_a_pawn, reliability, turn_costs

EDGES = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", nargs="+", type=Path)
    parser.add_argument("--store", required=True)
    parser.add_argument("--calibration", default="stockfish15.1-quick")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    pl.Config.set_tbl_rows(40)
    pl.Config.set_float_precision(3)
    turns = pl.concat([pl.read_parquet(path) for path in given.turns], how="diagonal_relaxed")
    plan = "bullet" if "bullet" in given.calibration else "quick"
    table = mp.decisions(turns, given.store, plan=plan, rules=EVERY_TURN).table
    table = table.filter(pl.col("mover_elo").is_not_null())
    calibration = mp.load_calibration(given.calibration)
    baselines = phase_baselines(calibration)
    own = table["mover_elo"].cast(pl.Float64).to_numpy()
    games = table["game_id"].to_numpy()
    costs = turn_costs(table, calibration, own + baselines.of_turns(table["phase"]))
    decided = costs.table["decided"].to_numpy()
    found = (table["chosen"] == 0).to_numpy()
    print(f"{len(table):,} turns, {table['game_id'].n_unique()} games, {decided.sum():,} decided")
    chance = costs.table["best_chance"].to_numpy()
    for name, here in (("not decided", ~decided), ("decided", decided)):
        print(f"the better move is found, {name}")
        print(reliability(chance[here], found[here], games[here], EDGES))
    bad = (costs.table["points_lost"] > 0.1).to_numpy() & ~decided
    print(f"{bad.sum()} turns that lost over 0.1 points")
    _expected(costs.table.filter(~decided), games[~decided])
    traps = find_traps(costs)
    rows = traps["row"].to_numpy()
    print("falling for traps")
    fell = traps["fell"].to_numpy()
    print(reliability(traps["trap_chance"].to_numpy(), fell, games[rows], EDGES))
    scores = table["score"].cast(pl.Float64)
    known = scores.is_not_null().to_numpy()
    value = costs.table["value"].to_numpy()[known]
    k, se = measure_points_a_pawn(value, scores.to_numpy()[known], games[known])
    print(f"a pawn is worth k = {k:.3f} ± {se:.3f}")
    _phases(table.filter(~decided), calibration, baselines)


def _expected(costs: pl.DataFrame, games: npt.NDArray[Any]) -> None:
    """Points lost beside those expected, by fifths of the expectation."""
    rank = costs["points_expected"].rank("ordinal").to_numpy()
    fifth = (rank - 1) * 5 // len(costs)
    for place in range(5):
        here = fifth == place
        part = costs.filter(here)
        gap = (part["points_lost"] - part["points_expected"]).to_numpy()
        _, which = np.unique(games[here], return_inverse=True)
        se = np.sqrt((np.bincount(which, weights=gap) ** 2).sum()) / len(gap)
        print(
            f"fifth {place + 1}: expected {part['points_expected'].to_numpy().mean():.4f}, lost "
            f"{part['points_lost'].to_numpy().mean():.4f} (difference {gap.mean():+.4f} ± {se:.4f})"
        )


def _phases(table: pl.DataFrame, calibration: mp.Calibration, known: PhaseBaselines) -> None:
    """How phases read, without and with baselines."""
    ladder = climb(Spreads.from_table(table), calibration.map.path)
    after = without_shifts(ladder, known.of_turns(table["phase"]))
    for phase in PHASES:
        here = (table["phase"] == phase).to_numpy()
        part = table.filter(here)
        own = part["mover_elo"].cast(pl.Float64).to_numpy()
        told = [measure_shift(each.take(here), own, part["mover"].to_numpy())
                for each in (ladder, after)]  # fmt: skip
        print(
            f"{phase}: {told[0].turns:,} turns read {told[0].value:+.0f} ± {told[0].se:.0f} above "
            f"own Elo, with baselines {told[1].value:+.0f} ± {told[1].se:.0f}"
        )


if __name__ == "__main__":
    main()
