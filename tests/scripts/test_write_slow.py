"""The list of slow tests: the fastest fill the budget, the others are slow."""

from __future__ import annotations

from pathlib import Path

from scripts.write_slow import read_times, slow_tests


def test_the_fastest_fill_the_budget() -> None:
    seconds = {"a": 3.0, "b": 0.5, "c": 2.0, "d": 0.1, "e": 9.0}
    assert slow_tests(seconds, budget=3.0) == ["a", "e"]
    assert slow_tests(seconds, budget=100.0) == []
    assert slow_tests(seconds, budget=0.0) == ["a", "b", "c", "e"]  # d is over at once


def test_times_of_all_processes_and_parameters_add_up(tmp_path: Path) -> None:
    (tmp_path / "1.tsv").write_text("1.5\tt.py::one[a b]\n0.5\tt.py::two\n", encoding="utf-8")
    (tmp_path / "2.tsv").write_text("2.0\tt.py::one[c]\n", encoding="utf-8")
    assert read_times(tmp_path) == {"t.py::one": 3.5, "t.py::two": 0.5}
