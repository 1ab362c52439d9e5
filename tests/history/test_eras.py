"""Comparisons over much time: cautious, and no surer than settings agree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.history import TTT, Glicko2, fit_history
from milepost.history.beliefs import Belief
from milepost.history.eras import caution, scale_sd
from milepost.io.shown import percent


def eras() -> pl.DataFrame:
    """Ann of 1900 to 1909 and Zoe of 2000 to 2009, tied by Methuselah; both beat everybody."""
    rows = [(year, who, "methuselah", 1.0) for year, who in
            [*((y, "Ann") for y in range(1900, 1910)), *((y, "Zoe") for y in range(2000, 2010))]
            for _ in range(6)]  # fmt: skip
    return pl.DataFrame(
        rows, schema=["time", "player_1", "player_2", "score"], orient="row"
    ).with_columns(name_1=pl.col("player_1"), name_2=pl.lit("Methuselah the Elder"))


def test_far_times_carry_a_caution_and_a_wider_deviation() -> None:
    history = fit_history(eras(), TTT(beta=480.0, tau=5.0))
    near = history.compare("Ann@1900", "Methuselah@1909")
    assert near.caution == ""
    assert near.years_apart == 9
    far = history.compare("Zoe@2005", "methuselah@1905")
    assert far.years_apart == 100
    assert far.scale_sd == pytest.approx(0.6 * 480.0)
    assert far.sd == pytest.approx(math.hypot(far.difference.sd, far.scale_sd))
    assert 0.5 < far.probability < far.probability_as_fitted
    assert far.players == ("Zoe", "Methuselah the Elder")
    assert "100 years lie between them" in repr(far)
    assert "Caution" in repr(far)
    assert "Caution" not in repr(near)


@pytest.mark.filterwarnings("ignore::milepost.history.fit.FarRatingsWarning")
def test_no_chance_is_told_finer_than_one_in_a_hundred_over_much_time() -> None:
    # So small a beta that even the scale's uncertainty leaves no doubt.
    history = fit_history(eras(), TTT(beta=5.0, sigma=400.0, tau=0.5))
    far = history.compare("Zoe@2005", "methuselah@1905")
    assert far.probability > 0.99
    assert far.chance == "over 99 %"
    back = history.compare("methuselah@1905", "Zoe@2005")
    assert back.chance == "under 1 %"
    assert history.compare("Zoe@2005", "methuselah@2005").chance == "99.8 %"
    certain = replace(far, difference=Belief(900.0, 1.0), years_apart=0.0, scale_sd=0.0)
    assert certain.probability == 1.0
    assert certain.chance == "over 99.9 %"


def test_one_player_at_two_times_and_glicko_too() -> None:
    history = fit_history(eras(), TTT())
    alone = history.compare("methuselah@1905", "methuselah@2005")
    assert alone.scale_sd == pytest.approx(0.6 * 480.0)
    rated = fit_history(eras(), Glicko2()).compare("Zoe@2005", "methuselah@1905")
    assert rated.scale_sd == pytest.approx(0.6 * 209.1, rel=1e-3)


@given(st.floats(0.0, 200.0), st.floats(0.0, 200.0))
def test_more_time_is_never_surer(one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert scale_sd(480.0, low) <= scale_sd(480.0, high)
    assert scale_sd(480.0, -high) == scale_sd(480.0, high)
    assert scale_sd(480.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("probability", "finest", "said"),
    [(0.5, 0.001, "50.0 %"), (0.9995, 0.001, "over 99.9 %"), (0.0005, 0.001, "under 0.1 %"),
     (1.0, 0.001, "100.0 %"), (0.0, 0.001, "0.0 %"), (0.999, 0.01, "over 99 %"),
     (0.985, 0.01, "98.5 %"), (0.995, 0.01, "over 99 %")],
)  # fmt: skip
def test_percent(probability: float, finest: float, said: str) -> None:
    assert percent(probability, finest) == said


def test_when_to_be_cautious() -> None:
    assert caution(10.0) == caution(-3.0) == ""
    assert "11 years" in caution(-11.0)
    assert np.isfinite(scale_sd(480.0, 1e6))
