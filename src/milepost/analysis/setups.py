"""The set-ups of a store: one readable file each, and how users name the one they mean."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from milepost.errors import InputError

_LETTERS = 16
"""Of a set-up's digest, which is the name of its file."""


def read_setups(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the set-ups of a folder by their digests.

    Raises
    ------
    InputError
        Naming the first file that does not hold the set-up that it is named after.
    """
    found = {}
    for path in sorted(folder.glob("*.json")):
        problem = setup_problem(path)
        if problem is not None:
            raise InputError(f"{path}: {problem}; it is not read as data")
        found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return found


def setup_problem(path: Path) -> str | None:
    """Return what is wrong with the file of a set-up, which is named after its text's digest."""
    try:
        text = path.read_bytes().removesuffix(b"\n")
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if hashlib.sha256(text).hexdigest()[:_LETTERS] != path.stem:
        return "not the set-up that it is named after"
    try:
        known = json.loads(text)
    except ValueError:
        known = None
    return None if isinstance(known, dict) else "no set-up"


def choose_setup(stored: list[str], about: dict[str, dict[str, Any]], setup: str | None) -> str:
    """Return the one of the stored set-ups that begins with `setup`, or the only one there is.

    Raises
    ------
    InputError
        If none or several fit, with a list of them.
    """
    known = sorted(stored)
    fitting = known if setup is None else [each for each in known if each.startswith(setup)]
    if len(fitting) == 1:
        return fitting[0]
    if not known:
        raise InputError("there are no evaluations: analyse the games first")
    lines = "".join(f"\n  {each}  {readable_setup(about.get(each))}".rstrip() for each in known)
    if setup is None:
        raise InputError(f"there are {len(known)} set-ups: say which one to use{lines}")
    how = "no set-up begins" if not fitting else f"{len(fitting)} set-ups begin"
    raise InputError(f"{how} with {setup!r}; there are{lines}")


def readable_setup(about: dict[str, Any] | None) -> str:
    """Return a set-up for people: the engine, its net, the options and the plan."""
    if about is None:
        return "?"
    options = " ".join(f"{name}={value}" for name, value in about.get("options", {}).items())
    parts = [about.get("name", ""), about.get("net", ""), options, about.get("plan", "")]
    return ", ".join(part for part in parts if part)
