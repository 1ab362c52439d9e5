"""Commands in processes that begin with everything imported, so that a kill costs little.

A server process imports the command line and what it computes with, and forks; a command that is
started this way does all it would do otherwise, but for the imports, which write nothing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PRELOADED = (
    "studies.campaign.warm", "milepost.cli.app", "milepost.api.ratings", "milepost.api.histories",
    "milepost.analysis.run.run", "milepost.web.app",
)  # fmt: skip


Program = Callable[[], None]
"""A function that a process can import by its name."""


def command_line() -> None:
    """Be the command line, storing finished positions often: kills then strike between shards."""
    from milepost.analysis.run import run
    from milepost.cli.app import main

    run.SAVE_SECONDS = 0.2
    main()


def run_here(
    program: Program, words: list[str], errors: str, around: Mapping[str, str], room: int | None
) -> None:
    """Be the command: a session of its own, nothing on the screen, messages to a file."""
    os.setsid()
    os.environ.update(around)
    tempfile.tempdir = None  # it may be another one in these surroundings
    if room is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    sys.argv = ["milepost", *words]
    program()


class Running:
    """A command that runs."""

    def __init__(
        self, words: list[str], program: Program, *, around: Mapping[str, str] | None = None,
        room: int | None = None,
    ):  # fmt: skip
        """Start it, with variables of the environment, and so much room in every file."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        number, self._errors = tempfile.mkstemp(prefix="campaign-errors-")
        os.close(number)
        self._process = context.Process(
            target=run_here, args=(program, words, self._errors, around or {}, room)
        )
        self._process.start()

    def engines(self) -> list[int]:
        """The processes that it has started itself; engines have groups of their own."""
        return [each.number for each in _running() if each.parent == self._process.pid]

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def strike(self, number: signal.Signals, *, everybody: bool) -> None:
        """Send a signal to it, or to all processes that it has started as well."""
        with contextlib.suppress(ProcessLookupError):
            assert self._process.pid is not None
            (os.killpg if everybody else os.kill)(self._process.pid, number)

    def end(self, patience: float) -> tuple[int, str]:
        """Wait for it; return its exit code and its messages."""
        self._process.join(patience)
        if self._process.exitcode is None:
            self.strike(signal.SIGKILL, everybody=True)
            raise TimeoutError(f"no end within {patience:g} s")
        self._wait_for_all(patience)
        errors = Path(self._errors)
        told = errors.read_text(encoding="utf-8", errors="replace")
        errors.unlink()
        return self._process.exitcode, told

    def _wait_for_all(self, patience: float) -> None:
        """Wait for what it has started, too: a server puts things in order after its SIGTERM."""
        give_up = time.monotonic() + patience
        while running := [each for each in _running() if each.group == self._process.pid]:
            if time.monotonic() > give_up:
                self.strike(signal.SIGKILL, everybody=True)
                raise TimeoutError(f"processes {running} did not end within {patience:g} s")
            time.sleep(0.02)


class _Process(NamedTuple):
    number: int
    parent: int
    group: int


def _running() -> Iterator[_Process]:
    """All processes that have not ended."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, group = stat.read_text().rpartition(")")[2].split()[:3]
            if state not in "ZX":
                yield _Process(int(stat.parent.name), int(parent), int(group))
