"""The wheel in an empty environment, the demo, and the tutorial of each kind of user there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.docs.tutorial import steps_of

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(
    page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.name != "index.md"
)
DEMO = "milepost demo"


def uv() -> list[str] | None:
    """The command of uv, wherever `make` has put it."""
    own = ROOT / ".venv-uv" / "bin" / "uv"
    if found := shutil.which("uv") or (str(own) if own.exists() else None):
        return [found]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as `python -m build` makes it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and what it asks for, nothing else."""
    tool = uv()
    if tool is None:
        pytest.skip("no uv: the wheel is not installed into an environment of its own")
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([*tool, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    program = folder / "bin" / "python"
    install = [*tool, "pip", "install", "-q", "--python", str(program)]
    install += ["-c", str(ROOT / "requirements" / "run.txt"), str(wheel)]
    for more in (["--offline"], []):  # `make` has fetched these versions already
        done = subprocess.run([*install, *more], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return program
    pytest.skip(f"the wheel's dependencies cannot be had here: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="module")
def bare() -> dict[str, str]:
    """An environment in which neither the checkout nor this virtual environment is found."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


@pytest.fixture(scope="module")
def demo(
    python: Path, bare: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The folder in which the demo was run, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    command = [str(python.parent / "milepost"), *DEMO.split()[1:]]
    done = subprocess.run(
        command, cwd=folder, env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_wheel_holds_the_package_and_its_data_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "milepost/data/sample/games.pgn" in names
    assert "milepost/py.typed" in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"milepost"}


def test_the_environment_has_no_checkout_and_no_extras(python: Path, bare: dict[str, str]) -> None:
    code = (
        "import importlib.util as u, milepost\n"
        "print(milepost.__file__)\n"
        "print(*(name for name in ('pandas', 'ray', 'typst', 'fastapi') if u.find_spec(name)))\n"
    )
    done = subprocess.run(
        [python, "-c", code], env=bare, capture_output=True, text=True, check=True
    )
    where, extras = done.stdout.split("\n")[:2]
    assert Path(where).is_relative_to(python.parents[1])
    assert extras == ""


def test_demo_shows_tables_and_where_they_lie(demo: tuple[Path, str]) -> None:
    folder, shown = demo
    for words in ("Carlsen, Magnus", "Kasparov, Gary", "Quillfeather, Ada"):
        assert words in shown
    names = ("games.parquet", "turns.parquet", "results.csv", "title_matches.csv", "ratings.csv")
    for name in (*names, "ratings.html", "ratings.svg", "champions.svg"):
        assert (folder / "demo-output" / name).exists()
        assert name in shown


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(
    page: Path, demo: tuple[Path, str], python: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    steps = steps_of(page.read_text(encoding="utf-8"))
    assert len(steps) > 2
    shutil.copytree(demo[0] / "demo-output", tmp_path / "demo-output")
    (tmp_path / "follow").mkdir()
    runner = shutil.copy(ROOT / "tests" / "docs" / "tutorial.py", tmp_path / "follow")
    path = f"{python.parent}{os.pathsep}{bare.get('PATH', '')}"
    done = subprocess.run(
        [python, runner, page, DEMO],
        cwd=tmp_path,
        env={**bare, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    for kind, text in steps:
        if kind == "command" and text != DEMO:
            words = text.split()
            files = [words[k + 1] for k, word in enumerate(words) if word in {"-o", "--report"}]
            for name in files:
                assert (tmp_path / name).stat().st_size > 100, f"{text}: {name}"


def test_there_is_a_tutorial_for_each_kind_of_user() -> None:
    kinds = {"players", "arbiters", "researchers", "data-scientists", "platforms"}
    assert {page.stem for page in TUTORIALS} == kinds


def test_steps_are_found() -> None:
    page = "a\n```console\n$ milepost demo\nshown\n$ ls \\\n    -l\n```\n```sh\nno\n```\n"
    page += "```python\nx = 1\n```\n"
    commands = [("command", "milepost demo"), ("command", "ls -l")]
    assert steps_of(page) == [*commands, ("python", "x = 1\n")]
