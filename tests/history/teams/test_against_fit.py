"""The general graph and the two-player core are two programs for one model: they agree."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from tests.history.samples import fit

from milepost.history.numerics.gaussians import draw_moments, log_below, log_draw, win_moments
from milepost.history.teams.fit import fit_teams
from milepost.history.teams.game import Game
from milepost.history.teams.sides import above_margin, within_margin


def two_player_games(seed: int, times: list[Any]) -> tuple[pl.DataFrame, list[Game]]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 400.0, 25)
    rows = []
    for time in times:
        one, two = rng.choice(25, 2, replace=False)
        gap = strength[one] - strength[two] + rng.normal(0.0, 680.0)
        score = 0.5 if abs(gap) < 150.0 else float(gap > 0.0)
        rows.append((time, f"p{one:02}", f"p{two:02}", score))
    frame = pl.DataFrame(rows, ["time", "player_1", "player_2", "score"], orient="row")
    return frame, [Game(t, [[a], [b]], [s, 1.0 - s]) for t, a, b, s in rows]


@pytest.mark.parametrize("stage", ["converged", "filter"])
@pytest.mark.parametrize(("tau", "tolerance"), [(0.0, 1e-3), (60.0, 1e-7)])
def test_they_agree_on_two_players(stage: Any, tau: float, tolerance: float) -> None:
    # Without drift the core's Newton step, which puts a tiny one instead, stalls below 1e-4.
    years = sorted(np.random.default_rng(0).integers(1950, 1960, 400).tolist())
    frame, games = two_player_games(1, years)
    core = fit(frame, draw="share", tau=tau, stage=stage, tolerance=tolerance)
    general = fit_teams(games, tau=tau, stage=stage, tolerance=tolerance)
    assert core.curves.columns == general.curves.columns
    assert core.curves.select("player", "time", "games").equals(
        general.curves.select("player", "time", "games")
    )
    assert_allclose(core.curves["mean"], general.curves["mean"], atol=10.0 * tolerance)
    assert_allclose(core.curves["sd"], general.curves["sd"], atol=10.0 * tolerance)
    assert core.log_evidence == pytest.approx(general.log_evidence, abs=1e-7)


@pytest.mark.parametrize("period", ["year", "month", "day", 0.3, "game"])
def test_they_cut_time_alike(period: Any) -> None:
    rng = np.random.default_rng(2)
    days = sorted(date(2001, 1, 1) + timedelta(int(n)) for n in rng.integers(0, 1500, 150))
    frame, games = two_player_games(3, days)
    core = fit(frame, draw="share", period=period, tolerance=1e-6)
    general = fit_teams(games, period=period, tolerance=1e-6)
    ours, theirs = (one.curves.sort("player", "time", "mean") for one in (core, general))
    assert ours.select("player", "time").equals(theirs.select("player", "time"))
    assert_allclose(ours["mean"], theirs["mean"], atol=1e-5)
    assert_allclose(ours["sd"], theirs["sd"], atol=1e-5)
    assert core.log_evidence == pytest.approx(general.log_evidence, abs=1e-6)


def test_fit_takes_games() -> None:
    frame, games = two_player_games(4, [1950 + g // 20 for g in range(100)])
    assert_allclose(
        fit(frame, draw="share", tolerance=1e-6).curves["mean"],
        fit(games, tolerance=1e-6).curves["mean"],
        atol=1e-5,
    )


def test_both_forms_of_the_truncated_moments_agree() -> None:
    for x in np.linspace(-40.0, 10.0, 101):
        log_z, v, w, _ = above_margin(x)
        assert_allclose((log_z, v, w), (log_below(x), *win_moments(x)), rtol=1e-9)
    for t in np.linspace(-30.0, 30.0, 61):
        for alpha in (1e-4, 0.01, 0.05, 0.2, 1.0, 3.0, 8.0):
            log_z, v, w, _ = within_margin(t, alpha)
            other = (log_draw(t, alpha), *draw_moments(t, alpha))
            assert_allclose((log_z, v, w), other, rtol=1e-7, atol=1e-12)
