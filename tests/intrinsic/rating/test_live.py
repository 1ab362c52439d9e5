"""Live decisions: the same as the batch answer, whatever comes in between."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.choice.makers import realistic_spreads
from tests.intrinsic.tables import league_table, true_calibration

from milepost.choice import ChoiceModel, DepthScheme, Spreads
from milepost.errors import InputError
from milepost.fit import ReferenceModel, fit_reference
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import RatingMap
from milepost.intrinsic.calibration.paths import PolynomialPath
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.rating.live import Decision, Follower
from milepost.intrinsic.rating.posterior import LiveRating, Prior, follow

ADA = {"chooser": "Ada", "values": [3, 2.5, 1], "chosen": 0}


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    """Players who vary: games are tempered, posteriors widened."""
    true = true_calibration()
    vary = PlayerVariation.assumed(game_dispersion=1.2, game_sd=120.0, player_sd=80.0)
    return replace(true, variation=vary)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return league_table(2, 4, 12)


def test_after_each_game_it_is_the_batch_answer(
    table: pl.DataFrame, calibration: Calibration
) -> None:
    """Two players in turn, decision by decision, against each alone and all at once."""
    follower = Follower(calibration=calibration, prior=Prior(2000.0, 300.0), level=0.9)
    one, two = table.partition_by("mover", maintain_order=True)
    standings: dict[str, list[Any]] = {}
    for rows in zip(one.iter_rows(named=True), two.iter_rows(named=True), strict=True):
        for row in rows:
            standing = follower.add(row)
            standings.setdefault(standing.chooser, []).append(standing)
    for part in (one, two):
        spreads = Spreads.from_table(part)
        batch = follow(spreads, calibration, [], prior=Prior(2000.0, 300.0), level=0.9)
        live = standings[part["mover"][0]]
        for place, game in enumerate(batch.games.iter_rows(named=True)):
            after = live[12 * (place + 1) - 1]
            assert after.decisions == game["turns_so_far"]
            for name in ("mean", "sd", "low", "high"):
                assert getattr(after.rating, name) == pytest.approx(game[name], abs=1e-8)
        competence = fit_reference(spreads)
        assert live[-1].competence.mean == pytest.approx(competence.mean, abs=1e-6)
        assert live[-1].outside == competence.outside


def test_within_a_game_it_is_the_batch_answer_of_what_was_seen(
    table: pl.DataFrame, calibration: Calibration
) -> None:
    part = table.filter(pl.col("mover") == table["mover"][0]).head(17)
    follower = Follower(calibration=calibration)
    last = [follower.add(row) for row in part.iter_rows(named=True)][-1]
    batch = follow(Spreads.from_table(part), calibration, []).games.row(-1, named=True)
    assert last.rating is not None
    assert last.rating.mean == pytest.approx(batch["mean"], abs=1e-8)


def test_by_hand_two_games(table: pl.DataFrame, calibration: Calibration) -> None:
    """By matrices: the prior widened, times the likelihood; and the likelihood widened."""
    part = table.filter(pl.col("mover") == table["mover"][0]).head(24)
    grid = np.arange(0.0, 4001.0, 5.0)
    total, by_game = np.zeros(len(grid)), []
    for game in part.partition_by("game_id", maintain_order=True):
        ladder = climb(Spreads.from_table(game), calibration.map.path)
        total += ladder.log_likelihood()(grid) / 1.2
        by_game.append(ladder.information.sum(axis=0))
    prior = np.exp(-0.5 * ((grid - 2200) / 150) ** 2)
    likely = np.exp(total - total.max())
    follower = Follower(calibration=calibration, prior=Prior(2200.0, 150.0))
    standing = [follower.add(row) for row in part.iter_rows(named=True)][-1]
    middle = prior * likely @ grid / (prior @ likely)
    at = np.array([np.interp(middle, np.arange(0.0, 4001.0, 100.0), each) for each in by_game])
    varies = np.sqrt(80.0**2 + 120.0**2 * (at**2).sum() / at.sum() ** 2)
    kernel = np.exp(-0.5 * ((grid[:, None] - grid[None, :]) / varies) ** 2)
    for known, density in (
        (standing.rating, (kernel @ prior) * likely),
        (standing.player, prior * (kernel @ likely)),
    ):
        assert known is not None
        mass = density / density.sum()
        mean = float(mass @ grid)
        assert known.mean == pytest.approx(mean, abs=1)
        assert known.sd == pytest.approx(math.sqrt(float(mass @ (grid - mean) ** 2)), rel=0.01)


def test_games_that_are_played_at_once_count_as_games(
    table: pl.DataFrame, calibration: Calibration
) -> None:
    """Interleaved, two games say what they say one after the other, but for the temper's place."""
    part = table.filter(pl.col("mover") == table["mover"][0]).head(24)
    mixed = pl.concat([part[k : k + 13 : 12] for k in range(12)])
    means = []
    for rows in (part, mixed):
        follower = Follower(calibration=calibration)
        known = [follower.add(row) for row in rows.iter_rows(named=True)][-1].rating
        assert known is not None
        means.append(known.mean)
    assert means[1] == pytest.approx(means[0], abs=25)


def test_agents_who_look_at_depths_need_them(calibration: Calibration) -> None:
    """The values of depths come as in the spreads table, one list a depth."""
    model = ChoiceModel(depths=DepthScheme.groups([[1], [2, 3]]))
    beta = np.array([math.log(0.15), -0.4, math.log(0.5), -1.0])
    path = PolynomialPath(model, (1, 0, 0), beta, np.eye(4), (1600.0, 2700.0), 2100.0, 500.0)
    deep = replace(calibration, map=RatingMap("joint", path))
    follower = Follower(calibration=deep)
    with pytest.raises(InputError, match="look at the depths 1 to 3, the decisions have none"):
        follower.add(ADA)
    assert len(follower) == 0  # nothing has changed
    record = {**ADA, "depth_values": [[3, None, 2], [3, 2, 1], [3, 2.5, 1]]}
    standing = follower.add(record)
    assert standing.decisions == 1
    assert standing.rating is not None
    spreads = Decision.from_record(record).spreads()
    assert spreads.depths == (1, 2, 3)
    assert spreads.depth_values is not None
    np.testing.assert_array_equal(spreads.depth_values[1], [np.nan, 2, 2.5])
    state = LiveRating(deep)
    state.add("", spreads)
    assert standing.rating.mean == pytest.approx(state.known()["mean"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"chooser": None}, "nobody chose"),
        ({"values": None}, "values: a list of numbers"),
        ({"values": "321"}, "values: a list of numbers"),
        ({"values": []}, "at least one option"),
        ({"values": [1, None, 3]}, "a number is expected, got None"),
        ({"values": [1, "2", 3]}, "a number is expected, got '2'"),
        ({"values": [1, math.nan, 3]}, "numbers for all"),
        ({"values": [1, True, 3]}, "a number is expected, got True"),
        ({"chosen": 3}, "3 is none of 3 options"),
        ({"chosen": -1}, "-1 is none of 3 options"),
        ({"chosen": 0.5}, "a whole number"),
        ({"chosen": math.nan}, "a whole number"),
        ({"chosen": "first"}, "a whole number"),
        ({"weight": -1}, "weight"),
        ({"weight": "much"}, "weight: a number"),
        ({"unlisted": 0.5}, "unlisted"),
        ({"depth_values": "deep"}, "one list a depth"),
        ({"depth_values": [[1, 2]]}, "each depth needs 3 values"),
        ({"depth_values": [[1, 2, "x"]]}, "depth_values: a number"),
        ({"depth_values": [[1, 2, math.inf]]}, "infinite"),
    ],
)
def test_what_is_no_decision_is_refused_and_changes_nothing(
    change: dict[str, Any], says: str
) -> None:
    follower = Follower()
    with pytest.raises(InputError, match=says):
        follower.add({**ADA, **change})
    assert len(follower) == 0


@pytest.mark.parametrize("record", [None, 3, "Ada", [ADA]])
def test_a_decision_has_names(record: Any) -> None:
    with pytest.raises(InputError, match="a decision is an object"):
        Follower().add(record)
    with pytest.raises(InputError, match="chosen is missing"):
        Follower().add({"chooser": "Ada", "values": [1, 2]})


def test_names_of_tables_will_do() -> None:
    row = {"mover": "x", "game_id": "g", "group": None, "values": [2, 1], "chosen": None, "ply": 3}
    decision = Decision.from_record(row)
    assert (decision.chooser, decision.group, decision.chosen) == ("x", "g", None)
    assert Decision.from_record({**ADA, "player": "other"}).chooser == "Ada"
    # A choice outside the options stands behind them, as in a table.
    assert decision.spreads().chosen.tolist() == [2]
    assert Decision.from_record({**row, "unlisted": 4}).spreads().counts.tolist() == [6]


def test_options_may_come_in_any_order() -> None:
    one, other = Follower(), Follower()
    for _ in range(5):
        first = one.add({"chooser": "a", "values": [3, 2, 1], "chosen": 1})
        second = other.add({"chooser": "a", "values": [1, 3, 2], "chosen": 2})
    assert first.competence == second.competence


def test_it_goes_on_from_a_saved_state(table: pl.DataFrame, calibration: Calibration) -> None:
    rows = list(table.iter_rows(named=True))
    whole, first = Follower(calibration=calibration), Follower(calibration=calibration)
    for row in rows[:30]:
        whole.add(row)
    for row in rows[:20]:
        first.add(row)
    again = Follower(calibration=calibration)
    again.restore(json.loads(json.dumps(first.to_dict())))
    assert len(again) == len(first)
    for row in rows[20:29]:
        again.add(row)
    one, other = whole.add(rows[30]), again.add(rows[29]) and again.add(rows[30])
    assert one.decisions == other.decisions
    assert one.rating is not None
    assert other.rating is not None
    assert one.rating.mean == pytest.approx(other.rating.mean, abs=1e-6)
    assert one.competence.mean == pytest.approx(other.competence.mean, abs=1e-9)


def test_a_state_of_other_settings_is_refused(calibration: Calibration) -> None:
    follower = Follower()
    follower.add(ADA)
    state = json.loads(json.dumps(follower.to_dict()))
    for other in (
        Follower(ReferenceModel(K=0.5)),
        Follower(calibration=calibration),
        Follower(ReferenceModel(prior=(1.0, 0.5))),
    ):
        with pytest.raises(InputError, match="other settings"):
            other.restore(state)
    for damaged in (None, {}, {**state, "choosers": 3}, {**state, "choosers": {"a": {}}}):
        with pytest.raises(InputError, match=r"no state|damaged"):
            Follower().restore(damaged)


def test_a_prior_of_the_elo_needs_a_calibration() -> None:
    with pytest.raises(InputError, match="goes with a calibration"):
        Follower(prior=Prior(2000.0, 100.0))


def test_few_decisions_leave_the_prior(calibration: Calibration) -> None:
    follower = Follower(calibration=calibration, prior=Prior(2100.0, 50.0))
    standing = follower.add({"chooser": "a", "values": [0.3], "chosen": 0})
    assert standing.rating is not None
    assert standing.rating.mean == pytest.approx(2100, abs=0.5)
    # A performance varies about the player's strength, which is known as before.
    assert standing.rating.sd == pytest.approx(math.hypot(50, 80, 120), rel=0.01)
    assert standing.player is not None
    assert standing.player.sd == pytest.approx(50, rel=0.01)


def test_a_line_says_what_is_known(calibration: Calibration) -> None:
    standing = Follower(calibration=calibration).add({**ADA, "id": 7, "group": "g"})
    row = standing.to_dict()
    assert list(row) == [
        "id", "chooser", "group", "decisions", "outside", "c", "c_sd", "c_low", "c_high", "elo",
        "elo_sd", "elo_low", "elo_high", "player_elo", "player_elo_sd", "player_elo_low",
        "player_elo_high",
    ]  # fmt: skip
    assert str(standing).startswith("Ada, 1 decisions: c ")
    assert "Elo" in str(standing)
    assert "elo" not in Follower().add(ADA).to_dict()


def test_realistic_spreads_in_any_field() -> None:
    """A chooser at random is told from one who always takes the best."""
    spreads = realistic_spreads(951, 60)
    follower = Follower(ReferenceModel(width=5))
    rng = np.random.default_rng(952)
    for t in range(60):
        values = spreads.values[spreads.offsets[t] : spreads.offsets[t + 1]].tolist()
        best = follower.add({"chooser": "best", "values": values, "chosen": 0})
        chance = int(rng.integers(len(values)))
        random = follower.add({"chooser": "random", "values": values, "chosen": chance})
    assert best.competence.low > random.competence.high
    assert random.competence.low < 0.2
