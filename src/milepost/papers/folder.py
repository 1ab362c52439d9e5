"""The data that experiments read: a folder of the user's own, and a store of evaluations.

The folder is laid out as `docs/papers.md` says; none of it is shipped. What took long to make is
kept in a work folder under a name that tells when its inputs have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from milepost.papers.code import code_digest
from milepost.papers.experiment import MissingDataError

PLAN = "bullet"
"""The plan whose evaluations count where a store holds several set-ups."""
_KEY = "position key"
_GAMES = ("mileposts", "lichess", "engines")
"""Folders whose games are looked at for positions that several games share."""


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
    drawn: Path | None = None
    """A folder of turns tables that were drawn beforehand, one a collection, such as
    ``mileposts-2011-2014.parquet``: then only these turns count. None = all turns of the games."""
    seen: tuple[Path, ...] = ()
    """Stores, or tables with a column `fen` or `position`: turns in these positions are left out,
    because rules were made on them."""
    left_out: dict[str, int] = field(default_factory=dict, compare=False)
    """How many turns were left out as seen, by collection; filled while experiments run."""

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

    def names(self, *parts: str) -> list[str]:
        """Return the names of what lies in a folder, sorted.

        Raises
        ------
        MissingDataError
            If there is no such folder.
        """
        return sorted(each.name for each in self.path(*parts).iterdir())

    @cached_property
    def evaluations(self) -> Any:
        """The opened store."""
        from milepost.analysis.store.store import EvaluationStore

        if self.store is None:
            raise MissingDataError("this needs a store of evaluations, and none was given")
        return EvaluationStore(str(self.store))

    def turns(self, *parts: str) -> pl.DataFrame:
        """Return the turns of the PGN files at a path, or those drawn of them; kept in `work`."""
        from milepost.games.load import read_turns

        if self.drawn is not None:
            return pl.read_parquet(self._drawn(*parts))
        source = self.path(*parts)

        def make() -> pl.DataFrame:
            return read_turns([str(source)], workers=self.workers)[0]

        return self.kept("turns-" + "-".join(parts), _stamps(source), make)

    def decisions(
        self, *parts: str, extra: Sequence[str] = (), plan: str = PLAN, **options: Any
    ) -> pl.DataFrame:
        """Return the evaluated decisions of the PGN files at a path in the folder; kept in `work`.

        Unless the turns were drawn beforehand, those in positions that several games share are
        left out: the store may hold them only because another game was analysed.

        Parameters
        ----------
        *parts
            The path, such as ``"mileposts", "2011-2014"``.
        extra
            Columns of the turns table to keep beside those of the spreads table.
        plan
            The plan of the evaluations, if the store holds several set-ups.
        **options
            See `milepost.analysis.spreads.build.make_spreads`.

        Raises
        ------
        MissingDataError
            If none of the turns was analysed.
        """
        from milepost.analysis.spreads.build import make_spreads
        from milepost.analysis.store.positions import stored_positions

        evaluations = self.evaluations
        source = self.path(*parts) if self.drawn is None else self._drawn(*parts)
        setup = self.setup(plan)

        def make() -> pl.DataFrame:
            turns = self.turns(*parts)
            table = make_spreads(turns, evaluations, setup=setup, **options).table
            wanted = [name for name in extra if name not in table.columns]
            columns = turns.select("game_id", "ply", *wanted, pl.col("position").alias("_at"))
            table = table.join(columns, on=["game_id", "ply"], how="left", maintain_order="left")
            keys = stored_positions(table["_at"]).hash(seed=0).alias(_KEY)
            table = table.drop("_at").hstack([keys])
            if self.drawn is not None:
                return table
            return table.filter(~pl.col(_KEY).is_in(self.shared_positions.implode()))

        shards = [each.name for each in evaluations.files()]
        stamps = [*_stamps(source), *shards, *extra, setup, repr(sorted(options.items()))]
        table = self.kept("decisions-" + "-".join(parts), stamps, make)
        fresh = table.filter(~pl.col(_KEY).is_in(self.seen_positions.implode())).drop(_KEY)
        if self.seen:
            self.left_out["/".join(parts)] = len(table) - len(fresh)
        if not len(fresh):
            raise MissingDataError(f"the store holds no evaluations of the turns of {source}")
        return fresh

    def setup(self, plan: str = PLAN) -> str:
        """Return the digest of the store's only set-up, or of its first one of a plan.

        Raises
        ------
        MissingDataError
            If the store has several, and none of that plan.
        """
        setups = self.evaluations.known_setups()
        ours = [key for key, about in setups.items() if about["plan"].split()[0] == plan]
        if len(setups) == 1:
            return str(next(iter(setups)))
        if not ours:
            raise MissingDataError(f"the store holds no evaluations of the plan {plan}")
        return str(ours[0])

    @cached_property
    def seen_positions(self) -> pl.Series:
        """Hashes of the positions, as the store names them, that were looked at before."""
        from milepost.analysis.store.positions import stored_positions
        from milepost.analysis.store.store import EvaluationStore

        keys = [pl.Series("key", [], dtype=pl.UInt64)]
        for path in self.seen:
            files = EvaluationStore(str(path)).files() if path.is_dir() else [path]
            for file in files:
                column = "fen" if "fen" in pl.read_parquet_schema(file) else "position"
                positions = pl.read_parquet(file, columns=[column])[column].unique()
                keys.append(stored_positions(positions).hash(seed=0).alias("key"))
        return pl.concat(keys).unique()

    def _drawn(self, *parts: str) -> Path:
        """The table of the turns that were drawn of a collection."""
        assert self.drawn is not None
        found = self.drawn / ("-".join(parts).removesuffix(".pgn") + ".parquet")
        if not found.exists():
            raise MissingDataError(f"{found} is not there: no turns were drawn of that collection")
        return found

    @cached_property
    def shared_positions(self) -> pl.Series:
        """Hashes of the positions, as the store names them, that more than one game reached."""
        from milepost.analysis.store.positions import stored_positions

        def make() -> pl.DataFrame:
            seen = []
            for parts in self._collections():
                turns = self.turns(*parts).filter(~pl.col("book").fill_null(False))
                keys = stored_positions(turns["position"]).hash(seed=0).alias("key")
                seen.append(turns.select("game_id").hstack([keys]).unique())
            games = pl.concat(seen).group_by("key").agg(pl.col("game_id").n_unique().alias("games"))
            return games.filter(pl.col("games") > 1).select("key").sort("key")

        stamps = [stamp for parts in self._collections() for stamp in _stamps(self.path(*parts))]
        return self.kept("shared-positions", stamps, make)["key"]

    def kept(
        self, name: str, stamps: Sequence[str], make: Callable[[], pl.DataFrame]
    ) -> pl.DataFrame:
        """Return a table out of `work`, made anew if it is not there or its inputs have changed.

        Parameters
        ----------
        name
            The table's name.
        stamps
            What tells its inputs apart.
        make
            Makes it; the code that it may run is looked at too.
        """
        from milepost.io.files import write_table

        facts = "\n".join([*stamps, code_digest(make)])
        digest = hashlib.sha256(facts.encode("utf-8")).hexdigest()[:12]
        path = self.work / f"{name.replace('/', '-')}-{digest}.parquet"
        if path.exists():
            return pl.read_parquet(path)
        table = make()
        self.work.mkdir(parents=True, exist_ok=True)
        write_table(table, str(path))
        return table

    def _collections(self) -> list[tuple[str, ...]]:
        """The paths of all games: one a period of the mileposts, one a file of the others."""
        found: list[tuple[str, ...]] = []
        for name in _GAMES:
            there = sorted(self.root.joinpath(name).glob("*"))
            found += [(name, each.name) for each in there if each.is_dir() or each.suffix == ".pgn"]
        return found


def _stamps(source: Path) -> list[str]:
    """Names, sizes and times of the files at a path."""
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    facts = [(each, each.stat()) for each in files if each.is_file()]
    return [f"{path} {about.st_size} {about.st_mtime_ns}" for path, about in facts]
