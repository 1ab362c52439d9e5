"""The command that follows live decisions: follow."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.commands.rate import numbers_of
from milepost.cli.settings import Set


def follow(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="NDJSON with one decision per line: a file, or - for standard input.",
        ),
    ],
    calibration: Annotated[
        str | None,
        typer.Option(
            "--calibration",
            metavar="NAME",
            help="Also follow the Elo, using this calibration; decisions then need depth_values.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", metavar="MEAN,SD", help="What you know of the Elo beforehand."),
    ] = None,
    level: shared.Level = 0.95,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Resume from this file if it exists, and keep it up to date.",
        ),
    ] = None,
    settings: Set = None,
    quiet: options.Quiet = False,
) -> None:
    """Track skill live, decision by decision (NDJSON in and out).

    A line in: {"chooser": "Ada", "values": [3.1, 2.5, 0.4], "chosen": 0}, and perhaps "group" (a
    game, a day), "id", "weight" or "depth_values" (one list per depth). Lines written by milepost
    spreads --format ndjson work too. A line out: what is known of the chooser's c (the agents of
    2009), and with --calibration of the Elo: mean, sd and interval. Bad lines are reported by
    number and skipped; the exit code is then 1.

    --set takes K (0.1, in the unit of the values), width (10), prior_range (0,10) and prior
    (mean,sd: what you know of c beforehand).
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
        show.say(f"line {number}: {reason}", err=True)

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
        show.say(f"{followed:,} decisions followed, {wrong:,} lines were none", err=True)
    if wrong:
        raise typer.Exit(1)
