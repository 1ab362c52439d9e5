from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from milepost.errors import InputError
from milepost.fairplay.evidence import menu
from milepost.fairplay.evidence.menu import Chances
from milepost.fairplay.evidence.ratio import (
    NODES,
    Chosen,
    Turns,
    after_each_game,
    game_mixing,
    gather,
    log_sum,
    shares_of_turns,
    strength_prior,
    without_each_turn,
)
from milepost.fairplay.performances import Board, performances


def small(seed: int = 5, sizes: tuple[int, ...] = (3, 11)) -> tuple[Turns, Chosen]:
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    turns = Turns(
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        chances=Chances(
            difficult=rng.integers(0, 2, count).astype(float),
            behind=rng.integers(0, 2, count).astype(float),
            stake=rng.uniform(0.01, 0.3, count),
        ),
        prior=strength_prior(130.0),
        mixing=game_mixing(rng.uniform(5e-6, 1e-5, len(sizes)), 1.4),
    )
    p = rng.uniform(0.01, 0.9, (count, 1)) * np.linspace(0.6, 1.0, len(NODES))
    helped = rng.uniform(0.0, 1.0, (len(menu.HELPERS), count))
    helped[0, ::2] = 0.0  # the set-up's best move was not played there
    return turns, Chosen(np.log(p), helped)


def brute_force(turns: Turns, chosen: Chosen) -> tuple[float, float]:
    """ln E and the worst case by the definition: plain sums and products, no logarithms inside."""
    p, prior = np.exp(chosen.ln_p), np.exp(turns.prior)
    when = turns.chances

    def game(g: int, schedule: str, k: int, q: float, n: int) -> float:
        rows = range(turns.starts[g], turns.starts[g + 1])
        e = chosen.helped[k]
        alone = np.prod([p[t, n] for t in rows])
        if schedule == "one turn a game":
            total = sum(when.stake[t] for t in rows)
            helped = sum(
                when.stake[t] / total * np.prod([e[s] if s == t else p[s, n] for s in rows])
                for t in rows
            )
            return float((1 - q) * alone + q * helped)
        if schedule == "whole games":
            w = menu.WITHIN_GAME
            helped = np.prod([(1 - w) * p[t, n] + w * e[t] for t in rows])
            return float((1 - q) * alone + q * helped)
        mask = {
            "every turn": np.ones(len(p)),
            "difficult turns": when.difficult,
            "when behind": when.behind,
        }[schedule]
        return float(np.prod([(1 - q * mask[t]) * p[t, n] + q * mask[t] * e[t] for t in rows]))

    def likelihood(schedule: str, k: int, q: float) -> np.ndarray:
        answer = np.ones(len(NODES))
        for g in range(turns.games):
            answer *= turns.mixing[g] @ [game(g, schedule, k, q, n) for n in range(len(NODES))]
        return answer

    without = likelihood("every turn", 0, 0.0)
    weights = menu.weights()
    above = 0.0
    for (i, schedule), k, (j, q) in itertools.product(
        enumerate(menu.SCHEDULES), range(len(chosen.helped)), enumerate(menu.SHARES)
    ):
        above += weights[i, k, j] * (prior @ likelihood(schedule, k, q))
    return float(np.log(above / (prior @ without))), float(np.log(above / without.max()))


def test_the_ratio_is_what_its_definition_says() -> None:
    turns, chosen = small()
    found = gather(turns, chosen)
    ln_e, worst = brute_force(turns, chosen)
    assert found.ln_e == pytest.approx(ln_e, abs=1e-10)
    assert found.ln_e_worst == pytest.approx(worst, abs=1e-10)


def test_weights_of_the_menu_add_up_with_and_without_juries() -> None:
    assert menu.weights().sum() == pytest.approx(1.0)
    assert menu.weights(2).sum() == pytest.approx(1.0)
    assert menu.weights(2).shape[1] == len(menu.HELPERS) + 2


def test_the_worst_case_is_never_above_the_ratio() -> None:
    for seed in range(20):
        found = gather(*small(seed))
        assert found.ln_e_worst <= found.ln_e + 1e-12


def test_sequential_equals_batch() -> None:
    turns, chosen = small(7, (4, 9, 2, 13))
    after = after_each_game(turns, chosen)
    assert after[-1].ln_e == pytest.approx(gather(turns, chosen).ln_e, abs=1e-12)
    for games, each in enumerate(after, start=1):
        assert each.ln_e == pytest.approx(gather(turns, chosen, games).ln_e, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(4)))
def test_the_order_of_games_changes_nothing(order: list[int]) -> None:
    sizes = (4, 9, 2, 6)
    turns, chosen = small(7, sizes)
    rows = np.concatenate([np.arange(turns.starts[g], turns.starts[g + 1]) for g in order])
    when = turns.chances
    other = Turns(
        starts=np.concatenate([[0], np.cumsum([sizes[g] for g in order])]).astype(np.int64),
        chances=Chances(when.difficult[rows], when.behind[rows], when.stake[rows]),
        prior=turns.prior,
        mixing=turns.mixing[list(order)],
    )
    moved = gather(other, Chosen(chosen.ln_p[rows], chosen.helped[:, rows]))
    assert moved.ln_e == pytest.approx(gather(turns, chosen).ln_e, abs=1e-9)


def test_choices_that_only_an_engine_makes_raise_the_ratio() -> None:
    turns, chosen = small(3, (30,))
    unlikely = Chosen(np.full_like(chosen.ln_p, np.log(0.2)), np.ones_like(chosen.helped))
    never = Chosen(unlikely.ln_p, np.zeros_like(chosen.helped))
    assert gather(turns, unlikely).ln_e > 20
    assert gather(turns, never).ln_e < 0


def test_huge_ratios_stay_finite() -> None:
    turns, chosen = small(3, (400,))
    found = gather(turns, Chosen(np.full_like(chosen.ln_p, -12.0), np.ones_like(chosen.helped)))
    assert np.isfinite(found.ln_e)
    assert found.ln_e > 1000


def test_priors_and_mixing_are_probabilities() -> None:
    assert logsumexp(strength_prior(100.0)) == pytest.approx(0.0)
    table = game_mixing(np.array([1e-5, 1e-8, 0.0]), 1.4)
    assert np.allclose(table.sum(axis=2), 1.0)
    # τ² = (φ - 1)/I: 200 Elo here.
    row = table[0, len(NODES) // 2]
    assert np.sqrt(row @ NODES**2) == pytest.approx(200.0, rel=0.01)


def test_what_does_not_fit_is_refused() -> None:
    turns, chosen = small()
    with pytest.raises(InputError, match="do not fit"):
        gather(turns, Chosen(chosen.ln_p[1:], chosen.helped))


def test_the_share_of_turns_is_found_again(board: Board) -> None:
    real = performances(board)[0]
    rng = np.random.default_rng(4)
    p = np.full((600, len(NODES)), 0.3)
    helped = rng.random(600) < 0.3
    # A helped turn takes the assistant's only move; an agent takes it three times in ten.
    hit = helped | (rng.random(600) < 0.3)
    ln_p = np.log(np.where(hit[:, None], p, 0.7))
    turns = Turns(
        np.array([0, 600]),
        Chances(np.ones(600), np.ones(600), np.ones(600)),
        real.turns.prior,
        game_mixing(np.array([1e-3]), 1.0),
    )
    share = shares_of_turns(turns, Chosen(ln_p, hit[None].astype(float)), ["it"])[0]
    assert share.low < 0.3 < share.high
    assert share.share == pytest.approx(0.3, abs=0.08)


def test_what_each_turn_adds_is_the_ratio_without_it() -> None:
    turns, chosen = small(9, (1, 5))
    adds = without_each_turn(turns, chosen)
    when = turns.chances
    rows = np.arange(1, 6)  # without the only turn of the first game
    rest = Turns(
        np.array([0, 5]),
        Chances(when.difficult[rows], when.behind[rows], when.stake[rows]),
        turns.prior,
        turns.mixing[1:],
    )
    left = gather(rest, Chosen(chosen.ln_p[rows], chosen.helped[:, rows])).ln_e
    assert adds[0] == pytest.approx(gather(turns, chosen).ln_e - left, abs=1e-12)


def test_the_sum_of_logarithms_is_scipys() -> None:
    from scipy.special import logsumexp

    rng = np.random.default_rng(3)
    table = rng.normal(0, 300, (4, 5, 6))
    table[1, 2] = -np.inf
    for axis in (None, 0, 1, -1):
        np.testing.assert_allclose(log_sum(table, axis=axis), logsumexp(table, axis=axis))
    assert log_sum([-np.inf, -np.inf]) == -np.inf
