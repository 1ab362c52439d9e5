"""What all tests share: where the real data lies, and which tests are slow."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parents[1]

# As on the command line: one thread of linear algebra. Set before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# One token for all Ray clusters of a process: Ray keeps the first that it has seen, or that there
# was none, so it must stand before any test of any folder wakes Ray.
os.environ["RAY_AUTH_MODE"] = "token"
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

# The same examples in every run: a failure in CI can be had again here.
settings.register_profile("same", derandomize=True, deadline=None)  # no wall time in a test
settings.load_profile("same")


SLOW = PROJECT / "tests" / "slow.txt"
"""Tests that take more than a moment, as measured: `make slow` writes it anew."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the time of every test be written to a folder, a file a process."""
    parser.addoption("--times", metavar="DIR", help="write the processor time of every test there")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and what needs an engine or a cluster."""
    slow = set(SLOW.read_text(encoding="utf-8").split())
    for item in items:
        name = item.nodeid.split("[")[0]
        if name in slow:
            item.add_marker(pytest.mark.slow)
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"engine", "engine_path", "_engine"}:
            item.add_marker(pytest.mark.engine)
        if "two_nodes" in fixtures:
            item.add_marker(pytest.mark.cluster)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the processor time of a test, its fixtures and its processes: load does not matter."""
    folder = item.config.getoption("--times")
    begun = _processor_seconds()
    outcome = yield
    if folder:
        seconds = _processor_seconds() - begun
        with (Path(folder) / f"{os.getpid()}.tsv").open("a", encoding="utf-8") as file:
            file.write(f"{seconds:.3f}\t{item.nodeid}\n")
    return outcome


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; tests that need it are skipped without it."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data is not there: no folder ../shared/data beside the project")
    return folder


@pytest.fixture(scope="session")
def bundled_data() -> Path:
    """The folder of the data that comes with the package."""
    return PROJECT / "src" / "milepost" / "data"
