"""What an experiment is: claims, the data they were tested on, and what was found.

A module of this folder registers its experiments with `experiment`; `MODULES` names
the modules. An experiment gets a `Folder` of data and returns an `Outcome`; it raises
`MissingDataError` where the folder does not hold what it needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from milepost.errors import InputError, MilepostError
from milepost.io.suggest import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from milepost.papers.folder import Folder

HOLDS: Final = "holds"
FAILS: Final = "does not hold"
TOO_LITTLE: Final = "too little data"
Verdict = Literal["holds", "does not hold", "too little data"]


class MissingDataError(MilepostError):
    """The folder does not hold what an experiment needs."""


@dataclass(frozen=True)
class Finding:
    """One claim, and what became of it."""

    claim: str
    """What the paper says, in one sentence, with its place (section, table, figure)."""
    found: str
    """What these data say: numbers with their errors."""
    verdict: Verdict
    """Holds, does not hold, or too little data."""
    key: str = ""
    """The claim's name in the ledger."""
    effect: float | None = None
    """The number that decides."""
    low: float | None = None
    """The lower end of its 95 % interval."""
    high: float | None = None
    """The upper end."""
    power: float | None = None
    """Probability that the rule says *holds* if the claim is true in the size that it names."""
    p: float | None = None
    """The p-value of the rule's limit."""
    n: int | None = None
    """How many of `unit` the number rests on; None = as many as the experiment's."""
    unit: str | None = None
    """Turns, games …; None = the experiment's."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment found."""

    data: str
    """Which data, and what was left out of them."""
    n: int
    """How many of `unit` the findings rest on."""
    findings: tuple[Finding, ...]
    """One a claim."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Tables by title."""
    charts: Mapping[str, Any] = field(default_factory=dict)
    """Altair charts by title (see `milepost.report.charts`)."""
    unit: str = "turns"
    """What `n` counts."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: choices made, doubts."""


@dataclass(frozen=True)
class Experiment:
    """A registered experiment."""

    name: str
    """Its name on the command line, such as ``2011-mileposts``."""
    paper: str
    """Which paper, by year: 2007, 2009, 2011, or the name of another source."""
    title: str
    """A line for the index."""
    run: Callable[[Folder], Outcome]
    """The experiment itself."""


REGISTERED: dict[str, Experiment] = {}
"""All experiments whose modules were imported, by name."""


def experiment(
    name: str, *, paper: str, title: str
) -> Callable[[Callable[[Folder], Outcome]], Callable[[Folder], Outcome]]:
    """Register a function as an experiment."""

    def register(run: Callable[[Folder], Outcome]) -> Callable[[Folder], Outcome]:
        REGISTERED[name] = Experiment(name, paper, title, run)
        return run

    return register


MODULES: tuple[str, ...] = (
    "ttt2007.games",
    "ttt2007.evidence",
    "ttt2007.surface",
    "ttt2007.curves",
    "ttt2007.champions",
    "ttt2007.draws",
    "ttt2007.top",
    "ipr2011.table",
    "ipr2011.context",
    "ipr2011.inflation",
    "ipr2011.scale",
    "ipr2011.signs",
    "ipr2011.ties",
    "ipr2011.models",
    "ipr2011.depths",
    "ipr2011.speeds",
    "ipr2011.groups",
    "ipr2011.ratings",
    "agents2009.bands",
    "agents2009.results",
    "agents2009.robustness",
    "reviewed_script",
)
"""The modules of this folder that register experiments, in the order of the index."""


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in order."""
    for module in MODULES:
        importlib.import_module(f"milepost.papers.{module}")
    return dict(REGISTERED)


def find_experiments(names: list[str]) -> list[Experiment]:
    """Return the experiments of given names; a paper's year stands for all of its own.

    Raises
    ------
    InputError
        If a name is not known.
    """
    known = experiments()
    found: list[Experiment] = []
    for name in names:
        chosen = [each for each in known.values() if name in {each.name, each.paper}]
        if not chosen:
            raise InputError(
                f"no experiment {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}"
            )
        found += [each for each in chosen if each not in found]
    return found
