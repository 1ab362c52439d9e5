"""Follow a tutorial as a reader does: run its commands and its Python, one after the other.

In a page, every line that begins with ``$ `` in a block marked ``console`` is a command (a
backslash at its end carries it on), and every block marked ``python`` is run in one namespace. Run
it as ``python tutorial.py PAGE`` in the folder where the reader would sit, with the Python that
Milepost is installed in. Commands of Milepost run inside this process, for loading it anew for each
costs more than most of them; a line with a pipe goes through the shell. Whatever fails is told by
its line and ends the run with 1.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

Step = tuple[str, str]
"""``("command", line)`` or ``("python", block)``."""


def steps_of(page: str) -> list[Step]:
    """Return what a reader of the page is to run, in order."""
    steps: list[Step] = []
    for kind, body in re.findall(r"^ *```(console|python)\n(.*?)^ *```", page, re.S | re.M):
        if kind == "python":
            steps.append(("python", body))
        else:
            whole = re.sub(r"\s*\\\n\s*", " ", body)
            lines = [line.strip() for line in whole.splitlines()]
            steps += [("command", line[2:]) for line in lines if line.startswith("$ ")]
    return steps


def run_command(line: str) -> int:
    """Run a line of a terminal, and return its exit code."""
    if "|" in line or not line.startswith("milepost "):
        return subprocess.run(line, shell=True, check=False).returncode  # noqa: S602  # our pages
    from milepost.cli.app import main

    sys.argv = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def follow(page: Path, *, done: tuple[str, ...] = ()) -> int:
    """Run the steps of a page but those lines that are done already; return how many failed."""
    names: dict[str, object] = {"__name__": "__main__"}
    failed = 0
    for kind, text in steps_of(page.read_text(encoding="utf-8")):
        if text in done:
            continue
        print(f"\n== {text}", flush=True)
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)  # noqa: S102  # our own pages
        elif code := run_command(text):
            print(f"FAILED with {code}: {text}", flush=True)
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(min(1, follow(Path(sys.argv[1]), done=tuple(sys.argv[2:]))))
