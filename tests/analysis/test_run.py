"""A whole run with engines that misbehave: restarts, failures, resumption."""

from __future__ import annotations

import sys
from pathlib import Path

import chess
import polars as pl
import pytest

from milepost.analysis.plans import Plan
from milepost.analysis.run import RunState, analyse, engine_setup, wanted_jobs
from milepost.analysis.store import EvaluationStore
from milepost.errors import EngineAnswerError, EngineDiedError, InputError
from milepost.tables import TURNS

# An engine whose values follow from the position alone, and which can be told to misbehave.
ENGINE = """
import os, sys, time, hashlib
import chess
folder = os.path.dirname(os.path.abspath(__file__))
def say(text):
    print(text, flush=True)
def once(name):
    path = os.path.join(folder, name)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
fen = ""
for line in sys.stdin:
    line = line.strip()
    if line == "uci":
        say("id name Fake 1.0")
        for name in ("Threads", "Hash", "MultiPV"):
            say(f"option name {name} type spin default 1 min 1 max 999")
        say("uciok")
    elif line == "isready":
        say("readyok")
    elif line.startswith("position fen "):
        fen = line.removeprefix("position fen ")
    elif line.startswith("go"):
        key = hashlib.sha256(fen.encode()).hexdigest()
        MISBEHAVE
        open(os.path.join(folder, "searches"), "a").write(key + "\\n")
        moves = sorted(move.uci() for move in chess.Board(fen).legal_moves)
        depth = int(line.split()[2])
        for d in range(1, depth + 1):
            scored = sorted(
                (-(int(hashlib.sha256(f"{fen}{m}{d}".encode()).hexdigest()[:4], 16) % 300), m)
                for m in moves
            )
            for rank, (value, move) in enumerate(scored, start=1):
                head = f"info depth {d} seldepth {d} multipv {rank}"
                say(f"{head} score cp {-value} nodes 1 nps 1 pv {move}")
        say(f"bestmove {moves[0]}")
"""
PLAN = Plan("quick", 2, timeout=20.0)


def positions(count: int) -> list[tuple[str, None]]:
    """Different positions: after each first move, and each answer to it."""
    found: dict[str, None] = {}
    board = chess.Board()
    for first in list(board.legal_moves):
        board.push(first)
        for second in list(board.legal_moves):
            board.push(second)
            found[" ".join([*board.fen().split(" ")[:5], "1"])] = None
            board.pop()
        board.pop()
    return [(fen, None) for fen in list(found)[:count]]


def make_engine(folder: Path, misbehave: str = "pass") -> Path:
    """Write the engine with a line that runs before each search."""
    folder.mkdir(exist_ok=True)
    program = folder / "fake.py"
    program.write_text(f"#!{sys.executable}\n" + ENGINE.replace("MISBEHAVE", misbehave), "utf-8")
    program.chmod(0o755)
    return program


def searches(program: Path) -> int:
    """How many searches the engine has finished."""
    return len((program.parent / "searches").read_text(encoding="utf-8").splitlines())


@pytest.fixture
def store(tmp_path: Path) -> EvaluationStore:
    """An empty store."""
    return EvaluationStore(tmp_path / "store", create=True)


def undisturbed(tmp_path: Path, count: int) -> pl.DataFrame:
    """What an engine that behaves gives."""
    store = EvaluationStore(tmp_path / "undisturbed", create=True)
    analyse(positions(count), store, make_engine(tmp_path / "good"), PLAN)
    return store.read()


@pytest.mark.parametrize("workers", [1, 2])
def test_all_positions_are_stored_whatever_the_workers(
    tmp_path: Path, store: EvaluationStore, workers: int
) -> None:
    program = make_engine(tmp_path / "engine")
    state = analyse(positions(10), store, program, PLAN, workers=workers)
    assert (state.total, state.done, state.hits, state.failed) == (10, 10, 0, [])
    assert store.read().equals(undisturbed(tmp_path, 10))


def test_the_second_run_does_no_engine_work(tmp_path: Path, store: EvaluationStore) -> None:
    program = make_engine(tmp_path / "engine")
    analyse(positions(5), store, program, PLAN)
    state = analyse(positions(8), store, program, PLAN)
    assert (state.hits, state.done) == (5, 3)
    assert searches(program) == 8


@pytest.mark.parametrize(
    "misbehave",
    [
        'if key[0] in "01234567" and once(key): sys.exit(1)',
        'if key[0] in "01234567" and once(key): say("info depth x score cp 1 pv e2e4")',
        'if key[0] in "01234567" and once(key): say("bestmove e2e4"); continue',
        'if key[0] in "01234567" and once(key): os.kill(os.getpid(), 9)',
    ],
    ids=["exits", "prints nonsense", "leaves moves out", "is killed"],
)
def test_an_engine_that_fails_once_in_a_while_is_started_anew(
    tmp_path: Path, store: EvaluationStore, misbehave: str
) -> None:
    program = make_engine(tmp_path / "engine", misbehave)
    state = analyse(positions(10), store, program, PLAN, workers=2)
    assert state.done == 10
    assert state.failed == []
    assert state.restarts > 0
    assert store.read().equals(undisturbed(tmp_path, 10))


def test_one_that_hangs_is_killed_and_the_position_tried_again(
    tmp_path: Path, store: EvaluationStore
) -> None:
    program = make_engine(tmp_path / "engine", "if once(key): time.sleep(600)")
    plan = Plan("quick", 2, timeout=0.5)
    state = analyse(positions(3), store, program, plan, workers=3)
    assert state.done == 3
    assert state.restarts == 3


def test_a_position_that_always_fails_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, store: EvaluationStore
) -> None:
    jobs = positions(6)
    bad = jobs[2][0]
    program = make_engine(tmp_path / "engine", f"if fen == {bad!r}: sys.exit(7)")
    state = analyse(jobs, store, program, PLAN)
    assert state.done == 5
    assert [(position, played) for position, played, _ in state.failed] == [(bad, None)]
    assert "ended with code 7" in state.failed[0][2]
    # A later run with a better engine does just that one.
    good = make_engine(tmp_path / "engine")
    again = analyse(jobs, store, good, PLAN)
    assert (again.hits, again.done) == (5, 1)


def test_an_impossible_position_is_a_failure_not_a_crash(
    tmp_path: Path, store: EvaluationStore
) -> None:
    jobs = [("8/8/8/8/8/8/8/8 w - - 0 1", None), *positions(1)]
    state = analyse(jobs, store, make_engine(tmp_path / "engine"), PLAN)
    assert state.done == 1
    assert state.failed[0][2] == "not a legal position"


def test_an_engine_that_does_not_start_ends_the_run_at_once(store: EvaluationStore) -> None:
    with pytest.raises(EngineDiedError):
        analyse(positions(1), store, "/does/not/exist", PLAN)


def test_options_that_the_plan_sets_are_refused(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine")
    with pytest.raises(InputError, match="MultiPV is set by the plan"):
        engine_setup(program, PLAN, {"MultiPV": "3"})
    with pytest.raises(EngineAnswerError, match="no option 'Contempt'"):
        engine_setup(program, PLAN, {"Contempt": "3"})
    assert ("Hash", "64") in engine_setup(program, PLAN, {"Hash": "64"}).options


def test_an_interrupt_keeps_what_is_done(tmp_path: Path, store: EvaluationStore) -> None:
    def interrupt(state: RunState) -> None:
        if state.done == 4:
            raise KeyboardInterrupt

    program = make_engine(tmp_path / "engine")
    state = analyse(positions(10), store, program, PLAN, report=interrupt)
    assert state.interrupted
    assert len(store.read()) == 4
    assert analyse(positions(10), store, program, PLAN).hits == 4


def test_which_turns_are_wanted() -> None:
    start = chess.STARTING_FEN
    later = start.replace("0 1", "0 9")
    turns = TURNS.conform(
        pl.DataFrame(
            {
                "game_id": ["g"] * 6,
                "ply": list(range(6)),
                "mover": ["m"] * 6,
                "position": [start, later, start, start, start, start],
                "played": ["e2e4", "e2e4", "d2d4", "e2e4", "e2e4", "e2e4"],
                "book": [False, False, False, True, False, False],
                "repetition": [False, False, False, False, True, False],
                "only_move": [False] * 6,
                "variant": ["standard"] * 5 + ["chess960"],
            }
        )
    )
    jobs, left_out = wanted_jobs(turns, Plan("quick"))
    assert jobs == [(start, None)]  # one position, whatever the move number or the move
    assert left_out == {"Chess960": 1, "book": 1, "repetition": 1}
    played, _ = wanted_jobs(turns, Plan("standard", 13))
    assert played == [(start, "e2e4"), (start, "d2d4")]
    everything, left_out = wanted_jobs(turns, Plan("quick"), every_turn=True)
    assert left_out == {"Chess960": 1}
    assert everything == [(start, None)]
