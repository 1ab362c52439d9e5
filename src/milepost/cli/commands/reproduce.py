"""The command that tests the papers' claims on games that the user has: reproduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    from milepost.papers.run import Done


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]", help="Experiments, or a paper's year for all of its own."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="DIR", help="Folder of games; docs/papers.md says what it must hold."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="DIR", help="Evaluation store, for experiments about moves."
        ),
    ] = None,
    turns: Annotated[
        str | None,
        typer.Option(
            "--turns",
            metavar="DIR",
            help="Folder of turns tables drawn beforehand, one per collection: use only these.",
        ),
    ] = None,
    seen: Annotated[
        list[str] | None,
        typer.Option(
            "--seen",
            metavar="PATH",
            help="A store, or a table with fen or position: turns in these positions are left "
            "out; repeatable.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write.")
    ] = "reproduced",
    everything: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    listed: Annotated[
        bool,
        typer.Option("--list", help="List experiments and claims, with the results in OUT."),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run even what has not changed since last time.")
    ] = False,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Test the papers' claims on your games.

    Says of each claim whether it holds, fails or cannot be decided. Writes OUT/NAME/ (page, tables,
    figures, result.json) and OUT/index.html. Skips experiments that have not changed, and those
    whose data are missing, with the reason.

    Exits with code 1 if an experiment could not be run.
    """
    from pathlib import Path

    from milepost.errors import InputError
    from milepost.papers.experiment import experiments, find_experiments
    from milepost.papers.folder import Folder
    from milepost.papers.ledger.page import ledger_text, write_ledger
    from milepost.papers.run import run_experiment, write_index

    known = experiments()
    if listed:
        typer.echo(ledger_text(known, Path(output)))
        return
    if bool(names) == everything:
        raise InputError("say which experiments, by name or year, or --all; --list tells them")
    chosen = list(known.values()) if everything else find_experiments(names or [])
    if data is None:
        raise InputError("the games are needed: --data DIR (docs/papers.md says what lies there)")
    if not Path(data).is_dir():
        raise InputError(f"--data: {data} is no folder")
    if store is not None and not Path(store).is_dir():
        raise InputError(f"--store: {store} is no folder")
    if turns is not None and not Path(turns).is_dir():
        raise InputError(f"--turns: {turns} is no folder")
    for path in seen or ():
        if not Path(path).exists():
            raise InputError(f"--seen: {path} is not there")
    out = Path(output)
    folder = Folder(
        Path(data), Path(store) if store else None, out / "work", workers,
        Path(turns) if turns else None, tuple(map(Path, seen or ())),
    )  # fmt: skip
    done: list[Done] = []
    for number, each in enumerate(chosen, 1):
        with show.progress(f"[{number}/{len(chosen)}] {each.name}", quiet=quiet):
            done.append(run_experiment(each, folder, out, again=again))
        _tell(done[-1])
    write_ledger(known.values(), out)
    where = write_index(known.values(), done, out)
    if not quiet:
        _summarise(done, str(where))
    if any(each.state in ("missing", "failed") for each in done):
        raise typer.Exit(1)


def _tell(done: Done) -> None:
    """One line for each claim, with its verdict."""
    import shutil
    import sys
    import textwrap

    name = done.experiment.name
    if done.reason:
        typer.echo(f"{'not run':<16} {name}: {done.state}: {done.reason}")
        return
    for finding in done.findings:
        line = f"{finding.verdict:<16} {name}: {finding.claim} -- {finding.found}"
        if sys.stdout.isatty():
            verdict, rest = line[:17], " ".join(line[17:].split())
            room = max(40, shutil.get_terminal_size().columns - 18)
            line = verdict + textwrap.shorten(rest, room, placeholder=" ...")
        typer.echo(line)


def _summarise(done: list[Done], where: str) -> None:
    from milepost.papers.run import counts_of

    counts = counts_of(finding for each in done for finding in each.findings)
    words = {"holds": ("claim holds", "claims hold"), "does not hold": ("does not", "do not")}
    said = ", ".join(
        f"{number} {words.get(verdict, (verdict, verdict))[number != 1]}"
        for verdict, number in counts.items()
    )
    kept = sum(each.state == "kept" for each in done)
    lost = sum(bool(each.reason) for each in done)
    line = f"{len(done)} experiment{'' if len(done) == 1 else 's'}: {said}"
    if kept:
        line += f"; {kept} unchanged since last time"
    if lost:
        line += f"; {lost} could not be run"
    show.say(f"{line}\n  -> {where}", err=True)
