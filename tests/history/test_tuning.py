"""Tuning: the grid, the refinement, and what the figures are."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from milepost.errors import InputError
from milepost.history import ConvergenceWarning, fit, prequential
from milepost.history.tuning import draw_share, naive_log_evidence, parse_values, tune


def simulate(
    beta: float = 300.0, tau: float = 60.0, *, games: int = 6000, players: int = 30, years: int = 20
) -> pl.DataFrame:
    """Games of the model itself: skills drift by tau a year, performances scatter by beta."""
    rng = np.random.default_rng(2007)
    start = rng.normal(1200, 400, players)
    skill = start + rng.normal(0, tau, (years, players)).cumsum(axis=0)
    time = np.sort(rng.integers(0, years, games))
    one = rng.integers(0, players, games)
    two = (one + rng.integers(1, players, games)) % players
    apart = skill[time, one] - skill[time, two] + rng.normal(0, math.sqrt(2) * beta, games)
    score = np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5))
    return pl.DataFrame({
        "time": 1980 + time,
        "player_1": [f"p{i:02}" for i in one],
        "player_2": [f"p{i:02}" for i in two],
        "score": score,
    })  # fmt: skip


RESULTS = simulate()
FEW = RESULTS.filter(pl.col("time") < 1984)


def test_the_grid_says_what_fit_and_prequential_say() -> None:
    found = tune(FEW, beta=[200.0, 480.0], tau=[20.0, 60.0], draw=150.0)
    assert found.table.height == 4
    assert found.table["best"].sum() == 1
    for row in found.table.iter_rows(named=True):
        numbers = {"beta": row["beta"], "tau": row["tau"], "draw": 150.0}
        history = fit(FEW, **numbers)
        assert row["evidence"] == pytest.approx(history.log_evidence / history.games, abs=1e-9)
        _, logs = prequential(FEW, **numbers)
        assert row["log_loss"] == pytest.approx(-float(np.mean(logs.to_numpy())), abs=1e-12)
    best = found.table.filter("best")
    assert best["evidence"][0] == found.table["evidence"].max()
    assert set(found.edges) == {"beta", "tau"}


def test_the_truth_is_found_again() -> None:
    """The margin is given, so that the scale is known; the surface is flat in tau."""
    found = tune(
        RESULTS, beta=[200.0, 400.0], tau=[30.0, 100.0], draw=150.0, optimise=True, window=0
    )
    refined = found.table.filter(pl.col("point") == "refined")
    assert found.settled
    assert refined["best"].to_list() == [True]
    assert found.best.beta == pytest.approx(300.0, rel=0.06)
    assert found.best.tau == pytest.approx(60.0, rel=0.25)
    truth = tune(RESULTS, beta=[300.0], tau=[60.0], draw=150.0, window=0).best
    assert found.best.evidence is not None
    assert truth.evidence is not None
    # The best point explains the data at least as well as the truth does, and hardly better.
    assert 0.0 <= found.best.evidence - truth.evidence < 5.0 / RESULTS.height
    assert found.best.evidence > found.naive


def test_one_number_is_refined_by_brent_and_by_prediction() -> None:
    found = tune(
        FEW, beta=[200.0, 300.0, 400.0], tau=[60.0], draw=150.0, by="prequential", window=0,
        optimise=True,
    )  # fmt: skip
    assert found.best.tau == 60.0
    assert found.best.beta == pytest.approx(300.0, rel=0.15)
    assert found.best.log_loss == found.table["log_loss"].min()


def test_margins_are_an_axis_of_their_own() -> None:
    few = FEW.head(400)
    found = tune(few, "ttt-d", beta=[300.0], tau=[60.0], margin_mu=[100.0, 600.0], window=0)
    assert found.table["margin_mu"].to_list() == [100.0, 600.0]
    assert found.best.margin_mu == 100.0
    history = fit(few, "ttt-d", beta=300.0, tau=60.0, margin_mu=100.0)
    assert found.best.evidence == pytest.approx(history.log_evidence / history.games, abs=1e-9)


def test_log_loss_from_a_time_on() -> None:
    late = tune(FEW, beta=[300.0], tau=[60.0], start=1983, draw=150.0).best.log_loss
    table, _ = prequential(FEW, beta=300.0, tau=60.0, draw=150.0)
    assert late == pytest.approx(table["log_loss"][-1], abs=1e-12)


def test_what_is_learned_has_no_log_loss() -> None:
    moved = FEW.with_columns(first_mover=pl.lit(1, dtype=pl.Int8))
    found = tune(moved, beta=[300.0], tau=[60.0], first_mover="learn")
    assert found.table["log_loss"].to_list() == [None]
    with pytest.raises(InputError, match="knows the future"):
        tune(moved, beta=[300.0], tau=[60.0], first_mover="learn", by="prequential")


def test_points_that_do_not_converge_are_told_and_not_the_best() -> None:
    with pytest.warns(ConvergenceWarning, match="2 of 2 points did not converge"):
        found = tune(FEW, beta=[200.0, 300.0], tau=[60.0], max_sweeps=1)
    assert not found.best.converged
    with pytest.warns(ConvergenceWarning, match="before it came to rest"):
        found = tune(
            FEW, beta=[100.0, 600.0], tau=[20.0, 90.0], optimise=True, evaluations=5, window=0
        )
    assert not found.settled


def test_progress_counts_every_point() -> None:
    seen: list[int] = []
    found = tune(FEW, beta=[200.0, 300.0], tau=[40.0, 60.0], window=0, progress=seen.append)
    assert seen == [1, 2, 3, 4]
    assert found.evaluations == 4


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"model": "elo"}, "ttt or ttt-d"),
        ({"by": "luck"}, "evidence or prequential"),
        ({"beta": []}, "at least one beta"),
        ({"beta": [0.0]}, "positive beta"),
        ({"tau": [-1.0]}, "zero or more"),
        ({"margin_mu": [100.0]}, "belong to the model ttt-d"),
        ({"optimise": True}, "several values"),
        ({"optimise": True, "tau": [0.0, 60.0]}, "above 0"),
        ({"start": 2050}, "no games from 2050"),
        ({"stage": "filter"}, "both stages"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], complaint: str) -> None:
    arguments: dict[str, object] = {"beta": [300.0], "tau": [60.0], **asked}
    with pytest.raises(InputError, match=complaint):
        tune(FEW, **arguments)  # type: ignore[arg-type]


def test_the_values_of_an_axis() -> None:
    assert parse_values("20:100:5") == [20.0, 40.0, 60.0, 80.0, 100.0]
    assert parse_values("480") == [480.0]
    assert parse_values("200, 480") == [200.0, 480.0]
    for wrong in ("", "1:2", "1:2:1", "a:b:c", "1:2:3.5"):
        with pytest.raises(InputError, match="LOW:HIGH:POINTS"):
            parse_values(wrong)


def test_the_share_of_draws_alone() -> None:
    assert naive_log_evidence(0.303) == pytest.approx(-1.0965, abs=5e-5)
    assert naive_log_evidence(0.0) == pytest.approx(-math.log(2.0))
    assert naive_log_evidence(1.0) == 0.0
    assert naive_log_evidence(1 / 3) == pytest.approx(-math.log(3.0))
    with pytest.raises(InputError):
        naive_log_evidence(1.5)
    share = float((RESULTS["score"] == 0.5).mean())  # type: ignore[arg-type]
    assert draw_share(RESULTS) == pytest.approx(share)
