"""Calibrations: made of simulated players with known truth, kept as files, refused where wrong."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import PATH, league

from milepost.analysis.engine.setup import make_setup
from milepost.analysis.plans import make_plan
from milepost.errors import InputError, NoCalibrationError
from milepost.intrinsic.calibration.build import (
    _notes,
    calibrate,
    choose,
    error_of_map,
    find_variation,
)
from milepost.intrinsic.calibration.calibration import (
    Calibration,
    calibration_for,
    load_calibration,
    shipped_calibrations,
)
from milepost.intrinsic.calibration.maps import fit_map, read_error
from milepost.intrinsic.calibration.published import published_agents
from milepost.intrinsic.calibration.variance_components import RatedTurns
from milepost.intrinsic.rating.likelihood_grid import climb, greatest

DATA = Path(__file__).parents[2] / "data"

TRUTH = league(130, 4, 12, players_sd=60.0, form_sd=100.0, seed=21)


@cache
def made() -> Calibration:
    spreads, who, _ = TRUTH
    return calibrate(
        spreads,
        who.tolist(),
        name="simulated",
        setup="0123456789abcdef",
        kinds=("line", "error", "joint"),
        folds=3,
        repeats=1,
    )


def test_the_table_of_the_mileposts_shows_the_truth() -> None:
    table = made().mileposts
    assert table["milepost"].to_list() == sorted(table["milepost"])
    s = np.exp(PATH.theta(table["milepost"].to_numpy())[:, 0])
    gap = (table["s_fit"].to_numpy() - s) / table["se_s_fit"].to_numpy()
    # The line of c is fitted too, so s is a little farther off than its own error says.
    assert np.abs(gap).max() < 4
    assert {"s", "c", "c_fit", "s_fit", "mm_projected", "ad_actual", "qfit", "n"} <= set(
        table.columns
    )


def test_maps_are_compared_on_games_they_have_not_seen() -> None:
    tried = made().tried
    assert tried["map"].to_list() == ["line", "error", "joint"]
    assert tried["rmse_50"].is_between(50, 800).all()
    assert tried["log_loss"].is_between(1, 3).all()
    # The line is the truth here: its agents must not be refuted.
    assert tried.filter(pl.col("map") == "line")["admitted"][0]
    assert made().map.kind == choose(tried)
    assert made().counts == {"turns": 6240, "games": 520, "players": 130, "turns of whole games": 0}


def test_only_admitted_maps_are_chosen_if_there_are_any() -> None:
    tried = pl.DataFrame(
        {
            "map": ["a", "b", "c"],
            "log_loss": [1.5, 1.6, None],
            "admitted": [False, True, None],
            "rmse_250": [80.0, 120.0, None],
        }
    )
    assert choose(tried) == "b"
    assert choose(tried.with_columns(admitted=pl.lit(False))) == "a"


def test_ratings_read_off_a_fresh_league_are_unbiased() -> None:
    spreads, who, elo = league(30, 10, 30, seed=77)
    known = league(160, 4, 12, seed=31)[0]
    found = fit_map("joint", known)
    ladder = climb(spreads, found.path)
    gaps = [
        greatest(ladder.take(who == player).log_likelihood()) - elo[who == player][0]
        for player in range(30)
    ]
    # One reading of 300 turns is off by some 100 points, the mean of 30 by a fifth of that; all of
    # them share the error of the map.
    shared = float(np.interp(elo.mean(), *error_of_map(known, found.path)))
    assert 10 < shared < 80
    assert np.mean(gaps) == pytest.approx(0, abs=3.5 * np.hypot(shared, np.std(gaps) / 30**0.5))
    assert np.std(gaps) < 200


def test_the_reading_by_error_finds_the_rating_too() -> None:
    spreads, _, elo = league(1, 60, 40, seed=78)
    found = fit_map("error", TRUTH[0])
    rating, error = read_error(spreads, found)
    assert 20 < error < 150
    assert rating == pytest.approx(elo[0], abs=4 * error + 60)


def test_the_error_of_the_map_is_least_in_the_middle_and_grows_outwards() -> None:
    ratings, errors = made().map_error
    inside = errors[(ratings >= 1600) & (ratings <= 2700)]
    assert 0 < inside.min() < 120
    assert errors[0] > 1.5 * inside.min()
    assert errors[-1] > 1.5 * inside.min()


def test_a_calibration_comes_back_from_its_file(tmp_path: Path) -> None:
    made().save(tmp_path / "a.json")
    again = load_calibration(tmp_path / "a.json")
    assert again.to_dict() == made().to_dict()
    again.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_another_set_up_is_refused_unless_forced() -> None:
    assert made().refuse_other("0123456789abcdef") is None
    with pytest.raises(InputError, match="another engine, depth or option"):
        made().refuse_other("fedcba9876543210")
    warning = made().refuse_other("fedcba9876543210", force=True)
    assert warning is not None
    assert warning.startswith("forced")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 99}, "schema 99"),
        ({"map": {"kind": "line"}}, "path"),
        ({"variation": {}}, "player variation"),
        ({"map_error": [[1.0]]}, "damaged"),
        ({"map_error": [[1.0, 2.0], [1.0]]}, "damaged"),
        ({"map_error": [[1.0, 2.0], [1.0, -1.0]]}, "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(made().to_dict() | change), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_calibration(path)


@pytest.mark.parametrize("value", ["x", -50.0, float("nan"), None])
def test_a_variation_that_is_none_is_refused(value: Any) -> None:
    values = made().to_dict()
    values["variation"]["player_sd"] = values["variation"]["player_sd"] | {"value": value}
    with pytest.raises(InputError, match="variation"):
        Calibration.from_dict(values)
    older = {**_OLDER_SPREAD, "players_sd": value}
    with pytest.raises(InputError, match="variation"):
        Calibration.from_dict({**values, "schema": 1, "spread": older})


_OLDER_SPREAD = {
    "dispersion": 1.31, "dispersion_se": 0.12, "form_sd": 157.0, "form_variance_se": 33442.0,
    "players_sd": 182.0, "players_variance_se": 14868.0, "mm_factor": 1.27, "mm_factor_se": 0.18,
    "ad_factor": 1.45, "ad_factor_se": 0.33, "players": 40, "player_games": 139,
    "measured_players": 28,
}  # fmt: skip


def test_a_calibration_of_the_first_schema_is_converted_and_says_so() -> None:
    values = made().to_dict()
    del values["variation"]
    known = Calibration.from_dict({**values, "schema": 1, "spread": _OLDER_SPREAD})
    variation = known.variation
    assert variation.game_dispersion.value == variation.turn_dispersion.value == 1.31
    assert (variation.game_sd.used, variation.player_sd.used) == (157.0, 182.0)
    assert variation.event_sd.used == 0
    assert variation.design.repeated_players == 40
    assert "first schema" in known.notes[-1]
    assert known.to_dict()["schema"] == 2


def test_few_players_borrow_the_shipped_variation_and_say_so() -> None:
    spreads, who, _ = TRUTH
    few = np.flatnonzero(who < 20)
    turns = RatedTurns(spreads.take(few), who[few].tolist())
    variation, notes = find_variation(made().map, turns)
    lender = load_calibration("stockfish15.1-quick").variation
    assert variation.borrowed == "stockfish15.1-quick"
    assert variation.player_sd == lender.player_sd
    assert "20 players" in notes[0]
    # Enough players, but of one event: only that part is borrowed, and the note is in the file.
    assert made().variation.borrowed == ""
    assert made().variation.design.repeated_players == 130
    assert made().variation.event_sd == lender.event_sd
    assert "events" in made().notes[-1]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "\x00"])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no calibration"):
        load_calibration(path)
    with pytest.raises(InputError, match="neither a file"):
        load_calibration(tmp_path / "nowhere.json")


def test_too_few_mileposts_are_refused() -> None:
    spreads, who, elo = TRUTH
    few = np.flatnonzero((elo > 1950) & (elo < 2050))
    with pytest.raises(InputError, match="mileposts"):
        calibrate(spreads.take(few), who[few].tolist(), name="x", setup="")


def test_shipped_calibrations_can_be_read() -> None:
    ours = {f"stockfish15.1-{name}" for name in ("bullet", "quick", "quick-values", "standard")}
    assert set(shipped_calibrations()) == {*ours, "rybka3-d13"}
    for name in shipped_calibrations():
        calibration = load_calibration(name)
        assert calibration.name == name
        # Nobody needs to know in which folders the inputs lay.
        inputs = calibration.made.get("inputs", [])
        assert not any(str(given["name"]).startswith("/") for given in inputs)


def test_a_note_names_the_bands_that_fail() -> None:
    quick = load_calibration("stockfish15.1-quick")
    row = quick.tried.filter(pl.col("map") == "joint-columns").row(0, named=True)
    for note in _notes(quick.tried, "joint-columns", quick.gate):
        assert note in quick.notes
    if not row["admitted"]:
        assert "rating bands 1350-1549 and 2550-2949" in quick.notes[0]


@pytest.mark.parametrize("name", ["bullet", "quick", "standard"])
def test_the_shipped_set_ups_are_those_of_the_plans(name: str) -> None:
    options = {"Hash": "16", "MultiPV": "256", "Threads": "1"}
    declared = {"EvalFile": "nn-ad9b42354671.nnue"}
    setup = make_setup("Stockfish 15.1", declared, options, make_plan(name).text)
    assert calibration_for(setup.digest) == f"stockfish15.1-{name}"


def test_a_set_up_without_a_calibration_is_told_so() -> None:
    with pytest.raises(NoCalibrationError, match=r"milepost\.bridge"):
        calibration_for("0" * 16)


def test_the_published_table_does_not_carry_over() -> None:
    published = load_calibration("rybka3-d13")
    with pytest.raises(InputError, match="does not carry over"):
        published.refuse_other("anything")
    assert published.refuse_other("anything", force=True)


def test_the_published_tables_are_whole() -> None:
    typed = pl.read_csv(DATA / "ipr2011_table.csv").cast({"elo": pl.Float64})
    rows = load_calibration("rybka3-d13").mileposts
    assert len(rows) == len(typed) == 22
    both = rows.join(typed, left_on=["period", "milepost"], right_on=["period", "elo"])
    assert len(both) == 22
    for name in ("s", "c", "c_fit", "s_fit", "ad_projected", "ad_actual", "qfit"):
        assert both[name].to_list() == both[f"{name}_right"].to_list()
    for name in ("mm_projected", "mm_actual"):
        assert both[name].to_list() == pytest.approx((both[f"{name}_right"] / 100).to_list())
    # The map's c is the paper's c_fit: 0.436 at 1600, 0.007 more every 100 Elo.
    line = load_calibration("rybka3-d13").c_line
    assert line is not None
    assert line[0] + line[1] * 1600 == pytest.approx(0.436, abs=1e-4)
    agents = pl.read_csv(DATA / "agents2009_tables.csv")
    assert published_agents("I+II")["c_mean"].to_list() == agents["c_mean"].to_list()[:7]
    assert published_agents("III")["count"].to_list() == [313, 313, 578, 1204]
