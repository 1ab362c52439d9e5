"""Schemathesis over the OpenAPI: whatever a program sends, no error of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient
from tests.web.client import HOME, NO_ENGINE, TOKEN

from milepost.web.app import bare_app
from milepost.web.settings import Settings

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The application without its guard, whose jobs never begin."""
    folder = tmp_path_factory.mktemp("openapi")
    return bare_app(Settings(folder=folder / "bench", token=TOKEN, engine=NO_ENGINE))


def test_no_request_breaks_the_server(app: Any) -> None:
    """A dozen requests to every operation, always the same ones."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    folder: Path = app.state.bench.settings.folder
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/events", "/sample")):
            continue  # one never ends, the other makes a set

        @given(case=operation.as_strategy())
        @settings(max_examples=12, derandomize=True, deadline=None,
                  phases=[Phase.explicit, Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        def send(case: Any) -> None:
            answer = case.call()
            assert answer.status_code < 500, f"{case.method} {case.path}: {answer.text}"
            if answer.status_code >= 400:
                assert answer.headers["content-type"][0] == "application/problem+json"

        send()
        tried.append(operation.label)
    assert len(tried) > 20
    assert {path.name for path in folder.parent.iterdir()} == {"bench"}


def test_the_description_has_every_route(app: Any) -> None:
    paths = TestClient(app, base_url=HOME).get("/api/v1/openapi.json").json()["paths"]
    wanted = {
        "/api/v1/sets", "/api/v1/sets/{set_id}", "/api/v1/sets/{set_id}/jobs",
        "/api/v1/jobs/{set_id}", "/api/v1/jobs/{set_id}/events", "/api/v1/sets/{set_id}/ratings",
        "/api/v1/sets/{set_id}/players/{player_id}", "/api/v1/sets/{set_id}/games/{game_id}/turns",
        "/api/v1/histories/{history_id}/rank", "/api/v1/histories/{history_id}/predict",
        "/api/v1/sets/{set_id}/check", "/api/v1/calibrations", "/api/v1/move", "/api/v1/play",
    }  # fmt: skip
    assert wanted <= set(paths)
