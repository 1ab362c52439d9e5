"""Ratings of groups: the table, its warnings, z, and the sequence of posteriors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.intrinsic.makers import NO_MAP_ERROR, PATH, league

from milepost.choice import Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.maps import RatingMap
from milepost.intrinsic.calibration.player_variation import PlayerVariation
from milepost.intrinsic.rating.groupings import GROUPINGS, add_groups
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.rating.posterior import Prior, follow
from milepost.intrinsic.rating.rate import rate
from milepost.intrinsic.rating.simple_measures import statistic_reader, turn_statistics, win_percent

SPREADS, WHO, ELO = league(8, 6, 30, seed=41)
CALIBRATION = Calibration(
    name="truth",
    setup="abc",
    setup_text="simulated",
    map=RatingMap("line", PATH),
    variation=PlayerVariation.assumed(mm_factor=1.2, ad_factor=1.5, player_sd=40.0, event_sd=30.0),
    map_error=NO_MAP_ERROR,
    mileposts=pl.DataFrame(),
    c_line=(0.4, 5e-5),
    tried=pl.DataFrame({"map": ["line"], "admitted": [True]}),
    gate=pl.DataFrame(),
)
LIKELIHOOD = Calibration(**{**CALIBRATION.__dict__, "map": RatingMap("joint", PATH)})


def decisions(spreads: Spreads, who: np.ndarray) -> pl.DataFrame:
    """The spreads as the table that `make_spreads` would give, with columns of the turns."""
    assert spreads.rating is not None
    count = len(spreads)
    lists = np.split(spreads.values, spreads.offsets[1:-1])
    return pl.DataFrame(
        {
            "game_id": [f"g{group}" for group in spreads.groups],
            "ply": np.arange(count) % 60,
            "mover": [f"player {code}" for code in who],
            "mover_elo": spreads.rating.round().astype(int),
            "values": [each.tolist() for each in lists],
            "chosen": spreads.chosen,
            "opponent": [f"other {group % 3}" for group in spreads.groups],
            "opponent_elo": 2000 + 100 * (spreads.groups % 4),
            "phase": [("endgame", "opening", "middlegame")[at % 3] for at in range(count)],
            "colour": [("white", "black")[group % 2] for group in spreads.groups],
            "year": 2000 + spreads.groups % 2,
            "event": "Cup",
            "score": [(1.0, 0.5, 0.0, None)[group % 4] for group in spreads.groups],
            "speed": "rapid",
            "clock_before": (np.arange(count) % 7) * 700.0,
            "move_number": 9 + np.arange(count) % 60,
        }
    )


TABLE = decisions(SPREADS, WHO)


@pytest.mark.parametrize("calibration", [CALIBRATION, LIKELIHOOD])
def test_players_get_ratings_near_the_truth(calibration: Calibration) -> None:
    ratings = rate(TABLE, calibration, setup="abc")
    assert ratings["player"].to_list() == [f"player {code}" for code in range(8)]
    assert ratings["n"].to_list() == [180] * 8
    assert ratings["games"].to_list() == [6] * 8
    for row in ratings.iter_rows(named=True):
        assert row["low"] < row["rating"] < row["high"]
        assert row["rating"] == pytest.approx(row["elo"], abs=4 * row["se"])
        assert row["player_low"] < row["low"]
        assert row["player_high"] > row["high"]
        assert (row["se_players"], row["se_games"]) == (40, 0)
        assert row["se_events"] == pytest.approx(30 / 2**0.5)
        assert row["se_player"] == pytest.approx(np.sqrt(row["se"] ** 2 + 40**2 + 30**2 / 2))
        assert row["se"] == pytest.approx(np.hypot(row["se_turns"], row["se_calibration"]))
        assert 0 < row["competence_low"] < row["competence"] < row["competence_high"]


def test_z_is_given_raw_adjusted_and_published() -> None:
    row = rate(TABLE, LIKELIHOOD, setup="abc").row(0, named=True)
    # One player differs by 40 points: z is a little smaller, the more turns there are.
    assert 0.7 < row["z_mm_adjusted"] / row["z_mm"] < 1
    assert row["z_mm_published"] == pytest.approx(row["z_mm"] / 1.15)
    assert 0.7 < row["z_ad_adjusted"] / row["z_ad"] < 1
    assert row["z_ad_published"] == pytest.approx(row["z_ad"] / 1.4)


def test_z_of_agents_is_standard() -> None:
    spreads, who, _ = league(120, 3, 30, seed=55)
    ratings = rate(decisions(spreads, who), LIKELIHOOD, setup="abc", competence=False)
    for name in ("z_mm", "z_ad"):
        # Of 120 values: the mean has the error 0.09, the deviation 0.065.
        assert ratings[name].mean() == pytest.approx(0, abs=0.35)
        assert ratings[name].std() == pytest.approx(1, abs=0.25)


def test_adjusted_z_is_standard_however_many_turns_there_are() -> None:
    variation = PlayerVariation.assumed(player_sd=150.0, game_sd=150.0)
    calibration = Calibration(**{**LIKELIHOOD.__dict__, "variation": variation})
    for games in (2, 12):
        spreads, who, _ = league(90, games, 30, players_sd=150.0, form_sd=150.0, seed=60 + games)
        table = decisions(spreads, who)
        ratings = rate(table, calibration, setup="abc", competence=False)
        for name in ("z_mm", "z_ad"):
            # Of 90 values: the deviation has the error 0.075.
            assert ratings[f"{name}_adjusted"].std() == pytest.approx(1, abs=0.3)
        # Raw z of 360 turns varies much more than under agents.
        assert float(ratings["z_ad"].to_numpy().std()) > (1.05 if games == 2 else 1.3)


def test_the_variation_of_many_players_averages_out() -> None:
    one = rate(TABLE, LIKELIHOOD, ["player"], setup="abc", competence=False)
    all_of_them = rate(TABLE, LIKELIHOOD, [], setup="abc", competence=False)
    assert one["se_players"].to_list() == pytest.approx([40.0] * 8)
    assert all_of_them["se_players"][0] == pytest.approx(40 / 8**0.5)


def test_the_variation_of_events_averages_out_over_events() -> None:
    # The years part the games in two halves: of an event of one name there are two.
    one = rate(TABLE.drop("year"), LIKELIHOOD, setup="abc", competence=False)
    two = rate(TABLE, LIKELIHOOD, setup="abc", competence=False)
    many = TABLE.with_columns(event=pl.col("game_id"))
    six = rate(many, LIKELIHOOD, setup="abc", competence=False)
    none = rate(TABLE.drop("event", "year"), LIKELIHOOD, setup="abc", competence=False)
    assert one["se_events"].to_list() == none["se_events"].to_list() == pytest.approx([30.0] * 8)
    assert two["se_events"].to_list() == pytest.approx([30.0 / 2**0.5] * 8)
    assert six["se_events"].to_list() == pytest.approx([30.0 / 6**0.5] * 8)
    # How well the games were played does not depend on it.
    assert six["low"].to_list() == one["low"].to_list()


@pytest.mark.parametrize("column", ["score", "clock_before", "phase", "speed", "opponent_elo"])
def test_what_no_turn_says_is_a_group_of_its_own(column: str) -> None:
    names = {"score": "result", "clock_before": "clock", "opponent_elo": "opponent-band"}
    by = names.get(column, {"speed": "time-control"}.get(column, column))
    table = TABLE.with_columns(pl.lit(None).alias(column))
    ratings = rate(table, LIKELIHOOD, [by, by], setup="abc", competence=False)
    assert ratings[by].to_list() == ["not known"]


@pytest.mark.parametrize("by", [[], ["phase"], ["player", "colour"], ["year", "opponent-band"]])
def test_groups_part_all_turns(by: list[str]) -> None:
    ratings = rate(TABLE, LIKELIHOOD, by, setup="abc", competence=False)
    assert ratings["n"].sum() == len(TABLE)
    assert ratings.columns[: len(by)] == by
    assert len(ratings) == (ratings.select(by).n_unique() if by else 1)


@pytest.mark.parametrize("name", sorted(GROUPINGS))
def test_every_grouping_works(name: str) -> None:
    ratings = rate(TABLE, LIKELIHOOD, [name], setup="abc", competence=False)
    assert ratings["n"].sum() == len(TABLE)


def test_groups_are_named_as_people_expect_them() -> None:
    table = pl.DataFrame(
        {
            "clock_before": [59.0, 60.0, 4000.0, None],
            "move_number": [16, 17, 61, 40],
            "opponent_elo": [1999, 2000, None, 2400],
            "score": [1.0, 0.5, None, 0.0],
        },
        schema_overrides={"opponent_elo": pl.Int32},
    )
    added = add_groups(table, ["clock", "move-range", "opponent-band", "result"])
    assert added["by clock"].to_list() == ["under 1 min", "1-5 min", "over 60 min", "not known"]
    assert added["by move-range"].to_list() == ["up to 16", "17-24", "over 60", "33-40"]
    assert added["by opponent-band"].to_list() == [
        "1800-1999",
        "2000-2199",
        "not known",
        "2400-2599",
    ]
    assert added["by result"].to_list() == ["win", "draw", "not known", "loss"]
    with pytest.raises(InputError, match=r"no grouping .moon."):
        add_groups(table, ["moon"])


def test_the_order_of_turns_and_of_batches_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = rate(TABLE, LIKELIHOOD, setup="abc", competence=False)
    monkeypatch.setattr("milepost.intrinsic.rating.rate._AT_ONCE", 200)
    parts = rate(TABLE.sample(fraction=1, shuffle=True, seed=3), LIKELIHOOD, setup="abc")
    assert parts["rating"].to_numpy() == pytest.approx(whole["rating"].to_numpy(), abs=1e-6)


def test_warnings_say_what_is_wrong() -> None:
    one = TABLE.filter(pl.col("mover") == "player 0").with_columns(opponent=pl.lit("x"))
    few = one.head(40)
    said = rate(few, LIKELIHOOD, setup="abc")["warnings"][0]
    assert "few turns" in said
    assert "one opponent" in said
    assert "no rating" in rate(one.head(5), LIKELIHOOD, setup="abc")["warnings"][0]
    assert rate(one.head(5), LIKELIHOOD, setup="abc")["rating"][0] is None
    assert "8 players" in rate(TABLE, LIKELIHOOD, [], setup="abc")["warnings"][0]
    perfect = one.with_columns(chosen=pl.lit(0, dtype=pl.Int64))
    row = rate(perfect, LIKELIHOOD, setup="abc").row(0, named=True)
    assert row["rating"] is None
    assert row["low"] > 2700
    assert row["high"] is None
    assert "no bound" in row["warnings"]
    unrated = one.with_columns(mover_elo=pl.lit(None, dtype=pl.Int64))
    row = rate(unrated, LIKELIHOOD, setup="abc").row(0, named=True)
    assert row["elo"] is row["z_mm"] is row["mm_projected"] is None
    assert row["mm_actual"] > 0
    assert "no Elo" in row["warnings"]


def test_another_set_up_is_refused_or_marked() -> None:
    with pytest.raises(InputError, match="calibrate anew"):
        rate(TABLE, LIKELIHOOD, setup="xyz")
    forced = rate(TABLE, LIKELIHOOD, setup="xyz", force=True)
    assert forced["warnings"].str.starts_with("other engine set-up").all()


def test_nothing_to_rate_is_said() -> None:
    with pytest.raises(InputError, match="no decisions"):
        rate(TABLE.clear(), LIKELIHOOD, setup="abc")
    with pytest.raises(InputError, match="phase"):
        rate(TABLE.drop("phase"), LIKELIHOOD, ["phase"], setup="abc")


def test_a_sequence_is_as_likely_as_its_moves() -> None:
    part = SPREADS.take(WHO == 2)
    told = follow(part, LIKELIHOOD, [2000.0, 2400.0])
    ladder = climb(part, PATH)
    for rating, row in zip((2000, 2400), told.totals.iter_rows(named=True), strict=True):
        exact = ladder.ln_chosen[:, int(rating / 100)].sum()
        assert row["ln_probability"] == pytest.approx(exact)
        assert row["log10_probability"] == pytest.approx(exact / np.log(10))
        product = float(np.log(told.turns[f"p_{rating}"].to_numpy()).sum())
        assert product == pytest.approx(exact)


def test_the_posterior_narrows_to_the_truth_and_never_below_the_variation_of_players() -> None:
    spreads, _, elo = league(1, 25, 40, seed=91)
    told = follow(spreads, LIKELIHOOD, [])
    assert len(told.games) == 25
    assert told.games["turns_so_far"].to_list() == list(range(40, 1001, 40))
    assert told.games["sd"][-1] < told.games["sd"][0] / 2
    assert told.games["player_sd"][-1] > 50
    assert told.games["sd"][-1] < told.games["player_sd"][-1]
    assert told.games["low"][-1] < elo[0] < told.games["high"][-1]
    assert told.density.sum() * 5 == pytest.approx(1)
    assert told.player_density.sum() * 5 == pytest.approx(1)


def test_the_posterior_of_an_even_prior_is_the_rating_with_its_intervals() -> None:
    spreads, _, _ = league(1, 25, 40, seed=91)
    last = follow(spreads, LIKELIHOOD, []).games.row(-1, named=True)
    row = rate(decisions(spreads, np.zeros(1000, dtype=int)), LIKELIHOOD, setup="abc").row(
        0, named=True
    )
    assert last["mean"] == pytest.approx(row["rating"], abs=0.3 * row["se"])
    assert last["player_mean"] == pytest.approx(last["mean"], abs=0.1 * row["se"])
    gap = last["player_sd"] ** 2 - last["sd"] ** 2
    assert gap == pytest.approx(40**2 + 30**2, rel=0.1)


def test_a_strong_prior_holds_against_few_turns() -> None:
    part = SPREADS.take(np.flatnonzero(WHO == 0)[:30])
    told = follow(part, LIKELIHOOD, [], prior=Prior(3000.0, 20.0))
    assert told.games["mean"][-1] == pytest.approx(3000, abs=60)
    assert told.games["player_mean"][-1] == pytest.approx(3000, abs=20)
    # What is known of the player beforehand is not widened by what others vary.
    assert told.games["player_sd"][-1] <= 20.5
    with pytest.raises(InputError, match="standard deviation"):
        Prior(2000.0, 0.0)
    with pytest.raises(InputError, match="empty"):
        Prior(low=2000.0, high=1000.0)


def test_lichess_formulas_have_their_published_values() -> None:
    # Win% of +100 centipawns is 59.1, and a move that keeps it has the accuracy 100.
    assert win_percent(np.array([0.0, 1.0]))[1] == pytest.approx(59.1, abs=0.05)
    spreads = Spreads.from_lists([[1.0, 0.0]] * 2, [0, 1])
    found = turn_statistics(spreads)
    assert found["lichess accuracy"][0] == pytest.approx(100, abs=0.01)
    # From +1 to 0 gives away 9.1 %: 103.1668 e^(-0.04354 x 9.1) - 3.1669 = 66.2.
    assert found["lichess accuracy"][1] == pytest.approx(66.2, abs=0.2)
    assert found["centipawn loss"].tolist() == [0.0, 100.0]
    # A mate is worth ten pawns, as in lichess' own source.
    assert win_percent(np.array([10.0, 299.0])) == pytest.approx([97.54, 97.54], abs=0.01)
    assert found["match rate"].tolist() == [1.0, 0.0]
    assert found["scaled difference"][1] == pytest.approx(np.log(2))


def test_a_statistic_reads_the_rating_that_made_it() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.uniform(1600, 2700, 20_000)
    values = 150 - 0.04 * ratings + rng.normal(0, 1, 20_000)
    read = statistic_reader(values, ratings, np.arange(20_000) % 5)
    for low in (1700, 2200, 2500):
        part = np.flatnonzero(np.abs(ratings - low) < 20)
        assert read(part[None, :]) == pytest.approx(ratings[part].mean(), abs=8)
