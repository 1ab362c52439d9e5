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

# Of the commands on results and histories.

Results = Annotated[
    list[str],
    typer.Argument(
        metavar="RESULTS...",
        help="Results tables, games tables, PGN files, or any table with --map.",
    ),
]
Mapping = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,...",
        help="For tables: which columns hold time, player_1, player_2, score ...: see milepost "
        "results.",
    ),
]
KeepNames = Annotated[
    bool, typer.Option("--keep-names", help="For tables: leave the players' names as they are.")
]
SkipFast = Annotated[
    bool,
    typer.Option(
        "--skip-fast/--with-fast",
        help="Leave out games flagged in a column fast, or of the speed rapid, blitz or bullet.",
    ),
]
FromYear = Annotated[
    int | None, typer.Option("--from", metavar="YEAR", help="Games since this year.")
]
ToYear = Annotated[int | None, typer.Option("--to", metavar="YEAR", help="Games up to this year.")]
Period = Annotated[
    str,
    typer.Option(
        "--period",
        help="year, month, day, event, game, or a length in years (blocks of 365.2425 days from "
        "1970, shown by their first day: 1 is no calendar year).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the model (sigma=300, draw=share, newcomers=company), tolerance or "
        "max_sweeps; may be given several times. A wrong name lists those there are.",
    ),
]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        help="The numbers that are not given: chess, plain, or auto (chess for games of chess).",
    ),
]
Threads = Annotated[
    int | None, typer.Option("--workers", "-j", min=1, help="Threads.", show_default="1")
]
HistoryFolder = Annotated[
    str, typer.Argument(metavar="HISTORY_DIR", help="A history saved by milepost history --save.")
]
AnswerTable = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="Write a table; - is standard output."),
]
AtTime = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="A year, a month (1972-07), a date (1972-07-11), a number, or now (the last time "
        "with games).",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        help="points or results (results alone), elo (the same, by a straight line to the Elos "
        "printed beside the games), or joint (intrinsic Elo: results and moves).",
        show_default="joint where there is move evidence, else points",
    ),
]


def check_preset(preset: str) -> None:
    """Refuse a preset that there is not."""
    from milepost.errors import InputError

    if preset not in ("auto", "chess", "plain"):
        raise InputError(f"--preset: expected auto, chess or plain; got {preset!r}")


def read_settings(pairs: list[str] | None, option: str = "--set") -> dict[str, str]:
    """Read options given as NAME=VALUE; a later one of a name wins."""
    from milepost.errors import InputError

    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option}: expected NAME=VALUE, got {pair!r}")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def value_of(text: str) -> str | float | int | None:
    """Return what a value given as text means: none, a number, or a word."""
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_period(text: str) -> str | float:
    """Return a period's name, or its length."""
    try:
        return float(text)
    except ValueError:
        return text


Plan = Annotated[
    str, typer.Option("--plan", help="bullet, quick, standard, reference, single or multipv.")
]
Depth = Annotated[
    int | None, typer.Option("--depth", min=1, help="Another depth than the plan's own.")
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="A UCI engine [default: STOCKFISH_EXECUTABLE, stockfish on the PATH, /usr/games].",
    ),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option("--engine-option", metavar="NAME=VALUE", help="A UCI option; repeatable."),
]
