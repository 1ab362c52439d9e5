"""Recovery and coverage, small: simulate with known parameters, fit, look where the truth lies.

The full study (five curves, N to 5,000, 200 fits each, real spreads) is a benchmark script.
Seeds were fixed beforehand.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats
from tests.choice.makers import realistic_spreads

from milepost.choice import Agent, Spreads
from milepost.fit import AgentModel, fit_agent

# Parameters that give choices like those of people: the best option in 35 to 60 % of the turns.
AGENTS = (
    Agent(0.1, 0.5, "invexp", "shares"),
    Agent(0.1, 0.5, "invexp", "powers"),
    Agent(0.03, 1.2, "ipb", "shares"),
    Agent(0.02, 0.7, "ipb", "powers"),
)
TIMES = {300: 40, 1000: 20}
METHODS = ("percentile", "likelihood")


@cache
def turns(number: int) -> Spreads:
    """Each decision a game of its own, as the simulated choices are."""
    some = realistic_spreads(701, number)
    return Spreads.from_arrays(some.offsets, some.values, some.chosen)


@cache
def study(method: str, cell: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each fit: errors of (ln s, ln c), whether intervals cover, chi-square and degrees."""
    agent = AGENTS[cell]
    rng = np.random.default_rng([20240901, cell, number])
    errors, covered, chi_squares = [], [], []
    for _ in range(TIMES[number]):
        spreads = agent.simulate(turns(number), rng)
        fit = fit_agent(spreads, AgentModel(curve=agent.curve, ratio=agent.ratio), method=method)
        assert fit.converged
        errors.append(fit.theta - agent.parameters)
        bounds = fit.interval(0.95)
        covered.append(
            [bounds[n][0] <= v <= bounds[n][1] for n, v in (("s", agent.s), ("c", agent.c))]
        )
        chi_squares.append([fit.percentiles.chi_square, fit.percentiles.degrees])
    return np.array(errors), np.array(covered), np.array(chi_squares)


@pytest.mark.parametrize("number", TIMES)
@pytest.mark.parametrize("cell", range(len(AGENTS)))
@pytest.mark.parametrize("method", METHODS)
def test_every_cell_covers(method: str, cell: int, number: int) -> None:
    """Within the 99.9 % binomial band, for s and for c."""
    _, covered, _ = study(method, cell, number)
    low, high = stats.binom.interval(0.999, len(covered), 0.95)
    hits = covered.sum(axis=0)
    assert (hits >= low).all()
    assert (hits <= high).all()


@pytest.mark.parametrize("method", METHODS)
def test_pooled_coverage_and_bias(method: str) -> None:
    cells = [study(method, cell, number) for number in TIMES for cell in range(len(AGENTS))]
    covered = np.concatenate([each[1] for each in cells])
    low, high = stats.binom.interval(0.999, len(covered), 0.95)
    for hits in covered.sum(axis=0):
        assert low <= hits <= high
    # In units of each cell's own spread, so that the cells can be pooled.
    standard = np.concatenate([each[0] / each[0].std(axis=0, ddof=1) for each in cells])
    bias = standard.mean(axis=0) * math.sqrt(len(standard))
    assert (np.abs(bias) < 4).all(), bias


@pytest.mark.parametrize("method", METHODS)
def test_the_chi_square_of_a_true_model(method: str) -> None:
    """Its mean is its degrees of freedom, standard error √(2·degrees/n).

    Where no p_0 is under q, up_q is q/p_0 for hits and else 0: these points are multiples of each
    other. Powers, N = 1000: p_0 ≥ 0.217, so the points 0.05 to 0.20 count once, the rank is 16.
    """
    values = np.concatenate([study(method, cell, 1000)[2] for cell in range(len(AGENTS))])
    chi_square, degrees = values.mean(axis=0)
    assert abs(chi_square - degrees) < 4 * math.sqrt(2 * degrees / len(values))


def test_the_likelihood_fit_is_the_sharper_one() -> None:
    """A true model's likelihood fit is efficient: the percentile fit cannot beat it by much."""
    ratios = [
        study("likelihood", cell, n)[0].std(axis=0) / study("percentile", cell, n)[0].std(axis=0)
        for n in TIMES
        for cell in range(len(AGENTS))
    ]
    assert np.mean(ratios) < 1.0
