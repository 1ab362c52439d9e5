"""A UCI engine as a process: raw bytes in and out, every answer within a time limit.

Bulk analysis reads an engine's output as it comes and takes it apart once, when the search is done;
python-chess, which understands every line as it arrives, costs 18 % of the engine's time where this
costs 0.4 % (measured for the design).
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from milepost.errors import EngineAnswerError, EngineDiedError, EngineTimeoutError

_READ_BYTES = 1 << 16
_OPTION = re.compile(
    r"^option name (?P<name>.+?) type (?P<type>\w+)(?: default(?: (?P<default>.*?))?)?"
    r"(?: (?:min|max|var) .*)?$"
)
DEFAULT_TIMEOUT = 10.0
"""Seconds within which an engine must answer anything but a search."""


class UciEngine:
    """A running engine; use it in a ``with`` statement."""

    def __init__(self, program: str | Path, *, timeout: float = DEFAULT_TIMEOUT):
        """Start the engine and let it introduce itself.

        Parameters
        ----------
        program
            The engine's program.
        timeout
            Seconds within which it must answer anything but a search.

        Raises
        ------
        EngineDiedError, EngineTimeoutError, EngineAnswerError
            If it cannot be started, or does not speak UCI.
        """
        self.program = str(program)
        self.timeout = timeout
        self.name = ""
        self.declared: dict[str, str | None] = {}
        self._waiting = b""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own engine, and no shell
                [self.program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is for us: we stop the engine ourselves
                bufsize=0,
            )
        except OSError as error:
            raise EngineDiedError(f"{self.program} cannot be started: {error.strerror}") from error
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        try:
            self._introduce()
        except BaseException:
            self.kill()
            raise

    def _introduce(self) -> None:
        self.send("uci")
        for line in self.read_until(b"uciok", self.timeout).decode("utf-8", "replace").splitlines():
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif match := _OPTION.match(line.strip()):
                self.declared[match["name"]] = match["default"]
        if not self.name:
            raise EngineAnswerError(f"{self.program} did not tell its name")

    def configure(self, options: Mapping[str, str]) -> None:
        """Set options.

        Raises
        ------
        EngineAnswerError
            If the engine has no such option: it would ignore it in silence.
        """
        self.check_options(options)
        for name, value in options.items():
            self.send(f"setoption name {name} value {value}")
        self.wait_ready()

    def check_options(self, options: Iterable[str]) -> None:
        """Raise `EngineAnswerError` if the engine lacks one of these options."""
        for name in options:
            if name not in self.declared:
                raise EngineAnswerError(f"{self.name} has no option {name!r}")

    def wait_ready(self) -> None:
        """Wait until the engine has done what it was told."""
        self.send("isready")
        self.read_until(b"readyok", self.timeout)

    def search(self, fen: str, limit: str, *, moves: Iterable[str] = (), timeout: float) -> bytes:
        """Search a position from a clean state, and return all that the engine printed.

        Parameters
        ----------
        fen
            The position; no history goes with it, so equal positions have equal values.
        limit
            What stands behind ``go``, such as ``depth 10``.
        moves
            Search only these moves.
        timeout
            Seconds after which the engine counts as hanging.

        Raises
        ------
        EngineDiedError, EngineTimeoutError
        """
        self.send("ucinewgame")
        self.wait_ready()
        self.send(f"position fen {fen}")
        only = " ".join(moves)
        self.send(f"go {limit} searchmoves {only}" if only else f"go {limit}")
        return self.read_until(b"bestmove", timeout)

    def send(self, text: str) -> None:
        """Send one line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{text}\n".encode())
            self._process.stdin.flush()
        except OSError as error:
            raise self._death() from error

    def read_until(self, word: bytes, timeout: float) -> bytes:
        """Read up to and with the first line that begins with `word`."""
        assert self._process.stdout is not None
        pieces = [self._waiting]
        give_up = time.monotonic() + timeout
        marker = re.compile(rb"^" + re.escape(word) + rb"\b[^\n]*\n", re.MULTILINE)
        tail = self._waiting
        while True:
            if match := marker.search(tail):
                whole = b"".join(pieces)
                end = len(whole) - len(tail) + match.end()
                self._waiting = whole[end:]
                return whole[:end]
            left = give_up - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                raise EngineTimeoutError(
                    f"{self.name or self.program} gave no {word.decode()} within {timeout:g} s"
                )
            piece = os.read(self._process.stdout.fileno(), _READ_BYTES)
            if not piece:
                raise self._death()
            pieces.append(piece)
            # The word may have been cut in two: its line begins after the last line end before.
            tail = tail[tail.rfind(b"\n") + 1 :] + piece

    def _death(self) -> EngineDiedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        how = "closed its output" if code is None else f"ended with code {code}"
        return EngineDiedError(f"{self.name or self.program} {how}")

    def terminate(self) -> None:
        """End the process from another thread; whoever waits for its answer gets an error."""
        self._process.kill()

    def kill(self) -> None:
        """End the process at once and let go of it."""
        self._selector.close()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> UciEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
