"""What to fit: options of a model, and the unit that decides on the scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.choice.makers import padded, played, realistic_spreads

from milepost.choice import Agent, DepthScheme, Scale, Spreads
from milepost.errors import InputError
from milepost.fit import AgentModel, fit_agent, fit_groups
from milepost.fit.comparison.candidates import standard_candidates


def options_table(decisions: int, options: int = 4, seed: int = 5) -> pl.DataFrame:
    """A table with one row an option, worth up to thirty of something, chosen by shares."""
    rng = np.random.default_rng(seed)
    value = np.round(rng.uniform(0, 30, (decisions, options)), 1)
    spreads = Spreads.from_lists(value.tolist(), [0] * decisions)
    agent = Agent(s=5.0, c=1.0, ratio="shares", difference="raw", cap=None, tie_shift=0.0)
    shares = agent.probabilities(spreads).reshape(decisions, options)
    chosen = (rng.random((decisions, 1)) > np.cumsum(shares, axis=1)).sum(axis=1)
    return pl.DataFrame(
        {
            "decision": np.repeat(np.arange(decisions), options),
            "value": value.ravel(),
            "chosen": (np.arange(options) == chosen[:, None]).ravel(),
        }
    )


def test_without_anything_it_is_the_paper_for_pawns_and_raw_for_others() -> None:
    assert AgentModel().scale() == Scale("log", 1.0, 4.0, 0.03)
    assert AgentModel().scale(in_pawns=False) == Scale("raw", 1.0, None, 0.0)


def test_what_is_named_holds_for_every_unit() -> None:
    model = AgentModel(difference="log", cap=2.0, tie_shift=0.1, constant=3.0)
    for in_pawns in (True, False):
        assert model.scale(in_pawns=in_pawns) == Scale("log", 3.0, 2.0, 0.1)
    for none in (0.0, np.inf):
        assert AgentModel(cap=none).scale().cap is None
    assert AgentModel(constant=2.0).scale(in_pawns=False).difference == "log"


def test_options_in_a_table_are_of_another_unit() -> None:
    table = options_table(60)
    assert not Spreads.from_frame(table).in_pawns
    assert Spreads.from_frame(table, in_pawns=True).in_pawns
    assert not Spreads.from_frame(table).take([0, 1]).in_pawns
    fit = fit_agent(Spreads.from_frame(table))
    assert (fit.model.scale.difference, fit.clipped) == ("raw", 0)
    loss = table.group_by("decision", maintain_order=True).agg(
        (pl.col("value").max() - pl.col("value").filter("chosen").first()).alias("loss")
    )["loss"]
    assert fit.ad_actual == pytest.approx(loss.mean())
    (row,) = fit_groups(table).table.iter_rows(named=True)
    assert row["s"] == fit.s


def test_clipped_options_are_counted() -> None:
    table = options_table(60)
    fit = fit_agent(Spreads.from_frame(table), AgentModel(cap=4.0))
    best = table.with_columns(best=pl.col("value").max().over("decision"))
    clipped = len(best.filter(pl.col("best") - pl.col("value") > 4))
    assert (fit.clipped, fit.options) == (clipped, len(table))
    assert fit.clipped_share == pytest.approx(clipped / len(table))
    assert f"clipped 4 under the best: {clipped} of {len(table)} options" in str(fit)
    assert "clipped" not in str(fit_agent(Spreads.from_frame(table)))


def test_padding_is_not_clipped() -> None:
    spreads = played(Agent(0.1, 0.5), realistic_spreads(911, 60), 912)
    plain, filled = fit_agent(spreads), fit_agent(padded(spreads, 40))
    assert (filled.clipped, filled.options) == (plain.clipped, plain.options)
    assert plain.clipped > 0


def test_models_are_compared_on_the_scale_of_the_unit() -> None:
    table = options_table(60)
    for candidate in standard_candidates(Spreads.from_frame(table)).values():
        assert candidate.model.scale == Scale("raw", 1.0, None, 0.0)
    everything = standard_candidates(Spreads.from_frame(table), everything=True)
    assert "log, percentile" in everything
    assert "win-probability, percentile" not in everything
    pawns = standard_candidates(Spreads.from_frame(table, in_pawns=True), everything=True)
    assert pawns["powers, percentile"].model.scale == Scale()
    assert "win-probability, percentile" in pawns


def test_depths_can_be_said_in_words() -> None:
    model = AgentModel(depths="1-2, 3-4,10", combine="mixture").choice_model()
    assert model.depths == DepthScheme.groups([[1, 2], [3, 4], [10]], "mixture")
    scheme = DepthScheme.free([1, 2], "additive")
    assert AgentModel(depths=scheme).choice_model().depths == scheme


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lapse": "some"}, "some"),
        ({"lapse": 1.0}, "lapse"),
        ({"lapse_kernel": "shares"}, "goes with lapses"),
        ({"lapse_kernel": "none"}, "lapse kernel"),
        ({"curve": "line"}, "line"),
        ({"s": -1.0}, "s must be over 0"),
        ({"c": 0.0}, "c must be over 0"),
        ({"kappa": 1.0}, "no parameter 'kappa'"),
        ({"constant": "any"}, "a number or 'fit'"),
        ({"constant": -1.0}, "over 0"),
        ({"constant": 1.0, "difference": "raw"}, "has no constant"),
        ({"combine": "mixture"}, "name them"),
        ({"depths": DepthScheme.free([1, 2], "additive"), "combine": "mixture"}, "additive"),
        ({"depths": "all"}, "expected groups"),
    ],
)
def test_impossible_models_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        AgentModel(**wrong)
