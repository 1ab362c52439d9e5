"""No module of the histories imports itself by a detour, not even inside a function."""

from __future__ import annotations

from tests.test_house import PACKAGE, cycle_in, imports_of, module_name


def test_no_circles_even_in_functions() -> None:
    modules = {module_name(path): path for path in (PACKAGE / "history").rglob("*.py")}
    # The folder itself loads everything lazily, by names: it is no step of a detour.
    graph = {
        name: {target for target in imports_of(path) if target in modules and target != name}
        for name, path in modules.items()
        if path.name != "__init__.py"
    }
    assert len(graph) > 30
    assert cycle_in(graph) == []
