"""Experiments run one after another, their results written, and not run again without need.

Each experiment has a folder of its own: ``index.html`` (the page), a CSV file for each table, an
SVG file for each chart, and ``result.json``, written last: a folder without it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from milepost import __version__
from milepost.errors import MilepostError, OutputError
from milepost.io.files import write_table, write_text
from milepost.papers.code import code_digest
from milepost.papers.experiment import Experiment, Finding, MissingDataError, Outcome
from milepost.papers.folder import Folder
from milepost.report.charts import save_chart
from milepost.report.pages import Chart, Page, Table, Text, write_page

if TYPE_CHECKING:
    import polars as pl

_STORE = "(store)"
_DRAWN = "(drawn turns)"
_RESULT = "result.json"

State = Literal["done", "kept", "missing", "failed"]


@dataclass(frozen=True, eq=False)
class WatchedFolder(Folder):
    """A folder that remembers what was asked of it: an experiment's inputs."""

    used: dict[str, None] = field(default_factory=dict)
    """The paths asked for, in order."""

    __hash__ = object.__hash__

    def path(self, *parts: str) -> Path:
        """Return a path in the folder, and remember it."""
        found = super().path(*parts)
        self.used["/".join(parts)] = None
        return found

    def turns(self, *parts: str) -> pl.DataFrame:
        """Return turns, and remember that drawn tables were read."""
        if self.drawn is not None:
            self.used[_DRAWN] = None
        return super().turns(*parts)

    @cached_property
    def evaluations(self) -> Any:
        """The opened store, remembered too."""
        opened = super().evaluations
        self.used[_STORE] = None
        return opened


@dataclass(frozen=True)
class Done:
    """What became of an experiment."""

    experiment: Experiment
    """Which one."""
    state: State
    """done, kept (nothing had changed), missing (its data are not there), or failed."""
    reason: str = ""
    """Why, if it is missing or failed."""
    result: Mapping[str, Any] | None = None
    """What stands in ``result.json``."""

    @property
    def findings(self) -> list[Finding]:
        """Its findings; none unless it is done or kept."""
        return [] if self.result is None else findings_of(self.result)


def run_experiment(
    experiment: Experiment, folder: Folder, out: Path, *, again: bool = False
) -> Done:
    """Run an experiment and write its folder, unless nothing has changed since it was run.

    Parameters
    ----------
    experiment
        The experiment.
    folder
        The data.
    out
        Where the experiments' folders are.
    again
        Run it even if nothing has changed.

    Raises
    ------
    OutputError
        If its results cannot be written.
    """
    target = out / experiment.name
    old = read_result(target)
    if not again and old is not None and _unchanged(old, experiment, folder):
        return Done(experiment, "kept", result=old)
    watched = WatchedFolder(
        folder.root, folder.store, folder.work, folder.workers, folder.drawn, folder.seen
    )
    try:
        outcome = experiment.run(watched)
    except MissingDataError as error:
        return Done(experiment, "missing", str(error))
    except MilepostError as error:
        return Done(experiment, "failed", str(error))
    except Exception as error:  # a mistake in one experiment must not take the others along
        return Done(experiment, "failed", f"{type(error).__name__}: {error}")
    made = {
        "made_by": f"milepost {__version__}",
        "command": f"reproduce {experiment.name}",
        "code": code_digest(experiment.run),
        "inputs": {name: _digest(folder, name) for name in watched.used},
        "left_out_as_seen": dict(sorted(watched.left_out.items())),
    }
    return Done(experiment, "done", result=_write(target, experiment, outcome, made, old))


def read_result(target: Path) -> dict[str, Any] | None:
    """Return what an experiment's folder says; `None` if it holds no result that can be read."""
    try:
        result = json.loads((target / _RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and "made" in result else None


def write_index(known: Iterable[Experiment], done: Iterable[Done], out: Path) -> Path:
    """Write the page over all experiments; return where it is."""
    import polars as pl

    now = {each.experiment.name: each for each in done}
    overview: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    links: dict[str, str] = {}
    for each in known:
        result = read_result(out / each.name)
        here = now.get(each.name)
        state = "" if here is None or not here.reason else f"{here.state}: {here.reason}"
        row: dict[str, Any] = {"experiment": each.name, "paper": each.paper, "about": each.title}
        counts: Mapping[str, int | None] = dict.fromkeys(counts_of(()))
        if result is not None and not state:
            links[each.name] = f"{each.name}/index.html"
            findings = findings_of(result)
            counts = counts_of(findings)
            claims += [
                {
                    "experiment": each.name, "claim": finding.claim, "found": finding.found,
                    "verdict": finding.verdict,
                }
                for finding in findings
            ]  # fmt: skip
            state = f"{result['n']:,} {result['unit']}"
        overview.append({**row, **counts, "data": state or "not run"})
    pages = pl.DataFrame({"page": ["ledger"], "about": ["every claim, its rule and its result"]})
    sections: list[Text | Table | Chart] = [
        Table("Pages", pages, links={"ledger": "ledger.html"}),
        Table("Experiments", pl.DataFrame(overview, infer_schema_length=None), links=links),
    ]
    if claims:
        sections.append(Table("Claims", pl.DataFrame(claims), links=links))
    total = {verdict: sum(row[verdict] or 0 for row in overview) for verdict in counts_of(())}
    made = {"made_by": f"milepost {__version__}", "command": "reproduce"}
    lead = f"Claims: {said_counts(total)}."
    page = Page("The papers' claims, tested", tuple(sections), made, lead=lead)
    write_page(page, out / "index.html")
    return out / "index.html"


def counts_of(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings have each verdict."""
    counts = {"holds": 0, "does not hold": 0, "too little data": 0}
    for finding in findings:
        counts[finding.verdict] += 1
    return counts


_SEVERAL = {"holds": "hold", "does not hold": "do not hold"}


def said_counts(counts: Mapping[str, int]) -> str:
    """Return in words how many findings have each verdict."""
    return ", ".join(
        f"{number} {verdict if number == 1 else _SEVERAL.get(verdict, verdict)}"
        for verdict, number in counts.items()
    )


def findings_of(result: Mapping[str, Any]) -> list[Finding]:
    """Return the findings that stand in a result."""
    return [Finding(**each) for each in result["findings"]]


def _unchanged(old: Mapping[str, Any], experiment: Experiment, folder: Folder) -> bool:
    made = old["made"]
    inputs = made.get("inputs")
    if not inputs or made.get("made_by") != f"milepost {__version__}":
        return False
    if made.get("code") != code_digest(experiment.run):
        return False
    return all(_digest(folder, name) == digest for name, digest in inputs.items())


def _digest(folder: Folder, name: str) -> str:
    if name == _STORE:
        if folder.store is None or not folder.store.exists():
            return "absent"
        # Shards are written once and never changed: their names and sizes will do.
        facts = [
            f"{each.relative_to(folder.store)} {each.stat().st_size}"
            for each in sorted(folder.store.rglob("*.parquet"))
        ]
        return hashlib.sha256("\n".join(facts).encode("utf-8")).hexdigest()[:16]
    if name == _DRAWN:
        tables = [] if folder.drawn is None else sorted(folder.drawn.glob("*.parquet"))
        facts = [
            f"{each.name} {_file_digest(each, each.stat().st_mtime_ns)}" for each in tables
        ] + [str(each) for each in folder.seen]
        return hashlib.sha256("\n".join(facts).encode("utf-8")).hexdigest()[:16]
    path = folder.root / name
    if not path.exists():
        return "absent"
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    parts = [
        f"{each.relative_to(folder.root)} {_file_digest(each, each.stat().st_mtime_ns)}"
        for each in files
    ]
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]


@cache
def _file_digest(path: Path, _when: int) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _write(
    target: Path, experiment: Experiment, outcome: Outcome, made: Mapping[str, Any],
    old: Mapping[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    try:
        target.mkdir(parents=True, exist_ok=True)
        (target / _RESULT).unlink(missing_ok=True)
        for name in (old or {}).get("files", ()):
            (target / Path(name).name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    files: list[str] = []
    for title, frame in outcome.tables.items():
        files.append(_file_name(title, ".csv", files))
        write_table(frame, target / files[-1])
    for title, chart in outcome.charts.items():
        files.append(_file_name(title, ".svg", files))
        save_chart(chart, target / files[-1])
    write_page(page_of(experiment, outcome, made), target / "index.html")
    result = {
        "name": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "data": outcome.data,
        "n": outcome.n,
        "unit": outcome.unit,
        "findings": [_told(finding, outcome) for finding in outcome.findings],
        "notes": list(outcome.notes),
        "files": [*files, "index.html"],
        "made": dict(made),
    }
    write_text(target / _RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return result


def _told(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    """A finding with what it leaves to its experiment."""
    told = asdict(finding)
    told["n"] = outcome.n if finding.n is None else finding.n
    told["unit"] = outcome.unit if finding.unit is None else finding.unit
    return told


def page_of(experiment: Experiment, outcome: Outcome, made: Mapping[str, Any]) -> Page:
    """Return the page of an experiment: claims first, then figures, tables and notes."""
    import polars as pl

    claims = pl.DataFrame(
        [asdict(finding) for finding in outcome.findings],
        schema={"claim": pl.String, "found": pl.String, "verdict": pl.String},
    )
    about = f"Data: {outcome.data}.\n\nThe findings rest on {outcome.n:,} {outcome.unit}."
    sections: list[Text | Table | Chart] = [Table("Claims", claims), Text(about)]
    sections += [Chart(title, chart) for title, chart in outcome.charts.items()]
    sections += [Table(title, frame, most=200) for title, frame in outcome.tables.items()]
    if outcome.notes:
        sections.append(Text("\n".join(f"- {note}" for note in outcome.notes), "Notes"))
    paper = f"The {experiment.paper} paper" if experiment.paper.isdigit() else experiment.paper
    return Page(experiment.title, tuple(sections), made, lead=f"{paper}: {experiment.name}")


def _file_name(title: str, ending: str, taken: list[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "untitled"
    name, number = stem + ending, 2
    while name in taken:
        name, number = f"{stem}-{number}{ending}", number + 1
    return name
