"""Biases of a map: none found where there is none, planted ones found, errors as stated."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import PATH, league, play, positions

from milepost.choice import Spreads
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.intrinsic.calibration.bias import Biases, measure_biases, reading_error, tail_table
from milepost.intrinsic.calibration.held_out import read_folds
from milepost.intrinsic.calibration.maps import RatingMap

TRUE = RatingMap("joint", PATH)


def biases(spreads: Spreads, **more: object) -> Biases:
    return measure_biases(read_folds([TRUE], spreads), spreads, **more)  # type: ignore[arg-type]


MOVES = np.tile(np.arange(9, 57, 4), 200)
GAME = np.arange(len(MOVES)) // 12
ELO = np.random.default_rng(1).uniform(1700, 2600, 200)[GAME]
PLACES = positions(len(MOVES), np.random.default_rng(2))


def shifted(shift: Floats, seed: int) -> Spreads:
    """Agents of 1700 to 2600, who play each turn as if they had so many points more."""
    played = play(PLACES, ELO + shift, np.random.default_rng(seed))
    return Spreads.from_arrays(
        played.offsets, played.values, played.chosen, groups=GAME, rating=ELO
    )


def test_true_agents_have_no_bias() -> None:
    runs = [biases(shifted(np.zeros(len(MOVES)), seed), move_numbers=MOVES) for seed in range(25)]
    z = np.array([run.classes["z"].to_list() for run in runs])
    assert z.shape == (25, 1 + 4 + 6 + 6 + 4)
    # Class by class: the mean of 25 is within 0.2 or so of zero, their spread about 1.
    assert np.abs(z.mean(axis=0)).max() < 0.75
    assert np.sqrt((z**2).mean()) == pytest.approx(1, abs=0.15)
    for name in ("overdispersion", "dispersion"):
        values = np.array([getattr(run, name) for run in runs])
        errors = np.array([getattr(run, f"{name}_se") for run in runs])
        assert values.mean() == pytest.approx(1, abs=3.5 * values.std() / 5)
        assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.45)
    tails = np.array([run.tail["z"].to_list() for run in runs])
    assert np.abs(tails.mean(axis=0)).max() < 0.75
    # Each family adds up to the whole.
    whole = runs[0].classes.row(0, named=True)
    assert (whole["family"], whole["n"], whole["games"]) == ("all", 2400, 200)
    assert runs[0].classes["n"].sum() == 5 * 2400


def test_a_planted_bias_is_found_where_it_is() -> None:
    early, late = MOVES < 12, (MOVES >= 33) & (MOVES <= 40)
    shift = np.select([early, late], [200.0, -160.0], 0.0)
    runs = [biases(shifted(shift, seed), move_numbers=MOVES) for seed in range(12)]
    by_move = pl.concat([run.classes.filter(family="move") for run in runs])
    truth = {"9-11": 200.0, "33-40": -160.0}
    for (part,), rows in by_move.group_by("part"):
        wanted = truth.get(str(part), 0.0)
        error = float(rows["bias"].std()) / 12**0.5  # type: ignore[arg-type]
        # One step from the own Elo: a tenth of a large shift is lost or won on the way.
        assert rows["bias"].mean() == pytest.approx(wanted, abs=3.5 * error + 0.1 * abs(wanted))
    assert runs[0].worst("move")["family"] == "move"
    assert "move: " in repr(runs[0])


def test_the_stated_error_is_that_of_many_sets_of_games() -> None:
    rng = np.random.default_rng(1)
    game = np.repeat(np.arange(200), 5)
    truth, stated = [], []
    for _ in range(400):
        # Turns of a game share a part of their score: only clustering sees that.
        score = rng.normal(0, 1, 1000) + rng.normal(0, 1, 200)[game]
        row = reading_error(score, np.ones(1000), game)
        truth.append(row["bias"])
        stated.append(row["se"])
    assert np.mean(stated) == pytest.approx(np.std(truth), rel=0.1)
    # Without clusters it would be sqrt(2 / 1000), 0.045 instead of 0.077.
    assert np.std(truth) == pytest.approx((1 / 1000 + 1 / 200) ** 0.5, rel=0.1)


def test_form_shows_as_overdispersion_of_player_games() -> None:
    spreads, who, elo = league(120, 5, 20, form_sd=250.0, seed=9)
    unseen = read_folds([TRUE], spreads)
    found = measure_biases(unseen, spreads, players=who)
    by_game = np.bincount(spreads.groups, weights=unseen.information)
    expected = 1 + 250.0**2 * (by_game**2).sum() / by_game.sum()
    assert expected > 1.3
    assert found.overdispersion == pytest.approx(expected, abs=3 * found.overdispersion_se + 0.1)
    assert found.overdispersion - 1 > 3 * found.overdispersion_se
    # The players of a game are told apart by their ratings where they are not named.
    assert measure_biases(unseen, spreads).overdispersion == found.overdispersion
    assert len(np.unique(elo)) == 120


def test_slips_that_agents_do_not_make_are_found() -> None:
    spreads, _, _ = league(60, 4, 20, seed=12)
    rng = np.random.default_rng(2)
    # One choice of fifty is the worst option.
    lapse = rng.random(len(spreads)) < 0.02
    chosen = np.where(lapse, spreads.counts - 1, spreads.chosen)
    table = tail_table(read_folds([TRUE], spreads), spreads.choosing(chosen))
    losses = spreads.values[spreads.offsets[:-1]] - spreads.values[spreads.offsets[:-1] + chosen]
    assert table["over"].to_list() == [1.0, 3.0, 5.0]
    assert table["actual"].to_list() == [(losses > limit).sum() for limit in (1, 3, 5)]
    assert (table["z"] > 3).all()


def test_events_that_lie_off_widen_the_gate() -> None:
    # Every other event plays 250 points above its Elo: turns are not independent.
    event = GAME // 10
    spreads = shifted(np.where(event % 2 == 0, 250.0, 0.0), 3)
    alone, together = biases(spreads).gate, biases(spreads, events=event.tolist()).gate
    assert together["ad_actual"].equals(alone["ad_actual"])
    assert (together["ad_se"] >= alone["ad_se"]).all()
    assert (together["ad_se"] > 1.2 * alone["ad_se"]).any()


def test_classes_of_ones_own() -> None:
    spreads, _, _ = league(60, 4, 20, seed=12)
    colours = np.where(np.arange(len(spreads)) % 2 == 0, "white", "black").tolist()
    found = biases(spreads, classes={"colour": colours})
    assert found.classes.filter(family="colour")["part"].to_list() == ["black", "white"]
    assert found.to_frame().equals(found.classes)
    assert isinstance(found.gate, pl.DataFrame)
    with pytest.raises(InputError, match="labels"):
        biases(spreads, classes={"colour": ["white"]})
    with pytest.raises(InputError, match="there is no family"):
        found.worst("move")
