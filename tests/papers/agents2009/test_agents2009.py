"""The 2009 experiments: verdicts on agents of known competence."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from tests.papers.simulated import make_table

from milepost.choice import ReferenceAgent, Spreads
from milepost.fit import fit_reference
from milepost.papers.agents2009.bands import (
    band_decisions,
    band_findings,
    band_table,
    clustered_error,
    learning_findings,
    path_table,
)
from milepost.papers.agents2009.results import (
    RANGES,
    contrast,
    prior_findings,
    prior_table,
    result_findings,
    result_table,
)
from milepost.papers.agents2009.robustness import engine_ratio, ratio_of, rise
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import cohorts_of
from milepost.papers.statistics import first_options

LEVELS = [1600.0, 1900.0, 2200.0, 2500.0]


def rising(elo: float) -> ReferenceAgent:
    """Competence that rises with Elo."""
    return ReferenceAgent(c=0.9 + (elo - 1600) / 1500)


def of_competence(c: float, _: float) -> ReferenceAgent:
    """The same competence at every Elo."""
    return ReferenceAgent(c=c)


def bands_of(table: pl.DataFrame) -> pl.DataFrame:
    cohorts = cohorts_of(table)
    found = {elo: fit_reference(each) for elo, each in cohorts.items()}
    return band_table(found, {elo: clustered_error(each) for elo, each in cohorts.items()})


def test_competence_is_recovered_and_rises() -> None:
    table = bands_of(make_table(LEVELS, 1500, 31, agent=rising))
    truth = np.array([rising(elo).c for elo in LEVELS])
    z = (table["mean"].to_numpy() - truth) / table["sd"].to_numpy()
    assert np.abs(z).max() < 3
    rise, apart, honest = band_findings(table)
    assert [rise.verdict, apart.verdict, honest.verdict] == [HOLDS, HOLDS, HOLDS]


def test_equal_competence_does_not_rise() -> None:
    table = bands_of(make_table(LEVELS, 800, 32, agent=lambda _: ReferenceAgent(c=1.1)))
    rise, apart, honest = band_findings(table)
    assert rise.verdict != HOLDS
    assert apart.verdict != HOLDS
    assert honest.verdict == HOLDS
    assert band_findings(table.head(2))[0].verdict == TOO_LITTLE


def test_errors_by_games_see_what_the_posterior_does_not() -> None:
    table = make_table([2000.0], 900, 33, agent=lambda _: ReferenceAgent(c=1.1))
    spreads = Spreads.from_table(table)
    alone = Spreads.from_table(
        table.with_columns(pl.int_range(pl.len()).cast(str).alias("game_id"))
    )
    posterior = fit_reference(spreads)
    assert clustered_error(alone) == pytest.approx(posterior.sd, rel=0.15)
    # Games in which every turn was played three times over: the truth is known √3 times less well.
    thrice = pl.concat([table] * 3)
    assert fit_reference(Spreads.from_table(thrice)).sd == pytest.approx(
        posterior.sd / math.sqrt(3), rel=0.02
    )
    assert clustered_error(Spreads.from_table(thrice)) == pytest.approx(
        clustered_error(spreads), rel=0.02
    )


def test_the_width_shrinks_with_the_root_of_the_data() -> None:
    cohorts = cohorts_of(make_table([2000.0, 2400.0], 1200, 34, agent=rising))
    paths = path_table(cohorts)
    settles, falls, asymptote = learning_findings(paths)
    assert [settles.verdict, falls.verdict, asymptote.verdict] == [HOLDS, HOLDS, FAILS]
    assert paths.filter(pl.col("Elo") == "2000")["Turns"].to_list()[:2] == [25, 50]
    # A posterior that does not shrink is told.
    stuck = paths.with_columns((0.05 + 1 / pl.col("Turns") ** 2).alias("sd"))
    assert [each.verdict for each in learning_findings(stuck)[1:]] == [FAILS, HOLDS]


@pytest.mark.parametrize(("gain", "verdict"), [(0.4, HOLDS), (-0.4, FAILS)])
def test_winners_and_losers_are_judged_by_the_truth(gain: float, verdict: str) -> None:
    parts = [
        make_table(LEVELS, 400, 35 + place, agent=partial(of_competence, c))
        .with_columns(pl.lit(score).alias("score"), pl.lit(f"{score}").alias("key"))
        .with_columns((pl.col("game_id") + pl.col("key")).alias("game_id"))
        .drop("key")
        for place, (score, c) in enumerate(((1.0, 1.2 + gain), (0.5, 1.2), (0.0, 1.2)))
    ]  # fmt: skip
    table = result_table(pl.concat(parts))
    found = contrast(table, "won", "lost")
    assert found is not None
    difference, mileposts = found
    assert mileposts == len(LEVELS)
    assert abs(difference.value - gain) < 3 * difference.se
    findings = result_findings(table)
    assert findings[0].verdict == verdict
    # Who drew is set against who won: the other way round.
    assert findings[1].verdict == (FAILS if gain > 0 else HOLDS)
    assert findings[2].verdict == TOO_LITTLE


def test_the_range_of_the_prior_matters_only_if_it_is_narrow() -> None:
    table = make_table([2000.0], 600, 39, agent=lambda _: ReferenceAgent(c=1.3))
    found = prior_table({"won": Spreads.from_table(table)})
    (wide,) = prior_findings(found)
    assert wide.verdict == HOLDS
    assert len(found) == 2 * len(RANGES)
    cut = found.filter((pl.col("to") == 1.0) & (pl.col("turns") == "all"))
    assert cut["mean"].item() < 1.0
    assert not cut["holds it"].item()


def test_the_book_is_twelve_moves_and_nothing_is_cut_off(simulated_folder: Folder) -> None:
    frame = band_decisions(simulated_folder)
    assert frame["move_number"].to_numpy().min() == 13


def test_robustness_on_agents_of_known_competence() -> None:
    spreads = Spreads.from_table(make_table(LEVELS, 150, 51, agent=rising))

    nothing = ratio_of(spreads, spreads, rise, draws=8)
    assert (nothing.value, nothing.se) == (0.0, 0.0)
    # The agent chooses among all moves by the same law: five of them show the same competence.
    fewer = first_options(spreads, 5, bounded=False)
    five = ratio_of(fewer, spreads, lambda view, competence: competence(view), draws=20)
    assert 0.5 < five.se < 10
    assert abs(five.value) < 4 * five.se


def test_the_rise_of_competence_is_free_of_bias() -> None:
    """On the same decisions, chosen anew 25 times: the mean is the truth, the scatter as stated."""
    spreads = Spreads.from_table(make_table(LEVELS, 150, 51, agent=rising))
    rng = np.random.default_rng(52)
    of_level = {level: np.flatnonzero(spreads.rating == level) for level in LEVELS}
    found = []
    for _ in range(25):
        chosen = np.empty(len(spreads), dtype=np.int64)
        for level, rows in of_level.items():
            chosen[rows] = rising(level).simulate(spreads.take(rows), rng).chosen
        found.append(rise(spreads.choosing(chosen)))
    # The error of each half's c is its posterior's sd, and the halves lie 600 Elo apart.
    upper = np.asarray(spreads.rating) > 2000
    sds = [fit_reference(spreads.take(half)).sd for half in (upper, ~upper)]
    stated = math.hypot(*sds) / 6
    assert abs(np.mean(found) - 100 / 1500) < 3 * stated / 5
    assert np.std(found, ddof=1) == pytest.approx(stated, rel=0.4)


def test_another_engine_that_sees_the_same_shows_the_same_competence() -> None:
    table = make_table(LEVELS, 150, 53, agent=rising)
    spreads = Spreads.from_table(table)
    same = engine_ratio(spreads, spreads, draws=8)
    assert (same.value, same.se) == (0.0, 0.0)
    # Differences twice as large in the eyes of the other: (2 d + K)^-c is another law, lower c.
    doubled = Spreads.from_table(
        table.with_columns(pl.col("values").list.eval(2 * pl.element()), depth_values=None)
    )
    other = engine_ratio(spreads, doubled, draws=8)
    assert other.value < -5 * other.se
