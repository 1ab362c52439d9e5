"""Which engine, and set up how: everything that decides what values it gives.

A store keeps one readable file a set-up; users name the one they mean by the start of its digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milepost.errors import EngineError, InputError, SeveralSetupsError

ENGINE_VARIABLE = "STOCKFISH_EXECUTABLE"
DEFAULT_ENGINE = "stockfish"
# Debian puts games where the PATH of root and of services does not look.
GAMES_FOLDERS = (Path("/usr/games"), Path("/usr/local/games"))

_NET_OPTIONS = ("EvalFile", "WeightsFile", "EvalFileSmall")
"""Options in which engines name their net; it belongs to the set-up even if it is the default."""


def find_engine(given: str | None = None) -> Path:
    """Return the engine's program.

    Looked for in this order: the name or path given, the environment variable
    STOCKFISH_EXECUTABLE, ``stockfish`` on the PATH, and in Debian's folder for games.

    Raises
    ------
    EngineError
        If there is none; the message says where it was looked for.
    """
    if given is not None:
        return _program(given, f"the engine {given}")
    named = os.environ.get(ENGINE_VARIABLE)
    if named:
        return _program(named, f"{ENGINE_VARIABLE}={named}")
    found = shutil.which(DEFAULT_ENGINE)
    candidates = [Path(found)] if found else [each / DEFAULT_ENGINE for each in GAMES_FOLDERS]
    for path in candidates:
        if os.access(path, os.X_OK) and path.is_file():
            return path
    folders = ", ".join(map(str, GAMES_FOLDERS))
    raise EngineError(
        f"no engine found: name one, set {ENGINE_VARIABLE}, or install {DEFAULT_ENGINE} "
        f"(looked for it on the PATH and in {folders}; Debian: apt-get install stockfish)"
    )


def _program(name: str, said: str) -> Path:
    found = shutil.which(name) or next(
        (str(each / name) for each in GAMES_FOLDERS if os.access(each / name, os.X_OK)), None
    )
    if found is None or not Path(found).is_file():
        raise EngineError(
            f"{said}: there is no such program, or it may not be run; give the path of a UCI "
            f"engine, or none to use {DEFAULT_ENGINE} (Debian: apt-get install stockfish)"
        )
    return Path(found).absolute()  # a path forgets the ./ that keeps a name from being looked for


def parse_engine_options(texts: Iterable[str]) -> dict[str, str]:
    """Read options of the form ``Name=Value``.

    Raises
    ------
    EngineError
        If one is not of that form.
    """
    options: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise EngineError(f"an engine option is Name=Value, got {text!r}")
        options[name.strip()] = value.strip()
    return options


@dataclass(frozen=True)
class EngineSetup:
    """All that decides the values: two equal set-ups give equal values."""

    name: str
    """The engine's own name and version, as it says itself."""
    net: str
    """Its net's file name, or an empty text if it names none."""
    options: tuple[tuple[str, str], ...]
    """The UCI options that were set, sorted by name."""
    plan: str
    """The search plan with its numbers."""

    @property
    def digest(self) -> str:
        """The key under which its evaluations are stored."""
        return hashlib.sha256(self.as_json().encode("utf-8")).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Return the set-up as its file in a store holds it."""
        return {
            "name": self.name,
            "net": self.net,
            "options": dict(self.options),
            "plan": self.plan,
        }

    def as_json(self) -> str:
        """Return the set-up as text."""
        return json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=False)


def make_setup(
    name: str, declared: Mapping[str, str | None], options: Mapping[str, str], plan: str
) -> EngineSetup:
    """Return the set-up of an engine that was asked for its name and options.

    Parameters
    ----------
    name
        What it answered to ``uci``.
    declared
        Its options with their default values.
    options
        The options that are set.
    plan
        The search plan with its numbers.
    """
    nets = [options.get(net) or declared.get(net) or "" for net in _NET_OPTIONS if net in declared]
    net = " ".join(Path(each).name for each in nets if each and each != "<empty>")
    return EngineSetup(name, net, tuple(sorted(options.items())), plan)


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
    except (ValueError, RecursionError):
        known = None
    return None if isinstance(known, dict) else "no set-up"


def choose_setup(stored: list[str], about: dict[str, dict[str, Any]], setup: str | None) -> str:
    """Return the stored set-up whose plan is `setup`, or that begins with it, or the only one.

    Raises
    ------
    SeveralSetupsError
        If none is named and there are several, with a list of them.
    InputError
        If none or several fit, with the list too.
    """
    known = sorted(stored)
    fitting = known if setup is None else [each for each in known if each.startswith(setup)]
    if setup is not None and not fitting:
        fitting = [each for each in known if _plan_name(about.get(each)) == setup]
    if len(fitting) == 1:
        return fitting[0]
    if not known:
        raise InputError("there are no evaluations: analyse the games first")
    lines = "".join(f"\n  {each}  {readable_setup(about.get(each))}".rstrip() for each in known)
    if setup is None:
        raise SeveralSetupsError(
            f"there are {len(known)} set-ups: choose one by its plan or its key{lines}"
        )
    how = f"{len(fitting)} set-ups fit" if fitting else "no plan or key of a set-up fits"
    raise InputError(f"{how} {setup!r}; there are{lines}")


def _plan_name(about: dict[str, Any] | None) -> str:
    """The name of the plan of a set-up, such as quick."""
    return str((about or {}).get("plan", "")).partition(" ")[0]


def readable_setup(about: dict[str, Any] | None) -> str:
    """Return a set-up for people: the engine, its net, the options and the plan."""
    if about is None:
        return "?"
    options = " ".join(f"{name}={value}" for name, value in about.get("options", {}).items())
    parts = [about.get("name", ""), about.get("net", ""), options, about.get("plan", "")]
    return ", ".join(part for part in parts if part)
