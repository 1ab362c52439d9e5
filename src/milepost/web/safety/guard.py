"""Who may ask, and what: names, token, origin, size; and what every answer says to the browser.

A page of another site can make a browser send requests to this machine. So a request must call us
by a name of ours (else a foreign name could be pointed here), bring the token that the terminal
printed (as a cookie that no other site can use, or as a bearer token), and, if it changes
something, come from a page of ours.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from milepost.web.safety.problems import Problem, problem_response
from milepost.web.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""Nothing from outside, nothing inline, in nobody's frame."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Not no-referrer: with that, browsers hide the origin of our own forms as well.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
_SAFE = {"GET", "HEAD", "OPTIONS"}
_OPEN = ("/static/",)
"""Style and script hold no secret, and the page that asks for the token needs them."""
_UPLOADS = ("/api/v1/sets", "/sets")
"""Where files come in."""


class Guard:
    """Stands before the application, and lets nothing else through."""

    def __init__(self, app: App, settings: Settings):
        self._app = app
        self._settings = settings
        self._cookie = f"milepost-{settings.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1")
                   for name, value in scope["headers"]}  # fmt: skip
        sending = _Headed(send, scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            response = problem_response(refusal, headers.get("accept", ""), scope["path"])
            await response(scope, receive, sending)
            return
        entering = self._entering(scope)
        if entering is not None:
            await self._let_in(entering, sending)
            return
        limited = _Limited(receive, self._most_bytes(scope))
        await self._app(scope, limited, sending)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Problem | None:
        if headers.get("host", "").lower() not in self._settings.origins:
            return Problem(421, "Not a name of this server",
                           "Open the address that the terminal shows.")  # fmt: skip
        if scope["method"] not in _SAFE and not self._is_ours(headers):
            return Problem(403, "From another site",
                           "Only pages of this server may change something here, and programs "
                           "that send its token (docs/workbench.md).")  # fmt: skip
        path = scope["path"]
        if path.startswith(_OPEN) or self._entering(scope) is not None:
            return None
        if not self._knows_token(headers):
            return Problem(401, "Token needed",
                           "Open the address that the terminal shows when the server starts: it "
                           "holds the token.")  # fmt: skip
        length = headers.get("content-length", "0")
        most = self._most_bytes(scope)
        return too_large(most) if not length.isdigit() or int(length) > most else None

    def _is_ours(self, headers: dict[str, str]) -> bool:
        """Whether a request that changes something comes from a page of ours, or from no page."""
        origin, fetch = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None:
            scheme, _, host = origin.partition("://")
            if scheme not in {"http", "https"} or host.lower() != headers["host"].lower():
                return False
        if fetch is not None and fetch not in {"same-origin", "none"}:
            return False
        # A browser sends one of the two. A program that sends neither must bring the token itself.
        return origin is not None or fetch is not None or self._bearer(headers)

    def _knows_token(self, headers: dict[str, str]) -> bool:
        if self._bearer(headers):
            return True
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self._cookie and self._is_token(value):
                return True
        return False

    def _bearer(self, headers: dict[str, str]) -> bool:
        kind, _, value = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._is_token(value.strip())

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self._settings.token.encode())

    def _entering(self, scope: Scope) -> str | None:
        """Where to go, without the token, if the address holds the right one."""
        if scope["method"] != "GET" or b"token=" not in scope["query_string"]:
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(name == "token" and self._is_token(value) for name, value in pairs):
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        # One stroke only at its start: with two, the browser would take a path for a host.
        path = "/" + scope["path"].lstrip("/\\")
        return f"{path}?{rest}" if rest else path

    async def _let_in(self, path: str, send: Send) -> None:
        cookie = f"{self._cookie}={self._settings.token}; HttpOnly; SameSite=Strict; Path=/"
        location = path.encode("ascii", "ignore").replace(b"\r", b"").replace(b"\n", b"")
        headers = [(b"location", location), (b"set-cookie", cookie.encode()),
                   (b"content-length", b"0")]  # fmt: skip
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _most_bytes(self, scope: Scope) -> int:
        limits = self._settings.limits
        takes_file = scope["method"] == "POST" and scope["path"] in _UPLOADS
        # Some room for what stands around the file.
        return limits.packed_bytes + 65_536 if takes_file else limits.body_bytes


def too_large(most: int) -> Problem:
    """Return what is said to a request that is too long."""
    return Problem(413, "Too large", f"A request here may have {most:,} bytes at most.")


class TooLargeError(Exception):
    """More came than was announced, and more than may come."""


class _Limited:
    """Counts what comes in; the length that a request announces may be a lie."""

    def __init__(self, receive: Receive, most: int):
        self._receive = receive
        self._most = most
        self._seen = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._most:
            raise TooLargeError(self._most)
        return message


class _Headed:
    """Adds to every answer what browsers must know."""

    def __init__(self, send: Send, scope: Scope):
        self._send = send
        self._static = scope["path"].startswith("/static/")

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            known = {name.lower() for name, _ in headers}
            add = dict(HEADERS)
            add["cache-control"] = "no-cache" if self._static else "no-store"
            headers += [(name.encode(), value.encode()) for name, value in add.items()
                        if name.encode() not in known]  # fmt: skip
            message["headers"] = headers
        await self._send(message)
