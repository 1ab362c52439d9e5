"""Comparison of models and the gate: held-out, by group, against what is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.choice.makers import realistic_spreads

from milepost.choice import Agent, ChoiceModel, Spreads
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.errors import InputError
from milepost.fit import AgentModel, Candidate, compare, fit_agent, influence
from milepost.fit.comparison.candidates import standard_candidates
from milepost.fit.comparison.gate import HeldOut, gate_table
from milepost.fit.groups import fit_groups, parse_fields, split_decisions

TRUTH = Agent(s=0.12, c=0.55, ratio="shares")


@pytest.fixture(scope="module")
def spreads() -> Spreads:
    drawn = realistic_spreads(601, 900)
    return TRUTH.simulate(drawn, np.random.default_rng(602))


def test_the_true_model_wins_and_its_loss_is_that_of_the_truth(spreads: Spreads) -> None:
    wrong = ChoiceModel(ratio="shares", lapse="flat")
    found = compare(
        spreads,
        {
            "true": Candidate(ChoiceModel(ratio="shares"), "likelihood"),
            "random": Candidate(wrong, "likelihood", fixed=(("lapse", 0.9),)),
        },
        folds=3,
    )
    assert found.table["name"][0] == "true"
    said = TRUTH.evaluate(spreads)
    # The truth itself, which no fit on other decisions beats but by luck.
    assert found.table["log_loss"][0] == pytest.approx(-said.ln_chosen.mean(), abs=0.01)
    assert "log_loss" in str(found)


def test_every_score_is_of_decisions_that_the_fit_has_not_seen(spreads: Spreads) -> None:
    """By hand: the same folds, a fit on the rest, the loss on the fold."""
    model = ChoiceModel(ratio="shares")
    found = compare(
        spreads, [Candidate(model, "likelihood")], folds=3, rng=np.random.default_rng(5)
    )
    groups = np.unique(spreads.groups, return_inverse=True)[1]
    fold = (np.random.default_rng(5).permutation(groups.max() + 1) % 3)[groups]
    losses = []
    for number in range(3):
        fit = fit_agent(
            spreads.take(fold != number), AgentModel(ratio="shares"), method="likelihood"
        )
        part = spreads.take(fold == number)
        losses.append(-evaluate(model, prepare(part, model), fit.theta).ln_chosen)
    assert found.table["log_loss"][0] == pytest.approx(np.concatenate(losses).mean(), abs=1e-9)


def test_too_few_groups_are_refused(spreads: Spreads) -> None:
    alone = Spreads.from_arrays(
        spreads.offsets, spreads.values, spreads.chosen, groups=np.zeros(len(spreads))
    )
    with pytest.raises(InputError, match="cannot be held out"):
        compare(alone, [Candidate(ChoiceModel())])


def held_out(n: int, *, first: float, hits: int, error: float, actual: float) -> HeldOut:
    """Decisions that are all alike, with given projections and outcomes."""
    hit = (np.arange(n) < hits).astype(float)
    return HeldOut(
        ln_chosen=np.full(n, -1.0),
        first=np.full(n, first),
        error=np.full(n, error),
        error_squared=np.full(n, error**2 + 0.01),
        slips=np.tile([0.05, 0.01], (n, 1)),
        hit=hit,
        actual_error=np.full(n, actual),
        actual_slips=np.stack([np.arange(n) < n // 20, np.arange(n) < n // 100], axis=1).astype(
            np.float64
        ),
        frequencies=np.zeros(60),
        actual_frequencies=np.zeros(60),
        weights=np.ones(n),
    )


@pytest.mark.parametrize(
    ("hits", "actual", "match", "scaled"),
    [(500, 0.100, True, True), (511, 0.100, False, True), (500, 0.105, True, False)],
)
def test_the_gate_has_the_stated_limits(
    hits: int, actual: float, match: bool, scaled: bool
) -> None:
    """Match rate within 1 point, error within 4 %: 51.1 against 50 and 0.100 for 0.105 fail."""
    said = held_out(1000, first=0.5, hits=hits, error=0.1, actual=actual)
    gate = gate_table(said, np.zeros(1000, dtype=np.int64), ["all"])
    assert gate["mm_passes"].to_list() == [match]
    assert gate["ad_passes"].to_list() == [scaled]
    assert gate["slips1_passes"].to_list() == [True]
    assert gate["passes"].to_list() == [match and scaled]


def test_a_slip_passes_by_share_or_by_standard_errors() -> None:
    said = held_out(100_000, first=0.5, hits=50_000, error=0.1, actual=0.1)
    over = np.zeros((100_000, 2))
    over[:5_600, 0] = 1.0  # 5.6 % against 5 %: within 15 %, though nine standard errors away
    over[:1_300, 1] = 1.0  # 1.3 % against 1 %: neither
    gate = gate_table(
        HeldOut(**{**vars(said), "actual_slips": over}), np.zeros(100_000, dtype=np.int64), ["all"]
    )
    assert gate["slips1_passes"].to_list() == [True]
    assert gate["slips3_passes"].to_list() == [False]


def test_standard_candidates_need_depths_for_depth_weights(spreads: Spreads) -> None:
    assert not any("depth" in name for name in standard_candidates(spreads))
    deep = Spreads.from_arrays(
        spreads.offsets,
        spreads.values,
        spreads.chosen,
        depth_values=np.repeat(spreads.values[:, None], 6, axis=1),
    )
    assert any("depth" in name for name in standard_candidates(deep, everything=True))


def test_the_most_surprising_choice_moves_the_fit_most() -> None:
    drawn = realistic_spreads(603, 300)
    chosen = TRUTH.simulate(drawn, np.random.default_rng(604)).chosen.copy()
    # The worst of many options, in a decision where the best stands far above it.
    far = int(np.argmax(np.where(drawn.counts > 5, drawn.values[drawn.offsets[:-1]]
                                 - drawn.values[drawn.offsets[1:] - 1], 0)))  # fmt: skip
    chosen[far] = drawn.counts[far] - 1
    blundered = drawn.choosing(chosen)
    fit = fit_agent(blundered, AgentModel(ratio="shares"), method="likelihood")
    size = influence(blundered, fit)
    without = np.arange(300) != far
    moved = fit_agent(
        blundered.take(without), AgentModel(ratio="shares"), method="likelihood"
    ).theta
    step = np.array(moved) - fit.theta
    actual = np.sqrt(step @ np.linalg.inv(fit.working_covariance) @ step)
    assert int(np.argmax(size)) == far
    assert size[far] == pytest.approx(actual, rel=0.5)  # to first order


def options_table() -> pl.DataFrame:
    rng = np.random.default_rng(605)
    return pl.DataFrame(
        {
            "who": np.repeat(["b", "a"], 120),
            "visit": np.repeat(np.arange(80), 3),
            "worth": rng.normal(size=240),
            "taken": np.tile([1, 0, 0], 80),
        }
    )


def test_tables_are_parted_by_columns() -> None:
    fields = parse_fields("decision=visit,value=worth,chosen=taken")
    parts = dict(split_decisions(options_table(), ["who"], fields=fields))
    assert list(parts) == [("a",), ("b",)]
    assert [len(each) for each in parts.values()] == [40, 40]
    fits = fit_groups(options_table(), ["who"], fields=fields, least=41)
    assert not len(fits)
    assert fits.left_out == tuple((name, "40 decisions are fewer than 41") for name in ("a", "b"))
