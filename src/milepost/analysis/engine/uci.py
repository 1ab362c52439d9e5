"""A UCI engine as a process: raw bytes in and out, every answer within a time limit; its options.

Bulk analysis reads an engine's output as it comes and takes it apart once, when the search is done;
python-chess, which understands every line as it arrives, costs 18 % of the engine's time where this
costs 0.4 % (measured for the design).

Engines ignore options and values that they do not know in silence, or end. Either would put
evaluations under a set-up that was never set up, so values are compared with the declaration.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from milepost.errors import (
    EngineAnswerError,
    EngineDiedError,
    EngineSilentError,
    EngineTimeoutError,
)

_READ_BYTES = 1 << 16
_MOST_BYTES = 1 << 26
"""More than any search prints: one that prints for ever shall not fill the memory."""
_MOST_OF_A_LINE = 1 << 20
_LAST_WORDS = 3
"""So many of the last lines that an engine printed are told when it ends."""
_REFUSED = {"UCI_Chess960": "false", "UCI_Variant": "chess"}
"""Options that would make another game of it, with the value that does not."""
DEFAULT_TIMEOUT = 10.0
"""Seconds within which an engine must answer anything but a search."""
SILENT_SECONDS = 30.0
"""Seconds within which a search must print something: engines tell of the first depth at once."""


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
        self.options: dict[str, UciOption] = {}
        """What it declares."""
        self._waiting = b""
        self._complaints = b""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own engine, and no shell
                [self.program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # an interrupt is for us: we stop the engine ourselves
                bufsize=0,
            )
        except OSError as error:
            raise EngineDiedError(f"{self.program} cannot be started: {error.strerror}") from error
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            self._selector.register(stream, selectors.EVENT_READ)
        try:
            self._introduce()
        except (EngineDiedError, EngineTimeoutError) as error:
            self.kill()
            raise type(error)(
                f"{self.program} does not speak UCI ({error}): give the path of a chess engine, "
                "such as Stockfish"
            ) from error
        except BaseException:
            self.kill()
            raise

    def _introduce(self) -> None:
        self.send("uci")
        for line in self.read_until(b"uciok", self.timeout).decode("utf-8", "replace").splitlines():
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif option := parse_option(line):
                self.options[option.name] = option
        if not self.name:
            raise EngineAnswerError(f"{self.program} did not tell its name")

    @property
    def declared(self) -> dict[str, str | None]:
        """The options that it has, with their default values."""
        return {name: option.default for name, option in self.options.items()}

    @property
    def most_lines(self) -> int:
        """The greatest MultiPV that it takes."""
        option = self.options.get("MultiPV")
        if option is None:
            return 1
        return sys.maxsize if option.most is None else option.most

    def configure(self, options: Mapping[str, str]) -> None:
        """Set options.

        Raises
        ------
        EngineAnswerError
            If the engine has no such option, or does not take the value: it would ignore it in
            silence.
        """
        for name, value in self.check_options(options).items():
            self.send(f"setoption name {name} value {value}")
        self.wait_ready()

    def check_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """Return the options with their values in one spelling.

        Raises
        ------
        EngineAnswerError
            If the engine lacks one of them, or does not take its value.
        """
        checked = {}
        for name, value in options.items():
            if name not in self.options:
                raise EngineAnswerError(f"{self.name} has no option {name!r}")
            checked[name] = self.options[name].checked(value)
            if checked[name].lower() != _REFUSED.get(name, checked[name].lower()):
                raise EngineAnswerError(f"option {name}: only standard chess is analysed")
        return checked

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
        return self.read_until(b"bestmove", timeout, silent=SILENT_SECONDS)

    def send(self, text: str) -> None:
        """Send one line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{text}\n".encode())
            self._process.stdin.flush()
        except OSError as error:
            raise self._death() from error

    def read_until(self, word: bytes, timeout: float, *, silent: float | None = None) -> bytes:
        """Read up to and with the first line that begins with `word`.

        `silent` is how long it may print nothing at first; `None` = as long as the timeout.
        """
        pieces = [self._waiting]
        begun = time.monotonic()
        # A timeout that is shorter than the patience ends a search like any other.
        quiet = silent is not None and silent < timeout
        patience = silent if quiet and silent is not None else timeout
        marker = re.compile(rb"^" + re.escape(word) + rb"\b[^\n]*\n", re.MULTILINE)
        tail = self._waiting
        size = len(tail)
        while True:
            if match := marker.search(tail):
                whole = b"".join(pieces)
                end = len(whole) - len(tail) + match.end()
                self._waiting = whole[end:]
                return whole[:end]
            allowed = timeout if size else patience
            left = begun + allowed - time.monotonic()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                said = f"{self.name or self.program} gave no {word.decode()} within {allowed:g} s"
                if quiet and not size:
                    raise EngineSilentError(f"{said}, nor anything else")
                raise EngineTimeoutError(said)
            piece = self._read_ready(ready, pieces)
            pieces.append(piece)
            size += len(piece)
            # The word may have been cut in two: its line begins after the last line end before.
            tail = tail[tail.rfind(b"\n") + 1 :] + piece
            if size > _MOST_BYTES or len(tail) > _MOST_OF_A_LINE:
                raise EngineAnswerError(f"{self.name or self.program} prints without end")

    def _read_ready(
        self, ready: list[tuple[selectors.SelectorKey, int]], before: list[bytes]
    ) -> bytes:
        """Read what came on standard output; what came on standard error is kept for later."""
        assert self._process.stdout is not None
        piece = b""
        for key, _ in ready:
            found = os.read(key.fd, _READ_BYTES)
            if key.fd == self._process.stdout.fileno():
                if not found:
                    raise self._death(b"".join(before[-_LAST_WORDS:]))
                piece = found
            elif found:
                self._complaints = (self._complaints + found)[-_READ_BYTES:]
            else:
                self._selector.unregister(key.fileobj)
        return piece

    def _death(self, printed: bytes = b"") -> EngineDiedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        how = "closed its output" if code is None else f"ended with code {code}"
        lines = self._last_complaints() or printed.splitlines()
        said = [line.decode("utf-8", "replace").strip() for line in lines]
        last = "; ".join([line for line in said if line][-_LAST_WORDS:])
        return EngineDiedError(f"{self.name or self.program} {how}{f': {last}' if last else ''}")

    def _last_complaints(self) -> list[bytes]:
        """What the engine wrote to standard error, as far as it is there without waiting."""
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            os.set_blocking(self._process.stderr.fileno(), False)
            self._complaints += os.read(self._process.stderr.fileno(), _READ_BYTES)
        return self._complaints.splitlines()

    def terminate(self) -> None:
        """End the process from another thread; whoever waits for its answer gets an error."""
        self._process.kill()

    def kill(self) -> None:
        """End the process at once and let go of it."""
        self._selector.close()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
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


_OPTION = re.compile(r"^option\s+name\s+(?P<name>.+?)\s+type\s+(?P<kind>\w+)(?P<rest>\s.*)?$")
_PART = re.compile(r"(?:^|\s)(default|min|max|var)(?=\s|$)")
_KINDS = ("spin", "check", "combo", "string", "button")


@dataclass(frozen=True)
class UciOption:
    """An option as the engine declares it."""

    name: str
    """Its name."""
    kind: str
    """spin, check, combo, string or button."""
    default: str | None = None
    """Its default value; `None` if it names none."""
    least: int | None = None
    """spin: the least value."""
    most: int | None = None
    """spin: the greatest value."""
    choices: tuple[str, ...] = ()
    """combo: the values."""

    def checked(self, value: str) -> str:
        """Return a value in the one spelling that the set-up keeps.

        Raises
        ------
        EngineAnswerError
            If the engine does not take such a value.
        """
        if self.kind == "spin":
            return self._checked_number(value)
        if self.kind == "check":
            if value.lower() not in ("true", "false"):
                raise self._refusal(value, "true or false")
            return value.lower()
        if self.kind == "combo" and self.choices:
            for choice in self.choices:
                if choice.lower() == value.lower():
                    return choice
            raise self._refusal(value, ", ".join(self.choices))
        if self.kind == "button":
            raise EngineAnswerError(f"{self.name} is a button: it has no value that could be kept")
        return value

    def _checked_number(self, value: str) -> str:
        least = "" if self.least is None else f" from {self.least}"
        most = "" if self.most is None else f" to {self.most}"
        wanted = f"a whole number{least}{most}"
        if not re.fullmatch(r"[+-]?\d{1,18}", value):
            raise self._refusal(value, wanted)
        number = int(value)
        too_small = self.least is not None and number < self.least
        if too_small or (self.most is not None and number > self.most):
            raise self._refusal(value, wanted)
        return str(number)

    def _refusal(self, value: str, wanted: str) -> EngineAnswerError:
        return EngineAnswerError(f"option {self.name}: expected {wanted}, got {value!r}")


def parse_option(line: str) -> UciOption | None:
    """Read a line by which an engine declares an option; `None` if it is no such line."""
    match = _OPTION.match(line.strip())
    if match is None or match["kind"] not in _KINDS:
        return None
    rest = (match["rest"] or "").strip()
    if match["kind"] == "string":  # any word may stand in a text
        named = rest == "default" or rest.startswith("default ")
        default = rest.removeprefix("default").strip() if named else None
        return UciOption(match["name"], "string", default)
    words = _PART.split(rest)
    # Between the words stand their values: ["", "default", " 16", "min", " 1", ...].
    parts = [(word, value.strip()) for word, value in zip(words[1::2], words[2::2], strict=True)]
    found = dict(parts)
    return UciOption(
        match["name"],
        match["kind"],
        found.get("default"),
        _number(found.get("min")),
        _number(found.get("max")),
        tuple(value for word, value in parts if word == "var"),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None
