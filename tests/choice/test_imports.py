"""choice and fit: no module imports itself by a detour, not even from inside a function."""

from __future__ import annotations

from tests.test_house import PACKAGE, cycle_in, imports_of, module_name


def test_no_detour_even_inside_functions() -> None:
    paths = [path for folder in ("choice", "fit") for path in (PACKAGE / folder).rglob("*.py")]
    names = {module_name(path) for path in paths}
    graph = {
        module_name(path): {
            target for target in imports_of(path) if target in names - {module_name(path)}
        }
        for path in paths
    }
    assert cycle_in(graph) == []
