from __future__ import annotations

import numpy as np
import pytest

from milepost.errors import InputError
from milepost.fairplay.evidence.simulate import Draws, Help, Simulator, power_table, weighed_draws
from milepost.fairplay.performances import Board, performances


@pytest.fixture(scope="module")
def simulator(board: Board) -> Simulator:
    return Simulator(performances(board)[0])


@pytest.fixture(scope="module")
def honest(simulator: Simulator) -> Draws:
    return simulator.draw(600, np.random.default_rng(11))


@pytest.fixture(scope="module")
def weighed(simulator: Simulator) -> Draws:
    return weighed_draws(simulator, np.random.default_rng(12), 400)


def test_the_statistics_of_the_real_choices_are_those_of_the_performance(
    simulator: Simulator,
) -> None:
    real = simulator.real
    ln_e, z, match = simulator.statistics(real.board.spreads.chosen[real.rows])
    # The ladder interpolates between ratings, the simulator does not.
    assert ln_e == pytest.approx(real.evidence.ln_e, abs=2e-3)
    assert z == pytest.approx(real.scored.combined, abs=1e-9)
    assert match == pytest.approx(real.scored.adjusted[0], abs=1e-9)


def test_choices_are_drawn_with_their_probabilities(simulator: Simulator) -> None:
    rng = np.random.default_rng(5)
    drawn = np.array([simulator.choices(rng) for _ in range(800)])
    p = np.exp(simulator.ln_p)
    turns = simulator.turns
    strength = np.exp(turns.prior)
    first = simulator.offsets[:-1]
    expected = np.array(
        [
            p[at] @ (strength @ turns.mixing[game])
            for at, game in zip(first, simulator.game, strict=True)
        ]
    )
    share = (drawn == 0).mean(axis=0)
    z = (share - expected) / np.sqrt(expected * (1 - expected) / 800 + 1e-9)
    # A game's turns are correlated, not a turn's draws: each z is standard.
    assert np.abs(z.mean()) < 0.4
    assert z.std() == pytest.approx(1.0, abs=0.25)


def test_honest_draws_have_a_mean_ratio_of_one_at_most(honest: Draws) -> None:
    """The promise of an e-value; exactly 1 in theory, with a heavy tail that few draws see."""
    e = np.exp(honest.ln_e)
    assert e.mean() <= 1 + 3 * e.std() / np.sqrt(len(e))
    for x in (10, 20, 100):
        assert (e >= x).mean() <= 1 / x + 0.01


def test_honest_draws_have_standard_scores(honest: Draws) -> None:
    assert honest.combined.mean() == pytest.approx(0.0, abs=0.2)
    assert honest.combined.std() == pytest.approx(1.0, abs=0.15)


def test_the_weights_are_those_of_the_density(weighed: Draws) -> None:
    """Σ w / n = 1 in the mean: the ratio of the two densities is E, and nothing else."""
    error = weighed.weights.std() / np.sqrt(len(weighed.weights))
    assert weighed.weights.mean() == pytest.approx(1.0, abs=4 * error)


@pytest.mark.parametrize("level", [0.3, 0.1, 0.03])
def test_weighed_tails_agree_with_plain_ones(honest: Draws, weighed: Draws, level: float) -> None:
    at = float(np.quantile(honest.ln_e, 1 - level))
    plain = float((honest.ln_e >= at).mean())
    tail, error = weighed.tail("ln_e", at)
    both = np.hypot(error, np.sqrt(plain * (1 - plain) / len(honest.ln_e)))
    assert tail == pytest.approx(plain, abs=4 * both)


def test_far_tails_are_below_the_bound_and_known_well(weighed: Draws) -> None:
    for e in (1e2, 1e4, 1e6):
        tail, error = weighed.tail("ln_e", np.log(e))
        assert 0 < tail <= 1 / e
        assert error < tail


def test_a_tail_is_a_share(weighed: Draws) -> None:
    """Plain sums of weights are not: those of these draws passed 1 or never reached it."""
    lowest = float(weighed.ln_e.min())
    assert weighed.tail("ln_e", lowest)[0] == pytest.approx(1.0, abs=1e-12)
    assert abs(weighed.weights.mean() - 1) > 1e-3
    shares, _ = weighed.tails("ln_e", np.linspace(lowest, float(weighed.ln_e.max()), 50))
    assert (np.diff(shares) <= 1e-12).all()


@pytest.mark.parametrize("level", [0.9, 0.7, 0.5, 0.1, 0.01])
def test_no_tail_is_known_worse_than_from_honest_draws_alone(level: float) -> None:
    """Draws of a pair of laws whose tails and ratio are known: N(0, 1) and N(1, 1)."""
    from scipy.stats import norm

    rng, count, found = np.random.default_rng(21), 200, []
    at = np.array([norm.isf(level)])
    for _ in range(400):
        x = np.concatenate([rng.normal(0, 1, count), rng.normal(1, 1, count)])
        drawn = Draws(x, x, x, 1 / (0.5 + 0.5 * np.exp(x - 0.5)))
        found.append([value[0] for value in drawn.tails("ln_e", at)])
    shares, errors = np.array(found).T
    assert shares.mean() == pytest.approx(level, abs=4 * shares.std() / np.sqrt(len(shares)) + 1e-3)
    # Half and half, so a mixture's draws are not independent: the error may only be too large.
    assert 0.85 * shares.std() < errors.mean() < 1.3 * shares.std()
    assert shares.std() < 1.07 * np.sqrt(level * (1 - level) / count)


def test_p_of_honest_draws_is_uniform(honest: Draws, weighed: Draws) -> None:
    from scipy.stats import kstest

    p = [weighed.tail("ln_e", value)[0] for value in honest.ln_e[:300]]
    assert kstest(p, "uniform").pvalue > 0.001


def test_thresholds_belong_to_their_tails(weighed: Draws) -> None:
    for rate in (0.1, 0.01, 0.001):
        at = weighed.threshold("ln_e", rate)
        assert weighed.tail("ln_e", at)[0] == pytest.approx(rate, rel=0.3, abs=1e-4)


def test_more_help_is_noticed_more_often(simulator: Simulator, weighed: Draws) -> None:
    cells = power_table(
        simulator, weighed, np.random.default_rng(3), shares=(0.1, 0.4, 1.0), draws=25,
        false_alarms=(0.01,),
    )  # fmt: skip
    same = [cell.power for cell in cells if cell.assistant == "best of this set-up"]
    assert same[0] <= same[1] <= same[2]
    assert same[2] == 1.0
    assert all(cell.draws == 25 for cell in cells)


def test_every_schedule_can_be_drawn(simulator: Simulator) -> None:
    rng = np.random.default_rng(2)
    from milepost.fairplay.evidence import menu

    for schedule in menu.SCHEDULES:
        picked = simulator.choices(rng, Help(schedule, "best of this set-up", 0.95))
        assert (picked >= 0).all()
    with pytest.raises(InputError, match="menu"):
        simulator.choices(rng, Help("at night", "best of this set-up", 0.5))


def test_the_same_seed_gives_the_same_draws(simulator: Simulator) -> None:
    first, second = (simulator.draw(5, np.random.default_rng(9)).ln_e for _ in range(2))
    assert first.tolist() == second.tolist()
