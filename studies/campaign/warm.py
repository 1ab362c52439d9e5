"""Commands in processes that begin with everything imported, so that a kill costs little.

A server process imports the command line and what it computes with, and forks; a command that is
started this way does all it would do otherwise, but for the imports, which write nothing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PRELOADED = (
    "studies.campaign.warm", "milepost.cli.app", "milepost.api.ratings", "milepost.api.histories",
    "milepost.analysis.run.run",
)  # fmt: skip


Program = Callable[[], None]
"""A function that a process can import by its name."""


def command_line() -> None:
    """Be the command line, storing finished positions often: kills then strike between shards."""
    from milepost.analysis.run import run
    from milepost.cli.app import main

    run.SAVE_SECONDS = 0.2
    main()


def run_here(program: Program, words: list[str], errors: str) -> None:
    """Be the command: a session of its own, nothing on the screen, messages to a file."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    sys.argv = ["milepost", *words]
    program()


class Running:
    """A command that runs."""

    def __init__(self, words: list[str], program: Program):
        """Start it."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        number, self._errors = tempfile.mkstemp(prefix="campaign-errors-")
        os.close(number)
        self._process = context.Process(target=run_here, args=(program, words, self._errors))
        self._process.start()

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
        errors = Path(self._errors)
        told = errors.read_text(encoding="utf-8", errors="replace")
        errors.unlink()
        return self._process.exitcode, told
