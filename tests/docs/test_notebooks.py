"""The notebooks of examples/ run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("jupyter-execute")
    done = subprocess.run(
        [program, "--output", tmp_path / "run", notebook],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (run,) = tmp_path.glob("run*.ipynb")
    cells = json.loads(run.read_text(encoding="utf-8"))["cells"]
    shown = [cell for cell in cells if cell.get("outputs")]
    assert shown
    assert "image/svg+xml" in kinds_of_output(shown)


def kinds_of_output(cells: list[dict[str, list[dict[str, dict[str, object]]]]]) -> set[str]:
    """The media types of all outputs."""
    return {key for cell in cells for output in cell["outputs"] for key in output.get("data", {})}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2
