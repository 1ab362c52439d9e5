"""Properties that every model has, on wild spreads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from tests.choice.makers import (
    CURVES,
    DEPTH_KINDS,
    DEPTHS,
    LAPSES,
    MIXTURES,
    PLAIN_SCALE,
    RATIOS,
    all_models,
    padded,
    parameters_of,
    plain_curve,
    plain_differences,
    plain_powers,
    plain_shares,
    realistic_spreads,
    sizes_of_c,
    sizes_of_s,
    wild_spreads,
)

from milepost.choice import Agent, ChoiceModel, DepthScheme, Scale, Spreads
from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.errors import InputError

WILD = settings(max_examples=25, deadline=None)
TABLE = 1e-10
"""The blend's probabilities are looked up in a table that is right to 1e-11 (`linear.py`)."""


def sums(spreads: Spreads, p: np.ndarray) -> np.ndarray:
    return np.add.reduceat(p, spreads.offsets[:-1])


@pytest.mark.parametrize("kind", DEPTH_KINDS)
@pytest.mark.parametrize("ratio", RATIOS)
@WILD
@given(data=st.data(), s=sizes_of_s(), c=sizes_of_c(), lapse=st.floats(1e-6, 0.9))
def test_probabilities_sum_to_one(
    ratio: str, kind: str | None, data: st.DataObject, s: float, c: float, lapse: float
) -> None:
    spreads = data.draw(wild_spreads(depths=kind is not None))
    lapses = (data.draw(st.sampled_from(LAPSES)),)
    for model in all_models(ratio=ratio, kind=kind, lapses=lapses):
        theta = parameters_of(model, s, c, lapse)
        prepared = prepare(spreads, model)
        p = np.exp(ln_probabilities(model, prepared, theta))
        assert (p >= 0).all(), model.name
        assert np.abs(sums(spreads, p) - 1).max() <= TABLE, model.name
        said = evaluate(model, prepared, theta, information=True)
        for name in ("before", "first", "error", "error_squared", "entropy", "information"):
            assert np.isfinite(getattr(said, name)).all(), (model.name, name)
        for name in ("ln_chosen", "d_ln_chosen", "d_before", "d_first", "d_error"):
            assert not np.isnan(getattr(said, name)).any(), (model.name, name)


@pytest.mark.parametrize("ratio", RATIOS)
@WILD
@given(spreads=wild_spreads(), s=sizes_of_s(), c=sizes_of_c())
def test_better_options_are_never_less_likely(
    ratio: str, spreads: Spreads, s: float, c: float
) -> None:
    """The sign trap: an exponent of e^-u in place of e^+u would make worse options likelier."""
    inside = np.ones(len(spreads.values), dtype=bool)
    inside[spreads.offsets[:-1]] = False
    for model in all_models(ratio=ratio, kind=None, scale=PLAIN_SCALE, lapses=(None, "flat")):
        theta = parameters_of(model, s, c)
        ln_p = ln_probabilities(model, prepare(spreads, model), theta)
        with np.errstate(invalid="ignore"):
            rises = np.diff(ln_p, prepend=0.0)
        # Two nearly equal ones may stand in different cells of the table.
        assert (rises[inside] <= TABLE * (1 + np.abs(ln_p[inside]))).all(), model.name


@pytest.mark.parametrize("ratio", RATIOS)
@WILD
@given(data=st.data(), spreads=wild_spreads(), s=sizes_of_s(), c=sizes_of_c())
def test_the_order_of_options_does_not_matter(
    ratio: str, data: st.DataObject, spreads: Spreads, s: float, c: float
) -> None:
    lists = [list(part) for part in np.split(spreads.values, spreads.offsets[1:-1])]
    orders = [data.draw(st.permutations(range(len(each)))) for each in lists]
    shuffled = Spreads.from_lists(
        [[each[i] for i in order] for each, order in zip(lists, orders, strict=True)],
        [order.index(k) for order, k in zip(orders, spreads.chosen, strict=True)],
    )
    back = np.concatenate(
        [start + np.array(order) for start, order in zip(spreads.offsets, orders, strict=False)]
    )
    for curve in CURVES + MIXTURES:
        kappa = 0.5 if ratio == "blend" else None
        agent = Agent(s, c, curve, ratio, tie_shift=0.0, cap=None, kappa=kappa)
        p = agent.probabilities(spreads)
        assert np.abs(agent.probabilities(shuffled) - p[back]).max() <= TABLE
        ours, theirs = agent.evaluate(spreads), agent.evaluate(shuffled)
        np.testing.assert_allclose(theirs.ln_chosen, ours.ln_chosen, rtol=1e-9, atol=TABLE)
        np.testing.assert_allclose(theirs.error, ours.error, rtol=1e-9, atol=TABLE)


@pytest.mark.parametrize("curve", CURVES)
@WILD
@given(spreads=wild_spreads(), s=sizes_of_s(), c=sizes_of_c())
def test_powers_against_a_bracketing_root_finder(
    curve: str, spreads: Spreads, s: float, c: float
) -> None:
    """scipy.optimize.brentq on Σ exp(-a L) = 1, a = 1/y, L = -ln p_0."""
    agent = Agent(s, c, curve, "powers", difference="raw", tie_shift=0.0, cap=4.0)
    p = agent.probabilities(spreads)
    for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
        delta = np.minimum(spreads.values[start] - spreads.values[start:stop], 4.0)
        a = []
        for each in delta:
            try:
                a.append(1 / plain_curve(curve, float(each), s, c))
            except (OverflowError, ZeroDivisionError):
                a.append(math.inf)
        # With an a beyond e^690 no probability is left, to many more digits than are compared.
        finite = np.array([each for each in a if each < 1e300])
        if len(finite) == 1:
            expected = [1.0 if each < 1e300 else 0.0 for each in a]
        else:
            # In ln L, so that a tiny L is as exact as a large one.
            low, high = math.log(math.log(2) / finite.max()) - 1, math.log(math.log(len(a))) + 0.1

            def excess(ln_length: float, a: np.ndarray = finite) -> float:
                # ln of the others' sum over what the first one leaves: well scaled everywhere.
                length = math.exp(ln_length)
                with np.errstate(over="ignore"):
                    others = np.exp(-length * a[1:]).sum()
                return math.log(max(others, 1e-320)) - math.log(-math.expm1(-length))

            root = optimize.brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=500)
            expected = [math.exp(-math.exp(root) * each) if each < 1e300 else 0.0 for each in a]
        np.testing.assert_allclose(p[start:stop], expected, atol=2e-12, rtol=0.0)


def test_ipa_does_not_jump() -> None:
    """e^14 = 1202604.28: the worst of three options lies just beyond it, the other just before."""
    spreads = Spreads.from_lists([[0.0, -1202604.0, -1202604.5]], [0])
    agent = Agent(1.0, 1.0, "ipa", "shares", difference="raw", cap=None)
    p = agent.probabilities(spreads)
    assert p[2] < p[1]
    assert p[2] / p[0] == pytest.approx(1 / 1202605.5, rel=1e-12)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("ratio", ["shares", "powers", "product"])
def test_the_formulas_of_the_reference(ratio: str, curve: str) -> None:
    """Section 1 to 3 in plain Python; for the third ratio its defining equation."""
    spreads = realistic_spreads(5, 30)
    for s, c in ((0.1, 0.5), (0.3, 1.3), (0.02, 0.4)):
        p = Agent(s, c, curve, ratio).probabilities(spreads)
        for start, stop in zip(spreads.offsets[:-1], spreads.offsets[1:], strict=True):
            ours = p[start:stop]
            delta = plain_differences([float(v) for v in spreads.values[start:stop]])
            y = [plain_curve(curve, each, s, c) for each in delta]
            if ratio == "shares":
                np.testing.assert_allclose(ours, plain_shares(y), rtol=1e-12)
            elif ratio == "powers":
                np.testing.assert_allclose(ours, plain_powers(y), atol=1e-13, rtol=1e-9)
                known = ours > 1e-300
                np.testing.assert_allclose(
                    ours[known], ours[0] ** (1 / np.array(y)[known]), rtol=1e-9
                )
            else:
                known = ours > 1e-300
                left = ours[known] * np.log(1 / ours[0]) / (ours[0] * np.log(1 / ours[known]))
                np.testing.assert_allclose(left, np.array(y)[known], rtol=1e-9)


def test_the_product_ratio_by_hand() -> None:
    """Two options with y = (1, 1/2): p / (1-p) = 1/2 · ln p / ln(1-p) for the second one's p.

    python -c "from mpmath import *; f = lambda p: p*log(1-p)/((1-p)*log(p)) - 0.5;
    print(findroot(f, 0.4))"  needs mpmath; here brentq does it.
    """
    p = optimize.brentq(
        lambda p: p * math.log(1 - p) / ((1 - p) * math.log(p)) - 0.5, 1e-6, 0.5, xtol=1e-15
    )
    # invexp, c = 1, raw: y = exp(-δ/s) = 1/2 at δ = s ln 2
    agent = Agent(1.0, 1.0, ratio="product", difference="raw", tie_shift=0.0)
    ours = agent.probabilities(Spreads.from_lists([[math.log(2), 0.0]], [0]))
    np.testing.assert_allclose(ours, [1 - p, p], atol=1e-14)


def test_powers_by_hand() -> None:
    """y = (1, 1/2): p + p² = 1, the golden section; y = (1, 1, 1/2): 2p + p² = 1, √2 - 1."""
    agent = Agent(1.0, 1.0, difference="raw", tie_shift=0.0)
    gap = math.log(2)
    golden = (math.sqrt(5) - 1) / 2
    ours = agent.probabilities(Spreads.from_lists([[gap, 0.0], [gap, gap, 0.0]], [0, 0]))
    root = math.sqrt(2) - 1
    np.testing.assert_allclose(ours, [golden, golden**2, root, root, root**2], atol=1e-15)


def test_newtons_trap_of_a_small_step() -> None:
    """Some 1/y huge: stopping on a small step would leave Σ p ≠ 1 (issue 4)."""
    values = [0.0, -0.001, *(-float(k) for k in range(1, 60))]
    spreads = Spreads.from_lists([values], [0])
    for s in (1e-4, 1e-3, 1e-2, 0.1):
        for c in (0.05, 0.3, 1.0, 5.0):
            for ratio in ("powers", "product"):
                p = Agent(s, c, ratio=ratio, cap=None).probabilities(spreads)
                assert abs(p.sum() - 1) < 1e-13


@pytest.mark.parametrize("kind", DEPTH_KINDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_padding_changes_no_probability(ratio: str, kind: str | None) -> None:
    spreads = realistic_spreads(8, 12, depths=True)
    filled = padded(spreads, 40)
    real = filled.values > -np.inf
    assert filled.counts.tolist() == [40] * 12
    for model in all_models(ratio=ratio, kind=kind):
        theta = parameters_of(model, 0.1, 0.5)
        before, after = prepare(spreads, model), prepare(filled, model)
        ln_p = ln_probabilities(model, after, theta)
        np.testing.assert_allclose(
            ln_p[real], ln_probabilities(model, before, theta), rtol=1e-13, atol=1e-15
        )
        assert (ln_p[~real] == -np.inf).all()
        ours = evaluate(model, before, theta, information=True)
        theirs = evaluate(model, after, theta, information=True)
        for name in vars(ours):
            np.testing.assert_allclose(
                getattr(theirs, name), getattr(ours, name), rtol=1e-11, atol=1e-13, err_msg=name
            )


@pytest.mark.parametrize("combine", [kind for kind in DEPTH_KINDS if kind])
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_final_depth_alone_is_the_base_model(ratio: str, combine: str) -> None:
    spreads = realistic_spreads(9, 40, depths=True)
    scheme = DepthScheme.free([DEPTHS[-1]], combine)
    for curve in CURVES + MIXTURES:
        for lapse in LAPSES:
            base = ChoiceModel(curve, ratio, lapse=lapse)
            deep = ChoiceModel(curve, ratio, depths=scheme, lapse=lapse)
            assert deep.parameters == base.parameters
            theta = parameters_of(base, 0.12, 0.6)
            ours = ln_probabilities(base, prepare(spreads, base), theta)
            theirs = ln_probabilities(deep, prepare(spreads, deep), theta)
            np.testing.assert_allclose(np.exp(theirs), np.exp(ours), atol=1e-12, rtol=0)


def test_depth_weights_by_hand() -> None:
    """Shares of two options at two depths, weights 1/4 and 3/4, each combination written out."""
    values, table = [0.4, 0.0], [[0.0, 0.4], [0.2, 0.0]]
    spreads = Spreads.from_lists([values], [0], depth_values=[table])
    number = math.log(0.25 / 0.75)
    shallow, deep = (0.2, 0.0), (0.0, 0.4)  # differences of the two options at each depth

    def g(delta: float) -> float:
        return math.exp(-((delta / 0.3) ** 0.8))

    expected = {
        "additive": [0.25 * g(a) + 0.75 * g(b) for a, b in zip(shallow, deep, strict=True)],
        "averaged": [g(0.25 * a + 0.75 * b) for a, b in zip(shallow, deep, strict=True)],
        "geometric": [g(a) ** 0.25 * g(b) ** 0.75 for a, b in zip(shallow, deep, strict=True)],
    }
    one, other = plain_shares([g(d) for d in shallow]), plain_shares([g(d) for d in deep])
    for combine in ("additive", "averaged", "geometric", "mixture"):
        agent = Agent(
            0.3,
            0.8,
            ratio="shares",
            difference="raw",
            depths=DepthScheme.free([1, 2], combine),
            depth_numbers=(number,),
        )
        if combine == "mixture":
            wanted = [0.25 * a + 0.75 * b for a, b in zip(one, other, strict=True)]
        else:
            wanted = plain_shares(expected[combine])
        np.testing.assert_allclose(agent.probabilities(spreads), wanted, atol=1e-14)


def test_lapses_by_hand() -> None:
    spreads = Spreads.from_lists([[0.5, 0.2, -1.0], [0.0, -0.1]], [0, 0])
    sure = Agent(0.1, 0.5).probabilities(spreads)
    flat = np.array([1 / 3] * 3 + [1 / 2] * 2)
    shares = Agent(0.1, 0.5, ratio="shares").probabilities(spreads)
    for kernel, other in (("flat", flat), ("shares", shares)):
        mixed = Agent(0.1, 0.5, lapse=0.2, lapse_kernel=kernel).probabilities(spreads)
        np.testing.assert_allclose(mixed, 0.8 * sure + 0.2 * other, atol=1e-14)


def test_mixtures_of_curves_by_hand() -> None:
    spreads = Spreads.from_lists([[0.5, 0.2, -1.0]], [0])
    y = [
        0.3 * plain_curve("invexp", d, 0.1, 0.5) + 0.7 * plain_curve("ipb", d, 0.2, 0.5)
        for d in (0.0, 0.3, 1.5)
    ]
    agent = Agent(
        0.1, 0.5, "invexp+ipb", "shares", difference="raw", mix=0.3, mix_scale=2.0, tie_shift=0.0
    )
    np.testing.assert_allclose(agent.probabilities(spreads), plain_shares(y), atol=1e-14)


def test_weights_of_depths() -> None:
    groups = DepthScheme.groups([(1, 2), (3, 4, 5), 6])
    phi = np.array([math.log(2.0), math.log(0.5)])
    # group weights 2 : 0.5 : 1, shared evenly within a group
    total = 3.5
    expected = [1 / total, 1 / total, *[0.5 / 3 / total] * 3, 1 / total]
    np.testing.assert_allclose(groups.weights(phi), expected, atol=1e-15)
    assert groups.names == ("ln w(1-2)/w(6)", "ln w(3-5)/w(6)")
    curve = DepthScheme.curve([2, 4, 6], degree=2)
    x = np.array([-1.0, -0.5, 0.0])
    raw = np.exp(0.7 * x - 0.2 * x**2)
    np.testing.assert_allclose(curve.weights(np.array([0.7, -0.2])), raw / raw.sum(), atol=1e-15)
    rows = curve.weights(np.array([[0.7, -0.2], [0.0, 0.0]]))
    np.testing.assert_allclose(rows[1], [1 / 3] * 3, atol=1e-15)


def test_a_curve_of_weights_enters_like_free_weights() -> None:
    spreads = realistic_spreads(10, 20, depths=True)
    curve = DepthScheme.curve(DEPTHS, "geometric", degree=1)
    weights = curve.weights(np.array([-1.2]))
    free = tuple(float(np.log(w / weights[-1])) for w in weights[:-1])
    one = Agent(0.1, 0.5, depths=curve, depth_numbers=(-1.2,))
    other = Agent(0.1, 0.5, depths=DepthScheme.free(DEPTHS), depth_numbers=free)
    np.testing.assert_allclose(one.probabilities(spreads), other.probabilities(spreads), atol=1e-14)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"curve": "gauss"}, "gauss"),
        ({"curve": "ipa+ipb+ipa"}, "mixture"),
        ({"ratio": "odds"}, "odds"),
        ({"difference": "cp"}, "cp"),
        ({"lapse": 1.0}, "lapse"),
        ({"lapse": -0.1}, "lapse"),
        ({"lapse": 0.1, "lapse_kernel": "best"}, "best"),
        ({"s": 0.0}, "s=0"),
        ({"c": math.inf}, "c=inf"),
        ({"tie_shift": -0.1}, "tie shift"),
        ({"cap": 0.0}, "cap"),
        ({"constant": 0.0}, "constant"),
        ({"depth_numbers": (1.0,)}, "0 numbers"),
        ({"depths": DepthScheme.free([1, 2])}, "1 numbers"),
    ],
)
def test_impossible_agents_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Agent(**{"s": 0.1, "c": 0.5, **wrong})  # type: ignore[arg-type]


def test_impossible_schemes_are_refused() -> None:
    with pytest.raises(InputError, match="sum"):
        DepthScheme.free([1, 2], "sum")
    with pytest.raises(InputError, match="rise"):
        DepthScheme.free([2, 1])
    with pytest.raises(InputError, match="group"):
        DepthScheme.groups([(1,), ()])
    with pytest.raises(InputError, match="degree"):
        DepthScheme.curve([1, 2], degree=0)


def test_agents_and_parameters_go_both_ways() -> None:
    for model in (
        ChoiceModel(),
        ChoiceModel("ipa+ipa", "shares", Scale("raw", cap=None), lapse="shares"),
        ChoiceModel("sechb", "product", depths=DepthScheme.free(DEPTHS, "mixture"), lapse="flat"),
    ):
        theta = parameters_of(model, 0.2, 0.7)
        agent = Agent.from_parameters(model, theta)
        assert agent.model == model
        np.testing.assert_allclose(agent.parameters, theta, rtol=1e-12)


def test_one_row_of_parameters_each_is_one_agent_each() -> None:
    """Parameters that follow a rating: the decisions do not see each other's."""
    spreads = realistic_spreads(11, 25, depths=True)
    for ratio in RATIOS:
        for kind in DEPTH_KINDS:
            for model in all_models(ratio=ratio, kind=kind):
                rows = np.stack([parameters_of(model, 0.05 + 0.01 * t, 0.5) for t in range(25)])
                together = ln_probabilities(model, prepare(spreads, model), rows)
                for t in (0, 7, 24):
                    alone = spreads.take([t])
                    one = ln_probabilities(model, prepare(alone, model), rows[t])
                    part = together[spreads.offsets[t] : spreads.offsets[t + 1]]
                    np.testing.assert_allclose(part, one, rtol=1e-14)
