"""Engine analysis: the turns of games into a store, and what can be done with a store."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from milepost.analysis.engine.setup import (
    EngineSetup,
    find_engine,
    parse_engine_options,
    readable_setup,
)
from milepost.analysis.exchange.delta_text import import_delta_log, write_delta_log
from milepost.analysis.exchange.delta_turns import WIDTH
from milepost.analysis.exchange.eval_comments import import_eval_comments
from milepost.analysis.exchange.rows import Imported
from milepost.analysis.exchange.scored_tables import import_shared
from milepost.analysis.jury import Member, add_jury, jury_setup, parse_member
from milepost.analysis.plans import Plan, make_plan, parse_plan
from milepost.analysis.run.run import analyse as run_analysis
from milepost.analysis.run.run import engine_setup, wanted_jobs
from milepost.analysis.run.state import RunState
from milepost.analysis.store.shards import ShardProblem
from milepost.analysis.store.store import EvaluationStore
from milepost.analysis.tablebases import Endgames, add_endgames
from milepost.errors import EngineError, InputError, OutputError
from milepost.games.load import read_games, read_turns
from milepost.games.players.find import PlayerFinder
from milepost.io.files import FORMATS, format_of, write_table, write_text
from milepost.io.outputs import STDOUT
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs, input_names
from milepost.tables import TURNS

__all__ = [
    "Analysis",
    "AnalysisInterruptedError",
    "EvaluationStore",
    "Imported",
    "Member",
    "Plan",
    "RunState",
    "ShardProblem",
    "analyse",
    "complete_store",
    "engine_setups",
    "export_evaluations",
    "import_evaluations",
    "judge_endgames",
    "make_plan",
    "merge_stores",
    "open_store",
    "parse_engine_options",
    "parse_member",
    "setup_plan",
    "store_info",
]

Store = str | Path | EvaluationStore
"""A store, or the folder where it lies."""

DELTA = "delta"
"""The text log of the draft paper: a format of exports, and a kind of imports."""
IMPORTS = ("eval", DELTA, "scored")
"""The kinds of evaluations that were made elsewhere."""
_FAILED: dict[str, Any] = dict.fromkeys(("setup", "position", "played", "reason"), pl.String)


@dataclass(frozen=True, repr=False)
class Analysis:
    """What became of an analysis; the values are in the store."""

    store: EvaluationStore
    """Where they are."""
    turns: int
    """Turns that were looked at."""
    runs: tuple[RunState, ...]
    """How each engine and plan did: one, or one for each member of a jury."""
    errors: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What was wrong with the games; see `milepost.tables.ERRORS`."""
    jury: EngineSetup | None = None
    """The set-up of the jury's averages; `None` if there is no jury."""
    averaged: int = 0
    """Positions that were averaged for the jury."""

    @property
    def setups(self) -> tuple[str, ...]:
        """Digests of the set-ups under which the evaluations are stored."""
        return tuple(run.setup.digest for run in self.runs if run.setup is not None)

    @property
    def done(self) -> int:
        """Positions that were analysed now."""
        return sum(run.done for run in self.runs)

    @property
    def failed(self) -> pl.DataFrame:
        """The positions that no engine could do: set-up, position, played move and reason."""
        rows = [
            (digest, *failed)
            for digest, run in zip(self.setups, self.runs, strict=True)
            for failed in run.failed
        ]
        return pl.DataFrame(rows, _FAILED, orient="row")

    def __repr__(self) -> str:
        lines = [f"{self.turns:,} turns -> {self.store.folder}"]
        for run in self.runs:
            about = "?" if run.setup is None else f"{run.setup.digest}, {run.setup.plan}"
            lines.append(
                f"  {run.hits:,} positions were there, {run.done:,} analysed, "
                f"{len(run.failed):,} failed (set-up {about})"
            )
        return "\n".join(lines)


class AnalysisInterruptedError(KeyboardInterrupt):
    """The user has stopped an analysis; all that was finished is stored."""

    def __init__(self, analysis: Analysis):
        super().__init__("analysis interrupted")
        self.analysis = analysis
        """How far it came."""


def analyse(
    games: Inputs | Any,
    store: Store,
    plan: str | Plan = "quick",
    *,
    engine: str | None = None,
    engine_options: Mapping[str, str] | None = None,
    jury: Sequence[Member] = (),
    player: str | Iterable[str] = (),
    every_turn: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: Report | None = None,
) -> Analysis:
    """Let an engine score the moves of every turn that a store does not hold, and store it.

    Parameters
    ----------
    games
        PGN files, folders or patterns, games or turns tables, or a frame of games or turns.
    store
        The evaluation store; made if there is none.
    plan
        What to search: the name of a plan, or one with another depth or width
        (`milepost.make_plan`).
    engine
        The engine's program or name; see `milepost.analysis.engine.setup.find_engine`.
    engine_options
        UCI options beside those of the plan.
    jury
        Further members of a jury: each is stored apart, and the average of all beside them.
    player
        Only these players' turns: keys, names or parts of names.
    every_turn
        Also turns that never become decisions: book, repetitions, only moves.
    workers
        Processes to read with, and engines at a time, on this machine.
    cluster
        Run on a Ray cluster instead: its address, or ``auto``.
    progress
        Called while games are read, then after every position.

    Raises
    ------
    EngineError
        If there is no engine, or it does not take its options.
    InputError
        If a player's name means nobody or several, or something else cannot be used.
    AnalysisInterruptedError
        If the user stops it (Ctrl-C).
    """
    members = [Member(make_plan(plan) if isinstance(plan, str) else plan, engine), *jury]
    # A wrong option, or a jury of equals, is told before anything is read or a store is made.
    setups = engine_setups(members, engine_options)
    turns, errors = read_turns(games, workers=workers, progress=progress)
    turns = turns_of(turns, [player] if isinstance(player, str) else list(player))
    opened = open_store(store, create=True)
    analysis = Analysis(opened, len(turns), (), errors)
    for member, setup in zip(members, setups, strict=True):
        jobs, left_out = wanted_jobs(turns, member.plan, every_turn=every_turn)
        state = run_analysis(
            jobs,
            opened,
            find_engine(member.engine),
            member.plan,
            options=dict(engine_options or {}),
            workers=workers,
            cluster=cluster,
            engine=member.engine,
            setup=setup,
            progress=progress,
        )
        state.left_out = left_out
        analysis = replace(analysis, runs=(*analysis.runs, state))
        if state.interrupted:
            raise AnalysisInterruptedError(analysis)
    if len(members) == 1:
        return analysis
    average, new = add_jury(opened, setups)
    return replace(analysis, jury=average, averaged=new)


def complete_store(
    games: Inputs | Any,
    store: Store,
    setup: str | None = None,
    *,
    engine: str | None = None,
    player: str | Iterable[str] = (),
    workers: int = 1,
    cluster: str | None = None,
    progress: Report | None = None,
) -> Analysis:
    """Analyse what a store lacks of some games, under a set-up that it has.

    Parameters
    ----------
    setup
        Its digest, or the beginning of it; not needed if there is only one.
    games, store, engine, player, workers, cluster, progress
        As in `analyse`.

    Raises
    ------
    InputError
        If the set-up is not there, or is of no engine: a jury, or evaluations made elsewhere.
    EngineError
        If the engine here is another than the set-up's.
    """
    opened = open_store(store)
    digest = opened.pick_setup(setup)
    plan, options = setup_plan(opened, digest)
    here = engine_setups([Member(plan, engine)], options)[0]
    if here.digest != digest:
        known = readable_setup(opened.known_setups().get(digest))
        raise EngineError(
            f"set-up {digest} of {opened.folder} is {known}; the engine here is "
            f"{readable_setup(here.as_dict())}, whose values are others"
        )
    return analyse(
        games,
        opened,
        plan,
        engine=engine,
        engine_options=options,
        player=player,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )


def setup_plan(store: Store, setup: str | None = None) -> tuple[Plan, dict[str, str]]:
    """Return the plan of a set-up in a store, and the engine's options that the user has set.

    With them `analyse` adds to the same set-up, if the engine is the same.

    Raises
    ------
    InputError
        If the set-up is not there, or is of no engine: a jury, or evaluations made elsewhere.
    """
    opened = open_store(store)
    digest = opened.pick_setup(setup)
    known = opened.known_setups().get(digest, {})
    plan = parse_plan(str(known.get("plan", "")))
    if plan is None:
        raise InputError(
            f"set-up {digest} ({readable_setup(known or None)}) is none of an engine: nothing can "
            "be analysed under it"
        )
    set_by_plan = {name: value for name, value in plan.options.items() if name != "MultiPV"}
    options = {
        name: value
        for name, value in known.get("options", {}).items()
        # An engine may have fewer lines than the plan asks for: that is no choice of the user's.
        if name != "MultiPV" and set_by_plan.get(name) != value
    }
    return plan, options


def engine_setups(
    members: Sequence[Member], engine_options: Mapping[str, str] | None = None
) -> list[EngineSetup]:
    """Start the engine of each member, ask who it is, and return its set-up.

    Raises
    ------
    EngineError
        If one is not found, or does not take its options.
    InputError
        If two are alike.
    """
    setups = [
        engine_setup(find_engine(member.engine), member.plan, dict(engine_options or {}))
        for member in members
    ]
    if len(setups) > 1:
        jury_setup(setups)
    return setups


def turns_of(turns: pl.DataFrame, typed: list[str]) -> pl.DataFrame:
    """Return the turns in which one of these players is to move: keys, names or parts of names."""
    if not typed:
        return turns
    finder = PlayerFinder(
        turns.group_by("mover").agg(
            pl.col("mover_name").drop_nulls().first().alias("name"),
            pl.col("game_id").n_unique().cast(pl.Int64).alias("games"),
        ).rename({"mover": "key"})
    )  # fmt: skip
    keys = [finder.find(name).key for name in typed]
    return turns.filter(pl.col("mover").is_in(keys))


def open_store(store: Store, *, create: bool = False) -> EvaluationStore:
    """Open an evaluation store.

    Parameters
    ----------
    store
        The folder where it lies; an open one is returned as it is.
    create
        Make it if there is none.

    Raises
    ------
    InputError
        If there is no store, or the folder is something else.
    """
    return store if isinstance(store, EvaluationStore) else EvaluationStore(store, create=create)


@dataclass(frozen=True)
class StoreInfo:
    """What is in a store."""

    setups: pl.DataFrame
    """A row a set-up: `setup`, `plan`, `engine` (with its net and options, in words), `positions`,
    `moves` (mean), `depth`, `nodes`."""
    files: int
    """Files of evaluations."""
    bytes: int
    """Their size."""

    @property
    def positions(self) -> int:
        """Positions of all set-ups together."""
        return int(self.setups["positions"].sum())


def store_info(store: Store) -> StoreInfo:
    """Return the set-ups in a store, with positions, moves and depths."""
    opened = open_store(store)
    files = opened.files()
    counted = opened.query(
        # What two machines have analysed lies there twice and counts once.
        "select setup, count(*) as positions, round(avg(len(moves)), 1) as moves, "
        "max(len(cp)) as depth, sum(nodes)::double as nodes "
        "from (select distinct on (setup, position, played) * from evaluations) "
        "group by setup order by setup"
    )
    known = opened.known_setups()
    abouts = [known.get(digest) for digest in counted["setup"]]
    plans = [None if about is None else str(about.get("plan", "")) for about in abouts]
    engines = [readable_setup(about and {**about, "plan": ""}) for about in abouts]
    setups = counted.select(
        "setup",
        pl.Series("plan", plans, dtype=pl.String),
        pl.Series("engine", engines, dtype=pl.String),
        pl.exclude("setup"),
    )
    return StoreInfo(setups, len(files), sum(path.stat().st_size for path in files))


@dataclass(frozen=True)
class Merged:
    """What one store has given to another."""

    name: str
    """The store that was taken from."""
    added: int
    """Evaluations that are new."""
    differing: int
    """Evaluations that both have, with other values: the first store's stay. There should be
    none."""


def judge_endgames(store: Store, tables: str | Path, *, setup: str | None = None) -> Endgames:
    """Store a set-up's evaluations again, with the values of Syzygy tables where they reach.

    Parameters
    ----------
    store
        The store.
    tables
        The folder with the tables.
    setup
        The set-up's digest, if the store holds several.

    Raises
    ------
    InputError
        If the folder holds no tables.
    """
    return add_endgames(open_store(store), tables, setup=setup)


def merge_stores(store: Store, others: Inputs) -> list[Merged]:
    """Add to a store, made if there is none, what others have and it has not."""
    sources = [(name, open_store(name)) for name in input_names(others)]  # before anything is made
    opened = open_store(store, create=True)
    merged = []
    for name, source in sources:
        differing = opened.count_differing(source)
        merged.append(Merged(name, opened.merge(source), differing))
    return merged


@dataclass(frozen=True)
class Exported:
    """What was written from a store."""

    setup: str
    """The digest of the set-up."""
    rows: int
    """Evaluations, or turns where turns were given."""
    without: int | None = None
    """Turns that the store does not hold; `None` if no turns were given."""


def export_evaluations(
    store: Store,
    output: str | Path,
    *,
    setup: str | None = None,
    form: str | None = None,
    width: int = WIDTH,
    turns: Inputs | Any = None,
) -> Exported:
    """Write the evaluations of a set-up as a table, or as the draft paper's text log.

    Parameters
    ----------
    store
        The store.
    output
        Where to; ``-`` is standard output.
    setup
        Digest of the set-up, if the store holds several.
    form
        parquet, csv or ndjson, if the ending of `output` does not say it; or delta, the text log.
    width
        delta: moves a turn.
    turns
        delta: games or turns with the moves played.
    """
    check_export(output, form)
    opened = open_store(store)
    digest = opened.pick_setup(setup)
    evaluations = opened.read(digest)
    if form != DELTA:
        made = provenance("store export", {"setup": opened.known_setups().get(digest)}, [])
        write_table(evaluations, output, form=form, made=made)
        return Exported(digest, len(evaluations))
    text = io.StringIO()
    played = None if turns is None else read_turns(turns)[0]
    rows = write_delta_log(evaluations, text, width=width, turns=played)
    if str(output) == STDOUT:
        sys.stdout.write(text.getvalue())
    else:
        write_text(output, text.getvalue())
    return Exported(digest, rows, None if played is None else len(played) - rows)


def check_export(output: str | Path, form: str | None) -> None:
    """Refuse an unknown format before anything is read, and name all that are known."""
    known = ", ".join((*FORMATS, DELTA))
    if form is not None:
        if form not in (*FORMATS, DELTA):
            raise OutputError(f"unknown format {form!r}; known are {known}")
        return
    try:
        format_of(output)
    except OutputError as error:
        raise OutputError(f"{error}; or name a format: {known}") from error


@dataclass(frozen=True)
class ImportedFile:
    """What became of one file of evaluations."""

    name: str
    """The file."""
    imported: Imported
    """What was stored, and what was refused."""
    errors: pl.DataFrame
    """What was wrong with its games; see `milepost.tables.ERRORS`."""


def import_evaluations(
    store: Store,
    inputs: Inputs,
    kind: str,
    *,
    engine: str = "unknown engine",
    turns: Any = None,
) -> Iterator[ImportedFile]:
    """Take in evaluations that were made elsewhere, under a set-up that says so, file by file.

    Parameters
    ----------
    store
        Where they go; made if there is none.
    inputs
        Files with evaluations.
    kind
        eval (``%eval`` comments of PGN or games tables), delta (the text log), or scored (tables of
        `fen`, `played`, `moves` and `cp`: Stockfish 15.1, all moves to depth 10).
    engine
        delta: the name of the engine that made the log.
    turns
        delta: a turns table with the positions, in the order of a log without them.

    Yields
    ------
    ImportedFile
        Rows that cannot be what they claim to be are refused by number; all others are stored.

    Raises
    ------
    InputError
        If a file cannot be read, or the kind is not known.
    """
    if kind not in IMPORTS:
        raise InputError(f"expected {', '.join(IMPORTS)} as the kind of evaluations, got {kind!r}")
    names = input_names(inputs)
    if turns is not None and (kind != DELTA or len(names) > 1):
        raise InputError("turns are for one delta log at a time")
    opened = open_store(store, create=True)
    for name in names:
        errors = pl.DataFrame()
        if kind == "eval":
            games, errors = read_games(name)
            imported = import_eval_comments(games, opened)
        elif kind == DELTA:
            played = None if turns is None else TURNS.conform(turns)
            imported = import_delta_log(_text_of(name), opened, engine=engine, turns=played)
        else:
            imported = import_shared(name, opened)
        yield ImportedFile(name, imported, errors)


def _text_of(name: str) -> io.StringIO:
    try:
        return io.StringIO(Path(name).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no text in UTF-8, so no delta log") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
