"""A store on a disk that is full or may not be written: real mounts, where they are permitted.

The engine is a made-up one, so that no Stockfish is needed and a run takes a second.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from tests.analysis.run.test_run import PLAN, make_engine, positions, searches
from typer.testing import CliRunner, Result

from milepost.analysis.run.run import analyse
from milepost.analysis.store.store import EvaluationStore
from milepost.cli.app import app
from milepost.errors import OutputError

FAMOUS = Path(str(files("milepost") / "data" / "famous_games.pgn"))
FULL = "No space left on device"
READ_ONLY = "Read-only file system"
_NOBODY = 65534
OPTIONS = ("--depth", "3", "-j", "1", "-q")


def mount(where: Path, options: str) -> subprocess.CompletedProcess[str]:
    """Mount a file system in memory, or mount it anew with other options."""
    program = shutil.which("mount")
    if program is None:
        pytest.skip("there is no program mount")
    command = [program, "-t", "tmpfs", "-o", options, "tmpfs", str(where)]
    return subprocess.run(command, capture_output=True, check=False, text=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own of 512 kB; skipped where nothing may be mounted."""
    where = tmp_path / "disk"
    where.mkdir()
    done = mount(where, "size=512k")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield where
    subprocess.run([shutil.which("umount") or "umount", "-l", str(where)], check=True)


def remount(where: Path, options: str) -> None:
    """Change the disk's size, or whether it may be written."""
    done = mount(where, f"remount,{options}")
    assert done.returncode == 0, done.stderr


def fill(disk: Path) -> Path:
    """Write until nothing more goes in; returns the file to remove."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as handle:
        try:
            while handle.write(b"\0" * 4096):
                pass
        except OSError:
            pass
    assert shutil.disk_usage(disk).free == 0
    return ballast


def run(*arguments: str | Path) -> Result:
    """Run the command line, in this process: it is what is written that is looked at here."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    # Any other exception would have been a traceback.
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def assert_one_line(done: Result, what: str, why: str) -> None:
    """The command has failed, and says in one line what it could not write, and why."""
    assert done.exit_code == 1, done.stderr
    said = done.stderr.strip().splitlines()
    assert len(said) == 1, said
    assert said[0].startswith(f"milepost: cannot write {what}")
    assert why in said[0]


def undisturbed(tmp_path: Path, program: Path, games: Path) -> pl.DataFrame:
    """What a run on a good disk stores."""
    store = tmp_path / "undisturbed"
    done = run("analyse", games, "--store", store, "--engine", program, *OPTIONS)
    assert done.exit_code == 0, done.stderr
    return EvaluationStore(store).read()


def part_of_the_games(tmp_path: Path, count: int) -> Path:
    """The first few famous games."""
    games = FAMOUS.read_text(encoding="utf-8").split("[Event ")[1 : count + 1]
    path = tmp_path / f"{count}.pgn"
    path.write_text("".join(f"[Event {each}" for each in games), encoding="utf-8")
    return path


def test_a_disk_that_fills_up_loses_nothing_that_was_stored(tmp_path: Path, disk: Path) -> None:
    program = make_engine(tmp_path / "engine")
    store = disk / "store"
    many = part_of_the_games(tmp_path, 3)
    few = part_of_the_games(tmp_path, 1)
    arguments: list[str | Path] = ["--store", store, "--engine", program, *OPTIONS]
    assert run("analyse", few, *arguments).exit_code == 0
    before = EvaluationStore(store).read()
    assert len(before)
    ballast = fill(disk)
    # Room for the trial byte, but not for the rows: it is the run that meets the full disk.
    ballast.write_bytes(ballast.read_bytes()[:-8192])
    done = run("analyse", many, *arguments)
    assert_one_line(done, f"{store}/shards", FULL)
    assert "finished positions are not stored, the same command does them again" in done.stderr
    # Nothing half-written is left, neither to be read as data nor to fill the disk.
    assert EvaluationStore(store).read().equals(before)
    assert run("store", "verify", store).exit_code == 0
    assert [path.name for path in store.rglob("*.partial")] == []
    ballast.unlink()
    assert run("analyse", many, *arguments).exit_code == 0
    assert EvaluationStore(store).read().equals(undisturbed(tmp_path, program, many))


def test_a_full_disk_is_noticed_before_the_engine_works(tmp_path: Path, disk: Path) -> None:
    program = make_engine(tmp_path / "engine")
    store = disk / "store"
    many = part_of_the_games(tmp_path, 3)
    few = part_of_the_games(tmp_path, 1)
    arguments: list[str | Path] = ["--engine", program, *OPTIONS]
    assert run("analyse", few, "--store", store, *arguments).exit_code == 0
    done_so_far = searches(program)
    ballast = fill(disk)
    assert_one_line(run("analyse", many, "--store", store, *arguments), f"{store}/shards", FULL)
    new = disk / "new"
    assert_one_line(run("analyse", few, "--store", new, *arguments), f"{new}", FULL)
    other = run("analyse", few, "--store", store, *arguments, "--depth", "2")
    assert_one_line(other, f"{store}/setups", FULL)
    assert searches(program) == done_so_far
    # What is stored already needs no room.
    assert run("analyse", few, "--store", store, *arguments).exit_code == 0
    # What was begun on the full disk can be gone on with.
    ballast.unlink()
    assert run("analyse", few, "--store", new, *arguments).exit_code == 0
    assert EvaluationStore(new).read().equals(EvaluationStore(store).read())


def test_compaction_on_a_full_disk_keeps_the_old_files(tmp_path: Path, disk: Path) -> None:
    program = make_engine(tmp_path / "engine")
    store = disk / "store"
    arguments: list[str | Path] = ["--store", store, "--engine", program, *OPTIONS]
    for count in (1, 2, 3):
        games = part_of_the_games(tmp_path, count)
        assert run("analyse", games, *arguments).exit_code == 0
    before = EvaluationStore(store).read()
    ballast = fill(disk)
    assert_one_line(run("store", "compact", store), f"{store}/shards", FULL)
    assert len(EvaluationStore(store).files()) == 3
    assert EvaluationStore(store).read().equals(before)
    ballast.unlink()
    assert run("store", "compact", store).exit_code == 0
    assert len(EvaluationStore(store).files()) == 1
    assert EvaluationStore(store).read().equals(before)


def test_a_store_that_may_only_be_read(tmp_path: Path, disk: Path) -> None:
    program = make_engine(tmp_path / "engine")
    store = disk / "store"
    many = part_of_the_games(tmp_path, 3)
    few = part_of_the_games(tmp_path, 1)
    arguments: list[str | Path] = ["--engine", program, *OPTIONS]
    assert run("analyse", few, "--store", store, *arguments).exit_code == 0
    done_so_far = searches(program)
    remount(disk, "ro")
    shards = f"{store}/shards"
    assert_one_line(run("analyse", many, "--store", store, *arguments), shards, READ_ONLY)
    other = run("analyse", few, "--store", store, *arguments, "--depth", "2")
    assert_one_line(other, f"{store}/setups", READ_ONLY)
    new = disk / "new"
    assert_one_line(run("analyse", few, "--store", new, *arguments), f"{new}", READ_ONLY)
    assert searches(program) == done_so_far  # told before the engine has worked
    log = disk / "log.txt"
    exported = run("store", "export", store, "-o", log, "--format", "delta")
    assert_one_line(exported, f"{log}", READ_ONLY)
    # All that only reads does its work.
    assert run("analyse", few, "--store", store, *arguments).exit_code == 0
    assert run("store", "info", store).exit_code == 0
    assert run("store", "verify", store).exit_code == 0
    spreads = run(
        "spreads", few, "--store", store, "-o", tmp_path / "spreads.parquet", *OPTIONS[2:]
    )
    assert spreads.exit_code == 0, spreads.stderr
    remount(disk, "rw,size=4m")
    assert run("analyse", many, "--store", store, *arguments).exit_code == 0
    assert EvaluationStore(store).read().equals(undisturbed(tmp_path, program, many))


def test_compaction_and_merging_into_what_may_only_be_read(tmp_path: Path, disk: Path) -> None:
    program = make_engine(tmp_path / "engine")
    store = EvaluationStore(disk / "store", create=True)
    other = EvaluationStore(tmp_path / "other", create=True)
    for count in (2, 4):
        analyse(positions(count), store, program, PLAN)
    analyse(positions(6), other, program, PLAN)
    before = store.read()
    remount(disk, "ro")
    with pytest.raises(OutputError, match=READ_ONLY):
        store.compact()
    with pytest.raises(OutputError, match=READ_ONLY):
        store.merge(other)
    assert store.read().equals(before)
    remount(disk, "rw")
    assert store.merge(other) == 2


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Root may write where the mode forbids it: be nobody for a while, as far as files go.

    ``setfsuid`` holds for this thread alone. ``seteuid`` would hold for the whole process, and so
    for threads that other tests left behind.
    """
    if os.geteuid() == 0:
        system = ctypes.CDLL(None)
        system.setfsuid(_NOBODY)
        yield
        system.setfsuid(0)
    else:
        yield


@pytest.fixture
def foreign_folder() -> Iterator[Path]:
    """A folder that may be seen, but not written; in a place that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.usefixtures("ordinary_user")
def test_a_folder_without_permission(foreign_folder: Path) -> None:
    with pytest.raises(OutputError, match="Permission denied"):
        EvaluationStore(foreign_folder / "store", create=True)
