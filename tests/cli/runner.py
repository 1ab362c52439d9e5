"""Running commands in tests: inside this process where that is enough, for it is much faster."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

from typer.testing import CliRunner

from milepost.cli.app import app


def run_inside(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in this process; the answer is that of a process of its own."""
    words = [str(each) for each in arguments]
    done = CliRunner().invoke(app, words)
    told = done.stderr_bytes
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        told += "".join(traceback.format_exception(done.exception)).encode()
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout_bytes, told)


def run_process(
    *arguments: str | Path, stdin: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, as a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "milepost", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=cwd,
    )
