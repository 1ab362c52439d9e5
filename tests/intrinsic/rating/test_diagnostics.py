"""The numbers behind the pictures, against the formulas written out and against simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.choice.makers import plain_curve, plain_differences, plain_powers
from tests.intrinsic.makers import PATH
from tests.intrinsic.tables import SETUP, league_table, true_calibration

from milepost.choice import Agent, Spreads
from milepost.intrinsic.rating import diagnostics as pictures
from milepost.intrinsic.rating.diagnostics import EVERYTHING, Pictures, make_pictures, with_labels
from milepost.intrinsic.rating.rate import rate


def rated(table: pl.DataFrame, by: list[str]) -> tuple[pl.DataFrame, Pictures]:
    calibration = true_calibration()
    found = rate(table, calibration, by, setup=SETUP, competence=False)
    return found, make_pictures(found, table, calibration, by)


def plain_agent(rating: float) -> tuple[float, float]:
    """s and c on the league's path: ln s and c are lines over (Elo - 2100) / 500."""
    x = (rating - 2100) / 500
    return 0.16 * math.exp(-0.45 * x), 0.53 + 0.03 * x


def plain_probabilities(values: list[float], rating: float) -> list[float]:
    s, c = plain_agent(rating)
    return plain_powers([plain_curve("invexp", d, s, c) for d in plain_differences(values)])


def plain_error(values: list[float], rating: float) -> float:
    pairs = zip(plain_probabilities(values, rating), plain_differences(values), strict=True)
    return sum(p * d for p, d in pairs)


def plain_up(row: dict[str, Any], rating: float, q: float) -> float:
    """The paper's definition: 1 if the chosen interval lies below q, 0 above, else the part."""
    p = plain_probabilities(row["values"], rating)
    low = sum(p[: row["chosen"]])
    return float(min(max((q - low) / p[row["chosen"]], 0.0), 1.0))


def test_the_curve_is_the_expected_error_of_the_agents_of_each_elo() -> None:
    table = league_table(3, 4, 10)
    _, found = rated(table, ["player"])
    assert found.curve["rating"].diff().drop_nulls().unique().to_list() == [50.0]
    for rating, expected, inside in found.curve.gather([0, 15, -1]).iter_rows():
        plain = np.mean([plain_error(values, rating) for values in table["values"].to_list()])
        assert expected == pytest.approx(plain, rel=1e-6)
        assert inside == (1600 <= rating <= 2700)
    assert found.curve["expected"].is_sorted(descending=True)


def test_groups_stand_at_their_own_error_and_rating() -> None:
    table = league_table(3, 4, 10)
    ratings, found = rated(table, ["player"])
    assert found.on_curve["label"].to_list() == ["Player 0", "Player 1", "Player 2"]
    for row in found.on_curve.iter_rows(named=True):
        own = table.filter(pl.col("mover") == row["label"])
        actual = [plain_differences(v)[k] for v, k in own.select("values", "chosen").iter_rows()]
        assert row["actual"] == pytest.approx(np.mean(actual))
        expected = [plain_error(values, row["rating"]) for values in own["values"].to_list()]
        assert row["expected"] == pytest.approx(np.mean(expected), rel=1e-6)
        there = ratings.filter(pl.col("player") == row["label"]).row(0, named=True)
        assert [row[name] for name in ("rating", "low", "high", "n")] == [
            there[name] for name in ("rating", "low", "high", "n")
        ]
        assert row["actual"] == pytest.approx(there["ad_actual"])


def test_up_shares_are_those_of_the_paper() -> None:
    table = league_table(2, 3, 10)
    ratings, found = rated(table, ["player"])
    of = dict(ratings.select("player", "rating").iter_rows())
    for label, part in (
        (EVERYTHING, table),
        ("Player 1", table.filter(pl.col("mover") == "Player 1")),
    ):
        shown = found.percentiles.filter(pl.col("label") == label)
        assert shown["n"].unique().to_list() == [len(part)]
        for q, up in shown.select("q", "up").gather([0, 9, 18]).iter_rows():
            plain = [plain_up(row, of[row["mover"]], q) for row in part.iter_rows(named=True)]
            assert up == pytest.approx(np.mean(plain), rel=1e-6)


def test_the_band_holds_95_of_100_agents() -> None:
    table = league_table(1, 3, 20)
    _, found = rated(table, ["player"])
    band = found.percentiles
    assert band["label"].unique().to_list() == ["Player 0"]  # alone: no panel of all together
    rating = found.ratings["rating"][0]
    spreads = Spreads.from_table(table)
    agent = Agent.from_parameters(PATH.model, PATH.theta(rating)[0])
    rng = np.random.default_rng(7)
    hits = np.zeros(len(band))
    for _ in range(400):
        said = agent.evaluate(agent.simulate(spreads, rng))
        grid = band["q"].to_numpy()
        share = (grid - said.before[:, None]) / np.exp(said.ln_chosen)[:, None]
        up = np.clip(share, 0.0, 1.0).mean(axis=0)
        hits += (up >= band["low"].to_numpy()) & (up <= band["high"].to_numpy())
    # 400 draws: the standard error of 95 % is 1.1 points; the sums of 60 are not quite normal.
    assert (np.abs(hits / 400 - 0.95) < 0.045).all()
    assert abs((hits / 400).mean() - 0.95) < 0.02


def test_errors_by_move_number_have_bars_clustered_by_game() -> None:
    table = league_table(4, 6, 12)
    ratings, found = rated(table, ["player"])
    assert found.by_move["moves"].to_list() == ["9-12", "13-16", "17-20"]
    assert found.turns == len(table)
    part = table.filter(pl.col("move_number") <= 12)
    row = found.by_move.row(0, named=True)
    assert (row["n"], row["games"]) == (96, 24)
    errors = [plain_differences(v)[k] for v, k in part.select("values", "chosen").iter_rows()]
    games = part.select("game_id").with_columns(error=pl.Series(errors))
    means = games.group_by("game_id", maintain_order=True).agg(pl.col("error").mean())["error"]
    # Every game has four turns here: so the error of the mean is that of the means of games.
    standard_error = float(means.std() or 0.0) / math.sqrt(len(means))  # type: ignore[arg-type]
    assert row["actual"] == pytest.approx(np.mean(errors))
    assert (row["high"] - row["low"]) / 2 == pytest.approx(1.959964 * standard_error, rel=1e-6)
    of = dict(ratings.select("player", "rating").iter_rows())
    turns = part.select("values", "mover", "mover_elo").rows()
    at_rating = np.mean([plain_error(values, of[mover]) for values, mover, _ in turns])
    at_elo = np.mean([plain_error(values, elo) for values, _, elo in turns])
    assert row["at_rating"] == pytest.approx(at_rating, rel=1e-6)
    assert row["at_elo"] == pytest.approx(at_elo, rel=1e-6)


def test_what_is_not_known_is_left_out() -> None:
    table = league_table(3, 4, 10)
    few = table.filter(pl.col("mover") != "Player 2") .vstack(
        table.filter(pl.col("mover") == "Player 2").head(5)
    )  # fmt: skip
    no_elo = few.with_columns(
        pl.when(pl.col("move_number") > 12).then("mover_elo").alias("mover_elo")
    )
    _, found = rated(no_elo, ["player"])
    assert found.ratings["label"].to_list() == ["Player 0", "Player 1"]
    assert found.turns == 80
    assert found.by_move["at_elo"].is_null().to_list() == [True, False, False]
    _, found = rated(few.drop("move_number"), ["player"])
    assert found.by_move.is_empty()
    _, found = rated(few.tail(5), ["player"])
    assert (found.turns, len(found.curve), len(found.ratings)) == (0, 0, 0)


def test_groups_may_be_of_several_kinds_of_none_or_not_known() -> None:
    table = league_table(3, 4, 10)
    found, both = rated(table, ["player", "colour"])
    assert set(with_labels(found, ["player", "colour"])["label"]) == {
        f"Player {each} · {colour}" for each in range(3) for colour in ("white", "black")
    }
    assert both.turns == len(table)
    _, alone = rated(table, [])
    assert alone.ratings["label"].to_list() == [EVERYTHING]
    unknown = table.with_columns(
        pl.when(pl.col("mover") != "Player 1").then("mover").alias("mover")
    )
    _, some = rated(unknown, ["player"])
    assert set(some.ratings["label"]) == {"Player 0", "Player 2", "not known"}
    assert some.turns == len(table)


def test_of_very_many_turns_an_even_part_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_TURNS", 50)
    table = league_table(3, 4, 10)
    _, found = rated(table, ["player"])
    assert found.turns == 50
    assert found.percentiles.filter(pl.col("label") == EVERYTHING)["n"][0] == 50
    assert found.ratings["n"].sum() == len(table)  # ratings rest on all
