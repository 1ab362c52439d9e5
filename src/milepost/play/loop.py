"""The UCI loop: a reader that always answers, and a worker that thinks.

The reader is this process's first thread: it takes lines, answers ``uci``, ``isready`` and
``stop`` at once, and hands everything that takes time to the worker, in order. What is heavy is
loaded in the background as soon as ``uci`` was answered. A guard beside every search sees to it
that a move is out before the flag falls, also while that goes on (`milepost.play.guard`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from milepost import __version__
from milepost.errors import MilepostError, NoCalibrationError
from milepost.play.guard import guard
from milepost.play.jobs import Job
from milepost.play.options import EMPTY, Option, declare
from milepost.play.patience import Patience
from milepost.play.protocol import Go, Position, read_go, read_option, read_position

if TYPE_CHECKING:
    from milepost.api.play import Bot
    from milepost.play.search import Searcher

_REBUILDS = {
    "UCI_LimitStrength", "UCI_Elo", "OwnBook", "BookFile", "BookDepth", "Agent", "Calibration",
    "Plan", "Choice", "Seed", "Form", "SyzygyPath",
}  # fmt: skip
"""Options that make another bot."""
_PATIENT_SECONDS, _HASTY_SECONDS = 300.0, 10.0
"""How long the worker may take to end, at the end of the input and after ``quit``."""
_FILES = ("Agent", "BookFile", "Calibration", "SyzygyPath")
"""Options whose files a GUI may name wrongly while the bot goes on with those it had."""
_LOOK_SECONDS = 0.05
Maker = Callable[[Mapping[str, str], str | None], "Bot"]
"""Makes a bot as options and an inner engine have it."""


def _make_bot(values: Mapping[str, str], engine: str | None) -> Bot:
    from milepost.play.build import make_bot

    return make_bot(values, engine)


class UciLoop:
    """Speaks UCI with a GUI."""

    def __init__(
        self,
        output: TextIO,
        *,
        given: Mapping[str, str] | None = None,
        engine: str | None = None,
        no_calibration: str = "",
        make: Maker = _make_bot,
        leave: Callable[[], None] | None = None,
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
        make
            Makes the bot; not called before ``uci``, ``isready`` or ``go``.
        leave
            Called when there is no bot to play with and never will be: a GUI that waits for an
            answer sends no further line. None = the end comes with the next line.
        """
        self.options: dict[str, Option] = declare(given or {})
        self.values = {name: option.default for name, option in self.options.items()}
        self._output = output
        self._engine = engine
        self._no_calibration = no_calibration
        self._make = make
        self._leave = leave
        self._writing = threading.Lock()
        self._tasks: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._position = Position()
        self._job: Job | None = None
        self._searcher: Searcher | None = None
        self._built: dict[str, str] = {}
        self._games = 0
        self._failed: str | None = None
        self._loading = threading.RLock()
        self._patience = Patience(self.say)
        self._ending = threading.Event()
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._warming = threading.Thread(target=self._warm_up, daemon=True)

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
                self._ending.set()  # who leaves does not wait for what is being loaded
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
        if self._warming.ident is None:
            self._warming.start()

    def _on_isready(self, _: list[str]) -> None:
        job = self._job
        if job is not None and not job.over.is_set():  # UCI: a search is no reason to be silent
            self.say("readyok")
            return

        def ready() -> None:
            with self._patience.asked():
                self._load()
            if self._failed is None:
                self.say("readyok")

        self._tasks.put(ready)

    def _on_setoption(self, words: list[str]) -> None:
        found = read_option(words)
        if found is None:
            return
        name = next((each for each in self.options if each.lower() == found[0].lower()), None)
        if name is None:  # UCI: unknown options are ignored; but people misspell them
            self.say(f"info string there is no option {found[0]}")
            return
        value = self.options[name].read(found[1])
        if value is None:
            self.say(f"info string {name} does not take the value {found[1]}")
            return
        if bounded := self.options[name].bounded(found[1]):
            self.say(f"info string {bounded}")
        self.values = {**self.values, name: value}

    def _on_ucinewgame(self, _: list[str]) -> None:
        def begin() -> None:
            self._games += 1
            if self._searcher is not None:
                self._searcher.new_game(self._games)

        self._tasks.put(begin)

    def _on_position(self, words: list[str]) -> None:
        found = read_position(words)
        if found is None:
            self.say("info string position: expected startpos or fen; the old one stays")
        else:
            self._position = found

    def _on_go(self, words: list[str]) -> None:
        self._search(read_go(words))

    def _on_stop(self, _: list[str]) -> None:
        job = self._job  # the worker may take it away at any time
        if job is not None:
            job.end()

    def _on_ponderhit(self, _: list[str]) -> None:
        job = self._job
        if job is not None:
            job.began = time.monotonic()
            job.hit.set()

    def _search(self, go: Go) -> None:
        before = self._job
        if before is not None:  # a GUI should have stopped it
            before.end()
        job = Job(self._position, go, dict(self.values), self.say)
        self._job = job

        def search() -> None:
            try:
                with self._patience.asked():
                    self._load()
                if self._searcher is not None and self._failed is None:
                    self._searcher.run(job)
            except MilepostError as error:
                job.answer(f"info string {error}", "bestmove 0000")
            finally:
                if self._job is job:
                    self._job = None

        self._tasks.put(search)
        threading.Thread(target=guard, args=(job,), daemon=True).start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception as error:
                self.say(f"info string {type(error).__name__}: {error}")

    def _warm_up(self) -> None:
        """Load what a search needs, while the GUI sets its options."""
        import chess  # noqa: F401 - the guard needs it first

        with contextlib.suppress(Exception):  # told when a bot is asked for
            self._load(quiet=True)

    def _load(self, *, quiet: bool = False) -> None:
        """Make the bot that the options ask for, unless it is there.

        Parameters
        ----------
        quiet
            Nobody has asked for it yet: other options may come, so that an error means nothing.
        """
        while not self._loading.acquire(timeout=_LOOK_SECONDS):
            if self._ending.is_set():
                return
        try:
            self._load_alone(quiet=quiet)
        finally:
            self._loading.release()

    def _load_alone(self, *, quiet: bool) -> None:
        from milepost.kernels import when_compiling
        from milepost.play.build import LIGHT
        from milepost.play.search import Searcher  # heavy: meanwhile the GUI sets its options

        when_compiling(self._patience.compile)
        wanted = {name: self.values[name] for name in _REBUILDS}
        there = self._searcher is not None and wanted == self._built
        if self._failed is not None or there or self._ending.is_set():
            return
        before, self._built = self._built, wanted  # what fails is not tried again and again
        changed = _differ(wanted, before)
        try:
            if self._searcher is not None and changed <= LIGHT:
                self._adjust(self._searcher, changed)
                return
            bot = self._make({**self.values}, self._engine)
            bot.start()
        except MilepostError as error:
            if quiet:
                self._built = before
                return
            # What the GUI has set gives way to what was there before; what the command line asks
            # for does not: who names a file wants no game without it.
            known = {name: self.options[name].default for name in _FILES} | before
            files = {name: known[name] for name in _FILES if self.values[name] != known[name]}
            if not files or isinstance(error, NoCalibrationError):
                self._complain(error)
                return
            self._built, self.values = before, {**self.values, **self._leave_out(files, error)}
            self._load_alone(quiet=False)
            return
        self._tell_elo(bot)
        if self._searcher is not None:
            self._searcher.bot.close()
        self._searcher = Searcher(bot)
        self._searcher.new_game(self._games)
        if self._ending.is_set():
            bot.close()

    def _adjust(self, searcher: Searcher, changed: set[str]) -> None:
        """Let the bot that is there follow some options: nothing needs to be loaded for them."""
        from milepost.play.build import adjust_bot

        bot = searcher.bot
        if adjust_bot(bot, self.values):
            bot.new_game(self._games)
        if "UCI_Elo" in changed and self.values["Agent"]:
            self.say(f"info string the agent plays at its own Elo, {bot.elo:.0f}")
        elif changed & {"UCI_Elo", "UCI_LimitStrength"}:
            self._tell_elo(bot)

    def _tell_elo(self, bot: Bot) -> None:
        """Say at which Elo the bot plays, where that is not the one that was asked for."""
        asked = bot.elo  # of an agent: what is known of the person
        if not self.values["Agent"] and self.values["UCI_LimitStrength"] == "true":
            asked = float(self.values["UCI_Elo"])
        low, high = bot.range
        if not low <= asked <= high:
            plan, nearest = bot.minds[0].name, min(max(asked, low), high)
            self.say(
                f"info string {plan} plays at {low:.0f} to {high:.0f}: "
                f"at {nearest:.0f} now, not at {asked:.0f}"
            )

    def _leave_out(self, files: Mapping[str, str], error: MilepostError) -> dict[str, str]:
        """Say which of some new files cannot be used; return what those options go back to."""
        wrong = dict.fromkeys(files, error)
        if len(files) > 1:  # each by itself, beside the old ones: it may be one of them, or all
            alone: dict[str, MilepostError] = {}
            for name in files:
                others = {other: files[other] for other in files if other != name}
                try:
                    self._make({**self.values, **others}, self._engine).close()
                except MilepostError as own:
                    alone[name] = own
            wrong = alone or wrong
        for text in dict.fromkeys(str(each) for each in wrong.values()):
            kept = ", ".join(
                f"{name} {files[name] or EMPTY}" for name in wrong if str(wrong[name]) == text
            )
            self.say(f"info string {text}; going on with {kept}")
        return {name: files[name] for name in wrong}

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
            if self._leave is not None:
                self._leave()

    def _end(self, seconds: float) -> None:
        """Stop, let the last answer out, end the inner engine."""
        job = self._job
        if job is not None:
            job.stop.set()
        self._tasks.put(None)
        if self._ending.is_set() and (job is None or not job.thinking.is_set()):
            seconds = _LOOK_SECONDS  # it is loading at most, and an import cannot be interrupted
        self._worker.join(timeout=seconds)
        self._ending.set()
        if self._searcher is not None:
            self._searcher.bot.close()

    @property
    def busy(self) -> bool:
        """Whether something still runs that cannot be interrupted, such as an import."""
        return self._worker.is_alive() or self._warming.is_alive()


def _differ(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {name for name in one if one[name] != other.get(name)}


def main(given: Mapping[str, str], engine: str | None, no_calibration: str) -> int:
    """Speak UCI on standard input and output; return the exit code."""
    loop = UciLoop(
        sys.stdout,
        given=given,
        engine=engine,
        no_calibration=no_calibration,
        leave=lambda: os._exit(1),  # the reader waits for a line that may never come
    )
    code = 0
    try:
        code = loop.run(_lines())
    except KeyboardInterrupt:
        pass
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
    if loop.busy:
        os._exit(code)  # a GUI that asks for the options and leaves does not wait for imports
    return code


def _lines() -> Iterable[str]:
    """Lines of standard input, whatever bytes they hold."""
    source: Any = sys.stdin.buffer
    while line := source.readline():
        yield line.decode("utf-8", "replace")
