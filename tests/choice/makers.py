"""Spreads and models that the tests of choice and fit share; and the formulas, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from milepost.choice import Agent, ChoiceModel, DepthScheme, Scale, Spreads
from milepost.choice.depths import COMBINATIONS

CURVES = ("invexp", "ipa", "ipb", "secha", "sechb")
MIXTURES = ("invexp+ipb", "ipa+ipa")
RATIOS = ("shares", "powers", "product", "blend")
LAPSES = (None, "flat", "shares")
DEPTH_KINDS = (None, *COMBINATIONS)
DEPTHS = (1, 2, 3)
PLAIN_SCALE = Scale(tie_shift=0.0, cap=None)


def realistic_spreads(seed: int, turns: int, *, depths: bool = False) -> Spreads:
    """Spreads that look like those of chess: centipawns, small gaps at the top, a long tail, ties.

    The values at the shallower of the three depths are the final ones with noise, some unknown.
    Three decisions make a group.
    """
    rng = np.random.default_rng(seed)
    lists, tables = [], []
    for _ in range(turns):
        number = int(rng.integers(2, 25))
        best = float(np.clip(rng.normal(0.0, 0.9), -3.0, 3.0))
        gaps = rng.exponential(0.12, number - 1) * rng.gamma(0.7, 1.4, number - 1)
        values = np.round(best - np.concatenate([[0.0], np.cumsum(gaps)]), 2)
        lists.append([float(v) for v in values])
        noise = rng.normal(0.0, 1.0, (number, 2)) * np.array([0.5, 0.25])
        table = np.column_stack([np.round(values[:, None] + noise, 2), values])
        table[rng.random(number) < 0.05, 0] = np.nan
        tables.append(table.tolist())
    more = {"depth_values": tables} if depths else {}
    return Spreads.from_lists(lists, [0] * turns, groups=np.arange(turns) // 3, **more)


def padded(spreads: Spreads, options: int) -> Spreads:
    """Return the same decisions, each filled up to so many options that nobody chooses."""
    counts = np.maximum(spreads.counts, options)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(offsets[:-1] - spreads.offsets[:-1], spreads.counts) + np.arange(
        len(spreads.values)
    )
    values = np.full(offsets[-1], -np.inf)
    values[rows] = spreads.values
    depth_values = None
    if spreads.depth_values is not None:
        depth_values = np.full((offsets[-1], len(spreads.depths)), -np.inf)
        depth_values[rows] = spreads.depth_values
    places = None
    if spreads.places is not None:
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        places[rows] = spreads.places
    return replace(
        spreads, offsets=offsets, values=values, depth_values=depth_values, places=places
    )


def played(agent: Agent, spreads: Spreads, seed: int) -> Spreads:
    """The same decisions, chosen by an agent."""
    return agent.simulate(spreads, np.random.default_rng(seed))


def scheme_of(kind: str | None) -> DepthScheme | None:
    return None if kind is None else DepthScheme.free(DEPTHS, kind)


def all_models(
    *,
    ratio: str,
    kind: str | None,
    scale: Scale | None = None,
    lapses: tuple[str | None, ...] = LAPSES,
) -> Iterator[ChoiceModel]:
    """Every curve with every lapse, for one ratio and one way to combine depths."""
    for curve in CURVES + MIXTURES:
        for lapse in lapses:
            yield ChoiceModel(
                curve, ratio, scale=scale or Scale(), depths=scheme_of(kind), lapse=lapse
            )


def parameters_of(model: ChoiceModel, s: float, c: float, lapse: float = 0.05) -> np.ndarray:
    """Working parameters with nothing at its default: s, c, m, k, depth numbers, lapse."""
    theta = model.start({"s": s, "c": c})
    if model.mixes_curves:
        theta[2], theta[3] = 0.4, 0.7
    if model.depths is not None:
        at = model.curve_parameters
        theta[at : at + 2] = -0.8, 0.3
    if model.ratio == "blend":
        theta[model.place("kappa")] = 0.5
    for name in model.utilities:
        theta[model.place(name)] = 0.3
    if model.lapse is not None:
        theta[-1] = math.log(lapse / (1 - lapse))
    return theta


# The formulas of the reference (`ipr_math`, sections 1 to 3), as a reader would write them.


def plain_curve(curve: str, delta: float, s: float, c: float) -> float:
    u = (delta / s) ** c
    if curve == "invexp":
        return math.exp(-u)
    if curve == "ipa":
        return float(1 / (1 + u))
    if curve == "ipb":
        return float((1 + delta / s) ** -c)
    if curve == "secha":
        return 2 * math.exp(-u) / (1 + math.exp(-2 * u))
    assert curve == "sechb"
    return 4 * math.exp(-u) / (1 + math.exp(-u)) ** 2


def plain_differences(
    values: list[float], *, tie_shift: float = 0.03, cap: float = 4.0
) -> list[float]:
    """Section 1, with the special cases written out, as the paper has it."""
    best = max(values)
    answer = []
    for place, value in enumerate(values):
        low = max(value, best - cap)
        if (best >= 0) == (low >= 0):
            delta = abs(math.log(1 + abs(best)) - math.log(1 + abs(low)))
        else:
            delta = math.log(1 + abs(best)) + math.log(1 + abs(low))
        if value == best and place > values.index(best):
            delta = tie_shift
        answer.append(delta)
    return answer


def plain_shares(y: list[float]) -> list[float]:
    return [each / sum(y) for each in y]


def plain_powers(y: list[float]) -> list[float]:
    """Section 3 by bisection: Σ p_0^(1/y) = 1, y_0 = 1; the sum rises with p_0."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        total = sum(middle ** (1 / each) for each in y if each > 0)
        low, high = (middle, high) if total < 1 else (low, middle)
    return [low ** (1 / each) if each > 0 else 0.0 for each in y]


# Wild spreads: ties, one option, 200 options, huge gaps.


@st.composite
def wild_decisions(draw: st.DrawFn) -> list[float]:
    return sorted(draw(_unsorted_decisions()), reverse=True)


@st.composite
def _unsorted_decisions(draw: st.DrawFn) -> list[float]:
    kind = draw(st.sampled_from(["any", "ties", "one", "many", "gaps", "near"]))
    if kind == "one":
        return [draw(st.floats(-50, 50))]
    if kind == "ties":
        return draw(st.lists(st.sampled_from([0.0, 0.5, -0.25]), min_size=2, max_size=12))
    if kind == "many":
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        return [float(v) for v in rng.normal(0, draw(st.sampled_from([1e-6, 1.0, 100.0])), 200)]
    if kind == "gaps":
        return draw(
            st.lists(
                st.sampled_from([0.0, 1e-12, -1e-9, 3.0, -1e3, 1e6, -1e6]), min_size=2, max_size=12
            )
        )
    if kind == "near":
        return draw(st.lists(st.floats(-1e-7, 1e-7), min_size=2, max_size=9))
    return draw(st.lists(st.floats(-10, 10), min_size=2, max_size=30))


@st.composite
def wild_spreads(draw: st.DrawFn, *, depths: bool = False) -> Spreads:
    lists = draw(st.lists(wild_decisions(), min_size=1, max_size=3))
    chosen = [draw(st.integers(0, len(each) - 1)) for each in lists]
    if not depths:
        return Spreads.from_lists(lists, chosen)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from([0.0, 0.3, 50.0]))
    tables = []
    for each in lists:
        table = np.array(each)[:, None] + size * rng.normal(size=(len(each), 3))
        table[rng.random(table.shape) < 0.2] = np.nan
        table[:, -1] = each
        tables.append(table.tolist())
    return Spreads.from_lists(lists, chosen, depth_values=tables)


def sizes_of_s() -> st.SearchStrategy[float]:
    return st.floats(-4, 2).map(lambda x: 10.0**x)


def sizes_of_c() -> st.SearchStrategy[float]:
    return st.floats(math.log10(0.05), math.log10(5)).map(lambda x: 10.0**x)
