"""The commands that give what a page shows: ready to copy into a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milepost.web.bench import Bench
    from milepost.web.sets.shelf import GameSet


def shell_path(path: Path) -> str:
    """Return a path as a shell takes it, short where it lies in the home folder."""
    path = path.absolute()
    home = Path.home()
    if path.is_relative_to(home) and path != home:
        return f"~/{shlex.quote(str(path.relative_to(home)))}"
    return shlex.quote(str(path))


def set_command(command: str, bench: Bench, chosen: GameSet, *more: str) -> str:
    """Return a command over a set's file and the workbench's store, with further options.

    The file is named as it was when it was dropped: the browser does not tell where it lies.
    """
    file, store = shlex.quote(chosen.about["file"]), shell_path(bench.settings.store)
    return " ".join([f"milepost {command}", file, f"--store {store}", *more])
