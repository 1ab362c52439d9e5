"""Reviews: the bundled sample as a new user would review it, and games of servers."""

from __future__ import annotations

from pathlib import Path

import chess
import polars as pl
import pytest

import milepost as mp
from milepost.api.review import EVERY_TURN
from milepost.errors import InputError
from milepost.tables import (
    REVIEW_COSTLY,
    REVIEW_GAMES,
    REVIEW_GROUPS,
    REVIEW_POOLS,
    REVIEW_TRAPS,
)

SAMPLE = Path(mp.__file__).parent / "data" / "sample"


@pytest.fixture(scope="module")
def decisions() -> mp.Decisions:
    whole = mp.decisions(SAMPLE / "games.pgn", SAMPLE / "evaluations", rules=EVERY_TURN)
    wanted = (pl.col("mover") == "marovcinski, jelka") | (
        pl.col("opponent") == "marovcinski, jelka"
    )
    return whole.filter(wanted & (pl.col("year") == 2021))


@pytest.fixture(scope="module")
def reviewed(decisions: mp.Decisions) -> mp.Review:
    return mp.review(decisions, player="Marov", calibration="stockfish15.1-quick-values")


def _server(decisions: mp.Decisions, sites: dict[str, str]) -> mp.Decisions:
    """The same games, as if they were played on a server; by game."""
    table = decisions.table.with_columns(
        pl.col("game_id").replace_strict(sites, default=None, return_dtype=pl.String).alias("site"),
        pl.lit("blitz").alias("speed"),
    )
    return mp.Decisions(
        table, setup=decisions.setup, setup_details=decisions.setup_details, moves=decisions.moves
    )


def test_every_table_has_its_columns(reviewed: mp.Review) -> None:
    assert reviewed.summary.columns == REVIEW_POOLS.names
    assert reviewed.phases.columns == ["phase", *REVIEW_GROUPS.names[1:]]
    assert reviewed.costly.columns == REVIEW_COSTLY.names
    assert reviewed.games.columns == REVIEW_GAMES.names
    assert reviewed.traps.columns == REVIEW_TRAPS.names
    assert reviewed.name == "Marovčinski, Jelka"
    assert "Marovčinski" in repr(reviewed)
    assert "<" in reviewed._repr_html_()


def test_the_rating_is_that_of_rate(reviewed: mp.Review, decisions: mp.Decisions) -> None:
    inside = decisions.filter(pl.col("values").list.first().abs() <= 3.0)
    rated = mp.rate(inside, player="Marov", calibration="stockfish15.1-quick-values").table
    row = reviewed.summary.row(0, named=True)
    assert row["pool"] == "over the board"
    for name in ("rating", "low", "high", "player_low", "player_high"):
        assert row[name] == pytest.approx(rated[name][0])
    assert row["turns"] == rated["n"][0]
    assert row["pool_rating"] is None


def test_phases_count_every_turn_once(reviewed: mp.Review) -> None:
    phases = reviewed.phases
    assert phases["phase"].to_list() == ["opening", "middlegame", "endgame"]
    assert int((phases["turns"] + phases["decided"]).sum()) == len(reviewed.turns)
    for row in phases.filter(pl.col("rating").is_not_null()).iter_rows(named=True):
        assert row["low"] < row["rating"] < row["high"]
        assert row["gap"] == pytest.approx(row["rating"] - row["level"])


def test_a_phase_that_is_all_decided_says_so(decisions: mp.Decisions) -> None:
    ended = decisions.filter(
        (pl.col("phase") != "endgame") | (pl.col("values").list.first().abs() > 3.0)
    )
    found = mp.review(ended, player="Marov", calibration="stockfish15.1-quick-values")
    row = found.phases.filter(pl.col("phase") == "endgame").row(0, named=True)
    assert row["turns"] == 0
    assert row["decided"] > 0
    assert row["note"] == f"{row['decided']} turns, all in decided positions: not rated"
    assert "no turn to rate" in str(found.difference("endgame", "middlegame"))


def test_costly_turns_are_the_costliest_and_can_be_shown(reviewed: mp.Review) -> None:
    costly = reviewed.costly
    assert len(costly) == 10
    assert costly["cost"].is_sorted(descending=True)
    assert costly["cost"][0] == reviewed.turns["cost"].max()
    for row in costly.iter_rows(named=True):
        board = chess.Board(row["position"])
        assert board.parse_san(row["san"]) == chess.Move.from_uci(row["played"])
        assert board.parse_san(row["best_san"]) == chess.Move.from_uci(row["best"])
        assert row["best_chance"] <= row["better_chance"] + 1e-9
        assert row["value"] >= row["value_after"]


def test_games_have_both_sides_beside_their_elo(reviewed: mp.Review) -> None:
    games = reviewed.games
    assert len(games) == 7
    assert games["opponent_turns"].null_count() == 0
    assert games["words"].str.contains("won|drawn|lost").all()
    assert games["date"].is_sorted()
    assert (games["own_play_se"] > 0).all()


def test_without_the_opponents_moves_games_say_what_is_missing(decisions: mp.Decisions) -> None:
    mine = decisions.filter(pl.col("mover") == "marovcinski, jelka")
    found = mp.review(mine, player="Marov", calibration="stockfish15.1-quick-values")
    assert found.games["own_play"].null_count() == 0
    assert found.games["opponent_play"].null_count() == len(found.games)
    assert any("opponents' moves are not analysed" in note for note in found.notes)


def test_differences_by_name_column_or_expression(reviewed: mp.Review) -> None:
    found = reviewed.difference("endgame", "opening")
    assert found.low < found.value < found.high
    assert 0 < found.p <= 1
    assert found.first_turns == reviewed.phases["turns"][2]
    same = reviewed.difference("phase=endgame", pl.col("phase") == "opening")
    assert (same.value, same.p) == (found.value, found.p)
    with pytest.raises(InputError, match="no group 'endgam'"):
        reviewed.difference("endgam", "opening")
    with pytest.raises(InputError, match="lie in both"):
        reviewed.difference("white", "endgame")


def test_a_trend_has_a_band(reviewed: mp.Review) -> None:
    assert set(reviewed.trend["pool"]) == {"over the board"}
    assert (reviewed.trend["low"] < reviewed.trend["high"]).all()
    change = reviewed.changes["over the board"]
    assert change.low < change.value < change.high


def test_turns_of_one_game(decisions: mp.Decisions, reviewed: mp.Review) -> None:
    game = reviewed.games["game_id"][0]
    turns = mp.game_turns(decisions, game=game[:8], calibration="stockfish15.1-quick-values")
    assert turns["game_id"].unique().to_list() == [game]
    assert turns["ply"].is_sorted()
    assert turns["mover"].n_unique() == 2
    for name in ("chance", "entropy", "expected_loss", "value"):
        assert turns[name].null_count() == 0
    with pytest.raises(InputError, match="several games"):
        mp.game_turns(decisions, calibration="stockfish15.1-quick-values")


def test_pools_are_never_mixed_in_silence(decisions: mp.Decisions) -> None:
    games = decisions.table["game_id"].unique(maintain_order=True).to_list()
    sites = {game: f"https://lichess.org/abcdefg{n}" for n, game in enumerate(games[:4])}
    table = _server(decisions, sites).table.with_columns(
        pl.when(pl.col("site").is_null()).then(None).otherwise("speed").alias("speed")
    )
    mixed = mp.Decisions(
        table, setup=decisions.setup, setup_details=decisions.setup_details, moves=decisions.moves
    )
    found = mp.review(mixed, player="Marov", calibration="stockfish15.1-quick-values")
    # One rating a pool, none of both together.
    assert set(found.summary["pool"]) == {"over the board", "lichess blitz"}
    assert found.summary["games"].sum() == len(games)
    assert set(found.trend["pool"]) <= {"over the board", "lichess blitz"}
    for row in found.phases.filter(pl.col("turns") >= 10).iter_rows(named=True):
        pools = found.turns.filter(pl.col("phase") == row["phase"], ~pl.col("decided"))["pool"]
        if pools.n_unique() > 1:
            assert row["rating"] is None
            assert "several pools" in row["note"]
            assert row["gap"] is not None
    assert any(note.startswith("games of 2 pools") for note in found.notes)
    assert any(note.startswith("lichess blitz:") for note in found.notes)
    assert "several pools" in found.difference("white", "black").note


def test_a_server_rating_is_brought_to_the_elo_scale_with_its_error(
    decisions: mp.Decisions,
) -> None:
    games = decisions.table["game_id"].unique().to_list()
    there = _server(decisions, dict.fromkeys(games, "https://lichess.org/abcdefgh"))
    found = mp.review(there, player="Marov", calibration="stockfish15.1-quick-values")
    row = found.summary.row(0, named=True)
    assert row["pool"] == "lichess blitz"
    assert row["shift_se"] > 0
    assert row["pool_rating"] == pytest.approx(row["rating"] - row["shift"])
    assert row["pool_high"] - row["pool_low"] > row["high"] - row["low"]
    # Equals are those whose server rating is alike, on the Elo scale.
    gap = found.phases.filter(pl.col("level").is_not_null())
    assert gap["level"].to_list() == pytest.approx([2200 + row["shift"]] * len(gap), abs=0.01)
    assert found.costly["link"][0].startswith("https://lichess.org/abcdefgh#")


def test_a_given_elo_is_where_equals_stand(decisions: mp.Decisions) -> None:
    games = decisions.table["game_id"].unique().to_list()
    there = _server(decisions, dict.fromkeys(games, "https://www.chess.com/game/1"))
    found = mp.review(
        there, player="Marov", elo=1900, calibration="stockfish15.1-quick-values"
    )  # fmt: skip
    row = found.summary.row(0, named=True)
    assert row["level_from"] == "the Elo given"
    assert row["shift"] == pytest.approx(-300)
    levels = found.phases["level"].drop_nulls().to_list()
    assert levels == pytest.approx([1900] * len(levels))


def test_an_unknown_pool_has_no_level_of_its_own(decisions: mp.Decisions) -> None:
    games = decisions.table["game_id"].unique().to_list()
    few = decisions.filter(pl.col("mover") == "marovcinski, jelka")
    there = _server(few, dict.fromkeys(games, "https://www.chess.com/game/1"))
    found = mp.review(there, player="Marov", calibration="stockfish15.1-quick-values")
    row = found.summary.row(0, named=True)
    assert row["pool"] == "chess.com blitz"
    assert row["pool_rating"] is None
    assert row["level_from"] == "the rating of these turns"
    assert any("how its ratings lie to the Elo scale is not known" in note for note in found.notes)


def test_comments_alone_give_losses_and_no_rating() -> None:
    found = mp.review(SAMPLE / "games.pgn", player="Brann")
    assert found.calibration is None
    assert found.summary["rating"].null_count() == len(found.summary)
    assert found.phases["rating"].null_count() == 3
    assert found.phases["points_lost"].null_count() == 0
    assert found.costly["cost"].is_sorted(descending=True)
    assert found.costly["best"].null_count() == 10
    assert any("no rating" in note for note in found.notes)
    with pytest.raises(InputError, match="no ratings to compare"):
        found.difference("endgame", "opening")


def test_without_comments_or_store_the_engine_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare.pgn"
    bare.write_text('[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Nf3 *\n', encoding="utf-8")
    with pytest.raises(InputError, match="let an engine"):
        mp.review(bare, player="A")


def test_nobody_of_that_name(decisions: mp.Decisions) -> None:
    with pytest.raises(InputError):
        mp.review(decisions, player="Nobody At All")
