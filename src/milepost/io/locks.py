"""Locks between processes: one writer at a time, and a lock never outlives its process.

The operating system holds them (`filelock` asks it), so that a killed process leaves none behind.
On a disk that has no locks (some network file systems) the work goes on without one: two runs at
once are then the user's to avoid, which is better than no run at all.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from milepost.io.outputs import cannot_write

_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""What a file system without locks answers."""

_log = logging.getLogger(__name__)


class Lock:
    """A lock that is held until it is released, or until this object or the process ends."""

    def __init__(self, path: Path, *, wait: bool):
        """Take the lock.

        Parameters
        ----------
        path
            The file that stands for it; made if it is not there, and never removed.
        wait
            Wait for whoever holds it.

        Raises
        ------
        BlockingIOError
            If another process holds it, and we are not to wait.
        OSError
            If the file cannot be made.
        """
        if not path.parent.is_dir():  # filelock would make the folder
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        # Not a file that says "locked" by being there, which filelock would else fall back to: one
        # of those outlives a killed process.
        self._lock = filelock.FileLock(path, thread_local=False, fallback_to_soft=False)
        try:
            self._lock.acquire(timeout=-1 if wait else 0)
        except filelock.Timeout as error:
            raise BlockingIOError(errno.EAGAIN, "another run is writing there now") from error
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
                raise
            _log.warning("%s: this disk has no locks; make sure that nobody else writes", path)

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for other processes that write `path`, and keep them out until the end of the block.

    Raises
    ------
    OutputError
        If nothing may be written beside it.
    """
    try:
        lock = Lock(path.with_name(f".{path.name}.lock"), wait=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield
    finally:
        lock.release()
