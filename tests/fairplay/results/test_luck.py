"""The split of scores and the mirror test: identities, a dense second reckoning, simulated play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import kstest, norm

import milepost as mp
from milepost.choice.evaluation.evaluate import Prepared, ln_probabilities, prepare
from milepost.choice.evaluation.summaries import draw_choices
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import InputError
from milepost.fairplay.results import luck, mirror, player_games
from milepost.fairplay.results.luck import measure_play_sd, split_results
from milepost.fairplay.results.mirror import (
    NO_PULL,
    ResultPull,
    measure_result_pull,
    mirror_p,
    mirror_test,
)
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb

PLAYER_SD, EVENT_SD = 80.0, 60.0
AGENTS = PlayerVariation.assumed(player_sd=PLAYER_SD, event_sd=EVENT_SD)
"""Agents: nothing beside players and events varies more than their probabilities say."""
FORBIDDEN = ("cheat", "guilty", "innocent", "suspicious", "proof", "caught", "verdict")
RUNGS = np.arange(600.0, 3401.0, 200.0)
"""Fewer than ratings have: that is fast, and here agreement with itself is enough."""
POINT = np.log(10) / 400


@dataclass(frozen=True, eq=False)
class Sample:
    """The bundled games, and what agents at every rung would do in them."""

    table: pl.DataFrame
    calibration: Calibration
    prepared: Prepared
    ladder: Ladder
    ln_p: Floats
    own: Floats

    def play(self, strength: Floats, rng: np.random.Generator) -> Ladder:
        """Let agents of given strength, one a turn, choose anew."""
        spreads, path = self.prepared.spreads, self.calibration.map.path
        p = np.exp(ln_probabilities(path.model, self.prepared, path.theta(strength)))
        chosen = np.empty(len(spreads), dtype=np.int64)
        draw_choices(spreads.offsets, p, rng.random(len(spreads)), chosen)
        return replace(self.ladder, ln_chosen=self.ln_p[spreads.offsets[:-1] + chosen])


@pytest.fixture(scope="module")
def sample(bundled_data: Path) -> Sample:
    folder = bundled_data / "sample"
    table = mp.decisions(folder / "games.pgn", folder / "evaluations").table
    calibration = replace(load_calibration("stockfish15.1-quick"), variation=AGENTS)
    path = calibration.map.path
    prepared = prepare(Spreads.from_table(table), path.model)
    ladder = climb(prepared, path, RUNGS)
    ln_p = [ln_probabilities(path.model, prepared, path.theta(rung)) for rung in ladder.rungs]
    own = table["mover_elo"].cast(pl.Float64).to_numpy()
    return Sample(table, calibration, prepared, ladder, np.column_stack(ln_p), own)


def by_hand(sample: Sample, ladder: Ladder) -> pl.DataFrame:
    """Player-games, gathered in another way than the module does."""
    return (
        sample.table.with_columns(
            u=ladder.scores(sample.own) * ladder.weights,
            i=ladder.information_at(sample.own) * ladder.weights,
        )
        .group_by("game_id", "mover")
        .agg(pl.col("opponent", "colour", "mover_elo", "opponent_elo", "score").first(),
             pl.col("u", "i").sum(), pl.len())
        .with_columns(first=pl.when(pl.col("colour") == "white").then(35.0).otherwise(-35.0))
        .with_columns(
            e=1 / (1 + 10 ** ((pl.col("opponent_elo") - pl.col("mover_elo")
                               - pl.col("first")) / 400))
        )
        .with_columns(slope=POINT * pl.col("e") * (1 - pl.col("e")))
        .filter(pl.len().over("game_id") == 2)
        .sort("mover", "game_id")
    )  # fmt: skip


def covariance(games: pl.DataFrame, dispersion: float = 1.0) -> tuple[Floats, Floats]:
    """Of the steps of player-games, and of them with the levels b."""
    movers = games["mover"].to_numpy()
    same = PLAYER_SD**2 * (movers[:, None] == movers[None, :])
    return same + EVENT_SD**2 + np.diag(dispersion / games["i"].to_numpy()), same


def test_the_parts_add_up(sample: Sample) -> None:
    table = split_results(sample.table, sample.calibration, sample.ladder)
    parts = table["own_play"] + table["opponents_play"] + table["rest"]
    assert np.allclose(parts, table["surplus"], atol=1e-12)
    assert np.allclose(table["score"] - table["expected"], table["surplus"], atol=1e-12)
    # What one wins another loses, and every player-game is once own play, once the opponents'.
    assert abs(sum(table["surplus"])) < 1e-9
    assert abs(sum(table["own_play"]) + sum(table["opponents_play"])) < 1e-9
    # Two seasons; three games have turns of one side alone, the other's were all decided.
    counts = by_hand(sample, sample.ladder).group_by(player="mover").len().sort("player")
    assert table["games"].to_list() == counts["len"].to_list()
    assert set(table["games"]) == {12, 13, 14}
    assert table["opponents"].to_list() == [7] * 8
    assert table["reason"].null_count() == 8


def test_the_opponents_rating_is_that_of_the_same_turns(sample: Sample) -> None:
    row = split_results(sample.table, sample.calibration, sample.ladder).row(2, named=True)
    table = sample.table.filter(pl.col("mover").n_unique().over("game_id") == 2)
    against = table.filter(pl.col("opponent") == row["player"])
    rated = mp.rate(against, by=[], calibration=sample.calibration, force=True).table
    assert row["opponents_turns"] == len(against) == rated["n"][0]
    assert row["opponents_elo"] == pytest.approx(rated["elo"][0])
    assert row["opponents_rating"] == pytest.approx(rated["rating"][0], abs=2.0)
    assert row["opponents_low"] == pytest.approx(rated["low"][0], abs=4.0)
    elsewhere = table.filter(
        (pl.col("opponent") != row["player"]) & (pl.col("mover") != row["player"])
    )
    assert row["elsewhere_turns"] == len(elsewhere)
    assert row["elsewhere_low"] < row["elsewhere_rating"] < row["elsewhere_high"]


def test_play_and_its_error_are_those_of_a_dense_reckoning(sample: Sample) -> None:
    table = split_results(sample.table, sample.calibration, sample.ladder, play_sd=150.0)
    games = by_hand(sample, sample.ladder)
    whole, with_b = covariance(games)
    i, movers, slope = games["i"].to_numpy(), games["mover"].to_numpy(), games["slope"].to_numpy()
    count = len(games)
    rho = 150.0**2 * i / (1 + 150.0**2 * i)
    to_b = with_b @ np.linalg.inv(whole)
    to_a = EVENT_SD**2 * np.ones((count, count)) @ np.linalg.inv(whole)
    to_play = (1 - rho)[:, None] * to_b + rho[:, None] * (np.eye(count) - to_a)
    play = to_play @ (games["u"].to_numpy() / i)
    error = to_play @ whole @ to_play.T - to_play @ with_b - with_b @ to_play.T + with_b
    for row in table.iter_rows(named=True):
        own = np.where(movers == row["player"], slope, 0.0)
        theirs = np.where(games["opponent"].to_numpy() == row["player"], -slope, 0.0)
        for name, weights in (("own_play", own), ("opponents_play", theirs)):
            assert row[name] == pytest.approx(weights @ play, abs=1e-9)
            assert row[f"{name}_se"] == pytest.approx(np.sqrt(weights @ error @ weights))
        both = own + theirs
        assert row["rest_se"] == pytest.approx(np.sqrt(both @ error @ both))


@pytest.mark.parametrize("pull", [NO_PULL, ResultPull(0.9, 0.8)])
def test_the_mirror_test_is_that_of_a_dense_reckoning(sample: Sample, pull: ResultPull) -> None:
    table = mirror_test(sample.table, sample.calibration, sample.ladder, pull=pull)
    games = by_hand(sample, sample.ladder)
    whole, with_b = covariance(games, pull.remaining)
    i = games["i"].to_numpy()
    surplus = (games["score"] - games["e"]).to_numpy()
    step = games["u"].to_numpy() / i - pull.slope * surplus / np.sqrt(i)
    for row in table.iter_rows(named=True):
        here = games["opponent"].to_numpy() == row["player"]
        cross = (with_b + EVENT_SD**2)[np.ix_(here, ~here)]
        drawn = cross @ np.linalg.inv(whole[np.ix_(~here, ~here)])
        left = whole[np.ix_(here, here)] - drawn @ cross.T
        gap = i[here] @ (step[here] - drawn @ step[~here])
        z = gap / np.sqrt(i[here] @ left @ i[here])
        assert row["z"] == pytest.approx(z, abs=1e-9)
        assert row["p"] == pytest.approx(norm.cdf(z))
        assert row["gap"] == pytest.approx(gap / i[here].sum())
        assert row["gap"] / row["gap_se"] == pytest.approx(z)


def simulated(sample: Sample, seed: int) -> tuple[Ladder, dict[str, float]]:
    """Agents whose levels differ from their Elo as the components say."""
    rng = np.random.default_rng(seed)
    names = sorted(sample.table["mover"].unique())
    level = rng.normal(0, EVENT_SD)
    off = dict(zip(names, rng.normal(0, PLAYER_SD, len(names)), strict=True))
    strength = sample.own + level + np.array([off[name] for name in sample.table["mover"]])
    return sample.play(strength, rng), off


def test_simulated_agents_lie_within_the_errors_and_give_uniform_p(sample: Sample) -> None:
    z: dict[str, list[float]] = {"own_play": [], "opponents_play": [], "rest": []}
    p: list[float] = []
    for seed in range(25):
        ladder, off = simulated(sample, seed)
        truth = (
            by_hand(sample, ladder)
            .with_columns(
                own_play=pl.col("slope") * pl.col("mover").replace_strict(off),
                opponents_play=-pl.col("slope") * pl.col("opponent").replace_strict(off),
            )
            .group_by(player="mover")
            .agg(pl.col("own_play", "opponents_play").sum())
        )
        table = split_results(sample.table, sample.calibration, ladder)
        both = table.join(truth, on="player", suffix="_true")
        gaps = {name: both[name] - both[f"{name}_true"] for name in ("own_play", "opponents_play")}
        gaps["rest"] = gaps["own_play"] + gaps["opponents_play"]
        for name, gap in gaps.items():
            z[name] += (gap / both[f"{name}_se"]).to_list()
        p += mirror_test(sample.table, sample.calibration, ladder, pull=NO_PULL)["p"].to_list()
    for values in z.values():
        assert abs(np.mean(values)) < 0.25
        assert 0.85 < np.std(values) < 1.15
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.09


def test_a_player_far_above_his_elo_has_the_points_by_own_play(sample: Sample) -> None:
    rng = np.random.default_rng(7)
    who = "quillfeather, ada"
    mine = (sample.table["mover"] == who).to_numpy()
    ladder = sample.play(sample.own + 300.0 * mine, rng)
    table = split_results(sample.table, sample.calibration, ladder)
    row = table.row(by_predicate=pl.col("player") == who, named=True)
    assert row["own_play"] > row["own_play_se"]
    assert row["own_play"] == table["own_play"].max()
    assert row["own_gap"] == pytest.approx(300, abs=150)


def test_opponents_far_below_themselves_are_found(sample: Sample) -> None:
    for seed, who in enumerate(["quillfeather, ada", "tanzawara, rin", "szelhegyfi, ors"]):
        rng = np.random.default_rng(seed)
        against = (sample.table["opponent"] == who).to_numpy()
        ladder = sample.play(sample.own - 600.0 * against, rng)
        for pull in (NO_PULL, mirror.RESULT_PULL):
            table = mirror_test(sample.table, sample.calibration, ladder, pull=pull)
            found = table.row(by_predicate=pl.col("player") == who, named=True)
            assert found["p"] < 1e-3
            assert found["gap"] < -300
            others = table.filter(pl.col("player") != who)["p"].to_numpy()
            assert others.min() > 0.005
        split = split_results(sample.table, sample.calibration, ladder)
        row = split.row(by_predicate=pl.col("player") == who, named=True)
        assert row["opponents_play"] > row["opponents_play_se"]
        assert row["opponents_high"] < row["elsewhere_rating"]


JOBS: list[Callable[..., pl.DataFrame]] = [split_results, mirror_test]


@pytest.mark.parametrize("job", JOBS)
def test_order_names_and_colours_do_not_matter(sample: Sample, job: Any) -> None:
    table, calibration, ladder = sample.table, sample.calibration, sample.ladder
    known = job(table, calibration, ladder)

    order = np.random.default_rng(3).permutation(len(table))
    shuffled = job(table[order], calibration, ladder.take(order))
    assert_frame_equal(shuffled, known, rel_tol=1e-9, abs_tol=1e-9)

    # Other keys sort otherwise; games too.
    names = {name: f"{hash_:02d}" for hash_, name in enumerate(sorted(known["player"])[::-1])}
    renamed = job(
        table.with_columns(
            pl.col("mover", "opponent").replace_strict(names),
            pl.col("game_id").str.reverse(),
        ),
        calibration,
        ladder,
    )
    back = renamed.with_columns(
        pl.col("player").replace_strict({new: old for old, new in names.items()})
    ).sort("player")
    assert_frame_equal(back, known, rel_tol=1e-9, abs_tol=1e-9)

    swap = {"white": "black", "black": "white"}
    swapped = table.with_columns(pl.col("colour").replace_strict(swap))
    other = job(swapped, calibration, ladder, white_advantage=-player_games.WHITE_ADVANTAGE)
    assert_frame_equal(other, known, rel_tol=1e-9, abs_tol=1e-9)


def test_games_without_elo_or_result_or_other_side_do_not_count(sample: Sample) -> None:
    table, ladder, who = sample.table, sample.ladder, "okonedare, bisi"
    unrated = table.with_columns(
        mover_elo=pl.when(pl.col("mover") != who).then("mover_elo"),
        opponent_elo=pl.when(pl.col("opponent") != who).then("opponent_elo"),
    )
    for job in JOBS:
        found = job(unrated, sample.calibration, ladder)
        without = ((table["mover"] != who) & (table["opponent"] != who)).to_numpy()
        rest = job(table.filter(without), sample.calibration, ladder.take(without))
        assert_frame_equal(found.filter(pl.col("player") != who), rest, rel_tol=1e-9)
        row = found.row(by_predicate=pl.col("player") == who, named=True)
        assert row["games"] == 0
        assert row["reason"].startswith("no game with a result")

    known = dict(by_hand(sample, ladder).group_by("mover").len().iter_rows())
    game = table["game_id"][0]
    pair = {table["mover"][0], table["opponent"][0]}
    cases = (
        table.with_columns(score=pl.when(pl.col("game_id") != game).then("score")),
        table.with_columns(
            game_id=pl.when((pl.col("game_id") == game) & (pl.col("colour") == "white"))
            .then(pl.lit("one side alone"))
            .otherwise("game_id")
        ),
    )
    for case in cases:
        split = split_results(case, sample.calibration, ladder)
        counts = dict(split.select("player", "games").iter_rows())
        assert {name for name, games in counts.items() if games == known[name] - 1} == pair

    nothing = table.with_columns(score=pl.lit(None, dtype=pl.Float64))
    for job in JOBS:
        found = job(nothing, sample.calibration, ladder)
        assert len(found) == 8
        assert found["reason"].null_count() == 0


def test_player_games_of_the_same_players_and_with_gaps(sample: Sample) -> None:
    games = player_games.gather_games(sample.table, sample.ladder, 35.0)
    some = games.player[games.other] == 2
    expected = np.isin(games.player, games.player[some])
    np.testing.assert_array_equal(games.of_same_players(some), expected)
    assert not games.of_same_players(np.zeros(len(games), dtype=np.bool_)).any()

    # Turns that do not say game, mover or opponent belong to nothing.
    gone = np.arange(len(sample.table)) % 7 == 0
    names = ("game_id", "mover", "opponent")
    gaps = sample.table.with_columns(pl.when(~pl.Series(gone)).then(name).alias(name)
                                     for name in names)  # fmt: skip
    found = player_games.gather_games(gaps, sample.ladder, 35.0)
    rest = player_games.gather_games(sample.table.filter(~gone), sample.ladder.take(~gone), 35.0)
    assert found.game_ids == rest.game_ids
    np.testing.assert_array_equal(found.of_row[~gone], rest.of_row)
    assert (found.of_row[gone] == -1).all()
    np.testing.assert_allclose(found.score_sum, rest.score_sum, rtol=1e-12)
    np.testing.assert_array_equal(found.other, rest.other)


def test_too_few_turns_or_opponents_give_no_test(sample: Sample) -> None:
    def test_of(kept: pl.Expr) -> pl.DataFrame:
        here = sample.table.select(kept).to_series().to_numpy()
        return mirror_test(sample.table.filter(here), sample.calibration, sample.ladder.take(here))

    pair = sample.table["mover"].unique().sort()[:2]
    two = test_of(pl.col("mover").is_in(pair) & pl.col("opponent").is_in(pair))
    assert set(two["opponents"]) == {1}
    assert two["z"].null_count() == two["p"].null_count() == 2
    assert all("fewer than" in reason for reason in two["reason"])
    few = test_of(pl.col("ply") < 24)
    assert max(few["turns"].to_list()) < 60
    assert few["z"].null_count() == 8
    assert few["reason"].str.ends_with("turns of opponents: fewer than 60").all()


def test_p_is_the_larger_of_two_with_its_floor() -> None:
    honest = norm.ppf((np.arange(99) + 0.5) / 99)
    p, floor = mirror_p(-8.0, honest)
    assert p == floor == pytest.approx(0.01)
    assert mirror_p(-1.0, honest - 1)[0] == pytest.approx(0.5, abs=0.02)
    assert mirror_p(-1.0, honest + 9)[0] == pytest.approx(norm.cdf(-1.0))
    assert mirror_p(-1.0, []) == (1.0, 1.0)


def test_what_results_say_is_measured(sample: Sample) -> None:
    # Where moves have nothing to do with results, these say nothing.
    events = [(sample.table, simulated(sample, seed)[0]) for seed in range(40, 46)]
    pull = measure_result_pull(events, sample.calibration)
    assert abs(pull.slope) < 3 * pull.slope_se
    assert pull.remaining == pytest.approx(1.0, abs=0.02)
    assert pull.player_games == 6 * len(by_hand(sample, sample.ladder))
    assert pull.events == 6
    # In the sample as it was played winners moved better: the slope is a least square.
    played = measure_result_pull([(sample.table, sample.ladder)], sample.calibration)
    assert played.slope > 0.3
    assert played.remaining < 0.98
    with pytest.raises(InputError, match="results"):
        measure_result_pull([], sample.calibration)


def test_play_sd_is_where_play_explains_the_surplus(sample: Sample) -> None:
    nobody_differs = PlayerVariation.assumed()
    calibration = replace(sample.calibration, variation=nobody_differs)
    found = measure_play_sd([(sample.table, sample.ladder)], calibration)
    assert 50 < found < 1000
    games = player_games.gather_games(sample.table, sample.ladder, player_games.WHITE_ADVANTAGE)
    play = player_games.EventLevel.of(games, nobody_differs, play_sd=found).play(games)
    points = games.slope * (play - play[games.other])
    assert points @ games.surplus == pytest.approx(points @ points, rel=1e-3)
    # Moves that have nothing to do with the results explain nothing.
    chance = sample.play(sample.own, np.random.default_rng(2))
    assert measure_play_sd([(sample.table, chance)], calibration) < found / 2


def test_wrong_input_is_refused(sample: Sample) -> None:
    with pytest.raises(InputError, match="colour"):
        split_results(sample.table.drop("colour"), sample.calibration, sample.ladder)
    with pytest.raises(InputError, match="the same"):
        mirror_test(sample.table.head(5), sample.calibration, sample.ladder)


def test_the_words(sample: Sample) -> None:
    for module in (luck, mirror, player_games):
        text = Path(str(module.__file__)).read_text(encoding="utf-8").lower()
        assert not [word for word in FORBIDDEN if word in text]
