"""Checks of an event: the bundled sample, whose simulated players are honest by construction."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import milepost as mp
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.store import EvaluationStore
from milepost.api.deep_look import deep_store
from milepost.errors import InputError
from milepost.fairplay import words
from milepost.fairplay.deep.pull import LEAST_HONEST
from milepost.fairplay.reference.honest import honest_players
from milepost.tables import CHECKS

SAMPLE = Path(mp.__file__).parent / "data" / "sample"


@pytest.fixture(scope="module")
def decisions() -> mp.Decisions:
    whole = mp.decisions(SAMPLE / "games.pgn", SAMPLE / "evaluations")
    keys = sorted(whole.table["mover"].unique())[:4]
    return whole.filter(pl.col("mover").is_in(keys) & pl.col("opponent").is_in(keys))


@pytest.fixture(scope="module")
def screened(decisions: mp.Decisions) -> mp.Check:
    return mp.check(decisions)


@pytest.fixture(scope="module")
def looked(decisions: mp.Decisions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose deep look prefers the judge's second move everywhere."""
    pull = honest_players(mp.load_calibration("stockfish15.1-quick")).deep
    assert pull is not None
    folder = tmp_path_factory.mktemp("evaluations")
    store = EvaluationStore(deep_store(folder), create=True)
    moves = decisions.moves
    assert moves is not None
    positions = dict(zip(map(stored_position, decisions.table["position"]), moves, strict=True))
    store.append(
        {"position": position, "played": None, "setup": pull.setup, "moves": [options[1]],
         "cp": [[0]], "mate": [[None]], "nodes": 1}
        for position, options in positions.items()
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def tested(decisions: mp.Decisions, looked: Path) -> mp.Check:
    plan = mp.CheckPlan(full=True, draws=60, seed=3)
    return mp.check(decisions, looked, player="Marov", plan=plan)


def test_every_player_has_a_row_with_turns_interval_and_power(screened: mp.Check) -> None:
    table = screened.table
    assert table.columns == CHECKS.names
    assert len(table) == 4
    for name in ("elo", "turns", "games", "low", "high", "index", "p", "e_value", "noticed"):
        assert table[name].null_count() == 0
    assert table["p"].is_between(0, 1).all()
    assert (table["e_worst"] <= table["e_value"]).all()


def test_a_note_about_a_rating_stands_at_its_player(decisions: mp.Decisions) -> None:
    key = sorted(decisions.table["mover"].unique())[0]
    first = decisions.table.filter(pl.col("mover") == key)["game_id"][0]
    here = (pl.col("game_id") == first) & (pl.col("mover") == key)
    there = (pl.col("game_id") == first) & (pl.col("opponent") == key)
    table = decisions.table.with_columns(
        pl.when(~here).then("mover_elo").alias("mover_elo"),
        pl.when(~there).then("opponent_elo").alias("opponent_elo"),
    )
    found = mp.check(replace(decisions, table=table))
    told = found.table.filter(pl.col("warnings").str.contains("the Elo is missing in 1 of"))
    assert told["player"].to_list() == [key]
    assert not [note for note in found.notes if "Elo is missing" in note]


def test_a_list_of_ratings_is_among_the_digests(decisions: mp.Decisions, tmp_path: Path) -> None:
    key = sorted(decisions.table["mover"].unique())[0]
    ratings = tmp_path / "list.csv"
    ratings.write_text(f'player,elo\n"{key}",2222\nNobody Known,1500\n', encoding="utf-8")
    found = mp.check(decisions, ratings=ratings)
    digest = hashlib.sha256(ratings.read_bytes()).hexdigest()
    assert digest in [about.get("sha256") for about in found.made["inputs"]]
    assert found.table.filter(pl.col("player") == key)["elo"].to_list() == [2222]
    assert [note for note in found.notes if note.startswith("1 row of the table of ratings")]


def test_players_without_a_rating_get_the_same_ipr_and_no_test(
    screened: mp.Check, decisions: mp.Decisions
) -> None:
    key = screened.table["player"][1]
    table = decisions.table.with_columns(
        pl.when(pl.col(side) != key).then(f"{side}_elo").alias(f"{side}_elo")
        for side in ("mover", "opponent")
    )
    found = mp.check(replace(decisions, table=table))
    before, after = (
        part.table.sort("player").select("player", "rating", "low", "high")
        for part in (screened, found)
    )
    assert before.rows() == after.rows()
    rest = pl.col("player") != key
    values = ["player", "index", "ln_e"]
    with_all, without = (
        part.table.filter(rest).sort("player").select(values) for part in (screened, found)
    )
    # Each performance is tested by itself, on its own rows of the one ladder.
    assert np.allclose(with_all["ln_e"], without["ln_e"], rtol=0, atol=1e-9)
    assert np.allclose(with_all["index"], without["index"], rtol=0, atol=1e-9)
    assert found.table.filter(~rest)["index"].to_list() == [None]
    with pytest.raises(InputError, match="has no rating from before the event"):
        mp.check(replace(decisions, table=table), player=key, plan=mp.CheckPlan(full=True))


def test_rows_stand_by_seed_not_by_index(screened: mp.Check, decisions: mp.Decisions) -> None:
    assert screened.table["elo"].is_sorted(descending=True)
    by_index = mp.check(decisions, plan=mp.CheckPlan(order="index"))
    assert by_index.table["index"].is_sorted(descending=True)
    with pytest.raises(InputError, match="order"):
        mp.CheckPlan(order="guilt")


def test_names_are_kept_back_unless_asked_for(screened: mp.Check, tmp_path: Path) -> None:
    names = set(screened.names.values())
    keys = set(screened.table["player"])
    screened.save(tmp_path / "table.csv")
    screened.save(tmp_path / "all.json")
    for file in tmp_path.iterdir():
        text = file.read_text(encoding="utf-8")
        assert "Player 01" in text or file.name.endswith("provenance.json")
        assert not [name for name in names | keys if name in text]
    assert "Player 01" in repr(screened)
    screened.save(tmp_path / "named.csv", names=True)
    assert "Marovčinski, Jelka" in (tmp_path / "named.csv").read_text(encoding="utf-8")


def test_a_colour_swap_a_new_name_and_another_order_change_nothing(
    screened: mp.Check, decisions: mp.Decisions
) -> None:
    table = decisions.table
    renamed = table.with_columns(
        pl.concat_str(pl.lit("zz "), pl.col("mover")).alias("mover"),
        pl.concat_str(pl.lit("zz "), pl.col("opponent")).alias("opponent"),
        pl.when(pl.col("colour") == "white").then(pl.lit("black")).otherwise(pl.lit("white"))
        .alias("colour"),
    ).drop("mover_name", "opponent_name")  # fmt: skip
    games = table["game_id"].unique(maintain_order=True).to_list()
    rng = np.random.default_rng(1)
    rng.shuffle(games)
    order = {game: place for place, game in enumerate(games)}
    shuffled = renamed.sort(pl.col("game_id").replace_strict(order), "ply", maintain_order=True)
    other = mp.check(mp.Decisions(shuffled, setup=decisions.setup))
    known = screened.table.with_columns(("zz " + pl.col("player")).alias("player"))
    both = known.join(other.table, on="player")
    assert len(both) == len(known)
    for name in ("ln_e", "z", "index", "rating"):
        assert both[name].to_list() == pytest.approx(both[f"{name}_right"].to_list(), abs=1e-9)


def test_sequential_equals_batch(screened: mp.Check, decisions: mp.Decisions) -> None:
    last = screened.sequence(names=True).group_by("player", maintain_order=True).last()
    whole = screened.shown(names=True).select("player", pl.col("ln_e").alias("batch"))
    both = last.join(whole, on="player")
    assert len(both) == 4
    assert both["ln_e"].to_list() == pytest.approx(both["batch"].to_list(), abs=1e-9)
    early = mp.check(decisions, plan=mp.CheckPlan(after_round=6))
    then = screened.sequence(names=True)
    rounds = pl.col("round").cast(pl.Float64).floor()
    then = then.filter(rounds <= 6).group_by("player", maintain_order=True).last()
    rows = early.shown(names=True).select("player", pl.col("ln_e").alias("early")).drop_nulls()
    joined = then.join(rows, on="player")
    assert len(joined) == len(rows) > 0
    assert joined["ln_e"].to_list() == pytest.approx(joined["early"].to_list(), abs=1e-9)


def test_a_full_test_says_everything(tested: mp.Check) -> None:
    (test,) = tested.full
    assert test.performance.player.startswith("marov")
    assert test.figures["figure"].to_list() == ["match", "error", "likelihood", "all three"]
    assert len(test.shares) == 4
    assert {cell.share for cell in test.power} == {0.05, 0.1, 0.2, 0.4, 1.0}
    assert test.sensitivity["variant"][0] == "as analysed"
    assert "there is no table of known games" in test.sensitivity["reason"].to_list()
    assert len(test.trace) == len(test.performance)
    assert test.sequence["ln_e"][-1] == pytest.approx(test.ln_e, abs=1e-9)
    assert test.chance.p >= test.chance.p_simulated
    assert len(test.posterior) == 3
    assert np.allclose(np.diag(test.correlation), 1.0)


def test_a_full_test_looks_deep_where_the_store_holds_it(tested: mp.Check) -> None:
    (test,) = tested.full
    deep = test.deep
    assert deep is not None
    chosen = test.performance.board.spreads.chosen[test.performance.rows]
    assert deep.played == pytest.approx((chosen == 1).mean())
    assert 0 < deep.expected < 1
    few = replace(deep, pull=replace(deep.pull, ln_e=np.zeros(LEAST_HONEST - 1)))
    assert replace(test, deep=few).ln_e == test.index.ln_e
    assert replace(test, deep=few).p == test.chance.p
    many = replace(deep, pull=replace(deep.pull, ln_e=np.zeros(LEAST_HONEST)))
    both = (np.exp(test.index.ln_e) + np.exp(deep.ln_e)) / 2
    assert np.exp(replace(test, deep=many).ln_e) == pytest.approx(both)
    assert replace(test, deep=many).p == min(1.0, 2 * min(test.chance.p, deep.p))
    assert deep.sequence[-1] == pytest.approx(deep.ln_e, abs=1e-9)
    assert tested.figures()["full"][0]["deep_look"]["turns"] == len(test.performance)


def test_without_a_deep_look_the_check_says_so(decisions: mp.Decisions) -> None:
    found = mp.check(decisions, player="Marov", plan=mp.CheckPlan(full=True, draws=20))
    assert found.full[0].deep is None
    assert found.full[0].ln_e == found.full[0].index.ln_e
    assert any("the deep look was not made" in note for note in found.notes)


def test_the_same_seed_gives_the_same_figures(
    decisions: mp.Decisions, looked: Path, tested: mp.Check
) -> None:
    plan = mp.CheckPlan(full=True, draws=60, seed=3)
    again = mp.check(decisions, looked, player="Marov", plan=plan)
    assert json.dumps(again.figures(), default=str) == json.dumps(tested.figures(), default=str)


def test_a_store_with_a_ledger_counts_looks(decisions: mp.Decisions, tmp_path: Path) -> None:
    store = tmp_path / "evaluations"
    shutil.copytree(SAMPLE / "evaluations", store)
    first = mp.check(decisions, store, looked_at="2026-11-17T10:00:00+00:00")
    second = mp.check(decisions, store, looked_at="2026-11-17T11:00:00+00:00")
    assert first.looks.startswith("Looks taken with this store: 1, at 4 performances, 4 tests")
    assert second.looks == first.looks  # the same look again
    ledger = (store / "check-ledger.ndjson").read_text(encoding="utf-8")
    assert not [name for name in first.table["player"] if name in ledger]


def test_a_full_test_is_a_look_at_all_players_and_one_at_this_one(
    decisions: mp.Decisions, tmp_path: Path
) -> None:
    store = tmp_path / "evaluations"
    shutil.copytree(SAMPLE / "evaluations", store)
    plan = mp.CheckPlan(full=True, draws=20)
    time = "2026-11-17T10:00:00+00:00"
    found = mp.check(decisions, store, player="Marov", plan=plan, looked_at=time)
    assert found.looks.startswith("Looks taken with this store: 2, at 4 performances, 5 tests")


def test_players_of_whom_nothing_is_analysed_are_listed_with_the_reason(
    decisions: mp.Decisions,
) -> None:
    key = decisions.table["mover"][0]
    lost = decisions.table.filter(pl.col("mover") == key)
    rest = decisions.filter(pl.col("mover") != key)
    missing = lost.select("game_id", "ply", "mover", "round").with_columns(
        pl.lit("not analysed").alias("reason")
    )
    found = mp.check(replace(rest, left_out=missing))
    row = found.table.row(by_predicate=pl.col("player") == key, named=True)
    assert row["turns"] == 0
    assert "not analysed yet: complete them with milepost analyse" in row["reason"]
    assert row["reason"].endswith("--plan quick")  # as the sample was analysed


def test_players_without_a_rating_get_a_rating_by_moves_but_no_test(
    decisions: mp.Decisions,
) -> None:
    key = decisions.table["mover"][0]
    bare = decisions.table.with_columns(
        pl.when(pl.col(who) != key).then(pl.col(f"{who}_elo")).alias(f"{who}_elo")
        for who in ("mover", "opponent")
    )
    found = mp.check(mp.Decisions(bare, setup=decisions.setup))
    row = found.table.row(by_predicate=pl.col("player") == key, named=True)
    assert row["index"] is None
    assert "no rating" in row["reason"]
    assert row["rating"] is not None
    given = mp.check(mp.Decisions(bare, setup=decisions.setup), elos={key: 2000})
    row = given.table.row(by_predicate=pl.col("player") == key, named=True)
    assert row["elo"] == 2000
    assert row["elo_from"] == "given"
    assert row["index"] is not None
    nothing = pl.lit(None, dtype=pl.Int32)
    nobody = bare.with_columns(nothing.alias("mover_elo"), nothing.alias("opponent_elo"))
    with pytest.raises(InputError, match="rating"):
        mp.check(mp.Decisions(nobody, setup=decisions.setup))


def test_another_set_up_is_refused(decisions: mp.Decisions) -> None:
    with pytest.raises(InputError, match="set-up"):
        mp.check(mp.Decisions(decisions.table, setup="0123456789abcdef"))
    with pytest.raises(InputError, match="set-up"):
        mp.check(decisions, calibration="stockfish15.1-bullet")


def test_a_full_test_needs_a_name(decisions: mp.Decisions) -> None:
    with pytest.raises(InputError, match="name whom"):
        mp.check(decisions, plan=mp.CheckPlan(full=True))


def test_few_turns_give_no_index(decisions: mp.Decisions) -> None:
    found = mp.check(decisions, plan=mp.CheckPlan(after_round=2))
    few = found.table.filter(pl.col("turns") < 60)
    assert len(few)
    assert few["index"].null_count() == len(few)
    assert few["reason"].str.contains("fewer than 60").all()


def test_nothing_that_is_said_holds_a_forbidden_word(tested: mp.Check) -> None:
    text = json.dumps(tested.figures(), default=str).lower()
    assert not [word for word in words.FORBIDDEN if word in text]


def test_the_parts_of_a_result_add_up(screened: mp.Check) -> None:
    luck = screened.luck
    total = luck["own_play"] + luck["opponents_play"] + luck["rest"]
    assert total.to_list() == pytest.approx(luck["surplus"].to_list(), abs=1e-12)
