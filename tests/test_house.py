"""The rules of the house: imports point left, help is fast, docs are complete, nothing leaks."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import milepost

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "milepost"

# What each folder may import, besides itself, io and the modules at the top: the arrows of the
# design. choice and fit know nothing of chess; history takes intrinsic evidence only as a table.
_MOVES = {"games", "analysis", "choice", "fit", "intrinsic"}
_STAGES = {*_MOVES, "history", "report"}
ALLOWED = {
    "io": set[str](),
    "games": set[str](),
    "analysis": {"games"},
    "choice": set[str](),
    "fit": {"choice"},
    "intrinsic": {"games", "analysis", "choice", "fit"},
    "history": {"games"},
    "report": {*_MOVES, "history"},
    "api": _STAGES,
    "papers": {*_STAGES, "api"},
    "play": {*_MOVES, "report", "api"},
    "web": {*_STAGES, "api", "play"},
    "cli": {*_STAGES, "api", "papers", "play", "web"},
}
TOP = {"errors", "tables", "kernels", "io", "__version__"}
WITHOUT_CHESS = ("io", "choice", "fit", "history")


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield from (
                [f"milepost.{n.name}" for n in node.names] if module == "milepost" else [module]
            )


def test_every_folder_has_a_place_in_the_design() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == set(ALLOWED)


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_imports_point_left_only(folder: str) -> None:
    for path in (PACKAGE / folder).rglob("*.py"):
        for module in imports_of(path):
            parts = module.split(".")
            if parts[0] != "milepost" or len(parts) < 2:
                continue
            assert parts[1] in {folder} | TOP | ALLOWED[folder], f"{path.name} imports {module}"


def test_the_top_imports_no_folder() -> None:
    for path in PACKAGE.glob("*.py"):
        if path.name == "__main__.py":
            continue
        for module in imports_of(path):
            assert not any(module.startswith(f"milepost.{folder}") for folder in ALLOWED), path


@pytest.mark.parametrize("folder", WITHOUT_CHESS)
def test_no_chess_where_nothing_knows_chess(folder: str) -> None:
    for path in (PACKAGE / folder).rglob("*.py"):
        assert not any(module.split(".")[0] == "chess" for module in imports_of(path)), path


def test_no_module_imports_itself_by_a_detour() -> None:
    modules = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    graph = {
        name: {target for target in targets_of(path, set(modules)) if target != name}
        for name, path in modules.items()
    }
    assert cycle_in(graph) == []


def test_a_detour_would_be_seen() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def targets_of(path: Path, modules: set[str]) -> Iterator[str]:
    """The modules of ours that are loaded when this one is."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield from ({whole, node.module} & modules) if whole in modules else [node.module]


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Return one way from a module back to itself; empty = there is none."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done or name not in graph:
            return []
        for target in sorted(graph[name]):
            if detour := walk(target, [*way, name]):
                return detour
        done.add(name)
        return []

    return next((way for name in sorted(graph) if (way := walk(name, []))), [])


def test_an_import_to_the_right_would_be_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from milepost.cli import app\n", encoding="utf-8")
    assert list(imports_of(wrong)) == ["milepost.cli"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from milepost.cli.app import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'polars', 'scipy', 'numpy', 'pyarrow', 'pandas', 'chess'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


def test_generated_docs_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts" / "write_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, page in (("tables.md", module.tables_page()), ("cli.md", module.cli_page())):
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page, "run: make docs"


def test_readme_blocks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_readme_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in text
    assert f"## {milepost.__version__} " in text


def test_requirements_hold_versions_only() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[\w.]+( ; .+)?", line), (
                f"{path}: {line}"
            )


def test_no_lock_file_with_addresses() -> None:
    assert not (ROOT / "uv.lock").exists() or "uv.lock" in (ROOT / ".gitignore").read_text()
