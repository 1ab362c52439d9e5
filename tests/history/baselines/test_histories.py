"""Elo, Glicko-2 and the TrueSkill filter: worked examples, other programs, and recovery."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from milepost.errors import InputError
from milepost.history import TrueSkill, fit_history
from milepost.history.baselines.elo import run_elo
from milepost.history.baselines.glicko2 import run_glicko2
from milepost.history.baselines.streams import fit_logistic_margin, logistic_outcomes
from milepost.history.teams.fit import fit_teams
from milepost.history.teams.game import Game
from milepost.history.teams.rate import draw_margin, rate_game

with warnings.catch_warnings():
    # An invalid escape in one of its docstrings; warnings are errors here.
    warnings.simplefilter("ignore")
    import trueskill


def random_stream(seed: int, games: int, players: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 300.0, players)
    one = rng.integers(0, players, games)
    two = (one + rng.integers(1, players, games)) % players
    chances = logistic_outcomes(strength[one] - strength[two], margin=80.0, advantage=30.0)
    draw = rng.random(games)
    scores = np.where(
        draw < chances[:, 0], 1.0, np.where(draw < chances[:, :2].sum(axis=1), 0.5, 0.0)
    )
    return one, two, scores, np.sort(rng.integers(0, 8, games))


def test_elo_by_hand() -> None:
    # 1613 against 1609, 1477, 1388, 1586, 1720 with 0, ½, 1, 1, 0 and K = 32: the textbook example
    # (Wikipedia, "Elo rating system") expects 2.88 points in all, each rounded to 0.01.
    ratings = np.array([1613.0, 1609.0, 1477.0, 1388.0, 1586.0, 1720.0])
    single = [
        run_elo([0], [k], [score], k=32.0, initial=ratings, players=6)
        for k, score in zip(range(1, 6), (0.0, 0.5, 1.0, 1.0, 0.0), strict=True)
    ]
    assert sum(float(run.expected[0]) for run in single) == pytest.approx(2.88, abs=0.02)
    assert single[2].expected[0] == pytest.approx(1.0 / (1.0 + 10.0 ** (-225.0 / 400.0)))
    assert single[0].ratings[0] == pytest.approx(1613.0 - 32.0 * single[0].expected[0])
    # Points are handed over, never made; what is predicted is what stood before the game.
    one, two, scores, _ = random_stream(1, 500, 10)
    run = run_elo(one, two, scores, k=24.0, initial=1500.0, advantage=30.0)
    assert run.ratings.sum() == pytest.approx(15000.0)
    assert run.games.sum() == 1000
    assert (run.rating_1[0], run.rating_2[0]) == (1500.0, 1500.0)
    assert_allclose(run.expected, 1.0 / (1.0 + 10.0 ** (-(run.difference + 30.0) / 400.0)))


def test_elo_with_another_factor_at_first() -> None:
    run = run_elo([0, 0], [1, 1], [1, 1], k=10.0, provisional_k=40.0, provisional_games=1)
    assert run.rating_1[1] == 1520.0
    assert run.ratings[0] == pytest.approx(1520.0 + 10.0 * (1.0 - run.expected[1]))


def test_glickman_s_worked_example() -> None:
    # "Example of the Glicko-2 system", 2013: 1464.06, 151.52, 0.05999, from rounded intermediates
    # (without rounding the rating is 1464.0507).
    run = run_glicko2(
        [0, 0, 3],
        [1, 2, 0],
        [1.0, 0.0, 1.0],
        [7, 7, 7],
        rating=[1500.0, 1400.0, 1550.0, 1700.0],
        deviation=[200.0, 30.0, 100.0, 300.0],
        tau=0.5,
    )
    assert run.ratings[0] == pytest.approx(1464.06, abs=0.01)
    assert run.deviations[0] == pytest.approx(151.52, abs=0.01)
    assert run.volatilities[0] == pytest.approx(0.05999, abs=1e-5)
    assert run.rating_2[2] == 1500.0
    # The paper's E of each opponent: 0.639, 0.432, 0.303 use the opponent's g alone; the
    # prediction here uses both deviations.
    g = 1.0 / math.sqrt(
        1.0 + 3.0 * (200.0**2 + 30.0**2) * (math.log(10.0) / 400.0) ** 2 / math.pi**2
    )
    assert run.difference[0] == pytest.approx(100.0 * g)


def glicko2_plainly(
    player: tuple[float, float, float], met: list[tuple[float, float, float]], tau: float
) -> tuple[float, float, float]:
    """One player's period after the paper, with bisection for step 5."""
    scale = 400.0 / math.log(10.0)
    mu, phi, sigma = (player[0] - 1500.0) / scale, player[1] / scale, player[2]
    if not met:
        return player[0], scale * math.hypot(phi, sigma), sigma
    terms = []
    for rating, deviation, score in met:
        g = 1.0 / math.sqrt(1.0 + 3.0 * (deviation / scale) ** 2 / math.pi**2)
        e = 1.0 / (1.0 + math.exp(-g * (mu - (rating - 1500.0) / scale)))
        terms.append((g * g * e * (1.0 - e), g * (score - e)))
    v = 1.0 / sum(term[0] for term in terms)
    gain = sum(term[1] for term in terms)
    a = math.log(sigma**2)

    def f(x: float) -> float:
        e = math.exp(x)
        top = e * ((v * gain) ** 2 - phi**2 - v - e)
        return top / (2.0 * (phi**2 + v + e) ** 2) - (x - a) / tau**2

    low, high = a - 30.0, a + 30.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0.0 else (low, middle)
    sigma = math.exp(0.5 * low)
    phi = 1.0 / math.sqrt(1.0 / (phi**2 + sigma**2) + 1.0 / v)
    return 1500.0 + scale * (mu + phi**2 * gain), scale * phi, sigma


def test_glicko2_over_periods() -> None:
    one, two, scores, periods = random_stream(2, 120, 9)
    periods = periods + (periods > 4) * 3  # three periods in which nobody plays
    run = run_glicko2(one, two, scores, periods, tau=0.8)
    table = dict.fromkeys(range(9), (1500.0, 350.0, 0.06))
    met: set[int] = set()
    for period in range(int(periods[0]), int(periods[-1]) + 1):
        now = np.flatnonzero(periods == period)
        for game in now:
            for player, rating, deviation in (
                (one[game], run.rating_1[game], run.deviation_1[game]),
                (two[game], run.rating_2[game], run.deviation_2[game]),
            ):
                assert (rating, deviation) == pytest.approx(table[player][:2])
        fresh = {}
        for player, state in table.items():
            games = [(*table[two[g]][:2], scores[g]) for g in now if one[g] == player]
            games += [(*table[one[g]][:2], 1.0 - scores[g]) for g in now if two[g] == player]
            # Nobody is uncertain before having played: newcomers stay as they are.
            if games or player in met:
                fresh[player] = glicko2_plainly(state, games, 0.8)
                met.add(player)
        table |= fresh
    last = {p: int(periods[np.flatnonzero((one == p) | (two == p))[-1]]) for p in range(9)}
    for player in range(9):
        found = (run.ratings[player], run.deviations[player], run.volatilities[player])
        if last[player] == periods[-1]:
            assert found == pytest.approx(table[player], rel=1e-9)
    assert {p for p in last if last[p] == periods[-1]}, "someone plays in the last period"


def test_glicko2_far_out() -> None:
    ratings, deviations = [1e6, 0.0], [10.0, 350.0]
    run = run_glicko2([0], [1], [0.0], [0], rating=ratings, deviation=deviations)
    assert np.isfinite([*run.ratings, *run.deviations, *run.volatilities]).all()
    for gap in (500.0, 5_000.0, 23_000.0, 26_000.0):
        run = run_glicko2([0, 0], [1, 1], [0.0, 0.5], [0, 1], rating=[gap, 0.0], deviation=50.0)
        assert np.isfinite([*run.ratings, *run.deviations, *run.volatilities]).all()


def played(one: Any, two: Any, scores: Any, periods: Any) -> pl.DataFrame:
    """A stream as results: two digits a name, so that players sort by their numbers."""
    return pl.DataFrame({
        "time": np.asarray(periods, dtype=float),
        "player_1": [f"{i:02}" for i in one],
        "player_2": [f"{j:02}" for j in two],
        "score": np.asarray(scores, dtype=float),
    })  # fmt: skip


def test_trueskill_equals_the_package_and_rate_game() -> None:
    one, two, scores, _ = random_stream(3, 200, 12)
    numbers: dict[str, Any] = {"mu": 25.0, "sigma": 25 / 3, "beta": 25 / 6}
    # Without drift, for the package drifts before each game, and the filter with time.
    model = TrueSkill(**numbers, tau=0.0, draw=draw_margin(0.2, 2, 25 / 6))
    history = fit_history(played(one, two, scores, np.arange(200)), model, period="game")
    env = trueskill.TrueSkill(**numbers, tau=0.0, draw_probability=0.2, backend="scipy")
    theirs = [env.create_rating() for _ in range(12)]
    ours = [(25.0, 25 / 3)] * 12
    log_evidence = 0.0
    for g, (i, j) in enumerate(zip(one, two, strict=True)):
        ranks = [1.0 - scores[g], scores[g]]
        (theirs[i],), (theirs[j],) = env.rate([(theirs[i],), (theirs[j],)], ranks=ranks)
        rated = rate_game(
            [[ours[i]], [ours[j]]], [scores[g], 1.0 - scores[g]], beta=numbers["beta"], tau=0.0,
            draw_probability=0.2,
        )  # fmt: skip
        (ours[i],), (ours[j],) = rated.posteriors
        log_evidence += rated.log_evidence
    last = history.curves.group_by("player", maintain_order=True).last()
    assert_allclose(last["mean"], [rating.mu for rating in theirs], rtol=1e-7)
    assert_allclose(last["sd"], [rating.sigma for rating in theirs], rtol=1e-7)
    assert_allclose(last.select("mean", "sd").to_numpy(), ours, rtol=1e-9)
    assert history.log_evidence == pytest.approx(log_evidence, abs=1e-9)


def test_trueskill_over_periods_is_the_filter_of_the_general_graph() -> None:
    one, two, scores, periods = random_stream(4, 150, 10)
    history = fit_history(played(one, two, scores, periods), TrueSkill(), period=1.0)
    games = [
        Game(float(t), [[f"{i:02}"], [f"{j:02}"]], [s, 1.0 - s])
        for t, i, j, s in zip(periods, one, two, scores, strict=True)
    ]
    general = fit_teams(games, stage="filter")
    assert history.log_evidence == pytest.approx(general.log_evidence, abs=1e-9)
    assert_allclose(history.curves["mean"], general.curves["mean"], rtol=1e-10)
    assert_allclose(history.curves["sd"], general.curves["sd"], rtol=1e-10)


@pytest.mark.filterwarnings("ignore:ratings go up to")
def test_trueskill_far_out_stays_finite() -> None:
    games = played([0, 0, 1] * 5, [1, 2, 2] * 5, [1, 0.5, 1] * 5, [0] * 15)
    for options in ({"beta": 1e-3}, {"sigma": 1e8}, {"sigma": 1e-3}, {"beta": 1e6}, {"tau": 0.0}):
        history = fit_history(games, TrueSkill(**options))  # type: ignore[arg-type]
        numbers = [*history.curves["mean"], *history.curves["sd"], history.log_evidence]
        assert np.isfinite(numbers).all(), options
    upset = played([0, 0], [1, 1], [1, 0], [0, 0])
    assert np.isfinite(fit_history(upset, TrueSkill(sigma=1e5, beta=1.0, tau=0.0)).log_evidence)


def test_margin_and_advantage_are_recovered() -> None:
    rng = np.random.default_rng(6)
    gap = rng.normal(0.0, 250.0, 40_000)
    mover = rng.choice([-1.0, 1.0], gap.size)
    chances = logistic_outcomes(gap, margin=90.0, advantage=35.0 * mover)
    assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-14)
    draw = rng.random(gap.size)
    scores = np.where(draw < chances[:, 0], 1.0, np.where(draw > 1.0 - chances[:, 2], 0.0, 0.5))
    fitted = fit_logistic_margin(2.0 * gap, scores, mover=mover, fit_slope=True)
    assert fitted.converged
    # Standard errors here are 1.1, 1.6 and 0.004.
    assert fitted.margin == pytest.approx(90.0, abs=4.0)
    assert fitted.advantage == pytest.approx(35.0, abs=6.0)
    assert fitted.slope == pytest.approx(0.5, abs=0.015)
    plain = fit_logistic_margin(gap, scores, mover=mover)
    assert plain.slope == 1.0
    # The optimum: no neighbour is better.
    score = np.where(scores == 1.0, 0, np.where(scores == 0.5, 1, 2))
    for margin, advantage in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        beside = logistic_outcomes(
            gap, margin=plain.margin + margin, advantage=(plain.advantage + advantage) * mover
        )
        assert -np.log(beside[np.arange(gap.size), score]).mean() > plain.log_loss


def test_no_draws_need_no_margin() -> None:
    fitted = fit_logistic_margin([100.0, -50.0, 10.0, -80.0], [1, 0, 0, 1])
    assert fitted.margin == pytest.approx(0.0, abs=1e-3)
    assert_allclose(logistic_outcomes([0.0], margin=0.0), [[0.5, 0.0, 0.5]])


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: run_elo([0, 1], [1], [1]), "one length"),
        (lambda: run_elo([0], [0], [1]), "two different players"),
        (lambda: run_elo([0], [-1], [1]), "numbers from 0"),
        (lambda: run_elo([0], [5], [1], players=5), "up to 4"),
        (lambda: run_elo([0.5], [1], [1]), "whole numbers"),
        (lambda: run_elo([0], [1], [0.7]), "scores 1, 0.5 and 0"),
        (lambda: run_elo([0], [1], [1], k=0.0), "positive k"),
        (lambda: run_elo([0], [1], [1], initial=[1.0]), "for each player"),
        (lambda: run_glicko2([0], [1], [1], [0.5]), "rating periods"),
        (lambda: run_glicko2([0, 0], [1, 1], [1, 1], [1, 0]), "never decrease"),
        (lambda: run_glicko2([0], [1], [1], [0, 1]), "for each of 1 games"),
        (lambda: run_glicko2([0], [1], [1], [0], deviation=0.0), "positive deviation"),
        (lambda: run_glicko2([0], [1], [1], [0], rating=[1.0]), "for each player"),
        (lambda: fit_history(played([0], [1], [0.5], [0]), TrueSkill(draw=0.0)), "cannot be 0"),
        (lambda: TrueSkill(tau=-1.0), "tau of zero"),
        (lambda: TrueSkill(sigma=0.0), "positive sigma"),
        (lambda: logistic_outcomes([0.0], margin=-1.0), "margin of zero"),
        (lambda: fit_logistic_margin([], []), "at least one game"),
        (lambda: fit_logistic_margin([1.0], [0.3]), "scores 1, 0.5 and 0"),
    ],
)
def test_mistakes_are_named(run: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run()


def test_no_games() -> None:
    assert run_elo([], [], [], players=2).ratings.tolist() == [1500.0, 1500.0]
    assert run_glicko2([], [], [], [], players=1).deviations.tolist() == pytest.approx([350.0])
