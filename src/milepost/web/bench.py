"""The workbench as a whole: its settings, its sets, its jobs, and the histories it shows."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from milepost.errors import MilepostError
from milepost.web.playing import Opponent
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.jobs import Jobs
from milepost.web.sets.shelf import GameSet, Shelf
from milepost.web.sets.tables import SetTables
from milepost.web.settings import Settings

if TYPE_CHECKING:
    from milepost.api.histories import History

SAMPLE_TITLE = "Sample league (simulated players)"
_SAMPLE_LOCK = threading.Lock()


@dataclass(frozen=True)
class SavedHistory:
    """A history that can be shown."""

    id: str
    """What stands in addresses."""
    title: str
    """What people see."""
    folder: Path
    """Where it lies."""
    set_id: str = ""
    """The set it was made of; empty = it was given when the server was started."""


class Bench:
    """A running workbench."""

    def __init__(self, settings: Settings):
        self.settings = settings
        """What it goes by."""
        self.shelf = Shelf(settings)
        """Its sets."""
        self.jobs = Jobs(settings, self.shelf)
        """Its jobs."""
        self.opponent = Opponent(settings)
        """The bot that can be played against."""

    def tables(self, identity: str) -> SetTables:
        """Return the tables of a set by its id."""
        return SetTables(self.shelf.get(identity))

    def add_sample(self) -> GameSet:
        """Put the sample league on the shelf, with its evaluations: it needs no engine."""
        from milepost import api

        with _SAMPLE_LOCK, as_file(files("milepost") / "data" / "sample") as sample:
            evaluations = sample / "evaluations"
            setup = api.analyses.store_info(evaluations).setups["setup"][0]
            with (sample / "games.pgn").open("rb") as file:
                more = {"setup": setup, "sample": True}
                chosen, new = self.shelf.add(file, "games.pgn", more=more)
            if new:
                chosen.tell(title=SAMPLE_TITLE)
                api.analyses.merge_stores(self.settings.store, [evaluations])
            if chosen.job["state"] in {"none", "failed"}:
                self.jobs.start(chosen)
        return chosen

    @cached_property
    def engine(self) -> dict[str, Any]:
        """What is known of the engine: its name, and whether there is a calibration for it."""
        from milepost import api

        program = self.jobs.engine()
        if program is None:
            return {"found": False, "name": None, "plan": self.settings.plan, "calibration": None}
        name, calibration = Path(program).name, None
        try:
            member = api.analyses.Member(api.analyses.make_plan(self.settings.plan), program)
            setup = api.analyses.engine_setups([member])[0]
            name = setup.name
            calibration = _calibration_of(setup.digest)
        except MilepostError:
            return {"found": False, "name": name, "plan": self.settings.plan, "calibration": None}
        return {"found": True, "name": name, "plan": self.settings.plan,
                "calibration": calibration}  # fmt: skip

    def histories(self) -> list[SavedHistory]:
        """Return the histories that can be shown: those given, and those of sets."""
        given = [
            SavedHistory(
                hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16], folder.name, folder
            )
            for folder in self.settings.histories
        ]
        own = [
            SavedHistory(each.id, each.about["title"], each.path("history"), each.id)
            for each in self.shelf.all()
            if each.path("history").is_dir()
        ]
        return [*given, *own]

    def history(self, identity: str, scale: str | None = None) -> tuple[SavedHistory, History]:
        """Return a history by its id, on a scale (`milepost.History.on`).

        Parameters
        ----------
        identity, scale
            Which history, and the scale; `None` = its own, as on the command line: joint where
            there is move evidence, else points.

        Raises
        ------
        RefusedError
            If there is none.
        """
        for each in self.histories():
            if each.id == identity:
                stamp = max((p.stat().st_mtime_ns for p in each.folder.iterdir()), default=0)
                return each, _load_history(each.folder, stamp, scale)
        raise RefusedError(404, "No such history", "It is not on this server.")


def _calibration_of(setup: str) -> str | None:
    from milepost.intrinsic.calibration.calibration import calibration_for

    try:
        return calibration_for(setup)
    except MilepostError:
        return None


@lru_cache(maxsize=4)
def _load_history(folder: Path, stamp: int, scale: str | None) -> History:
    """A history as it was at a time, on a scale; the last ones are held."""
    from milepost import api

    if scale is not None:
        return _load_history(folder, stamp, None).on(scale)
    return api.histories.load_history(folder)


def bench_of(request: Request) -> Bench:
    """Return the workbench that a request came to."""
    bench: Bench = request.app.state.bench
    return bench


TheBench = Annotated[Bench, Depends(bench_of)]
