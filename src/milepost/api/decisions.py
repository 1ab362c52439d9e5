"""From games and a store, or from a table, to decisions: where ratings, fits and checks begin."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.analysis.engine.setup import readable_setup
from milepost.analysis.plans import Plan, make_plan, parse_plan
from milepost.analysis.spreads.build import LIMIT_PAWNS, NOT_ANALYSED, make_decisions
from milepost.analysis.spreads.option_values import MATE_PAWNS
from milepost.analysis.store.reading import find_reading
from milepost.analysis.store.store import EvaluationStore
from milepost.errors import (
    DoubtfulDecisionsWarning,
    InputError,
    MissingEvaluationsWarning,
    NotAnalysedError,
    TableError,
)
from milepost.games.load import read_turns
from milepost.games.players.find import PlayerFinder
from milepost.games.turns.replay import BOOK_MOVES
from milepost.io.files import read_table, typed_table, write_table
from milepost.io.progress import Report
from milepost.io.provenance import provenance, read_provenance
from milepost.io.sources import Inputs, find_sources
from milepost.tables import CONTEXT, DECISIONS, OPTION, Column, Table, as_frame


@dataclass(frozen=True)
class TurnRules:
    """Which turns become decisions; see `milepost.analysis.spreads.build.make_decisions`."""

    limit_pawns: float = LIMIT_PAWNS
    """Turns whose best move is worth more than this for either side are left out."""
    downweight: bool = False
    """Let such turns count less instead."""
    mate_pawns: float = MATE_PAWNS
    """What a mate is worth, in pawns."""
    keep_book: bool = False
    """Keep book turns."""
    keep_repetitions: bool = False
    """Keep positions that stood before in the game."""
    keep_score_doubts: bool = True
    """Keep possible errors of the game score, marked; see
    `milepost.analysis.spreads.score_doubts`."""


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """Decisions with all that groupings and cautions need, and what became of the other turns."""

    table: pl.DataFrame
    """One row a decision; see `milepost.tables.DECISIONS`."""
    setup: str = ""
    """Digest of the engine set-up behind the values; empty = not known."""
    setup_details: Mapping[str, Any] = field(default_factory=dict)
    """That set-up, as far as it is known."""
    left_out: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Turns that are no decisions, each with its first `reason`; empty for tables."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Turns in, left out by reason, kept, and marks among the kept; empty for tables."""
    inputs: tuple[Mapping[str, Any], ...] = ()
    """Name, size and digest of each file."""
    errors: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What was wrong with the games; see `milepost.tables.ERRORS`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How they were chosen."""
    moves: pl.Series | None = None
    """The moves that the options of each decision are, in the order of its values; None for
    tables, which do not say them."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.table)

    def __repr__(self) -> str:
        """Return what there is, in a few lines."""
        whose = ""
        if "mover" in self.table.columns:
            whose = f" of {self.table['mover'].n_unique():,} players"
        lines = [f"{len(self):,} decisions{whose}"]
        if self.setup:
            lines.append(f"set-up {self.setup}: {self.setup_text}")
        lines += [f"{count:>9,} {name}" for name, count in self.counts.items() if count]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table.drop("values", "depth_values", "shallow", strict=False)._repr_html_()

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return self.table.to_pandas()

    @property
    def made(self) -> dict[str, Any]:
        """How they were made: version, options, digests of the inputs."""
        told = {**self.options, "setup": dict(self.setup_details), "digest": self.setup}
        return provenance("spreads", told, [dict(given) for given in self.inputs])

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write the table as Parquet, CSV or NDJSON; it says which set-up it is of."""
        write_table(self.table, path, form=form, made=self.made)

    @property
    def setup_text(self) -> str:
        """The set-up behind the values in words; empty = not known."""
        return readable_setup(dict(self.setup_details)) if self.setup_details else ""

    @property
    def plan(self) -> Plan | None:
        """The plan behind the values, where it is known."""
        return parse_plan(str(self.setup_details.get("plan", "")))

    @property
    def missing(self) -> int:
        """How many turns the store does not hold."""
        return int(self.counts.get(NOT_ANALYSED, 0))

    @property
    def names(self) -> dict[str, str]:
        """The players' names as written, by their keys."""
        names: dict[str, str] = {}
        for key, name in (("opponent", "opponent_name"), ("mover", "mover_name")):
            if {key, name} <= set(self.table.columns):
                pairs = self.table.select(key, name).drop_nulls().unique(key, keep="first")
                names |= dict(pairs.iter_rows())
        return names

    def of_players(self, typed: Iterable[str]) -> Decisions:
        """Return the decisions of some players, by key, name or a part of one.

        Raises
        ------
        InputError
            If a name means nobody or several players.
        """
        wanted = list(typed)
        if not wanted:
            return self
        if "mover" not in self.table.columns:
            raise InputError("these decisions do not say who decided: they lack the column mover")
        movers = self.table.group_by("mover").agg(pl.col("game_id").n_unique().alias("games"))
        names = self.names
        finder = PlayerFinder(
            movers.select(
                pl.col("mover").alias("key"),
                pl.col("mover").replace(names).alias("name"),
                pl.col("games").cast(pl.Int64),
            )
        )
        return self.filter(pl.col("mover").is_in([finder.find(name).key for name in wanted]))

    def filter(self, wanted: pl.Expr) -> Decisions:
        """Return some of the decisions, with what their options are.

        The turns that were left out are chosen alike where they have the columns that are asked
        for; otherwise all of them are kept.
        """
        mask = self.table.select(wanted.fill_null(False).alias("wanted"))["wanted"]
        moves = None if self.moves is None else self.moves.filter(mask)
        left_out = self.left_out
        if set(wanted.meta.root_names()) <= set(left_out.columns):
            left_out = left_out.filter(wanted)
        return replace(self, table=self.table.filter(mask), moves=moves, left_out=left_out)


def decisions(
    inputs: Inputs | pl.DataFrame | Any,
    store: str | Path | EvaluationStore | None = None,
    *,
    setup: str | None = None,
    plan: str | Plan | None = None,
    player: str | Iterable[str] = (),
    rules: TurnRules | None = None,
    book_moves: int = BOOK_MOVES,
    workers: int = 1,
    progress: Report | None = None,
) -> Decisions:
    """Return the decisions of games whose turns are in a store, or those of a table.

    Parameters
    ----------
    inputs
        With a store: PGN files, folders, patterns, games or turns tables, or a turns frame. Without
        one: decisions or spreads tables, or a frame of them. Decisions are returned as they are.
    store
        The evaluation store.
    setup
        Digest of the set-up to use, or its beginning, where the store holds several; for tables,
        what they do not say themselves.
    plan
        With a store: only evaluations of this plan; where there are none, those of a deeper plan
        that holds it, cut to its depth (``"bullet"`` of a store of ``"quick"``).
    player
        Only these players' decisions: keys, names or parts of names.
    rules
        Which turns become decisions.
    book_moves
        Moves a side that count as book, for games.
    workers
        Processes to read PGN with.
    progress
        Called while games are read.

    Raises
    ------
    InputError
        If games come without a store, or nothing is there at all.
    NotAnalysedError
        If no turn of the games is in the store.
    TableError
        If a table is not what it should be.

    Warns
    -----
    MissingEvaluationsWarning
        If some turns are not in the store.
    """
    if isinstance(inputs, Decisions):
        found = inputs
    elif store is None:
        found = _of_tables(inputs, setup)
    else:
        opened = store if isinstance(store, EvaluationStore) else EvaluationStore(store)
        found = _of_games(
            inputs, opened, (setup, plan), rules or TurnRules(), book_moves, workers, progress
        )
    return found.of_players([player] if isinstance(player, str) else player)


def _with_lists(table: pl.DataFrame, path: str) -> pl.DataFrame:
    """Read the lists of decisions that were written as CSV."""
    if table.schema.get("values") != pl.String:
        return table
    of_options = [
        Column(name, pl.List(pl.Float64), "") for name in table.columns if name.startswith(OPTION)
    ]
    of_turns = [Column(name, pl.Float64, "") for name in table.columns if name.startswith(CONTEXT)]
    known = [column for column in DECISIONS.columns if column.name in table.columns]
    return typed_table(table, Table("decisions", "", (*known, *of_options, *of_turns)), path)


def _looked_at(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table of decisions; warn of what would else be rated in silence."""
    numbers = table.schema.get("values")
    if not isinstance(numbers, pl.List) or not numbers.inner.is_numeric() or not len(table):
        return table  # what it lacks is told where it is needed
    if "chosen" in table.columns:
        listed = pl.lit(True)
        if table.schema.get("unlisted", pl.String).is_numeric():
            listed = pl.col("unlisted").fill_null(0) == 0
        unknown = int(table.select((pl.col("chosen").is_null() & listed).sum()).item())
        if unknown == len(table):
            raise TableError("no decision says which option was chosen: the column chosen is empty")
        if unknown:
            warnings.warn(
                f"{unknown:,} of {len(table):,} decisions do not say which option was chosen: they "
                "count as choices outside the options",
                DoubtfulDecisionsWarning,
                stacklevel=4,
            )
    falls = pl.col("values").list.diff().list.max() > 0
    unordered = int(table.select(falls.sum()).item())
    if unordered:
        warnings.warn(
            f"the values of {unordered:,} of {len(table):,} decisions are not best first: they are "
            "put in order, and the chosen option is counted as the values were given",
            DoubtfulDecisionsWarning,
            stacklevel=4,
        )
    return table


def _of_tables(inputs: Any, setup: str | None) -> Decisions:
    if _is_frame(inputs):
        return Decisions(_looked_at(as_frame(inputs)), setup=setup or "")
    sources = find_sources(inputs)
    if not sources.are_tables:
        raise InputError(
            "games need a store of evaluations: milepost.analyse(games, store) makes one"
        )
    frames, setups = [], {}
    for source in sources:
        frames.append(_with_lists(read_table(source.name), source.name))
        told = read_provenance(source.name).get("options", {})
        if isinstance(told, dict) and told.get("digest"):
            setups[str(told["digest"])] = told.get("setup")
    if len(setups) > 1:
        raise InputError(
            f"these tables are of different engine set-ups ({', '.join(setups)}): rate them apart"
        )
    digest = setup or next(iter(setups), "")
    details = setups.get(digest)
    return Decisions(
        _looked_at(pl.concat(frames, how="diagonal_relaxed")),
        setup=digest,
        setup_details=details if isinstance(details, dict) else {},
        inputs=tuple(sources.about()),
    )


def _of_games(
    inputs: Any,
    store: EvaluationStore,
    wanted: tuple[str | None, str | Plan | None],
    rules: TurnRules,
    book_moves: int,
    workers: int,
    progress: Report | None,
) -> Decisions:
    if _is_frame(inputs):
        turns, errors = as_frame(inputs), pl.DataFrame()
        digests: list[dict[str, Any]] = []
    else:
        # Found once, read once, and digested while they are read.
        sources = find_sources(inputs)
        turns, errors = read_turns(
            sources, book_moves=book_moves, workers=workers, progress=progress
        )
        digests = sources.about()
    chosen = vars(rules)
    setup, plan = wanted
    reading = find_reading(store, setup, make_plan(plan) if isinstance(plan, str) else plan)
    made = make_decisions(turns, store, setup=reading.stored, depth=reading.depth, **chosen)
    found = Decisions(
        made.table,
        setup=reading.setup,
        setup_details=reading.details,
        left_out=made.left_out,
        counts=made.counts,
        inputs=tuple(digests),
        errors=errors,
        options={**chosen, "book_moves": book_moves},
        moves=made.moves,
    )
    if found.missing:
        turns_wanted = found.missing + made.counts["kept"]
        told = f"{found.missing:,} of {turns_wanted:,} turns are not in the store"
        if not len(found):
            raise NotAnalysedError(f"{told}: milepost.analyse(games, store) adds them")
        warnings.warn(
            f"{told} {store.folder}, and so not here: milepost.analyse(games, store) adds them",
            MissingEvaluationsWarning,
            stacklevel=3,
        )
    return found


def score_doubts_told(table: pl.DataFrame) -> str:
    """Return how many decisions may be errors of the game score; empty if that is not known."""
    if "score_doubt" not in table.columns or not len(table):
        return ""
    count = int(table["score_doubt"].fill_null(False).sum())
    if not count:
        return ""
    rate = 10_000 * count / len(table)
    return (
        f"{count:,} of {len(table):,} turns ({rate:.1f} in 10,000) may be errors of the game "
        "score: both sides overlook more than five pawns in a row"
    )


def cautions_missing(table: pl.DataFrame) -> list[str]:
    """Return the columns that cautions need and a table of decisions does not have."""
    return [name for name in ("speed", "opponent", "mover_elo") if name not in table.columns]


def _is_frame(inputs: Any) -> bool:
    return isinstance(inputs, pl.DataFrame | pl.LazyFrame) or hasattr(inputs, "__arrow_c_stream__")
