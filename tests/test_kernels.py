"""Kernels are compiled once, and again when anything that they are made of has changed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from milepost import kernels
from milepost.kernels import kernel_digest

OUTER = '''
from milepost.kernels import fused_kernel, kernel
from {package}.inner import twice
from {package}.numbers import STEP

@kernel
def outer(x):
    """Some words."""
    return later(twice(x)) + STEP

@kernel
def later(x):
    return x - 1.0

@kernel
def alone(x):
    return x * 3.0
'''
INNER = """
from milepost.kernels import kernel

@kernel
def twice(x):
    return 2.0 * x
"""
NUMBERS = "STEP = 0.5\n"
Changed = Callable[[str, str, str], Any]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Changed]:
    """Write a package of kernels with something changed, and load it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    number = 0

    def write(name: str = "", old: str = "", new: str = "") -> Any:
        nonlocal number
        folder = tmp_path / f"kernels_{number}"
        folder.mkdir()
        texts = {"outer": OUTER, "inner": INNER, "numbers": NUMBERS, "__init__": ""}
        for module, text in texts.items():
            assert module != name or old in text
            changed = text.replace(old, new) if module == name else text
            named = changed.replace("{package}", folder.name)
            (folder / f"{module}.py").write_text(named, encoding="utf-8")
        number += 1
        return importlib.import_module(f"{folder.name}.outer")

    yield write
    for name in [name for name in sys.modules if name.startswith("kernels_")]:
        del sys.modules[name]


def facts(compiled: Any, package: str) -> str:
    """A digest that does not know in which of the packages the kernel stands."""
    return "\n".join(kernels._facts(compiled, set())).replace(package, "package")


@pytest.mark.parametrize(
    ("name", "old", "new", "differs"),
    [
        ("inner", "2.0 * x", "2.5 * x", True),  # a kernel in another file
        ("numbers", "0.5", "0.25", True),  # a constant in another file
        ("outer", "x - 1.0", "x - 2.0", True),  # a kernel that stands below
        ("outer", "@kernel\ndef later", "@fused_kernel\ndef later", True),
        ("inner", "@kernel", "@kernel  # in words", False),
        ("outer", "Some words.", "Other words.", False),
        ("outer", "x * 3.0", "x * 4.0", False),  # a kernel that is not called
    ],
)
def test_the_digest_knows_what_a_kernel_is_made_of(
    package: Changed, name: str, old: str, new: str, differs: bool
) -> None:
    before, after = package("", "", ""), package(name, old, new)
    texts = [facts(each.outer, each.__package__) for each in (before, after)]
    assert (texts[0] != texts[1]) == differs


def test_every_kernel_of_ours_can_be_kept() -> None:
    package = Path(kernels.__file__).parent
    found = 0
    for path in package.rglob("*.py"):
        if "from milepost.kernels import" not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        module = importlib.import_module(name)
        for value in vars(module).values():
            if hasattr(value, "py_func") and value.py_func.__module__ == name:
                assert len(kernel_digest(value)) == 32
                assert getattr(module, value.py_func.__name__) is value
                found += 1
    assert found > 100


RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from milepost.kernels import when_compiling
from cached.outer import outer
kept = []
when_compiling(kept.append)
answer = outer(3.0)
print(answer, sum(outer.stats.cache_hits.values()), *kept)
"""


def run_cached(tmp_path: Path, store: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(store)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def write_cached(tmp_path: Path, inner: str) -> None:
    folder = tmp_path / "cached"
    folder.mkdir(exist_ok=True)
    texts = {"outer": OUTER, "inner": inner, "numbers": NUMBERS, "__init__": ""}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text.replace("{package}", "cached"), encoding="utf-8")


def test_a_change_elsewhere_is_never_answered_by_old_code(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write_cached(tmp_path, INNER)
    assert run_cached(tmp_path, store) == "5.5 0 True", "compiled, and kept"
    assert run_cached(tmp_path, store) == "5.5 1"
    write_cached(tmp_path, INNER.replace("2.0", "4.0"))
    assert run_cached(tmp_path, store) == "11.5 0 True"
    write_cached(tmp_path, INNER)
    assert run_cached(tmp_path, store) == "5.5 1"


def test_where_nothing_can_be_written_kernels_still_run(tmp_path: Path) -> None:
    write_cached(tmp_path, INNER)
    (tmp_path / "store").write_text("a file, no folder", encoding="utf-8")
    assert run_cached(tmp_path, tmp_path / "store") == "5.5 0 False"


def test_what_nobody_used_for_long_is_removed(tmp_path: Path) -> None:
    for name in ("old.kernel-1", "new.kernel-2", "other"):
        (tmp_path / name).mkdir()
    for name in ("old.kernel-1", "other"):
        os.utime(tmp_path / name, (0, 0))
    kernels._remove_unused(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.kernel-2", "other"]


def test_another_numba_without_these_inner_parts_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are shortcuts: without them kernels load or run more slowly."""
    monkeypatch.setitem(sys.modules, "numba.core.cpu", ModuleType("numba.core.cpu"))
    monkeypatch.delattr("numba.core.runtime._nrt_python.c_helpers")
    assert not kernels._may_say_noalias.__wrapped__()
    assert not kernels._named_memory_manager.__wrapped__()
