from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from milepost.fairplay.evidence.standard_scores import (
    HonestVariation,
    correlation_text,
    honest_covariance,
    score_sums,
    within_performances,
)
from milepost.fairplay.performances import Board, performances

AGENTS = HonestVariation(np.zeros(3), np.ones(3), 0.0)


def test_moments_of_the_figures_are_those_of_the_choices(board: Board) -> None:
    """Expected figures, covariance and slope of a turn against sums over its options by hand."""
    scores, offsets = board.scores, board.spreads.offsets
    path, model = board.calibration.map.path, board.calibration.map.path.model
    for turn in (0, 17, 101):
        at = slice(offsets[turn], offsets[turn + 1])
        p, s = scores.probabilities[at], scores.options[at]
        assert p.sum() == pytest.approx(1.0)
        assert scores.expected[turn] == pytest.approx(p @ s)
        around = s - p @ s
        assert scores.covariance[turn] == pytest.approx(np.einsum("i,ij,ik", p, around, around))
    assert scores.error == pytest.approx(-scores.expected[:, 1])
    assert model is path.model


def test_slopes_are_differences_of_expectations(board: Board) -> None:
    from milepost.fairplay.evidence.standard_scores import turn_scores

    own = board.table["mover_elo"].cast(float).to_numpy()
    path = board.calibration.map.path
    above, below = (turn_scores(board.prepared, path, own + step) for step in (20.0, -20.0))
    # The first two figures do not depend on the rating themselves, only their chances do.
    moved = (above.expected - below.expected)[:, :2] / 40.0
    assert board.scores.slope[:, :2] == pytest.approx(moved, abs=2e-6)


def test_honest_agents_have_standard_scores() -> None:
    """Sums drawn from V itself: the one score is standard normal, whatever the direction."""
    rng = np.random.default_rng(1)
    covariance = np.array([[4.0, 1.0, 2.0], [1.0, 2.0, 0.5], [2.0, 0.5, 6.0]])
    slope, direction = np.array([0.02, 0.01, 0.01]), np.array([5.0, 2.0, 4.0])
    honest = HonestVariation(np.array([0.1, 0.0, -0.1]), np.array([1.1, 1.5, 1.3]), 100.0)
    variance = honest_covariance(covariance, slope, honest)
    draws = rng.multivariate_normal(50 * honest.bias, variance, 20_000)
    z = [score_sums(row, 50, covariance, slope, direction, honest).combined for row in draws[:4000]]
    assert np.mean(z) == pytest.approx(0.0, abs=0.05)
    assert np.std(z) == pytest.approx(1.0, abs=0.04)


def test_the_one_score_is_the_best_of_all_mixtures() -> None:
    """No other mixture of the sums is moved further by help, in its own standard deviations."""
    rng = np.random.default_rng(2)
    covariance = np.array([[4.0, 1.0, 2.0], [1.0, 2.0, 0.5], [2.0, 0.5, 6.0]])
    direction = np.array([5.0, 2.0, 4.0])
    best = score_sums(np.zeros(3), 1, covariance, np.zeros(3), direction, AGENTS).shift
    for _ in range(200):
        mix = rng.normal(size=3)
        assert abs(mix @ direction) / np.sqrt(mix @ covariance @ mix) <= best + 1e-9


def test_power_is_that_of_a_shifted_normal() -> None:
    found = score_sums(np.zeros(3), 1, np.eye(3), np.zeros(3), np.array([10.0, 0, 0]), AGENTS)
    assert found.shift == pytest.approx(10.0)
    assert found.power(0.2, 0.01) == pytest.approx(norm.sf(norm.isf(0.01) - 2.0))
    assert found.power(0.0, 0.01) == pytest.approx(0.01)


def test_raw_scores_are_those_of_a_rating(board: Board) -> None:
    """The same figures as `milepost.rate` gives, which has its own code for them."""
    from milepost.intrinsic.rating.rate import rate

    table = rate(board.table, board.calibration, ["player"], setup=board.calibration.setup)
    known = {row["player"]: (row["z_mm"], row["z_ad"]) for row in table.iter_rows(named=True)}
    for real in performances(board):
        assert real.scored.raw[:2] == pytest.approx(known[real.player], abs=1e-6)


def test_dispersion_within_performances_is_found_again() -> None:
    rng = np.random.default_rng(8)
    performances_, games = 200, 8
    turns = rng.integers(15, 45, performances_ * games).astype(float)
    own = turns[:, None, None] * np.diag([0.25, 0.02, 1.0])
    level = np.repeat(rng.normal(0, 0.1, (performances_, 3)), games, axis=0)
    spread = np.sqrt(np.array([1.0, 1.4, 1.8]) * np.diagonal(own, axis1=1, axis2=2))
    sums = turns[:, None] * level + rng.normal(size=spread.shape) * spread
    found = within_performances(sums, own, turns, np.repeat(np.arange(performances_), games))
    assert found == pytest.approx([1.0, 1.4, 1.8], rel=0.08)


def test_correlations_in_words() -> None:
    text = correlation_text(np.array([[1, 0.5, 0.25], [0.5, 1, 0.75], [0.25, 0.75, 1]]))
    assert text == "match and error 0.50, match and likelihood 0.25, error and likelihood 0.75"
