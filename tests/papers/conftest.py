"""The simulated folder that the experiments on moves run on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.simulated import make_folder

from milepost.papers.folder import Folder


@pytest.fixture(scope="session")
def simulated_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A folder with four mileposts, another period, a server's and engines' games; truth known."""
    root: Path = tmp_path_factory.mktemp("simulated")
    data, store = make_folder(root, [1600.0, 1900.0, 2200.0, 2500.0], 6)
    return Folder(data, store, root / "work")
