"""What a GUI that waits for the bot is told meanwhile: that it is being loaded, or compiled."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

LOADING_SECONDS = 3.0
"""A GUI that waits for longer is told why."""
_LOOK_SECONDS = 0.05
LOADING = "info string loading, a few seconds more"
COMPILING = "info string preparing for the first time: this takes about half a minute, once"
COMPILING_AGAIN = (
    "info string preparing: this takes about half a minute at every start, since nothing can be "
    "written to the cache folder"
)


class Patience:
    """Tells those who wait what they wait for, each thing once."""

    def __init__(self, say: Callable[[str], None]):
        """Begin with what sends a line."""
        self._say = say
        self._compiling = ""
        self._told: set[str] = set()

    def compile(self, kept: bool) -> None:
        """Take the news that code has to be compiled, and whether it can be kept."""
        self._compiling = COMPILING if kept else COMPILING_AGAIN

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Somebody waits until the end of the block."""
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()  # nothing is told behind the answer

    def _watch(self, over: threading.Event) -> None:
        began = time.monotonic()
        while not over.wait(_LOOK_SECONDS):
            if self._compiling:
                self._tell(self._compiling)
            elif time.monotonic() - began > LOADING_SECONDS:
                self._tell(LOADING)

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._say(line)
