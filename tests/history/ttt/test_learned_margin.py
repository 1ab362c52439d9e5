"""A learned draw margin: beside finite differences of the evidence, a grid, and the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, simulated

import milepost as mp
from milepost.errors import InputError
from milepost.history import prequential
from milepost.history.records import read_records
from milepost.history.solver.convergence import converge
from milepost.history.solver.newton import Learning
from milepost.history.ttt.evidence import ttt_log_evidence
from milepost.history.ttt.from_model import fresh_state
from milepost.history.ttt.learned_margin import margin_slopes
from milepost.history.ttt.state import TTTState


def unequal(games: int = 6000, margin: float = 150.0, seed: int = 11) -> pl.DataFrame:
    """Games between skills far apart (beta 300): unequal sides draw less than equal ones."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, 400, 80)
    one = rng.integers(0, 80, games)
    two = (one + rng.integers(1, 80, games)) % 80
    apart = skill[one] - skill[two] + rng.normal(0, 300 * np.sqrt(2), games)
    return pl.DataFrame({
        "time": np.sort(rng.integers(2000, 2003, games)),
        "player_1": [f"p{i:02}" for i in one], "player_2": [f"p{i:02}" for i in two],
        "score": np.where(apart > margin, 1.0, np.where(apart < -margin, 0.0, 0.5)),
    })  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
def test_the_derivative_is_that_of_the_evidence(weighted: bool) -> None:
    games = simulated(500, 20, 5)
    if weighted:
        games = games.with_columns(weight=pl.Series(np.tile([1.0, 2.0, 0.5, 1.0, 3.0], 100)))
    records = read_records(games)
    model = mp.TTT(beta=300.0, tau=30.0, first_mover=40.0, draw=130.0)

    def at(margin: float) -> tuple[float, TTTState]:
        state = fresh_state(records, mp.TTT(**{**vars(model), "draw": margin}))
        assert isinstance(state, TTTState)
        converge(state, tolerance=1e-6, max_sweeps=200, learning=Learning())
        return ttt_log_evidence(state), state

    slope, curvature = margin_slopes(at(130.0)[1])
    step = 0.5
    expected = (at(130.0 + step)[0] - at(130.0 - step)[0]) / (2.0 * step)
    # A weight below 1 makes the evidence approximate.
    assert slope == pytest.approx(expected, rel=0.05 if weighted else 2e-3)
    assert curvature < 0.0


def test_the_margin_of_unequal_sides_is_found() -> None:
    games = unequal()
    options: dict[str, Any] = {"beta": 300.0, "tau": 5.0, "sigma": 400.0}
    share, learned = fit(games, draw="share", **options), fit(games, draw="learn", **options)
    assert learned.converged
    # docs/history.md: the share gives about 90 where the truth is 150.
    assert share.draw_margin < 110.0
    assert learned.draw_margin == pytest.approx(150.0, abs=10.0)
    assert learned.log_evidence - share.log_evidence > 0.01 * len(games)
    # No margin nearby explains the results better.
    for factor in (0.97, 1.03):
        near = fit(games, draw=factor * learned.draw_margin, **options)
        assert near.log_evidence < learned.log_evidence
    same = fit(games, draw=learned.draw_margin, **options)
    assert same.curves["mean"].to_numpy() == pytest.approx(
        learned.curves["mean"].to_numpy(), abs=0.5
    )


def test_auto_learns_where_the_future_may_be_known() -> None:
    games = unequal(1500)
    options: dict[str, Any] = {"beta": 300.0, "tau": 5.0, "sigma": 400.0}
    assert mp.TTT().draw == "auto"
    assert fit(games, **options).draw_margin == fit(games, draw="learn", **options).draw_margin
    share = fit(games, draw="share", **options).draw_margin
    assert fit(games, stage="filter", **options).draw_margin == share
    auto = prequential(games, mp.TTT(**options))[0]
    assert auto.equals(prequential(games, mp.TTT(draw="share", **options))[0])
    with pytest.raises(InputError, match="learned from the whole history"):
        prequential(games, mp.TTT(draw="learn"))
    with pytest.raises(InputError, match="needs the stage converged"):
        mp.TTT(draw="learn", stage="filter")
    with pytest.raises(InputError, match="expected share, auto, learn or a number as draw"):
        mp.TTT(draw="wide")
    with pytest.raises(InputError, match="expected share or a number as draw"):
        mp.TrueSkill(draw="auto")


def test_without_draws_and_with_draws_only() -> None:
    games = unequal(200)
    decided = games.filter(pl.col("score") != 0.5)
    assert fit(decided).draw_margin == 0.0
    assert fit(decided).converged
    drawn = games.with_columns(score=pl.lit(0.5)).head(40)
    found = fit(drawn)
    assert np.isfinite(found.draw_margin)
    assert np.isfinite(found.log_evidence)


def test_two_workers_find_the_same_margin() -> None:
    games = simulated(2000, 40, 8)
    one, two = fit(games), fit(games, workers=2)
    assert one.draw_margin == pytest.approx(two.draw_margin, abs=0.1)
    assert np.allclose(one.curves["mean"], two.curves["mean"], atol=0.5)
