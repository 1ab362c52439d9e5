"""With a real Stockfish: our reader against python-chess's, and against stored values."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import chess
import chess.engine
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from milepost.analysis.engine.search_output import Value, parse_search
from milepost.analysis.engine.setup import find_engine
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import evaluate, make_plan
from milepost.analysis.run.run import analyse, engine_setup
from milepost.analysis.run.threads import Job
from milepost.analysis.store.reading import find_reading
from milepost.analysis.store.store import EvaluationStore, stored_position
from milepost.cli.app import app
from milepost.errors import EngineError
from milepost.intrinsic.calibration.calibration import load_calibration

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "analysis"
QUICK = {"Threads": "1", "Hash": "16", "MultiPV": "256"}
POSITIONS = (
    chess.STARTING_FEN,
    "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 2 3",  # mate in one
    "8/8/4k3/8/8/4K3/4P3/8 b - - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",  # stalemate: no move at all
)


@pytest.fixture(scope="module")
def engine_path() -> Path:
    """The engine, or a skip."""
    try:
        return find_engine(os.environ.get("MILEPOST_TEST_ENGINE"))
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


@pytest.mark.parametrize("fen", POSITIONS)
def test_our_values_are_python_chess_values(engine_path: Path, fen: str) -> None:
    with UciEngine(engine_path) as engine:
        engine.configure(QUICK)
        ours = parse_search(engine.search(fen, "depth 7", timeout=60))
    theirs: dict[tuple[int, str], Value] = {}
    board = chess.Board(fen)
    with chess.engine.SimpleEngine.popen_uci(str(engine_path)) as reference:
        reference.configure({"Threads": 1, "Hash": 16})
        limit = chess.engine.Limit(depth=7)
        with reference.analysis(board, limit, multipv=256, game=object()) as analysis:
            for info in analysis:
                if "score" in info and "pv" in info and not info.get("lowerbound"):
                    score = info["score"].relative
                    value = Value(score.score(), score.mate())
                    theirs[info["depth"], info["pv"][0].uci()] = value
    assert len(ours.values) == 7 * board.legal_moves.count()
    assert ours.values == theirs


def test_stored_values_come_out_again_to_the_letter(engine_path: Path, tmp_path: Path) -> None:
    file = SHARED / "random_turns_2011-2014.parquet"
    if not file.exists():
        pytest.skip(f"no {file.name}: the shared data is absent")
    with UciEngine(engine_path) as engine:
        if engine.name != "Stockfish 15.1":
            pytest.skip(f"the stored values are Stockfish 15.1's, this is {engine.name}")
    turns = pl.read_parquet(file).unique("fen", maintain_order=True).sample(60, seed=2011)
    store = EvaluationStore(tmp_path / "store", create=True)
    jobs: list[Job] = [(stored_position(fen), None) for fen in turns["fen"]]
    state = analyse(jobs, store, engine_path, make_plan("quick"), workers=2)
    assert state.done == len(set(jobs))
    found = {row["position"]: row for row in store.read().iter_rows(named=True)}
    for turn in turns.iter_rows(named=True):
        row = found[stored_position(turn["fen"])]
        assert row["moves"] == turn["moves"]
        ours = [
            [_as_stored(Value(cp, mate)) for cp, mate in zip(cps, mates, strict=True)]
            for cps, mates in zip(row["cp"], row["mate"], strict=True)
        ]
        assert ours == turn["cp"]


def _as_stored(value: Value) -> int | None:
    """The file's way to write a mate in n: 30000 - n, with the sign of who mates."""
    if value.mate is None:
        return value.cp
    return 30000 - value.mate if value.mate > 0 else -30000 - value.mate


@pytest.mark.parametrize("name", ["quick", "standard", "multipv", "single"])
def test_every_plan_gives_the_same_values_twice_and_in_any_order(
    engine_path: Path, name: str
) -> None:
    plan = replace(make_plan(name), depth=9)
    played = {POSITIONS[0]: "a2a4", POSITIONS[2]: "e6d7", POSITIONS[3]: "a2a3"}
    runs = []
    for order in (list(played), list(reversed(played))):
        with UciEngine(engine_path) as engine:
            engine.configure(plan.options)
            runs.append({fen: evaluate(engine, plan, fen, played[fen]) for fen in order})
    assert runs[0] == runs[1]
    for fen, found in runs[0].items():
        if name != "multipv":
            assert found.deepest[played[fen]] == 9
        assert len(set(found.moves)) == len(found.moves)
        assert set(found.moves) == {move for _, move in found.values}


def test_single_values_the_played_move_by_the_position_behind_it(engine_path: Path) -> None:
    fen = POSITIONS[1]
    plan = replace(make_plan("single"), depth=6)
    with UciEngine(engine_path) as engine:
        engine.configure(plan.options)
        mate = evaluate(engine, plan, fen, "f3f7")
        slip = evaluate(engine, plan, fen, "f3f6")
        board = chess.Board(fen)
        board.push_uci("f3f6")
        behind = parse_search(engine.search(board.fen(), "depth 6", timeout=60))
    assert mate.moves == ("f3f7",)
    assert mate.values[6, "f3f7"] == Value(None, 1)
    reply = behind.values[6, behind.moves_at(6)[0]]
    assert reply.cp is not None
    assert slip.values[6, "f3f6"] == Value(-reply.cp, None)
    assert slip.moves == ("f3f7", "f3f6")


def test_no_legal_move_gives_an_empty_evaluation(engine_path: Path) -> None:
    with UciEngine(engine_path) as engine:
        assert evaluate(engine, make_plan("quick"), POSITIONS[4]).moves == ()


def test_a_shallow_search_is_the_beginning_of_a_deep_one(
    engine_path: Path, bundled_data: Path
) -> None:
    """What the plan bullet rests on: its evaluations are quick's, cut to its depth."""
    store = EvaluationStore(bundled_data / "sample" / "evaluations")
    reading = find_reading(store, None, make_plan("bullet"))
    setup = engine_setup(engine_path, make_plan("bullet"), {})
    if setup.name != "Stockfish 15.1":
        pytest.skip(f"the stored values are Stockfish 15.1's, this is {setup.name}")
    assert setup.digest == reading.setup
    rows = store.read(reading.stored).sample(20, seed=6)
    with UciEngine(engine_path) as engine:
        engine.configure(make_plan("bullet").options)
        for row in rows.iter_rows(named=True):
            shallow = evaluate(engine, make_plan("bullet"), row["position"])
            stored = {
                (depth, move): Value(cp, mate)
                for depth in range(1, 7)
                for move, cp, mate in zip(
                    row["moves"], row["cp"][depth - 1], row["mate"][depth - 1], strict=True
                )
            }
            assert shallow.values == stored


def test_a_bridge_is_built_with_a_real_engine_and_goes_on(
    engine_path: Path, tmp_path: Path
) -> None:
    out, store = tmp_path / "mine.json", tmp_path / "mine_evaluations"
    arguments = ["calibrate", "--bridge", "stockfish15.1-quick", "--engine", str(engine_path)]
    arguments += ["--plan", "bullet", "--positions", "110", "-o", str(out), "-q", "-j", "1"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.stderr
    bridge = load_calibration(out)
    assert bridge.bridged_from == "stockfish15.1-quick"
    assert bridge.setup == engine_setup(engine_path, make_plan("bullet"), {}).digest
    evaluated = EvaluationStore(store).read()
    assert len(evaluated) == 110
    files = EvaluationStore(store).files()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0
    assert EvaluationStore(store).files() == files  # nothing is evaluated twice
    np.testing.assert_array_equal(
        load_calibration(out).map.path.coefficients, bridge.map.path.coefficients
    )
