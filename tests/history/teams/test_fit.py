"""Histories of teams: shared cases, two other programs, exact integrals, and invariances."""

from __future__ import annotations

import csv
import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import trueskillthroughtime
from numpy.testing import assert_allclose
from scipy.special import ndtr

from milepost.errors import InputError, MilepostWarning
from milepost.history import Sweep
from milepost.history.teams.fit import TeamHistory, fit_teams
from milepost.history.teams.game import Game
from milepost.history.teams.graph import share_of_ties
from milepost.history.teams.rate import draw_margin, rate_game
from milepost.io.progress import Progress
from milepost.tables import CURVES

REFERENCE = Path(__file__).resolve().parents[2] / "data"


def shared_case(name: str) -> dict[str, Any]:
    cases = json.loads((REFERENCE / "ttt_cases.json").read_text(encoding="utf-8"))["cases"]
    return next(case for case in cases if case["id"].startswith(name))


def skills(history: TeamHistory) -> dict[tuple[str, Any], tuple[float, float]]:
    rows = history.curves.select("player", "time", "mean", "sd").rows()
    return {(player, time): (mean, sd) for player, time, mean, sd in rows}


@pytest.mark.parametrize("name", ["h01", "h03", "h07", "h08", "h09"])
def test_shared_history(name: str) -> None:
    case = shared_case(name)
    weights = case.get("weights") or [None] * len(case["games"])
    games = [
        Game(game["time"], game["teams"], game["result"], weight)
        for game, weight in zip(case["games"], weights, strict=True)
    ]
    p = case["params"]
    history = fit_teams(
        games,
        mu=p["mu"],
        sigma=p["sigma"],
        beta=p["beta"],
        tau=p["tau"],
        draw=p["p_draw"],
        stage=case["stage"],
        tolerance=1e-9,
    )
    found = skills(history)
    assert history.converged
    for player, rows in case["expected"]["learning_curves"].items():
        for time, mean, sd in rows:
            assert found[player, time] == pytest.approx((mean, sd), abs=case["tolerance"])


def test_small_chessbase() -> None:
    # The evidence there is kickscore's too (-959.88190).
    case = shared_case("s01")
    p, expected = case["params"], case["expected"]
    with (REFERENCE / "small_chessbase.csv").open(encoding="utf-8") as file:
        games = [
            Game(
                int(row["year"]),
                [[row["white"]], [row["black"]]],
                [float(row["white_score"]), float(row["black_score"])],
            )
            for row in csv.DictReader(file)
        ]
    history = fit_teams(
        games,
        mu=p["mu"],
        sigma=p["sigma"],
        beta=p["beta"],
        tau=p["tau"],
        draw=p["p_draw"],
        tolerance=0.005,
    )
    assert history.log_evidence == pytest.approx(expected["log_evidence"], abs=1e-4)
    found = skills(history)
    errors = [
        abs(found[player, year][0] - mean) for player, year, mean, _ in expected["posteriors"]
    ]
    assert max(errors) < case["tolerance"]["mu"]
    assert max(errors) < history.remaining_error
    for player, year, _, sd in expected["posteriors"]:
        assert found[player, year][1] == pytest.approx(sd, abs=case["tolerance"]["sigma"])


def team_games(seed: int, number: int, *, players: int = 12, ties: bool = True) -> list[Game]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 6.0, players)
    games = []
    for g in range(number):
        sides, size = int(rng.integers(2, 4)), int(rng.integers(1, 3))
        names = rng.choice(players, (sides, size), replace=False)
        performance = strength[names].sum(axis=1) + rng.normal(0.0, 4.0, sides)
        scores = np.round(performance / (6.0 if ties else 1e-9))
        # Best side first: see the remark on cyclic orders in test_teams_rate.
        order = np.argsort(-scores, kind="stable")
        teams = [[f"p{player}" for player in names[side]] for side in order]
        games.append(Game(g // 6, teams, scores[order].tolist()))
    return games


SETTINGS: dict[str, Any] = {"mu": 25.0, "sigma": 8.0, "beta": 4.0, "tau": 1.5}


@pytest.mark.parametrize("stage", ["converged", "filter"])
def test_equals_trueskillthroughtime(stage: Any) -> None:
    games = team_games(1, 30)
    ours = skills(fit_teams(games, **SETTINGS, draw=0.2, stage=stage, tolerance=1e-6))
    theirs = trueskillthroughtime.History(
        [[list(team) for team in game.teams] for game in games],
        [list(game.scores) for game in games],
        [game.time for game in games],
        mu=25.0,
        sigma=8.0,
        beta=4.0,
        gamma=1.5,
        p_draw=0.2,
    )
    if stage == "converged":
        theirs.convergence(epsilon=1e-5, iterations=60, verbose=False)
    curves = theirs.learning_curves()
    assert sum(len(curve) for curve in curves.values()) == len(ours)
    for player, curve in curves.items():
        for time, belief in curve:
            assert ours[player, time] == pytest.approx((belief.mu, belief.sigma), abs=2e-3)


def test_filter_is_rate_game_after_rate_game() -> None:
    games = [Game(g, game.teams, game.scores) for g, game in enumerate(team_games(2, 25))]
    history = fit_teams(games, **SETTINGS, draw=0.25, stage="filter")
    belief: dict[str, tuple[float, float]] = {}
    last: dict[str, int] = {}
    evidence = 0.0
    found = skills(history)
    for g, game in enumerate(games):
        for player in game.players:
            mean, sd = belief.get(player, (25.0, 8.0))
            drift = 1.5 * math.sqrt(g - last[player]) if player in last else 0.0
            belief[player], last[player] = (mean, math.hypot(sd, drift)), g
        teams = [[belief[player] for player in team] for team in game.teams]
        rated = rate_game(teams, game.scores, beta=4.0, draw_probability=0.25)
        evidence += rated.log_evidence
        for team, posterior in zip(game.teams, rated.posteriors, strict=True):
            belief.update(zip(team, posterior, strict=True))
            for player in team:
                assert found[player, g] == pytest.approx(belief[player], rel=1e-9)
    assert history.log_evidence == pytest.approx(evidence, abs=1e-9)
    assert (history.converged, history.sweeps, history.remaining_error) == (True, 1, 0.0)


def test_one_game_is_rate_game() -> None:
    teams, weights = [["a", "b"], ["c"], ["d"]], [[1.0, 0.5], [2.0], [1.0]]
    history = fit_teams([Game(3, teams, [2, 1, 1], weights)], **SETTINGS, draw=0.3)
    prior = (25.0, 8.0)
    rated = rate_game(
        [[prior, prior], [prior], [prior]],
        [2, 1, 1],
        beta=4.0,
        draw_probability=0.3,
        weights=weights,
    )
    posterior = [pair for team in rated.posteriors for pair in team]
    found = history.curves.sort("player").select("mean", "sd").rows()
    assert_allclose(found, posterior, rtol=1e-9)
    assert history.log_evidence == pytest.approx(rated.log_evidence, abs=1e-9)


# Without a loop in the graph only the truncations are approximate. In a small loop EP, which keeps
# players independent of each other, is further off; both errors are EP's, sampling's are 0.004.
TREE = [
    Game(0, [["a", "b"], ["c"]], [1, 0]),
    Game(2, [["c"], ["d"]], [1, 1]),
    Game(2, [["e", "f"], ["d"]], [0, 1]),
]
LOOP = [
    Game(0, [["a", "b"], ["c"]], [1, 0]),
    Game(0, [["a"], ["b"]], [1, 1]),
    Game(2, [["c"], ["a"]], [1, 0]),
    Game(2, [["b", "c"], ["a"]], [0, 1]),
]


@pytest.mark.parametrize(
    ("games", "nats", "means", "sds"), [(TREE, 0.01, 0.01, 0.02), (LOOP, 0.08, 0.02, 0.12)]
)
def test_against_importance_sampling(
    games: list[Game], nats: float, means: float, sds: float
) -> None:
    # Half a million histories from the prior, each weighted by the probability of the results.
    names = sorted({player for game in games for player in game.players})
    sigma, beta, tau, p = 6.0, 4.0, 2.0, 0.3
    history = fit_teams(games, mu=0.0, sigma=sigma, beta=beta, tau=tau, draw=p, tolerance=1e-8)
    rng = np.random.default_rng(3)
    skill = {0: rng.normal(0.0, sigma, (len(names), 500_000))}
    skill[2] = skill[0] + rng.normal(0.0, tau * math.sqrt(2.0), skill[0].shape)
    # A skill does not drift before its first game.
    late = [name not in {p for game in games[:1] for p in game.players} for name in names]
    skill[2][late] = skill[0][late]
    weight = np.ones(skill[0].shape[1])
    for game in games:
        assert isinstance(game.time, int)
        sides = [skill[game.time][[names.index(n) for n in team]].sum(0) for team in game.teams]
        noise = beta * math.sqrt(len(game.players))
        margin = draw_margin(p, len(game.players), beta)
        gap = (sides[0] - sides[1]) * (1.0 if game.scores[0] >= game.scores[1] else -1.0)
        win, not_loss = ndtr((gap - margin) / noise), ndtr((gap + margin) / noise)
        weight *= not_loss - win if game.scores[0] == game.scores[1] else win
    assert history.log_evidence == pytest.approx(math.log(weight.mean()), abs=nats)
    for (name, time), found in skills(history).items():
        value = skill[time][names.index(name)]
        mean = np.average(value, weights=weight)
        sd = math.sqrt(np.average((value - mean) ** 2, weights=weight))
        assert found[0] == pytest.approx(mean, abs=means * sd)
        assert found[1] == pytest.approx(sd, rel=sds)


def test_slow_modes_are_accelerated_and_the_rest_is_known() -> None:
    # Two leagues joined by one game; then a prior so vague that 1,000 plain sweeps do not do.
    rng = np.random.default_rng(6)
    games = []
    for g in range(400):
        pair = rng.choice(20, (2, 2), replace=False)
        teams = [[f"{g % 2}-{player}" for player in side] for side in pair]
        games.append(Game(g // 100, teams, rng.normal(0.0, 1.0, 2).tolist()))
    games.append(Game(2, [["0-1", "0-2"], ["1-1", "1-2"]], [1, 0]))
    truth = fit_teams(games, tolerance=1e-9)
    for tolerance in (1.0, 0.1, 1e-3):
        fit = fit_teams(games, tolerance=tolerance)
        error = np.abs(fit.curves["mean"].to_numpy() - truth.curves["mean"].to_numpy()).max()
        assert error <= fit.remaining_error <= tolerance
        assert fit.sweeps <= 14
    vague = fit_teams([Game(0, [["a", "b"], ["c"]], [k % 2, 1]) for k in range(4)], sigma=1e7)
    assert vague.converged
    assert vague.sweeps < 100


def test_order_and_shift_and_scale_do_not_matter() -> None:
    games = team_games(4, 60)
    fit = fit_teams(games, **SETTINGS, draw=0.2, tolerance=1e-7)
    order = np.random.default_rng(0).permutation(len(games))
    mixed = fit_teams([games[g] for g in order], **SETTINGS, draw=0.2, tolerance=1e-7)
    assert_close(mixed, fit, 1.0, 0.0)
    # Sides of one game have one size here, so that a shift of mu changes nothing else.
    shifted = fit_teams(games, **(SETTINGS | {"mu": -40.0}), draw=0.2, tolerance=1e-7)
    assert_close(shifted, fit, 1.0, -65.0)
    large = {name: 30.0 * value for name, value in SETTINGS.items()}
    scaled = fit_teams(games, **large, draw=0.2, tolerance=3e-6)
    assert_close(scaled, fit, 30.0, 0.0)


def assert_close(one: TeamHistory, two: TeamHistory, scale: float, shift: float) -> None:
    assert one.curves.select("player", "time", "games").equals(
        two.curves.select("player", "time", "games")
    )
    assert_allclose(one.curves["mean"], scale * two.curves["mean"] + shift, atol=1e-6 * scale)
    assert_allclose(one.curves["sd"], scale * two.curves["sd"], atol=1e-6 * scale)
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-8)


def test_hidden_truth_is_found() -> None:
    # 95 % bands of 40 players in teams of two, from 1,500 games at one time.
    rng = np.random.default_rng(8)
    truth = rng.normal(1200.0, 400.0, 40)
    games = []
    for _ in range(1500):
        pair = rng.choice(40, (2, 2), replace=False)
        gap = truth[pair].sum(axis=1) + rng.normal(0.0, 480.0 * math.sqrt(2.0), 2)
        games.append(Game(0, [[f"{k:02}" for k in side] for side in pair], gap.tolist()))
    history = fit_teams(games, tolerance=0.01)
    curves = history.curves.sort("player")
    z = (curves["mean"].to_numpy() - truth) / curves["sd"].to_numpy()
    assert (np.abs(z) < 1.96).mean() >= 0.85
    assert 0.6 < z.std() < 1.4


def test_time_in_dates_numbers_and_periods() -> None:
    two = [["a"], ["b"]]
    days = [date(1972, 7, 11), date(1972, 9, 1), date(1973, 7, 11)]
    dated = fit_teams([Game(day, two, [1, 0]) for day in days])
    assert dated.curves["time"].dtype == pl.Date
    years = [day.toordinal() / 365.2425 for day in days]
    numbered = fit_teams([Game(year, two, [1, 0]) for year in years])
    assert_allclose(dated.curves["mean"], numbered.curves["mean"], rtol=1e-9)
    yearly = fit_teams([Game(day, two, [1, 0]) for day in days], period="year")
    assert yearly.curves.filter(pl.col("player") == "a")["time"].to_list() == [1972, 1973]
    assert yearly.curves.filter(pl.col("player") == "a")["games"].to_list() == [2, 1]
    whole = fit_teams([Game(y, two, [1, 0]) for y in (1972, 1972, 1973)])
    assert_allclose(yearly.curves["mean"], whole.curves["mean"], rtol=1e-9)
    by_game = fit_teams([Game(day, two, [1, 0]) for day in days], period="game")
    untimed = fit_teams([Game(None, two, [1, 0]) for _ in days])
    assert untimed.curves.filter(pl.col("player") == "b")["time"].to_list() == [1, 2, 3]
    assert_allclose(by_game.curves["mean"], untimed.curves["mean"], rtol=1e-9)
    mixtures: list[list[Any]] = [[1, None], [1, days[0]], [None, days[0]]]
    for mixed in mixtures:
        with pytest.raises(InputError, match="all games with a number"):
            fit_teams([Game(time, two, [1, 0]) for time in mixed])
    with pytest.raises(InputError, match="no events"):
        fit_teams([Game(1, two, [1, 0])], period="event")


def test_untimed_games_are_one_step_apart_whatever_lies_between() -> None:
    between = [Game(None, [["x"], ["y"]], [1, 0]) for _ in range(5)]
    first, last = Game(None, [["a"], ["b"]], [1, 0]), Game(None, [["b"], ["a"]], [1, 0])
    near = skills(fit_teams([first, last]))
    far = skills(fit_teams([first, *between, last]))
    assert far["a", 7] == pytest.approx(near["a", 2])


def test_corners_by_name() -> None:
    nothing = fit_teams([])
    assert nothing.curves.is_empty()
    assert nothing.curves.columns == CURVES.names
    assert (nothing.log_evidence, nothing.converged) == (0.0, True)
    one = [["a", "b"], ["c"]]
    for options in (
        {"sigma": 1e7},
        {"sigma": 1e-3},
        {"tau": 0.0},
        {"tau": 1e6},
        {"beta": 1e-3},
        {"beta": 1e6},
        {"draw": 1e-12},
        {"draw": 1.0 - 1e-12},
    ):
        games = [
            Game(0, one, [1, 0]),
            Game(1, one, [0, 0]),
            Game(5, one, [0, 1]),
            Game(5, [["d"], ["e"]], [0, 0]),
        ]
        history = fit_teams(games, **options)  # type: ignore[arg-type]
        assert history.converged
        numbers = [history.log_evidence, *history.curves["mean"], *history.curves["sd"]]
        assert np.isfinite(numbers).all(), options
        # Those who only drew each other stand where they began.
        assert skills(history)["d", 5][0] == pytest.approx(1200.0, abs=1e-6)
    upset = fit_teams(
        [Game(0, [["a"], ["b"]], [1, 0])] * 300 + [Game(1, [["b"], ["a"]], [1, 0])],
        sigma=1e4, beta=1.0, tau=1.0,
    )  # fmt: skip
    assert np.isfinite([upset.log_evidence, *upset.curves["mean"]]).all()


def test_the_share_of_ties() -> None:
    teams = [["a"], ["b"], ["c"], ["d"]]
    assert share_of_ties([Game(0, teams, [1, 1, 0, 1])]) == 2 / 3
    assert share_of_ties([Game(0, teams, [0, 0, 0, 0])] * 2) == 5.5 / 6
    assert share_of_ties([]) == 0.0
    all_ties = fit_teams([Game(0, teams, [0, 0, 0, 0])] * 2)
    assert all_ties.draw_probability == 5.5 / 6
    assert math.isfinite(all_ties.log_evidence)


def test_progress_and_a_history_that_does_not_converge() -> None:
    games = team_games(5, 60)
    seen: list[Progress] = []
    history = fit_teams(games, **SETTINGS, progress=seen.append)
    assert [news.done for news in seen] == list(range(1, history.sweeps + 1))
    last = seen[-1]
    assert isinstance(last, Sweep)
    assert last.remaining_error == history.remaining_error <= 1e-3
    with pytest.warns(MilepostWarning, match="after 2 sweeps did not converge"):
        short = fit_teams(games, **SETTINGS, max_sweeps=2)
    assert not short.converged
    assert short.remaining_error > 1e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sigma": 0.0}, "positive sigma"),
        ({"sigma": 1e200}, "squares are finite"),
        ({"sigma": 1e11, "beta": 1.0}, "at most 1e10 beta"),
        ({"beta": -1.0}, "positive beta"),
        ({"tau": -1.0}, "tau of zero or more"),
        ({"draw": 1.5}, "below 1"),
        ({"draw": 0.0}, "games with ties"),
        ({"draw": "many"}, "draw"),
        ({"stage": "halfway"}, "stage"),
        ({"tolerance": 0.0}, "positive tolerance"),
        ({"period": "decade"}, "period"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fit_teams([Game(0, [["a"], ["b"]], [1, 1])], **options)
