"""Options that several commands share."""

from __future__ import annotations

import os
from typing import Annotated

import typer

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="PGN files, folders, patterns, or - for standard input; plain, .gz, .bz2 or .zst. "
        "Tables that milepost wrote will do where they hold what is needed.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="OUT", help="The table to write; - is standard output, as CSV."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="parquet, csv or ndjson, if the ending of OUT does not say."),
]
Errors = Annotated[
    str | None,
    typer.Option(
        "--errors",
        metavar="FILE",
        help="The errors table [default: beside OUT, as NAME.errors.csv].",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 if a game was broken or unreadable.")
]
Workers = Annotated[
    int, typer.Option("--workers", "-j", min=1, help="Processes.", show_default="all cores")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Aliases = Annotated[
    str | None,
    typer.Option(
        "--aliases", metavar="FILE", help="A table with the columns spelling and name: who is who."
    ),
]
KeepDuplicates = Annotated[
    bool, typer.Option("--keep-duplicates", help="Report duplicate games, but keep them.")
]


ALL_CORES = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
"""How many cores this process may use."""
