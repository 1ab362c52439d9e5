"""analyse and store, run as a user runs them, with a real engine."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import chess
import polars as pl
import pytest
from tests.analysis.run.test_run import make_engine, searches
from tests.cli.runner import run_inside
from typer.testing import CliRunner, Result

from milepost.analysis.engine.setup import find_engine
from milepost.analysis.plans import make_plan
from milepost.analysis.run.run import engine_setup
from milepost.analysis.run.threads import Job, Outcome
from milepost.analysis.store.store import EvaluationStore
from milepost.cli.app import app
from milepost.errors import EngineError

FAMOUS = Path(str(files("milepost") / "data" / "famous_games.pgn"))
OPERA = 2


@pytest.fixture(scope="module")
def _engine() -> None:
    try:
        find_engine()
    except EngineError as error:
        pytest.skip(f"no engine: {error}")


@pytest.fixture
def opera(tmp_path: Path) -> Path:
    """One short game."""
    games = FAMOUS.read_text(encoding="utf-8").split("[Event ")
    path = tmp_path / "game.pgn"
    path.write_text("[Event " + games[OPERA], encoding="utf-8")
    return path


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    done = run_inside(*arguments)
    out, told = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, told)


@pytest.mark.usefixtures("_engine")
def test_analysed_once_and_the_same_with_one_and_two_workers(opera: Path, tmp_path: Path) -> None:
    files_of = []
    for workers in ("1", "2"):
        store = tmp_path / workers
        done = run("analyse", opera, "--store", store, "--depth", "5", "-j", workers)
        assert done.returncode == 0, done.stderr
        assert "0 failed" in done.stderr
        again = run("analyse", opera, "--store", store, "--depth", "5", "-j", workers)
        assert ", 0 analysed" in again.stderr
        assert run("store", "verify", store).returncode == 0
        assert run("store", "compact", store).returncode == 0
        files_of.append([path.read_bytes() for path in EvaluationStore(store).files()])
    assert files_of[0] == files_of[1]
    info = run("store", "info", tmp_path / "1")
    assert "quick depth 5 width 256" in info.stdout
    assert "bytes a position" in info.stdout


@pytest.mark.usefixtures("_engine")
def test_a_jury_is_stored_beside_its_members(opera: Path, tmp_path: Path) -> None:
    done = run(
        "analyse", opera, "--store", tmp_path / "s", "--depth", "3", "--jury", "depth=2", "-q"
    )
    assert done.returncode == 0, done.stderr
    store = EvaluationStore(tmp_path / "s")
    assert len(store.known_setups()) == 3
    counts = store.query("select setup, count(*) as n from evaluations group by setup")
    assert counts["n"].n_unique() == 1


@pytest.mark.usefixtures("_engine")
def test_stores_merge(opera: Path, tmp_path: Path) -> None:
    run("analyse", opera, "--store", tmp_path / "a", "--depth", "2", "-q")
    run("analyse", opera, "--store", tmp_path / "b", "--depth", "3", "-q")
    done = run("store", "merge", tmp_path / "all", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    assert len(EvaluationStore(tmp_path / "all").known_setups()) == 2


# Finished positions are written at once, so that every kill comes after something is on disk.
HASTY = (
    "import milepost.analysis.run.run as run; run.SAVE_SECONDS = 0.1; "
    "from milepost.cli.app import main; main()"
)


def test_kill_nine_at_random_moments_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine", "time.sleep(0.02)")
    store, games = tmp_path / "store", tmp_path / "games.pgn"
    games.write_text("[Event ".join(FAMOUS.read_text(encoding="utf-8").split("[Event ")[:4]))
    command = [sys.executable, "-c", HASTY, "analyse", str(games), "--store", str(store)]
    command += ["--depth", "1", "-j", "1", "--engine", str(program)]
    moments = random.Random(19)
    kept = 0
    for _ in range(3):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        before = len(list(store.glob("shards/part-*")))
        give_up = time.monotonic() + 120
        # Only then a kill can lose something.
        while len(list(store.glob("shards/part-*"))) == before and time.monotonic() < give_up:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.3))
        assert process.poll() is None, "it was done before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        stored = len(EvaluationStore(store).read())
        assert stored > kept
        kept = stored
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert "0 failed" in done.stderr
    assert f"{kept:,} in the store already" in done.stderr
    undisturbed = tmp_path / "undisturbed"
    subprocess.run([*command[:6], str(undisturbed), *command[7:]], check=True, capture_output=True)
    ours, theirs = EvaluationStore(store), EvaluationStore(undisturbed)
    assert ours.read().equals(theirs.read())
    # Nothing twice: as many rows on disk as different ones.
    rows = sum(pl.read_parquet(path).height for path in ours.files())
    assert rows == ours.read().height


@pytest.mark.parametrize(
    ("how", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hung up")]
)
def test_schedulers_and_closed_terminals_lose_nothing_that_is_done(
    tmp_path: Path, how: signal.Signals, code: int, word: str
) -> None:
    program = make_engine(tmp_path / "engine", "time.sleep(0.05)")
    store = tmp_path / "store"
    command = [sys.executable, "-m", "milepost", "analyse", str(FAMOUS), "--store", str(store)]
    command += ["--depth", "1", "-j", "1", "--engine", str(program)]
    # Under nohup these tests would hand down that SIGHUP is to be ignored.
    asked = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    finally:
        signal.signal(signal.SIGHUP, asked)
    log = program.parent / "searches"
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up and not (log.exists() and searches(program) >= 5):
        time.sleep(0.02)
    process.send_signal(how)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code, told
    assert f"milepost: {word}; the same command goes on where this one stopped" in told.decode()
    assert b"Traceback" not in told
    # The position that was being searched is the only one that is missing.
    assert len(EvaluationStore(store).read()) >= searches(program) - 1 >= 4


def test_an_engine_that_never_searches_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("milepost.analysis.engine.uci.SILENT_SECONDS", 0.3)
    program = make_engine(tmp_path / "engine", "continue")
    done = CliRunner().invoke(
        app,
        ["analyse", str(FAMOUS), "--store", str(tmp_path / "store"), "--engine", str(program),
         "-j", "1", "-q"],
    )  # fmt: skip
    assert done.exit_code == 1
    (told,) = done.stderr.strip().splitlines()
    assert "gave no bestmove within 0.3 s, nor anything else" in told
    assert "never answered a search" in told


@pytest.mark.usefixtures("_engine")
def test_interrupting_stores_what_is_done(tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-m", "milepost", "analyse", str(FAMOUS), "--store", str(store)]
    process = subprocess.Popen(
        [*command, "--depth", "9"], stderr=subprocess.PIPE, start_new_session=True
    )
    give_up = time.monotonic() + 120
    while not list(store.glob("shards/part-*")) and time.monotonic() < give_up:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"goes on where this one stopped" in stderr
    assert EvaluationStore(store).read().height > 0


@pytest.mark.usefixtures("_engine")
def test_no_engine_and_wrong_options_are_clear_errors(opera: Path, tmp_path: Path) -> None:
    for extra, message in (
        (["--engine", "nothing-like-that"], "no such program"),
        (["--plan", "deepest"], "--plan: expected one of bullet, quick"),
        (["--width", "5"], "a width is for the plan multipv"),
        (["--jury", "speed=9"], "a jury: expected engine="),
        (["--engine-option", "Hash"], "Name=Value"),
        (["--engine-option", "Nonsense=1"], "no option 'Nonsense'"),
        (["--engine-option", "Hash=0"], "option Hash: expected a whole number from 1"),
        (["--engine-option", "Hash=99999999999"], "option Hash"),
        (["--engine-option", "Hash=abc"], "option Hash"),
        (["--engine-option", "Skill Level=99"], "from 0 to 20"),
        (["--engine-option", "Use NNUE=maybe"], "expected true or false"),
        (["--engine-option", "UCI_Chess960=true"], "only standard chess"),
        (["--engine-option", "Clear Hash=1"], "button"),
        (["--engine-option", "EvalFile=/nonexistent.nnue"], "/nonexistent.nnue"),
        (["--jury", "depth=0"], "at least 1"),
        (["--depth", "3", "--jury", "depth=3"], "no two of them alike"),
    ):
        done = run("analyse", opera, "--store", tmp_path / "s", *extra)
        assert done.returncode == 1, extra
        assert message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "s").exists()


def test_an_export_names_all_formats_that_it_knows(tmp_path: Path) -> None:
    EvaluationStore(tmp_path / "s", create=True)
    for extra, message in (
        (["-o", "x.csv", "--format", "foo"], "'foo'; known are parquet, csv, ndjson, delta"),
        (["-o", "x.txt"], "or name a format: parquet, csv, ndjson, delta"),
        (["-o", "x.csv", "--width", "5"], "--width is for --format delta"),
        (["-o", "x.csv", "--turns", "y.pgn"], "--turns is for --format delta"),
    ):
        done = CliRunner().invoke(app, ["store", "export", str(tmp_path / "s"), *extra])
        assert done.exit_code == 1, extra
        assert message in done.stderr


def test_failed_positions_are_written_down_with_their_reasons(opera: Path, tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine", "time.sleep(600)")
    # One turn is enough: the game up to the tenth move, of which eight are book.
    text = opera.read_text(encoding="utf-8")
    opera.write_text(text[: text.index("9. ")] + "*\n", encoding="utf-8")
    failed = tmp_path / "failed.csv"
    arguments = ["analyse", opera, "--store", tmp_path / "s", "--engine", program, "-j", "1"]
    options = ["--book-moves", "7", "--timeout", "1", "--errors", failed, "-q"]
    done = CliRunner().invoke(app, [str(each) for each in (*arguments, *options)])
    assert done.exit_code == 1, done.stderr
    rows = pl.read_csv(failed)
    assert rows.columns == ["setup", "position", "played", "reason"]
    assert len(rows) == 2
    # Told although all is to be quiet.
    assert "2 of 2 positions failed" in done.stderr
    assert "gave no bestmove within 1 s" in done.stderr
    assert rows["reason"].unique().to_list() == ["Fake 1.0 gave no bestmove within 1 s"]
    wrong = CliRunner().invoke(app, [*map(str, arguments), "--errors", "x.txt"])
    assert wrong.exit_code == 1
    assert "known format" in wrong.stderr


def test_a_folder_that_is_no_store_is_refused(opera: Path, tmp_path: Path) -> None:
    done = run("analyse", opera, "--store", opera.parent)
    assert done.returncode == 1
    assert "holds other things" in done.stderr
    assert run("store", "info", tmp_path / "none").returncode == 1


def invoke(*arguments: object) -> Result:
    """Run the command line in this process; anything but a clean exit is a failure."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def turns_table(path: Path, *rows: dict[str, str | None]) -> Path:
    """A turns table with the usual position, but for what the rows say."""
    usual: dict[str, str | None] = {
        "game_id": "g",
        "mover": "m",
        "position": chess.STARTING_FEN,
        "played": "e2e4",
    }
    made = [usual | {"ply": str(ply)} | row for ply, row in enumerate(rows)]
    pl.DataFrame(made, infer_schema_length=None).write_parquet(path)
    return path


def test_a_table_with_bad_positions_is_analysed_as_far_as_it_goes(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine")
    table = turns_table(
        tmp_path / "turns.parquet",
        {},
        {"position": "garbage w KQ - 0 1"},
        {"position": None},
        {"position": chess.STARTING_FEN.replace(" 0 1", " NaN 1")},
        {"variant": "atomic"},
        {"played": None},
    )
    store = tmp_path / "s"
    done = invoke("analyse", table, "--store", store, "--engine", program, "--depth", "2")
    assert done.exit_code == 1
    for said in ("1 analysed, 2 failed", "1 of another variant", "1 without a position"):
        assert said in done.stderr, done.stderr
    assert "1 without a played move" in done.stderr
    assert len(EvaluationStore(store).read()) == 1
    out = tmp_path / "spreads.parquet"
    spreads = invoke("spreads", table, "--store", store, "-o", out)
    assert spreads.exit_code == 0
    assert "1 of another variant" in spreads.stderr
    assert "1 kept" in spreads.stderr
    assert pl.read_parquet(out)["unlisted"].to_list() == [0]
    wrong = invoke("spreads", table, "--store", store, "-o", out, "--mate", "inf")
    assert wrong.exit_code == 1
    assert "a mate must be worth" in wrong.stderr


def test_broken_games_are_told_by_spreads_and_analyse(opera: Path, tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine")
    text = opera.read_text(encoding="utf-8")
    opera.write_text(text + '\n[Event "x"]\n[White "A"]\n\n1. e4 e9 2. Ke4 *\n', encoding="utf-8")
    options = ["--store", tmp_path / "s", "-j", "1", "-q"]
    analysed = ["analyse", opera, *options, "--engine", program, "--depth", "2"]
    done = invoke(*analysed)
    assert (done.exit_code, "1 broken" in done.stderr) == (0, True), done.stderr
    assert invoke(*analysed, "--strict").exit_code == 1
    done = invoke("spreads", opera, *options, "-o", tmp_path / "x.parquet")
    assert (done.exit_code, "1 broken" in done.stderr) == (0, True), done.stderr


def test_each_member_of_a_jury_looks_for_its_own_engine_on_a_cluster(
    opera: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def run_cluster(jobs: list[Job], program: str | None, *_: object, **__: object) -> Any:
        asked.append(program)
        yield from (Outcome(job, None, "not here", 0.0) for job in jobs)

    monkeypatch.setattr("milepost.analysis.run.run.run_cluster", run_cluster)
    one, two = (str(make_engine(tmp_path / name)) for name in ("one", "two"))
    command = ["analyse", opera, "--store", tmp_path / "s", "--engine", one, "--depth", "2"]
    invoke(*command, "--jury", f"engine={two};depth=3", "--cluster", "auto", "-j", "1", "-q")
    assert asked == [one, two]


def test_merging_from_nowhere_makes_nothing_and_differences_are_told(tmp_path: Path) -> None:
    done = invoke("store", "merge", tmp_path / "new", tmp_path / "nowhere")
    assert done.exit_code == 1
    assert not (tmp_path / "new").exists()
    for name, cp in (("a", 1), ("b", 2)):
        EvaluationStore(tmp_path / name, create=True).append([stored_row(cp)])
    done = invoke("store", "merge", tmp_path / "a", tmp_path / "b")
    assert done.exit_code == 0
    assert "0 evaluations added" in done.stdout
    assert "1 evaluations of" in done.stderr
    assert "other values; ours stay" in done.stderr


def stored_row(cp: int, **more: Any) -> dict[str, Any]:
    """An evaluation of the usual position."""
    row = {"position": chess.STARTING_FEN, "played": None, "setup": "s", "moves": ["e2e4"]}
    return row | {"cp": [[cp]], "mate": [[None]], "nodes": 3_000_000} | more


def test_what_lies_there_twice_counts_once(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "s", create=True)
    store.append([stored_row(1)])
    store.append(
        [stored_row(1), stored_row(1, position=chess.STARTING_FEN.replace(" 0 1", " 1 1"))]
    )
    done = invoke("store", "info", store.folder)
    assert re.search(r"\s2\s+1\.0\s+1\s+6\.0", done.stdout), done.stdout


def test_damage_is_told_in_one_line(tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "s", create=True)
    path = store.append([stored_row(1)])
    assert path is not None
    data = bytearray(path.read_bytes())
    data[40] ^= 0x10
    path.write_bytes(bytes(data))
    turns = turns_table(tmp_path / "turns.parquet", {})
    program = make_engine(tmp_path / "engine")
    for command in (
        ["store", "info", store.folder],
        ["store", "compact", store.folder],
        ["store", "export", store.folder, "-o", tmp_path / "x.csv"],
        ["store", "merge", tmp_path / "other", store.folder],
        ["spreads", turns, "--store", store.folder, "-o", tmp_path / "x.csv", "-q"],
        ["analyse", turns, "--store", store.folder, "--engine", program, "-q"],
    ):
        done = invoke(*command)
        assert done.exit_code == 1, command
        assert path.name in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_an_export_of_turns_counts_them(opera: Path, tmp_path: Path) -> None:
    store = EvaluationStore(tmp_path / "s", create=True)
    store.append([stored_row(1)])
    arguments = ["store", "export", store.folder, "-o", tmp_path / "x.txt", "--format", "delta"]
    done = invoke(*arguments, "--turns", opera)
    assert "1 turns (46 without an evaluation) of set-up s" in done.stderr, done.stderr
    assert "1 evaluations of set-up s" in invoke(*arguments).stderr


def test_imports_refuse_by_number_and_go_on(opera: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    log = tmp_path / "log.txt"
    turn = "Move played: e4\nEngine move: e4\nEval: +0.30\nDelta = (0.00*, 0.10)\n"
    log.write_text(turn, encoding="utf-8")
    command = ["store", "import", store, log, "--kind", "delta"]
    done = invoke(*command)
    assert done.exit_code == 1
    assert "refused: line 4: the turn has no position" in done.stderr
    turns = turns_table(tmp_path / "turns.parquet", {})
    done = invoke(*command, "--turns", turns)
    assert done.exit_code == 0, done.stderr
    assert "1 stored" in done.stdout
    assert "the log has 1 turns, the games 47" in invoke(*command, "--turns", opera).stderr
    log.write_bytes(b"\x89PNG\x00\xff")
    done = invoke(*command)
    assert (done.exit_code, "no text in UTF-8" in done.stderr) == (1, True)
    scored = tmp_path / "scored.parquet"
    fen = "8/8/8/8/8/k7/8/K1Q5 b - - 0 31"
    rows = [
        {"fen": fen, "played": "a3b3", "moves": ["a3b3", "a3a4", last], "cp": [[3, 2, 1]] * 10}
        for last in ("zz0", "a3b4")
    ]
    pl.DataFrame(rows).write_parquet(scored)
    done = invoke("store", "import", store, scored, "--kind", "scored")
    assert done.exit_code == 1
    assert "refused: row 1: zz0 is not a legal move there" in done.stderr
    assert "1 refused" in done.stdout
    assert "1 stored" in done.stdout
    scored.write_bytes(scored.read_bytes()[:-20])
    done = invoke("store", "import", store, scored, "--kind", "scored")
    assert (done.exit_code, len(done.stderr.strip().splitlines())) == (1, 1)
    for extra in (["--kind", "eval", "--turns", opera], ["--kind", "delta", "--book-moves", "3"]):
        assert invoke("store", "import", store, scored, *extra).exit_code == 1


@pytest.mark.usefixtures("_engine")
def test_the_key_of_quick_stays(tmp_path: Path) -> None:
    program = find_engine()
    setup = engine_setup(program, make_plan("quick"), {})
    if setup.name != "Stockfish 15.1":
        pytest.skip(f"the engine is {setup.name}")
    assert setup.digest == "402e5f08073ffa6d"


def test_interrupting_and_killing_while_games_are_read(tmp_path: Path) -> None:
    program = make_engine(tmp_path / "engine")
    many = tmp_path / "many.pgn"
    # Reading so many takes half a minute, so that a strike after two seconds meets it.
    many.write_text(FAMOUS.read_text(encoding="utf-8") * 3000, encoding="utf-8")
    command = [sys.executable, "-m", "milepost", "analyse", str(many), "--engine", str(program)]
    command += ["--store", str(tmp_path / "s"), "-j", "2"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    for how, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, start_new_session=True, env=environment
        )
        give_up = time.monotonic() + 120
        while not list(tmp_path.glob("milepost-*")) and time.monotonic() < give_up:
            time.sleep(0.05)
        time.sleep(2.0)
        begun = time.monotonic()
        if how == signal.SIGINT:
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        # Whoever is left behind holds standard error, so this waits for the workers too.
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == code
        assert time.monotonic() - begun < 5  # a second on an idle machine
        assert b"Traceback" not in stderr
        for folder in tmp_path.glob("milepost-*"):
            shutil.rmtree(folder)
