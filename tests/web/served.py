"""A workbench in a process of its own, and a browser at it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from tests.web.client import TOKEN


def free_port() -> int:
    """Return a port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Served:
    """A running `milepost serve`."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, stderr: int | None = None) -> None:
        """Start it, and wait until it answers; messages go to `stderr`, if that is given."""
        command = [sys.executable, "-m", "milepost", "serve", "--no-browser", "--port",
                   str(self.port), "--folder", str(self.folder), "-j", "1",
                   *self.options]  # fmt: skip
        self.process = subprocess.Popen(
            command, env={**os.environ, "MILEPOST_TOKEN": TOKEN}, stdout=subprocess.DEVNULL,
            stderr=stderr,
        )  # fmt: skip
        for _ in range(1200):
            try:
                self.ask("/api/v1/sets")
            except (URLError, ConnectionError):
                assert self.process.poll() is None, "the server has ended"
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server does not answer")

    def ask(self, path: str) -> bytes:
        """Ask the API something, as a program."""
        asked = Request(f"{self.home}{path}", headers={"authorization": f"Bearer {TOKEN}"})  # noqa: S310
        with urlopen(asked) as answer:  # noqa: S310
            data: bytes = answer.read()
            return data

    def end(self, *, hard: bool = False) -> None:
        """Stop it, or kill it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL if hard else signal.SIGTERM)
            self.process.wait(60)
            self.process = None


def find_chromium() -> str:
    """Return Chromium's program; without one the test is skipped."""
    found = os.environ.get("CHROMIUM_EXECUTABLE") or shutil.which("chromium")
    if not found:
        pytest.skip("no Chromium: scripts/setup.sh browser installs Debian's")
    return found


def launch(playwright: Any) -> Any:
    """Start Debian's Chromium: no download, and without its sandbox only as root."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=find_chromium(), args=arguments)


def open_page(browser: Any, served: Served, **options: Any) -> Any:
    """Return a page that knows the token, and refuses to ask anybody else for anything."""
    context = browser.new_context(**options)
    outside: list[str] = []
    context.outside = outside

    def judge(route: Any) -> None:
        if route.request.url.startswith((served.home, "data:", "blob:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", judge)
    page = context.new_page()
    page.set_default_timeout(600_000)
    wrong: list[str] = []
    page.wrong = wrong
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{served.home}/?token={TOKEN}")
    return page
