"""Player variation, and the intervals that contain it: simulation with known truth."""

from __future__ import annotations

import numpy as np
import pytest
from tests.intrinsic.makers import HONEST, NO_MAP_ERROR, PATH, league

from milepost.choice.evaluation.evaluate import prepare
from milepost.choice.spreads import Ints, Spreads
from milepost.intrinsic.calibration.player_variation import PlayerVariation, at_own_elo
from milepost.intrinsic.calibration.variance_components import (
    PlayerGames,
    fit_components,
    gather_player_games,
    measure_variation,
)
from milepost.intrinsic.rating.interval import Shares, estimate
from milepost.intrinsic.rating.likelihood_grid import climb


def measured(
    spreads: Spreads, who: Ints, events: Ints | None = None, plies: Ints | None = None
) -> PlayerVariation:
    assert spreads.rating is not None
    said = at_own_elo(prepare(spreads, PATH.model), PATH, spreads.rating, information=True)
    return measure_variation(said, spreads.rating, who, spreads.groups, events, plies)


def variation_of(players_sd: float, form_sd: float, seed: int) -> PlayerVariation:
    spreads, who, _ = league(80, 5, 35, players_sd=players_sd, form_sd=form_sd, seed=seed)
    return measured(spreads, who, who // 8, np.arange(len(spreads)) % 35 * 2)


def test_scores_and_information_are_those_of_the_ladder() -> None:
    spreads, _, elo = league(8, 6, 30, seed=41)
    said = at_own_elo(prepare(spreads, PATH.model), PATH, elo, information=True)
    ladder = climb(spreads, PATH)
    np.testing.assert_allclose(said.score, ladder.scores(elo), atol=1e-4)
    at_rung = ladder.information[:, 20]
    said = at_own_elo(
        prepare(spreads, PATH.model), PATH, np.full(len(elo), 2000.0), information=True
    )
    np.testing.assert_allclose(said.information, at_rung, rtol=1e-10)


def test_agents_do_not_vary() -> None:
    known = variation_of(0, 0, 11)
    assert known.turn_dispersion.value == pytest.approx(1, abs=4 * known.turn_dispersion.se)
    assert known.game_dispersion.low < 1.1
    assert known.game_dispersion.high > 0.9
    for component in (known.game_sd, known.player_sd, known.event_sd):
        assert component.low == 0
        assert component.high < 350
    for component in (known.neighbour_covariance, known.offset, known.elo_slope):
        assert component.value == pytest.approx(0, abs=4 * component.se)
    for component in (known.mm_dispersion, known.ad_dispersion, known.mm_factor, known.ad_factor):
        assert component.value == pytest.approx(1, abs=0.3)
    design = known.design
    assert (design.turns, design.player_games, design.players) == (14_000, 400, 80)
    assert (design.repeated_players, design.events, design.measured_players) == (80, 10, 80)


def test_players_and_games_are_told_apart() -> None:
    known = variation_of(150, 250, 12)
    assert known.player_sd.low < 150 < known.player_sd.high
    # The interval is narrow enough for that to mean something.
    assert known.player_sd.low > 50
    # Where all games are of one length, form cannot be told from φ, which has it all.
    assert known.game_sd.value == 0
    assert known.game_sd.high > 250
    assert known.game_dispersion.low > 1.3
    assert known.precision == pytest.approx(known.player_sd.se / known.player_sd.value)
    # The older estimate agrees; scores two plies apart have the form in common.
    both = known.moments["player_variance"], known.moments["player_variance_se"]
    assert both[0] == pytest.approx(150**2, abs=3 * both[1])
    assert known.neighbour_covariance.value > 2 * known.neighbour_covariance.se
    assert known.ad_factor.value > 1.05


def player_games(
    *, phi: float, player: float, event: float, offset: float, tilt: float, seed: int
) -> PlayerGames:
    """Player-games by the model's own words: 12 events of 10 players and 9 games."""
    rng = np.random.default_rng(seed)
    events = np.repeat(np.arange(12), 90)
    players = np.repeat(np.arange(120), 9)
    elo = np.repeat(rng.uniform(1700, 2700, 12), 90) + np.repeat(rng.normal(0, 80, 120), 9)
    information = rng.uniform(3e-6, 14e-6, 1080)
    strength = offset + tilt * (elo - 2200) + rng.normal(0, event, 12)[events]
    strength = strength + rng.normal(0, player, 120)[players]
    score = information * strength + rng.normal(0, 1, 1080) * np.sqrt(phi * information)
    return PlayerGames(score, information, elo, players, np.arange(1080), events, np.full(1080, 27))


def test_a_tilted_map_is_not_taken_for_variation() -> None:
    known = fit_components(player_games(phi=1.5, player=0, event=0, offset=40, tilt=0.5, seed=5))
    assert known.elo_slope.low < 0.5 < known.elo_slope.high
    assert known.elo_slope.low > 0.3
    assert known.event_sd.low == 0
    assert known.event_sd.high < 120
    assert known.player_sd.high < 150
    assert known.game_dispersion.low < 1.5 < known.game_dispersion.high


def test_events_and_players_are_found_and_what_is_used_allows_for_the_error() -> None:
    known = fit_components(player_games(phi=1.5, player=130, event=100, offset=0, tilt=0, seed=8))
    assert known.player_sd.low < 130 < known.player_sd.high
    assert known.event_sd.low < 100 < known.event_sd.high
    assert known.event_sd.value < known.event_sd.used < known.event_sd.high
    # φ will do for games: form is nothing, with a bound.
    assert (known.game_sd.value, known.game_sd.used, known.game_sd.low) == (0, 0, 0)
    assert known.game_sd.high > 50
    assert 0 < known.player_sd.se < 80


def test_covariates_are_allowed_for() -> None:
    gathered = player_games(phi=1.5, player=0, event=0, offset=0, tilt=0, seed=7)
    change = np.random.default_rng(1).normal(0, 300, 120)[gathered.players]
    moved = PlayerGames(
        gathered.score + gathered.information * change, gathered.information, gathered.elo,
        gathered.players, gathered.games, gathered.events, gathered.turns,
    )  # fmt: skip
    assert fit_components(moved).player_sd.low > 150
    assert fit_components(moved, change[:, None] / 100).player_sd.high < 150


def test_small_events_are_put_together() -> None:
    one = np.ones(40)
    players = np.arange(40) % 20
    games = np.arange(40) // 2
    events = np.array([0] * 20 + [1] * 9 + [2] * 11)
    gathered = gather_player_games(one, one, one, players, games, events)
    assert len(np.unique(gathered.events)) == 3
    sizes = np.bincount(gathered.events)
    assert sorted(sizes.tolist()) == [0, 9, 11, 20] or sorted(sizes.tolist()) == [9, 11, 20]
    # Two players alone are no event.
    gathered = gather_player_games(one, one, one, np.arange(40) % 2, games, events)
    assert len(np.unique(gathered.events)) == 1


def test_too_few_players_leave_the_published_factors() -> None:
    spreads, who, _ = league(3, 2, 20, seed=5)
    known = measured(spreads, who)
    assert (known.mm_factor.value, known.ad_factor.value) == (1.15, 1.4)
    assert known.design.measured_players == 0
    assert known.neighbour_covariance.value == 0


def test_it_comes_back_from_plain_values() -> None:
    known = variation_of(0, 0, 11)
    again = PlayerVariation.from_dict(known.to_dict())
    assert again.to_dict() == known.to_dict()
    assert str(again.player_sd) == str(known.player_sd)


@pytest.mark.parametrize(("games", "turns"), [(1, 60), (6, 30)])
@pytest.mark.parametrize(("players_sd", "form_sd"), [(0.0, 0.0), (100.0, 150.0)])
def test_player_intervals_cover(games: int, turns: int, players_sd: float, form_sd: float) -> None:
    spreads, who, elo = league(
        200, games, turns, players_sd=players_sd, form_sd=form_sd, seed=games, low=1800, high=2500
    )
    ladder = climb(spreads, PATH)
    variation = PlayerVariation.assumed(player_sd=players_sd, game_sd=form_sd)
    inside = 0
    for player in range(200):
        here = who == player
        rated = estimate(ladder.take(here), variation, NO_MAP_ERROR)
        inside += rated.player_low <= elo[here][0] <= rated.player_high
    # Of 200 intervals of 95 % between 181 and 198 cover with a probability of 99.8 %.
    assert 181 <= inside <= 198


def overdispersed(phi: int, seed: int) -> tuple[Spreads, Ints, np.ndarray]:
    """Games whose scores vary φ times as much: each choice stands there φ times in its game."""
    spreads, who, elo = league(200, 8, 30, seed=seed, low=1800, high=2500)
    rows = np.repeat(np.arange(len(spreads)), phi)
    return spreads.take(rows), who[rows], elo[rows]


@pytest.mark.parametrize("own_games", [1, 8])
def test_performance_intervals_cover_where_games_are_overdispersed(own_games: int) -> None:
    spreads, who, elo = overdispersed(2, 31)
    known = measured(spreads, who)
    # φ is twice that of agents, by making; the model finds it.
    assert known.game_dispersion.low < 2.05
    assert known.game_dispersion.high > 1.95
    ladder = climb(spreads, PATH)
    variation = PlayerVariation.assumed(game_dispersion=2.0, player_sd=80.0)
    first = spreads.groups % 8 < own_games
    inside, narrow = 0, 0
    for player in range(200):
        here = (who == player) & first
        part = ladder.take(here)
        rated = estimate(part, variation, NO_MAP_ERROR)
        inside += rated.low <= elo[here][0] <= rated.high
        plain = estimate(part, HONEST, NO_MAP_ERROR)
        narrow += plain.low <= elo[here][0] <= plain.high
    assert 181 <= inside <= 198
    # Without φ they would not cover.
    assert narrow < inside


def test_halves_of_the_same_games_differ_as_performance_intervals_say() -> None:
    """Odd against even games of a player, whose own strength cancels out."""
    spreads, who, _ = league(
        150, 8, 30, players_sd=120.0, form_sd=0.0, seed=77, low=1800, high=2500
    )
    ladder = climb(spreads, PATH)
    variation = PlayerVariation.assumed(player_sd=120.0)
    z = []
    for player in range(150):
        halves = [
            estimate(
                ladder.take((who == player) & (spreads.groups % 2 == half)), variation, NO_MAP_ERROR
            )
            for half in (0, 1)
        ]
        if all(np.isfinite(half.rating) for half in halves):
            gap = halves[0].rating - halves[1].rating
            z.append(gap / np.hypot(halves[0].se, halves[1].se))
    assert len(z) >= 145
    # Of 150 values: the mean has the error 0.08, the deviation 0.06.
    assert np.mean(z) == pytest.approx(0, abs=0.3)
    assert np.std(z) == pytest.approx(1, abs=0.2)


def test_parts_of_the_error_add_up() -> None:
    spreads, _, _ = league(1, 12, 30, seed=9)
    variation = PlayerVariation.assumed(player_sd=80.0, event_sd=60.0, game_sd=120.0)
    map_error = (np.array([0.0, 4000.0]), np.full(2, 25.0))
    rated = estimate(climb(spreads, PATH), variation, map_error, shares=Shares(1.0, 0.25))
    assert rated.se == pytest.approx(np.hypot(rated.se_turns, 25))
    assert (rated.se_players, rated.se_events) == (80, 30)
    assert rated.se_games == pytest.approx(120 / 12**0.5, rel=0.1)
    parts = (rated.se, rated.se_games, rated.se_players, rated.se_events)
    assert rated.se_player == pytest.approx(np.linalg.norm(parts))
    assert (rated.n, rated.games, rated.se_calibration) == (360, 12, 25.0)
    assert rated.high - rated.low == pytest.approx(2 * 1.96 * rated.se, rel=0.05)
    width = rated.player_high - rated.player_low
    assert width == pytest.approx(2 * 1.96 * rated.se_player, rel=0.05)
