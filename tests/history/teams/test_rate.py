"""One game of teams: shared cases, two other programs, exact integrals, and the far corners."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trueskillthroughtime
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_ndtr
from scipy.stats import norm

from milepost.errors import InputError, MilepostWarning
from milepost.history.teams import rate as module
from milepost.history.teams.rate import RatedGame, draw_margin, rate_game

with warnings.catch_warnings():
    # An invalid escape in one of its docstrings; warnings are errors here.
    warnings.simplefilter("ignore")
    import trueskill

CASES = Path(__file__).resolve().parents[2] / "data" / "ttt_cases.json"
Teams = list[list[tuple[float, float]]]


def single_games() -> list[Any]:
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(c, id=c["id"]) for c in cases if c["kind"] == "single_game"]


def flat(teams: Any) -> list[float]:
    return [number for team in teams for pair in team for number in pair]


@pytest.mark.parametrize("case", single_games())
def test_shared_case(case: dict[str, Any]) -> None:
    rated = rate_game(
        [[(p["mu"], p["sigma"]) for p in team] for team in case["teams"]],
        case["result"],
        beta=case["params"]["beta"],
        tau=case["params"]["tau"],
        draw_probability=case["params"]["p_draw"],
        weights=case.get("weights"),
    )
    expected = case["expected"]
    for team, found in zip(expected.get("posteriors", []), rated.posteriors, strict=False):
        wanted = [(p["mu"], p["sigma"]) for p in team]
        assert_allclose(flat([found]), flat([wanted]), atol=case["tolerance"], rtol=0.0)
    if "evidence" in expected:
        tolerance = case["evidence_tolerance"]
        assert math.exp(rated.log_evidence) == pytest.approx(expected["evidence"], abs=tolerance)


def random_game(rng: np.random.Generator) -> tuple[Teams, list[int], dict[str, Any]]:
    sides = int(rng.integers(2, 6))
    teams = [
        [(rng.normal(25.0, 6.0), rng.uniform(1.0, 9.0)) for _ in range(rng.integers(1, 4))]
        for _ in range(sides)
    ]
    weights = [[rng.uniform(0.2, 2.0) for _ in team] for team in teams]
    options = {
        "tau": rng.uniform(0.0, 1.0),
        "draw_probability": rng.uniform(0.05, 0.5),
        "weights": weights if rng.random() < 0.5 else None,
    }
    return teams, rng.integers(0, 4, sides).tolist(), options


def test_equals_the_trueskill_package() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        teams, scores, options = random_game(rng)
        rated = rate_game(teams, scores, beta=25 / 6, **options)
        env = trueskill.TrueSkill(
            beta=25 / 6,
            tau=options["tau"],
            draw_probability=options["draw_probability"],
            backend="scipy",
        )
        theirs = env.rate(
            [[env.create_rating(*player) for player in team] for team in teams],
            ranks=[-score for score in scores],
            weights=options["weights"],
            min_delta=1e-12,
        )
        wanted = [[(r.mu, r.sigma) for r in team] for team in theirs]
        assert_allclose(flat(rated.posteriors), flat(wanted), atol=1e-8, rtol=0.0)


def test_equals_trueskillthroughtime() -> None:
    # Sides are given in the order of their scores: for three or more sides in a cyclic order
    # (scores 1, 0, 2) version 1.1.0 hands the sides each other's likelihoods. Its error function
    # is good to 1e-7 and it stops after ten passes, hence the tolerance.
    rng = np.random.default_rng(2)
    for _ in range(60):
        teams, scores, options = random_game(rng)
        scores.sort(reverse=True)
        rated = rate_game(teams, scores, beta=25 / 6, **options)
        players = [
            [
                trueskillthroughtime.Player(
                    trueskillthroughtime.Gaussian(mean, math.hypot(sd, options["tau"])), 25 / 6, 0.0
                )
                for mean, sd in team
            ]
            for team in teams
        ]
        theirs = trueskillthroughtime.Game(
            players, scores, options["draw_probability"], options["weights"] or []
        )
        wanted = [[(g.mu, g.sigma) for g in team] for team in theirs.posteriors()]
        assert_allclose(flat(rated.posteriors), flat(wanted), atol=5e-4, rtol=0.0)
        if len(teams) == 2:
            assert rated.log_evidence == pytest.approx(math.log(theirs.evidence), abs=1e-5)


def exact_three(
    skills: list[tuple[float, float]], beta: float, margin: float, ties: tuple[bool, bool]
) -> tuple[float, list[tuple[float, float]]]:
    """Evidence and moments of three single players, best first, by quadrature over the middle.

    Given the middle side's performance the two others are independent truncated normals. The
    integrand is smooth and dies out at both ends, where the trapezoid rule is exact to rounding.
    """
    mean = [m for m, _ in skills]
    width = [math.hypot(sd, beta) for _, sd in skills]
    t = np.linspace(mean[1] - 9.0 * width[1], mean[1] + 9.0 * width[1], 4001)
    density = norm.pdf(t, mean[1], width[1])
    far = np.full_like(t, 60.0 * max(width) + max(mean))
    moments: list[Any] = [None, (np.ones_like(t), t, t * t), None]
    for k, low, high in (
        (0, t - margin if ties[0] else t + margin, t + margin if ties[0] else far),
        (2, t - margin if ties[1] else -far, t + margin if ties[1] else t - margin),
    ):
        a, b = (low - mean[k]) / width[k], (high - mean[k]) / width[k]
        # The mass, and the integrals of z and z², between the bounds.
        zero = norm.cdf(b) - norm.cdf(a)
        one = norm.pdf(a) - norm.pdf(b)
        two = zero + a * norm.pdf(a) - b * norm.pdf(b)
        scale = width[k]
        second = mean[k] ** 2 * zero + 2.0 * mean[k] * scale * one + scale * scale * two
        moments[k] = (zero, mean[k] * zero + scale * one, second)

    def integral(k: int, power: int) -> float:
        product = density * moments[k][power]
        for other in {0, 1, 2} - {k}:
            product = product * moments[other][0]
        return float(product.sum() * (t[1] - t[0]))

    mass = integral(1, 0)
    posteriors = []
    for k, (m, sd) in enumerate(skills):
        first = integral(k, 1) / mass
        variance = integral(k, 2) / mass - first**2
        # From performance to skill: linear regression.
        gain = sd * sd / width[k] ** 2
        skill = sd * sd * (1.0 - gain) + gain * gain * variance
        posteriors.append((m + gain * (first - m), math.sqrt(skill)))
    return math.log(mass), posteriors


@pytest.mark.parametrize(
    ("skills", "scores"),
    [
        ([(25.0, 8.0), (25.0, 8.0), (25.0, 8.0)], [2, 1, 0]),
        ([(20.0, 3.0), (25.0, 8.0), (31.0, 5.0)], [2, 1, 0]),
        ([(25.0, 3.0), (25.0, 3.0), (29.0, 2.0)], [0, 0, 0]),
        ([(22.0, 6.0), (25.0, 3.0), (29.0, 7.0)], [1, 1, 0]),
    ],
)
def test_three_sides_against_the_exact_posterior(
    skills: list[tuple[float, float]], scores: list[int]
) -> None:
    # EP is an approximation here: the largest errors are 5.2e-4 nats, 3.4e-4 of a deviation in a
    # mean and 1.0e-3 of a deviation, all in the first case; with a tie they are below 1e-6.
    beta, p = 25 / 6, 0.25
    rated = rate_game([[s] for s in skills], scores, beta=beta, draw_probability=p)
    ties = (scores[0] == scores[1], scores[1] == scores[2])
    log_mass, posteriors = exact_three(skills, beta, draw_margin(p, 2, beta), ties)
    assert rated.log_evidence == pytest.approx(log_mass, abs=1e-3)
    for (found,), (mean, sd), (_, before) in zip(rated.posteriors, posteriors, skills, strict=True):
        assert found[0] == pytest.approx(mean, abs=5e-4 * before)
        assert found[1] == pytest.approx(sd, rel=1.5e-3)


def test_two_sides_are_exact() -> None:
    # Moments by quadrature over one player's skill; the rest is a normal integral.
    (m1, s1), (m2, s2), beta, p = (3.0, 2.0), (1.0, 4.0), 1.5, 0.3
    margin = draw_margin(p, 2, beta)
    c = math.sqrt(s2 * s2 + 2.0 * beta * beta)
    x = np.linspace(m1 - 10.0 * s1, m1 + 10.0 * s1, 4001)
    win, loss = norm.cdf((x - m2 - margin) / c), norm.cdf((m2 - x - margin) / c)
    for chance, scores in ((win, [1, 0]), (1.0 - win - loss, [1, 1]), (loss, [0, 1])):
        density = chance * norm.pdf(x, m1, s1) * (x[1] - x[0])
        mass = density.sum()
        first = (density * x).sum() / mass
        second = (density * (x - first) ** 2).sum() / mass
        rated = rate_game([[(m1, s1)], [(m2, s2)]], scores, beta=beta, draw_probability=p)
        assert rated.log_evidence == pytest.approx(math.log(mass), abs=1e-10)
        assert rated.posteriors[0][0] == pytest.approx((first, math.sqrt(second)), abs=1e-10)


FAR: list[tuple[str, Teams, list[float], float]] = [
    ("80 sd upset", [[(0, 1)], [(160, 1)]], [1, 0], 0.0),
    ("upset over a margin", [[(0, 1)], [(160, 1)]], [1, 0], 0.3),
    ("draw of very unequal players", [[(0, 1)], [(160, 1)]], [0, 0], 0.1),
    ("three sides, all upsets", [[(0, 1)], [(160, 1)], [(320, 1)]], [2, 1, 0], 0.1),
    ("three very unequal sides tied", [[(0, 1)], [(160, 1)], [(320, 1)]], [0, 0, 0], 0.1),
    ("huge deviations, a draw", [[(0, 1e9)], [(0, 1e9)]], [0, 0], 0.1),
    ("huge deviations, three sides", [[(0, 1e9)], [(0, 1e9)], [(0, 1e9)]], [1, 1, 0], 0.1),
]


@pytest.mark.parametrize(("name", "teams", "scores", "p"), FAR)
def test_where_others_break(name: str, teams: Teams, scores: list[float], p: float) -> None:
    players = [
        [trueskillthroughtime.Player(trueskillthroughtime.Gaussian(*s), 1.0, 0.0) for s in team]
        for team in teams
    ]
    with pytest.raises((ZeroDivisionError, ValueError)):  # division by zero, math domain error
        trueskillthroughtime.Game(players, scores, p)
    rated = rate_game(teams, scores, beta=1.0, draw_probability=p)
    assert rated.converged
    assert np.isfinite([rated.log_evidence, *flat(rated.posteriors)]).all(), name
    for team, before in zip(rated.posteriors, teams, strict=True):
        assert 0.0 < team[0][1] < before[0][1]


def test_far_values_are_right() -> None:
    # mpmath: E and sd of skill 1 given t1 > t2, t1 - t2 ~ N(-160, 2²): Mills ratio at 80.
    rated = rate_game([[(0, 1)], [(160, 1)]], [1, 0], beta=1.0)
    assert rated.log_evidence == pytest.approx(-3205.3011213568904, rel=1e-13)
    assert rated.posteriors[0][0] == pytest.approx((80.012496096798234 / 2.0, 0.8660479351205))
    # Equal in the limit: skills differ by the noise alone, the sum is not touched.
    rated = rate_game([[(0, 1e9)], [(0, 1e9)]], [0, 0], beta=1.0, draw_probability=0.1)
    assert rated.posteriors[0][0][1] == pytest.approx(1e9 / math.sqrt(2.0), rel=1e-12)
    margin = draw_margin(0.1, 2, 1.0)
    wanted = math.log(2.0 * margin) - 0.5 * math.log(2.0 * math.pi * 2e18)
    assert rated.log_evidence == pytest.approx(wanted, rel=1e-12)
    rated = rate_game([[(160, 1)], [(0, 1)]], [1, 0], beta=1.0)
    assert flat(rated.posteriors) == [160.0, 1.0, 0.0, 1.0]
    assert rated.log_evidence == pytest.approx(float(log_ndtr(80.0)), abs=1e-300)
    tiny = rate_game([[(0, 1)], [(1, 1)]], [0, 0], beta=1.0, draw_probability=1e-300)
    assert tiny.posteriors[0][0] == pytest.approx((0.25, math.sqrt(0.75)))
    assert math.isfinite(tiny.log_evidence)


def test_known_skills_do_not_move() -> None:
    rated = rate_game([[(0, 0), (5, 2)], [(3, 0)], [(9, 0)]], [2, 1, 0], beta=1.0)
    assert [rated.posteriors[side][0] for side in range(3)] == [(0.0, 0.0), (3.0, 0.0), (9.0, 0.0)]
    assert rated.posteriors[0][1][0] > 5.0


def test_a_player_of_weight_zero_learns_nothing() -> None:
    rated = rate_game([[(0, 1), (7, 2)], [(1, 1)]], [1, 0], beta=1.0, weights=[[1, 0], [1]])
    assert rated.posteriors[0][1] == (7.0, 2.0)
    alone = rate_game([[(0, 1)], [(1, 1)]], [1, 0], beta=1.0)
    assert rated.posteriors[0][0] == pytest.approx(alone.posteriors[0][0])


def test_many_sides() -> None:
    # Thirty equal players in a row: the truth is 1/30!.
    rated = rate_game([[(0, 3)] for _ in range(30)], list(range(30)), beta=1.0)
    assert rated.converged
    assert rated.log_evidence == pytest.approx(-math.lgamma(31), abs=0.01)
    assert [team[0][0] for team in rated.posteriors] == sorted(t[0][0] for t in rated.posteriors)


finite = st.floats(-50.0, 50.0)
positive = st.floats(0.1, 20.0)
games = st.lists(
    st.lists(st.tuples(finite, positive), min_size=1, max_size=3), min_size=2, max_size=4
)


def rated_pairs(rated: RatedGame) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([pair for team in rated.posteriors for pair in team])


@settings(max_examples=60, deadline=None)
@given(games, st.randoms(use_true_random=False), st.floats(0.01, 0.9), st.floats(-100.0, 100.0))
def test_shift_scale_and_order_of_sides(teams: Teams, random: Any, p: float, shift: float) -> None:
    # Without ties the order in which sides are written must not matter.
    scores = list(range(len(teams)))
    scores[0] = scores[-1] if random.random() < 0.5 else scores[0]
    random.shuffle(scores)
    rated = rate_game(teams, scores, beta=2.0, tau=0.5, draw_probability=p)
    before = rated_pairs(rated)
    sizes = [len(team) for team in teams]
    # Shifting skills shifts a side by its size: for sides of one size that is no news.
    if len(set(sizes)) == 1:
        moved = [[(m + shift, sd) for m, sd in team] for team in teams]
        shifted = rate_game(moved, scores, beta=2.0, tau=0.5, draw_probability=p)
        assert_allclose(rated_pairs(shifted), before + np.array([shift, 0.0]), atol=1e-7)
    scaled = rate_game(
        [[(7.0 * m, 7.0 * sd) for m, sd in team] for team in teams],
        scores,
        beta=14.0,
        tau=3.5,
        draw_probability=p,
    )
    assert_allclose(rated_pairs(scaled), 7.0 * before, rtol=1e-7, atol=1e-6)
    assert scaled.log_evidence == pytest.approx(rated.log_evidence, abs=1e-7)
    if len(set(scores)) == len(scores):
        order = list(range(len(teams)))
        random.shuffle(order)
        mixed = rate_game(
            [teams[k] for k in order],
            [scores[k] for k in order],
            beta=2.0,
            tau=0.5,
            draw_probability=p,
        )
        unmixed = [mixed.posteriors[order.index(k)] for k in range(len(teams))]
        assert_allclose(flat(unmixed), flat(rated.posteriors), atol=1e-6)
        assert mixed.log_evidence == pytest.approx(rated.log_evidence, abs=1e-7)


def test_outcomes_of_two_sides_sum_to_one() -> None:
    teams: Teams = [[(1.0, 2.0), (0.5, 1.0)], [(3.0, 0.7)]]
    total = sum(
        math.exp(rate_game(teams, scores, beta=1.3, draw_probability=0.2).log_evidence)
        for scores in ([1, 0], [0, 0], [0, 1])
    )
    assert total == pytest.approx(1.0, abs=1e-14)


def test_a_game_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PASSES", 1)
    with pytest.warns(MilepostWarning, match="3 sides did not converge"):
        rated = rate_game([[(0, 3)], [(1, 3)], [(2, 3)]], [2, 1, 0], beta=1.0)
    assert not rated.converged
    assert rated.passes == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"teams": [[(0, 1)]]}, "at least two teams"),
        ({"teams": [[(0, 1)], []]}, "empty team"),
        ({"teams": [[(0, 1)], [(0, -1)]]}, "sds of zero or more"),
        ({"teams": [[(0, 1)], [(math.nan, 1)]]}, "finite means"),
        ({"teams": [[(0, 1)], [3]]}, "pairs of"),
        ({"scores": [1]}, "one score for each of the 2 teams"),
        ({"scores": [1, math.inf]}, "finite scores"),
        ({"scores": [1, "x"]}, "a number as each"),
        ({"scores": [1, 1]}, "tied sides, got 0"),
        ({"beta": 0.0}, "positive beta"),
        ({"tau": -1.0}, "tau of zero or more"),
        ({"draw_probability": 1.0}, "below 1"),
        ({"weights": [[1]]}, "expected weights for teams of"),
        ({"weights": [[1], [0]]}, "zeros only"),
        ({"teams": [[(0, 1e200)], [(0, 1)]]}, "squares are finite"),
        ({"teams": [[(-1e150, 1e-9)], [(1e150, 1e-9)]], "beta": 1e-9}, "too many deviations"),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {"teams": [[(0, 1)], [(0, 1)]], "scores": [1, 0], "beta": 1.0}
    with pytest.raises(InputError, match=said):
        rate_game(**(arguments | change))
