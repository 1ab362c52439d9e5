"""The evidence against kickscore, an independent implementation of the same model."""

from __future__ import annotations

import math

import kickscore
import pytest
from tests.history.samples import fit, simulated


def test_evidence_of_10000_games_is_kickscores() -> None:
    games = simulated(10_000, 4_000, 5).drop("first_mover")
    history = fit(games, tolerance=1e-4)
    # kickscore's performances differ by noise of variance 1: the scale is sqrt(2) beta
    scale = math.sqrt(2) * 480
    model = kickscore.TernaryModel(margin=history.draw_margin / scale, obs_type="probit")
    start = history.curves.group_by("player").agg("time")
    for name, times in start.iter_rows():
        kernel = kickscore.kernel.Wiener(
            var=(60 / scale) ** 2, t0=float(min(times)), var_t0=(400 / scale) ** 2
        )
        model.add_item(name, kernel=kernel)
    for time, one, two, score in games.iter_rows():
        if score == 0.5:
            model.observe([one], [two], t=float(time), tie=True)
        else:
            winner, loser = (one, two) if score == 1 else (two, one)
            model.observe([winner], [loser], t=float(time))
    model.fit(max_iter=5)
    assert history.log_evidence / 10_000 == pytest.approx(model.log_likelihood / 10_000, abs=1e-8)
