"""How a long job tells how far it is: one record, one kind of callback, for all of Milepost.

A function that may take long has a parameter ``progress: Report | None = None`` and calls it with
a `Progress` now and then. What is shown is the caller's affair: the command line draws a bar
(`milepost.cli.show.progress`), a notebook may collect the records in a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    done: float
    """How much is done: turns, sweeps, bytes of input … as the function says."""
    total: float | None = None
    """How much there is to do; `None` if nobody knows."""
    note: str = ""
    """What else is worth knowing now, in words for people."""
    step: str = field(default="", kw_only=True)
    """What is being done, where a job has several steps that count different things."""
    unit: str = field(default="", kw_only=True)
    """With a step: what is counted; empty = only the share of the whole says something."""
    before: float = field(default=0, kw_only=True)
    """How much of `done` an earlier run did: it says nothing of the time that the rest takes."""


Report = Callable[[Progress], None]
"""A callback that takes the news."""


def step_of(report: Report | None, step: str, unit: str = "") -> Report | None:
    """Return a callback for one step of a job, which hands its news on as those of that step."""
    if report is None:
        return None
    return lambda news: report(replace(news, step=step, unit=unit))
