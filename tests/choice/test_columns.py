"""Named columns of options and decisions: kept in order, worked out right, used by models."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from milepost.choice import Agent, Spreads
from milepost.choice.columns import missing_columns, option_feature
from milepost.choice.depths import DepthScheme
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.scale import PAWNS
from milepost.errors import InputError, TableError
from milepost.fit.methods.smooth import fit_smooth


def with_columns(decisions: int = 40, *, seed: int = 1) -> Spreads:
    """Decisions with four options, values at four depths, a column and a context."""
    rng = np.random.default_rng(seed)
    counts = np.full(decisions, 4)
    depth_values = rng.normal(0.0, 1.0, (4 * decisions, 4))
    return Spreads.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        depth_values[:, -1],
        rng.integers(0, 4, decisions),
        rating=rng.uniform(1500, 2700, decisions),
        depth_values=depth_values,
        columns={"red": rng.integers(0, 2, 4 * decisions)},
        context={"late": rng.uniform(0, 1, decisions)},
    )


def test_columns_follow_their_options() -> None:
    spreads = Spreads.from_lists(
        [[0.0, 2.0, 1.0], [5.0]], [1, 0], columns={"tag": [10, 12, 11, 20]}, context={"c": [1, 2]}
    )
    assert spreads.values.tolist() == [2, 1, 0, 5]
    assert spreads.columns["tag"].tolist() == [12, 11, 10, 20]
    taken = spreads.take([1, 0])
    assert taken.columns["tag"].tolist() == [20, 12, 11, 10]
    assert taken.context["c"].tolist() == [2, 1]


def test_options_that_were_not_listed_have_none_of_them() -> None:
    spreads = Spreads.from_lists([[1.0, 0.0]], [None], unlisted=[2], columns={"tag": [3, 4]})
    assert spreads.columns["tag"].tolist() == [3, 4, 0, 0]


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match="'tag' needs one number for each option"):
        Spreads.from_lists([[1.0, 0.0]], [0], columns={"tag": [1]})
    with pytest.raises(InputError, match="'c' needs one number for each decision"):
        Spreads.from_lists([[1.0, 0.0]], [0], context={"c": [1, float("nan")]})


def test_the_values_own_columns() -> None:
    depth_values = [[0.0, 1.0], [0.5, 0.25], [-20.0, -20.0]]
    spreads = Spreads.from_lists([[1.0, 0.25, -20.0]], [0], depth_values=[depth_values])

    def feature(name: str) -> list[float]:
        return [float(value) for value in option_feature(name, spreads, PAWNS)]

    assert feature("loss") == [0.0, -0.75, -4.0]
    assert feature("first") == [1.0, 0.0, 0.0]
    # The last option loses 21: beyond 3 that is 18, but losses end at 12.
    assert feature("steep") == [0.0, 0.0, -9.0]
    # The second option was the best one at the first depth: its least loss is 0.
    assert feature("least") == pytest.approx([0.0, 0.0, -np.log(13)])
    assert feature("rank") == pytest.approx([0.0, -np.log(2), -np.log(3)])
    assert feature("tops") == [0.5, 0.5, 0.0]
    assert feature("swing") == pytest.approx([-0.5, 0.75, 0.0])
    assert feature("lead") == [1.0, 1.0, 1.0]
    assert feature("behind") == [0.0, 0.0, 0.0]
    assert feature("even") == [0.2, 0.2, 0.2]
    assert feature("options") == pytest.approx([np.log(3)] * 3)
    assert feature("clear") == pytest.approx([1 - np.exp(-0.75)] * 3)
    assert feature("error") == pytest.approx(
        [0.0, np.log(1.25) - np.log(2), -np.log(4) - np.log(2)]
    )
    assert feature("loss*lead") == [0.0, -0.75, -4.0]


def test_the_steep_loss_against_brute_force() -> None:
    values = [[0.0, -2.9, -3.0, -3.5, -7.0, -30.0], [5.0, 4.0], [2.0, -2.0, -9.0]]
    spreads = Spreads.from_lists(values, [0, 0, 0], unlisted=[0, 1, 0])
    wanted = []
    for listed in values:
        for value in listed:
            loss = listed[0] - value
            wanted.append(-(min(loss, 12.0) - 3.0) if loss > 3.0 else 0.0)
        wanted += [0.0] * (listed == [5.0, 4.0])  # the option that was not listed
    assert option_feature("steep", spreads, PAWNS).tolist() == pytest.approx(wanted)


def test_what_is_missing_is_named() -> None:
    spreads = with_columns()
    assert missing_columns(("red*late", "loss", "blue", "blue*green"), spreads) == ["blue", "green"]
    model = ChoiceModel(utilities=("blue",))
    with pytest.raises(InputError, match="no column 'blue'; they bring red, late"):
        evaluate(model, prepare(spreads, model), model.start())
    with pytest.raises(InputError, match="each once"):
        ChoiceModel(utilities=("red", "red"))


MODELS = [
    ChoiceModel(ratio=ratio, depths=depths, utilities=("loss", "red", "red*late", "least"))
    for ratio in ("shares", "powers", "blend")
    for depths in (None, DepthScheme.ends((1, 2, 3, 4)), DepthScheme.ends((1, 2, 3, 4), "averaged"))
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_derivatives_and_directions(model: ChoiceModel) -> None:
    spreads = with_columns()
    prepared = prepare(spreads, model)
    rng = np.random.default_rng(3)
    theta = model.start() + rng.normal(0, 0.2, (len(spreads), len(model.parameters)))
    way = rng.normal(0, 1, theta.shape)
    whole = evaluate(model, prepared, theta, information=True)
    along = evaluate(model, prepared, theta, information=True, along=way)
    assert np.allclose(along.ln_chosen, whole.ln_chosen)
    assert np.allclose(along.d_ln_chosen[:, 0], (whole.d_ln_chosen * way).sum(axis=1))
    assert np.allclose(along.d_first[:, 0], (whole.d_first * way).sum(axis=1))
    assert np.allclose(
        along.information[:, 0, 0], np.einsum("tj,tjk,tk->t", way, whole.information, way)
    )
    step = 1e-6
    for column in range(theta.shape[1]):
        move = np.zeros(theta.shape[1])
        move[column] = step
        up = evaluate(model, prepared, theta + move).ln_chosen
        down = evaluate(model, prepared, theta - move).ln_chosen
        assert np.allclose((up - down) / (2 * step), whole.d_ln_chosen[:, column], atol=1e-6)


def test_shares_with_columns_are_a_plain_conditional_logit() -> None:
    # Brute force: exp(ln g(δ) + b · x) over its sum.
    spreads = with_columns()
    model = ChoiceModel(ratio="shares", utilities=("red", "red*late"))
    theta = model.start({"s": 0.3, "c": 0.6, "red": 0.7, "red*late": -0.4})
    plain = Agent(s=0.3, c=0.6, ratio="shares").probabilities(spreads)
    tilt = spreads.columns["red"] * (0.7 - 0.4 * np.repeat(spreads.context["late"], 4))
    weight = plain * np.exp(spreads.as_given(tilt))
    wanted = weight / np.repeat(np.add.reduceat(weight, np.arange(0, len(weight), 4)), 4)
    ours = Agent.from_parameters(model, theta).probabilities(spreads)
    assert np.allclose(ours, wanted)


def test_a_fit_with_many_columns_recovers_them() -> None:
    rng = np.random.default_rng(5)
    spreads = with_columns(6_000, seed=5)
    names = tuple(f"x{number}" for number in range(12))
    columns = {name: rng.normal(0, 1, len(spreads.values)) for name in names}
    spreads = Spreads.from_arrays(
        spreads.offsets, spreads.values, spreads.chosen, rating=spreads.rating, columns=columns
    )
    truth = rng.normal(0, 0.3, 12)
    model = ChoiceModel(ratio="shares", utilities=names)
    given = {"s": 0.5, "c": 0.7, **dict(zip(names, truth, strict=True))}
    agent = Agent.from_parameters(model, model.start(given))
    chosen = agent.simulate(spreads, rng)
    fit = fit_smooth(chosen, model, degree=0)
    found = fit.beta[model.utility_places]
    errors = np.sqrt(np.diag(fit.covariance))[model.utility_places]
    z = (found - truth) / errors
    assert fit.converged
    assert np.abs(z).max() < 4
    assert 0.5 < np.sqrt((z**2).mean()) < 1.6


def test_tables_bring_columns() -> None:
    table = pl.DataFrame(
        {
            "game_id": ["a", "a"],
            "values": [[1.0, 0.0], [0.5, 0.25, 0.0]],
            "chosen": [0, 2],
            "option_red": [[0.0, 1.0], None],
            "context_late": [0.5, None],
        }
    )
    spreads = Spreads.from_table(table)
    assert spreads.columns["red"].tolist() == [0, 1, 0, 0, 0]
    assert spreads.context["late"].tolist() == [0.5, 0.0]
    wrong = table.with_columns(pl.Series("option_red", [[0.0], [0.0, 1.0, 2.0]]))
    with pytest.raises(TableError, match="option_red does not have one number for each option"):
        Spreads.from_table(wrong)
