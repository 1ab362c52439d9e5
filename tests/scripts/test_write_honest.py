from __future__ import annotations

from dataclasses import replace

from scripts.write_honest import widened

import milepost as mp
from milepost.fairplay.reference.honest import HonestPlayers


def test_a_wider_band_takes_the_place_of_those_it_overlaps() -> None:
    calibration = mp.load_calibration("stockfish15.1-bullet")
    before = replace(
        HonestPlayers.assumed(calibration), bands=((1500.0, 1700.0, 50.0), (2200.0, 2400.0, 100.0))
    )
    after = widened(before, [(1000.0, 1600.0, 120.0)])
    assert after.bands == ((1000.0, 1600.0, 120.0), (2200.0, 2400.0, 100.0))
    assert after.strength_sd(1550, 0.0) > before.strength_sd(1550, 0.0)
    assert after.strength_sd(1650, 0.0) < before.strength_sd(1650, 0.0)
    assert after.made["widened"] == [[1000.0, 1600.0, 120.0]]
