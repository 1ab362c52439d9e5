"""Draw margins of the players' own: the shared case, quadrature, and importance sampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad
from tests.history.samples import fit, simulated, table


@pytest.mark.parametrize("form", ["between", "two-factor"])
def test_the_shared_case_of_one_win(cases: dict[str, Any], form: str) -> None:
    case = cases["d01-single-win-tttd"]
    history = fit(table([(0, "a", "b", 1.0)]), "ttt-d", draw_form=form, tolerance=1e-6)
    expected = case["expected"]
    for row in history.curves.iter_rows(named=True):
        skill, margin = expected["skill"][row["player"]], expected["margin"][row["player"]]
        assert (row["mean"], row["sd"]) == pytest.approx(skill, abs=1e-4)
        assert (row["margin_mean"], row["margin_sd"]) == pytest.approx(margin, abs=1e-4)
    assert history.log_evidence == pytest.approx(expected["log_evidence"], abs=1e-6)


def test_one_draw_has_the_exact_evidence_in_the_exact_form_only() -> None:
    # P(draw, both margins positive): integrate over both margins; d ~ N(0, c²).
    c = math.sqrt(2 * (400**2 + 480**2))

    def density(x: float, y: float) -> float:
        ndtr = (math.erf(x / c / math.sqrt(2)) + math.erf(y / c / math.sqrt(2))) / 2
        prior = math.exp(-(((x - 300) / 100) ** 2) / 2 - ((y - 300) / 100) ** 2 / 2)
        return ndtr * prior / (2 * math.pi * 100**2)

    exact = math.log(dblquad(density, 0, 1000, 0, 1000, epsabs=1e-10)[0])
    game = table([(0, "a", "b", 0.5)])
    between = fit(game, "ttt-d", tolerance=1e-6).log_evidence
    authors = fit(game, "ttt-d", draw_form="two-factor", tolerance=1e-6).log_evidence
    # EP's only error left is in the positivity of the margins: 3 sd from zero
    assert between == pytest.approx(exact, abs=2e-4)
    # The reference says that it is about 0.4 nats below the truth.
    assert authors - exact == pytest.approx(-0.397, abs=2e-3)


HISTORIES = {
    "two draws": [(0, "a", "b", 0.5), (1, "a", "b", 0.5)],
    "win, draw": [(0, "a", "b", 1.0), (0, "a", "b", 0.5)],
    "three in a ring": [(0, "a", "b", 0.5), (0, "b", "c", 1.0), (1, "c", "a", 0.5)],
    "four games": [(0, "a", "b", 0.5), (0, "a", "b", 0.5), (2, "b", "a", 1.0), (2, "a", "c", 0.5)],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_between_against_importance_sampling(name: str) -> None:
    """Long importance sampling from the prior, performances integrated out by hand.

    Tolerances: 0.03 nats of evidence a game, 3 points for the mean of a skill or margin, 2 for the
    sd of a margin, 25 for that of a skill. Nearly all of the last and of the evidence is EP's own
    error: it forgets that the skills of two players who met twice are correlated.
    """
    games = HISTORIES[name]
    rng = np.random.default_rng(11)
    number = 400_000
    times = sorted({(player, time) for time, a, b, _ in games for player in (a, b)})
    skill: dict[tuple[str, int], Any] = {}
    margin: dict[tuple[str, int], Any] = {}
    weight = np.ones(number)
    last: dict[str, int] = {}
    for player, time in times:
        if player not in last:
            skill[player, time] = 1200 + 400 * rng.normal(size=number)
            margin[player, time] = 300 + 100 * rng.normal(size=number)
        else:
            gap = math.sqrt(time - last[player])
            before = (player, last[player])
            skill[player, time] = skill[before] + 60 * gap * rng.normal(size=number)
            margin[player, time] = margin[before] + 10 * gap * rng.normal(size=number)
        weight *= margin[player, time] > 0
        last[player] = time
    from scipy.special import ndtr

    noise = math.sqrt(2) * 480
    for time, a, b, score in games:
        apart = skill[a, time] - skill[b, time]
        win = ndtr((apart - margin[b, time]) / noise)
        loss = ndtr((-apart - margin[a, time]) / noise)
        weight *= {1.0: win, 0.5: 1 - win - loss, 0.0: loss}[score]
    history = fit(table(games), "ttt-d", tolerance=1e-4)
    assert history.log_evidence == pytest.approx(math.log(weight.mean()), abs=0.03 * len(games))
    for row in history.curves.iter_rows(named=True):
        node = (row["player"], row["time"])
        mean = np.average(skill[node], weights=weight)
        sd = math.sqrt(np.average((skill[node] - mean) ** 2, weights=weight))
        assert row["mean"] == pytest.approx(mean, abs=3)
        assert row["sd"] == pytest.approx(sd, abs=25)
        mean = np.average(margin[node], weights=weight)
        sd = math.sqrt(np.average((margin[node] - mean) ** 2, weights=weight))
        assert row["margin_mean"] == pytest.approx(mean, abs=3)
        assert row["margin_sd"] == pytest.approx(sd, abs=2)


def test_the_exact_form_has_more_evidence_than_the_authors() -> None:
    games = simulated(1500, 40, 4)
    exact = fit(games, "ttt-d", margin_mu=150.0, margin_sigma=50.0)
    authors = fit(games, "ttt-d", margin_mu=150.0, margin_sigma=50.0, draw_form="two-factor")
    assert exact.converged
    assert authors.converged
    assert exact.improper == authors.improper == 0
    assert exact.log_evidence > authors.log_evidence


def test_margins_stay_positive_where_nobody_draws() -> None:
    games = simulated(800, 6, 2, draws=0.0)
    assert (games["score"] == 0.5).sum() == 0
    history = fit(games, "ttt-d", margin_mu=50.0, margin_sigma=100.0)
    assert history.converged
    assert (history.curves["margin_mean"] > 0).all()
    assert history.improper == 0
