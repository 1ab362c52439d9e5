"""What the commands on decisions share: options, reading decisions, tables of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import show
from milepost.cli.commands.analyse import analyse_command

if TYPE_CHECKING:
    import polars as pl

    from milepost.api.decisions import Decisions
    from milepost.api.ratings import Calibration

Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="DIR", help="The evaluation store; needed for games and turns."
    ),
]
Setup = Annotated[
    str | None,
    typer.Option(
        "--setup",
        help="Which engine set-up to use, if the store holds several: its plan, such as quick, or "
        "the start of its key (milepost store info lists them).",
    ),
]
Players = Annotated[
    list[str] | None,
    typer.Option(
        "--player", metavar="NAME", help="Only this player: a name or part of it; repeatable."
    ),
]
Named = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="NAME|FILE",
        help="A calibration file, or one that comes with the package.",
        show_default="the one that suits the evaluations",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Use the calibration even if it is for another engine set-up."),
]
Level = Annotated[
    float, typer.Option("--level", min=0.01, max=0.999, help="Probability of the intervals.")
]


def read_decisions(
    inputs: list[str],
    store: str | None,
    *,
    setup: str | None = None,
    player: list[str] | None = None,
    workers: int,
    quiet: bool,
    **options: Any,
) -> Decisions:
    """The decisions of a table, or of games and a store; told in a line what became of the turns.

    Where turns are missing in the store, the message names the command that adds them.
    """
    from milepost import api
    from milepost.errors import (
        InputError,
        MissingEvaluationsWarning,
        NotAnalysedError,
        SeveralSetupsError,
    )
    from milepost.io.sources import find_sources

    def adding() -> str:
        return f"{analyse_command(inputs, str(store), setup, options.get('plan'))} adds them"

    def word(caveat: Warning) -> str:
        if not isinstance(caveat, MissingEvaluationsWarning):
            return str(caveat)
        # Not at a comma: numbers have them too.
        return f"{str(caveat).partition(', and so not here')[0]}: {adding()}"

    if store is None and not find_sources(inputs).are_tables:
        raise InputError(
            "games need their evaluations: add --store DIR (milepost analyse makes one); a table "
            "must end in .csv, .tsv, .parquet or .ndjson"
        )
    show.refuse_nothing(None, inputs)
    try:
        with show.warnings_told(word), show.progress("reading", quiet=quiet) as tell:
            decisions = api.decisions.decisions(
                inputs, store, setup=setup, player=player or (), workers=workers, progress=tell,
                **options,
            )  # fmt: skip
    except NotAnalysedError as error:
        raise NotAnalysedError(f"{str(error).split(':')[0]}: {adding()}") from error
    except SeveralSetupsError as error:
        head, lines, rest = str(error).partition("\n")
        option = "--plan" if "plan" in options else "--setup"
        raise SeveralSetupsError(f"{head}, such as {option} quick{lines}{rest}") from error
    if not quiet and decisions.counts:
        show.note(_counted(decisions.counts), prose=True)
        show.detail(f"engine set-up {decisions.setup}")
    if len(decisions.errors):
        show.tell_wrong(decisions.errors, quiet=quiet)
    return decisions


_KEPT_APART = ("turns in", "kept", "possible errors of the game score")


def _counted(counts: Mapping[str, int]) -> str:
    """Say what became of the turns."""
    from milepost.analysis.spreads.build import LEFT_OUT_WORDS

    gone = [
        f"{count:,} {LEFT_OUT_WORDS.get(name, name)}"
        for name, count in counts.items()
        if count and name not in _KEPT_APART
    ]
    left = f"; left out: {', '.join(gone)}" if gone else ""
    return f"{counts.get('kept', 0):,} of {counts.get('turns in', 0):,} turns count{left}"


def analyse_missing(
    inputs: list[str],
    store: str | None,
    setup: str | None,
    player: list[str] | None,
    *,
    workers: int,
    quiet: bool,
) -> None:
    """Let the engine score what the store lacks of these games."""
    from pathlib import Path

    from milepost import api
    from milepost.errors import InputError

    if store is None:
        raise InputError("--analyse needs --store DIR: evaluations are kept there")
    with show.progress("analysing", quiet=quiet, unit="positions") as tell:
        if Path(store, "store.json").exists():
            analysis = api.analyses.complete_store(
                inputs, store, setup, player=player or (), workers=workers, progress=tell
            )
        else:
            analysis = api.analyses.analyse(
                inputs, store, player=player or (), workers=workers, progress=tell
            )
    if not quiet:
        show.say(str(analysis), err=True)


def find_calibration(
    name: str | None, decisions: Decisions, store: str | None, *, quiet: bool, bridged: bool = True
) -> Calibration:
    """Load a calibration, and tell what its user must know; or which command makes one.

    `bridged` = one that is carried over from another set-up will do.
    """
    from milepost import api
    from milepost.errors import NoCalibrationError

    try:
        calibration = api.ratings.find_calibration(name, decisions)
    except NoCalibrationError as error:
        raise NoCalibrationError(_how_to_calibrate(decisions, store, bridged=bridged)) from error
    if not quiet:
        show.detail(f"calibration {calibration.name}")
        for note in calibration.notes:
            show.detail(f"  {note}")
    return calibration


def _how_to_calibrate(decisions: Decisions, store: str | None, *, bridged: bool) -> str:
    from milepost import api

    told = f"no calibration comes with the package for the set-up {decisions.setup}"
    told += f" ({decisions.setup_text})" if decisions.setup_text else ""
    if not bridged:
        return (
            f"{told}, and honest players were measured with those set-ups alone: analyse the games "
            "by one of them (milepost analyse … --plan bullet, or quick; Stockfish 15.1)"
        )
    minutes = api.bridges.bridge_minutes(decisions, store)
    if minutes is None:
        return f"{told}: milepost calibrate makes one of games of rated players"
    assert decisions.plan is not None
    plan = "" if decisions.plan.name == "quick" else f" --plan {decisions.plan.name}"
    return (
        f"{told}:\n  milepost calibrate --bridge {api.bridges.BASE} --engine PATH{plan} "
        f"-o mine.json\nmakes one, in about {max(round(minutes), 2)} minutes of one core; then say "
        "--calibration mine.json"
    )


def show_numbers(table: pl.DataFrame, title: str) -> None:
    """Print a table for people, its numbers with four digits."""
    rows = [[_number(value) for value in row] for row in table.rows()]
    show.print_table(table.columns, rows, title=title)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return f"{value:.4g}"
