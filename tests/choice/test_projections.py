"""Projections against plain Python; simulated choices against their probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.choice.makers import (
    plain_curve,
    plain_differences,
    plain_shares,
    played,
    realistic_spreads,
)

from milepost.choice import Agent, Spreads
from milepost.choice.projections import RANKS

S, C = 0.15, 0.6


def plain_decisions(spreads: Spreads) -> list[tuple[list[float], list[float], list[float]]]:
    """For each decision the differences, the losses and the probabilities (shares, invexp)."""
    answer = []
    for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
        values = [float(v) for v in spreads.values[start:stop]]
        delta = plain_differences(values)
        p = plain_shares([plain_curve("invexp", d, S, C) for d in delta])
        answer.append((delta, [values[0] - v for v in values], p))
    return answer


@pytest.mark.parametrize("weighted", [False, True])
def test_projections_against_plain_python(weighted: bool) -> None:
    agent = Agent(S, C, ratio="shares")
    spreads = played(agent, realistic_spreads(31, 25), 32)
    weights = np.linspace(0.5, 3.0, 25) if weighted else np.ones(25)
    spreads = spreads.weighted(weights)
    total = sum(weights)
    mm = ad = mm_variance = ad_variance = covariance = entropy = likelihood = 0.0
    mm_actual = ad_actual = 0.0
    ranks, actual_ranks, rank_variance = [0.0] * RANKS, [0.0] * RANKS, [0.0] * RANKS
    slips, slips_actual, slips_variance = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    for (delta, loss, p), chosen, weight in zip(
        plain_decisions(spreads), spreads.chosen, weights, strict=True
    ):
        w = weight / total
        mean = sum(a * b for a, b in zip(p, delta, strict=True))
        square = sum(a * b * b for a, b in zip(p, delta, strict=True))
        mm += w * p[0]
        ad += w * mean
        mm_variance += w * w * p[0] * (1 - p[0])
        ad_variance += w * w * (square - mean * mean)
        # Both z rise with skill: Cov(hit, -δ) = p_0 E δ.
        covariance += w * w * p[0] * mean
        entropy -= w * sum(a * math.log(a) for a in p)
        likelihood += weight * math.log(p[chosen])
        mm_actual += w * (chosen == 0)
        ad_actual += w * delta[chosen]
        for i, each in enumerate(p):
            ranks[i] += w * each
            rank_variance[i] += w * w * each * (1 - each)
        actual_ranks[chosen] += w
        for k, limit in enumerate((1.0, 3.0)):
            chance = sum(a for a, b in zip(p, loss, strict=True) if b > limit)
            slips[k] += w * chance
            slips_variance[k] += w * w * chance * (1 - chance)
            slips_actual[k] += w * (loss[chosen] > limit)
    said = agent.project(spreads)
    assert said.n == 25
    assert said.mm_projected == pytest.approx(mm, rel=1e-12)
    assert said.mm_actual == pytest.approx(mm_actual, rel=1e-12)
    assert said.mm_sd == pytest.approx(math.sqrt(mm_variance), rel=1e-12)
    assert said.ad_projected == pytest.approx(ad, rel=1e-12)
    assert said.ad_actual == pytest.approx(ad_actual, rel=1e-12)
    assert said.ad_sd == pytest.approx(math.sqrt(ad_variance), rel=1e-10)
    assert said.correlation == pytest.approx(
        covariance / math.sqrt(mm_variance * ad_variance), rel=1e-10
    )
    assert said.z_mm == pytest.approx((mm_actual - mm) / math.sqrt(mm_variance), rel=1e-9)
    assert said.z_ad == pytest.approx((ad - ad_actual) / math.sqrt(ad_variance), rel=1e-9)
    assert said.entropy == pytest.approx(entropy, rel=1e-12)
    assert said.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    np.testing.assert_allclose(said.frequencies_projected, ranks, atol=1e-14)
    np.testing.assert_allclose(said.frequencies_actual, actual_ranks, atol=1e-14)
    np.testing.assert_allclose(said.frequencies_sd, np.sqrt(rank_variance), atol=1e-14)
    np.testing.assert_allclose(said.slips_projected, slips, rtol=1e-12)
    np.testing.assert_allclose(said.slips_actual, slips_actual, atol=1e-14)
    np.testing.assert_allclose(said.slips_sd, np.sqrt(slips_variance), rtol=1e-12)
    # Qfit: 10,000 × mean over i = 0…49 of the squared differences.
    qfit = 10_000 * sum((a - b) ** 2 for a, b in zip(ranks, actual_ranks, strict=True)) / 50
    assert said.qfit == pytest.approx(qfit, rel=1e-10)


def test_projections_show_themselves() -> None:
    said = Agent(S, C).project(played(Agent(S, C), realistic_spreads(33, 40), 34))
    frame = said.to_frame()
    assert frame["statistic"].to_list() == [
        "match rate",
        "scaled difference",
        "slips over 1",
        "slips over 3",
    ]
    assert "40 decisions" in str(said)
    assert "match rate" in str(said)


def test_a_decision_of_one_option_is_certain() -> None:
    said = Agent(S, C).project(Spreads.from_lists([[0.3], [-1.0]], [0, 0]))
    assert (said.mm_projected, said.mm_actual, said.mm_sd, said.z_mm) == (1.0, 1.0, 0.0, 0.0)
    assert (said.ad_projected, said.z_ad, said.entropy) == (0.0, 0.0, 0.0)


def test_simulated_choices_follow_the_probabilities() -> None:
    """Chi-square over the options of three decisions, 20,000 draws each; seed fixed beforehand."""
    lists = [[0.4, 0.4, 0.1, -0.6], [0.0, -0.05], [1.0, 0.9, 0.5, 0.5, 0.2, -3.0]]
    spreads = Spreads.from_lists(lists, [0, 0, 0])
    for agent in (Agent(0.2, 0.7), Agent(0.2, 0.7, "ipb", "shares", lapse=0.1)):
        p = agent.probabilities(spreads)
        many = spreads.take(np.repeat(np.arange(3), 20_000))
        chosen = played(agent, many, 20240901).chosen.reshape(3, -1)
        for t in range(3):
            chance = p[spreads.offsets[t] : spreads.offsets[t + 1]]
            counts = np.bincount(chosen[t], minlength=len(chance))
            likely = chance * 20_000 >= 5
            observed = np.append(counts[likely], counts[~likely].sum())
            expected = np.append(chance[likely], chance[~likely].sum()) * 20_000
            keep = expected > 0
            assert stats.chisquare(observed[keep], expected[keep]).pvalue > 1e-3


def test_simulation_never_draws_what_cannot_be() -> None:
    spreads = Spreads.from_lists([[0.3, -np.inf]], [0]).take(np.zeros(500, dtype=int))
    assert (played(Agent(0.1, 0.5), spreads, 1).chosen == 0).all()


def test_simulation_is_a_matter_of_the_seed() -> None:
    spreads = realistic_spreads(35, 200)
    agent = Agent(S, C)
    assert (played(agent, spreads, 5).chosen == played(agent, spreads, 5).chosen).all()
    assert (played(agent, spreads, 5).chosen != played(agent, spreads, 6).chosen).any()


@pytest.mark.parametrize("ratio", ["shares", "powers"])
def test_z_scores_have_the_stated_spread_and_correlation(ratio: str) -> None:
    """800 simulated data sets of 120 turns: sd 1 (standard error 0.025), mean 0 (0.035)."""
    agent = Agent(S, C, ratio=ratio)
    spreads = realistic_spreads(36, 120)
    rng = np.random.default_rng(37)
    said = [agent.project(agent.simulate(spreads, rng)) for _ in range(800)]
    z = np.array([(each.z_mm, each.z_ad) for each in said])
    assert np.abs(z.mean(axis=0)).max() < 4 / math.sqrt(800)
    assert np.abs(z.std(axis=0) - 1).max() < 4 / math.sqrt(2 * 800)
    stated = said[0].correlation
    assert 0.2 < stated < 0.9
    seen = np.corrcoef(z.T)[0, 1]
    # Fisher's z: standard error 1/√(n - 3), with room for the tail of δ.
    assert abs(np.arctanh(seen) - np.arctanh(stated)) < 5 / math.sqrt(797)
