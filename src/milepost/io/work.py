"""Long jobs over many stretches of input: several processes, shards on disk, resumable.

Each stretch gives a few small tables, kept in a work folder beside the output until the whole job
is done. A job that was interrupted finds them there when the same command runs again, and does only
the rest.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from milepost import __version__
from milepost.errors import WorkerError
from milepost.io.files import make_folder
from milepost.io.locks import Lock
from milepost.io.outputs import cannot_write, is_stream
from milepost.io.processes import begin_worker, interrupts_held
from milepost.io.sources import Readable, Source

Frames = dict[str, pl.DataFrame]

_HELD_BYTES = 32 << 20
"""So much of the latest tables stays in memory: most jobs never read a shard again."""
_LOOK_SECONDS = 0.2
"""How often it is looked whether the user has interrupted."""


class Numbered(Protocol):
    """A task that knows its place in the job."""

    @property
    def number(self) -> int:
        """Its place, from 0; shards are kept under it."""
        ...


T = TypeVar("T", bound=Numbered)


class WorkFolder:
    """The shards of one job."""

    def __init__(self, output: str | Path, identity: dict[str, Any], *, resumable: bool = True):
        """Open the work folder of an output, and keep what an equal job has left there.

        Parameters
        ----------
        output
            The file that the job makes; one that makes a stream, such as standard output (``-``),
            works in the temporary folder and cannot be resumed.
        identity
            What the shards depend on. Shards of a job with another identity are thrown away.
        resumable
            Whether an earlier run's shards may be used.
        """
        self.resumed = 0
        self.kept = not is_stream(output)
        self._lock: Lock | None = None
        self._held: dict[int, Frames] = {}
        self._held_bytes = 0
        # Tables that need not be on disk, since the job cannot be resumed; None = all need.
        self._only_held: dict[int, Frames] | None = None if self.kept else {}
        self._room = _HELD_BYTES
        text = json.dumps({"version": __version__, **identity}, sort_keys=True, default=str)
        wanted = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if not self.kept:
            self.path = Path(tempfile.mkdtemp(prefix="milepost-"))
            return
        self.path = Path(f"{output}.work")
        identity_file = self.path / "job.sha256"
        try:
            make_folder(self.path)
            # Keeps a second run of the same command out.
            self._lock = Lock(self.path / "lock", wait=False)
            known = identity_file.read_text(encoding="utf-8") if identity_file.exists() else None
            if not resumable or known != wanted:
                for shard in self.path.glob("*.*"):
                    shard.unlink()
                identity_file.write_text(wanted, encoding="utf-8")
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self.resumed = len(list(self.path.glob("*.done")))

    def __getstate__(self) -> dict[str, Any]:
        """Workers get the folder without the lock and the tables, which are the parent's.

        They write to disk: what they held would not come back.
        """
        without: dict[str, Any] = {"_lock": None, "_held": {}, "_held_bytes": 0}
        return {**self.__dict__, **without, "_only_held": None}

    def is_done(self, number: int) -> bool:
        """Whether the shards of a task are there and whole."""
        held = self._only_held is not None and number in self._only_held
        return held or (self.path / f"{number:07d}.done").exists()

    def put(self, number: int, frames: Frames) -> None:
        """Keep the tables of a task.

        A job that cannot be resumed has no use for files, as long as there is room in memory.
        """
        if self._only_held is not None:
            self._room -= _bytes_of(frames)
            if self._room >= 0:
                self._only_held[number] = frames
                return
        try:
            for name, frame in frames.items():
                frame.write_ipc(self.path / f"{number:07d}.{name}.arrow")
            # The mark comes last: shards without it are made again.
            (self.path / f"{number:07d}.done").touch()
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._hold(number, frames)

    def _hold(self, number: int, frames: Frames) -> None:
        self._held[number] = frames
        self._held_bytes += _bytes_of(frames)
        while self._held_bytes > _HELD_BYTES:
            first = next(iter(self._held))
            self._held_bytes -= _bytes_of(self._held.pop(first))

    def get(self, number: int, name: str) -> pl.DataFrame:
        """Return one table of a task."""
        for held in (self._held, self._only_held or {}):
            if number in held:
                return held[number][name]
        return pl.read_ipc(self.path / f"{number:07d}.{name}.arrow")

    def close(self) -> None:
        """Let another run have the folder; the shards stay."""
        if self._lock is not None:
            self._lock.release()

    def remove(self) -> None:
        """Throw the shards away: the output is there."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _bytes_of(frames: Frames) -> int:
    return int(sum(frame.estimated_size() for frame in frames.values()))


def run_tasks(
    tasks: Iterable[T],
    function: Callable[[T], Frames],
    folder: WorkFolder,
    *,
    workers: int = 1,
) -> Iterator[T]:
    """Do every task that is not done yet, keep its tables, and yield the tasks in order.

    Parameters
    ----------
    tasks
        Made lazily: at most a few for each worker are held at a time.
    function
        A module-level function from a task to named tables.
    folder
        Where the tables are kept.
    workers
        Processes; with one, the work is done in this process.

    Raises
    ------
    WorkerError
        If a worker process dies. Finished tasks stay finished.
    """
    if workers <= 1:
        for task in tasks:
            if not folder.is_done(task.number):
                folder.put(task.number, function(task))
            yield task
        return
    # spawn: polars keeps threads, and a forked copy of them would hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker)
    waiting: deque[tuple[T, Future[None] | None]] = deque()
    finished = False
    try:
        for task in tasks:
            done = folder.is_done(task.number)
            future = None
            if not done:
                with interrupts_held():  # the first task starts the processes
                    future = pool.submit(_TaskRunner(function, folder), task)
            waiting.append((task, future))
            while len(waiting) > 3 * workers:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())
        finished = True
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died (out of memory?); run the same command again to go on"
        ) from error
    finally:
        if not finished:
            for process in list((pool._processes or {}).values()):
                process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _TaskRunner(Generic[T]):
    """Does a task in a worker process; the tables go to disk, not through the pipe."""

    function: Callable[[T], Frames]
    folder: WorkFolder

    def __call__(self, task: T) -> None:
        self.folder.put(task.number, self.function(task))


def _finished(task: T, future: Future[None] | None) -> T:
    if future is not None:
        # With a timeout, since an interrupt that another thread has taken does not wake this one.
        while not wait([future], timeout=_LOOK_SECONDS).done:
            pass
        future.result()
    return task


def source_identity(sources: Iterable[Source]) -> list[Any]:
    """Return what tells, without reading them, whether the inputs are still the same."""
    identity: list[Any] = []
    for source in sources:
        if source.path is None:
            identity.append([source.name, os.urandom(8).hex()])
        else:
            status = source.path.stat()
            identity.append([source.name, status.st_size, status.st_mtime_ns])
    return identity


class DigestingStream:
    """A byte stream that counts and, if wanted, digests all that is read through it."""

    def __init__(self, stream: Readable, *, digest: bool = True):
        self._stream = stream
        self._digest = hashlib.sha256() if digest else None
        self.bytes = 0

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes."""
        data = self._stream.read(size)
        if self._digest is not None:
            self._digest.update(data)
        self.bytes += len(data)
        return data

    def hexdigest(self) -> str | None:
        """Return the digest of everything read; `None` if none was wanted."""
        return self._digest.hexdigest() if self._digest is not None else None
