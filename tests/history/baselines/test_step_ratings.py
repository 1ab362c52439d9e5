"""Histories of Elo and Glicko-2: their curves, and the questions that their models answer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, simulated, table

from milepost.errors import InputError
from milepost.history import History, load_history, save_history, update_history
from milepost.history.baselines.step_ratings import margin_of_share
from milepost.history.baselines.streams import fit_logistic_margin, logistic_outcomes
from milepost.tables import CURVES


@pytest.fixture(scope="module", params=["elo", "glicko2"])
def history(request: pytest.FixtureRequest) -> History:
    return fit(simulated(400, 10, 4), request.param, first_mover=30.0)


def test_they_have_curves(history: History) -> None:
    assert history.curves.columns == CURVES.names
    assert history.curves["mean"].is_finite().all()
    assert math.isnan(history.log_evidence)


def test_a_rating_holds_until_the_next_games(history: History) -> None:
    rows = history.curves.filter(player="p0001")
    assert history.skill("p0001", 1902).mean == rows.filter(time=1902)["mean"][0]
    assert history.skill("p0001", 1950).mean == rows["mean"][-1]
    new = history.skill("p0001", 1800)
    assert new.mean == 1200
    assert math.isnan(new.sd) if history.model.name == "elo" else new.sd == 350


def test_ranking(history: History) -> None:
    ranking = history.rank(1902)
    assert ranking["mean"].is_sorted(descending=True)
    for row in ranking.iter_rows(named=True):
        assert history.skill(row["player"], 1902).mean == row["mean"]
    assert history.rank(1950).is_empty()
    assert ranking["games"].sum() == 2 * simulated(400, 10, 4).filter(pl.col("time") <= 1902).height


def test_predictions(history: History) -> None:
    one = history.predict("p0001", "p0002", 1903, first_mover=1)
    assert math.fsum(one) == pytest.approx(1.0)
    two = history.predict("p0002", "p0001", 1903, first_mover=2)
    assert (one.win, one.draw, one.loss) == pytest.approx((two.loss, two.draw, two.win))
    assert one.win > history.predict("p0001", "p0002", 1903, first_mover=2).win


def test_elo_predicts_its_expected_score_between_equals_and_nearly_so_elsewhere() -> None:
    elo = fit(simulated(400, 10, 4), "elo")
    a, b = elo.skill("p0001", 1903).mean, elo.skill("p0002", 1903).mean
    chances = elo.predict("p0001", "p0002", 1903)
    expected = 1 / (1 + 10 ** (-(a - b) / 400))
    assert chances.win + 0.5 * chances.draw == pytest.approx(expected, abs=0.02)


def test_the_margin_gives_the_share_of_draws_and_is_near_the_most_likely_one() -> None:
    rng = np.random.default_rng(2)
    difference = rng.normal(0, 150, 20_000)
    chances = logistic_outcomes(difference, margin=90.0)
    drawn = np.array([rng.choice(3, p=row) for row in chances])
    score = np.array([1.0, 0.5, 0.0])[drawn]
    margin = margin_of_share(difference, float((score == 0.5).mean()))
    assert margin == pytest.approx(90, abs=4)
    assert margin == pytest.approx(fit_logistic_margin(difference, score, mover=0.0).margin, abs=3)
    again = logistic_outcomes(difference, margin=margin)[:, 1].mean()
    assert again == pytest.approx((score == 0.5).mean(), abs=1e-4)
    assert margin_of_share(difference, 0.0) == 0.0
    assert math.isfinite(margin_of_share(difference, 1.0))


def test_comparisons_need_an_uncertainty(history: History) -> None:
    if history.model.name == "elo":
        with pytest.raises(InputError, match="no uncertainty"):
            history.compare("p0001@1901", "p0002@1903")
        return
    found = history.compare("p0001@1901", "p0002@1903")
    assert found.difference.sd == pytest.approx(math.hypot(found.first.sd, found.second.sd))
    with pytest.raises(InputError, match="two times"):
        history.compare("p0001@1901", "p0001@1903")


def test_saved_and_loaded(history: History, tmp_path: Path) -> None:
    save_history(history, tmp_path / "h")
    again = load_history(tmp_path / "h")
    assert again.rank(1902).equals(history.rank(1902))
    assert again.predict("p0001", "p0002", 1903) == history.predict("p0001", "p0002", 1903)
    with pytest.raises(InputError, match="cannot be updated"):
        update_history(again, table([(1906, "p0001", "new", 1.0)]))
