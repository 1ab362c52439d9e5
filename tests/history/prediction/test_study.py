"""What the prediction study rests on: the link, the clustered error, months and earlier games."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr
from studies.otb_games import by_month
from studies.outcome_links import fit_link
from studies.prediction_tables import difference


def test_the_link_finds_the_numbers_that_made_the_games() -> None:
    rng = np.random.default_rng(11)
    n = 40_000
    one, two = rng.normal(2300, 150, n), rng.normal(2300, 150, n)
    z = (0.5 * (one + two) - 2300) / np.std(0.5 * (one + two))
    margin = 90 * np.exp(0.3 * z)
    apart = one - two + 35 + rng.normal(0, 240, n)
    score = np.where(apart > margin, 1.0, np.where(apart < -margin, 0.0, 0.5))
    link = fit_link(one, two, score, by_strength=True)
    log_margin, by_z, log_spread, lead, lead_by_z, _ = link.numbers
    assert math.exp(log_margin) == pytest.approx(90, rel=0.03)
    assert by_z == pytest.approx(0.3, abs=0.03)
    assert math.exp(log_spread) == pytest.approx(240, rel=0.03)
    assert lead == pytest.approx(35, abs=5)
    assert lead_by_z == pytest.approx(0, abs=5)
    # The chances of one game, by hand.
    found = link(np.array([2400.0]), np.array([2350.0]), np.zeros(1), None)
    at = (2375 - link.centre) / link.unit
    m, c = math.exp(log_margin + by_z * at), math.exp(log_spread)
    x = 50 + lead + lead_by_z * at
    assert found[0, 0] == pytest.approx(ndtr((x - m) / c), abs=1e-9)
    assert found[0, 2] == pytest.approx(ndtr((-x - m) / c), abs=1e-9)
    assert found.sum() == pytest.approx(1.0)


def test_the_error_of_a_difference_is_that_of_clusters() -> None:
    """Against the bootstrap over months, and the plain formula where every game is a month."""
    rng = np.random.default_rng(3)
    months = 150
    n = rng.integers(20, 200, months)
    shift = rng.normal(0.01, 0.02, months)
    sums = np.array([rng.normal(s, 0.3, k).sum() for s, k in zip(shift, n, strict=True)])
    one = pl.DataFrame({"month": np.arange(months), "n": n, "log_loss": sums})
    two = one.with_columns(log_loss=pl.lit(0.0))
    mean, error = difference(one, two, "log_loss")
    assert mean == pytest.approx(sums.sum() / n.sum())
    drawn = rng.integers(0, months, (4000, months))
    boot = sums[drawn].sum(axis=1) / n[drawn].sum(axis=1)
    assert error == pytest.approx(float(boot.std()), rel=0.06)
    single = one.with_columns(n=pl.lit(1, dtype=pl.Int64))
    _, plain = difference(single, two.with_columns(n=pl.lit(1, dtype=pl.Int64)), "log_loss")
    assert plain == pytest.approx(float(np.std(sums, ddof=1)) / math.sqrt(months))
    with pytest.raises(ValueError, match="different games"):
        difference(single, two, "log_loss")


def test_earlier_games_are_those_of_earlier_months() -> None:
    rows = [
        ("2001-01-03", "a", "b"), ("2001-01-20", "a", "c"), ("2001-02-01", "a", "b"),
        ("2001-02-02", "b", "a"), ("2001-04-01", "c", "a"),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["time", "player_1", "player_2"], orient="row").with_columns(
        pl.col("time").str.to_date(),
        score=pl.lit(1.0),
        first_mover=pl.lit(1, dtype=pl.Int8),
        elo_1=pl.lit(2000.0),
        elo_2=pl.lit(None, dtype=pl.Float64),
        known=pl.lit(True),
        fast=pl.lit(False),
        year=pl.lit(2001, dtype=pl.Int16),
    )
    games = by_month(frame)
    # a has 2 games before February and b 1; c has 1 before April and a 4.
    assert games.earlier.tolist() == [0, 0, 1, 1, 1]
    assert games.month.tolist() == [24012, 24012, 24013, 24013, 24015]
    assert not games.rated.any()
    assert np.isnan(games.elo_2).all()
