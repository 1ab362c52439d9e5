"""A workbench for tests: six games of the sample, whose evaluations are stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.web.client import NO_ENGINE, TOKEN, make_client, send, wait_for

from milepost.web.settings import Limits, Settings


@pytest.fixture(scope="session")
def few_games(bundled_data: Path) -> bytes:
    """The first six games of the sample, as PGN."""
    text = (bundled_data / "sample" / "games.pgn").read_bytes()
    parts = text.split(b"[Event ")
    return b"[Event " + b"[Event ".join(parts[1:7])


@pytest.fixture(scope="session")
def stored(bundled_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample's evaluations."""
    folder = tmp_path_factory.mktemp("store") / "evaluations"
    shutil.copytree(bundled_data / "sample" / "evaluations", folder)
    return folder


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory, stored: Path) -> Settings:
    """Settings of a workbench without an engine."""
    return Settings(
        folder=tmp_path_factory.mktemp("workbench"), token=TOKEN, store_folder=stored,
        engine=NO_ENGINE, limits=Limits(niceness=0),
    )  # fmt: skip


@pytest.fixture(scope="session")
def client(settings: Settings) -> Iterator[TestClient]:
    """A browser that knows the token, at a running workbench."""
    with make_client(settings) as browser:
        yield browser


@pytest.fixture(scope="session")
def rated_set(client: TestClient, few_games: bytes) -> str:
    """The id of the six games, read and rated."""
    set_id = send(client, few_games)
    job = wait_for(client, set_id)
    assert job["state"] == "done", job
    return set_id
