"""Running experiments: what is written, what is run again, and what happens without data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from milepost.errors import InputError
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    Experiment,
    Finding,
    Outcome,
    experiments,
    find_experiments,
)
from milepost.papers.folder import Folder
from milepost.papers.run import read_result, run_experiment, write_index


@dataclass
class Counting:
    """An experiment that reads one file and counts how often it is run."""

    calls: int = 0
    titles: list[str] = field(default_factory=lambda: ["A table"])

    def __call__(self, folder: Folder) -> Outcome:
        text = folder.path("sub", "data.txt").read_text(encoding="utf-8")
        self.calls += 1
        frame = pl.DataFrame({"x": [1, 2], "y": [float(len(text)), 0.5]})
        chart = alt.Chart(frame).mark_point().encode(x="x:Q", y="y:Q")
        return Outcome(
            data="one file",
            n=len(text),
            unit="letters",
            findings=(
                Finding("It is long.", f"{len(text)} letters", HOLDS),
                Finding("It is <b>.", "no", FAILS),
            ),
            tables=dict.fromkeys(self.titles, frame),
            charts={"A chart": chart},
            notes=("One note.",),
        )


def made(run: Callable[[Folder], Outcome], name: str = "test-one") -> Experiment:
    return Experiment(name, "2007", "A test & more", run)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "sub" / "data.txt").write_text("four", encoding="utf-8")
    return Folder(tmp_path / "data", work=tmp_path / "work")


@pytest.fixture(autouse=True)
def _source(monkeypatch: pytest.MonkeyPatch) -> None:
    # The source of an object that is no function cannot be asked for.
    monkeypatch.setattr("inspect.getsourcefile", lambda _: __file__)


def test_everything_is_written(folder: Folder, tmp_path: Path) -> None:
    done = run_experiment(made(Counting()), folder, tmp_path / "out")
    assert done.state == "done"
    here = tmp_path / "out" / "test-one"
    assert sorted(path.name for path in here.iterdir()) == [
        "a-chart.svg", "a-table.csv", "index.html", "result.json",
    ]  # fmt: skip
    result = json.loads((here / "result.json").read_text(encoding="utf-8"))
    told = {name: value for name, value in result["findings"][0].items() if value is not None}
    assert told == {
        "claim": "It is long.", "found": "4 letters", "verdict": "holds", "n": 4, "key": "",
        "unit": "letters",
    }  # fmt: skip
    assert (here / "a-table.csv").read_text(encoding="utf-8").splitlines()[0] == "x,y"
    page = (here / "index.html").read_text(encoding="utf-8")
    assert "It is &lt;b&gt;." in page
    assert "<svg" in page
    assert "4 letters" in page


def test_nothing_changed_nothing_run(folder: Folder, tmp_path: Path) -> None:
    run = Counting()
    first = run_experiment(made(run), folder, tmp_path / "out")
    before = (tmp_path / "out/test-one/index.html").read_bytes()
    kept = run_experiment(made(run), folder, tmp_path / "out")
    assert (kept.state, run.calls) == ("kept", 1)
    assert [f.found for f in kept.findings] == [f.found for f in first.findings]
    assert run_experiment(made(run), folder, tmp_path / "out", again=True).state == "done"
    assert run.calls == 2
    assert (tmp_path / "out/test-one/index.html").read_bytes() == before


def test_changed_data_and_interrupted_runs_are_run_again(folder: Folder, tmp_path: Path) -> None:
    run = Counting()
    run_experiment(made(run), folder, tmp_path / "out")
    (folder.root / "sub" / "data.txt").write_text("longer", encoding="utf-8")
    assert run_experiment(made(run), folder, tmp_path / "out").result["n"] == 6  # type: ignore[index]
    (tmp_path / "out/test-one/result.json").unlink()
    assert run_experiment(made(run), folder, tmp_path / "out").state == "done"
    (tmp_path / "out/test-one/result.json").write_text("{", encoding="utf-8")
    assert run_experiment(made(run), folder, tmp_path / "out").state == "done"
    assert run.calls == 4


def test_other_versions_and_code_are_run_again(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Counting()
    run_experiment(made(run), folder, tmp_path / "out")
    monkeypatch.setattr("milepost.papers.run.__version__", "99")
    assert run_experiment(made(run), folder, tmp_path / "out").state == "done"
    assert run_experiment(made(run), folder, tmp_path / "out").state == "kept"
    other = tmp_path / "other.py"
    other.write_text("CODE = 'other'", encoding="utf-8")
    monkeypatch.setattr("inspect.getsourcefile", lambda _: str(other))
    assert run_experiment(made(run), folder, tmp_path / "out").state == "done"
    assert run.calls == 3


def test_files_that_are_no_longer_made_go(folder: Folder, tmp_path: Path) -> None:
    run = Counting(titles=["Old", "Both", "both!"])
    run_experiment(made(run), folder, tmp_path / "out")
    here = tmp_path / "out" / "test-one"
    assert {"old.csv", "both.csv", "both-2.csv"} <= {path.name for path in here.iterdir()}
    run.titles = ["New"]
    run_experiment(made(run), folder, tmp_path / "out", again=True)
    assert {path.name for path in here.glob("*.csv")} == {"new.csv"}


def test_missing_data_and_mistakes_have_reasons(folder: Folder, tmp_path: Path) -> None:
    def needs_store(there: Folder) -> Outcome:
        raise AssertionError(there.evaluations)

    def wrong(_: Folder) -> Outcome:
        raise ZeroDivisionError("by nothing")

    def refused(_: Folder) -> Outcome:
        raise InputError("a column is missing")

    lost = run_experiment(made(needs_store), folder, tmp_path / "out")
    assert (lost.state, lost.findings) == ("missing", [])
    assert "needs a store of evaluations" in lost.reason
    assert run_experiment(made(wrong), folder, tmp_path / "out").reason == (
        "ZeroDivisionError: by nothing"
    )
    assert run_experiment(made(refused), folder, tmp_path / "out").state == "failed"
    assert read_result(tmp_path / "out" / "test-one") is None


def test_an_experiment_that_reads_nothing_known_is_always_run(
    folder: Folder, tmp_path: Path
) -> None:
    def blind(_: Folder) -> Outcome:
        return Outcome("nothing", 0, ())

    run_experiment(made(blind), folder, tmp_path / "out")
    assert run_experiment(made(blind), folder, tmp_path / "out").state == "done"


def test_the_index_tells_of_all(folder: Folder, tmp_path: Path) -> None:
    one, two, three = (made(Counting(), name) for name in ("one", "two", "three"))
    out = tmp_path / "out"
    done = run_experiment(one, folder, out)
    (folder.root / "sub" / "data.txt").unlink()
    lost = run_experiment(two, folder, out)
    text = write_index([one, two, three], [done, lost], out).read_text(encoding="utf-8")
    assert "Claims: 1 holds, 1 does not hold, 0 too little data." in text
    assert '<a href="one/index.html">one</a>' in text
    assert "missing: " in text
    assert "not run" in text


def test_names_and_years_find_experiments() -> None:
    known = experiments()
    of_2007 = find_experiments(["2007"])
    assert {each.name for each in of_2007} == {
        name for name, each in known.items() if each.paper == "2007"
    }
    assert len(of_2007) == 8
    assert find_experiments(["2007-top", "2007-top"]) == [known["2007-top"]]
    with pytest.raises(InputError, match="no experiment '1999'"):
        find_experiments(["1999"])
    assert all(each.title and name == each.name for name, each in known.items())
