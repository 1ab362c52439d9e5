from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from milepost.errors import InputError
from milepost.fairplay.deep.look import (
    DEEP,
    DeepSimulator,
    DeepTurns,
    deep_turns,
    ln_mean,
    measure_pull,
    tilted,
)
from milepost.fairplay.deep.pull import FLOOR, DeepPull, TurnKinds
from milepost.fairplay.evidence.simulate import Help, Simulator, weighed_draws
from milepost.fairplay.performances import Board, performances
from milepost.fairplay.words import not_counted

PULL = DeepPull(14, (0.4, 0.1), (0.9, 0.2), 0.2, (0.3, -0.1), (-0.1, -0.3))


@pytest.fixture(scope="module")
def look(board: Board) -> DeepSimulator:
    """A deep search that prefers the first, second or third option, and knows 9 turns in 10."""
    real = performances(board)[0]
    rng = np.random.default_rng(4)
    counts = np.diff(board.spreads.offsets)[real.rows]
    deep = np.minimum(rng.choice([0, 1, 2, -1], size=len(real), p=[0.6, 0.2, 0.1, 0.1]), counts - 1)
    return DeepSimulator(real, deep, PULL)


def test_tilted_agents_are_the_formula() -> None:
    p = np.array([0.5, 0.3, 0.2, 0.6, 0.4])
    answer = np.exp(tilted(np.log(p)[:, None], np.array([0, 3, 5]), np.array([1, -1]),
                           np.array([[np.log(2.0)], [5.0]])))[:, 0]  # fmt: skip
    # By hand: 0.5, 0.6, 0.2 over 1.3; the second turn has no deep move.
    assert answer == pytest.approx([0.5 / 1.3, 0.6 / 1.3, 0.2 / 1.3, 0.6, 0.4])


def test_without_pull_and_deep_moves_nothing_changes(board: Board) -> None:
    real = performances(board)[0]
    none = DeepSimulator(real, np.full(len(real), -1), DeepPull(14, (0, 0), (0, 0), 0.0))
    plain = Simulator(real)
    assert none.evidence(none.played).alone[:41] == pytest.approx(
        plain.evidence(none.played).alone, abs=1e-9
    )
    assert none.assistants[-1] == DEEP
    assert none.helped[-1].tolist() == none.helped[0].tolist()


def test_the_pull_of_known_people_is_found_again() -> None:
    rng = np.random.default_rng(8)
    those = []
    for rating in np.linspace(1500, 2800, 60):
        p = rng.uniform(0.05, 0.9, 300)
        agree = np.where(rng.random(300) < 0.6, 1.0, 0.0)
        quiet, late = (rng.random((2, 300)) < 0.3) * 1.0
        x = (rating - 2200) / 400
        b = np.where(agree == 1, 0.4 + 0.1 * x, 0.9 + 0.2 * x) + 0.4 * rng.standard_normal()
        b += 0.5 * quiet - 0.3 * late - 0.4 * (1 - agree) * np.log(p / (1 - p))
        chance = p * np.exp(b) / (1 - p + p * np.exp(b))
        kinds = TurnKinds(agree, quiet, late)
        those.append(DeepTurns(rating, p, kinds, (rng.random(300) < chance) * 1.0))
    found = measure_pull(those)
    assert found.agreed == pytest.approx((0.4, 0.1), abs=0.15)
    assert found.other == pytest.approx((0.9, 0.2), abs=0.15)
    assert found.kinds == pytest.approx((0.5, -0.3), abs=0.1)
    # That players differ flattens the curve a little, whatever the turns are.
    assert found.flatter == pytest.approx((0.0, -0.4), abs=0.1)
    assert found.sd == pytest.approx(0.4, abs=0.1)
    with pytest.raises(InputError, match="too few"):
        measure_pull(those[:3])


def test_honest_draws_keep_the_promise_and_the_density(look: DeepSimulator) -> None:
    """Σ w / n = 1: E is the ratio of the two densities that are drawn from, and nothing else."""
    drawn = weighed_draws(look, np.random.default_rng(2), 150)
    error = drawn.weights.std() / np.sqrt(len(drawn.weights))
    assert drawn.weights.mean() == pytest.approx(1.0, abs=4 * error)
    e = np.exp(drawn.ln_e[:150])
    assert e.mean() <= 1 + 3 * e.std() / np.sqrt(len(e))


def test_deep_moves_are_seen_and_follow_ends_where_the_whole_does(look: DeepSimulator) -> None:
    rng = np.random.default_rng(1)
    helped = look.choices(rng, Help("every turn", DEEP, 0.95))
    assert look.evidence(helped).ln_e > 20
    assert Simulator(look.real).evidence(helped).ln_e < look.evidence(helped).ln_e
    after = look.follow(look.played)
    assert after[-1].ln_e == pytest.approx(look.evidence(look.played).ln_e, abs=1e-9)


def test_the_measurement_reads_a_performance(look: DeepSimulator) -> None:
    deep = np.zeros(len(look.real), dtype=np.int64)
    deep[:5] = -1
    turns = deep_turns(look.real, deep)
    assert len(turns.p) == len(look.real) - 5
    assert turns.hit.mean() == pytest.approx((look.played[5:] == 0).mean())


def test_it_is_kept_as_json() -> None:
    again = DeepPull.from_dict(json.loads(json.dumps(PULL.to_dict())))
    assert again.to_dict() == PULL.to_dict()


def test_honest_ratios_give_p_only_where_there_are_enough() -> None:
    assert replace(PULL, ln_e=np.zeros(29)).share_above(1.0) is None
    known = replace(PULL, ln_e=np.arange(39.0))
    # By hand: 36, 37 and 38 are as high, so (1 + 3) / (1 + 39).
    assert known.share_above(36.0) == pytest.approx(0.1)


def test_the_chance_of_a_deep_move_stops_falling_at_the_floor() -> None:
    """By hand: where the judge has another move, its log odds are 0.9 + (1 - 0.3) ln p/(1 - p)."""
    p = np.array([[1e-5], [FLOOR], [0.5]])
    none = np.zeros(3)
    b = PULL.tilt(np.array([2200.0]), TurnKinds(none, none, none), p)
    chance = (p * np.exp(b) / (1 - p + p * np.exp(b)))[:, 0]
    at_floor = 1 / (1 + np.exp(-0.9 - 0.7 * np.log(FLOOR / (1 - FLOOR))))
    assert chance == pytest.approx([at_floor, at_floor, 1 / (1 + np.exp(-0.9))])


def test_a_deep_look_that_alarms_at_honest_players_does_not_count() -> None:
    tame = replace(PULL, ln_e=np.full(30, -1.0))
    assert tame.counts
    assert not replace(PULL, ln_e=np.full(29, -1.0)).counts
    # One of 30 honest players over 20 x 30 = 600, as by bullet before rare moves were allowed for.
    once = replace(PULL, ln_e=np.sort([*np.full(29, -1.0), np.log(700.0)]))
    assert once.enough
    assert not once.counts
    assert "one had a ratio of 700" in not_counted(once)
    # Every ratio a little over 1: the mean is.
    assert not replace(PULL, ln_e=np.linspace(0.4, 0.5, 40)).counts


def test_the_mean_of_two_ratios() -> None:
    assert np.exp(ln_mean(np.log(3.0), np.log(5.0))) == pytest.approx(4.0)
