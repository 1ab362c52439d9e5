"""The data that experiments read: a folder of the user's own, and a store of evaluations.

The folder is laid out as `docs/papers.md` says; none of it is shipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from milepost.papers.experiment import MissingDataError


@dataclass(frozen=True)
class Folder:
    """Where the data lie."""

    root: Path
    """The folder with ``mileposts/``, ``lichess/``, ``otb_results.parquet`` and so on."""
    store: Path | None = None
    """The evaluation store; None = none."""
    work: Path = Path("reproduced/work")
    """Where tables that took long to make are kept."""
    workers: int = 1
    """Processes."""

    def path(self, *parts: str) -> Path:
        """Return a path in the folder.

        Raises
        ------
        MissingDataError
            If there is nothing there.
        """
        found = self.root.joinpath(*parts)
        if not found.exists():
            raise MissingDataError(f"{found} is not there")
        return found

    @cached_property
    def evaluations(self) -> Any:
        """The opened store."""
        from milepost.analysis.store import EvaluationStore

        if self.store is None:
            raise MissingDataError("this needs a store of evaluations: --store DIR")
        return EvaluationStore(str(self.store))

    def turns(self, *parts: str) -> pl.DataFrame:
        """Return the turns of the PGN files at a path in the folder; kept in `work`."""
        from milepost.analysis.inputs import load_turns
        from milepost.files import write_table

        source = self.path(*parts)
        kept = self.work / ("turns-" + "-".join(parts).replace("/", "-") + ".parquet")
        if kept.exists() and kept.stat().st_mtime > source.stat().st_mtime:
            return pl.read_parquet(kept)
        turns, _ = load_turns([str(source)], workers=self.workers)
        self.work.mkdir(parents=True, exist_ok=True)
        write_table(turns, str(kept))
        return turns

    def decisions(
        self, *parts: str, extra: Sequence[str] = (), setup: str | None = None, **options: Any
    ) -> pl.DataFrame:
        """Return the evaluated decisions of the PGN files at a path in the folder.

        Parameters
        ----------
        *parts
            The path, such as ``"mileposts", "2011-2014"``.
        extra
            Columns of the turns table to keep beside those of the spreads table.
        setup
            The set-up, if the store holds several.
        **options
            See `milepost.analysis.spreads.make_spreads`.
        """
        from milepost.analysis.spreads import make_spreads

        turns = self.turns(*parts)
        table = make_spreads(turns, self.evaluations, setup=setup, **options).table
        wanted = [name for name in extra if name not in table.columns]
        columns = turns.select("game_id", "ply", *wanted)
        return table.join(columns, on=["game_id", "ply"], how="left", maintain_order="left")
