"""Bridges: onto oneself nothing changes, known distortions are found, what is stated is so."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import HONEST, NO_MAP_ERROR, PATH, play, positions

from milepost.choice import ChoiceModel, DepthScheme, Spreads
from milepost.choice.scale import RAW_UNITS
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.methods.smooth import fit_smooth
from milepost.intrinsic.calibration.bridge import (
    SamePositions,
    bridged_model,
    build_bridge,
    compare_paths,
)
from milepost.intrinsic.calibration.bridge_check import CENTRE, compare_on_players, read_line
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import RatingMap
from milepost.intrinsic.calibration.paths import PolynomialPath
from milepost.intrinsic.rating.likelihood_grid import climb, greatest

PLAIN = PolynomialPath(
    ChoiceModel(scale=RAW_UNITS),
    (1, 0),
    np.array([np.log(0.2), -0.4, np.log(0.55)]),
    np.diag([1e-3, 2e-3, 1e-3]),
    (1600.0, 2700.0),
    2100.0,
    500.0,
)


def calibration(path: PolynomialPath) -> Calibration:
    return Calibration(
        name="known",
        setup="0" * 16,
        setup_text="a known engine",
        map=RatingMap("joint", path),
        variation=HONEST,
        map_error=NO_MAP_ERROR,
        mileposts=pl.DataFrame(),
        c_line=(0.5, 0.0),
        tried=pl.DataFrame({"map": ["joint"], "admitted": [True]}),
        gate=pl.DataFrame(),
    )


@cache
def board(count: int, seed: int) -> Spreads:
    plain = positions(count, np.random.default_rng(seed))
    return Spreads.from_arrays(
        plain.offsets, plain.values, plain.chosen, groups=np.arange(count) // 5
    )


def other_values(spreads: Spreads, values: Floats) -> SamePositions:
    """The same positions, valued otherwise, and which option is which."""
    new = Spreads.from_arrays(spreads.offsets, values, spreads.chosen, groups=spreads.groups)
    places = np.arange(len(values)) - np.repeat(spreads.offsets[:-1], spreads.counts)
    match = np.repeat(spreads.offsets[:-1], spreads.counts) + (
        places if new.places is None else new.places
    )
    return SamePositions(spreads, new, match)


def bridged(same: SamePositions, path: PolynomialPath = PLAIN) -> Calibration:
    return build_bridge(calibration(path), same, name="new", setup="1" * 16, setup_text="new")


def test_onto_itself_nothing_changes() -> None:
    spreads = board(150, 1)
    bridge = bridged(other_values(spreads, spreads.values))
    ratings = np.arange(1600.0, 2701.0, 100.0)
    np.testing.assert_allclose(bridge.map.path.theta(ratings), PLAIN.theta(ratings), atol=1e-5)
    # Its error too is the known one: of the extra power nothing is known, and nothing needed.
    for rating in (1700.0, 2200.0, 2600.0):
        old, new = (
            path.gradient(rating) @ path.covariance @ path.gradient(rating).T
            for path in (PLAIN, bridge.map.path)
        )
        np.testing.assert_allclose(new, old, rtol=1e-3, atol=1e-8)
    table = pl.DataFrame(bridge.made["bridge"]["table"])
    assert table["divergence"].abs().max() < 1e-9  # type: ignore[operator]
    assert table["bias"].abs().max() < 0.1  # type: ignore[operator]
    np.testing.assert_allclose(table["information"], 1.0, rtol=1e-3)


def test_values_that_are_all_larger_ask_for_a_larger_s_alone() -> None:
    spreads = board(150, 2)
    bridge = bridged(other_values(spreads, 1.3 * spreads.values))
    ratings = np.arange(1600.0, 2701.0, 100.0)
    theta = bridge.map.path.theta(ratings)
    np.testing.assert_allclose(theta[:, 0], PLAIN.theta(ratings)[:, 0] + np.log(1.3), atol=1e-5)
    np.testing.assert_allclose(theta[:, 1], PLAIN.theta(ratings)[:, 1], atol=1e-5)


@cache
def noisy(count: int, seed: int) -> SamePositions:
    spreads = board(count, seed)
    noise = np.random.default_rng(seed + 100).normal(0.0, 0.1, len(spreads.values))
    return other_values(spreads, spreads.values + noise)


def test_what_it_states_of_an_engine_with_noise_is_so() -> None:
    """On other positions, agents of the known path choose: the new one reads them as it said."""
    bridge = bridged(noisy(500, 3))
    path = bridge.map.path
    assert isinstance(path, PolynomialPath)
    fresh = noisy(500, 4)
    ratings = np.array([1800.0, 2400.0])
    stated = compare_paths(PLAIN, path, fresh, ratings)
    assert (stated["information"] < 0.95).all()
    assert (stated["divergence"] > 0.005).all()
    rng, rungs = np.random.default_rng(5), np.arange(1200.0, 3201.0, 200.0)
    for row, rating in zip(stated.iter_rows(named=True), ratings, strict=True):
        readings = []
        for _ in range(25):
            chosen = play(fresh.known, np.full(len(fresh.known), rating), rng, PLAIN)
            option = chosen.offsets[:-1] + chosen.chosen
            where = np.empty(len(fresh.match), dtype=np.int64)
            where[fresh.match] = np.arange(len(fresh.match))
            now = fresh.new.choosing(where[option] - fresh.new.offsets[:-1])
            readings.append(greatest(climb(now, path, rungs).log_likelihood()))
        known = climb(fresh.known, PLAIN, np.array([rating, rating + 1.0])).information[:, 0].sum()
        sd = np.sqrt(1 / (known * row["information"]))
        assert np.mean(readings) == pytest.approx(rating + row["bias"], abs=4 * sd / 5)
        assert np.std(readings) == pytest.approx(sd, rel=0.4)
        # What the calibration's file says of its own error covers how far it is off elsewhere.
        error = np.interp(rating, *bridge.map_error)
        assert abs(row["bias"]) < 3 * error


def test_the_error_of_the_positions_is_what_other_positions_give() -> None:
    certain = replace(PLAIN, covariance=np.zeros((3, 3)))
    found = [bridged(noisy(120, seed), certain).map.path for seed in range(10, 22)]
    thetas = np.stack([path.theta(2150.0)[0] for path in found])
    stated = [
        np.diag(path.gradient(2150.0) @ path.covariance @ path.gradient(2150.0).T) for path in found
    ]
    ratio = thetas.std(axis=0, ddof=1) / np.sqrt(np.mean(stated, axis=0))
    assert ((ratio > 0.5) & (ratio < 1.8)).all()


def test_a_bridge_says_what_it_is(tmp_path: object) -> None:
    bridge = bridged(noisy(120, 10))
    assert bridge.bridged_from == "known"
    assert bridge.rests_on == "a bridge from known: 120 positions, 24 games"
    assert any("borrowed from known" in note for note in bridge.notes)
    assert bridge.variation is HONEST
    again = Calibration.from_dict(bridge.to_dict())
    assert again.bridged_from == "known"
    np.testing.assert_array_equal(again.map.path.coefficients, bridge.map.path.coefficients)


def test_other_depths_get_weights_of_their_own() -> None:
    model = ChoiceModel(depths=DepthScheme.ends((1, 2, 3, 4, 5)))
    assert bridged_model(model, (1, 2, 3, 4, 5)) is model
    assert bridged_model(model, (1, 2, 3, 4)).depths == DepthScheme.ends((1, 2, 3, 4))
    grouped = ChoiceModel(depths=DepthScheme.groups([(1, 2), 3]))
    with pytest.raises(InputError, match="cannot be remade"):
        bridged_model(grouped, (1, 2, 3, 4))


def test_what_cannot_be_carried_over_is_refused() -> None:
    spreads = board(150, 1)
    same = other_values(spreads, spreads.values)
    line = replace(calibration(PLAIN), map=RatingMap("line", PATH))
    with pytest.raises(InputError, match="cannot be carried over"):
        build_bridge(line, same, name="x", setup="", setup_text="")
    few = SamePositions(spreads.take([0, 1]), spreads.take([0, 1]), np.arange(spreads.offsets[2]))
    with pytest.raises(InputError, match="2 positions are usable"):
        bridged(few)
    with pytest.raises(InputError, match="same options"):
        SamePositions(spreads, board(150, 2), same.match)


def test_the_line_of_players_is_read_off_their_turns() -> None:
    """Players who play 60 above their Elo, and 1.2 points for a point of it."""
    spreads = board(1500, 30)
    rng = np.random.default_rng(31)
    elo = rng.uniform(1700.0, 2600.0, 300)[spreads.groups]
    chosen = play(spreads, CENTRE + 60.0 + 1.2 * (elo - CENTRE), rng, PLAIN)
    line = read_line(replace(chosen, rating=elo), PLAIN)
    errors = line.errors(spreads.groups)
    assert abs(line.level - 60.0) < 3 * errors[0]
    assert abs(line.slope - 1.2) < 3 * errors[1]
    # Agents alone: the errors are those of the information.
    information = climb(chosen, PLAIN, np.array([2150.0, 2151.0])).information[:, 0].sum()
    assert errors[0] == pytest.approx(1 / np.sqrt(information), rel=0.25)


def test_two_readings_of_the_same_turns_differ_by_less_than_either_errs() -> None:
    same = noisy(500, 3)
    path = bridged(same).map.path
    rng = np.random.default_rng(7)
    elo = rng.uniform(1700.0, 2600.0, 100)[same.known.groups]
    chosen = play(same.known, elo, rng, PLAIN)
    where = np.empty(len(same.match), dtype=np.int64)
    where[same.match] = np.arange(len(same.match))
    now = same.new.choosing(where[chosen.offsets[:-1] + chosen.chosen] - same.new.offsets[:-1])
    table = compare_on_players(
        (replace(chosen, rating=elo), PLAIN), (replace(now, rating=elo), path)
    )
    known, new, apart = table.iter_rows(named=True)
    assert apart["level"] == pytest.approx(new["level"] - known["level"])
    assert apart["level_se"] < known["level_se"] < new["level_se"]
    assert abs(apart["level"]) < 3 * apart["level_se"]
    assert abs(apart["slope"]) < 3 * apart["slope_se"]


def test_what_options_bring_themselves_is_carried_over() -> None:
    """A column that no engine values keeps its coefficient; a product with values is fitted."""
    spreads = board(200, 40)
    rng = np.random.default_rng(41)
    brought = {"capture": (rng.random(len(spreads.values)) < 0.3).astype(float)}
    spreads = replace(spreads, columns=brought)
    model = ChoiceModel(scale=RAW_UNITS, utilities=("loss", "capture"))
    coefficients = np.array([np.log(0.2), -0.4, np.log(0.55), 0.3, 0.2, -0.1])
    path = replace(
        PLAIN, model=model, degrees=(1, 0, 0, 1), coefficients=coefficients,
        covariance=np.diag([1e-3, 2e-3, 1e-3, 1e-2, 4e-3, 1e-3]),
    )  # fmt: skip
    same = other_values(spreads, spreads.values * 1.3)
    new = replace(same.new, columns={"capture": brought["capture"][same.match]})
    bridge = bridged(replace(same, new=new), path).map.path
    theta = bridge.theta(np.array([1700.0, 2500.0]))
    known = path.theta(np.array([1700.0, 2500.0]))
    np.testing.assert_array_equal(theta[:, 3], known[:, 3])
    np.testing.assert_allclose(theta[:, 0], known[:, 0] + np.log(1.3), atol=1e-4)
    np.testing.assert_allclose(theta[:, 2], known[:, 2] / 1.3, atol=1e-4)  # b × loss is the same
    variance = bridge.gradient(2100.0) @ bridge.covariance @ bridge.gradient(2100.0).T
    assert variance[3, 3] == pytest.approx(4e-3, rel=1e-6)
    assert variance[2, 2] == pytest.approx(1e-2 / 1.3**2, rel=1e-2)


def test_players_are_not_read_too_high_with_another_engine_that_is_as_good() -> None:
    """Two engines see the truth with errors of their own; players go by the truth itself.

    Agents fitted to the first, distilled onto the second, take its errors for carelessness.
    """
    truth = board(1200, 50)
    rng = np.random.default_rng(51)
    errors = rng.normal(0.0, 0.15, (2, len(truth.values)))
    elo = rng.uniform(1700.0, 2600.0, 240)[truth.groups]
    played = play(truth, elo, rng, PLAIN)

    def seen(which: int) -> Spreads:
        return Spreads.from_arrays(
            played.offsets, played.values + errors[which], played.chosen, groups=played.groups,
            rating=elo,
        )  # fmt: skip

    first = seen(0)
    fitted = PolynomialPath.of(fit_smooth(first, PLAIN.model, degree={"ln s": 1, "ln c": 0}))
    known = replace(fitted, range=(1600.0, 2700.0))
    at = [np.empty(len(errors[0]), dtype=np.int64) for _ in range(2)]
    starts = np.repeat(played.offsets[:-1], played.counts)
    for which, spreads in enumerate((first, seen(1))):
        assert spreads.places is not None
        at[which] = starts + spreads.places
    back = np.empty_like(at[0])
    back[at[0]] = np.arange(len(back))
    same = SamePositions(first, seen(1), back[at[1]])
    readings = {}
    for same_engine in (True, False):
        bridge = build_bridge(
            calibration(known), same, name="x", setup="", setup_text="", same_engine=same_engine
        )
        line = read_line(seen(1), bridge.map.path)
        readings[same_engine] = line.level, line.errors(played.groups)[0]
    assert readings[True][0] > 4 * readings[True][1]  # the trap
    assert abs(readings[False][0]) < 3 * readings[False][1]
