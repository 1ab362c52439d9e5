"""TrueSkill Through Time against the shared cases, its invariances, and its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri
from tests.history.samples import fit, simulated, table

from milepost.errors import InputError
from milepost.history.result import History


def posterior(history: History, player: str, time: Any) -> tuple[float, float]:
    row = history.curves.filter(player=player, time=time).row(0, named=True)
    return row["mean"], row["sd"]


def differences(one: History, two: History) -> float:
    both = one.curves.join(two.curves, on=["player", "time"], how="full", validate="1:1")
    assert both.null_count().select("mean", "mean_right").row(0) == (0, 0)
    return max(
        (both["mean"] - both["mean_right"]).abs().max(),  # type: ignore[type-var, return-value]
        (both["sd"] - both["sd_right"]).abs().max(),
    )


@pytest.mark.parametrize(
    "name",
    ["h01-cycle-untimed", "h03-cycle-one-batch", "h07-readme-filter", "h08-readme-converged"],
)
def test_shared_histories(cases: dict[str, Any], name: str) -> None:
    case = cases[name]
    given = dict(case["params"])
    p_draw = given.pop("p_draw")
    margin = math.sqrt(2) * given["beta"] * float(ndtri((1 + p_draw) / 2))
    untimed = case["games"][0]["time"] is None
    rows = [
        (number + 1 if untimed else game["time"], game["teams"][0][0], game["teams"][1][0],
         float(game["result"][0] > game["result"][1]))
        for number, game in enumerate(case["games"])
    ]  # fmt: skip
    history = fit(
        table(rows), period="game" if untimed else 1, draw=margin, stage=case["stage"],
        tolerance=1e-6, **given,
    )  # fmt: skip
    for player, curve in case["expected"]["learning_curves"].items():
        for time, mean, sd in curve:
            found = posterior(history, player, time)
            assert found == pytest.approx((mean, sd), abs=case["tolerance"])


def test_small_chessbase(cases: dict[str, Any], small_chessbase: pl.DataFrame) -> None:
    case = cases["s01-small-chessbase-480-60"]
    history = fit(small_chessbase, draw=case["params"]["eps"], tolerance=1e-4)
    assert history.converged
    expected = case["expected"]
    assert history.log_evidence == pytest.approx(expected["log_evidence"], abs=1e-6)
    for player, year, mean, sd in expected["posteriors"]:
        found = posterior(history, player, year)
        assert found[0] == pytest.approx(mean, abs=case["tolerance"]["mu"])
        assert found[1] == pytest.approx(sd, abs=case["tolerance"]["sigma"])


def test_the_authors_output(cases: dict[str, Any], small_chessbase: pl.DataFrame) -> None:
    # Their program stopped early: means up to 30 points off, standard deviations within 0.52.
    case = cases["s04-authors-published-output"]
    margin = math.sqrt(2) * 600 * float(ndtri((1 + 0.135) / 2))
    history = fit(small_chessbase, beta=600, tau=40, draw=margin)
    for player, year, mean, sd in case["expected"]["posteriors"]:
        found = history.skill(player, year)  # years without games too
        assert found.mean == pytest.approx(mean, abs=case["tolerance"]["mu"])
        assert found.sd == pytest.approx(sd, abs=case["tolerance"]["sigma"])


def test_first_pass_is_the_filter_game_by_game() -> None:
    games = simulated(60, 8, 4)
    history = fit(games, stage="filter", draw=100.0)
    # the textbook filter, in plain Python: mean, variance and the time of the last game
    known: dict[str, tuple[float, float, int]] = {}
    total = 0.0
    from milepost.history.numerics.gaussians import draw_moments, log_below, log_draw, win_moments

    for time, one, two, score in games.select("time", "player_1", "player_2", "score").rows():
        first, second = (two, one) if score == 0 else (one, two)
        (m_i, v_i), (m_j, v_j) = (
            (1200.0, 160000.0) if name not in known
            else (known[name][0], known[name][1] + 3600.0 * (time - known[name][2]))
            for name in (first, second)
        )  # fmt: skip
        c = math.sqrt(v_i + v_j + 2 * 480**2)
        t, alpha = (m_i - m_j) / c, 100.0 / c
        v, w = draw_moments(t, alpha) if score == 0.5 else win_moments(t - alpha)
        total += log_draw(t, alpha) if score == 0.5 else log_below(t - alpha)
        known[first] = (m_i + v_i / c * v, v_i * (1 - v_i / c**2 * w), time)
        known[second] = (m_j - v_j / c * v, v_j * (1 - v_j / c**2 * w), time)
    for name, (mean, variance, time) in known.items():
        assert posterior(history, name, time) == pytest.approx((mean, math.sqrt(variance)))
    assert history.log_evidence == pytest.approx(total, rel=1e-10)
    assert fit(games, "trueskill", draw=100.0).curves.equals(history.curves)


def test_shift_and_scale() -> None:
    games = simulated(400, 20, 5)
    plain = fit(games, tolerance=1e-5)
    shifted = fit(games, mu=5000.0, tolerance=1e-5)
    means = shifted.curves["mean"] - plain.curves["mean"]
    assert means.min() == pytest.approx(3800, abs=1e-6)
    assert means.max() == pytest.approx(3800, abs=1e-6)
    assert shifted.log_evidence == pytest.approx(plain.log_evidence, rel=1e-12)
    k = 1 / 48
    scaled = fit(games, mu=1200 * k, sigma=400 * k, beta=10, tau=60 * k, tolerance=1e-6)
    assert np.allclose(scaled.curves["mean"], plain.curves["mean"] * k, atol=1e-5)
    assert np.allclose(scaled.curves["sd"], plain.curves["sd"] * k, atol=1e-5)
    assert scaled.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_order_and_colours_do_not_matter(model: str) -> None:
    games = simulated(300, 15, 4)
    plain = fit(games, model, tolerance=1e-4, first_mover=30.0)
    mixed = games.sample(fraction=1.0, shuffle=True, seed=5)
    swapped = mixed.select(
        "time", player_1="player_2", player_2="player_1", score=1 - pl.col("score"),
        first_mover=3 - pl.col("first_mover"),
    )  # fmt: skip
    for other in (mixed, swapped):
        again = fit(other, model, tolerance=1e-4, first_mover=30.0)
        assert differences(plain, again) < 1e-3
        assert again.log_evidence == pytest.approx(plain.log_evidence, abs=1e-6)


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_weight_two_is_the_game_twice(model: str) -> None:
    games = simulated(120, 10, 3)
    options: dict[str, Any] = {"tolerance": 1e-5} | ({"draw": 150.0} if model == "ttt" else {})
    twice = fit(pl.concat([games, games]), model, **options)
    weighted = fit(games.with_columns(weight=2.0), model, **options)
    assert differences(twice, weighted) < 1e-3
    assert weighted.log_evidence == pytest.approx(twice.log_evidence, abs=1e-6)


def test_smaller_weights_count_less() -> None:
    games = table([(0, "a", "b", 1.0)])
    gains = [
        posterior(fit(games.with_columns(weight=w), draw=0.0), "a", 0)[0] - 1200
        for w in (0.01, 0.5, 1.0, 1.5, 3.0)
    ]
    assert gains == sorted(gains)
    assert 0 < gains[0] < 5


def test_draws_cannot_have_a_margin_of_zero() -> None:
    with pytest.raises(InputError, match="margin cannot be 0"):
        fit(table([(0, "a", "b", 0.5)]), draw=0.0)


@pytest.mark.parametrize(
    "wrong",
    [{"model": "x"}, {"sigma": 0}, {"beta": -1}, {"tau": math.nan}, {"draw": "half"}, {"draw": -1},
     {"first_mover": "x"}, {"newcomers": "x"}, {"stage": "x"}, {"model": "ttt-d", "draw_form": "x"},
     {"tolerance": 0}, {"max_sweeps": 0}, {"workers": 0},
     {"stage": "filter", "newcomers": "learn"}],
)  # fmt: skip
def test_wrong_options_are_said(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"expected|needs"):
        fit(table([(0, "a", "b", 1.0)]), **wrong)


# edge cases, by name


def finite(history: History) -> History:
    values = history.curves.select("mean", "sd").to_numpy()
    assert np.isfinite(values).all()
    assert (values[:, 1] > 0).all()
    assert math.isfinite(history.log_evidence)
    assert history.converged
    return history


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_one_game(model: str) -> None:
    history = finite(fit(table([(1900, "a", "b", 1.0)]), model))
    (a, _), (b, _) = posterior(history, "a", 1900), posterior(history, "b", 1900)
    assert a + b == pytest.approx(2400)
    assert a > b


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_disconnected_groups_do_not_touch_each_other(model: str) -> None:
    left, right = simulated(80, 6, 3, seed=2), simulated(80, 6, 3, seed=3)
    right = right.with_columns(pl.col("player_1", "player_2") + "x")
    options: dict[str, Any] = {"tolerance": 1e-4} | ({"draw": 100.0} if model == "ttt" else {})
    together = finite(fit(pl.concat([left, right]), model, **options))
    alone = fit(left, model, **options)
    part = together.curves.filter(~pl.col("player").str.ends_with("x"))
    assert np.allclose(part["mean"], alone.curves["mean"], atol=1e-3)


@pytest.mark.filterwarnings("ignore::milepost.history.fit.FarRatingsWarning")
@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
@pytest.mark.parametrize("score", [1.0, 0.5])
def test_an_80_sd_upset_and_a_draw_of_very_unequal_players(model: str, score: float) -> None:
    rows = [(0, "strong", f"w{n}", 1.0) for n in range(40)]
    rows += [(0, f"w{n}", "weak", 1.0) for n in range(40)]
    rows += [(1, "weak", "strong", score)]
    options: dict[str, Any] = {"sigma": 4000.0, "beta": 10.0, "tau": 1.0}
    own = {"margin_mu": 6.0, "margin_sigma": 2.0, "margin_tau": 0.2}
    options |= own if model == "ttt-d" else {"draw": 2.0}
    history = finite(fit(table(rows), model, **options))
    apart = (
        fit(table(rows[:-1]), model, **options).skill("strong", 1).mean
        - fit(table(rows[:-1]), model, **options).skill("weak", 1).mean
    )
    assert apart > 80 * math.sqrt(2) * 10
    assert history.skill("strong", 1).mean - history.skill("weak", 1).mean < apart


@pytest.mark.parametrize("share", [0.0005, 0.9995, 1.0])
def test_tiny_and_huge_shares_of_draws(share: float) -> None:
    games = simulated(2000, 12, 2).with_columns(score=pl.lit(0.5))
    decided = round(2000 * (1 - share))
    games = games.with_columns(
        score=pl.when(pl.int_range(pl.len()) < decided).then(1.0).otherwise(0.5)
    )
    finite(fit(games))


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_no_drift(model: str) -> None:
    still: dict[str, Any] = {"tau": 0.0} | ({"margin_tau": 0.0} if model == "ttt-d" else {})
    history = finite(fit(simulated(200, 8, 5), model, tolerance=1e-4, **still))
    # one skill for life
    spread = history.curves.group_by("player").agg(pl.col("mean").max() - pl.col("mean").min())
    assert spread["mean"].max() < 1e-3  # type: ignore[operator]


@pytest.mark.filterwarnings("ignore::milepost.history.fit.FarRatingsWarning")
@pytest.mark.parametrize("sigma", [1e-3, 1e5])
def test_tiny_and_huge_sigma(sigma: float) -> None:
    finite(fit(simulated(200, 8, 3), sigma=sigma))
    finite(fit(table([(0, "a", "b", 1.0)]), sigma=sigma))


def test_long_gaps_and_many_periods() -> None:
    history = finite(fit(table([(1, "a", "b", 1.0), (100001, "a", "b", 0.0)])))
    assert history.skill("a", 50000).sd > 5 * history.skill("a", 1).sd


@pytest.mark.parametrize("margin", [1.0, 150.0, 3000.0])
def test_games_two_at_once_are_games_one_by_one(margin: float) -> None:
    """In the table and out of it: tiny margins, and such that nothing but draws is likely."""
    from milepost.history import TTT
    from milepost.history.records import read_records
    from milepost.history.ttt.evidence import ttt_log_evidence
    from milepost.history.ttt.from_model import fresh_state
    from milepost.history.ttt.graph import no_sums
    from milepost.history.ttt.passes import pass_games
    from milepost.history.ttt.state import TTTState

    records = read_records(simulated(3000, 60, 5))
    states = [fresh_state(records, TTT(first_mover=60.0, draw=margin)) for _ in range(2)]
    noted = [(np.zeros(records.games), no_sums(records.nodes, 1)) for _ in states]
    for state, (curvature, sums), width in zip(states, noted, (records.games, 1), strict=True):
        assert isinstance(state, TTTState)
        state.chains.belief[:, 0] = 1e-5
        for _ in range(2):
            for array in sums:
                array[:] = 0.0
            for begin in range(0, records.games, width):
                skipped, degree, pull = pass_games(
                    state.graph.first, state.graph.second, state.graph.drawn, state.graph.mover,
                    state.chains.belief, state.message, begin, min(begin + width, records.games),
                    1, margin, 2 * 480.0**2, 60.0, curvature, sums.degree, sums.pull,
                )  # fmt: skip
                assert skipped == 0
                sums.lead_degree[0] += degree
                sums.lead_pull[0] += pull
    np.testing.assert_allclose(states[0].message, states[1].message, rtol=1e-9, atol=1e-18)
    for one, two in zip((noted[0][0], *noted[0][1]), (noted[1][0], *noted[1][1]), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    # The evidence takes games with weights one by one.
    together = states[0]
    assert isinstance(together, TTTState)
    alone = TTTState(
        records, together.model, together.graph._replace(weight=np.ones(records.games)),
        together.chains, together.message, together.level, together.advantage,
    )  # fmt: skip
    assert ttt_log_evidence(together) == pytest.approx(ttt_log_evidence(alone), rel=1e-12)
