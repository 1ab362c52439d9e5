"""Thinking times: log-normal, longer where it is hard, within what people do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from milepost.intrinsic.choosing.think_time import TERMS, Moment, clock_offset, think_times

MOMENT = Moment(3600.0, 30.0, 40, 1.5, False)


def test_the_shipped_times_say_what_they_rest_on() -> None:
    times = think_times()
    assert set(times.coefficients) == set(TERMS)
    assert times.made["games"] > 500
    assert 0.3 < times.made["held_out_variance_explained"] < 1
    assert times.sd == pytest.approx(times.made["held_out_sd"], rel=0.1)


def test_hard_choices_take_longer_and_recaptures_are_quick() -> None:
    times = think_times()
    usual = times.mean_ln(MOMENT)
    assert times.mean_ln(replace(MOMENT, entropy=2.5)) > usual
    assert times.mean_ln(replace(MOMENT, recapture=True)) < usual
    assert times.mean_ln(replace(MOMENT, left_seconds=300.0)) < usual
    assert times.mean_ln(replace(MOMENT, ply=6)) < usual


def test_draws_are_log_normal() -> None:
    times = think_times()
    rng = np.random.default_rng(1)
    logs = np.log([times.draw(MOMENT, rng) for _ in range(2000)])
    assert logs.mean() == pytest.approx(times.mean_ln(MOMENT), abs=0.1)
    assert logs.std() == pytest.approx(times.sd, rel=0.06)


def test_less_time_is_weaker_play() -> None:
    offsets = [clock_offset(seconds) for seconds in (1, 5, 30, 60, 120, 600)]
    assert offsets == sorted(offsets)
    assert offsets[-1] == offsets[-2] == 0
    assert clock_offset(0) == offsets[0]
