"""Which engine, and set up how: everything that decides what values it gives."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from milepost.errors import EngineError

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
        return _program(given, f"--engine {given}")
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
        f"no engine found: give --engine, set {ENGINE_VARIABLE}, or install {DEFAULT_ENGINE} "
        f"(looked for it on the PATH and in {folders}; Debian: apt-get install stockfish)"
    )


def _program(name: str, said: str) -> Path:
    found = shutil.which(name) or next(
        (str(each / name) for each in GAMES_FOLDERS if os.access(each / name, os.X_OK)), None
    )
    if found is None or not Path(found).is_file():
        raise EngineError(f"{said}: there is no such program, or it may not be run")
    return Path(found)


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
            raise EngineError(f"--engine-option: expected Name=Value, got {text!r}")
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

    def as_json(self) -> str:
        """Return the set-up as text."""
        return json.dumps(
            {
                "name": self.name,
                "net": self.net,
                "options": dict(self.options),
                "plan": self.plan,
            },
            sort_keys=True,
            ensure_ascii=False,
        )


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
