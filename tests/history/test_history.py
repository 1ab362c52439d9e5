"""What a fitted history answers: predictions, rankings, comparisons, updates, files."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, prequential, simulated, table, tune
from tests.history.ttt.test_state import differences

from milepost.errors import InputError
from milepost.history import Game, History, load_history, save_history, update_history
from milepost.history.beliefs import Lives
from milepost.tables import CURVES


@pytest.fixture(scope="module", params=["ttt", "ttt-d"])
def history(request: pytest.FixtureRequest) -> History:
    return fit(simulated(600, 20, 6), request.param, first_mover="learn", tolerance=1e-3)


def test_curves_have_the_tables_columns(history: History) -> None:
    assert history.curves.columns == CURVES.names
    assert history.curves["games"].sum() == 2 * history.games
    own = history.model.name == "ttt-d"
    assert history.curves["margin_mean"].null_count() == (0 if own else history.nodes)


def test_predictions_sum_to_one_and_mirror(history: History) -> None:
    one = history.predict("p0001", "p0002", 1903, first_mover=1)
    assert math.fsum(one) == pytest.approx(1.0, abs=1e-12)
    two = history.predict("p0002", "p0001", 1903, first_mover=2)
    assert (one.win, one.draw, one.loss) == pytest.approx((two.loss, two.draw, two.win))
    neutral = history.predict("p0001", "p0002", 1903)
    assert one.win > neutral.win > history.predict("p0001", "p0002", 1903, first_mover=2).win


def test_far_from_the_games_beliefs_grow_wide(history: History) -> None:
    inside, after = history.skill("p0001", 1903), history.skill("p0001", 1950)
    assert after.sd > inside.sd
    last = history.curves.filter(player="p0001").row(-1, named=True)
    assert after.mean == pytest.approx(last["mean"])
    years = 1950 - last["time"]
    assert after.sd == pytest.approx(math.hypot(last["sd"], 60 * math.sqrt(years)))
    before = history.skill("p0001", 1890)
    assert before.sd > inside.sd


def test_skills_at_the_nodes_are_the_curves(history: History) -> None:
    for row in history.curves.head(40).iter_rows(named=True):
        found = history.skill(row["player"], row["time"])
        assert (found.mean, found.sd) == pytest.approx((row["mean"], row["sd"]))


def test_ranking(history: History) -> None:
    ranking = history.rank(1903)
    assert ranking["mean"].is_sorted(descending=True)
    assert ranking["rank"].to_list() == list(range(1, ranking.height + 1))
    row = ranking.row(3, named=True)
    found = history.skill(row["player"], 1903)
    assert (found.mean, found.sd) == pytest.approx((row["mean"], row["sd"]))
    assert history.rank(1950).is_empty()
    assert history.rank(1950, within=100).height == history.players
    assert (history.rank(1903, games=60)["games"] >= 60).all()


def test_comparisons_across_time(history: History) -> None:
    one = history.compare("p0001@1901", "p0002@1904")
    two = history.compare("p0002", "p0001", 1904, 1901)
    assert one.probability + two.probability == pytest.approx(1.0)
    assert one.difference.sd == pytest.approx(math.hypot(one.first.sd, one.second.sd))
    same = history.compare("p0001@1901", "p0001@1901")
    assert (same.probability, same.difference.sd) == pytest.approx((0.5, 0.0), abs=1e-4)
    with pytest.raises(InputError, match="expected a name and a time"):
        history.compare("p0001", "p0002@1904")
    with pytest.raises(InputError, match="no player is called 'p000x'; did you mean"):
        history.predict("p000x", "p0001", 1900)
    with pytest.raises(InputError, match="two different players"):
        history.predict("p0001", "p0001", 1900)


def test_one_life_at_two_times_is_correlated() -> None:
    # No games beside the first: x(1910) = x(1900) + drift, so the difference is the drift.
    history = fit(table([(1900, "a", "b", 1.0), (1900, "b", "a", 0.0)]))
    assert history.compare("a@1900", "a@1910").difference.sd == pytest.approx(60 * math.sqrt(10))
    assert history.compare("a@1880", "a@1900").difference.sd == pytest.approx(60 * math.sqrt(20))
    # With games at both ends, against the joint Gaussian of the two nodes' messages.
    history = fit(simulated(60, 5, 3), tolerance=1e-4)
    rows = history.curves.filter(player="p0001")["time"].to_list()
    found = history.compare(f"p0001@{rows[0]}", f"p0001@{rows[-1]}").difference.sd
    lives = history._skill
    assert isinstance(lives, Lives)
    begin, end = lives.rows_of("p0001")
    size = end - begin
    precision = np.zeros((size, size))
    for k in range(size):
        games = lives.table[begin + k, 0] - (
            400.0**-2 if k == 0 else 1 / (1 / lives.table[begin + k - 1, 0]
            + 3600 * (rows[k] - rows[k - 1]))
        )  # fmt: skip
        precision[k, k] += games + (400.0**-2 if k == 0 else 0.0)
        if k:
            link = 1 / (3600 * (rows[k] - rows[k - 1]))
            precision[k - 1 : k + 1, k - 1 : k + 1] += link * np.array([[1, -1], [-1, 1]])
    joint = np.linalg.inv(precision)
    exact = math.sqrt(joint[0, 0] + joint[-1, -1] - 2 * joint[0, -1])
    assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"model": "ttt-d"}, {"model": "ttt-d", "draw_form": "two-factor"}]
)
def test_an_update_is_a_fresh_fit(options: dict[str, Any]) -> None:
    games = simulated(500, 20, 5)
    options |= {"first_mover": "learn", "tolerance": 1e-3}
    if "model" not in options:
        options |= {"draw": 120.0}
    fresh = fit(games, **options)
    updated = update_history(fit(games[:400], **options), games[400:])
    assert differences(fresh, updated) < 5e-3
    assert updated.log_evidence == pytest.approx(fresh.log_evidence, abs=1e-5)
    assert updated.games == 500


def test_saved_and_loaded(history: History, tmp_path: Path) -> None:
    save_history(history, tmp_path / "h")
    again = load_history(tmp_path / "h")
    assert again.curves.equals(history.curves)
    assert (again.model, again.period, again.sweeping) == (
        history.model, history.period, history.sweeping,
    )  # fmt: skip
    assert repr(again) == repr(history)
    one, two = (h.predict("p0001", "p0002", 1908, first_mover=1) for h in (history, again))
    assert one == pytest.approx(two)
    more = table([(1906, "p0001", "new", 1.0)])
    assert differences(update_history(history, more), update_history(again, more)) < 1e-2
    assert not list(tmp_path.rglob("*.pkl"))
    with pytest.raises(InputError, match="no history"):
        load_history(tmp_path)


def test_it_prints_a_short_table(history: History) -> None:
    text = repr(history)
    for word in ("games", "600", "players", "log evidence a game", "converged", "points"):
        assert word in text
    assert len(text.splitlines()) < 12


def test_games_of_teams_go_to_the_general_graph() -> None:
    frame = simulated(60, 6, 3)
    games = [
        Game(time=time, teams=[[one], [two]], scores=[score, 1 - score])
        for time, one, two, score in frame.select("time", "player_1", "player_2", "score").rows()
    ]
    general, fast = fit(games, tolerance=1e-5), fit(frame, draw="share", tolerance=1e-5)
    assert general.log_evidence == pytest.approx(fast.log_evidence, abs=1e-5)
    both = general.curves.join(fast.curves, on=["player", "time"])
    assert both.height == fast.nodes
    assert np.allclose(both["mean"], both["mean_right"], atol=1e-3)
    with pytest.raises(InputError, match="ttt or trueskill"):
        fit(games, "elo")


def test_games_of_teams_answer_the_same_questions() -> None:
    frame = simulated(60, 6, 3).with_columns(time=pl.date("time", 5, 1))
    games = [
        Game(time=time, teams=[[one], [two]], scores=[score, 1 - score])
        for time, one, two, score in frame.select("time", "player_1", "player_2", "score").rows()
    ]
    # Dated games, a year each: the two-player core is the independent answer.
    general, fast = fit(games, tolerance=1e-5), fit(frame, draw="share", tolerance=1e-5)
    assert general.curves["time"].to_list() == fast.curves["time"].to_list()
    assert general.rank(1902, games=5)["player"].to_list() == (
        fast.rank(1902, games=5)["player"].to_list()
    )
    for time in ("1899", "1901-03-01", "1902", "1910"):
        here, there = (h.skill("p0001", time) for h in (general, fast))
        assert (here.mean, here.sd) == pytest.approx((there.mean, there.sd), abs=1e-3)
        chances = [h.predict("p0001", "p0002", time) for h in (general, fast)]
        assert chances[0] == pytest.approx(chances[1], abs=1e-5)
    pairs = ("p0001@1900", "p0003@1902"), ("p0001@1900", "p0001@1902")
    for pair in pairs:
        one, two = (h.compare(*pair) for h in (general, fast))
        assert one.probability == pytest.approx(two.probability, abs=1e-5)
        assert one.difference.sd == pytest.approx(two.difference.sd, abs=1e-3)


def test_games_without_times_and_by_month() -> None:
    teams = [["a", "b"], ["c"]]
    untimed = fit([Game(None, teams, [1, 0]), Game(None, teams, [0, 1])])
    assert untimed.curves.filter(player="a")["time"].to_list() == [1, 2]
    assert untimed.rank(2, within=0)["player"].len() == 3
    monthly = [Game(date(1990, month, 3), teams, [1, 0]) for month in (1, 1, 2)]
    assert fit(monthly).curves.height == 3
    assert fit(monthly, period="month").curves.height == 6


def test_games_of_teams_saved_and_loaded(tmp_path: Path) -> None:
    history = fit([Game(1990, [["a", "b"], ["c"]], [1, 0]), Game(1991, [["a"], ["c"]], [0, 1])])
    save_history(history, tmp_path / "h")
    again = load_history(tmp_path / "h")
    assert again.rank(1991).equals(history.rank(1991))
    assert again.predict("a", "c", 1992) == pytest.approx(history.predict("a", "c", 1992))


def test_tune_is_at_hand() -> None:
    found = tune(simulated(200, 8, 3), beta=[400.0, 480.0], tau=[60.0])
    assert found.best.model.beta in (400.0, 480.0)


def test_dates_and_months() -> None:
    games = simulated(200, 8, 3).with_columns(
        time=pl.date(pl.col("time"), 1 + pl.int_range(pl.len()) % 12, 5)
    )
    history = fit(games, period="month")
    assert history.curves["time"].dtype == pl.Date
    assert history.skill("p0001", date(1901, 6, 1)).sd > 0
    assert history.predict("p0001", "p0002", "1901-06-30").win > 0


def test_learned_advantage_is_where_the_evidence_peaks() -> None:
    games = simulated(3000, 20, 3)
    learned = fit(games, first_mover="learn", tolerance=1e-4)
    best = learned.paths["first_mover"][0]
    assert best == pytest.approx(40 * 480 * math.sqrt(2) / 400, abs=35)

    def penalised(advantage: float) -> float:
        evidence = fit(games, first_mover=advantage, tolerance=1e-4).log_evidence
        return evidence - 0.5 * (advantage / 480) ** 2

    here, left, right = penalised(best), penalised(best - 2), penalised(best + 2)
    assert here > left
    assert here > right
    assert right - left == pytest.approx(0.0, abs=2e-4)
    by_period = fit(games, first_mover="learn-by-period")
    assert by_period.paths["first_mover"].std() > 0  # type: ignore[operator]


def test_learned_newcomers_follow_a_rising_pool() -> None:
    # Every ten years a generation 150 points stronger, which plays the one before it.
    rng = np.random.default_rng(8)
    number = 6000
    year = np.sort(rng.integers(0, 30, number))
    one, two = (10 * (year // 10) + rng.integers(-10, 10, number) for _ in range(2))
    apart = 15.0 * (one // 10 - two // 10) * 10
    score = (apart + rng.normal(0, 680, number) > 0).astype(float)
    keep = one != two
    games = pl.DataFrame({
        "time": year, "player_1": one.astype(str), "player_2": two.astype(str), "score": score,
    }).filter(keep)  # fmt: skip
    flat, learned = fit(games, draw=0.0), fit(games, draw=0.0, newcomers="learn")
    path = learned.paths["newcomer_mean"]
    assert path[0] == pytest.approx(1200)
    assert path[-1] > path[0] + 60
    assert learned.log_evidence > flat.log_evidence


def careers(rise: float, trend: float) -> pl.DataFrame:
    """Forty years; 30 newcomers a year at `trend` a year, each `rise` better after five, 12 years.

    The first year's players include those of earlier years, so that the pool begins in its course.
    """
    rng = np.random.default_rng(11)
    entered = np.repeat(np.arange(-11, 40), 30)
    base = rng.normal(trend * np.maximum(entered, 0), 200)
    parts = []
    for year in range(40):
        active = np.flatnonzero((entered <= year) & (entered > year - 12))
        skill = base[active] + rise * np.minimum(year - entered[active], 5) / 5
        number = 6 * len(active)
        one = rng.integers(0, len(active), number)
        two = (one + rng.integers(1, len(active), number)) % len(active)
        apart = skill[one] - skill[two] + rng.normal(0, 480 * math.sqrt(2), number)
        parts.append(pl.DataFrame({
            "time": np.full(number, year), "player_1": active[one].astype(str),
            "player_2": active[two].astype(str), "score": (apart > 0).astype(float),
        }))  # fmt: skip
    return pl.concat(parts)


@pytest.mark.parametrize("trend", [-6.0, 0.0, 6.0])
def test_learned_newcomers_are_right_where_nobody_improves(trend: float) -> None:
    learned = fit(careers(0.0, trend), newcomers="learn", draw=0.0, sigma=200.0, tau=5.0)
    level = learned.paths["newcomer_mean"].to_numpy() - 1200
    assert level[-5:].mean() == pytest.approx(37 * trend, abs=85)


def test_learned_newcomers_sink_where_beginners_improve() -> None:
    # The known limit (docs/history.md): a random walk without trend takes the rise of every
    # generation for a fall of the next one's level. The true level is constant here.
    learned = fit(careers(200.0, 0.0), newcomers="learn", draw=0.0, sigma=200.0, tau=20.0)
    assert learned.paths["newcomer_mean"][-5:].mean() < 1200 - 200  # type: ignore[operator]


def test_prequential_never_looks_ahead() -> None:
    games = simulated(500, 15, 6)
    frame, logs = prequential(games, draw=120.0, first_mover=40.0, window=3)
    assert frame["games"].sum() == 500
    assert frame["log_loss"].is_between(0.3, 2.0).all()
    changed = games.with_columns(
        score=pl.when(pl.col("time") == 1905).then(1 - pl.col("score")).otherwise("score")
    )
    _, again = prequential(changed, draw=120.0, first_mover=40.0, window=3)
    early = games["time"] < 1905
    assert logs.filter(early).equals(again.filter(early))
    first = games["time"] == 1900
    assert frame["log_loss"][0] == pytest.approx(-logs.filter(first).mean())
