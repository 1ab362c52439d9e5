"""The fixed point: reached, known to be near, the same for one and two workers, never silent."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit, simulated
from tests.history.ttt.test_state import differences

from milepost.history import ConvergenceWarning, Sweep
from milepost.history.records import read_records
from milepost.history.solver.conjugate import largest, spans_of_lives
from milepost.history.solver.newton import Learning, linear_model, newton_step
from milepost.history.ttt.graph import Notes, no_sums
from milepost.history.ttt.own_margins import MarginModel, TTTDState, ttt_d_state
from milepost.history.ttt.state import SkillModel, TTTState, ttt_state
from milepost.io.progress import Progress


def weakly_linked() -> pl.DataFrame:
    """Two groups whose levels hang on two games: what plain sweeps are slowest at."""
    left, right = simulated(600, 15, 3, seed=4), simulated(600, 15, 3, seed=5)
    right = right.with_columns(pl.col("player_1", "player_2").str.replace("p", "q"))
    link = left.head(2).with_columns(player_2=pl.Series(["q0001", "q0002"]), score=pl.lit(1.0))
    return pl.concat([left, right, link])


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_the_remaining_error_is_honest(model: str) -> None:
    games = weakly_linked()
    exact = fit(games, model, tolerance=1e-7)
    assert exact.converged
    for tolerance in (10.0, 1.0, 0.1, 0.01):
        near = fit(games, model, tolerance=tolerance)
        assert near.remaining_error <= tolerance
        assert differences(near, exact) <= 1.5 * near.remaining_error


@pytest.mark.parametrize("model", ["ttt", "ttt-d"])
def test_the_remaining_error_is_honest_without_drift(model: str) -> None:
    # Skills tied for life: a tie that gives way would be taken for what is left to go.
    games = simulated(3000, 60, 25, seed=6)
    still: dict[str, Any] = {"tau": 0.0} | ({"margin_tau": 0.0} if model == "ttt-d" else {})
    exact = fit(games, model, tolerance=1e-6, **still)
    assert exact.converged
    assert exact.sweeps <= 40
    for tolerance in (10.0, 1.0, 0.1, 0.01, 0.001):
        near = fit(games, model, tolerance=tolerance, **still)
        assert differences(near, exact) <= 1.5 * near.remaining_error


def test_the_estimate_sees_what_the_last_step_does_not() -> None:
    records = read_records(weakly_linked())
    model = SkillModel(400.0, 480.0, 60.0, 150.0)
    zero = np.zeros(records.periods)
    state = ttt_state(records, model, level=zero, advantage=zero)
    for _ in range(4):
        state.forward(0, records.periods)
        state.backward(0, records.periods)

    def run(tasks: list[Any]) -> None:
        for task in tasks:
            task()

    means = state.chains.belief[:, 1] / state.chains.belief[:, 0]
    step = newton_step(
        state, sigma=400.0, beta=480.0, tau=60.0, clock=records.clock, learning=Learning(),
        ranges=[(0, records.periods)], in_parallel=run, accuracy=1e-8,
    )  # fmt: skip
    state.forward(0, records.periods)
    state.backward(0, records.periods)
    last = np.abs(state.chains.belief[:, 1] / state.chains.belief[:, 0] - means).max()
    for _ in range(2000):
        state.forward(0, records.periods)
        state.backward(0, records.periods)
    distance = state.chains.belief[:, 1] / state.chains.belief[:, 0] - means
    assert np.abs(distance).max() > 3 * last
    assert np.abs(step.skills).max() == pytest.approx(np.abs(distance).max(), rel=0.1)


@pytest.mark.parametrize("own", [False, True])
def test_visits_note_the_stand_ins_that_are_worked_out_anew(own: bool) -> None:
    games = simulated(400, 12, 4).with_columns(first_mover=pl.Series([1, 2, None, 1] * 100))
    records = read_records(games)
    zero, lead = np.zeros(records.periods), np.full(records.periods, 40.0)
    state: TTTState | TTTDState
    if own:
        margins = MarginModel(400.0, 480.0, 60.0, 0.0)
        state = ttt_d_state(records, margins, level=zero, advantage=lead)
    else:
        model = SkillModel(400.0, 480.0, 60.0, 150.0)
        state = ttt_state(records, model, level=zero, advantage=lead)
    for _ in range(300):  # to the fixed point, where a game's last visit is as good as a new one
        state.forward(0, records.periods)
        state.backward(0, records.periods)
    given: dict[str, Any] = {
        "sigma": 400.0, "beta": 480.0, "tau": 60.0, "clock": records.clock,
        "learning": Learning(advantage="by-period"), "ranges": [(0, records.periods)],
        "in_parallel": lambda tasks: [task() for task in tasks],
    }  # fmt: skip
    for way in (state.forward, state.backward):
        notes = Notes(np.empty(records.games), no_sums(records.nodes, records.periods))
        assert way(0, records.periods, notes=notes) == 0
        noted, anew = linear_model(state, **given, notes=notes), linear_model(state, **given)
        assert np.allclose(noted.system.curvature, anew.system.curvature, rtol=1e-6, atol=0.0)
        inverse = noted.system.lives.inverse, anew.system.lives.inverse
        assert np.allclose(*inverse, rtol=1e-6, atol=0.0)
        # in units of a game's precision times a thousandth of a point
        unit = 1e-3 * float(anew.system.curvature.max())
        assert np.allclose(noted.pull, anew.pull, rtol=0.0, atol=unit)
        assert np.allclose(noted.path_pull, anew.path_pull, rtol=0.0, atol=10 * unit)


@pytest.mark.parametrize("form", [None, "between", "two-factor"])
def test_mixed_weights_end_where_plain_sweeps_end(form: str | None) -> None:
    games = simulated(200, 8, 3).with_columns(
        weight=pl.Series(np.random.default_rng(3).choice([0.2, 0.7, 1.0, 2.5, 6.0], 200))
    )
    records = read_records(games)
    zero = np.zeros(records.periods)
    state: TTTState | TTTDState
    if form is None:
        model = SkillModel(400.0, 480.0, 60.0, 150.0)
        state = ttt_state(records, model, level=zero, advantage=zero)
        found = fit(games, draw=150.0, tolerance=1e-5)
    else:
        margins = MarginModel(400.0, 480.0, 60.0, 0.0, draw_form=form)
        state = ttt_d_state(records, margins, level=zero, advantage=zero)
        found = fit(games, "ttt-d", draw_form=form, tolerance=1e-5)
    for _ in range(600):
        state.forward(0, records.periods)
        state.backward(0, records.periods)
    belief = state.chains.belief[np.lexsort((records.node_period, records.node_player))]
    assert np.allclose(found.curves["mean"], 1200 + belief[:, 1] / belief[:, 0], atol=1e-4)
    assert np.allclose(found.curves["sd"], belief[:, 0] ** -0.5, atol=1e-4)


def test_it_is_faster_than_plain_sweeps() -> None:
    assert fit(weakly_linked(), draw="share", tolerance=0.01).sweeps <= 12


def test_stopping_early_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="after 2 sweeps .* points from its fixed point"):
        history = fit(simulated(300, 10, 4), max_sweeps=2, tolerance=1e-6)
    assert not history.converged
    assert history.sweeps == 2
    assert history.remaining_error > 1e-6
    assert "NOT CONVERGED" in repr(history)


@pytest.mark.parametrize("options", [{}, {"model": "ttt-d"}, {"first_mover": "learn"}])
def test_two_workers_find_the_same_fixed_point(options: dict[str, Any]) -> None:
    games = simulated(1500, 40, 12)
    one = fit(games, tolerance=1e-3, **options)
    two = fit(games, tolerance=1e-3, workers=2, **options)
    assert two.converged
    assert differences(one, two) < 2e-3
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-6)
    again = fit(games, tolerance=1e-3, workers=2, **options)
    assert again.curves.equals(two.curves)


def test_the_future_crosses_borders_in_the_first_sweep() -> None:
    records = read_records(simulated(3000, 60, 12, seed=8))
    model = SkillModel(400.0, 480.0, 60.0, 150.0)
    zero = np.zeros(records.periods)
    whole, parts = (ttt_state(records, model, level=zero, advantage=zero) for _ in range(2))
    middle = records.periods // 2
    whole.forward(0, records.periods)
    whole.backward(0, records.periods)
    before = whole.snapshot()
    whole.carry_back(records.periods)
    assert np.allclose(whole.snapshot(), before, rtol=1e-12, atol=0.0)
    parts.forward(0, records.periods)
    parts.backward(middle, records.periods)
    parts.backward(0, middle)
    parts.exchange([middle])
    apart = np.abs(parts.snapshot() - before).max()
    parts.carry_back(middle)
    assert np.abs(parts.snapshot() - before).max() < 0.25 * apart


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_each_worker_has_neighbouring_players(workers: int) -> None:
    records = read_records(simulated(2000, 50, 9, seed=9))
    spans = spans_of_lives(records.node_player, records.node_start, workers)
    nodes = [np.concatenate([np.arange(*span) for span in own]) for own in spans]
    assert np.array_equal(np.sort(np.concatenate(nodes)), np.arange(records.nodes))
    players = [set(records.node_player[own].tolist()) for own in nodes]
    assert sum(map(len, players)) == records.players
    assert all(max(a) < min(b) for a, b in itertools.pairwise(players))
    assert max(map(len, nodes)) < 1.3 * records.nodes / workers


def test_progress_is_told_every_sweep() -> None:
    told: list[Progress] = []
    history = fit(simulated(300, 10, 4), progress=told.append)
    assert [sweep.done for sweep in told] == list(range(1, history.sweeps + 1))
    last = told[-1]
    assert isinstance(last, Sweep)
    assert last.remaining_error == history.remaining_error


def test_the_largest_size() -> None:
    assert largest(np.array([1.0, -3.5, 2.0])) == 3.5
    assert largest(np.array([])) == 0.0
    assert largest(np.array([-np.inf, 1.0])) == np.inf
    assert np.isnan(largest(np.array([1.0, np.nan, np.inf, -np.nan])))
