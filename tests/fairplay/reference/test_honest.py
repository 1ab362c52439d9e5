from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
import polars as pl
import pytest

import milepost as mp
from milepost.errors import InputError
from milepost.fairplay.evidence.simulate import Simulator
from milepost.fairplay.performances import make_board, performances
from milepost.fairplay.reference.honest import HonestPlayers, Reference, honest_players
from milepost.fairplay.reference.measure import measure


def test_shares_of_a_reference_are_never_zero() -> None:
    known = Reference(np.array([-1.0, 0.0, 1.0]), np.array([0.0]), np.array([-2.0, 2.0]))
    assert known.share_above("combined", 5.0) == pytest.approx(1 / 4)
    assert known.share_above("combined", 0.0) == pytest.approx(3 / 4)
    assert known.share_below("mirror", -3.0) == pytest.approx(1 / 3)
    assert known.floor == pytest.approx(1 / 4)
    assert known.evidence_floor == pytest.approx(1 / 2)


def test_honest_players_survive_a_file(calibration: mp.Calibration) -> None:
    first = replace(
        HonestPlayers.assumed(calibration),
        offset=(12.0, -3.0),
        bands=((1400.0, 1600.0, 80.0),),
        wilder=((1000.0, 1600.0, 2.0),),
        reference=Reference(np.array([1.0, -1.0]), np.array([0.5]), np.array([])),
    )
    again = HonestPlayers.from_dict(json.loads(json.dumps(first.to_dict())))
    assert again.offset == first.offset
    assert again.reference.combined.tolist() == [-1.0, 1.0]
    assert again.middle(2600) == pytest.approx(2600 + 12 - 3)
    assert again.strength_sd(1500, 0.0) > again.strength_sd(1700, 0.0)
    below, above = (again.variation(rating, 0.0).dispersion for rating in (1599.0, 1600.0))
    assert below.tolist() == pytest.approx((2 * above).tolist())


@pytest.mark.parametrize("broken", [{}, {"schema": 9}, {"schema": 1}, [], None])
def test_damaged_files_are_told(broken: Any) -> None:
    with pytest.raises(InputError):
        HonestPlayers.from_dict(broken)


def test_a_calibration_of_ones_own_gets_assumed_people(calibration: mp.Calibration) -> None:
    own = replace(calibration, name="mine")
    found = honest_players(own)
    assert not found.measured
    assert found.player_sd == calibration.variation.player_sd.used
    assert not len(found.reference)


def test_shipped_people_belong_to_shipped_calibrations() -> None:
    folder = resources.files("milepost.data").joinpath("fairplay")
    files = [each for each in folder.iterdir() if each.name.endswith(".json")]
    assert files
    for each in files:
        found = HonestPlayers.from_dict(json.loads(each.read_text(encoding="utf-8")))
        assert each.name == f"{found.calibration}.json"
        known = mp.load_calibration(found.calibration)
        assert found.made["setup"] == known.setup
        assert len(found.reference) >= 10
        z = found.reference.combined
        assert abs(z.mean()) < 0.5
        assert 0.5 < z.std() < 1.5


def test_below_1600_the_shipped_null_is_wider() -> None:
    """Sixteen honest performances for estimating had z² of 2.3 in the mean there, so z is tamed."""
    people = honest_players(mp.load_calibration("stockfish15.1-bullet"))
    below, above = (people.variation(rating, 0.0).dispersion for rating in (1550.0, 1650.0))
    assert (below / above).tolist() == pytest.approx([2.3] * 3)


def test_people_are_found_again(sample: mp.Decisions, calibration: mp.Calibration) -> None:
    """Players who all play 150 Elo above their rating: offset and biases say so, z is centred."""
    rng = np.random.default_rng(6)
    assumed = HonestPlayers.assumed(calibration)
    lifted = replace(assumed, offset=(150.0, 0.0), event_sd=0.0, player_sd=0.0)
    four = sorted(sample.table["mover"].unique())[:4]
    table = sample.filter(pl.col("mover").is_in(four) & pl.col("opponent").is_in(four)).table
    board = make_board(table, calibration, lifted)
    chosen = board.spreads.chosen.copy()
    for real in performances(board):
        chosen[real.rows] = Simulator(real).choices(rng)
    drawn = table.with_columns(pl.Series("chosen", chosen, dtype=pl.Int32))
    # Ten events are enough for biases; nine are not.
    events = {str(number): drawn for number in range(10)}
    found, rows = measure(events, calibration)
    assert found.offset[0] == pytest.approx(150, abs=180)
    assert (found.bias[0][1:] > 0).all()  # less error, likelier choices
    assert len(rows) == 10 * len(performances(board))
    few, _ = measure(dict(list(events.items())[:3]), calibration)
    assert few.offset == (0.0, 0.0)
    assert not few.bias.any()
    assert abs(float(np.mean(rows["z"].to_numpy()))) < 0.35
    assert found.measured


def test_too_few_performances_are_refused(
    sample: mp.Decisions, calibration: mp.Calibration
) -> None:
    one = sample.table.filter(pl.col("mover") == sample.table["mover"][0])
    with pytest.raises(InputError, match="too few"):
        measure({"one": one}, calibration)
