"""What all tests share: where the real data lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parents[1]

# The same examples in every run: a failure in CI can be had again here.
settings.register_profile("same", derandomize=True, deadline=None)  # no wall time in a test
settings.load_profile("same")


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
