"""One job at a time, in a process of its own; its state is on disk and survives the server."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

from milepost.errors import EngineError
from milepost.web import work
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.shelf import WORKING, GameSet, Shelf
from milepost.web.settings import Settings

_LOOK_SECONDS = 0.2
_END_SECONDS = 20.0
"""How long a job may take to stop by itself."""
_CLEAN_SECONDS = 600.0

_log = logging.getLogger(__name__)


class Jobs:
    """The queue: who asked first is worked on first."""

    def __init__(self, settings: Settings, shelf: Shelf):
        self._settings = settings
        self._shelf = shelf
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._running: str | None = None
        self._cleaned: float | None = None
        self._thread = threading.Thread(target=self._loop, name="milepost-jobs", daemon=True)

    def begin(self) -> None:
        """Take up what an earlier server left, and begin to work."""
        for chosen in self._shelf.all():
            if chosen.job["state"] in {"running", "waiting"}:
                self._change(chosen, "waiting")
            elif chosen.job["state"] == "stopping":
                self._change(chosen, "stopped")
        self._thread.start()

    def end(self) -> None:
        """Stop working; a running job goes on when a server starts again."""
        self._ended.set()
        self._stop_process()
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS + 5)

    def start(
        self, chosen: GameSet, *, analyse: bool = True, look_at: str | None = None
    ) -> dict[str, Any]:
        """Start the job of a set, or let it go on; a running one is left alone.

        Parameters
        ----------
        chosen
            The set.
        analyse
            Let the engine score what is missing.
        look_at
            The key of a player: no more than a second look at the turns that cost most.
        """
        with self._lock:
            if chosen.job["state"] not in WORKING:
                chosen.tell_job(asked=time.time(), analyse=analyse, look_at=look_at)
                self._change(chosen, "waiting")
        return self.about(chosen)

    def stop(self, chosen: GameSet) -> dict[str, Any]:
        """Stop the job of a set; what is finished stays."""
        with self._lock:
            state = chosen.job["state"]
            if state == "waiting":
                self._change(chosen, "stopped")
            elif state == "running":
                self._change(chosen, "stopping", quietly=True)
                if self._running == chosen.id:
                    self._stop_process(wait=False)
        return self.about(chosen)

    def about(self, chosen: GameSet) -> dict[str, Any]:
        """Return what a job is doing: state, and the last news of each kind."""
        told = chosen.job
        answer: dict[str, Any] = {
            "id": chosen.id, "set": chosen.id, "state": told["state"],
            "error": told.get("error"), "phase": None, "done": None, "total": None, "rate": None,
            "eta": None, "last_event": 0,
        }  # fmt: skip
        for event in chosen.journal.tail():
            answer["last_event"] = event.number
            if event.kind == "progress":
                news = {name: event.data.get(name) for name in ("done", "total", "rate", "eta")}
                answer |= news | {"phase": event.data.get("phase")}
            elif event.kind == "state" and event.data.get("state") == "waiting":
                # What follows is another job: how far the last one was does not matter to it.
                answer |= dict.fromkeys(("phase", "done", "total", "rate", "eta"))
        return answer

    def delete(self, chosen: GameSet) -> None:
        """Stop the job of a set and remove the set.

        Raises
        ------
        RefusedError
            If the job does not stop.
        """
        self.stop(chosen)
        end = time.monotonic() + _END_SECONDS + 5
        while self._running == chosen.id:
            if time.monotonic() > end:
                raise RefusedError(409, "Still working", "The job does not stop: try again.")
            time.sleep(0.05)
        self._shelf.delete(chosen)

    def engine(self) -> str | None:
        """Return the engine's program; None = there is none."""
        from milepost.analysis.engine.setup import find_engine

        try:
            return str(find_engine(self._settings.engine))
        except EngineError:
            return None

    # The thread

    def _loop(self) -> None:
        troubled = False
        while not self._ended.is_set():
            try:
                worked = self._round()
            except OSError as error:
                # No more files to open, a folder that may not be read for a while: the queue
                # looks again. A thread that died here would leave all jobs waiting for ever.
                if not troubled:
                    _log.error("the queue cannot read its sets: %s", type(error).__name__)
                troubled, worked = True, False
            else:
                troubled = False
            if not worked:
                self._ended.wait(_LOOK_SECONDS)

    def _round(self) -> bool:
        """Clean if it is time, then work on the next set; false where none waits."""
        if self._cleaned is None or time.monotonic() - self._cleaned > _CLEAN_SECONDS:
            self._cleaned = time.monotonic()
            self._clean()
        chosen = self._next()
        if chosen is None:
            return False
        try:
            self._work(chosen)
        except OSError as error:
            _log.error("a job failed: %s", type(error).__name__)
            self._running = None
            self._finish(chosen, "failed", error="the job could not be started")
        return True

    def _clean(self) -> None:
        for chosen in self._shelf.expired():
            if chosen.job["state"] not in WORKING:
                self._shelf.delete(chosen)

    def _next(self) -> GameSet | None:
        waiting = [each for each in self._shelf.all() if each.job["state"] == "waiting"]
        return min(waiting, key=lambda each: each.job.get("asked", 0.0), default=None)

    def _work(self, chosen: GameSet) -> None:
        with self._lock:
            if chosen.job["state"] != "waiting":
                return
            self._change(chosen, "running")
            self._running = chosen.id
            chosen.path("failure.json").unlink(missing_ok=True)
            with chosen.path("log.txt").open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "milepost.web.work"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    start_new_session=True,
                )
            self._process = process
            assert process.stdin is not None
            process.stdin.write(json.dumps(self._order(chosen)).encode() + b"\n")
            process.stdin.flush()
        # Its standard input stays open as long as this server lives: see `milepost.web.work`.
        code = process.wait()
        process.stdin.close()
        with self._lock:
            self._process = None
            self._conclude(chosen, code)
            self._running = None

    def _order(self, chosen: GameSet) -> dict[str, Any]:
        limits = asdict(self._settings.limits)
        return {
            "set": str(chosen.folder),
            "store": str(self._settings.store),
            "engine": self.engine() if chosen.job.get("analyse", True) else None,
            "plan": self._settings.plan,
            "look_at": chosen.job.get("look_at"),
            "workers": self._settings.workers,
            "limits": {name: limits[name] for name in ("plies", "tag_letters")},
            "memory_bytes": limits["memory_bytes"],
            "niceness": limits["niceness"],
        }

    def _conclude(self, chosen: GameSet, code: int) -> None:
        if self._ended.is_set() and code != work.DONE:
            return  # still "running" on disk: the next server takes it up
        if code == work.DONE:
            self._finish(chosen, "done")
        elif code == work.STOPPED or chosen.job["state"] == "stopping":
            self._finish(chosen, "stopped")
        else:
            told = json.loads(_text(chosen) or "{}").get("text")
            error = told or "the job ended unexpectedly; start it again to go on"
            self._finish(chosen, "failed", error=error)

    def _finish(self, chosen: GameSet, state: str, error: str | None = None) -> None:
        chosen.tell_job(error=error)
        self._change(chosen, state)
        if state in {"done", "failed"}:
            chosen.journal.write(state, error=error)

    def _change(self, chosen: GameSet, state: str, *, quietly: bool = False) -> None:
        chosen.tell_job(state=state)
        if not quietly:  # while the job runs, its own process writes the journal
            chosen.journal.write("state", state=state)

    def _stop_process(self, *, wait: bool = True) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        timer = threading.Timer(_END_SECONDS, _kill, [process])
        timer.daemon = True
        timer.start()
        if wait:
            try:
                process.wait(_END_SECONDS + 1)
            except subprocess.TimeoutExpired:
                process.kill()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()


def _text(chosen: GameSet) -> str:
    path = chosen.path("failure.json")
    return path.read_text(encoding="utf-8") if path.exists() else ""
