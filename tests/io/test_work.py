"""Shards on disk, several processes, and what happens when a worker dies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from milepost.errors import InputError, OutputError, WorkerError
from milepost.io import work
from milepost.io.work import Frames, WorkFolder, run_tasks


@dataclass(frozen=True)
class Task:
    """A number to be squared."""

    number: int


def square(task: Task) -> Frames:
    """Return the square as a table."""
    return {"squares": pl.DataFrame({"square": [task.number**2], "pid": [os.getpid()]})}


def die_at_three(task: Task) -> Frames:
    """End the process without a word, as the kernel does when memory is short."""
    if task.number == 3:
        os._exit(9)
    return square(task)


def fail_at_three(task: Task) -> Frames:
    """Raise one of our errors in the worker."""
    if task.number == 3:
        raise InputError("three is bad")
    return square(task)


def refuse(task: Task) -> Frames:
    """Must not be called: the work is done already."""
    raise AssertionError(f"task {task.number} was done twice")


def squares(folder: WorkFolder, count: int) -> list[int]:
    """The squares that a folder holds."""
    return [folder.get(number, "squares")["square"][0] for number in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_come_back_in_order(tmp_path: Path, workers: int) -> None:
    folder = WorkFolder(tmp_path / "out.csv", {})
    done = run_tasks((Task(n) for n in range(12)), square, folder, workers=workers)
    assert [task.number for task in done] == list(range(12))
    assert squares(folder, 12) == [n**2 for n in range(12)]


def test_workers_are_other_processes(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "out.csv", {})
    list(run_tasks((Task(n) for n in range(4)), square, folder, workers=2))
    assert os.getpid() not in {folder.get(n, "squares")["pid"][0] for n in range(4)}


def test_the_same_job_does_nothing_twice(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path / "out.csv", {"options": 1})
    list(run_tasks((Task(n) for n in range(5)), square, first))
    first.close()
    second = WorkFolder(tmp_path / "out.csv", {"options": 1})
    assert second.resumed == 5
    list(run_tasks((Task(n) for n in range(5)), refuse, second))


def test_another_job_does_not_take_its_shards(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path / "out.csv", {"options": 1})
    list(run_tasks((Task(n) for n in range(5)), square, first))
    first.close()
    assert WorkFolder(tmp_path / "out.csv", {"options": 2}).resumed == 0


def test_a_shard_without_its_mark_is_made_again(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "out.csv", {})
    list(run_tasks((Task(n) for n in range(2)), square, folder))
    (folder.path / "0000001.done").unlink()
    (folder.path / "0000001.squares.arrow").write_bytes(b"torn")
    list(run_tasks((Task(n) for n in range(2)), square, folder))
    assert squares(folder, 2) == [0, 1]


def test_a_dead_worker_is_an_error_and_the_rest_can_go_on(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "out.csv", {})
    with pytest.raises(WorkerError, match="died"):
        list(run_tasks((Task(n) for n in range(6)), die_at_three, folder, workers=2))
    folder.close()
    again = WorkFolder(tmp_path / "out.csv", {})
    list(run_tasks((Task(n) for n in range(6)), square, again, workers=2))
    assert squares(again, 6) == [n**2 for n in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_reaches_the_caller(tmp_path: Path, workers: int) -> None:
    folder = WorkFolder(tmp_path / "out.csv", {})
    with pytest.raises(InputError, match="three is bad"):
        list(run_tasks((Task(n) for n in range(6)), fail_at_three, folder, workers=workers))


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot write"):
        WorkFolder(tmp_path / "file" / "out.csv", {})


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path / "out.csv", {})
    with pytest.raises(OutputError, match="another run is writing there now"):
        WorkFolder(tmp_path / "out.csv", {})
    first.remove()
    assert WorkFolder(tmp_path / "out.csv", {}).resumed == 0


def test_tables_that_are_no_longer_held_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_HELD_BYTES", 100)
    folder = WorkFolder(tmp_path / "out.csv", {})
    frames = [pl.DataFrame({"x": [number] * 10}) for number in range(3)]
    for number, frame in enumerate(frames):
        folder.put(number, {"t": frame})
    assert [*folder._held] == [2]
    assert all(folder.get(number, "t").equals(frame) for number, frame in enumerate(frames))
    folder.remove()
