"""Tuning: the grid, the refinement, and what the figures are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, prequential, tune

from milepost.errors import InputError
from milepost.history import ConvergenceWarning, Tuning
from milepost.history.draw_share import draw_share, naive_log_evidence
from milepost.history.tuning.search import search_limit
from milepost.history.tuning.tune import parse_values
from milepost.io.progress import Progress

BETA, TAU, MARGIN = 300.0, 60.0, 150.0


def simulate(
    beta: float = BETA, tau: float = TAU, *, games: int = 6000, players: int = 30, years: int = 20,
    lead: float = 0.0,
) -> pl.DataFrame:  # fmt: skip
    """Games of the model itself: skills drift by tau a year, performances scatter by beta.

    The skills are so far apart (deviation 400) that most games are between unequals.
    """
    rng = np.random.default_rng(2007)
    start = rng.normal(1200, 400, players)
    skill = start + rng.normal(0, tau, (years, players)).cumsum(axis=0)
    time = np.sort(rng.integers(0, years, games))
    one = rng.integers(0, players, games)
    two = (one + rng.integers(1, players, games)) % players
    apart = skill[time, one] - skill[time, two] + rng.normal(0, math.sqrt(2) * beta, games)
    apart += lead
    score = np.where(apart > MARGIN, 1.0, np.where(apart < -MARGIN, 0.0, 0.5))
    return pl.DataFrame({
        "time": 1980 + time,
        "player_1": [f"p{i:02}" for i in one],
        "player_2": [f"p{i:02}" for i in two],
        "score": score,
        "first_mover": [1 if lead else None] * games,
    }, schema_overrides={"first_mover": pl.Int8})  # fmt: skip


RESULTS = simulate()
FEW = RESULTS.filter(pl.col("time") < 1984)


def option(found: Tuning, name: str) -> Any:
    """An option of the best point, which not all models have."""
    return getattr(found.best.model, name)


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
    assert found.best.model.beta == pytest.approx(300.0, rel=0.06)
    assert found.best.model.tau == pytest.approx(60.0, rel=0.25)
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
    assert found.best.model.tau == 60.0
    assert found.best.model.beta == pytest.approx(300.0, rel=0.15)
    assert found.best.log_loss == found.table["log_loss"].min()


def test_margins_are_an_axis_of_their_own() -> None:
    few = FEW.head(400)
    found = tune(few, "ttt-d", beta=[300.0], tau=[60.0], margin_mu=[100.0, 600.0], window=0)
    assert found.table["margin_mu"].to_list() == [100.0, 600.0]
    assert option(found, "margin_mu") == 100.0
    history = fit(few, "ttt-d", beta=300.0, tau=60.0, margin_mu=100.0)
    assert found.best.evidence == pytest.approx(history.log_evidence / history.games, abs=1e-9)


def test_a_tuned_margin_beats_the_share_of_draws_among_unequals() -> None:
    """From the share the margin is 90 points, for that takes all sides to be equal."""
    share = tune(RESULTS, beta=BETA, tau=TAU, window=0, draw="share")
    by_share = fit(RESULTS, beta=BETA, tau=TAU, draw="share").draw_margin
    assert by_share < 0.65 * MARGIN
    assert option(share, "draw") == "share"
    assert share.table["draw"].to_list() == [None]
    for by in ("evidence", "prequential"):
        found = tune(
            RESULTS, beta=BETA, tau=TAU, draw=[80.0, 300.0], optimise=True, by=by, window=0
        )
        # 1,006 draws: the margin is known to about one part in their root.
        assert option(found, "draw") == pytest.approx(MARGIN, rel=2.0 / math.sqrt(1006))
        assert found.best.loss(by) < share.best.loss(by) - 0.02
    # All three numbers at once, with sigma to fix the scale.
    found = tune(
        RESULTS, beta=[200.0, 400.0], tau=[30.0, 100.0], draw=[80.0, 300.0], optimise=True, window=0
    )
    assert found.settled
    assert isinstance(option(found, "draw"), float)
    assert option(found, "draw") / found.best.model.beta == pytest.approx(MARGIN / BETA, rel=0.06)
    truth = tune(RESULTS, beta=BETA, tau=TAU, draw=MARGIN, window=0).best
    assert 0.0 <= truth.loss("evidence") - found.best.loss("evidence") < 6.0 / RESULTS.height


def test_a_first_mover_below_zero_is_searched_in_points() -> None:
    """Truth: -40 points. Learning it by maximum evidence (Newton steps) says the same number."""
    moved = simulate(lead=-40.0)
    numbers: dict[str, Any] = {"beta": BETA, "tau": TAU, "draw": MARGIN}
    learned = fit(moved, first_mover="learn", **numbers).paths["first_mover"][0]
    found = tune(moved, first_mover=[0.0, 60.0], optimise=True, window=0, **numbers)
    assert found.settled
    assert found.best.model.first_mover == pytest.approx(learned, abs=2.0)
    assert found.best.model.first_mover == pytest.approx(-40.0, abs=15.0)
    assert found.edges == ("first_mover",)
    both = tune(
        moved, beta=BETA, tau=TAU, first_mover=[-60.0, 60.0], draw=[80.0, 300.0], optimise=True,
        window=0,
    )  # fmt: skip
    assert both.settled
    assert both.best.model.first_mover == pytest.approx(learned, abs=5.0)
    assert option(both, "draw") == pytest.approx(MARGIN, rel=0.06)
    with pytest.raises(InputError, match="do not say who moved first"):
        tune(FEW, beta=BETA, tau=TAU, first_mover=[0.0, 60.0])


def test_every_number_is_an_axis_that_says_what_fit_says() -> None:
    few = simulate(lead=30.0, games=200, players=8, years=3)
    grids: dict[str, dict[str, Any]] = {
        "ttt": {"sigma": [200.0, 500.0], "draw": [90.0, 180.0], "first_mover": [-30.0, 0.0]},
        "ttt-d": {
            "margin_sigma": [30.0, 90.0], "margin_tau": [0.0, 20.0], "first_mover": [30.0],
            "draw_form": ["between", "two-factor"],
        },
    }  # fmt: skip
    for model, axes in grids.items():
        found = tune(few, model, beta=BETA, tau=[TAU], window=0, **axes)
        assert found.table.height == 8
        assert found.table.select(list(axes)).is_duplicated().sum() == 0
        for row in found.table.iter_rows(named=True):
            numbers = {name: row[name] for name in axes}
            history = fit(few, model, beta=BETA, tau=TAU, **numbers)
            assert row["evidence"] == pytest.approx(history.log_evidence / 200, abs=1e-9)
            _, logs = prequential(few, model, beta=BETA, tau=TAU, window=0, **numbers)
            assert row["log_loss"] == pytest.approx(-float(np.mean(logs.to_numpy())), abs=1e-12)
        missing = {name for name in found.table.columns if found.table[name].null_count()}
        assert missing == {"newcomers"}  # a word that stands still here; the rest are numbers
        assert "draw_form" not in found.edges


def test_a_refinement_keeps_the_best_form() -> None:
    few = FEW.head(300)
    found = tune(
        few, "ttt-d", beta=BETA, tau=TAU, margin_mu=[100.0, 200.0], margin_sigma=[20.0, 80.0],
        draw_form=["two-factor", "between"], optimise=True, window=0,
    )  # fmt: skip
    forms = found.table.group_by("draw_form").agg(pl.col("evidence").max())
    best = forms.sort("evidence")["draw_form"][-1]
    refined = found.table.filter(point="refined")
    assert refined["draw_form"].to_list() == [best]
    grid = found.table.filter(point="grid")["evidence"].to_list()
    assert refined["evidence"][0] >= max(grid)


def test_only_ratios_matter_and_a_search_needs_a_scale() -> None:
    """All numbers are points: with all of them twice as large every game is as likely."""
    few = FEW.head(200)
    one = tune(few, beta=300.0, tau=60.0, sigma=400.0, draw=150.0, window=0).best
    two = tune(few, beta=600.0, tau=120.0, sigma=800.0, draw=300.0, window=0).best
    assert two.evidence == pytest.approx(one.evidence, abs=1e-9)
    assert two.log_loss == pytest.approx(one.log_loss, abs=1e-9)
    axes: dict[str, Any] = {"beta": [200.0, 400.0], "tau": [30.0, 90.0], "sigma": [300.0, 500.0]}
    with pytest.raises(InputError, match="only the ratios of beta, tau, sigma matter"):
        tune(few, optimise=True, **axes)
    # A margin in points is a scale.
    assert tune(few, optimise=True, draw=150.0, window=0, **axes).settled


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


def test_words_are_compared_on_the_grid_too() -> None:
    found = tune(FEW, beta=BETA, tau=TAU, draw=["share", 150.0], newcomers=[None, "learn"])
    assert found.table["draw"].to_list() == [None, 150.0] * 2
    assert found.table["newcomers"].to_list() == [None, None, "learn", "learn"]
    assert [loss is None for loss in found.table["log_loss"]] == [False, False, True, True]


def test_progress_counts_every_point() -> None:
    seen: list[Progress] = []
    found = tune(FEW, beta=[200.0, 300.0], tau=[40.0, 60.0], window=0, progress=seen.append)
    assert [news.done for news in seen] == [1, 2, 3, 4]
    assert found.evaluations == 4


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"model": "elo"}, "ttt or ttt-d"),
        ({"by": "luck"}, "evidence or prequential"),
        ({"beta": []}, "at least one beta"),
        ({"beta": [0.0]}, "positive beta"),
        ({"tau": [-1.0]}, "zero or more"),
        ({"margin_mu": [100.0]}, "the model ttt has no option margin_mu; its options are beta,"),
        ({"margin_tau": 3.0}, "the model ttt has no option margin_tau"),
        ({"draw_form": ["between"]}, "the model ttt has no option draw_form"),
        ({"model": "ttt-d", "draw": [100.0, 200.0]}, "the model ttt-d has no option draw"),
        ({"mu": [1000.0, 1200.0]}, "mu is no option to vary"),
        ({"model": "ttt-d", "draw_form": ["between", "both"]}, "draw_form to be one of"),
        ({"sigma": [400.0, 0.0]}, "positive sigma"),
        ({"sigma": "share"}, "positive sigma"),
        ({"sigma": ["share", 100.0]}, "positive sigma"),
        ({"draw": "shares"}, "expected share, auto, learn or a number as draw"),
        ({"draw": [100.0, 0.0]}, "the draw margin cannot be 0"),
        ({"draw": [-1.0]}, "zero or more"),
        ({"first_mover": "later"}, "expected learn, learn-by-period, a number"),
        ({"first_mover": [math.inf]}, "finite advantage"),
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


def test_a_search_in_more_numbers_may_take_longer() -> None:
    assert [search_limit(n) for n in (1, 2, 3, 4)] == [60, 60, 180, 320]


def test_the_values_of_an_axis() -> None:
    assert parse_values("-60:60:3") == [-60.0, 0.0, 60.0]
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
