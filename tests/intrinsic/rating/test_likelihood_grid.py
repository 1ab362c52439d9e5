"""Ladders: splines against the likelihood itself, scores, information, intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from tests.intrinsic.makers import PATH, league

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.errors import InputError
from milepost.intrinsic.rating.interval import GameSums
from milepost.intrinsic.rating.likelihood_grid import climb, climb_at_once, drop_points, greatest

SPREADS, WHO, ELO = league(6, 5, 40, seed=3)
LADDER = climb(SPREADS, PATH)


@pytest.mark.parametrize("player", range(6))
def test_the_greatest_likelihood_is_where_a_direct_search_finds_it(player: int) -> None:
    part = SPREADS.take(player == WHO)
    prepared = prepare(part, PATH.model)

    def loss(rating: float) -> float:
        return -float(evaluate(PATH.model, prepared, PATH.theta(rating)).ln_chosen.sum())

    direct = minimize_scalar(loss, bounds=(500, 3800), method="bounded", options={"xatol": 1e-3})
    found = greatest(LADDER.take(player == WHO).log_likelihood())
    assert found == pytest.approx(direct.x, abs=0.1)


def test_scores_are_derivatives() -> None:
    said = [evaluate(PATH.model, prepare(SPREADS, PATH.model), PATH.theta(r)) for r in (2199, 2201)]
    difference = (said[1].ln_chosen - said[0].ln_chosen) / 2
    assert LADDER.scores(2200.0) == pytest.approx(difference, rel=1e-3, abs=2e-6)
    assert LADDER.scores(np.full(len(SPREADS), 2200.0)) == pytest.approx(LADDER.scores(2200.0))


def test_scores_of_agents_vary_by_the_information() -> None:
    spreads, _, elo = league(40, 4, 40, seed=8)
    ladder = climb(spreads, PATH)
    u, information = ladder.scores(elo), ladder.information_at(elo)
    assert u.sum() / np.sqrt(information.sum()) == pytest.approx(0, abs=3)
    # 6,400 decisions: the ratio has a standard error of about 4 %.
    assert (u**2).sum() / information.sum() == pytest.approx(1, abs=0.12)


def test_the_drop_is_that_of_the_likelihood_ratio() -> None:
    likelihood = LADDER.take(WHO == 0).log_likelihood()
    top = greatest(likelihood)
    low, high = drop_points(likelihood, top, 1.92)
    assert low < top < high
    for end in (low, high):
        assert float(likelihood(top) - likelihood(end)) == pytest.approx(1.92, abs=1e-6)


def test_only_best_moves_set_no_upper_bound() -> None:
    perfect = SPREADS.take(np.arange(30)).choosing(np.zeros(30, dtype=np.int64))
    likelihood = climb(perfect, PATH).log_likelihood()
    top = greatest(likelihood)
    assert top == 4000.0
    low, high = drop_points(likelihood, top, 1.92)
    assert np.isfinite(low)
    assert high == np.inf


def test_agents_that_see_depths_need_values_by_depth() -> None:
    from milepost.choice import ChoiceModel, DepthScheme
    from milepost.intrinsic.calibration.paths import PolynomialPath

    model = ChoiceModel(depths=DepthScheme.ends(tuple(range(1, 11))))
    path = PolynomialPath(model, (0,) * 5, np.zeros(5), np.eye(5), (1600.0, 2700.0), 2100.0, 500.0)
    with pytest.raises(InputError, match="look at the depths 1 to 10, the decisions have none"):
        climb(SPREADS, path)


def test_all_rungs_at_once_give_the_same_ladder() -> None:
    spreads = SPREADS.take(np.arange(6))
    one, other = climb(spreads, PATH), climb_at_once(spreads, PATH)
    np.testing.assert_allclose(other.ln_chosen, one.ln_chosen, rtol=1e-12)
    np.testing.assert_allclose(other.information, one.information, rtol=1e-10)


def test_sums_by_game_rate_as_the_decisions_do() -> None:
    rng = np.random.default_rng(2)
    ladder = replace(LADDER, weights=rng.uniform(0.5, 2.0, len(SPREADS)))
    game = ladder.groups
    sums = GameSums.of(ladder, game, int(game.max()) + 1)
    at = 2210.0
    by_game = np.bincount(game, weights=ladder.weights * ladder.information_at(at))
    squared = float(ladder.weights**2 @ ladder.information_at(at))
    assert sums.information_at(at)[0] == pytest.approx(by_game)
    assert sums.information_at(at)[1] == pytest.approx(squared)
    scores = np.bincount(game, weights=ladder.weights * ladder.scores(at))
    assert sums.scores(at) == pytest.approx(scores)
    likelihood = ladder.weights @ ladder.ln_chosen
    assert sums.ln_chosen.sum(axis=0) == pytest.approx(likelihood)
    some = GameSums.of(ladder, np.where(game == 0, -1, game), int(game.max()) + 1)
    assert some.turns[0] == 0
    assert not some.ln_chosen[0].any()
    assert some.ln_chosen[1:] == pytest.approx(sums.ln_chosen[1:])
