"""Accuracy over cuts: pieces, errors and their errors against simulated sets of games."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import league

from milepost.choice import Spreads
from milepost.choice.spreads import Floats
from milepost.errors import InputError
from milepost.fit.comparison.compare import split_folds
from milepost.intrinsic.calibration.accuracy import (
    Contender,
    Cutter,
    accuracy_line,
    accuracy_table,
)
from milepost.intrinsic.calibration.held_out import read_folds, read_unseen, simple_contenders
from milepost.intrinsic.calibration.maps import fit_map
from milepost.intrinsic.rating.likelihood_grid import RUNGS, climb, greatest, greatest_of_rows

GAMES, TURNS = 500, 4


def games(seed: int) -> tuple[Spreads, Floats, np.random.Generator]:
    """Turns that say nothing but whose they are: 500 games of 4 turns, 1600 to 2600."""
    rng = np.random.default_rng(seed)
    game = np.repeat(np.arange(GAMES), TURNS)
    elo = np.repeat(rng.choice(np.arange(1600.0, 2700.0, 200.0), GAMES), TURNS)
    elo += rng.uniform(-40, 40, len(game))
    offsets = 2 * np.arange(len(game) + 1)
    values = np.tile([0.0, -1.0], len(game))
    spreads = Spreads.from_arrays(
        offsets, values, np.zeros(len(game), dtype=np.int64), groups=game, rating=elo
    )
    return spreads, elo, rng


def noisy(elo: Floats, noise: Floats, slope: float = 1.0) -> Contender:
    """A reader that is off by the mean of its turns' noise."""

    def read(parts: np.ndarray) -> Floats:
        answer: Floats = 2100 + slope * ((elo + noise)[parts].mean(axis=1) - 2100)
        return answer

    return Contender(read)


def heavy(rng: np.random.Generator) -> Floats:
    """Noise of turns with heavy tails, and of games: sd 900 a turn."""
    turns = rng.standard_t(6, GAMES * TURNS) * 900 / 1.5**0.5
    answer: Floats = turns + np.repeat(rng.normal(0, 300, GAMES), TURNS)
    return answer


def test_pieces_are_of_one_level_and_use_each_turn_once() -> None:
    spreads, elo, rng = games(1)
    cutter = Cutter(spreads, 50)
    parts = cutter.cut(rng.permutation(cutter.games))
    assert parts.shape[1] == 50
    assert len(np.unique(parts)) == parts.size > 0.85 * len(spreads)
    assert np.ptp(elo[parts], axis=1).max() < 100
    # Games stay together: a piece of 50 turns begins or ends within a game at most twice.
    assert max(len(np.unique(part // TURNS)) for part in parts) <= 14


def test_a_game_drawn_twice_is_there_twice() -> None:
    spreads, _, _ = games(1)
    drawn = np.repeat(np.arange(GAMES // 2), 2)
    parts = Cutter(spreads, 50).cut(drawn)
    assert np.unique(parts.ravel(), return_counts=True)[1].max() == 2


def test_the_errors_are_right_over_many_sets_of_games() -> None:
    plain, stated = [], []
    for seed in range(120):
        spreads, elo, rng = games(seed)
        contender = {"a": noisy(elo, heavy(rng))}
        plain.append(accuracy_table(contender, spreads, sizes=(60,), cuts=10, resamples=0))
    for seed in range(12):
        spreads, elo, rng = games(1000 + seed)
        contender = {"a": noisy(elo, heavy(rng))}
        stated.append(accuracy_table(contender, spreads, sizes=(60,), cuts=10, resamples=40))
    truth, known = pl.concat(plain), pl.concat(stated)
    # A game's own noise does not average out within it: 900²/60 + 300²/15.
    assert truth["rmse"].mean() == pytest.approx((900**2 / 60 + 300**2 / 15) ** 0.5, rel=0.03)
    for name in ("rmse", "calibrated"):
        error = float(np.sqrt((known[f"{name}_se"] ** 2).mean()))  # type: ignore[arg-type]
        assert error == pytest.approx(float(truth[name].std()), rel=0.25)  # type: ignore[arg-type]
    # The spread over cuts is another thing: one cut is luckier than the mean of many.
    assert float(truth["rmse_sd"].mean()) > 1.2 * float(truth["rmse"].std())  # type: ignore[arg-type]


def test_a_reader_drawn_to_the_middle_wins_by_the_plain_error_only() -> None:
    spreads, elo, rng = games(3)
    noise = heavy(rng)
    contenders = {"honest": noisy(elo, noise), "drawn": noisy(elo, noise, slope=0.8)}
    table = accuracy_table(contenders, spreads, sizes=(20,), cuts=5, resamples=10, against="honest")
    honest, drawn = table.rows(named=True)
    assert drawn["rmse"] < honest["rmse"]
    assert drawn["slope"] == pytest.approx(0.8 * honest["slope"])
    assert drawn["calibrated"] == pytest.approx(honest["calibrated"])
    assert drawn["ratio"] == pytest.approx(1.0)
    assert drawn["ratio_low"] == pytest.approx(1.0, abs=1e-3)


def test_the_ratio_of_information_is_that_of_the_variances() -> None:
    logs, covered = [], 0
    for seed in range(20):
        spreads, elo, rng = games(50 + seed)
        little, much = (rng.normal(0, sd, len(elo)) for sd in (600, 600 * 2**0.5))
        contenders = {"twice": noisy(elo, little), "once": noisy(elo, much)}
        table = accuracy_table(
            contenders, spreads, sizes=(60,), cuts=6, resamples=30, against="once"
        )
        row = table.row(0, named=True)
        logs.append(np.log(row["ratio"]))
        covered += row["ratio_low"] <= 2 <= row["ratio_high"]
    assert np.exp(np.mean(logs)) == pytest.approx(2, rel=0.2)
    assert covered >= 16


def test_cuts_come_from_the_seed_and_slow_readers_get_few() -> None:
    spreads, elo, rng = games(4)
    quick = noisy(elo, heavy(rng))
    slow = Contender(quick.read, cuts=2)
    contenders = {"quick": quick, "slow": slow}
    once, again, other = (
        accuracy_table(contenders, spreads, sizes=(60,), cuts=4, resamples=5, seed=seed)
        for seed in (1, 1, 2)
    )
    assert once.equals(again)
    assert once["rmse"][0] != other["rmse"][0]
    assert once["cuts"].to_list() == [4, 2]
    assert once["rmse_se"].to_list()[1] is None


def test_likelihood_readings_of_many_pieces_are_those_of_each() -> None:
    spreads, who, elo = league(40, 4, 12, seed=5)
    found = fit_map("joint", spreads, covariance=False)
    unseen = read_folds([found], spreads)
    parts = np.stack([np.flatnonzero(who == player) for player in range(40)])
    ladder = climb(spreads, found.path)
    alone = [greatest(ladder.take(part).log_likelihood()) for part in parts]
    assert unseen.read(parts) == pytest.approx(alone, abs=2e-3)
    # The score and information at the own Elo are those of the ladder.
    assert unseen.score == pytest.approx(ladder.scores(elo), rel=0.02, abs=2e-5)
    assert unseen.information.sum() == pytest.approx(ladder.information_at(elo).sum(), rel=0.01)


def test_the_greatest_of_rows_is_found_at_ends_too() -> None:
    rows = np.stack([RUNGS, -RUNGS, -((RUNGS - 1234.5) ** 2)])
    assert greatest_of_rows(RUNGS, rows) == pytest.approx([4000, 0, 1234.5], abs=1e-3)
    assert len(greatest_of_rows(RUNGS, rows[:0])) == 0


def test_agents_reach_their_bound_and_beat_simpler_measures() -> None:
    spreads, _, _ = league(150, 4, 12, seed=6)
    fold = split_folds(spreads, 3, np.random.default_rng(1))
    start = fit_map("joint", spreads, covariance=False)
    unseen = read_unseen("joint", spreads, fold, start=start)
    contenders = simple_contenders(spreads, fold) | {"joint": unseen.contender}
    table = accuracy_table(
        contenders, spreads, sizes=(100,), cuts=10, resamples=20, against="lichess accuracy"
    )
    joint = table.filter(map="joint").row(0, named=True)
    assert joint["calibrated"] == pytest.approx(joint["bound"], abs=3 * joint["calibrated_se"])
    # Pieces of little information weigh more than those of much: the bound is above that of all.
    assert 1.0 < joint["bound"] * (100 * unseen.information.mean()) ** 0.5 < 1.15
    assert joint["ratio"] > 1
    assert table["bound"].null_count() == 2
    line = accuracy_line(table, "joint", 100)
    assert line.startswith(f"error at 100 turns {joint['rmse']:.0f} ± ")
    assert "times the information of lichess accuracy" in line
    assert accuracy_line(table, "joint", 77) == accuracy_line(pl.DataFrame(), "joint", 100) == ""


def test_too_little_to_cut_is_refused() -> None:
    spreads, elo, rng = games(1)
    with pytest.raises(InputError, match="enough turns"):
        accuracy_table({"a": noisy(elo, heavy(rng))}, spreads, sizes=(5000,))
    with pytest.raises(InputError, match="one cut or more"):
        accuracy_table({"a": noisy(elo, heavy(rng))}, spreads, cuts=0)
