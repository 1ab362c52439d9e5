"""Setbacks, each tried once with each command: disks, quotas, temporary folders, clocks, readers.

A command that cannot write says so in one line with exit code 1, and leaves nothing half-written.
What does not keep it from writing must not change a byte.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from studies.campaign.faults import Command, Fault, commands, make_inputs
from studies.campaign.warm import Running, command_line

NO_LIMITS = ("check", "serve", "match", "calibrate")
"""Commands that need more room from the start, or end with 1 for another reason."""
ROOM = 8192
"""Bytes that a file may have where files are limited."""
PATIENCE = 900.0
"""Seconds by the clock on the wall after which a command hangs; the machine may be busy."""
QUOTA = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static long room = 4096;
static int over(int file, size_t size) {
    char link[64], path[4096];
    const char *folder = getenv("QUOTA_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || !folder) return 0;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder))) return 0;
    return __atomic_sub_fetch(&room, (long)size, __ATOMIC_RELAXED) < 0;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REFUSE(file, size) if (over(file, size)) { errno = EDQUOT; return -1; }
ssize_t write(int f, const void *b, size_t n) { REFUSE(f, n) return REAL(write)(f, b, n); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
    REFUSE(f, n) return REAL(pwrite64)(f, b, n, o);
}
ssize_t writev(int f, const struct iovec *v, int n) {
    size_t size = 0;
    for (int i = 0; i < n; i++) size += v[i].iov_len;
    REFUSE(f, size) return REAL(writev)(f, v, n);
}
"""
"""A library that lets a program write 4 kB into a folder: then the quota is used up."""
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec *);
static time_t begun;
__attribute__((constructor)) static void begin(void) {
    struct timespec now;
    real = dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &now);
    begun = now.tv_sec;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    struct timespec since;
    if (!real) begin();
    if (real(clock, now)) return -1;
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
    real(CLOCK_MONOTONIC, &since);
    if (since.tv_sec - begun >= atoi(getenv("BACK_AFTER") ?: "0")) now->tv_sec -= 2 * 86400;
    return 0;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""
"""A library by which the clock on the wall goes back two days after some seconds."""


def _tried(name: str, trial: Callable[[Path], tuple[str, str | None]], inputs: Path) -> Fault:
    begun = time.monotonic()
    command, problem = trial(inputs)
    if problem:
        print(f"{name}: {problem}", file=sys.stderr, flush=True)
    tried = 0 if command.startswith("none") else command.count(",") + 1
    return Fault(name, command, tried, tried if problem is None else 0, time.monotonic() - begun)


def _writers(inputs: Path) -> dict[str, Command]:
    return {name: each for name, each in commands(inputs).items() if name not in NO_LIMITS}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        yield Path(name)


@contextlib.contextmanager
def _disk(options: str) -> Iterator[Path | None]:
    """A disk of its own; None where none can be mounted."""
    with _folder() as folder:
        mount = [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", options, "tmpfs"]
        if subprocess.run([*mount, folder], check=False, capture_output=True).returncode:
            yield None
            return
        try:
            yield folder
        finally:
            subprocess.run([shutil.which("umount") or "umount", "-l", folder], check=True)


def _run(
    command: Command, inputs: Path, out: Path, room: int | None = None, **around: str
) -> tuple[int, str]:
    words = command.words(inputs, out)
    if "LD_PRELOAD" not in around:
        return Running(words, command.program, around=around, room=room).end(PATIENCE)
    # A library is loaded before all others when a process begins, so this one begins cold.
    program = command.program
    begin = f"from {program.__module__} import {program.__name__} as begin; begin()"
    done = subprocess.run(
        [sys.executable, "-c", begin, *words],
        capture_output=True, check=False, text=True, env={**os.environ, **around},
    )  # fmt: skip
    return done.returncode, done.stderr


def refused(
    command: Command, inputs: Path, out: Path, room: int | None = None, **around: str
) -> str | None:
    """Run a command that cannot write; returns what is wrong with the way it says so."""
    code, told = _run(command, inputs, out, room, **around)
    left = [path.name for path in out.rglob("*.partial")]
    if left:
        return f"{command.name} left {left}"
    if code == 0:
        return None  # it needs no more room than there is
    lines = told.strip().splitlines()
    in_a_line = len(lines) == 1 and lines[0].startswith("milepost: cannot write ")
    return None if code == 1 and in_a_line else f"{command.name}: {told[-300:]}"


def limited(inputs: Path) -> tuple[str, str | None]:
    """Every command with room for 8 kB a file."""
    problems = []
    for command in _writers(inputs).values():
        with _folder() as out:
            problems.append(refused(command, inputs, out, ROOM))
    return ", ".join(_writers(inputs)), "; ".join(filter(None, problems)) or None


def small_disks(inputs: Path) -> tuple[str, str | None]:
    """A disk of 16 kB, and one that may only be read, where they can be mounted."""
    problems = []
    for options in ("size=16k", "size=16k,ro"):
        for command in _writers(inputs).values():
            with _disk(options) as out:
                if out is None:
                    return "none: no disk can be mounted here", None
                problems.append(refused(command, inputs, out))
    return ", ".join(_writers(inputs)), "; ".join(filter(None, problems)) or None


@contextlib.contextmanager
def _library(source: str) -> Iterator[str | None]:
    """A library to be loaded before all others; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        yield None
        return
    with _folder() as work:
        text, library = work / "before.c", work / "before.so"
        text.write_text(source)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, text, "-ldl"], check=True)
        yield str(library)


def quotas(inputs: Path) -> tuple[str, str | None]:
    """The quota of the output's folder is used up after 4 kB (EDQUOT), where there is a compiler.

    The system calls are answered by a small library, since root has no quota.
    """
    problems = []
    with _library(QUOTA) as library:
        if library is None:
            return "none: there is no C compiler here", None
        for command in _writers(inputs).values():
            with _folder() as out:
                around = {"LD_PRELOAD": library, "QUOTA_FOLDER": str(out)}
                problems.append(refused(command, inputs, out, None, **around))
    return ", ".join(_writers(inputs)), "; ".join(filter(None, problems)) or None


def no_temporary_space(inputs: Path) -> tuple[str, str | None]:
    """The temporary folder has no room, or is not there: the bytes are as ever, or it is told."""
    problems = []
    for options in ("size=4k,nr_inodes=2", None):
        for command in _writers(inputs).values():
            with _disk(options or "size=4k") as full, _folder() as out, _folder() as alone:
                if full is None:
                    return "none: no disk can be mounted here", None
                temporary = full if options else full / "nowhere"
                if options:
                    with contextlib.suppress(OSError):
                        (full / "filler").write_bytes(b"x" * 10_000)
                problem = refused(command, inputs, out, TMPDIR=str(temporary))
                if problem is None and any(out.iterdir()):
                    _run(command, inputs, alone)
                    if command.digest(out) != command.digest(alone):
                        problem = f"{command.name}: something else was written"
                problems.append(problem)
    return ", ".join(_writers(inputs)), "; ".join(filter(None, problems)) or None


def clock_set_back(inputs: Path) -> tuple[str, str | None]:
    """The clock goes back two days in the midst of a run, then a run begins before the last one."""
    problems = []
    with _library(CLOCK) as library:
        if library is None:
            return "none: there is no C compiler here", None
        for command in _writers(inputs).values():
            with _folder() as out, _folder() as alone:
                _run(command, inputs, alone)
                for seconds in ("1", "0"):
                    around = {"LD_PRELOAD": library, "BACK_AFTER": seconds}
                    code, told = _run(command, inputs, out, None, **around)
                    if code != command.code or "Traceback" in told:
                        problems.append(f"{command.name}: {code} {told[-300:]}")
                if command.digest(out) != command.digest(alone):
                    problems.append(f"{command.name}: something else was written")
    return ", ".join(_writers(inputs)), "; ".join(problems) or None


def together(inputs: Path) -> tuple[str, str | None]:
    """Two analyses of the same games into one store."""
    command = commands(inputs)["analyse"]
    with _folder() as alone, _folder() as both:
        Running(command.words(inputs, alone), command_line).end(600)
        running = [Running(command.words(inputs, both), command_line) for _ in range(2)]
        ends = [each.end(600) for each in running]
        if any(code for code, _ in ends):
            return "analyse", str(ends)
        same = command.digest(alone) == command.digest(both)
    return "analyse", None if same else "the rows differ"


def engines_killed(inputs: Path) -> tuple[str, str | None]:
    """Engines are killed every few seconds; positions that fail too often are told, done later."""
    command, kills = commands(inputs)["analyse"], 0
    chance = random.Random(19)
    with _folder() as alone, _folder() as out:
        Running(command.words(inputs, alone), command_line).end(PATIENCE)
        running = Running(command.words(inputs, out), command_line)
        while running.is_running():
            time.sleep(chance.uniform(0.2, 0.8))  # the whole run takes a few seconds
            for number in running.engines():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
                    kills += 1
        code, told = running.end(PATIENCE)
        if kills == 0 or (code and "the same command tries them again" not in told):
            return "analyse", f"ended with {code} after {kills} kills: {told[-300:]}"
        if code:
            code, told = Running(command.words(inputs, out), command_line).end(PATIENCE)
        if code or command.digest(alone) != command.digest(out):
            return "analyse", f"other rows after {kills} kills: {code} {told[-300:]}"
    return "analyse", None


def reader_leaves(inputs: Path) -> tuple[str, str | None]:
    """Standard output is closed after ten bytes."""
    problems = []
    for words in (["games", str(inputs / "games.pgn")], ["turns", str(inputs / "games.pgn")],
                  ["results", str(inputs / "games.pgn")],
                  ["history", str(inputs / "results.csv")]):  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "milepost", *words, "-o", "-", "-q"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        told = process.stderr.read()
        process.stderr.close()
        if process.wait() != 0 or told:
            problems.append(f"{words[0]}: {process.returncode} {told[-200:]!r}")
    return "games, turns, results, history", "; ".join(problems) or None


TRIALS = {
    "file size limit": limited, "small and read-only disks": small_disks, "quota": quotas,
    "no temporary space": no_temporary_space, "clock set back": clock_set_back,
    "two runs on one store": together, "engines killed every few seconds": engines_killed,
    "reader leaves (SIGPIPE)": reader_leaves,
}  # fmt: skip


def run_setbacks(work: Path) -> Iterator[Fault]:
    """Try every setback; what is in the folder is not tried again."""
    inputs = work / "inputs"
    make_inputs(inputs, times=2)
    for name, trial in TRIALS.items():
        record = work / f"fault-once-{name.replace(' ', '-')}.json"
        if not record.exists():
            record.write_text(json.dumps(asdict(_tried(name, trial, inputs))))
        yield Fault(**json.loads(record.read_text()))
