"""Pages from templates: everything that is not ours is escaped, and numbers are told alike."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from milepost import __version__
from milepost.io.shown import interval_text

_TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
_MINUTE, _HOUR = 60, 3600
NAV = (
    ("/play", "Play"), ("/eras", "Eras"), ("/calibration", "Calibration"), ("/method", "Method"),
)  # fmt: skip
"""Pages that are reached from everywhere."""


def render(request: Request, template: str, **values: Any) -> HTMLResponse:
    """Return a page.

    Parameters
    ----------
    request
        What was asked.
    template
        The name of its template.
    **values
        What stands in it.
    """
    bench = request.app.state.bench
    text = (
        environment()
        .get_template(template)
        .render(
            path=request.url.path,
            nav=NAV,
            version=__version__,
            check_enabled=bench.settings.enable_check,
            **values,
        )
    )
    return HTMLResponse(text)


@cache
def environment() -> Environment:
    """Return the templates, with their filters."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "points": points, "interval": interval, "number": number, "percent": percent,
        "when": when, "lasting": lasting, "query": query, "decimal": decimal,
        "state_word": state_word, "day": day, "signed": signed,
        "python": python_text,
    }  # fmt: skip
    made.globals["footnotes_of"] = Footnotes
    return made


def python_text(value: str | Path) -> str:
    """Return a text or a path as Python code has it."""
    return repr(str(value))


class Footnotes:
    """Notes of a table's rows below it, each once: in the rows they would make them tall."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], name: str = "warnings"):
        self._name = name
        found = [note for row in rows for note in self._of(row)]
        self.notes = list(dict.fromkeys(found))
        """The different notes, in the order in which they come first."""

    def marks(self, row: Mapping[str, Any]) -> list[int]:
        """Return the numbers of a row's notes."""
        return [self.notes.index(note) + 1 for note in self._of(row)]

    def _of(self, row: Mapping[str, Any]) -> list[str]:
        text = row.get(self._name) or ""
        return [part for part in text.split("; ") if part]


def points(value: float | None) -> str:
    """Rating points, or a dash."""
    return decimal(value, 0)


def signed(value: float | None) -> str:
    """Points above or below something, or a dash."""
    return "–" if value is None else f"{round(value) + 0:+d}".replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """An interval in words; an endless side has no bound."""
    return interval_text(low, high).replace("-", "−")


def number(value: float | None, digits: int = 0) -> str:
    """A count with its thousands parted, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A figure with a real minus sign, or a dash."""
    # Adding nothing to what is rounded: minus nought is nought.
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent, or a dash."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def day(date: str | None) -> str:
    """A date of a game without its unknown parts; nothing if it is not known."""
    return (date or "").replace(".??", "").removeprefix("????")


def when(seconds: float) -> str:
    """A day."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%-d %B %Y")


def lasting(seconds: float | None) -> str:
    """How long something takes, in words."""
    if seconds is None:
        return ""
    if seconds < 2 * _MINUTE:
        return f"about {max(seconds, 1):.0f} seconds"
    if seconds < 2 * _HOUR:
        return f"about {seconds / _MINUTE:.0f} minutes"
    return f"about {seconds / _HOUR:.0f} hours"


def days_left(until: float) -> str:
    """How many days are left until a time."""
    days = max((until - time.time()) / 86_400, 0)
    return "today" if days < 1 else f"in {days:.0f} days"


def query(pairs: Any) -> str:
    """An address's question, from pairs; empty values are left out."""
    items = pairs.items() if isinstance(pairs, dict) else pairs
    return urlencode([(key, value) for key, value in items if value not in (None, "")])


_STATES = {
    "none": "not started", "waiting": "waiting for its turn", "running": "at work",
    "stopping": "stopping", "stopped": "stopped", "done": "done", "failed": "failed",
}  # fmt: skip


def state_word(state: str) -> str:
    """The state of a job, in words."""
    return _STATES.get(state, state)
