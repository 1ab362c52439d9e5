"""Bridges against what they stand for: direct maps, and turns of rated players.

    python -m studies.bridges bullet   --work DIR        # quick → bullet against the direct map
    python -m studies.bridges standard --work DIR --turns 120
    python -m studies.bridges quick    --work DIR --turns 240 --engine /usr/games/ethereal-chess \\
        --store ethereal

Evaluations are kept in DIR, as by `scripts/write_calibrations.py`: `STORE` for the bridge,
`STORE-players` for the turns of players. What is read is a line over the printed Elo; see
`milepost.intrinsic.calibration.bridge_check`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from scripts.write_calibrations import QUICK, check
from studies.real_spreads import ANALYSIS, LIMIT_CP, RANDOM_TURNS, read_turns, spreads_of

import milepost as mp
from milepost.analysis.spreads.build import make_decisions
from milepost.api.bridges import bridge_table, bridge_turns, same_positions
from milepost.intrinsic.calibration.bridge import compare_paths
from milepost.intrinsic.calibration.bridge_check import compare_on_players
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.paths import PolynomialPath

SAMPLE = Path(mp.__file__).parent / "data" / "sample" / "evaluations"


def bullet(known: Calibration, positions: int, turns: int) -> None:
    """Compare the bridge from quick to bullet with the map that was fitted to bullet directly."""
    store = mp.open_store(SAMPLE)
    bridged = mp.bridge_stored(known, store, "bullet", positions=positions)
    direct = mp.load_calibration("stockfish15.1-bullet")
    print(bridge_table(bridged))
    cut = make_decisions(bridge_turns(known, positions), store, depth=6)
    same = same_positions(cut, cut)
    elo = np.arange(1600.0, 2701.0, 100.0)
    paths = direct.map.path, bridged.map.path
    assert isinstance(paths[0], PolynomialPath)
    assert isinstance(paths[1], PolynomialPath)
    print("what the bridge reads where agents of the direct map choose, less their Elo")
    print(compare_paths(paths[0], paths[1], same, elo).select("elo", "bias", "divergence"))
    frame = read_turns(RANDOM_TURNS).sample(turns, seed=2011)
    deep = spreads_of(frame)
    shallow = deep.to_depth(6)
    # Turns are chosen by what bullet itself sees, as in a store of it.
    usable = np.abs(shallow.values[shallow.offsets[:-1]]) <= LIMIT_CP / 100
    deep, shallow = deep.take(usable), shallow.take(usable)
    print("on turns of players: direct against bridge, then quick against bridge")
    print(compare_on_players((shallow, paths[0]), (shallow, paths[1])))
    print(compare_on_players((deep, known.map.path), (shallow, paths[1])))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("plan")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--engine")
    parser.add_argument("--store")
    parser.add_argument("--positions", type=int, default=300)
    parser.add_argument("--turns", type=int, default=2000)
    given = parser.parse_args()
    pl.Config.set_tbl_rows(20).set_tbl_width_chars(140)
    known = mp.load_calibration(QUICK)
    if given.plan == "bullet":
        bullet(known, given.positions, given.turns)
        return
    store = given.store or given.plan
    bridged = mp.bridge(
        known, given.work / store, given.plan, engine=given.engine, positions=given.positions
    )
    print(bridged.setup_text, dict(bridged.counts))
    print(bridge_table(bridged))
    print(
        check(
            ANALYSIS.parent, given.work, known, bridged, given.plan, turns=given.turns,
            engine=given.engine, store=f"{store}-players",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
