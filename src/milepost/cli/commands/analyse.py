"""The command analyse: an engine scores the moves of every turn, once and for ever."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    from milepost.api.analyses import Analysis, RunState

Store = Annotated[
    str, typer.Option("--store", metavar="DIR", help="The evaluation store; made if there is none.")
]
BookMoves = Annotated[
    int, typer.Option("--book-moves", min=0, help="Opening moves to skip per side.")
]


def analyse(
    inputs: options.Inputs,
    store: Store,
    plan: options.Plan = "quick",
    depth: options.Depth = None,
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, help="How many moves to search, for the plan multipv."),
    ] = None,
    engine: options.Engine = None,
    engine_option: options.EngineOptions = None,
    jury: Annotated[
        list[str] | None,
        typer.Option(
            "--jury",
            metavar="KEY=VALUE;...",
            help="Add a jury member that differs in plan, depth, width or engine, such as "
            "depth=12; repeatable. Each is stored, and so is the average.",
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            "--player",
            metavar="NAME",
            help="Only the moves of this player: a name or part of it; repeatable.",
        ),
    ] = None,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn", help="Also evaluate opening moves, repetitions and forced moves."
        ),
    ] = False,
    book_moves: BookMoves = 8,
    workers: options.Workers = options.ALL_CORES,
    cluster: options.Cluster = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=1.0, help="Seconds before a search counts as hanging."),
    ] = 600.0,
    errors: Annotated[
        str | None,
        typer.Option(
            "--errors",
            metavar="FILE",
            help="Write the positions that failed, and why, to this table.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with code 1 also if a game cannot be read to its end."),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate every legal move with an engine and save the results.

    Values of all depths are kept. Positions already in the store are not searched again.

    Exits with code 1 if a position failed; all others are saved.
    """
    from milepost.api.analyses import (
        AnalysisInterruptedError,
        Member,
        engine_setups,
        make_plan,
        parse_engine_options,
        parse_member,
    )
    from milepost.api.analyses import analyse as run
    from milepost.api.games import read_turns
    from milepost.io.files import format_of, write_table

    if errors is not None:
        format_of(errors)  # an unknown ending is told before the work
    first = Member(make_plan(plan, depth=depth, width=width, timeout=timeout), engine)
    others = [parse_member(text, first) for text in jury or []]
    uci_options = parse_engine_options(engine_option or [])
    # What is wrong with an engine is told before anything is read or a store is made.
    engine_setups([first, *others], uci_options)
    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = read_turns(inputs, book_moves=book_moves, workers=workers, progress=tell)
    lost = show.tell_wrong(wrong, quiet=quiet)
    show.refuse_nothing(len(turns) + len(wrong), inputs)
    try:
        with show.progress("analysing", quiet=quiet, unit="positions") as tell:
            analysis = run(
                turns,
                store,
                first.plan,
                engine=engine,
                engine_options=uci_options,
                jury=others,
                player=player or (),
                every_turn=every_turn,
                workers=workers,
                cluster=cluster,
                progress=tell,
            )
    except AnalysisInterruptedError as stopped:
        _tell(stopped.analysis, errors, quiet=quiet)
        if errors is not None:
            write_table(stopped.analysis.failed, errors)
        raise
    _tell(analysis, errors, quiet=quiet)
    if errors is not None:
        write_table(analysis.failed, errors)
    if len(analysis.failed) or (lost and strict):
        raise typer.Exit(1)


def _tell(analysis: Analysis, errors: str | None, *, quiet: bool) -> None:
    for run in analysis.runs:
        if not quiet:
            _tell_run(analysis, run)
        _tell_failed(run, errors)
    if analysis.jury is not None and not quiet:
        digest, averaged = analysis.jury.digest, analysis.averaged
        show.say(f"jury {digest}: {averaged:,} positions averaged", err=True)


def _tell_run(analysis: Analysis, run: RunState) -> None:
    assert run.setup is not None
    left_out = ", ".join(f"{count:,} {name}" for name, count in run.left_out.items())
    show.say(
        f"{analysis.turns:,} turns{f' ({left_out} left out)' if left_out else ''}: "
        f"{run.total:,} different positions\n"
        f"  {run.hits:,} in the store already, {run.done:,} analysed, "
        f"{len(run.failed):,} failed\n"
        f"  {run.setup.name}, {run.setup.plan}: set-up {run.setup.digest} -> "
        f"{analysis.store.folder}\n"
        f"  engine time {run.engine_seconds:.1f} s, {run.restarts} engines restarted",
        err=True,
    )


def _tell_failed(state: RunState, errors: str | None) -> None:
    """Name the failed positions, whatever else is to be quiet."""
    if state.failed:
        show.say(f"{len(state.failed):,} of {state.total:,} positions failed", err=True)
    for position, played, reason in state.failed[:5]:
        move = f", played {played}" if played else ""
        show.say(f"  failed: {position}{move}: {reason}", err=True)
    if len(state.failed) > 5:
        show.say(f"  ... and {len(state.failed) - 5:,} more: see {errors or '--errors'}", err=True)
    if state.failed:
        show.say("  the same command tries them again", err=True)


def analyse_command(
    inputs: Sequence[str], store: str, setup: str | None = None, plan_name: str | None = None
) -> str:
    """Return the command that adds to a store what it lacks of some games.

    Parameters
    ----------
    inputs, store
        As the user has named them.
    setup
        The set-up that is to be added to, if the store holds several.
    plan_name
        The plan that is asked for, if there is no such set-up yet, or several fit.
    """
    from milepost.api.analyses import make_plan, setup_plan
    from milepost.errors import InputError

    words = ["milepost", "analyse", *inputs, "--store", store]
    try:
        plan, options = setup_plan(store, setup)
    except InputError:
        # Of no engine, several set-ups, or nothing is there yet: the usual plan if none is named.
        return shlex.join([*words, *(["--plan", plan_name] if plan_name else [])])
    usual = make_plan(plan.name)
    if plan.name != "quick":
        words += ["--plan", plan.name]
    if plan.depth != usual.depth:
        words += ["--depth", str(plan.depth)]
    if plan.width != usual.width:
        words += ["--width", str(plan.width)]
    for name, value in options.items():
        words += ["--engine-option", f"{name}={value}"]
    return shlex.join(words)
