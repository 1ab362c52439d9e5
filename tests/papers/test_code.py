"""A verdict is stale when anything it rests on has changed, and only then."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from milepost.papers.code import digest_from, reachable_files
from milepost.papers.experiment import experiments

SOURCES = {
    "__init__.py": "",
    "__init__.pyi": "from .rates.rate import rate as rate\n",
    "shared/__init__.py": "",
    "shared/below.py": "NUMBER = 1\n",
    "shared/above.py": "from milepost.shared.below import NUMBER\n",
    "rates/__init__.py": "",
    "rates/rate.py": "from milepost.shared import below\ndef rate(): return below.NUMBER\n",
    "types.py": "",
    "data/tables/numbers.csv": "1\n",
    "papers/__init__.py": "",
    "papers/direct.py": "from milepost.shared.above import NUMBER\ndef run(): pass\n",
    "papers/inside.py": "def run():\n    from milepost.shared import above\n    return above\n",
    "papers/by_face.py": "import milepost as mp\ndef run(): return mp.rate()\n",
    "papers/other.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from milepost.shared import above\n"
        "def run(): pass\n"
    ),
    "papers/shipped.py": "WHERE = 'milepost.data.tables'\ndef run(): pass\n",
}
RESTING_ON_BELOW = {"direct", "inside", "by_face"}
ALL = {*RESTING_ON_BELOW, "other", "shipped"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package of the same name."""
    for name, text in SOURCES.items():
        path = tmp_path / "milepost" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "milepost"


def digests(package: Path) -> dict[str, str]:
    return {name: digest_from(package / "papers" / f"{name}.py", package) for name in ALL}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in ALL if before[name] != after[name]}


def test_a_shared_module_changes_those_that_reach_it_and_no_others(package: Path) -> None:
    before = digests(package)
    (package / "shared" / "below.py").write_text("NUMBER = 22\n", encoding="utf-8")
    assert changed(before, digests(package)) == RESTING_ON_BELOW


def test_shipped_data_change_those_that_read_them(package: Path) -> None:
    before = digests(package)
    (package / "data" / "tables" / "numbers.csv").write_text("22\n", encoding="utf-8")
    assert changed(before, digests(package)) == {"shipped"}


def test_comments_layout_and_docstrings_change_nothing(package: Path) -> None:
    before = digests(package)
    text = '"""A number."""\n# Why it is one.\nNUMBER = (\n    1\n)\n"""Documented."""\n'
    (package / "shared" / "below.py").write_text(text, encoding="utf-8")
    assert changed(before, digests(package)) == set()


@pytest.mark.parametrize(
    ("name", "reached", "not_reached"),
    [
        ("2007-games", "history/ttt/passes.py", "fit/agent.py"),
        ("2011-mileposts", "fit/methods/percentile.py", "history/fit.py"),
        ("2011-mileposts", "choice/scale.py", "cli/show.py"),
        ("2009-bands", "fit/methods/reference.py", "history/fit.py"),
    ],
)
def test_the_experiments_rest_on_what_they_use(name: str, reached: str, not_reached: str) -> None:
    run = experiments()[name].run
    files = reachable_files(Path(inspect.getsourcefile(run) or ""))
    root = Path(__file__).resolve().parents[2] / "src" / "milepost"
    assert root / reached in files
    assert root / not_reached not in files
