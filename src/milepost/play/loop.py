"""The UCI loop: a reader that always answers, and a worker that thinks.

The reader is this process's first thread: it takes lines, answers ``uci``, ``isready`` and
``stop`` at once, and hands everything that takes time to the worker, in order. Nothing heavy is
imported before the first ``isready`` or ``go``.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from milepost import __version__
from milepost.errors import MilepostError, NoCalibrationError
from milepost.play.options import Option, declare
from milepost.play.protocol import Go, Position, read_go, read_option, read_position

if TYPE_CHECKING:
    from milepost.play.search import Job, Searcher

_REBUILDS = {
    "UCI_LimitStrength", "UCI_Elo", "OwnBook", "BookFile", "BookDepth", "Agent", "Calibration",
    "Plan", "Choice", "Seed", "Form", "SyzygyPath",
}  # fmt: skip
"""Options that make another bot."""
_PATIENT_SECONDS, _HASTY_SECONDS = 300.0, 10.0
"""How long the worker may take to end, at the end of the input and after ``quit``."""
_FILES = ("Agent", "BookFile", "Calibration", "SyzygyPath")
"""Options without which a bot can go on."""


class UciLoop:
    """Speaks UCI with a GUI."""

    def __init__(
        self,
        output: TextIO,
        *,
        given: Mapping[str, str] | None = None,
        engine: str | None = None,
        no_calibration: str = "",
    ):
        """Set the loop up; nothing is loaded.

        Parameters
        ----------
        output
            Where lines for the GUI go.
        given
            Options from the command line, by their UCI names.
        engine
            The inner engine's program.
        no_calibration
            What to tell beside the error where the engine has no calibration.
        """
        self.options: dict[str, Option] = declare(given or {})
        self.values = {name: option.default for name, option in self.options.items()}
        self._output = output
        self._engine = engine
        self._no_calibration = no_calibration
        self._writing = threading.Lock()
        self._tasks: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._position = Position()
        self._job: Job | None = None
        self._searcher: Searcher | None = None
        self._built: dict[str, str] = {}
        self._games = 0
        self._failed: str | None = None
        self._worker = threading.Thread(target=self._work, daemon=True)

    def say(self, line: str) -> None:
        """Send one line to the GUI; one that has gone is no error."""
        with self._writing, contextlib.suppress(OSError, ValueError):
            self._output.write(line + "\n")
            self._output.flush()

    def run(self, lines: Iterable[str]) -> int:
        """Take lines until ``quit`` or the end of the input; return the exit code."""
        self._worker.start()
        patience = _PATIENT_SECONDS  # at the end of the input all that was asked is answered
        for line in lines:
            if not self.take(line):
                patience = _HASTY_SECONDS
                break
        self._end(patience)
        return 1 if self._failed else 0

    def take(self, line: str) -> bool:
        """Take one line; return whether to go on."""
        words = line.split()
        while words:
            # UCI: a word that is not known is skipped, the rest may be known.
            action = getattr(self, f"_on_{words[0].lower()}", None) if words[0].isalpha() else None
            if action is not None:
                action(words[1:])
                break
            if words[0].lower() == "quit":
                return False
            words = words[1:]
        return self._failed is None

    def _on_uci(self, _: list[str]) -> None:
        self.say(f"id name Milepost {__version__}")
        self.say("id author the Milepost developers")
        for option in self.options.values():
            self.say(option.line)
        self.say("uciok")

    def _on_isready(self, _: list[str]) -> None:
        job = self._job
        if job is not None and self._searcher is not None:
            self.say("readyok")
            return

        def ready() -> None:
            self._load()
            if self._failed is None:
                self.say("readyok")

        self._tasks.put(ready)

    def _on_setoption(self, words: list[str]) -> None:
        found = read_option(words)
        if found is None:
            return
        name = next((each for each in self.options if each.lower() == found[0].lower()), None)
        if name is None:
            return  # UCI: unknown options are ignored
        value = self.options[name].read(found[1])
        if value is None:
            self.say(f"info string {name} does not take the value {found[1]}")
            return
        self.values = {**self.values, name: value}

    def _on_ucinewgame(self, _: list[str]) -> None:
        def begin() -> None:
            self._games += 1
            if self._searcher is not None:
                self._searcher.new_game(self._games)

        self._tasks.put(begin)

    def _on_position(self, words: list[str]) -> None:
        found = read_position(words)
        if found is not None:
            self._position = found

    def _on_go(self, words: list[str]) -> None:
        self._search(read_go(words))

    def _on_stop(self, _: list[str]) -> None:
        if self._job is not None:
            self._job.stop.set()

    def _on_ponderhit(self, _: list[str]) -> None:
        import time

        if self._job is not None:
            self._job.began = time.monotonic()
            self._job.hit.set()

    def _search(self, go: Go) -> None:
        from milepost.play.search import Job

        if self._job is not None:  # a GUI should have stopped it
            self._job.stop.set()
        job = Job(self._position, go, dict(self.values))
        self._job = job

        def search() -> None:
            self._load()
            if self._searcher is None or self._failed is not None:
                return
            try:
                self._searcher.run(job)
            except MilepostError as error:
                self.say(f"info string {error}")
                self.say("bestmove 0000")
            finally:
                if self._job is job:
                    self._job = None

        self._tasks.put(search)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception as error:
                self.say(f"info string {type(error).__name__}: {error}")

    def _load(self) -> None:
        """Make the bot that the options ask for, unless it is there."""
        wanted = {name: self.values[name] for name in _REBUILDS}
        if self._failed is not None or (self._searcher is not None and wanted == self._built):
            return
        from milepost.play.build import make_bot
        from milepost.play.search import Searcher

        self._built = wanted  # what cannot be made is not tried again and again
        try:
            bot = make_bot(self.values, self._engine)
            bot.start()
        except MilepostError as error:
            self._complain(error)
            files = {name: "" for name in _FILES if self.values[name]}
            if self._searcher is None and files and not isinstance(error, NoCalibrationError):
                self.say(f"info string going on without {', '.join(files)}")
                self._failed = None
                self.values = {**self.values, **files}
                self._load()
            return
        if bot.elo > bot.range[1]:
            plan, most = bot.minds[0].name, bot.range[1]
            self.say(f"info string {plan} plays at {most:.0f} at most, not at {bot.elo:.0f}")
        if self._searcher is not None:
            self._searcher.bot.close()
        self._searcher = Searcher(bot, self.say)
        self._searcher.new_game(self._games)

    def _complain(self, error: MilepostError) -> None:
        """Tell an error; without any bot to go on with there is nothing left to do."""
        text = str(error)
        if isinstance(error, NoCalibrationError) and self._no_calibration:
            text = f"{text}\n{self._no_calibration}"
        for line in text.splitlines():
            self.say(f"info string {line}")
        if self._searcher is None:
            self._failed = text  # the reader sees it at the next line
            sys.stderr.write(f"milepost: {text}\n")
            sys.stderr.flush()

    def _end(self, seconds: float) -> None:
        """Stop, let the last answer out, end the inner engine."""
        if self._job is not None:
            self._job.stop.set()
        self._tasks.put(None)
        self._worker.join(timeout=seconds)
        if self._searcher is not None:
            self._searcher.bot.close()


def main(given: Mapping[str, str], engine: str | None, no_calibration: str) -> int:
    """Speak UCI on standard input and output; return the exit code."""
    loop = UciLoop(sys.stdout, given=given, engine=engine, no_calibration=no_calibration)
    try:
        return loop.run(_lines())
    except KeyboardInterrupt:
        return 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()


def _lines() -> Iterable[str]:
    """Lines of standard input, whatever bytes they hold."""
    source: Any = sys.stdin.buffer
    while line := source.readline():
        yield line.decode("utf-8", "replace")
