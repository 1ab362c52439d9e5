"""Run the workbench."""

from __future__ import annotations

import logging
import signal
import socket
import webbrowser
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from milepost.errors import OutputError
from milepost.io.locks import Lock
from milepost.web.settings import Settings

if TYPE_CHECKING:
    import uvicorn


def serve(
    settings: Settings, *, open_browser: bool = True, tell: Callable[[str], None] = print
) -> None:
    """Serve until the user stops it.

    Parameters
    ----------
    settings
        What it goes by.
    open_browser
        Whether to open the first page.
    tell
        Takes lines for the user.

    Raises
    ------
    OutputError
        If another workbench uses the folder, or the port is taken.
    """
    import uvicorn

    from milepost.web.app import create_app

    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        lock = Lock(settings.folder / "lock", wait=False)
    except OSError as error:
        raise OutputError(
            f"another workbench uses {settings.folder}: stop it, or take another folder"
        ) from error
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        raise OutputError(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror}; take another port"
        ) from error
    app = create_app(settings)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="on",
        h11_max_incomplete_event_size=65_536, timeout_keep_alive=10, limit_concurrency=100,
        timeout_graceful_shutdown=3,
    )  # fmt: skip
    logging.getLogger("milepost.web").setLevel(logging.INFO)
    tell(f"Milepost workbench: {settings.address}")
    tell(f"  keeps its sets in {settings.folder}; Ctrl-C stops it, and jobs go on next time")
    if open_browser:
        webbrowser.open(settings.address)
    server = uvicorn.Server(config)
    _hang_up_in_order(server)
    try:
        server.run(sockets=[listening])
    finally:
        lock.release()


def _hang_up_in_order(server: uvicorn.Server) -> None:
    """Let a terminal that is closed end the server as SIGTERM does, which uvicorn knows.

    An interrupt in the midst of its loop would leave threads behind that Python waits for.
    """
    number = getattr(signal, "SIGHUP", None)  # Windows has none
    before = signal.SIG_IGN if number is None else signal.getsignal(number)
    if number is None or before == signal.SIG_IGN:  # nohup wants it ignored
        return

    def hang_up(received: int, frame: FrameType | None) -> None:
        signal.signal(received, before)  # uvicorn raises it again when all is in order
        server.handle_exit(received, frame)

    signal.signal(number, hang_up)
