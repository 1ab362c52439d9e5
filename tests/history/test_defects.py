"""Histories where they once answered wrongly, or fell over, one test for each."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, prequential, simulated, table, tune

from milepost.errors import InputError
from milepost.history import (
    Game,
    History,
    SkippedResultsWarning,
    load_history,
    save_history,
    update_history,
)
from milepost.history.fit import _only_finite
from milepost.history.solver.convergence import ConvergenceWarning

GAMES = simulated(120, 6, 4)
DATES = GAMES.with_columns(
    time=pl.date(pl.col("time"), 1 + pl.int_range(pl.len()) % 12, 1 + pl.int_range(pl.len()) % 28)
)


@pytest.mark.parametrize(("old", "new"), [(GAMES, DATES), (DATES, GAMES)])
def test_an_update_with_times_of_another_kind_is_refused(
    old: pl.DataFrame, new: pl.DataFrame
) -> None:
    with pytest.raises(InputError, match="both dates or both numbers"):
        update_history(fit(old), new)


def test_an_update_keeps_parts_of_a_year() -> None:
    more = table([(1903.7, "p0001", "p0002", 1.0)])
    updated = update_history(fit(GAMES, period="month"), more)
    both = pl.concat([GAMES.select(more.columns), more], how="vertical_relaxed")
    fresh = fit(both, period="month")
    # The other columns make no difference here: nobody moves first.
    assert updated.curves["time"].equals(fresh.curves["time"])
    assert updated.curves["time"].max() == pytest.approx(1903 + 8 / 12)


def test_an_update_remembers_the_rows_left_out() -> None:
    with pytest.warns(SkippedResultsWarning):
        first = fit(pl.concat([GAMES, GAMES[:2].with_columns(score=0.3)]))
    bad = GAMES[:3].with_columns(player_2="player_1")
    with pytest.warns(SkippedResultsWarning):
        updated = update_history(
            first, pl.concat([GAMES[:1], bad.with_columns(player_2=pl.col("player_1"))])
        )
    assert updated.skipped == {"a score other than 1, 0.5 and 0": 2, "a player against himself": 3}


def test_saving_over_an_older_history_leaves_nothing_of_it(tmp_path: Path) -> None:
    save_history(fit(GAMES), tmp_path)
    save_history(fit(GAMES, "elo"), tmp_path)
    assert not (tmp_path / "results.parquet").exists()
    with pytest.raises(InputError, match="cannot be updated"):
        update_history(load_history(tmp_path), GAMES)


def test_results_of_another_history_are_not_taken_up(tmp_path: Path) -> None:
    # As an earlier version left them.
    save_history(fit(GAMES, "elo"), tmp_path)
    GAMES.write_parquet(tmp_path / "results.parquet")
    about = json.loads((tmp_path / "history.json").read_text())
    del about["keeps_results"]
    (tmp_path / "history.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="cannot be updated"):
        update_history(load_history(tmp_path), GAMES)


@pytest.mark.parametrize("text", ["[]", "3", '{"format": 1}', '{"format": 1, "options": {"x": 1}}'])
def test_a_history_file_that_is_none(tmp_path: Path, text: str) -> None:
    save_history(fit(GAMES), tmp_path)
    (tmp_path / "history.json").write_text(text)
    with pytest.raises(InputError):
        load_history(tmp_path)


# By game --------------------------------------------------------------------------------------

# Between a's games lie many of others: a's own clock must not run on them.
OTHERS = [(1950 + n / 20, "c", "d", float(n % 2)) for n in range(100)]
OWN = [(1950.01, "a", "b", 1.0), (1952.01, "a", "b", 0.0), (1954.01, "a", "b", 1.0)]


def by_game(kind: str) -> tuple[History, History]:
    """The games of a and b among others', and without them."""
    if kind == "two":
        numbers: dict[str, Any] = {"draw": 100.0, "tolerance": 1e-6}
        return (
            fit(table(OTHERS + OWN), period="game", **numbers),
            fit(table(OWN), period="game", **numbers),
        )
    games = [
        [Game(t, [[one], [two]], scores=(s, 1 - s)) for t, one, two, s in rows]
        for rows in (OTHERS + OWN, OWN)
    ]
    one, two = (fit(g, period="game", draw=100.0, tolerance=1e-6) for g in games)
    return one, two


@pytest.mark.parametrize("kind", ["two", "teams"])
def test_by_game_the_clock_counts_own_games(kind: str, tmp_path: Path) -> None:
    among, alone = by_game(kind)
    save_history(among, tmp_path)
    for history in (among, load_history(tmp_path)):
        for when in (1949, 1951, 1953.5, 1954.01, 1990):
            one, two = history.skill("a", when), alone.skill("a", when)
            assert (one.mean, one.sd) == pytest.approx((two.mean, two.sd), abs=1e-4)
        answer = history.compare("a", "a", 1951, 1954.5).difference
        expected = alone.compare("a", "a", 1951, 1954.5).difference
        assert (answer.mean, answer.sd) == pytest.approx((expected.mean, expected.sd), abs=1e-4)


@pytest.mark.parametrize("kind", ["two", "teams"])
def test_by_game_the_answers_are_those_of_the_curve(kind: str) -> None:
    _, alone = by_game(kind)
    curve = alone.curves.filter(pl.col("player") == "a")
    for row in curve.iter_rows(named=True):
        skill = alone.skill("a", row["time"] + 0.3)
        assert (skill.mean, skill.sd) == pytest.approx((row["mean"], row["sd"]), abs=1e-6)
    ranked = alone.rank(1952.5)
    assert sorted(ranked["player"]) == ["a", "b"]
    of_a = ranked.filter(pl.col("player") == "a")
    assert of_a["mean"][0] == pytest.approx(curve["mean"][1], abs=1e-6)
    assert of_a["games"][0] == 2


def test_by_game_the_covariance_is_that_of_a_step_a_year() -> None:
    # The same games a year apart, one clock for both: `Lives` without steps, tested elsewhere.
    yearly = table([(n, *row[1:]) for n, row in enumerate(OWN)])
    numbers: dict[str, Any] = {"draw": 100.0, "tolerance": 1e-6}
    by_year = fit(yearly, period="year", **numbers).compare("a", "a", 0, 2).difference
    by_game = fit(table(OWN), period="game", **numbers).compare("a", "a", 1951, 1955).difference
    assert (by_game.mean, by_game.sd) == pytest.approx((by_year.mean, by_year.sd), abs=1e-4)


def test_by_game_dates_are_asked_by_dates() -> None:
    rows = [(date(1960 + n, 5, 2), "a", "b", float(n % 2)) for n in range(4)]
    history = fit(table(rows), period="game", tolerance=1e-6)
    curve = history.curves.filter(pl.col("player") == "a")
    assert history.skill("a", "1961-12-31").mean == pytest.approx(curve["mean"][1])
    assert history.rank("1963-06-01").height == 2


# Options --------------------------------------------------------------------------------------


def test_prequential_of_other_models() -> None:
    filtered, by_row = prequential(GAMES, "ttt", window=0, draw=120.0)
    trueskill, same = prequential(GAMES, "trueskill", draw=120.0)
    assert trueskill.equals(filtered)
    assert same.equals(by_row)
    for model in ("elo", "glicko2"):
        with pytest.raises(InputError, match=f"run_{model}"):
            prequential(GAMES, model)
    with pytest.raises(InputError, match="window of 0"):
        prequential(GAMES, "trueskill", window=2)
    with pytest.raises(InputError, match="no option foo"):
        tune(GAMES, beta=400.0, tau=50.0, foo=[1, 2])
    with pytest.raises(InputError, match="learned from the whole history"):
        prequential(GAMES, first_mover="learn")


@pytest.mark.parametrize(
    ("model", "value"),
    [("ttt", 40.0), ("ttt", "learn"), ("ttt-d", "learn-by-period"), ("trueskill", 40.0),
     ("elo", 40.0), ("glicko2", 40.0)],
)  # fmt: skip
def test_an_advantage_needs_first_movers(model: str, value: Any) -> None:
    with pytest.raises(InputError, match="who moved first"):
        fit(GAMES.drop("first_mover"), model, first_mover=value)
    assert fit(GAMES.drop("first_mover"), model, first_mover=0.0).converged


@pytest.mark.parametrize("value", [40.0, "learn"])
def test_nor_is_it_tuned_without_them(value: Any) -> None:
    with pytest.raises(InputError, match="who moved first"):
        tune(GAMES.drop("first_mover"), beta=400.0, tau=50.0, first_mover=value)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("ttt-d", {"sigma": 3e8}), ("ttt-d", {"tau": 1e8}), ("trueskill", {"sigma": 1e150}),
        ("ttt", {"sigma": 1e200}), ("ttt", {"beta": 1e-150}), ("ttt", {"sigma": 1e-300}),
        ("ttt", {"draw": 1e300}), ("ttt", {"first_mover": 1e300}), ("ttt", {"mu": 1e200}),
        ("ttt-d", {"margin_mu": 1e30}), ("ttt-d", {"margin_sigma": 1e30}),
    ],
)  # fmt: skip
def test_numbers_beyond_all_sense_are_refused(model: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected a"):
        fit(GAMES, model, **options)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("ttt", {"sigma": 4.8e8}), ("ttt", {"tau": 4.8e8}), ("ttt", {"sigma": 1e-3}),
        ("trueskill", {"sigma": 4.8e8}), ("trueskill", {"tau": 4.8e8}),
        ("ttt-d", {"sigma": 4.8e5}), ("ttt-d", {"tau": 4.8e5}),
        ("ttt-d", {"sigma": 1e-3}), ("ttt-d", {"margin_sigma": 4.8e5}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::milepost.history.ConvergenceWarning")
def test_numbers_at_the_bounds_give_numbers(model: str, options: dict[str, Any]) -> None:
    history = fit(GAMES, model, **options)
    finite = history.curves.select(pl.col("mean", "sd").is_finite().all()).row(0)
    assert all(finite)
    assert math.isfinite(history.log_evidence)


def test_a_history_with_a_nan_has_not_converged() -> None:
    history = fit(GAMES)
    broken = history.curves.with_columns(mean=pl.lit(math.nan))
    with pytest.warns(ConvergenceWarning, match="not finite"):
        found = _only_finite(
            History(**{**history.__dict__, "curves": broken})  # frozen, made anew
        )
    assert not found.converged
    assert _only_finite(history) is history


@pytest.mark.parametrize(
    "options",
    [{"beta": "x"}, {"draw": None}, {"draw": True}, {"sigma": None}, {"first_mover": True},
     {"period": True}, {"period": None}, {"tolerance": "x"}, {"max_sweeps": 2.5}, {"workers": 0},
     {"mu": 10**400}, {"model": "TTT"}, {"stage": None}],
)  # fmt: skip
def test_options_of_a_wrong_kind(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        fit(GAMES, **options)


@pytest.mark.parametrize(
    ("model", "options"),
    [("elo", {"tau": 5.0}), ("elo", {"beta": 3.0}), ("ttt", {"margin_mu": 200.0}),
     ("ttt-d", {"draw": 100.0}), ("glicko2", {"sigma": 1.0}), ("elo", {"stage": "filter"}),
     ("ttt", {"order": "random", "seed": 1}), ("elo", {"beta": 480.0}), ("ttt", {"foo": 1})],
)  # fmt: skip
def test_options_that_a_model_does_not_have(model: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"the model {model} has no option"):
        fit(GAMES, model, **options)


@pytest.mark.parametrize("model", ["trueskill", "elo", "glicko2"])
def test_nothing_is_swept_where_there_is_one_pass(model: str) -> None:
    with pytest.raises(InputError, match="makes one pass"):
        fit(GAMES, model, tolerance=0.1)


# The random order -----------------------------------------------------------------------------


def test_a_random_order_is_that_order_given() -> None:
    # The same shuffle by hand: a permutation as the time within each year.
    found = fit(GAMES, "trueskill", order="random", seed=7, draw=120.0)
    key = np.random.default_rng(7).permutation(len(GAMES))
    by_hand = GAMES.with_columns(key=key).sort("time", "key")
    expected = fit(by_hand, "trueskill", draw=120.0)
    assert found.curves.equals(expected.curves)
    given = fit(GAMES, "trueskill", draw=120.0)
    other = fit(GAMES, "trueskill", order="random", seed=8, draw=120.0)
    assert not np.allclose(found.curves["mean"], given.curves["mean"], atol=1e-3)
    assert not np.allclose(found.curves["mean"], other.curves["mean"], atol=1e-3)
    assert found.curves.equals(fit(GAMES, "trueskill", order="random", seed=7, draw=120.0).curves)


def test_a_random_order_is_drawn_anew_in_an_update(tmp_path: Path) -> None:
    options: dict[str, Any] = {"order": "random", "seed": 7, "draw": 120.0}
    first = fit(GAMES[:80], "trueskill", **options)
    save_history(first, tmp_path)
    fresh = fit(GAMES, "trueskill", **options)
    assert update_history(first, GAMES[80:]).curves.equals(fresh.curves)
    assert update_history(load_history(tmp_path), GAMES[80:]).curves.equals(fresh.curves)


@pytest.mark.parametrize(
    "options",
    [{"order": "random"}, {"seed": 3}, {"order": "sideways"}, {"order": "random", "seed": -1},
     {"order": "random", "seed": 1, "period": "game"}],
)  # fmt: skip
def test_orders_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        fit(GAMES, "trueskill", **options)
