"""How the workbench says no: problem+json for programs (RFC 9457), a page for people.

The one place where errors become a status.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from milepost.errors import EngineError, InputError, MilepostError, NotAnalysedError, OutputError

_log = logging.getLogger(__name__)
MEDIA = "application/problem+json"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a request."""

    status: int
    """The status."""
    title: str
    """What kind of thing is wrong; the same words for all of its kind."""
    detail: str = ""
    """What is wrong here, and how to mend it."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as RFC 9457 wants it."""
        return {"type": "about:blank", "title": self.title, "status": self.status,
                "detail": self.detail}  # fmt: skip


class RefusedError(MilepostError):
    """A request cannot be answered; it carries the problem."""

    def __init__(self, status: int, title: str, detail: str = ""):
        super().__init__(f"{title}: {detail}")
        self.problem = Problem(status, title, detail)


def problem_of(error: Exception) -> Problem:
    """Return what to tell of an error; what is no error of the request is told without details."""
    if isinstance(error, RefusedError):
        return error.problem
    if isinstance(error, NotAnalysedError):
        return Problem(409, "Not analysed yet", "No turn of these games is evaluated yet.")
    if isinstance(error, InputError):
        return Problem(422, "Cannot be used", str(error))
    if isinstance(error, EngineError):
        return Problem(409, "No engine", "The engine of this server does not answer.")
    if isinstance(error, OutputError):
        return Problem(507, "Cannot be written", "The server cannot write to its folder.")
    _log.error("an error of the server: %s", type(error).__name__)
    return Problem(500, "An error of the server", "The terminal says more.")


def problem_response(problem: Problem, accept: str, path: str) -> Response:
    """Return a problem as JSON, or as a page where a browser asks for one."""
    if path.startswith("/api/") or "text/html" not in accept:
        return JSONResponse(problem.as_dict(), problem.status, media_type=MEDIA)
    return HTMLResponse(_page(problem), problem.status)


def _page(problem: Problem) -> str:
    title, text = escape(problem.title), problem.detail
    detail = escape(text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else "."))
    home = "" if problem.status in {401, 421} else '<p><a href="/">Back to the start</a></p>'
    word = escape(HTTPStatus(problem.status).phrase) if problem.status in set(HTTPStatus) else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title} · Milepost</title><link rel="stylesheet" href="/static/style.css"></head>'
        f'<body><main id="main"><h1>{title}</h1><p>{detail}</p>{home}'
        f'<p class="note">{problem.status} {word}</p></main></body></html>'
    )
