from __future__ import annotations

import numpy as np
import pytest

from milepost.fairplay import words
from milepost.fairplay.performances import Board, performances
from milepost.fairplay.screen import e_discoveries, event_as_a_whole, no_index, screen


def test_an_index_is_fifty_and_five_times_z(board: Board) -> None:
    real = performances(board)[0]
    found = screen(real)
    assert found.index == pytest.approx(50 + 5 * real.scored.combined)
    assert found.p_reference is None  # no reference was measured for assumed people
    assert found.p == found.p_model
    assert 0 < found.noticed < 1


def test_the_event_as_a_whole(board: Board) -> None:
    event = event_as_a_whole(performances(board))
    assert event is not None
    assert event.players == 2
    assert event.counts["index"].to_list() == [60, 65, 70]
    # Expected of two honest players: 2 Φ(-2).
    assert event.counts["expected"][0] == pytest.approx(0.0455, abs=1e-4)
    bands = event.quantiles
    assert (bands["low"] < bands["expected"]).all()
    assert (bands["expected"] < bands["high"]).all()
    assert event.mean_low < 50 < event.mean_high
    assert event_as_a_whole([]) is None


def test_e_bh_by_hand() -> None:
    # Wang & Ramdas 2022: reject the k largest, k the greatest with e_(k) >= n / (k α).
    assert e_discoveries(np.array([100.0, 50.0, 3.0, 1.0])) == 2  # 80 and 40 are needed
    assert e_discoveries(np.array([79.0, 39.0, 3.0, 1.0])) == 0
    assert e_discoveries(np.array([79.0, 41.0, 3.0, 1.0])) == 2


def test_e_bh_holds_false_discoveries_down() -> None:
    rng = np.random.default_rng(4)
    # exp(Z - ½) has the mean 1: an e-value of honest players.
    false = [e_discoveries(np.exp(rng.normal(0, 1, 10) - 0.5)) > 0 for _ in range(2000)]
    assert np.mean(false) <= 0.05


@pytest.mark.parametrize(
    ("turns", "missing", "told"),
    [(59, 0, "fewer than 60"), (200, 0, ""), (200, 11, "not analysed"), (200, 10, "")],
)
def test_why_there_is_no_index(turns: int, missing: int, told: str) -> None:
    reason = no_index(turns, missing)
    assert told in reason
    assert bool(reason) == bool(told)


def test_the_command_that_completes_an_event_names_its_plan() -> None:
    assert no_index(0, 90, "bullet").endswith("--store STORE --plan bullet")
    assert no_index(0, 90).endswith("--store STORE")


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (1.5, "no support"), (5, "limited"), (50, "moderate support"), (500, "moderately strong"),
        (5_000, "strong support"), (50_000, "very strong"),
    ],
)  # fmt: skip
def test_words_of_the_verbal_scale(ratio: float, word: str) -> None:
    assert word in words.support(np.log(ratio))
    assert words.support(np.log(ratio)).endswith((words.HELPED, "over the other"))
    assert words.support(-np.log(ratio)).endswith((words.ALONE, "over the other"))


def test_figures_in_words() -> None:
    assert words.ratio_text(np.log(0.5)) == "0.50"
    assert words.ratio_text(np.log(1234)) == "1,234"
    assert words.ratio_text(700.0) == "10^304"
    assert words.p_text(0.0032, 0.0032) == "at most 0.003"
    assert words.cases_text(0.29) == "29 of 100 cases"
    assert words.cases_text(0.0) == "fewer than 1 of 100 cases"
    assert words.cases_text(1.0) == "more than 99 of 100 cases"


def test_our_own_words_hold_none_that_are_forbidden() -> None:
    text = " ".join([*words.OPENING, words.REPLY, words.ALONE, words.HELPED]).lower()
    assert not [word for word in words.FORBIDDEN if word in text]
