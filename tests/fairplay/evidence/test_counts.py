from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.uncompiled import uncompiled

from milepost.choice.spreads import Floats
from milepost.fairplay.evidence import counts, menu
from milepost.fairplay.evidence.counts import FirstMoves
from milepost.fairplay.evidence.menu import Chances
from milepost.fairplay.evidence.ratio import (
    NODES,
    Chosen,
    Turns,
    after_each_game,
    game_mixing,
    gather,
    strength_prior,
    without_each_turn,
)
from milepost.fairplay.evidence.simulate import Simulator
from milepost.fairplay.performances import Board, performances


def counted(sizes: tuple[int, ...] = (2, 3)) -> tuple[Turns, Chosen]:
    rng = np.random.default_rng(7)
    count = sum(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    half = np.full(count, 0.5)
    turns = Turns(
        starts=starts,
        chances=Chances(half, half, half),
        prior=strength_prior(130.0),
        mixing=game_mixing(rng.uniform(5e-6, 1e-5, len(sizes)), 1.4),
    )
    chance = rng.uniform(0.1, 0.6, (count, 1)) * np.linspace(0.5, 1.5, len(NODES))
    return turns, Chosen(
        np.log(rng.uniform(0.1, 0.9, chance.shape)),
        rng.uniform(0, 1, (len(menu.HELPERS), count)),
        hit=np.zeros(count),
        first=FirstMoves(chance, starts),
    )


def likelihoods(turns: Turns, chosen: Chosen, hits: tuple[int, ...]) -> list[float]:
    """Of the count, by the definition: not tilted, then each tilt."""
    assert chosen.first is not None
    answer = []
    for tilt in (0.0, *counts.TILTS):
        total = 0.0
        for strength, prior in enumerate(np.exp(turns.prior)):
            product = 1.0
            for game in range(turns.games):
                of_game = 0.0
                for node, share in enumerate(turns.mixing[game, strength]):
                    one = 1.0
                    for t in range(turns.starts[game], turns.starts[game + 1]):
                        m = chosen.first.chance[t, node] * np.exp(tilt)
                        other = 1 - chosen.first.chance[t, node]
                        one *= (m if hits[t] else other) / (m + other)
                    of_game += share * one
                product *= of_game
            total += prior * product
        answer.append(total)
    return answer


def test_count_ratio_is_that_of_the_definition_and_has_mean_one() -> None:
    turns, chosen = counted()
    mean = 0.0
    for hits in itertools.product((0, 1), repeat=len(turns)):
        found = gather(turns, replace(chosen, hit=np.array(hits, dtype=float)))
        assert found.ln_counts is not None
        if hits in {(1, 0, 1, 0, 0), (1, 1, 1, 1, 1)}:
            alone, *tilted = likelihoods(turns, chosen, hits)
            assert np.exp(found.ln_counts) == pytest.approx(np.mean(tilted) / alone, rel=1e-9)
        assert found.counted is not None
        # P(hits) times the ratio, over all that can happen: exactly 1, so it is an e-value.
        mean += np.exp(np.logaddexp.reduce(turns.prior + found.counted[0]) + found.ln_counts)
    assert mean == pytest.approx(1.0, abs=1e-9)


def long_games() -> tuple[Turns, FirstMoves, Floats]:
    """Games of more turns than are multiplied at once, some of them certain; and the hits."""
    turns, chosen = counted((1, 70, 33))
    assert chosen.first is not None
    chance = np.minimum(1.6 * chosen.first.chance, 1.0)
    chance[40:60, ::3] = 0.0
    hit = np.where(np.arange(len(chance)) % 3 > 0, 1.0, 0.0)
    return turns, FirstMoves(chance, turns.starts), hit


def everything() -> list[float]:
    turns, first, hit = long_games()
    answer: list[float] = first.likelihoods(hit, turns.mixing, 0, turns.games).ravel().tolist()
    return answer


def test_products_of_many_turns_are_the_plain_sums_of_logarithms() -> None:
    turns, first, hit = long_games()
    found = first.likelihoods(hit, turns.mixing, 0, turns.games)
    p = np.clip(first.chance, 1e-9, 1 - 1e-9)
    alone = np.where(hit[:, None] > 0, np.log(p), np.log(1 - p))
    for game in range(turns.games):
        at = slice(turns.starts[game], turns.starts[game + 1])
        rows = [alone[at].sum(axis=0)]
        for tilt in counts.TILTS:
            scale = np.log1p(np.expm1(tilt) * first.chance[at])
            rows.append((alone[at] + tilt * hit[at, None] - scale).sum(axis=0))
        expected = [np.log(turns.mixing[game] @ np.exp(row - row.max())) + row.max()
                    for row in rows]  # fmt: skip
        np.testing.assert_allclose(found[game], expected, rtol=1e-11)


def test_uncompiled_counts_give_the_same() -> None:
    plain = uncompiled(
        "tests.fairplay.evidence.test_counts", "milepost.fairplay.evidence.counts._add_counts"
    )
    np.testing.assert_allclose(plain, everything(), rtol=1e-12)


def test_e_is_the_mean_of_menu_and_counts() -> None:
    turns, chosen = counted()
    chosen = replace(chosen, hit=np.array([1.0, 1, 0, 1, 1]))
    found = gather(turns, chosen)
    assert found.ln_counts is not None
    both = counts.WEIGHT * np.exp(found.ln_counts) + (1 - counts.WEIGHT) * np.exp(found.ln_menu)
    assert np.exp(found.ln_e) == pytest.approx(both, rel=1e-12)
    assert found.ln_e_worst < found.ln_e
    assert after_each_game(turns, chosen)[-1].ln_e == pytest.approx(found.ln_e, abs=1e-12)
    plain = gather(turns, replace(chosen, hit=None, first=None))
    assert plain.ln_counts is None
    assert plain.ln_e == found.ln_menu


def test_turn_without_which_the_ratio_is_made_again() -> None:
    turns, chosen = counted()
    chosen = replace(chosen, hit=np.array([1.0, 1, 0, 1, 0]))
    rows = np.array([0, 1, 3, 4])
    starts = np.array([0, 2, 4])
    assert chosen.hit is not None
    assert chosen.first is not None
    rest = Turns(
        starts,
        Chances(*(np.full(4, 0.5) for _ in range(3))),
        turns.prior,
        turns.mixing,
    )
    left = Chosen(
        chosen.ln_p[rows],
        chosen.helped[:, rows],
        hit=chosen.hit[rows],
        first=FirstMoves(chosen.first.chance[rows], starts),
    )
    adds = without_each_turn(turns, chosen)[2]
    assert adds == pytest.approx(gather(turns, chosen).ln_e - gather(rest, left).ln_e, abs=1e-9)


def test_helped_draws_have_the_density_that_the_ratio_says(board: Board) -> None:
    # Half of the draws honest, half from honest play times E_c: the mean of 1 / (½ + ½ E_c) is 1.
    real = min(performances(board), key=len)
    simulator = Simulator(real)
    at = simulator.offsets[:-1]
    assert np.abs(np.exp(simulator.ln_p[at]) - real.first.chance).max() < 1e-3
    rng = np.random.default_rng(2011)
    weights = []
    for draw in (simulator.choices, simulator._counted_choices):
        for _ in range(100):
            found = simulator.evidence(draw(rng))
            assert found.ln_counts is not None
            weights.append(2 / (1 + np.exp(found.ln_counts)))
    error = np.std(weights) / np.sqrt(len(weights))
    assert abs(np.mean(weights) - 1) < 4 * error
    assert error < 0.1
