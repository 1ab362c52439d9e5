"""analyse and store, run as a user runs them, with a real engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from milepost.analysis.engines import find_engine
from milepost.analysis.store import EvaluationStore
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
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "milepost", *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
    )


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


@pytest.mark.usefixtures("_engine")
def test_kill_nine_at_random_moments_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-m", "milepost", "analyse", str(FAMOUS), "--store", str(store)]
    command += ["--depth", "4", "-j", "2"]
    for wait in (1.2, 2.0, 2.9, 3.7, 4.4):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert "0 failed" in done.stderr
    undisturbed = tmp_path / "undisturbed"
    subprocess.run([*command[:6], str(undisturbed), *command[7:]], check=True, capture_output=True)
    ours, theirs = EvaluationStore(store), EvaluationStore(undisturbed)
    assert ours.read().equals(theirs.read())
    # Nothing twice: as many rows on disk as different ones.
    rows = sum(pl.read_parquet(path).height for path in ours.files())
    assert rows == ours.read().height


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


def test_no_engine_and_wrong_options_are_clear_errors(opera: Path, tmp_path: Path) -> None:
    for extra, message in (
        (["--engine", "nothing-like-that"], "no such program"),
        (["--plan", "deepest"], "unknown plan"),
        (["--width", "5"], "--width is for the plan multipv"),
        (["--jury", "speed=9"], "--jury"),
        (["--engine-option", "Hash"], "Name=Value"),
        (["--engine-option", "Nonsense=1"], "no option 'Nonsense'"),
    ):
        done = run("analyse", opera, "--store", tmp_path / "s", *extra)
        assert done.returncode == 1, extra
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_store_is_refused(opera: Path, tmp_path: Path) -> None:
    done = run("analyse", opera, "--store", opera.parent)
    assert done.returncode == 1
    assert "holds other things" in done.stderr
    assert run("store", "info", tmp_path / "none").returncode == 1
