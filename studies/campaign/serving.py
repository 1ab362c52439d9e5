"""A workbench that is sent one file: ``python -m studies.campaign.serving GAMES STORE FOLDER OUT``.

Starts `milepost serve` on the folder, sends the games unless a set of them is there, waits for its
job, and writes what the API tells of it. Killed at any moment, the next run has to tell the same.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import time
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

TOKEN = "only-for-the-campaign"  # noqa: S105


def _ask(home: str, path: str, data: bytes | None = None, kind: str = "") -> Any:
    headers = {"authorization": f"Bearer {TOKEN}"} | ({"content-type": kind} if kind else {})
    with urlopen(Request(home + path, data=data, headers=headers), timeout=60) as answer:  # noqa: S310
        return json.loads(answer.read())


def _send(home: str, games: Path) -> None:
    border = uuid.uuid4().hex
    parts = (("analyse", "", b"false"), ("file", f'; filename="{games.name}"', games.read_bytes()))
    body = b"".join(
        f'--{border}\r\ncontent-disposition: form-data; name="{name}"{more}\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, more, content in parts
    )
    _ask(
        home,
        "/api/v1/sets",
        body + f"--{border}--\r\n".encode(),
        f"multipart/form-data; boundary={border}",
    )


def _serve(words: list[str]) -> None:
    """Be `milepost serve`, with jobs that do not step back for other programs."""
    from milepost.cli.app import main as command_line
    from milepost.web.settings import Limits

    Limits.__init__.__defaults__ = tuple({**asdict(Limits()), "niceness": 0}.values())
    os.environ["MILEPOST_TOKEN"] = TOKEN
    sys.argv = ["milepost", *words]
    command_line()


def main() -> None:
    """Serve, send, wait, tell."""
    games, store, folder, out = map(Path, sys.argv[1:5])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = f"http://127.0.0.1:{port}"
    words = ["serve", "--no-browser", "--port", str(port), "--folder", str(folder), "-j", "1"]
    # A fork has everything imported; imports write nothing.
    server = multiprocessing.get_context("fork").Process(
        target=_serve, args=([*words, "--store", str(store)],)
    )
    server.start()
    try:
        while True:
            if server.exitcode is not None:
                sys.exit("the server ended before it answered")
            try:
                known = _ask(home, "/api/v1/sets")
                break
            except (URLError, ConnectionError):
                time.sleep(0.05)
        if not known:
            _send(home, games)
            known = _ask(home, "/api/v1/sets")
        name = known[0]["id"]
        while (job := _ask(home, f"/api/v1/jobs/{name}"))["state"] in ("waiting", "running"):
            time.sleep(0.05)
        told = _ask(home, f"/api/v1/sets/{name}/ratings")
        out.write_text(json.dumps([job["state"], told["rows"]]), encoding="utf-8")
    except KeyboardInterrupt:  # it strikes this program too, which stands for the user
        sys.exit(130)
    finally:
        server.terminate()
        server.join(60)


if __name__ == "__main__":
    main()
