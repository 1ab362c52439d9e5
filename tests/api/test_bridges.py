"""Bridges through the public face: positions, matching by move, messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import milepost as mp
from milepost.analysis.spreads.build import make_decisions
from milepost.api.bridges import bridge_minutes, bridge_table, bridge_turns, same_positions
from milepost.errors import InputError, NoCalibrationError
from milepost.intrinsic.calibration.calibration import shipped_calibrations

QUICK = "stockfish15.1-quick"


@pytest.fixture(scope="module")
def store(bundled_data: Path) -> mp.EvaluationStore:
    return mp.open_store(bundled_data / "sample" / "evaluations")


def test_a_larger_bridge_begins_with_a_smaller_one() -> None:
    few, more = bridge_turns(QUICK, 40), bridge_turns(QUICK, 90)
    assert (len(few), len(more)) == (40, 90)
    assert few["position"].is_in(more["position"].to_list()).all()
    assert more["position"].n_unique() == 90


def test_options_are_matched_by_move(store: mp.EvaluationStore) -> None:
    turns = bridge_turns(QUICK, 60)
    whole, cut = make_decisions(turns, store), make_decisions(turns, store, depth=5)
    same = same_positions(whole, cut)
    assert same.new.depth_values is not None
    assert same.known.depth_values is not None
    np.testing.assert_array_equal(same.new.depth_values, same.known.depth_values[same.match][:, :5])
    assert not np.array_equal(same.match, np.arange(len(same.match)))
    chosen = same.known.offsets[:-1] + same.known.chosen
    assert (same.match[same.new.offsets[:-1] + same.new.chosen] == chosen).all()


def test_a_bridge_onto_its_own_set_up_changes_nothing(store: mp.EvaluationStore) -> None:
    known = mp.load_calibration(QUICK)
    bridge = mp.bridge_stored(QUICK, store, name="same", positions=100)
    assert bridge.setup == known.setup
    assert bridge.bridged_from == QUICK
    assert bridge_table(bridge)["bias"].abs().max() < 0.5  # type: ignore[operator]
    elo = np.array([1600.0, 2000.0, 2400.0, 2700.0])
    np.testing.assert_allclose(bridge.map.path.theta(elo), known.map.path.theta(elo), atol=1e-3)


def test_bridges_begin_where_positions_are_evaluated(store: mp.EvaluationStore) -> None:
    with pytest.raises(InputError, match="not evaluated under the set-up of rybka3-d13"):
        mp.bridge_stored("rybka3-d13", store)
    with pytest.raises(InputError, match="lists all moves"):
        mp.bridge(QUICK, "nowhere", "single")


def test_a_set_up_without_a_calibration_is_told_so(store: mp.EvaluationStore) -> None:
    decisions = mp.decisions(bridge_turns(QUICK, 30), store, plan=mp.Plan("quick", 7))
    with pytest.raises(NoCalibrationError, match=r"milepost\.bridge carries one over"):
        mp.rate(decisions)


def test_the_time_of_a_bridge_is_what_the_store_has_searched(store: mp.EvaluationStore) -> None:
    turns = bridge_turns(QUICK, 30)
    quick = mp.decisions(turns, store)
    nodes = store.read(quick.setup)["nodes"].mean()
    assert isinstance(nodes, float)
    stated = bridge_minutes(quick, store)
    assert stated == pytest.approx(1_000 * nodes / 800_000 / 60)
    assert bridge_minutes(quick) == pytest.approx(stated, rel=0.5)  # a plain estimate
    bullet = mp.decisions(turns, store, plan="bullet")
    short = bridge_minutes(bullet, store)  # the store has no nodes of its own for it
    assert short is not None
    assert short < 1.0
    assert bridge_minutes(mp.Decisions(quick.table)) is None


def test_the_list_says_which_calibrations_are_bridges() -> None:
    table = mp.calibrations()
    assert table["name"].to_list() == shipped_calibrations()
    for row in table.iter_rows(named=True):
        bridged = mp.load_calibration(row["name"]).bridged_from
        assert (bridged is not None) == row["rests on"].startswith("a bridge from")
