"""Evaluations made elsewhere: what goes into the store, and under which set-up."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.analysis.shared_files import shared_turns

from milepost.analysis.engine.setup import find_engine, make_setup
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.exchange.delta_text import import_delta_log, write_delta_log
from milepost.analysis.exchange.eval_comments import comments_setup, import_eval_comments
from milepost.analysis.exchange.scored_tables import import_shared, shared_setup
from milepost.analysis.plans import make_plan
from milepost.analysis.spreads.build import make_spreads
from milepost.analysis.store.positions import UNNAMED_MOVE
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.errors import EngineError, InputError, TableError
from milepost.games.turns.replay import turns_of_games

FEN = "8/8/8/8/8/k7/8/K1Q5 b - - 0 31"
MOVES = ["a3b3", "a3a4", "a3b4"]


@pytest.fixture
def store(tmp_path: Path) -> EvaluationStore:
    return EvaluationStore(tmp_path / "store", create=True)


def shared_row(**more: Any) -> dict[str, Any]:
    row = {"fen": FEN, "played": "a3b3", "moves": MOVES, "cp": [[0, -20, -29998]] * 10}
    return row | more


def test_shared_rows_become_evaluations(store: EvaluationStore) -> None:
    frame = pl.DataFrame([shared_row(), shared_row(played="a3a4")])
    done = import_shared(frame, store)
    assert done.counts == {
        "rows read": 2,
        "refused": 0,
        "the same position again": 1,
        "already in the store": 0,
        "stored": 1,
    }
    assert store.read().to_dicts() == [
        {
            "position": "8/8/8/8/8/k7/8/K1Q5 b - - 0 1",
            "played": None,
            "setup": shared_setup().digest,
            "moves": MOVES,
            "cp": [[0, -20, None]] * 10,
            "mate": [[None, None, -2]] * 10,
            "nodes": None,
        }
    ]
    assert list(store.known_setups()) == [shared_setup().digest]
    again = import_shared(frame.to_pandas(), store)
    assert (again.counts["already in the store"], again.counts["stored"]) == (1, 0)


def test_shared_files_come_in_whole(shared_data: Path, store: EvaluationStore) -> None:
    path = shared_data / "analysis" / "random_turns_2011-2014.parquet"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    done = import_shared(path, store)
    frame = pl.read_parquet(path)
    assert done.counts["rows read"] == len(frame)
    assert done.counts["stored"] == len({stored_position(fen) for fen in frame["fen"]})
    sample = frame.sample(50, seed=3)
    wanted = [stored_position(fen) for fen in sample["fen"]]
    rows = store.read().filter(pl.col("position").is_in(wanted))
    stored = {row["position"]: row for row in rows.iter_rows(named=True)}
    for row in sample.iter_rows(named=True):
        found = stored[stored_position(row["fen"])]
        assert found["moves"] == row["moves"]
        for depth in range(10):
            for cp, mate, said in zip(
                found["cp"][depth], found["mate"][depth], row["cp"][depth], strict=True
            ):
                assert (cp is None) != (mate is None)
                if mate is None:
                    assert cp == said
                else:
                    assert said == (30000 - mate if mate > 0 else -30000 - mate)
    turns = shared_turns(path)
    assert len(turns) == len(frame)
    black = turns.filter(pl.col("colour") == "black")
    assert black["position"].str.contains(" b ").all()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"cp": [[0, -20, -29998]] * 9}, "expected 10 lists"),
        ({"cp": [*[[0, -20, -29998]] * 9, [0]]}, "expected 10 lists"),
        ({"cp": None}, "expected 10 lists"),
        ({"moves": [], "cp": [[]] * 10}, "no moves"),
        ({"fen": None}, "no FEN"),
        ({"fen": "8/8/8/8/8/k7/8/K1Q5 b - -"}, "not a whole FEN"),
        ({"fen": "garbage b - - 0 31"}, "not a position"),
        ({"fen": "8/8/8/8/8/k7/8/K1Q5 b - - NaN 31"}, "not a position"),
        ({"fen": "8/8/8/8/8/8/8/K1Q5 b - - 0 31"}, "not a legal position"),
        ({"moves": ["a3b3", "a3a4", "zz0"]}, "zz0 is not a legal move"),
        ({"moves": ["a3b3", "a3a4", "a3a4"]}, "a move stands twice"),
        ({"moves": MOVES[:2], "cp": [[0, -20]] * 10}, "2 of 3 legal moves"),
        ({"cp": [[None, None, None]] * 10}, "a move without a value"),
        ({"cp": [[0, -20, -99.5]] * 10}, "no whole number"),
        ({"cp": [[0, -20, math.nan]] * 10}, "no whole number"),
        ({"cp": [[0, -20, -math.inf]] * 10}, "no whole number"),
        ({"cp": [[0, -20, -(2.0**40)]] * 10}, "out of range"),
        ({"cp": [[0, 20, -30]] * 10}, "best first"),
    ],
)
def test_shared_rows_that_do_not_fit_are_refused_by_number(
    store: EvaluationStore, wrong: dict[str, Any], reason: str
) -> None:
    floats = pl.List(pl.List(pl.Float64))
    frame = pl.DataFrame(
        [shared_row(**wrong), shared_row()],
        schema={"fen": pl.String, "played": pl.String, "moves": pl.List(pl.String), "cp": floats},
        strict=False,
    )
    done = import_shared(frame, store)
    assert [each.place for each in done.refused] == [1]
    assert reason in done.refused[0].reason
    assert (done.counts["refused"], done.counts["stored"]) == (1, 1)
    assert store.read()["moves"].to_list() == [MOVES]


def test_a_depth_that_is_missing_below_the_last_is_null(store: EvaluationStore) -> None:
    cp = [[0, None, -29998], *[[0, -20, -29998]] * 9]
    assert import_shared(pl.DataFrame([shared_row(cp=cp)]), store).refused == ()
    row = store.read().row(0, named=True)
    assert (row["cp"][0], row["mate"][0]) == ([0, None, None], [None, None, -2])


def test_shared_columns_of_a_wrong_type(store: EvaluationStore) -> None:
    with pytest.raises(TableError, match="wrong type"):
        import_shared(pl.DataFrame([shared_row(cp="0 0")]), store)


def test_what_is_no_shared_file(store: EvaluationStore, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="needs the columns moves, cp"):
        import_shared(pl.DataFrame({"fen": [FEN], "played": ["a3b3"]}), store)
    with pytest.raises(InputError, match="nowhere"):
        import_shared(tmp_path / "nowhere.parquet", store)


def test_the_shared_setup_is_that_of_a_live_run_of_quick() -> None:
    try:
        program = find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")
    plan = make_plan("quick")
    with UciEngine(program) as engine:
        if engine.name != "Stockfish 15.1":
            pytest.skip(f"the engine is {engine.name}")
        live = make_setup(engine.name, engine.declared, plan.options, plan.text)
    assert live == shared_setup()
    assert live.digest == shared_setup().digest


def game(**more: Any) -> pl.DataFrame:
    row = {"game_id": "g", "white": "A", "black": "B", "moves": "e2e4 e7e5 g1f3 b8c6 f1b5"}
    lists = {"eval_cp": pl.List(pl.Int32), "eval_mate": pl.List(pl.Int32)}
    return pl.DataFrame([row | {"eval_cp": None, "eval_mate": None} | more], schema_overrides=lists)


def stored_by_played(store: EvaluationStore) -> dict[str, tuple[list[str], list[Any]]]:
    """Moves and values (centipawns, or ``#n``) by the played move."""
    return {
        row["played"]: (
            row["moves"],
            [
                f"#{mate}" if cp is None else cp
                for cp, mate in zip(row["cp"][0], row["mate"][0], strict=True)
            ],
        )
        for row in store.read().to_dicts()
    }


def test_comments_become_single_evaluations(store: EvaluationStore) -> None:
    done = import_eval_comments(game(eval_cp=[30, 50, 20, 25, None]), store)
    assert done.counts == {
        "rows read": 5,
        "Chess960": 0,
        "of another variant": 0,
        "without both comments": 2,  # the first and the last move
        "refused": 0,
        "the same position again": 0,
        "already in the store": 0,
        "stored": 3,
    }
    assert stored_by_played(store) == {
        "e7e5": ([UNNAMED_MOVE, "e7e5"], [-30, -50]),  # Black had -0.30 and now has -0.50
        "g1f3": ([UNNAMED_MOVE, "g1f3"], [50, 20]),
        "b8c6": ([UNNAMED_MOVE, "b8c6"], [-20, -25]),
    }
    assert list(store.known_setups()) == [comments_setup().digest]


def test_a_played_move_as_good_as_the_position_is_the_best_known(store: EvaluationStore) -> None:
    import_eval_comments(game(eval_cp=[30, 30, 45, None, None]), store)
    assert stored_by_played(store) == {"e7e5": (["e7e5"], [-30]), "g1f3": (["g1f3"], [45])}


def test_mates_in_comments_are_counted_from_the_move(store: EvaluationStore) -> None:
    # White has mate in 3 and plays its first move: mate in 2 stands behind it. Black's only hope
    # makes no difference; then White lets it slip.
    games = game(
        moves="e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7",
        eval_cp=[None, None, None, None, 40, None, None],
        eval_mate=[None, 3, 2, 2, None, 1, 0],
    )
    import_eval_comments(games, store)
    assert stored_by_played(store) == {
        "d1h5": (["d1h5"], ["#3"]),
        "b8c6": (["b8c6"], ["#-2"]),
        "f1c4": ([UNNAMED_MOVE, "f1c4"], ["#2", 40]),
        "g8f6": ([UNNAMED_MOVE, "g8f6"], [-40, "#-1"]),
        "h5f7": (["h5f7"], ["#1"]),
    }


def test_spreads_of_comments(store: EvaluationStore) -> None:
    games = game(eval_cp=[30, 50, 20, 20, None])
    import_eval_comments(games, store)
    spreads = make_spreads(turns_of_games(games), store, keep_book=True)
    assert spreads.table["values"].to_list() == [[-0.3, -0.5], [0.5, 0.2], [-0.2]]
    assert spreads.table["chosen"].to_list() == [1, 1, 0]
    assert spreads.counts["not analysed"] == 2


def test_games_without_comments_and_of_chess960(store: EvaluationStore) -> None:
    assert import_eval_comments(game(), store).counts["stored"] == 0
    done = import_eval_comments(game(variant="chess960", eval_cp=[1, 2, 3, 4, 5]), store)
    assert (done.counts["Chess960"], done.counts["stored"]) == (5, 0)


def test_a_delta_log_goes_into_the_store_and_out_again(store: EvaluationStore) -> None:
    import_shared(pl.DataFrame([shared_row()]), store)
    first = store.read(shared_setup().digest)
    log = io.StringIO()
    write_delta_log(first, log)
    done = import_delta_log(io.StringIO(log.getvalue()), store, engine="Stockfish 15.1")
    assert done.counts["stored"] == 1
    assert done.setup.digest != shared_setup().digest
    back = store.read(done.setup.digest)
    again = io.StringIO()
    write_delta_log(back, again)
    assert again.getvalue() == log.getvalue()
    assert back["cp"][0][-1].to_list() == [0, -20, None]
    assert back["mate"][0][-1].to_list() == [None, None, -2]


def test_a_game_that_cannot_be_replayed_costs_the_others_nothing(store: EvaluationStore) -> None:
    evals = [30, 50, 20, 25, None]
    games = pl.concat(
        [
            game(eval_cp=evals),
            game(eval_cp=evals, game_id="h", moves="e2e4 e2e4"),
            game(eval_cp=evals, game_id="i", fen="garbage"),
            game(eval_cp=evals, game_id="j", moves="d2d4 d7d5 c2c4"),
        ],
        how="diagonal_relaxed",
    )
    done = import_eval_comments(games, store)
    assert [each.place for each in done.refused] == [2, 3]
    assert "is not legal" in done.refused[0].reason
    assert done.counts["stored"] == 5
