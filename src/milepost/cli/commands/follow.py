"""The command that follows live decisions: follow."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import decisions as shared
from milepost.cli import options
from milepost.cli.commands.rate import numbers_of
from milepost.cli.settings import Set


def follow(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="NDJSON, one decision a line: a file, or - for standard input."
        ),
    ],
    calibration: Annotated[
        str | None,
        typer.Option(
            "--calibration",
            metavar="NAME",
            help="Follow the Elo as well, by this calibration; decisions need depth_values.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", metavar="MEAN,SD", help="What is known of the Elo beforehand."),
    ] = None,
    level: shared.Level = 0.95,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Go on from this file, if it is there, and keep it up to date.",
        ),
    ] = None,
    settings: Set = None,
    quiet: options.Quiet = False,
) -> None:
    """Say after each decision what is known of its chooser: NDJSON in, NDJSON out, line by line.

    A line in: {"chooser": "Ada", "values": [3.1, 2.5, 0.4], "chosen": 0}, and perhaps "group" (a
    game, a day), "id", "weight", "depth_values" (one list a depth). Lines of milepost spreads
    --format ndjson will do. A line out has the posterior of the chooser's apparent competence c
    (agents of 2009), with --calibration also of the Elo: mean, sd and interval. What is no decision
    is told by its line, the rest goes on, and the command ends with 1.

    --set takes K (0.1, in the unit of the values), width (10), prior_range (0,10) and prior
    (mean,sd: what is known of c beforehand).
    """
    import json

    from milepost.api import agents
    from milepost.cli.settings import read_settings
    from milepost.errors import InputError

    belief = None
    if prior is not None:
        given = numbers_of(prior, "--prior")
        if len(given) != 2:
            raise InputError(f"--prior: expected MEAN,SD, got {prior!r}")
        belief = (given[0], given[1])
    wrong = 0

    def tell_wrong(number: int, reason: str) -> None:
        nonlocal wrong
        wrong += 1
        typer.echo(f"line {number}: {reason}", err=True)

    followed = 0
    for standing in agents.follow(
        source,
        model=read_settings(agents.ReferenceModel, settings),
        calibration=calibration,
        prior=belief,
        level=level,
        state=state,
        on_error=tell_wrong,
    ):
        followed += 1
        print(json.dumps(standing.to_dict(), ensure_ascii=False), flush=True)
    if wrong or not quiet:
        typer.echo(f"{followed:,} decisions followed, {wrong:,} lines were none", err=True)
    if wrong:
        raise typer.Exit(1)
