"""A whole run with engines that misbehave: restarts, failures, resumption."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import chess
import polars as pl
import pytest

from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import Plan
from milepost.analysis.run.run import analyse, engine_setup, wanted_jobs
from milepost.analysis.run.threads import Job, JobRunner, Outcome
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import EngineAnswerError, EngineDiedError, InputError
from milepost.io.progress import Progress
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


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        ("banana w - - 0 1", "not a position"),
        ("garbage w KQ - 0 1", "not a position"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - NaN 1", "not a position"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", "not a whole FEN"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1", "not a position"),
        # A Chess960 set-up: the rooks that may castle stand on b and g.
        ("1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1", "Chess960"),
    ],
)
def test_what_is_no_position_is_a_failure_and_the_run_ends(
    tmp_path: Path, store: EvaluationStore, position: str, reason: str
) -> None:
    jobs = [(position, None), *positions(2)]
    state = analyse(jobs, store, make_engine(tmp_path / "engine"), PLAN, workers=2)
    assert state.done == 2
    assert reason in state.failed[0][2]


def test_a_mistake_in_a_worker_is_a_failure_and_the_run_ends(
    tmp_path: Path, store: EvaluationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("never thought of")

    monkeypatch.setattr("milepost.analysis.run.threads.evaluate", fail)
    state = analyse(positions(2), store, make_engine(tmp_path / "engine"), PLAN, workers=2)
    assert [reason for _, _, reason in state.failed] == ["ZeroDivisionError: never thought of"] * 2


def test_a_job_that_is_asked_for_twice_is_done_once(tmp_path: Path, store: EvaluationStore) -> None:
    program = make_engine(tmp_path / "engine")
    state = analyse(positions(3) * 2, store, program, PLAN)
    assert (state.total, state.done) == (3, 3)
    assert searches(program) == 3


def test_depths_beyond_the_plan_are_no_values(tmp_path: Path, store: EvaluationStore) -> None:
    more = 'say("info depth 900 score cp 5 pv " + str(next(iter(chess.Board(fen).legal_moves))))'
    program = make_engine(tmp_path / "engine", more)
    analyse(positions(3), store, program, PLAN)
    assert store.read().equals(undisturbed(tmp_path, 3))


def test_an_engine_with_fewer_options(tmp_path: Path, store: EvaluationStore) -> None:
    program = make_engine(tmp_path / "engine")
    code = program.read_text(encoding="utf-8")
    few = code.replace('("Threads", "Hash", "MultiPV")', '("MultiPV",)').replace("999", "220")
    program.write_text(few, encoding="utf-8")
    setup = engine_setup(program, PLAN, {})
    assert setup.options == (("MultiPV", "220"),)  # all that it can
    assert analyse(positions(2), store, program, PLAN).done == 2
    none = code.replace('("Threads", "Hash", "MultiPV")', "()")
    program.write_text(none, encoding="utf-8")
    assert engine_setup(program, Plan("single", 2, 1), {}).options == ()
    with pytest.raises(EngineAnswerError, match="no option 'MultiPV'"):
        engine_setup(program, PLAN, {})
    with pytest.raises(EngineAnswerError, match="no option 'Hash'"):
        engine_setup(program, Plan("single", 2, 1), {"Hash": "32"})


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
    def interrupt(news: Progress) -> None:
        if news.done == 4:
            raise KeyboardInterrupt

    program = make_engine(tmp_path / "engine")
    state = analyse(positions(10), store, program, PLAN, progress=interrupt)
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


def test_turns_without_what_they_should_have() -> None:
    start = chess.STARTING_FEN
    turns = TURNS.conform(
        pl.DataFrame(
            {
                "game_id": ["g"] * 6,
                "ply": list(range(6)),
                "mover": ["m"] * 6,
                "position": [start, start, None, start, start, "here"],
                "played": ["e2e4", "", "e2e4", None, "e2e4", "e2e4"],
                "variant": [None, None, None, None, "atomic", None],
            }
        )
    )
    jobs, left_out = wanted_jobs(turns, Plan("standard", 13))
    assert jobs == [(start, "e2e4"), ("here", "e2e4")]  # the latter will fail, and be told
    assert left_out == {
        "of another variant": 1,
        "without a position": 1,
        "without a played move": 2,
    }
    every, left_out = wanted_jobs(turns, Plan("standard", 13), every_turn=True)
    assert every == [(start, "e2e4"), (start, None), ("here", "e2e4")]
    assert list(left_out) == ["of another variant", "without a position"]


def test_an_illegal_played_move_is_a_failure(tmp_path: Path, store: EvaluationStore) -> None:
    jobs = [(chess.STARTING_FEN, move) for move in ("a1a1", "e2e5", "nonsense")]
    state = analyse(jobs, store, make_engine(tmp_path / "engine"), Plan("single", 2, 1))
    assert state.done == 0
    assert [reason for _, _, reason in state.failed] == [
        f"the played move {move} is not legal there" for _, move in jobs
    ]


@pytest.mark.parametrize(
    "misbehave",
    [
        'say("info depth 2 score cp 99999999999 pv " + str(list(chess.Board(fen).legal_moves)[0]))',
        'say("info depth 2 score mate 99999 pv a2a3")',
        'say("info depth 2 score cp 1 pv \u00e9")',
        'say("info depth 2 score cp 1 pv a1a8")',
    ],
    ids=["too great", "too far", "no text", "not legal"],
)
def test_nonsense_is_never_stored(tmp_path: Path, store: EvaluationStore, misbehave: str) -> None:
    state = analyse(positions(2), store, make_engine(tmp_path / "engine", misbehave), PLAN)
    assert (state.done, len(state.failed)) == (0, 2)
    assert len(store.read()) == 0


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path, store: EvaluationStore) -> None:
    odd = 'sys.stdout.buffer.write(b"info string \\xff\\xfe\\n"); sys.stdout.flush()'
    analyse(positions(2), store, make_engine(tmp_path / "engine", odd), PLAN)
    assert store.read().equals(undisturbed(tmp_path, 2))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("workers", [1, 3])
def test_a_thread_that_dies_is_not_waited_for(
    tmp_path: Path, store: EvaluationStore, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    bad = positions(6)[1]
    real = JobRunner.run

    def run(runner: JobRunner, job: Job) -> Outcome:
        if job == bad:
            raise GeneratorExit("what no handler of exceptions sees")
        return real(runner, job)

    monkeypatch.setattr(JobRunner, "run", run)
    jobs = positions(6)
    state = analyse(jobs, store, make_engine(tmp_path / "engine"), PLAN, workers=workers)
    assert state.done + len(state.failed) == 6
    assert state.done == (1 if workers == 1 else 5)
    assert (*bad, "the thread that had it has died") in state.failed


def test_a_run_that_is_stopped_while_an_engine_starts_does_no_search(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine")
    runner = JobRunner(program, PLAN, {})
    started = threading.Event()

    class SlowEngine(UciEngine):
        def _introduce(self) -> None:
            started.set()
            time.sleep(0.5)
            super()._introduce()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("milepost.analysis.run.threads.UciEngine", SlowEngine)
        thread = threading.Thread(target=runner.run, args=positions(1))
        thread.start()
        started.wait(10)
        runner.abort()
        thread.join()
    assert not (program.parent / "searches").exists()


def test_values_of_options_are_tried_out_before_the_run(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine", 'print("no net", file=sys.stderr); sys.exit(1)')
    assert engine_setup(program, PLAN, {}).name == "Fake 1.0"  # nothing to try out
    with pytest.raises(EngineDiedError, match=r"code 1: no net \(tried out with .*Hash=32"):
        engine_setup(program, PLAN, {"Hash": "32"})
    with pytest.raises(EngineAnswerError, match="from 1 to 999, got '1000'"):
        engine_setup(program, PLAN, {"Hash": "1000"})
    good = make_engine(tmp_path / "good")
    same = [engine_setup(good, PLAN, {"Hash": text}).digest for text in ("32", "032")]
    assert same[0] == same[1]
    code = good.read_text(encoding="utf-8").replace(
        'say("uciok")',
        'say("option name UCI_Chess960 type check default false"); say("uciok")',
    )
    good.write_text(code, encoding="utf-8")
    with pytest.raises(EngineAnswerError, match="only standard chess"):
        engine_setup(good, PLAN, {"UCI_Chess960": "true"})
