"""Damaged inputs by the thousand: each kind in processes of its own, with bounds and a memory.

A batch is one process. It writes the number of an input before it reads it, so that one that ends
the process is known, kept, and passed over. Where reading many files costs little more than one,
inputs are read in groups, and one in a hundred alone; if a group gives any error, each of it is.
What is done is a file in the work folder: the same command goes on behind it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from studies.campaign.kinds import KINDS, refusing

SECONDS_AN_INPUT = 20.0
"""A read that takes more of a processor hangs: the inputs are a few kilobytes."""
PATIENCE = 300.0
"""The same by the clock on the wall, for those that wait for ever; the machine may be busy."""
MEGABYTES = 1500
"""The bound of memory that a batch may take."""
GROUP = 100
"""So many inputs are read together, of a kind that can be."""
ALONE = 100
"""Every so many-th input is read alone in any case."""


class HangError(BaseException):
    """An input took too long."""


def _hang(number: int, frame: FrameType | None) -> None:
    raise HangError


def try_one(kind: str, seed: int, number: int, folder: Path) -> str | None:
    """Make, damage and read one input; returns what went wrong, if anything."""
    given = _made(kind, seed, number, folder)

    def read() -> None:
        with refusing():
            KINDS[kind].read(given)

    return _problem_of(read)


def try_group(kind: str, seed: int, numbers: Sequence[int], folder: Path) -> Together:
    """Read inputs together."""
    read = KINDS[kind].read_group
    assert read is not None
    group = [_made(kind, seed, number, folder / str(number)) for number in numbers]
    refusals: list[str] = []

    def read_all() -> None:
        with refusing() as told:
            read(group)
        refusals.extend(told)

    return Together(_problem_of(read_all), bool(refusals))


class Together(NamedTuple):
    """How inputs were read together."""

    problem: str | None
    refused: bool
    """Whether there was an error of ours: one of them may be at fault, or all."""


def _made(kind: str, seed: int, number: int, folder: Path) -> Any:
    """Write an input into a folder that holds nothing else."""
    chance = random.Random(f"{kind} {seed} {number}")
    here = folder / "input"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    return KINDS[kind].make(chance, here)


def _problem_of(read: Callable[[], None]) -> str | None:
    signal.signal(signal.SIGALRM, _hang)
    signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_AN_INPUT)
    try:
        read()
    except HangError:
        return f"no end within {SECONDS_AN_INPUT:g} s of processor time"
    except MemoryError:
        return f"more than {MEGABYTES} MB"
    except BaseException:  # whatever it is, it is not ours: kept and told
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return None


def run_batch(kind: str, seed: int, first: int, count: int, out: Path) -> None:
    """Try some inputs in this process; the findings go to a file."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))
    failures = try_batch(kind, seed, range(first, first + count), out.with_suffix(".at"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    out.write_text(json.dumps({"tried": count, "failures": failures, "peak_mb": round(peak)}))


def try_batch(kind: str, seed: int, every: range, progress: Path) -> list[dict[str, Any]]:
    """Try inputs, alone or together; a file says where, until the end."""
    # A group that ended the process before is read one by one.
    single = _Place.read(progress).until if progress.exists() else 0
    failures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        for start in range(0, len(every), GROUP):
            numbers = every[start : start + GROUP]
            alone: Sequence[int] = numbers
            problem = None
            if KINDS[kind].read_group is not None and numbers[-1] >= single:
                _Place(numbers[0], numbers[-1] + 1, failures).write(progress)
                with tempfile.TemporaryDirectory(dir=name) as together:
                    problem, refused = try_group(kind, seed, numbers, Path(together))
                if problem is None and not refused:
                    alone = [number for number in numbers if number % ALONE == 0]
            known = len(failures)
            for number in alone:
                _Place(number, number, failures).write(progress)
                wrong = try_one(kind, seed, number, Path(name))
                if wrong is not None:
                    failures.append({"number": number, "problem": wrong})
            if problem is not None and len(failures) == known:  # only together
                failures.append({"number": numbers[0], "problem": f"the group: {problem}"})
    progress.unlink()
    return failures


class _Place(NamedTuple):
    """Where a batch is: at one input, or at a group that goes until (and without) another."""

    at: int
    until: int
    failures: list[dict[str, Any]]
    """What was found by this process: it may not live to tell it."""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self))

    @staticmethod
    def read(path: Path) -> _Place:
        return _Place(*json.loads(path.read_text()))


def run_inputs(
    work: Path, seed: int, counts: dict[str, int], *, show: bool = False
) -> list[dict[str, Any]]:
    """Try so many inputs of each kind, batch by batch; returns a row for each kind.

    With `show` nothing is tried: the rows are of the batches that are known.
    """
    rows: dict[str, dict[str, Any]] = {
        kind: {"kind": kind, "tried": 0, "failed": 0, "seconds": 0.0, "peak_mb": 0}
        for kind in counts
    }
    # All kinds go on side by side, so that a campaign that is stopped has tried some of each.
    batches = [
        (first, kind)
        for kind, count in counts.items()
        for first in range(0, count, KINDS[kind].batch)
    ]
    for first, kind in sorted(batches, key=lambda batch: batch[0] / counts[batch[1]]):
        batch = min(KINDS[kind].batch, counts[kind] - first)
        out = work / f"{kind}-{seed}-{first}-{batch}.json"
        if show and not out.exists():
            continue
        if not out.exists():
            _finish_batch(kind, seed, first, batch, out)
        found = json.loads(out.read_text())
        row = rows[kind]
        row["tried"] += found["tried"]
        row["failed"] += len(found["failures"])
        row["seconds"] += found["seconds"]
        row["peak_mb"] = max(row["peak_mb"], found["peak_mb"])
        for failure in found["failures"]:
            last = failure["problem"].strip().splitlines()[-1][:150]
            print(f"{kind} {seed} {failure['number']}: {last}", file=sys.stderr, flush=True)
    return list(rows.values())


def _worked() -> float:
    """Processor time of all batches so far: the machine may be busy with other work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _finish_batch(kind: str, seed: int, first: int, count: int, out: Path) -> None:
    """Run a batch in processes until it is done; inputs that end a process are noted."""
    begun, worked = time.monotonic(), _worked()
    failures: list[dict[str, Any]] = []
    peak, at, tried = 0, first, 0
    part = out.with_suffix(".part")
    progress = part.with_suffix(".at")
    progress.unlink(missing_ok=True)  # of a run that was stopped
    while at < first + count:
        left = first + count - at
        words = ["--batch", kind, str(seed), str(at), str(left), str(part)]
        done = subprocess.run(
            [sys.executable, "-m", "studies.campaign", *words], check=False, capture_output=True,
            # The tables have a few rows: threads would only wait for each other.
            env={"POLARS_MAX_THREADS": "1", **os.environ},
        )  # fmt: skip
        if done.returncode == 0:
            found = json.loads(part.read_text())
            failures += found["failures"]
            peak = max(peak, found["peak_mb"])
            tried += left
            part.unlink()
            break
        place = _Place.read(progress) if progress.exists() else _Place(at, at, [])
        failures += place.failures
        if place.until > place.at:  # some of a group: it is read again, one by one
            tried += place.at - at
            at = place.at
            continue
        killed = place.at
        last = done.stderr.decode("utf-8", "replace").strip()[-300:]
        failures.append({"number": killed, "problem": f"ended with {done.returncode}: {last}"})
        tried += killed - at + 1
        at = killed + 1
    progress.unlink(missing_ok=True)
    told = {"tried": tried, "failures": failures, "peak_mb": peak}
    told |= {"seconds": round(_worked() - worked, 1), "wall": round(time.monotonic() - begun, 1)}
    text = json.dumps(told)
    half = out.with_suffix(".half")
    half.write_text(text)
    half.replace(out)
