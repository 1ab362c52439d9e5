"""One player against a field: beside brute force and simulation; FIDE's norms; match quality."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.history.samples import fit, simulated

import milepost as mp
from milepost.errors import InputError
from milepost.history import History
from milepost.history.field import (
    DP,
    NORMS,
    FieldForecast,
    NormRule,
    forecast_field,
    norm_in_field,
    norm_score,
    performance_gain,
)

FIELD = ["p0001", "p0002", "p0003", "p0004"]


@pytest.fixture(scope="module", params=["ttt", "ttt-d"])
def history(request: pytest.FixtureRequest) -> History:
    return fit(simulated(700, 8, 4), request.param, first_mover=40.0)


def test_one_game_is_the_prediction(history: History) -> None:
    for mover in (None, 1, 2):
        chances = forecast_field(history, "p0000", ["p0001"], 1902, movers=[mover]).chances
        told = history.predict("p0000", "p0001", 1902, first_mover=mover)
        # The own margin's error is averaged in both, the skills' too: to the rule's accuracy.
        assert chances[::-1] == pytest.approx(told, abs=2e-6)


def test_the_distribution_beside_brute_force(history: History) -> None:
    """With the own skill known exactly games are independent: every outcome of four is summed."""
    lives = history._lives
    begin, end = lives.rows_of("p0000")  # type: ignore[union-attr]
    table = lives.table.copy()  # type: ignore[union-attr]
    table[begin:end] *= 1e9
    sure = mp.history.History(**{
        **{name: getattr(history, name) for name in history.__dataclass_fields__},
        "_skill": type(lives)(**{**vars(lives), "table": table}),
    })  # fmt: skip
    found = forecast_field(sure, "p0000", FIELD, 1901)
    games = [sure.predict("p0000", key, 1901) for key in FIELD]
    expected = np.zeros(9)
    for outcome in itertools.product(range(3), repeat=4):
        chance = np.prod([game[2 - half] for game, half in zip(games, outcome, strict=True)])
        expected[sum(outcome)] += chance
    assert found.chances == pytest.approx(expected, abs=1e-4)
    assert found.chances.sum() == pytest.approx(1.0)
    assert found.score == pytest.approx(sum(g.win + 0.5 * g.draw for g in games), abs=1e-4)


def test_the_own_skill_is_one_for_all_games() -> None:
    """Simulated from the beliefs: draw the own skill once, then the games."""
    history = fit(simulated(60, 8, 2), sigma=500.0)
    rng = np.random.default_rng(8)
    time, number = 1901, 200_000
    own = history.skill("p0000", time)
    skill = own.mean + own.sd * rng.standard_normal(number)
    total = np.zeros(number)
    for key in FIELD:
        other = history.skill(key, time)
        apart = skill - other.mean - other.sd * rng.standard_normal(number)
        apart += history.model.beta * np.sqrt(2.0) * rng.standard_normal(number)  # type: ignore[union-attr]
        total += np.where(apart > history.draw_margin, 1.0, 0.5 * (apart > -history.draw_margin))
    found = forecast_field(history, "p0000", FIELD, time)
    for score in (0.5, 2.0, 3.0, 4.0):
        share = float((total >= score).mean())
        assert found.at_least(score) == pytest.approx(share, abs=4.5 * 0.5 / np.sqrt(number))
    assert found.sd == pytest.approx(float(total.std()), rel=0.01)
    # Taken as independent, the score would spread less.
    games = [history.predict("p0000", key, time) for key in FIELD]
    apart_sd = np.sqrt(sum(g.win + 0.25 * g.draw - (g.win + 0.5 * g.draw) ** 2 for g in games))
    assert found.sd > 1.05 * apart_sd


def test_fides_table_and_norms() -> None:
    assert len(DP) == 51
    assert list(DP) == sorted(DP)
    # FIDE Title Regulations 2017, 0.5: 7 of 9 against 2380 is a GM performance.
    assert performance_gain(7, 9) == 220
    assert norm_score([2380.0] * 9, NORMS["GM"]) == (7.0, 2380)
    # 1.49, and the arithmetic by hand: 2434 + 166 (72 %) = 2600, 6.5 of 9.
    assert norm_score([2434.0] * 9, NORMS["GM"]) == (6.5, 2434)
    assert norm_score([2433.0] * 9, NORMS["GM"])[0] == 7.0
    assert performance_gain(0, 9) == -800
    assert performance_gain(4.5, 9) == 0
    assert performance_gain(3, 9) == -performance_gain(6, 9) == -125
    # One opponent below the floor is raised to it: (8 · 2400 + 2200) / 9 = 2377.8.
    assert norm_score([2400.0] * 8 + [1900.0], NORMS["GM"]) == (None, 2378)
    assert norm_score([2410.0] * 8 + [1900.0], NORMS["GM"])[1] == 2387
    assert norm_score([2600.0] * 8, NORMS["GM"])[0] is None
    assert norm_score([2230.0] * 9, NORMS["IM"]) == (7.0, 2230)
    for rule in NORMS.values():
        assert rule.performance - rule.average == 220


def test_the_chance_of_a_norm() -> None:
    chances = np.zeros(19)
    chances[[10, 13, 14, 16]] = (0.4, 0.3, 0.2, 0.1)
    field = FieldForecast("A", tuple("abcdefghi"), np.full(9, 0.6), chances)
    found = norm_in_field(field, [2434.0] * 9, NORMS["GM"], "a norm for GM")
    assert (found.needed, found.average) == (6.5, 2434)
    assert found.chance == pytest.approx(0.6)
    weak = norm_in_field(field, [2300.0] * 9, NORMS["GM"], "a norm for GM")
    assert (weak.chance, weak.needed) == (0.0, None)
    assert "average is 2300, and has to be 2380" in weak.reason
    few = norm_in_field(
        FieldForecast("A", ("b",), np.ones(1), np.ones(3) / 3), [2500.0], NORMS["GM"], "GM"
    )
    assert "needs 9 games" in few.reason
    lone = norm_in_field(field, [2434.0] * 9, NormRule(5000.0), "more")
    assert "no score" in lone.reason
    with pytest.raises(InputError, match="a rating for each of 9 opponents, got 1"):
        norm_in_field(field, [2400.0], NORMS["GM"], "GM")


def test_what_cannot_be_is_refused(history: History) -> None:
    with pytest.raises(InputError, match="at least one opponent"):
        forecast_field(history, "p0000", [], 1901)
    with pytest.raises(InputError, match="cannot be in the own field"):
        forecast_field(history, "p0000", ["p0000"], 1901)
    with pytest.raises(InputError, match="a colour for each of 4 games, got 1"):
        forecast_field(history, "p0000", FIELD, 1901, movers=[1])
    with pytest.raises(InputError, match="no chances to forecast"):
        forecast_field(fit(simulated(50, 8, 2), "elo"), "p0000", FIELD, 1901)


def test_quality_is_trueskills(history: History) -> None:
    """Beside the definition: the tie's density over that of two equal, known players."""
    one, two = history.skill("p0000", 1902), history.skill("p0001", 1902)
    beta = history.model.beta  # type: ignore[union-attr]
    c2 = 2 * beta**2 + one.sd**2 + two.sd**2
    density = np.exp(-((one.mean - two.mean) ** 2) / (2 * c2)) / np.sqrt(2 * np.pi * c2)
    best = 1 / np.sqrt(2 * np.pi * 2 * beta**2)
    assert history.quality("p0000", "p0001", 1902) == pytest.approx(density / best)
    assert history.quality("p0001", "p0000", 1902) == pytest.approx(density / best)
    assert history.quality("p0000", "p0001", 1902, first_mover=1) == pytest.approx(
        history.quality("p0001", "p0000", 1902, first_mover=2)
    )
    assert 0.0 < history.quality("p0000", "p0001", 1990) < density / best  # less is known
    with pytest.raises(InputError, match="expected 1, 2 or None"):
        history.quality("p0000", "p0001", 1902, first_mover=3)


def test_quality_beside_the_published_example() -> None:
    """trueskill 0.4.5 (Python): quality_1vs1(Rating(25, 8.333), Rating(25, 8.333)) = 0.447."""
    frame = {"time": [0], "player_1": ["a"], "player_2": ["b"], "score": [0.5]}
    sigma = 25.0 / 3
    model = mp.TTT(mu=25.0, sigma=sigma, beta=sigma / 2, tau=sigma / 100)
    history = mp.fit_history(frame, model)
    lives = history._skill
    table = np.tile([sigma**-2, 0.0, 0.0, 0.0], (2, 1))
    fresh = type(history)(**{
        **{name: getattr(history, name) for name in history.__dataclass_fields__},
        "_skill": type(lives)(**{**vars(lives), "table": table, "drift": 0.0}),  # type: ignore[misc]
    })  # fmt: skip
    assert fresh.quality("a", "b", 0) == pytest.approx(0.4472136, abs=1e-6)
