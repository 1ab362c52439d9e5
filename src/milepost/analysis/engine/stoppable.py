"""A search that can be stopped: by a time limit, by another thread, or by the engine's own death.

Bulk analysis needs whole searches only, so `UciEngine` throws an unfinished one away. Whoever must
answer in time wants what has been printed so far: the first depths of a deeper plan are a whole
search of a shallower one.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from milepost.analysis.engine.uci import UciEngine
from milepost.errors import EngineAnswerError, EngineError

_LOOK_SECONDS = 0.02
"""How often a search looks whether it shall end."""
_GRACE_SECONDS = 1.0
"""An engine that was told to stop must answer within this."""
_BESTMOVE = re.compile(rb"^bestmove\b[^\n]*\n", re.MULTILINE)
_NOTHING = b"bestmove 0000\n"
"""Put behind what an engine printed that did not come to its bestmove, so that it can be read."""


@dataclass(frozen=True)
class Printed:
    """What an engine printed during a search."""

    output: bytes
    """Its lines, with a bestmove at the end."""
    whole: bool
    """Whether the search came to its own end, neither stopped nor cut off."""


class StoppableEngine(UciEngine):
    """A running engine whose searches can be stopped; for one search at a time."""

    alive = True
    """Whether it has answered all that it was asked so far."""

    @property
    def process_id(self) -> int:
        """The number of its process."""
        return self._process.pid

    def search_until(
        self,
        fen: str,
        limit: str,
        *,
        moves: Iterable[str] = (),
        deadline: float | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Printed:
        """Search from a clean state until the limit, the deadline or a stop; never raises.

        Parameters
        ----------
        fen
            The position.
        limit
            What stands behind ``go``.
        moves
            Search only these moves.
        deadline
            By `time.monotonic`; None = none.
        stopped
            Asked again and again whether the search shall end.

        Returns
        -------
        Printed
            What was printed, complete lines only; `alive` is false if the engine died, or did not
            answer to being told to stop.
        """
        pieces: list[bytes] = []
        try:
            self.send("ucinewgame")
            self.wait_ready()
            self.send(f"position fen {fen}")
            only = " ".join(moves)
            self.send(f"go {limit} searchmoves {only}" if only else f"go {limit}")
            whole = self._collect(pieces, deadline, stopped or _never)
        except EngineError:
            self.alive = False
            whole = False
        output = b"".join(pieces)
        if not _BESTMOVE.search(output):
            output = output[: output.rfind(b"\n") + 1] + _NOTHING
        return Printed(output, whole)

    def _collect(
        self, pieces: list[bytes], deadline: float | None, stopped: Callable[[], bool]
    ) -> bool:
        """Read until the bestmove; return whether nobody stopped the search."""
        told_at: float | None = None
        tail = self._waiting
        pieces.append(tail)
        self._waiting = b""
        size = 0
        while _BESTMOVE.search(tail) is None:
            now = time.monotonic()
            if told_at is None and (stopped() or (deadline is not None and now >= deadline)):
                self.send("stop")
                told_at = now
            if told_at is not None and now > told_at + _GRACE_SECONDS:
                self.alive = False
                return False
            wait = _LOOK_SECONDS
            if told_at is None and deadline is not None:
                wait = max(min(wait, deadline - now), 0.0)
            ready = self._selector.select(wait)
            if not ready:
                continue
            piece = self._read_ready(ready, pieces)
            pieces.append(piece)
            size += len(piece)
            tail = tail[tail.rfind(b"\n") + 1 :] + piece
            if size > 1 << 26:
                raise EngineAnswerError(f"{self.name} prints without end")
        return told_at is None

    def close(self) -> None:
        """End the process; one that is dead already is no error."""
        with contextlib.suppress(OSError, ValueError):
            self.kill()


def _never() -> bool:
    return False
