"""The shelf of sets: a private folder for each, named by the digest of what came in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from milepost.io.files import write_text
from milepost.web.safety.problems import RefusedError
from milepost.web.safety.uploads import plain_title, receive_file
from milepost.web.sets.journal import Journal
from milepost.web.settings import Settings

_ID = re.compile(r"[0-9a-f]{16}")
_DAY = 86_400.0
WORKING = ("waiting", "running", "stopping")
"""States of a job that is not at rest."""


@dataclass(frozen=True)
class GameSet:
    """One set on disk."""

    folder: Path
    """Where it lies; its name is the id."""

    @property
    def id(self) -> str:
        """Digest of what came in."""
        return self.folder.name

    @property
    def about(self) -> dict[str, Any]:
        """What is known since it came in: kind, title, created, file, map …"""
        return read_json(self.folder / "set.json")

    def tell(self, **more: Any) -> None:
        """Add to what is known."""
        write_json(self.folder / "set.json", {**self.about, **more})

    @property
    def job(self) -> dict[str, Any]:
        """The state of its job."""
        return read_json(self.folder / "job.json") or {"state": "none"}

    def tell_job(self, **more: Any) -> None:
        """Change the state of its job."""
        write_json(self.folder / "job.json", {**self.job, **more})

    @property
    def counts(self) -> dict[str, Any]:
        """What was found in it; written by the job."""
        return read_json(self.folder / "counts.json")

    @property
    def input(self) -> Path:
        """The file that came in, unpacked."""
        return self.folder / f"input{self.about.get('ending', '.pgn')}"

    @property
    def journal(self) -> Journal:
        """What happened to its job."""
        return Journal(self.folder / "journal.ndjson")

    def path(self, name: str) -> Path:
        """Return where something of it lies; the name is one of ours."""
        return self.folder / name


class Shelf:
    """All sets of a workbench."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self.folder = settings.folder / "sets"
        """Where they lie."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.folder.chmod(0o700)
        for left in self.folder.glob(".new-*"):  # of a server that was killed
            shutil.rmtree(left, ignore_errors=True)

    def add(
        self, file: BinaryIO, name: str, *, mapping: str = "", more: Mapping[str, Any] | None = None
    ) -> tuple[GameSet, bool]:
        """Take a file in; return its set, and whether it is new.

        Raises
        ------
        RefusedError
            If it cannot be used.
        """
        new = self.folder / f".new-{os.getpid()}-{time.monotonic_ns()}"
        new.mkdir(mode=0o700)
        try:
            received = receive_file(file, name, new / "input", self._settings.limits)
            salt = f"{received.kind} {mapping} {received.digest}"
            identity = hashlib.sha256(salt.encode()).hexdigest()[:16]
            target = self.folder / identity
            if target.exists():
                return GameSet(target), False
            (new / "input").rename(new / f"input{received.ending}")
            write_json(
                new / "set.json",
                {
                    "kind": received.kind,
                    "title": plain_title(name),
                    "file": plain_title(name),
                    "created": time.time(),
                    "ending": received.ending,
                    "bytes": received.bytes,
                    "sha256": received.digest,
                    "map": mapping,
                    **(more or {}),
                },
            )
            new.rename(target)
            return GameSet(target), True
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def get(self, identity: str) -> GameSet:
        """Return a set by its id.

        Raises
        ------
        RefusedError
            If there is none.
        """
        # An id is checked before it becomes part of a path.
        if _ID.fullmatch(identity) and (self.folder / identity / "set.json").is_file():
            return GameSet(self.folder / identity)
        raise RefusedError(404, "No such set", "It was deleted, has expired, or never was.")

    def all(self) -> list[GameSet]:
        """Return all sets, newest first."""
        try:
            sets = [GameSet(path) for path in self.folder.iterdir() if _ID.fullmatch(path.name)]
        except FileNotFoundError:  # somebody removed the folder while the server runs
            return []
        return sorted(sets, key=lambda each: (-each.about.get("created", 0.0), each.id))

    def delete(self, chosen: GameSet) -> None:
        """Remove all files of a set."""
        gone = self.folder / f".new-gone-{chosen.id}-{time.monotonic_ns()}"
        chosen.folder.rename(gone)  # from now on nobody finds it
        shutil.rmtree(gone)

    def expired(self) -> list[GameSet]:
        """Return the sets whose time is over."""
        now = time.time()
        return [each for each in self.all() if self.expires(each) < now]

    def expires(self, chosen: GameSet) -> float:
        """Return when a set will be deleted, in seconds since 1970."""
        about = chosen.about
        end = about.get("created", 0.0) + _DAY * self._settings.expiry_days
        if "checked" in about:
            end = min(end, about["checked"] + _DAY * self._settings.check_days)
        return float(end)


def read_json(path: Path) -> dict[str, Any]:
    """Read a small file of ours; empty if it is not there."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a small file, whole or not at all."""
    write_text(path, json.dumps(dict(values), ensure_ascii=False, allow_nan=False) + "\n")
