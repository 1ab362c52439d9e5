"""A client of a workbench under test."""

from __future__ import annotations

import time

from starlette.testclient import TestClient

from milepost.web.app import create_app
from milepost.web.settings import Settings

TOKEN = "a-token-for-tests-only"  # noqa: S105
HOME = "http://127.0.0.1:8765"
NO_ENGINE = "no-such-engine-anywhere"


def make_client(settings: Settings) -> TestClient:
    """Return a client with the token in its cookie."""
    return TestClient(
        create_app(settings),
        base_url=HOME,
        cookies={"milepost-8765": TOKEN},
        headers={"origin": HOME},
        raise_server_exceptions=False,
    )


def send(browser: TestClient, data: bytes, name: str = "games.pgn", **fields: str) -> str:
    """Send a file, and return the id of its set."""
    answer = browser.post("/api/v1/sets", files={"file": (name, data)}, data=fields)
    assert answer.status_code in {200, 201}, answer.text
    return str(answer.json()["id"])


def wait_for(browser: TestClient, set_id: str, *states: str) -> dict[str, object]:
    """Wait until a job is at rest, or in one of some states; it fails if it never is."""
    for _ in range(6000):
        job: dict[str, object] = browser.get(f"/api/v1/jobs/{set_id}").json()
        if job["state"] in (states or ("done", "stopped", "failed")):
            return job
        time.sleep(0.1)
    raise AssertionError(f"the job is still {job}")
