"""A search that was asked for, and its one answer.

Two threads may answer: the worker that thinks, and the guard that watches the clock. The first
one does; what comes after is not sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from milepost.play.protocol import Go, Position

Say = Callable[[str], None]


@dataclass
class Job:
    """A search that was asked for."""

    position: Position
    """Where."""
    go: Go
    """How."""
    options: dict[str, str]
    """The options as they were then."""
    say: Say
    """Called with every line for the GUI."""
    began: float = field(default_factory=time.monotonic)
    """When our clock began to run."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set to end it."""
    stopped: float | None = None
    """When the GUI asked for its end."""
    hit: threading.Event = field(default_factory=threading.Event)
    """Set by ``ponderhit``."""
    thinking: threading.Event = field(default_factory=threading.Event)
    """Set when the worker has begun with it: all that it needs is loaded."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when it was answered."""
    move: str | None = None
    """What will be played, as soon as that is known."""
    _speaking: threading.Lock = field(default_factory=threading.Lock)

    @property
    def clocked(self) -> bool:
        """Whether our clock runs: not in analysis, nor while we ponder."""
        return not self.go.infinite and (not self.go.ponder or self.hit.is_set())

    @property
    def waits(self) -> bool:
        """Whether no answer may be sent before the GUI says so."""
        return not self.clocked and not self.stop.is_set()

    def end(self) -> None:
        """Ask for its end."""
        self.stopped = time.monotonic()
        self.stop.set()

    def tell(self, line: str) -> None:
        """Send a line, unless the search was answered."""
        with self._speaking:
            if not self.over.is_set():
                self.say(line)

    def answer(self, *lines: str) -> bool:
        """Send the last lines of the search; return False if it was answered before."""
        with self._speaking:
            if self.over.is_set():
                return False
            for line in lines:
                self.say(line)
            self.over.set()
            return True
