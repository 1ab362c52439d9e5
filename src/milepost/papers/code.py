"""Which code a result rests on: a module, and every module of ours that it can reach.

A verdict is stale as soon as anything that it was computed with has changed, wherever that stands.
Imports are read from the sources, inside functions too, and followed to the end. What counts is
what Python reads: comments and layout may change.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import milepost

_PACKAGE = Path(milepost.__file__).parent
_DATA = "milepost.data"


def code_digest(function: Callable[..., Any]) -> str:
    """Return a digest of the code that a function may run."""
    return digest_from(Path(inspect.getsourcefile(function) or ""))


def digest_from(start: Path, package: Path = _PACKAGE) -> str:
    """Return a digest of a source file and of all that it imports from the package."""
    files = sorted(reachable_files(start, package))
    parts = [_own_digest(path, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]


def reachable_files(start: Path, package: Path = _PACKAGE) -> set[Path]:
    """Return a source file and all files of the package that it imports, directly or not.

    A shipped data folder counts as imported by a module that names it.
    """
    reached: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        if path.suffix == ".py":
            waiting += _files_named(path, package, path.stat().st_mtime_ns)
    return reached


@cache
def _files_named(path: Path, package: Path, _when: int) -> list[Path]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        file for name in sorted(set(_names(tree, package))) for file in _files_of(name, package)
    ]


def _names(tree: ast.Module, package: Path) -> Iterator[str]:
    """Dotted names of what a module imports, and of the shipped data that it names."""
    faces = {"milepost"}
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                if alias.name == "milepost":
                    faces.add(alias.asname or alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith(_DATA):
                yield node.value
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in faces
        ):
            yield f"milepost.{node.attr}"


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    yield node
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        children: Iterable[ast.AST] = node.orelse
    else:
        children = ast.iter_child_nodes(node)
    for child in children:
        yield from _executed(child)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _files_of(name: str, package: Path) -> Iterator[Path]:
    """The files that are read when a dotted name is imported: packages on the way too."""
    parts = name.split(".")
    if parts[0] != "milepost":
        return
    here = package
    yield from _existing(here / "__init__.py")
    for part in parts[1:]:
        yield from _behind_the_face(part, here, package)
        if (here / part).is_dir():
            here /= part
            yield from _existing(here / "__init__.py")
        else:
            yield from _existing(here / f"{part}.py")
            return
    if name.startswith(_DATA):
        yield from (file for file in here.rglob("*") if file.is_file())


def _existing(path: Path) -> Iterator[Path]:
    if path.exists():
        yield path


def _behind_the_face(name: str, folder: Path, package: Path) -> Iterator[Path]:
    """The module in which a name lives that a folder offers lazily."""
    stub = folder / "__init__.pyi"
    if not stub.exists():
        return
    within = ".".join(["milepost", *folder.relative_to(package).parts])
    for module, offered in _offered(stub, stub.stat().st_mtime_ns):
        if offered == name:
            yield from _files_of(f"{within}.{module}", package)


@cache
def _offered(stub: Path, _when: int) -> list[tuple[str, str]]:
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return [
        (node.module, alias.asname or alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]


@cache
def _own_digest(path: Path, _when: int) -> str:
    content = path.read_bytes()
    if path.suffix == ".py":
        content = ast.dump(_without_docstrings(ast.parse(content))).encode("utf-8")
    return hashlib.sha256(content).hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """A module without the texts that stand alone; they do nothing."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                each
                for each in body
                if not (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and isinstance(each.value.value, str)
                )
            ]
    return tree
