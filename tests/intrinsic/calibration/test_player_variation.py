"""The spread of players, and intervals that contain it: simulation with known truth."""

from __future__ import annotations

import numpy as np
import pytest
from tests.intrinsic.makers import HONEST, NO_MAP_ERROR, PATH, league

from milepost.choice.evaluation.evaluate import prepare
from milepost.intrinsic.calibration.player_variation import Spread, at_own_elo, measure_spread
from milepost.intrinsic.rating.interval import estimate
from milepost.intrinsic.rating.likelihood_grid import climb


def spread_of(players_sd: float, form_sd: float, seed: int) -> Spread:
    spreads, who, elo = league(80, 5, 35, players_sd=players_sd, form_sd=form_sd, seed=seed)
    ladder = climb(spreads, PATH)
    said = at_own_elo(prepare(spreads, PATH.model), PATH, elo)
    return measure_spread(ladder, said, elo, who, spreads.groups)


def test_the_spread_of_agents_is_none() -> None:
    found = spread_of(0, 0, 11)
    assert found.dispersion == pytest.approx(1, abs=4 * found.dispersion_se)
    assert found.players_sd**2 <= 3 * found.players_variance_se
    assert found.form_sd**2 <= 3 * found.form_variance_se
    assert found.mm_factor == pytest.approx(1, abs=0.25)
    assert found.ad_factor == pytest.approx(1, abs=0.25)
    assert (found.players, found.player_games, found.measured_players) == (80, 400, 80)


def test_the_spread_of_players_and_of_form_are_told_apart() -> None:
    found = spread_of(150, 200, 12)
    assert found.players_sd**2 == pytest.approx(150**2, abs=3 * found.players_variance_se)
    assert found.form_sd**2 == pytest.approx(200**2, abs=3 * found.form_variance_se)
    # The errors are small enough for that to mean something.
    assert found.players_variance_se < 150**2
    assert found.form_variance_se < 200**2
    assert found.mm_factor > 1.05
    assert found.ad_factor > 1.05


def test_too_few_players_leave_the_published_factors() -> None:
    spreads, who, elo = league(3, 2, 20, seed=5)
    said = at_own_elo(prepare(spreads, PATH.model), PATH, elo)
    found = measure_spread(climb(spreads, PATH), said, elo, who, spreads.groups)
    assert (found.mm_factor, found.ad_factor, found.measured_players) == (1.15, 1.4, 0)


@pytest.mark.parametrize(("games", "turns"), [(1, 60), (6, 30)])
@pytest.mark.parametrize(("players_sd", "form_sd"), [(0.0, 0.0), (100.0, 150.0)])
def test_intervals_cover(games: int, turns: int, players_sd: float, form_sd: float) -> None:
    spreads, who, elo = league(
        200, games, turns, players_sd=players_sd, form_sd=form_sd, seed=games, low=1800, high=2500
    )
    ladder = climb(spreads, PATH)
    spread = Spread(**{**HONEST.to_dict(), "players_sd": players_sd, "form_sd": form_sd})
    inside = 0
    for player in range(200):
        here = who == player
        found = estimate(ladder.take(here), spread, NO_MAP_ERROR)
        inside += found.low <= elo[here][0] <= found.high
    # Of 200 intervals of 95 % between 181 and 198 cover with a probability of 99.8 %.
    assert 181 <= inside <= 198


def test_parts_of_the_error_add_up() -> None:
    spreads, _, _ = league(1, 12, 30, seed=9)
    spread = Spread(**{**HONEST.to_dict(), "players_sd": 80.0})
    found = estimate(climb(spreads, PATH), spread, (np.array([0.0, 4000.0]), np.full(2, 25.0)))
    assert found.se == pytest.approx(np.sqrt(found.se_turns**2 + 25**2 + 80**2))
    assert (found.n, found.games, found.se_calibration) == (360, 12, 25.0)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.se, rel=0.05)
