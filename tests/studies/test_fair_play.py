from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from studies.fair_play import Pool, density_rows, group_rows, uniformity
from studies.fair_play_depths import HONEST, compare, matched
from studies.fair_play_power import sign_flips


def pools(shift: float, seed: int) -> list[Pool]:
    """Honest people N(0, 1), helped ones N(1, 1), so ln E = x - ½; the judged are shifted."""
    rng = np.random.default_rng(seed)
    return [
        Pool(
            rng.normal(shift, 1, 200) - 0.5, rng.normal(0, 1, 60) - 0.5, rng.normal(1, 1, 60) - 0.5
        )
        for _ in range(6)
    ]


def test_uniformity_counts_the_error_of_shared_draws() -> None:
    """Six sets of 120 draws behind 1,200 people: plain bands and tables would reject too often."""
    found = [
        uniformity(pools(0.0, seed), np.random.default_rng(seed), repeats=40) for seed in range(20)
    ]
    ks_p = np.array([each["ks_p"] for each in found])
    assert (ks_p < 0.1).mean() <= 0.25
    assert 0.3 < ks_p.mean() < 0.7
    middle = [next(row for row in each["p"] if row["level"] == 0.5) for each in found]
    inside = [row["low"] <= row["share"] <= row["high"] for row in middle]
    assert np.mean(inside) >= 0.85


def test_uniformity_sees_people_who_are_off() -> None:
    found = uniformity(pools(0.5, 3), np.random.default_rng(3), repeats=100)
    assert found["ks_p"] < 0.02


def test_the_density_check_sees_helped_draws_of_another_law() -> None:
    right = [row["apart_z"] for seed in range(5) for row in density_rows(pools(0.0, seed))]
    assert np.abs(right).max() < 4
    wrong = [
        Pool(each.judged, each.honest, np.random.default_rng(k).normal(1.3, 1, 400) - 0.5)
        for k, each in enumerate(pools(0.0, 1))
    ]
    assert max(abs(row["apart_z"]) for row in density_rows(wrong)) > 4


def differences(shift: float, seed: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 0.1, 8)  # a performance's cells go together
    return [
        {"elo": 2000, "games": 9, "help": "x", "rate": "1e-2", "whose": list(range(8)),
         "less_match": (shift + own + rng.normal(0, 0.05, 8)).tolist()}
        for _ in range(30)
    ]  # fmt: skip


def test_sign_flips_say_what_chance_gives() -> None:
    p = [
        sign_flips(differences(0.0, seed), np.random.default_rng(seed), 300)["p"]
        for seed in range(40)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.15
    below = sign_flips(differences(-0.15, 1), np.random.default_rng(1), 500)
    assert below["below"] > 20
    assert below["p"] < 0.03
    assert below["mean"] == pytest.approx(-0.15, abs=0.08)


def test_cells_without_any_difference_are_not_below() -> None:
    none = [{"elo": 1600, "games": 1, "help": "x", "rate": "1e-3", "whose": [0, 1, 2],
             "less_match": [0.0, 0.0, 0.0]}]  # fmt: skip
    assert sign_flips(none, np.random.default_rng(0), 50)["below"] == 0


def test_matching_takes_the_kinds_of_turn_out() -> None:
    """An engine that plays as people do, in other positions: the raw share differs, not this."""
    rng = np.random.default_rng(8)
    chance = np.array([0.3, 0.6, 0.9])

    def turns(shares: list[float], lift: float, count: int = 3000) -> pl.DataFrame:
        cell = rng.choice(3, size=count, p=shares)
        hit = (rng.random(count) < chance[cell] + lift).astype(float)
        return pl.DataFrame({"cell": cell, "hit": hit, "loss": 1 - hit})

    people = turns([0.2, 0.3, 0.5], 0.0)
    same, better = turns([0.6, 0.3, 0.1], 0.0), turns([0.6, 0.3, 0.1], 0.08)
    mean, error = matched(same, people, "hit")
    assert mean == pytest.approx(0.2 * 0.3 + 0.3 * 0.6 + 0.5 * 0.9, abs=4 * error)
    rows = compare({HONEST: people, "same": same, "better": better}, 16)["rows"]
    assert rows[0]["hit"] - rows[1]["hit"] > 0.15
    assert abs(rows[1]["hit_z"]) < 3.5
    assert rows[2]["hit_z"] > 3.5


def test_groups_whose_null_is_too_narrow_are_told() -> None:
    z = np.concatenate([np.linspace(-1.7, 1.7, 30), np.linspace(-3.4, 3.4, 30), np.full(30, 0.6)])
    rows = pl.DataFrame({"event": ["x"] * 90, "z": z, "who": ["a"] * 30 + ["b"] * 30 + ["c"] * 30})
    found = {row["part"]: row for row in group_rows(rows, pl.col("who"))}
    assert [found[name]["too_narrow"] for name in "abc"] == [False, True, False]
    assert [found[name]["off"] for name in "abc"] == [False, False, True]
