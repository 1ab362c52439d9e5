from __future__ import annotations

import numpy as np
import pytest
from studies.fair_play import Pool, density_rows, uniformity
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
