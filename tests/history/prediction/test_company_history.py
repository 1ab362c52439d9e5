"""The model forecast: the newcomers' rules of the study as a history, and nothing of the future."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.test_history_commands import run

import milepost as mp
from milepost.errors import InputError
from milepost.history import load_history, prequential, save_history, tune
from milepost.history.prediction.company import periods_in
from milepost.history.prediction.forward import forecast
from milepost.history.prediction.newcomers import Company, faster_newcomers
from milepost.history.records import read_records
from milepost.history.ttt.from_model import fresh_state


def leagues(seed: int = 5, years: int = 10) -> pl.DataFrame:
    """Two leagues, of strong and of weak players; newcomers are like those they first meet."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    rosters = [[f"l{league}p{i}" for i in range(12)] for league in range(3)]
    skill = {name: 600.0 * league + rng.normal(0, 120)
             for league, roster in enumerate(rosters) for name in roster}  # fmt: skip
    for month in range(12 * years):
        for league, roster in enumerate(rosters):
            if month % 3 == 0:  # somebody leaves, a newcomer of the league's level comes
                gone, name = roster.pop(0), f"l{league}new{month}"
                del gone
                skill[name] = 600.0 * league + rng.normal(0, 120)
                roster.append(name)
            for _ in range(25):
                one, two = rng.choice(len(roster), 2, replace=False)
                rows.append((month, roster[one], roster[two]))
        # The leagues meet now and then, so that their levels are known.
        low, high = rng.choice(3, 2, replace=False)
        rows += [(month, rosters[low][i], rosters[high][i]) for i in range(6)]
    table = pl.DataFrame(rows, schema=["month", "player_1", "player_2"], orient="row")
    strength = [np.array([skill[name] for name in table[f"player_{k}"]]) for k in (1, 2)]
    apart = strength[0] - strength[1] + rng.normal(0, 300 * math.sqrt(2), len(table))
    return table.select(
        pl.date(2000 + pl.col("month") // 12, pl.col("month") % 12 + 1, 1).alias("time"),
        "player_1", "player_2",
        pl.Series("score", np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5))),
    )  # fmt: skip


@pytest.fixture(scope="module")
def games() -> pl.DataFrame:
    return leagues()


@pytest.fixture(scope="module")
def history(games: pl.DataFrame) -> mp.History:
    return mp.fit_history(games, mp.Forecast(), period="month")


def test_it_is_the_studys_way_of_predicting(games: pl.DataFrame, history: mp.History) -> None:
    """Beside the functions that docs/prediction.md was made with."""
    model = mp.Forecast()
    records = read_records(games, period="month")
    assert periods_in(records, 1.0) == 12
    state = fresh_state(faster_newcomers(records, factor=12.8, years=4.5), model)
    told = forecast(state, window=12, company=Company(slope=0.62, behind=132.0, sd=340.0))
    score = games["score"].to_numpy()[records.row]
    chance = np.where(score == 1.0, told.win, np.where(score == 0.5, told.draw, told.loss))
    assert history.log_evidence == pytest.approx(float(np.log(chance).sum()))
    table, logs = prequential(games, model, period="month")
    assert np.allclose(logs.to_numpy()[records.row], np.log(chance))
    assert table["games"].sum() == len(games)


def test_nothing_of_the_future_is_known(games: pl.DataFrame) -> None:
    early = games.filter(pl.col("time") < pl.date(2005, 1, 1))
    whole = prequential(games, mp.Forecast(), period="month")[1]
    part = prequential(early, mp.Forecast(), period="month")[1]
    assert np.allclose(whole.head(len(early)), part)


def test_company_predicts_better_where_it_tells(games: pl.DataFrame) -> None:
    model = mp.Forecast(behind=0.0, slope=1.0, company_sd=150.0, factor=0.0)
    alike = mp.TTTD(beta=300.0, tau=30.0, margin_mu=158.0, margin_sigma=88.0, margin_tau=16.5)
    ours = prequential(games, model, period="month")[1].to_numpy()
    plain = prequential(games, alike, period="month", window=12)[1].to_numpy()
    late = (games["time"] >= date(2003, 1, 1)).to_numpy()
    gain = ours[late] - plain[late]
    assert gain.mean() > 3.0 * gain.std() / math.sqrt(len(gain)) > 0.0


def test_young_skills_drift_faster_after_the_last_game(history: mp.History) -> None:
    """Between and beyond periods: variance grows by tau² (1 + factor exp(-age / years)) a year."""
    model = mp.Forecast()
    last = history.curves.group_by("player").agg(pl.col("time").min().alias("first"),
                                                 pl.col("time").max().alias("last"))  # fmt: skip
    for player, first, end in last.sort("player").head(12).iter_rows():
        at = history.moment(end)
        age = at - history.moment(first)
        before, after = history.skill(player, at), history.skill(player, at + 2.0)
        drift = model.tau**2 * (1.0 + model.factor * math.exp(-age / model.years)) * 2.0
        assert after.sd**2 - before.sd**2 == pytest.approx(drift)
        assert after.mean == pytest.approx(before.mean)
    ranking = history.rank("2009-06", games=0)
    for player, mean, sd in ranking.select("player", "mean", "sd").head(8).iter_rows():
        known = history.skill(player, "2009-06")
        assert (mean, sd) == pytest.approx((known.mean, known.sd))


def test_it_is_saved_and_asked_again(history: mp.History, tmp_path: Path) -> None:
    save_history(history, tmp_path / "h")
    again = load_history(tmp_path / "h")
    assert again.model == history.model
    one, two = history.rank("now", games=0)["player"][:2]
    for time in ("2004-05", "2015"):
        assert again.predict(one, two, time) == pytest.approx(history.predict(one, two, time))
        assert again.skill(one, time) == history.skill(one, time)
    same = again.compare(f"={one}@2009", f"={one}@2012")
    assert same.difference.sd < math.hypot(same.first.sd, same.second.sd)


def test_the_command(games: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "games.parquet"
    games.write_parquet(path)
    code, _, told = run(
        "history", path, "--set", "newcomers=company", "--period", "month", "--save", tmp_path / "h"
    )
    assert code == 0, told
    assert "forecast, period month" in told
    assert "one pass forward" in told
    assert load_history(tmp_path / "h").model == mp.Forecast()
    code, _, told = run("history", path, "--set", "newcomers=learn", "--save", tmp_path / "l")
    assert code == 0, told
    assert load_history(tmp_path / "l").model.newcomers == "learn"  # type: ignore[union-attr]
    for arguments, words in (
        (("--set", "newcomers=rating"), "expected one of none, learn, company"),
        (("--set", "newcomers=company", "--model", "elo"), "is the model forecast, not elo"),
        (("--set", "newcomers=company", "--period", "game"), "a period longer than a game"),
    ):
        code, _, told = run("history", path, *arguments, "--save", tmp_path / "x")
        assert code == 1
        assert words in told


def test_what_cannot_be_is_refused(games: pl.DataFrame) -> None:
    for options, words in (
        ({"company_sd": 500.0}, "company_sd below sigma"),
        ({"stage": "converged"}, "goes forward in time"),
        ({"newcomers": "learn"}, "needs the stage converged"),
        ({"factor": -1.0}, "factor of zero or more"),
        ({"years": 0.0}, "positive years"),
        ({"slope": math.nan}, "finite slope"),
    ):
        with pytest.raises(InputError, match=words):
            mp.Forecast(**options)
    with pytest.raises(InputError):
        tune(games, mp.Forecast(), vary={"beta": [200.0, 300.0]})
    assert mp.Forecast.for_chess().first_mover == 62.0
