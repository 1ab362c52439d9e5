"""How a long job tells how far it is: one record, one kind of callback, for all of Milepost.

A function that may take long has a parameter ``progress: Report | None = None`` and calls it with
a `Progress` now and then. What is shown is the caller's affair: the command line draws a bar
(`milepost.cli.show.progress`), a notebook may collect the records in a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    done: float
    """How much is done: turns, sweeps, bytes of input … as the function says."""
    total: float | None = None
    """How much there is to do; `None` if nobody knows."""
    note: str = ""
    """What else is worth knowing now, in words for people."""


Report = Callable[[Progress], None]
"""A callback that takes the news."""
