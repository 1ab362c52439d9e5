"""Worker processes: they leave interrupts to their parent, and never outlive it.

This module imports next to nothing, so that a worker knows all this before it spends seconds on
importing what it works with.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold an interrupt (Ctrl-C) back until the end of the block.

    Processes that are started meanwhile hold it back for good: a worker that is interrupted while
    it imports would else print where it was.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """Prepare this process for work in a pool; given to the pool as its initializer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        watcher = threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True)
        watcher.start()


def _end_with(sentinel: int) -> None:
    """Wait for the end of the parent, then end at once.

    A parent that is killed cannot end its workers. They would wait for work for ever, since each
    holds the writing end of the pipe that its siblings read from. Linux could send a signal when
    the parent ends, but it does so already when the thread that started the worker ends.
    """
    connection.wait([sentinel])
    os._exit(1)  # nobody is left to be told
