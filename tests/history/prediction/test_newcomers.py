"""Newcomers' priors from their company, their faster drift, and forecasts that use them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit

from milepost.errors import InputError
from milepost.history.models import TTT, make_model
from milepost.history.prediction.forward import Forecast, forecast, predict_forward
from milepost.history.prediction.newcomers import Company, faster_newcomers
from milepost.history.records import Records, read_records
from milepost.history.ttt.from_model import fresh_state


def pools(seed: int = 7) -> pl.DataFrame:
    """Two strengths of events; each year new players come into the events of their strength."""
    rng = np.random.default_rng(seed)
    rows = []
    skill: dict[str, float] = {}
    for year in range(12):
        for pool, level in (("a", -350.0), ("b", 350.0)):
            for number in range(6):
                skill[f"{pool}{year:02}{number}"] = level + rng.normal(0, 80)
            names = [n for n in skill if n[0] == pool and int(n[1:3]) >= year - 3]
            # A few meet the other pool, so that the two are tied together.
            others = [n for n in skill if n[0] != pool and int(n[1:3]) < year]
            for n in range(90):
                one, two = rng.choice(names, 2, replace=False)
                if n < 6 and others:
                    two = str(rng.choice(others))
                apart = skill[one] - skill[two] + 40 + rng.normal(0, 280 * math.sqrt(2))
                score = 1.0 if apart > 120 else 0.0 if apart < -120 else 0.5
                rows.append((1990 + year, str(one), str(two), score, 1))
    columns = ["time", "player_1", "player_2", "score", "first_mover"]
    return pl.DataFrame(rows, schema=columns, orient="row")


GAMES = pools()
RECORDS = read_records(GAMES)
NUMBERS = {"beta": 280.0, "tau": 20.0, "sigma": 400.0, "first_mover": 40.0}


def run(records: Records = RECORDS, model: str = "ttt", **extra: object) -> Forecast:
    draw = {"draw": 120.0} if model == "ttt" else {"margin_mu": 120.0, "margin_sigma": 50.0}
    options: Any = make_model(model, stage="filter", **NUMBERS, **draw)
    return forecast(fresh_state(records, options), window=3, **extra)  # type: ignore[arg-type]


def log_loss(found: Forecast, records: Records = RECORDS) -> float:
    score = GAMES["score"].to_numpy()[records.row]
    chance = np.where(score == 1, found.win, np.where(score == 0.5, found.draw, found.loss))
    return -float(np.log(chance).mean())


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_a_forecast_is_what_the_forward_predictions_are(model: str) -> None:
    found = run(model=model)
    draw = {"draw": 120.0} if model == "ttt" else {"margin_mu": 120.0, "margin_sigma": 50.0}
    options: Any = make_model(model, stage="filter", **NUMBERS, **draw)
    logs = predict_forward(fresh_state(RECORDS, options), window=3)
    assert found.win + found.draw + found.loss == pytest.approx(1.0, abs=1e-12)
    # With margins of their own the three chances of the factors sum to 1 but for negative margins.
    allowed = 1e-9 if model == "ttt" else 0.02
    assert log_loss(found) == pytest.approx(-float(logs.mean()), abs=allowed)


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_a_forecast_is_what_a_history_that_ends_before_predicts(model: str) -> None:
    """The last year by the filter, against `History.predict` of the years before it."""
    draw = {"draw": 120.0} if model == "ttt" else {"margin_mu": 120.0, "margin_sigma": 50.0}
    options: Any = make_model(model, stage="filter", **NUMBERS, **draw)
    found = forecast(fresh_state(RECORDS, options), window=0)
    before = fit(GAMES.filter(pl.col("time") < 2001), model, stage="filter", **NUMBERS, **draw)
    known = set(before.curves["player"])
    begin = int(RECORDS.game_start[-2])
    compared = 0
    for place in range(begin, RECORDS.games):
        _, one, two, *_ = GAMES.row(int(RECORDS.row[place]))
        if one not in known or two not in known:
            continue
        win, drawn, loss = before.predict(one, two, 2001, first_mover=1)
        assert (found.win[place], found.draw[place], found.loss[place]) == pytest.approx(
            (win, drawn, loss), abs=1e-9
        )
        compared += 1
    assert compared > 50


def test_company_helps_where_fields_are_made_by_strength() -> None:
    plain, known = run(), run(company=Company(slope=1.0, behind=0.0, sd=100.0))
    assert log_loss(known) < log_loss(plain) - 0.01


def test_company_is_not_known_to_the_first_period() -> None:
    """Pairings of a period may hang on its results: its predictions must not see them."""
    found = run(company=Company(slope=1.0, behind=0.0, sd=100.0, least=10**6))
    new = RECORDS.previous[np.where(RECORDS.swapped, RECORDS.second, RECORDS.first)] < 0
    assert found.mean_1[new] == pytest.approx(0.0)
    assert found.sd_1[new] == pytest.approx(400.0)
    # With a level learned, all newcomers of a period begin at one level, whatever their company.
    found = run(company=Company(slope=1.0, behind=0.0, sd=100.0, least=5))
    period = np.repeat(np.arange(RECORDS.periods), np.diff(RECORDS.game_start))
    for p in range(RECORDS.periods):
        assert np.ptp(found.mean_1[new & (period == p)]) == pytest.approx(0.0, abs=1e-9)


def test_the_prior_after_the_first_period_is_the_rule() -> None:
    """One newcomer against one known player; a draw margin so wide that the draw tells nothing."""
    games = pl.DataFrame({
        "time": [1, 1, 2, 3],
        "player_1": ["a", "b", "new", "new"],
        "player_2": ["b", "a", "a", "b"],
        "score": [0.5, 0.5, 0.5, 0.5],
    })  # fmt: skip
    records = read_records(games, period=1.0)
    options = TTT(stage="filter", sigma=400.0, tau=10.0, draw=1e6)
    told = np.zeros((records.nodes, 2))
    told[0] = 1.0, 300.0
    rule = Company(slope=0.5, behind=30.0, sd=100.0)
    found = forecast(fresh_state(records, options), window=2, company=rule, told=told)
    known = 300.0 / (1.0 + 400.0**-2)
    assert found.mean_2[2] == pytest.approx(known, abs=1e-6)
    assert found.mean_1[2] == pytest.approx(0.0, abs=1e-9)
    assert found.mean_1[3] == pytest.approx(0.5 * known - 30.0, abs=1e-6)
    assert found.sd_1[3] == pytest.approx(math.hypot(100.0, 10.0), abs=1e-6)


def test_what_is_told_is_used_at_once() -> None:
    told = np.zeros((RECORDS.nodes, 2))
    node = int(np.flatnonzero(RECORDS.previous < 0)[-1])
    told[node] = 100.0**-2 - 400.0**-2, 250.0 * 100.0**-2
    found = run(told=told)
    one = np.where(RECORDS.swapped, RECORDS.second, RECORDS.first)
    two = np.where(RECORDS.swapped, RECORDS.first, RECORDS.second)
    mean = np.concatenate([found.mean_1[one == node], found.mean_2[two == node]])
    assert len(mean)
    assert mean == pytest.approx(250.0)


def test_faster_newcomers_stretch_the_time_of_the_first_years() -> None:
    fast = faster_newcomers(RECORDS, factor=3.0, years=2.0)
    has = RECORDS.previous >= 0
    began: dict[int, float] = {}
    clock = RECORDS.clock[RECORDS.node_period]
    for node in range(RECORDS.nodes):
        began.setdefault(int(RECORDS.node_player[node]), float(clock[node]))
    for node in np.flatnonzero(has)[:200]:
        age = clock[RECORDS.previous[node]] - began[int(RECORDS.node_player[node])]
        expected = RECORDS.elapsed[node] * (1 + 3 * math.exp(-age / 2))
        assert fast.elapsed[node] == pytest.approx(expected)
    assert np.array_equal(fast.elapsed[~has], RECORDS.elapsed[~has])
    same = faster_newcomers(RECORDS, factor=0.0, years=2.0)
    assert np.array_equal(same.elapsed, RECORDS.elapsed)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="positive sd"):
        Company(sd=0.0)
    with pytest.raises(InputError, match="finite slope"):
        Company(slope=math.nan)
    with pytest.raises(InputError, match="below their sigma"):
        run(company=Company(sd=500.0))
    with pytest.raises(InputError, match="for each node"):
        run(told=np.zeros((3, 2)))
    with pytest.raises(InputError, match="factor >= 0"):
        faster_newcomers(RECORDS, factor=-1.0, years=1.0)
