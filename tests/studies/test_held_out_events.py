"""The held-out study: its coverage against numbers from elsewhere, its parts, its plan."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from studies.components import plan_of
from studies.held_out_events import coverage, split, summary

from milepost.analysis.plans import make_plan
from milepost.intrinsic.calibration.calibration import load_calibration


def test_coverage_and_what_chance_allows() -> None:
    inside = np.array([True] * 90 + [False] * 10)
    found = coverage(inside, np.arange(100) // 10)
    assert found["covered"] == 0.9
    # R: binom.test(90, 100)$conf.int; qbinom(c(.025, .975), 100, .95)
    assert found["covered_low"] == pytest.approx(0.8237774, abs=1e-6)
    assert found["covered_high"] == pytest.approx(0.9509953, abs=1e-6)
    assert (found["expected_low"], found["expected_high"]) == (0.9, 0.99)
    # All that fail are of one event: sums are 1 nine times and -9 once.
    assert found["covered_se_by_event"] == pytest.approx(np.sqrt(90 * 10 / 9) / 100)
    assert coverage(np.ones(4, dtype=bool), np.zeros(4))["covered_high"] == 1.0


def test_performances_are_split_and_those_without_a_rating_counted() -> None:
    table = pl.DataFrame(
        {
            "rating": [2100.0, 2300.0, None, 2500.0],
            "elo": [2050.0, 2390.0, 2399.0, 2450.0],
            "n": [200, 210, 60, 190],
            "se_player": [100.0, 45.0, None, 50.0],
            "low": [2000.0, 2200.0, None, 2400.0],
            "high": [2200.0, 2400.0, None, 2600.0],
            "player_low": [1900.0, 2210.0, None, 2400.0],
            "player_high": [2300.0, 2389.0, 2350.0, None],
            "file": ["a", "a", "a", "b"],
            "year": [2013, 2013, 2013, 2014],
        }
    )
    parts = split(table)
    assert list(parts) == ["all", "Elo 2000-2199", "Elo 2200-2399", "Elo 2400-2599", "year 2013",
                           "year 2014"]  # fmt: skip
    found = summary(table)
    assert (found["performances"], found["unrated"], found["open"]) == (4, 1, 2)
    # The last interval has no upper end and covers; the third, no lower one and does not.
    assert found["covered"] == 0.5
    assert found["half_width_player"] == pytest.approx((200 + 89.5) / 2)
    assert found["mean_gap"] == pytest.approx((50 - 90 + 50) / 3)
    assert summary(parts["Elo 2200-2399"])["covered"] == 0


def test_the_plan_is_that_of_the_calibration() -> None:
    for name in ("bullet", "quick"):
        assert plan_of(load_calibration(f"stockfish15.1-{name}")) == make_plan(name)
    with pytest.raises(SystemExit, match="does not say the plan"):
        plan_of(load_calibration("rybka3-d13"))
