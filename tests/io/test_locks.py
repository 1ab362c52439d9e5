"""Locks between processes: they keep others out, and end with whoever held them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from milepost.errors import OutputError
from milepost.io.locks import Lock, locked

HOLD = """
import sys, time
from pathlib import Path
from milepost.io.locks import Lock
lock = Lock(Path(sys.argv[1]), wait=False)
print("held", flush=True)
time.sleep(600)
"""


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock", wait=False)
    with pytest.raises(BlockingIOError, match="another run is writing there now"):
        Lock(tmp_path / "lock", wait=False)
    lock.release()
    Lock(tmp_path / "lock", wait=False).release()


def test_a_lock_ends_with_its_object(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock", wait=False)
    del lock
    Lock(tmp_path / "lock", wait=False).release()


def test_a_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            Lock(tmp_path / "lock", wait=False)
        os.kill(process.pid, signal.SIGKILL)
    Lock(tmp_path / "lock", wait=False).release()


def test_whoever_writes_a_file_waits_for_others(tmp_path: Path) -> None:
    with locked(tmp_path / "table.csv"), pytest.raises(BlockingIOError):
        Lock(tmp_path / ".table.csv.lock", wait=False)


def test_no_folder_is_made_for_a_lock(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r"cannot write .*absent.*there is no folder"),
        locked(tmp_path / "absent" / "table.csv"),
    ):
        pass
    assert not (tmp_path / "absent").exists()


def test_a_disk_without_locks_is_worked_on_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with locked(tmp_path / "table.csv"):
        pass
    assert "this disk has no locks" in caplog.text


def test_a_disk_that_may_not_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with (
        pytest.raises(OutputError, match=r"cannot write .*table\.csv: Read-only file system"),
        locked(tmp_path / "table.csv"),
    ):
        pass
