"""The gate reckons with decisions that go together."""

from __future__ import annotations

import numpy as np
import pytest

from milepost.fit.comparison.gate import HeldOut, gate_table


def held_out(hit: np.ndarray) -> HeldOut:
    """Decisions with an even chance of a hit, and nothing else of note."""
    n = len(hit)
    half, none = np.full(n, 0.5), np.zeros((n, 2))
    zeros = np.zeros(n)
    return HeldOut(
        np.log(half), half, zeros, zeros, none, hit, zeros, none, zeros[:1], zeros[:1], np.ones(n)
    )


def test_events_that_are_off_widen_the_error() -> None:
    rng = np.random.default_rng(4)
    events = np.repeat(np.arange(40), 50)
    level = 0.5 + rng.normal(0, 0.1, 40)
    hit = (rng.random(2_000) < level[events]).astype(float)
    bands = np.zeros(2_000, dtype=np.int64)
    alone = gate_table(held_out(hit), bands, ["all"])["mm_se"][0]
    together = gate_table(held_out(hit), bands, ["all"], events)["mm_se"][0]
    assert alone == pytest.approx(np.sqrt(0.25 / 2_000))
    # By hand: the variance of the mean over events, sd² of level / 40 besides that of the coins.
    assert together == pytest.approx(np.sqrt(0.25 / 2_000 + 0.1**2 / 40), rel=0.25)


def test_independent_decisions_keep_their_error() -> None:
    hit = (np.random.default_rng(5).random(2_000) < 0.5).astype(float)
    bands = np.zeros(2_000, dtype=np.int64)
    events = np.repeat(np.arange(400), 5)
    alone = gate_table(held_out(hit), bands, ["all"])["mm_se"][0]
    together = gate_table(held_out(hit), bands, ["all"], events)["mm_se"][0]
    assert alone <= together <= 1.15 * alone


def test_a_model_that_is_off_everywhere_cannot_hide() -> None:
    hit = (np.random.default_rng(6).random(2_000) < 0.8).astype(float)
    bands = np.zeros(2_000, dtype=np.int64)
    row = gate_table(held_out(hit), bands, ["all"], np.repeat(np.arange(40), 50)).row(0, named=True)
    assert abs(row["mm_projected"] - row["mm_actual"]) > 10 * row["mm_se"]
    assert not row["passes"]
