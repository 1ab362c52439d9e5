"""The rules of the house: imports point left, help is fast, docs are complete, nothing leaks."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import milepost

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "milepost"
FACE: list[str] = vars(milepost)["__all__"]

# What each folder may import, besides itself, io and the modules at the top: the arrows of the
# design. choice and fit know nothing of chess; history takes intrinsic evidence only as a table.
_MOVES = {"games", "analysis", "choice", "fit", "intrinsic"}
_STAGES = {*_MOVES, "fairplay", "history", "report"}
ALLOWED = {
    "io": set[str](),
    "games": set[str](),
    "analysis": {"games"},
    "choice": set[str](),
    "fit": {"choice"},
    "intrinsic": {"games", "analysis", "choice", "fit"},
    "fairplay": _MOVES,
    "history": {"games"},
    "report": {*_MOVES, "fairplay", "history"},
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
    """Imports inside functions count: they only hide a circle from Python, not from a reader."""
    assert circles_in(import_graph(PACKAGE)) == set()


def test_a_detour_would_be_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}
    assert circles_in(graph) == {frozenset("abc"), frozenset("ef")}
    assert circles_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def import_graph(package: Path) -> dict[str, set[str]]:
    """What each module imports of ours when it is loaded or run."""
    modules = {module_name(path): path for path in package.rglob("*.py")}
    return {
        name: {target for target in targets_of(path, set(modules)) if target != name}
        for name, path in modules.items()
    }


def targets_of(path: Path, modules: set[str]) -> Iterator[str]:
    """The modules of ours that a file names in its imports, but for those of a type checker."""
    for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield from {whole if whole in modules else node.module} & modules


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children = node.orelse
    for child in children:
        yield from executed(child)


def circles_in(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Modules that all lead to each other, in groups."""
    reached = {name: reachable(graph, name) for name in graph}
    return {
        frozenset(each for each in reached[name] if name in reached[each])
        for name in graph
        if name in reached[name]
    }


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph.get(name, ())
    return seen


def test_an_import_to_the_right_would_be_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from milepost.cli import app\n", encoding="utf-8")
    assert list(imports_of(wrong)) == ["milepost.cli"]


def test_commands_only_call_the_api_and_show() -> None:
    allowed = {"api", "report", "cli", "errors", "io", "__version__"}
    surfaces = {"reproduce": "papers", "serve": "web", "play": "play"}
    wrong = set()
    for path in (PACKAGE / "cli" / "commands").glob("*.py"):
        here = allowed | {surfaces.get(path.stem, "cli")}
        ours = [name.split(".") for name in imports_of(path) if name.startswith("milepost.")]
        if any(parts[1] not in here for parts in ours):
            wrong.add(path.stem)
    assert wrong == set()


def all_commands() -> dict[str, Any]:
    """The commands by name, those of groups too."""
    from typer.main import get_command

    from milepost.cli.app import app

    answer: dict[str, Any] = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        parts = getattr(command, "commands", None)
        inner = {name: command} if parts is None else {f"{name} {p}": c for p, c in parts.items()}
        answer |= inner
    assert len(answer) > 20
    return answer


def test_no_command_has_twenty_options() -> None:
    counts = {
        name: sum(each.param_type_name == "option" for each in command.params)
        for name, command in all_commands().items()
    }
    assert {name for name, count in counts.items() if count >= 20} == set()


def test_every_command_and_option_has_help_and_a_word_in_the_docs() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.name != "cli.md"]
    written = " ".join(" ".join(texts).split())
    silent = set()
    for name, command in all_commands().items():
        assert command.help, name
        word = name.split()[-1]
        if not re.search(rf"\bmilepost {name}\b|`{word}[ `]", written):
            silent.add(name)
        for option in command.params:
            assert getattr(option, "help", None), f"{name}: {option.name} has no help"
    assert silent == set()


def test_public_functions_have_less_than_a_dozen_parameters() -> None:
    functions = {
        name: value for name in FACE if inspect.isfunction(value := getattr(milepost, name))
    }
    assert functions
    long = {name for name, f in functions.items() if len(inspect.signature(f).parameters) >= 12}
    assert long == set()


def test_every_public_name_is_there() -> None:
    packages = [path.parent for path in PACKAGE.rglob("__init__.py")]
    offered = 0
    for folder in packages:
        package = importlib.import_module(module_name(folder / "__init__.py"))
        for name in getattr(package, "__all__", ()):
            assert getattr(package, name) is not None, f"{package.__name__}.{name}"
            assert name in dir(package)
            offered += 1
    assert offered > 50
    assert len(set(FACE)) == len(FACE) > 10


def test_library_messages_name_no_flags() -> None:
    wrong = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if any(re.search(r"(^|[\s(])--[a-z]", text) for text in messages_in(node)):
                wrong.add(module_name(path))
    assert wrong == set()


def messages_in(node: ast.AST) -> Iterator[str]:
    """The texts of a raise, a warning or a log line."""
    call = node.exc if isinstance(node, ast.Raise) else node
    if not isinstance(call, ast.Call):
        return
    name = ast.unparse(call.func)
    spoken = (".warn", ".warning", ".error", "_warn", "Error", "Warning")
    if node is not call or name.endswith(spoken):
        for part in ast.walk(call):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def test_a_flag_in_a_message_would_be_seen() -> None:
    lines = (
        'raise InputError(f"--by needs {x}")',
        'warnings.warn("too few (--least 5)", MilepostWarning)',
    )
    for line in lines:
        texts = [text for node in ast.walk(ast.parse(line)) for text in messages_in(node)]
        assert any("--" in text for text in texts)


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
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page, "run: make pages"


def test_readme_blocks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_readme_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert milepost.__version__ in first[:2]
    assert first[0] in ("Unreleased", milepost.__version__)


def test_requirements_hold_versions_only() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[\w.]+( ; .+)?", line), (
                f"{path}: {line}"
            )


def test_no_lock_file_with_addresses() -> None:
    assert not (ROOT / "uv.lock").exists() or "uv.lock" in (ROOT / ".gitignore").read_text()
