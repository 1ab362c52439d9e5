"""Sites: one step from the expected Elo, against the ladder of ratings, and without bias."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import PATH, league
from tests.intrinsic.rating.test_rate import CALIBRATION, LIKELIHOOD, SPREADS, TABLE, decisions

from milepost.api.sites import sites
from milepost.errors import InputError
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.rating.sites import make_sites
from milepost.tables import SITES


def test_a_site_is_the_reference_plus_score_by_information() -> None:
    # Independent sum: the spline through the ladder of ratings, as likelihoods are read elsewhere.
    made = make_sites(TABLE, LIKELIHOOD, setup="abc")
    assert made.columns == SITES.names
    assert len(made) == 16
    ladder = climb(SPREADS, PATH)
    for row in made.head(3).iter_rows(named=True):
        here = (TABLE["mover"] == row["player"]) & (TABLE["year"] == row["time"])
        part = ladder.take(here.to_numpy())
        own = float(TABLE.filter(here)["mover_elo"].to_numpy().mean())
        score, information = part.scores(own).sum(), part.information_at(own).sum()
        assert row["reference"] == pytest.approx(own)
        assert row["site"] == pytest.approx(own + score / information, abs=2.0)
        assert row["information"] == pytest.approx(information, rel=2e-3)
        assert (row["n"], row["games"]) == (90, 3)
        assert sum(row["game_information"]) == pytest.approx(row["information"])
        assert (row["player_sd"], row["form_sd"], row["setup"]) == (40.0, 0.0, "abc")


def test_few_turns_make_no_bias() -> None:
    # 400 players of one game of six turns: the likeliest ratings would be far off, or unbounded.
    spreads, who, _ = league(400, 1, 6, seed=43)
    made = make_sites(decisions(spreads, who), LIKELIHOOD)
    apart = (made["site"] - made["reference"]).to_numpy()
    weight = made["information"].to_numpy()
    mean, error = np.average(apart, weights=weight), 1.0 / np.sqrt(weight.sum())
    assert abs(mean) < 3.0 * error
    assert np.sqrt(np.average(apart**2 * weight)) == pytest.approx(1.0, abs=0.15)


def test_references_come_from_a_table_then_elo_then_a_number() -> None:
    given = pl.DataFrame({"player": ["player 1"], "time": [2000], "reference": [2222.0]})
    made = make_sites(TABLE, LIKELIHOOD, reference=given)
    first = made.filter((pl.col("player") == "player 1") & (pl.col("time") == 2000))
    assert first["reference"].to_list() == [2222.0]
    unrated = TABLE.with_columns(mover_elo=pl.lit(None, dtype=pl.Int64))
    assert set(make_sites(unrated, LIKELIHOOD, reference=2000.0)["reference"]) == {2000.0}
    with pytest.raises(InputError, match="give a reference"):
        make_sites(unrated, LIKELIHOOD)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="not read by likelihood"):
        make_sites(TABLE, CALIBRATION)
    with pytest.raises(InputError, match="lack year"):
        make_sites(TABLE.drop("year"), LIKELIHOOD)
    with pytest.raises(InputError, match="whole, random, other"):
        sites(TABLE, calibration=LIKELIHOOD, design="best")


def test_names_designs_and_deeper_cuts() -> None:
    table = TABLE.with_columns(mover_name=pl.col("mover").str.to_uppercase())
    who = pl.DataFrame({"spelling": ["PLAYER 1", "PLAYER 2"], "name": ["Ann", "Ann"]})
    made = sites(table, calibration=LIKELIHOOD, aliases=who, force=True)
    assert "Ann" in set(made.table["player"])
    assert made.table["player"].n_unique() == 7
    assert "player-games" in repr(made)
    deeper = sites(table, calibration=LIKELIHOOD, first_move=20, force=True)
    kept = table.filter(pl.col("move_number") >= 20).height
    assert deeper.table["n"].sum() == kept < table.height
    with pytest.raises(InputError, match="spelling and name"):
        sites(table, calibration=LIKELIHOOD, aliases=who.drop("name"), force=True)
    # every second ply of a game is there: whole games; every eighth: random turns
    whole = TABLE.with_columns(ply=2 * pl.int_range(pl.len()).over("game_id"))
    assert set(make_sites(whole, LIKELIHOOD)["design"]) == {"whole"}
    thin = whole.with_columns(ply=4 * pl.col("ply"))
    assert set(make_sites(thin, LIKELIHOOD)["design"]) == {"random"}
