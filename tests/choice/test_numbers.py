"""Numbers of the options in vectors: what the plain formulas give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.choice.makers import padded
from tests.choice.test_ladder import DEPTHS, decisions

from milepost.choice import Spreads
from milepost.choice.columns import option_features, option_parts
from milepost.choice.evaluation.numbers import LANES, option_numbers
from milepost.choice.evaluation.prepared import Prepared
from milepost.choice.logarithms import exp, exp_less_1, ln, ln_1_more
from milepost.choice.scale import RAW, Scale
from milepost.choice.spreads import Floats
from milepost.kernels import fused_kernel

UTILITIES = ("loss", "rank", "least", "tops", "swing", "loss*lead", "lead", "rank*loss*even")


@fused_kernel
def _fill(x: Floats, logs: Floats, logs_of_more: Floats, powers: Floats) -> None:
    for i in range(len(x)):
        logs[i], logs_of_more[i], powers[i] = ln(x[i]), ln_1_more(x[i]), exp(-x[i])


@fused_kernel
def _fill_less_1(x: Floats, answer: Floats) -> None:
    for i in range(len(x)):
        answer[i] = exp_less_1(x[i])


def test_exponentials_less_one_are_numpys_to_two_places_near_0_too() -> None:
    small = np.geomspace(1e-300, 600.0, 3001)
    x = np.concatenate([small, -small, np.linspace(-2.0, 2.0, 3001)])
    answer = np.empty_like(x)
    _fill_less_1(x, answer)
    theirs = np.expm1(x)
    assert (np.abs(answer - theirs) <= 3 * np.spacing(np.abs(theirs))).all()


def test_logarithm_and_exponential_are_numpys_to_the_last_place_but_one() -> None:
    x = np.concatenate([np.geomspace(1e-300, 600.0, 3001), np.linspace(0.5, 2.0, 3001)])
    logs, logs_of_more, powers = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    _fill(x, logs, logs_of_more, powers)
    for ours, theirs in ((logs, np.log(x)), (logs_of_more, np.log1p(x)), (powers, np.exp(-x))):
        assert (np.abs(ours - theirs) <= 2 * np.spacing(np.abs(theirs))).all()


@pytest.mark.parametrize(
    "data", [decisions(30), padded(decisions(30), 45)], ids=["plain", "padded"]
)
def test_products_are_those_of_their_parts(data: Spreads) -> None:
    scale = Scale()
    parts = option_parts(UTILITIES, data, scale)
    options = parts.table(0, len(data.values), spare=LANES, rows=4)
    of_decisions, part_of, context_of = parts.decisions, parts.row_of, parts.decision_row_of
    assert len(options) % 4 == 0
    assert not options[:, len(data.values) :].any()
    common = np.repeat(of_decisions, data.counts, axis=1)[context_of]
    real = data.values > -np.inf
    products = np.where(real, options[part_of, : len(data.values)] * common, 0.0)
    wanted = option_features(UTILITIES, data, scale)
    np.testing.assert_allclose(products.T, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("depths", [DEPTHS, (2, 4), (1, 3)])
@pytest.mark.parametrize(
    "scale", [Scale(), Scale(constant=0.7, cap=None, tie_shift=0.0), Scale(RAW)]
)
def test_powers_are_those_of_the_differences(scale: Scale, depths: tuple[int, ...]) -> None:
    data, c = padded(decisions(30), 45), 0.4
    prepared = Prepared(data, scale, depths)
    numbers = prepared.numbers(c)
    real = data.values > -np.inf
    wanted = np.where(real[:, None], prepared.depth_delta, 0.0)
    ours = numbers.powers[: len(depths), : len(data.values)].T
    np.testing.assert_allclose(ours, wanted**c, rtol=1e-12, atol=1e-6**c)
    np.testing.assert_allclose(ours[wanted > 1e-6], wanted[wanted > 1e-6] ** c, rtol=1e-9)
    assert numbers.furthest == pytest.approx(np.log(wanted.max()), rel=1e-12)
    assert prepared.numbers(c) is numbers
    same = option_numbers(data, scale, depths, (), c, prepared.ln_depth_delta)
    np.testing.assert_allclose(same.powers[: len(depths), : len(data.values)].T, wanted**c)
