"""A journal of a job: what happened, one line an event, numbered from 1 without gaps.

It only grows. Who reads it from a number on misses nothing and sees nothing twice, also after the
server was started anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Event:
    """One line of a journal."""

    number: int
    """Its number, from 1."""
    kind: str
    """progress, rating, warning, state, done or failed."""
    data: Mapping[str, Any]
    """What it says."""


class Journal:
    """A journal on disk; one process writes it at a time, any may read."""

    def __init__(self, path: Path):
        self._path = path
        self._count: int | None = None

    def write(self, kind: str, **data: Any) -> int:
        """Add an event, and return its number."""
        if self._count is None:
            self._count = self._mend()
        self._count += 1
        line = json.dumps({"event": kind, **data}, ensure_ascii=False, allow_nan=False)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return self._count

    def forget_count(self) -> None:
        """Count anew before the next event: another process has written meanwhile."""
        self._count = None

    def _mend(self) -> int:
        """Drop a last line that a killed writer left half-written, and count the others."""
        if not self._path.exists():
            return 0
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with self._path.open("r+b") as file:
                file.truncate(whole)
        return data.count(b"\n", 0, whole)

    def read(self, after: int = 0) -> list[Event]:
        """Return the events behind a number."""
        return list(self.follow(after)[0])

    def tail(self, most: int = 1 << 15) -> list[Event]:
        """Return the last events, of about so many bytes; only the end of a journal is parsed."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        data = data[: data.rfind(b"\n") + 1]
        begin = 0 if len(data) <= most else data.index(b"\n", len(data) - most) + 1
        return list(_events(data[begin:], data.count(b"\n", 0, begin)))

    def follow(self, after: int, place: tuple[int, int] = (0, 0)) -> tuple[
        list[Event], tuple[int, int]
    ]:  # fmt: skip
        """Return the events behind a number, and the place to go on from.

        Parameters
        ----------
        after
            Events up to this number are left out.
        place
            What the last call returned: bytes and events before it are not read again.
        """
        offset, number = place
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], place
        whole = data.rfind(b"\n") + 1
        events = []
        for event in _events(data[:whole], number):
            number = event.number
            if event.number > after:
                events.append(event)
        return events, (offset + whole, number)


def _events(data: bytes, before: int) -> Iterator[Event]:
    for number, line in enumerate(data.splitlines(), start=before + 1):
        told = json.loads(line)
        yield Event(number, told.pop("event"), told)


def coalesced(events: list[Event]) -> list[Event]:
    """Return events with runs of progress shortened to the last of each run."""
    kinds = [*(event.kind for event in events[1:]), "end"]
    return [
        event
        for event, following in zip(events, kinds, strict=False)
        if event.kind != "progress" or following != "progress"
    ]
