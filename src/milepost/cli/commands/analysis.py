"""The commands around the engine: analyse, spreads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands.juries import jury_member

if TYPE_CHECKING:
    from milepost.analysis.plans import Plan
    from milepost.analysis.run.run import RunState

Store = Annotated[
    str, typer.Option("--store", metavar="DIR", help="The evaluation store; made if there is none.")
]
BookMoves = Annotated[
    int, typer.Option("--book-moves", min=0, help="Moves a side that are book and left out.")
]


def analyse(
    inputs: options.Inputs,
    store: Store,
    plan: Annotated[
        str,
        typer.Option("--plan", help="quick, standard, reference, single or multipv."),
    ] = "quick",
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Another depth than the plan's own.")
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=1, help="Moves to search, for the plan multipv.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            help="A UCI engine [default: STOCKFISH_EXECUTABLE, stockfish on the PATH, /usr/games].",
        ),
    ] = None,
    engine_option: Annotated[
        list[str] | None,
        typer.Option("--engine-option", metavar="NAME=VALUE", help="A UCI option; repeatable."),
    ] = None,
    jury: Annotated[
        list[str] | None,
        typer.Option(
            "--jury",
            metavar="KEY=VALUE;...",
            help="A further member of a jury that differs in plan, depth, width or engine, such as "
            "depth=12; repeatable. All are stored apart, and their average beside them.",
        ),
    ] = None,
    every_turn: Annotated[
        bool,
        typer.Option("--every-turn", help="Also book, repetition and only-move turns."),
    ] = False,
    book_moves: BookMoves = 8,
    workers: options.Workers = options.ALL_CORES,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="auto|ADDRESS",
            help="Run on a Ray cluster: auto starts or joins one (needs milepost[cluster]).",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=1.0, help="Seconds after which a search counts as hanging."),
    ] = 600.0,
    errors: Annotated[
        str | None,
        typer.Option(
            "--errors",
            metavar="FILE",
            help="Write the positions that failed, with the reasons, to this table.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 also if a game was broken or unreadable."),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Let an engine score every legal move of every turn at every depth; store it for ever.

    Exits with 1 if a position failed; all others are stored.
    """
    from milepost.analysis.engine.setup import find_engine, parse_engine_options
    from milepost.analysis.jury import add_jury, jury_setup
    from milepost.analysis.plans import make_plan
    from milepost.analysis.run.run import analyse as run_analysis
    from milepost.analysis.run.run import engine_setup, wanted_jobs
    from milepost.analysis.store.store import EvaluationStore
    from milepost.games.load import load_turns
    from milepost.io.files import format_of

    if errors is not None:
        format_of(errors)  # an unknown ending is told before the work
    first = make_plan(plan, depth=depth, width=width, timeout=timeout)
    members = [(engine, find_engine(engine), first)]
    members += [jury_member(text, engine, plan, depth, width, timeout) for text in jury or []]
    uci_options = parse_engine_options(engine_option or [])
    # A wrong option, or a jury of equals, is told before anything is read or a store is made.
    setups = [engine_setup(program, each, uci_options) for _, program, each in members]
    if len(setups) > 1:
        jury_setup(setups)
    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = load_turns(inputs, book_moves=book_moves, workers=workers, progress=tell)
    lost = show.tell_wrong(wrong, quiet=quiet)
    opened = EvaluationStore(store, create=True)
    failed: list[tuple[str, str, str | None, str]] = []
    for name, program, each in members:
        jobs, left_out = wanted_jobs(turns, each, every_turn=every_turn)
        with show.progress("analysing", quiet=quiet, unit="positions") as tell:
            state = run_analysis(
                jobs,
                opened,
                program,
                each,
                options=uci_options,
                workers=workers,
                cluster=cluster,
                engine=name,
                progress=tell,
            )
        assert state.setup is not None
        failed += [(state.setup.digest, *each_failed) for each_failed in state.failed]
        if not quiet:
            state.left_out = left_out
            _tell(state, each, len(turns), store)
        _tell_failed(state)
        if errors is not None:
            _write_failed(failed, errors)
        if state.interrupted:
            raise KeyboardInterrupt
    if len(setups) > 1:
        setup, new = add_jury(opened, setups)
        if not quiet:
            typer.echo(f"jury {setup.digest}: {new:,} positions averaged", err=True)
    if failed or (lost and strict):
        raise typer.Exit(1)


def _write_failed(failed: list[tuple[str, str, str | None, str]], path: str) -> None:
    import polars as pl

    from milepost.io.files import write_table

    columns = dict.fromkeys(("setup", "position", "played", "reason"), pl.String)
    write_table(pl.DataFrame(failed, columns, orient="row"), path)


def _tell(state: RunState, plan: Plan, turns: int, store: str) -> None:
    assert state.setup is not None
    left_out = ", ".join(f"{count:,} {name}" for name, count in state.left_out.items())
    typer.echo(
        f"{turns:,} turns{f' ({left_out} left out)' if left_out else ''}: "
        f"{state.total:,} different positions\n"
        f"  {state.hits:,} in the store already, {state.done:,} analysed, "
        f"{len(state.failed):,} failed\n"
        f"  {state.setup.name}, {plan.text}: set-up {state.setup.digest} -> {store}\n"
        f"  engine time {state.engine_seconds:.1f} s, {state.restarts} engines restarted",
        err=True,
    )


def _tell_failed(state: RunState) -> None:
    """Name the failed positions, whatever else is to be quiet."""
    if state.failed:
        typer.echo(f"{len(state.failed):,} of {state.total:,} positions failed", err=True)
    for position, played, reason in state.failed[:5]:
        move = f", played {played}" if played else ""
        typer.echo(f"  failed: {position}{move}: {reason}", err=True)
    if len(state.failed) > 5:
        typer.echo(f"  ... and {len(state.failed) - 5:,} more: see --errors", err=True)
    if state.failed:
        typer.echo("  the same command tries them again", err=True)


def spreads(
    inputs: options.Inputs,
    store: Annotated[str, typer.Option("--store", metavar="DIR", help="The evaluation store.")],
    output: options.Output,
    setup: Annotated[
        str | None,
        typer.Option("--setup", help="Digest of the set-up, if the store holds several."),
    ] = None,
    limit_pawns: Annotated[
        float,
        typer.Option("--limit", min=0.0, help="Leave out turns whose best value is beyond this."),
    ] = 3.0,
    downweight: Annotated[
        bool,
        typer.Option("--downweight", help="Let such turns count less instead of leaving them out."),
    ] = False,
    mate_pawns: Annotated[
        float, typer.Option("--mate", min=20.0, help="What a mate counts, in pawns.")
    ] = 300.0,
    keep_book: Annotated[bool, typer.Option("--keep-book", help="Keep book turns.")] = False,
    keep_repetitions: Annotated[
        bool, typer.Option("--keep-repetitions", help="Keep positions that stood before.")
    ] = False,
    book_moves: BookMoves = 8,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Join turns with their evaluations into the spreads table that every fit reads."""
    from milepost.analysis.spreads.build import make_spreads
    from milepost.analysis.store.store import EvaluationStore
    from milepost.games.load import load_turns
    from milepost.io.files import format_of, write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    format_of(output, form)
    opened = EvaluationStore(store)
    with show.progress("reading", quiet=quiet) as tell:
        turns, wrong = load_turns(inputs, book_moves=book_moves, workers=workers, progress=tell)
    show.tell_wrong(wrong, quiet=quiet)
    found = make_spreads(
        turns,
        opened,
        setup=setup,
        limit_pawns=limit_pawns,
        downweight=downweight,
        mate_pawns=mate_pawns,
        keep_book=keep_book,
        keep_repetitions=keep_repetitions,
    )
    made = provenance(
        "spreads",
        {
            "setup": opened.known_setups().get(found.setup, found.setup),
            "limit_pawns": limit_pawns,
            "downweight": downweight,
            "mate_pawns": mate_pawns,
            "keep_book": keep_book,
            "keep_repetitions": keep_repetitions,
            "book_moves": book_moves,
        },
        table_inputs(find_sources(inputs)),
    )
    write_table(found.table, output, form=form, made=made)
    if not quiet:
        typer.echo(f"set-up {found.setup}; {len(found.table):,} spreads -> {output}", err=True)
        for name, count in found.counts.items():
            typer.echo(f"  {count:>9,} {name}", err=True)
