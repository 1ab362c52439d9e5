"""The statistics of reviews: against simulated play with known truth, and by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import milepost as mp
from milepost.choice.evaluation.evaluate import Prepared, ln_probabilities, prepare
from milepost.choice.evaluation.summaries import draw_choices
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb, greatest
from milepost.intrinsic.review.difference import difference
from milepost.intrinsic.review.shifts import NONE, Shift, measure_shift, together, without_shifts
from milepost.intrinsic.review.speeds import curve_of_cells
from milepost.intrinsic.review.traps import TrapCorrection, find_traps, fit_traps, sum_up_traps
from milepost.intrinsic.review.trend import trend, years
from milepost.intrinsic.review.turn_costs import (
    TurnCosts,
    expected_score,
    measure_points_a_pawn,
    reliability,
    turn_costs,
)
from milepost.intrinsic.review.words import game_words

SAMPLE = Path(mp.__file__).parent / "data" / "sample"
RUNGS = np.arange(600.0, 3401.0, 200.0)
"""Fewer than ratings have: that is fast, and here agreement with itself is enough."""
AGENTS = PlayerVariation.assumed()


class Play:
    """The bundled positions, in which agents of known strength choose anew."""

    def __init__(self) -> None:
        found = mp.decisions(SAMPLE / "games.pgn", SAMPLE / "evaluations")
        self.table: pl.DataFrame = found.table.head(700)
        self.calibration: Calibration = load_calibration("stockfish15.1-quick-values")
        path = self.calibration.map.path
        self.prepared: Prepared = prepare(Spreads.from_table(self.table), path.model)
        self.base = climb(self.prepared, path, RUNGS)
        columns = [ln_probabilities(path.model, self.prepared, path.theta(rung)) for rung in RUNGS]
        self.ln_p = np.stack(columns, axis=1)

    def ladder(self, strength: Floats, rng: np.random.Generator) -> Ladder:
        """Let agents of given strength, one a turn, choose; return what the choices say."""
        spreads, path = self.prepared.spreads, self.calibration.map.path
        p = np.exp(ln_probabilities(path.model, self.prepared, path.theta(strength)))
        chosen = np.empty(len(spreads), dtype=np.int64)
        draw_choices(spreads.offsets, p, rng.random(len(spreads)), chosen)
        # What a turn says of the rating beforehand does not depend on what was chosen.
        return replace(self.base, ln_chosen=self.ln_p[spreads.offsets[:-1] + chosen])


@pytest.fixture(scope="module")
def play() -> Play:
    return Play()


@pytest.fixture(scope="module")
def grid(play: Play) -> Ladder:
    return play.ladder(np.full(len(play.table), 2000.0), np.random.default_rng(1))


def test_a_shift_is_found_and_taken_out(play: Play) -> None:
    rng = np.random.default_rng(5)
    own = rng.uniform(1700, 2300, len(play.table))
    ladder = play.ladder(own + 150, rng)
    players = np.arange(len(own)) % 60
    found = measure_shift(ladder, own, players)
    assert found.known
    assert abs(found.value - 150) < 3 * found.se
    assert 15 < found.se < 120
    # What reads high by x reads x lower once x is taken out.
    shifted = without_shifts(ladder, np.full(len(own), found.value))
    again = measure_shift(shifted, own, players)
    assert abs(again.value) < 2
    assert np.allclose(without_shifts(ladder, 0.0).ln_chosen, ladder.ln_chosen)


def test_too_few_players_give_no_shift(grid: Ladder) -> None:
    few = grid.take(np.arange(30))
    assert not measure_shift(few, np.full(30, 2000.0), np.zeros(30)).known


def test_two_measurements_weigh_by_their_precision() -> None:
    joined = together(Shift(100, 30, 10, 2, 2), Shift(0, 60, 5, 1, 1))
    assert joined.value == pytest.approx(80)  # weights 4 to 1
    assert joined.se == pytest.approx(1 / np.sqrt(1 / 900 + 1 / 3600))
    assert together(NONE, Shift(float("nan"), float("nan"))) == NONE


def test_p_of_a_difference_is_even_where_there_is_none(play: Play) -> None:
    rng = np.random.default_rng(11)
    own = np.full(len(play.table), 2000.0)
    ps, covered = [], 0
    for _ in range(40):
        ladder = play.ladder(own, rng)
        order = rng.permutation(len(own))[:320]
        found = difference(ladder.take(order[:200]), ladder.take(order[200:]), AGENTS)
        ps.append(found.p)
        covered += found.low <= 0 <= found.high
    small = sum(p < 0.1 for p in ps)
    # Binomial with 40 draws: outside these in fewer than one of a thousand honest runs.
    assert binom.sf(small - 1, 40, 0.1) > 0.001
    assert binom.cdf(small, 40, 0.1) > 0.001
    assert covered >= 33


def test_a_difference_is_found_with_its_sign(play: Play) -> None:
    rng = np.random.default_rng(3)
    strong = np.arange(len(play.table)) % 2 == 0
    ladder = play.ladder(np.where(strong, 2500.0, 1600.0), rng)
    found = difference(ladder.take(strong), ladder.take(~strong), AGENTS, names=("a", "b"))
    assert found.low < 900 < found.high
    assert found.p < 0.001
    other = difference(ladder.take(~strong), ladder.take(strong), AGENTS, names=("b", "a"))
    assert other.value == pytest.approx(-found.value)
    assert other.low == pytest.approx(-found.high, abs=1)
    assert other.p == pytest.approx(found.p)
    tops = [greatest(ladder.take(each).log_likelihood()) for each in (strong, ~strong)]
    assert found.value == pytest.approx(tops[0] - tops[1])
    assert "a against b" in str(found)


def test_an_error_of_baselines_widens_a_difference(grid: Ladder) -> None:
    first, second = grid.take(np.arange(300)), grid.take(np.arange(300, 600))
    plain = difference(first, second, AGENTS)
    wide = difference(first, second, AGENTS, extra_se=300)
    assert wide.high - wide.low > plain.high - plain.low
    assert wide.p > plain.p


def test_no_turn_no_difference(grid: Ladder) -> None:
    found = difference(
        grid.take(np.zeros(0, dtype=np.int64)), grid, AGENTS, names=("endgame", "opening")
    )
    assert not np.isfinite(found.value)
    assert "no turn to rate: endgame" in str(found)


def test_costs_are_sums_over_the_options(play: Play) -> None:
    table = play.table.head(40)
    costs = turn_costs(table, play.calibration, 2000.0, points_a_pawn=0.5)
    for row in (0, 7, 39):
        start, end = costs.spreads.offsets[row : row + 2]
        p = costs.probabilities[start:end]
        values = np.clip(costs.spreads.values[start:end], -15, 15)
        score = 1 / (1 + np.exp(-0.5 * values))
        lost = score[0] - score
        made = int(costs.spreads.chosen[row])
        told = costs.table.row(row, named=True)
        assert p.sum() == pytest.approx(1)
        assert told["points_lost"] == pytest.approx(lost[made])
        assert told["points_expected"] == pytest.approx(float(p @ lost))
        assert told["cost"] == pytest.approx(float(lost[made] - p @ lost))
        assert told["chance"] == pytest.approx(float(p[made]))
        assert told["best_chance"] == pytest.approx(float(p[0]))
        assert told["better_chance"] == pytest.approx(float(p[lost < lost[made] / 2].sum()))
        assert told["entropy"] == pytest.approx(float(-(p * np.log(p)).sum()), abs=1e-6)


def test_the_worth_of_a_pawn_is_recovered() -> None:
    rng = np.random.default_rng(2)
    value = rng.normal(0, 2, 6000)
    score = (rng.random(6000) < expected_score(value, 0.6)).astype(float)
    k, se = measure_points_a_pawn(value, score, np.arange(6000))
    assert abs(k - 0.6) < 3 * se
    assert se < 0.03


def test_true_chances_are_reliable_and_wrong_ones_are_not() -> None:
    rng = np.random.default_rng(4)
    chance = rng.random(4000)
    happened = rng.random(4000) < chance
    good = reliability(chance, happened, np.arange(4000))
    assert good["turns"].sum() == 4000
    assert np.abs(good["z"].to_numpy()).max() < 3.5
    bad = reliability(np.sqrt(chance), happened, np.arange(4000))
    assert np.abs(bad["z"].to_numpy()).max() > 5


def test_a_trap_looks_best_at_low_depth_and_is_refuted() -> None:
    deep = [[1.0, 0.9, -1.5], [0.5, 0.4, 0.3]]
    by_depth = [
        [[0.2, 0.3, 0.2, 0.2, 0.9, 1.0], [0.1] * 6, [0.5, 0.6, 0.8, 0.5, -1.0, -1.5]],
        [[0.5] * 6, [0.4] * 6, [0.3] * 6],
    ]
    spreads = Spreads.from_lists(deep, [2, 0], depth_values=by_depth)
    lost = np.concatenate([expected_score([1.0] * 3) - expected_score(deep[0]), np.zeros(3)])
    costs = TurnCosts(pl.DataFrame(), spreads, np.array([0.6, 0.1, 0.3, 0.5, 0.3, 0.2]), lost)
    found = find_traps(costs)
    assert found["row"].to_list() == [0]
    assert found["option"].to_list() == [2]
    assert found["fell"].to_list() == [True]
    assert found["trap_chance"][0] == pytest.approx(0.3)
    assert found["shallow"][0] == 3  # half of six depths


def test_traps_are_summed_by_the_exact_law() -> None:
    traps = pl.DataFrame({"trap_chance": [0.3] * 10, "fell": [True] * 6 + [False] * 4})
    told = sum_up_traps(traps)
    assert told["expected"] == pytest.approx(3.0)
    law = binom(10, 0.3)
    assert told["p"] == pytest.approx(2 * (law.sf(6) + law.pmf(6) / 2))
    assert sum_up_traps(traps.clear())["p"] is None


def test_a_band_covers_a_level_that_moves() -> None:
    rng = np.random.default_rng(8)
    inside = total = 0
    for _ in range(25):
        time = np.sort(rng.uniform(2010, 2016, 40))
        steps = np.diff(time, prepend=time[0])
        level = 2000 + np.cumsum(rng.normal(0, 80 * np.sqrt(steps)))
        information = rng.uniform(0.5, 2, 40) / 150**2
        reading = level + rng.normal(0, np.sqrt(1.3 / information))
        found = trend(time, information * (reading - 2000), information, 2000.0, 1.3)
        band = found.table
        low, high = band["low"].to_numpy(), band["high"].to_numpy()
        inside += int(((low <= level) & (level <= high)).sum())
        total += 40
    assert 0.90 < inside / total < 0.99


def test_a_steady_player_gets_no_story() -> None:
    rng = np.random.default_rng(9)
    time = np.linspace(2020, 2022, 30)
    information = np.full(30, 1 / 200**2)
    reading = 1800 + rng.normal(0, 200, 30)
    found = trend(time, information * (reading - 1800), information, 1800.0, 1.0)
    assert found.change.low < 0 < found.change.high
    assert 0.05 < found.change.rising < 0.95


def test_unknown_parts_of_dates() -> None:
    told = years(pl.Series(["2014.03.15", "2014.??.??", "????.??.??", None]))
    assert told[0] == pytest.approx(2014 + 2 / 12 + 14 / 365.25)
    assert told[1] == pytest.approx(2014.5)
    assert told[2] is None
    assert told[3] is None


def test_speeds_are_told_by_accounts_that_play_several() -> None:
    cells = pl.DataFrame(
        {
            "mover": ["a", "a", "b", "b", "c"],
            "speed": ["rapid", "blitz", "rapid", "blitz", "blitz"],
            "turns": [100] * 5,
            "rating": [2000.0, 1800.0, 1500.0, 1320.0, 500.0],
            "se": [50.0] * 5,
        }
    )
    curve = curve_of_cells(cells)
    blitz = curve.filter(pl.col("speed") == "blitz").row(0, named=True)
    assert blitz["difference"] == pytest.approx(-190)
    assert blitz["se"] == pytest.approx(50)  # √(2 · 50² / 2 accounts)
    assert blitz["accounts"] == 2


@pytest.mark.parametrize(
    ("score", "own", "theirs", "words"),
    [
        (1.0, 100, 0, "won by good play"),
        (1.0, 0, -100, "won: the opponent played badly"),
        (0.0, -100, 0, "lost by bad play"),
        (0.0, 0, 100, "lost: the opponent played well"),
        (0.0, 10, 10, "lost: play as usual"),
        (0.5, 100, 0, "drawn: own play above the Elo"),
    ],
)
def test_how_a_game_was_won_or_lost(score: float, own: float, theirs: float, words: str) -> None:
    row = {"score": score, "own_play": own, "own_play_se": 50.0, "opponent_play": theirs,
           "opponent_play_se": 50.0}  # fmt: skip
    assert game_words(row) == words
    assert game_words({"score": 1.0, "own_play": None}) == "won: too little to say"
    assert game_words({"score": None}) == "no result"


def test_the_correction_of_traps_finds_how_people_differ_from_agents() -> None:
    rng = np.random.default_rng(2026)
    said = rng.uniform(0.01, 0.6, 20_000)
    elo = rng.uniform(1600, 2700, len(said))
    truth = TrapCorrection(-0.6, 0.8, -0.3)
    fell = rng.random(len(said)) < truth.apply(said, elo)
    found = fit_traps(said, elo, fell, np.arange(len(said)) // 4)
    assert abs(found.elo_slope + 0.3) < 3 * found.elo_slope_se
    assert abs(found.intercept + 0.6) < 3 * found.intercept_se
    assert abs(found.slope - 0.8) < 3 * found.slope_se
    assert found.apply(said, elo).sum() == pytest.approx(fell.sum(), rel=1e-6)
    # With the true law left alone there is nothing to correct.
    honest = fit_traps(said, elo, rng.random(len(said)) < said, np.arange(len(said)))
    assert abs(honest.intercept) < 3 * honest.intercept_se
    assert abs(honest.slope - 1) < 3 * honest.slope_se
    assert TrapCorrection().apply([0.25], 1500.0) == pytest.approx([0.25])


def test_traps_that_nobody_fell_for_teach_nothing() -> None:
    with pytest.raises(InputError, match="nothing to learn"):
        fit_traps([0.1, 0.2], [2000, 2100], [False, False], [1, 2])
