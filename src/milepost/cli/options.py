"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from milepost.cli import show


def choice(name: str, values: Sequence[str], help: str, **more: Any) -> Any:  # noqa: A002
    """Return an option that takes one of a few words.

    Case does not matter. A misspelt word is refused with a suggestion before anything is read;
    shells complete the words.

    Parameters
    ----------
    name
        The option, with its dashes.
    values
        What it takes.
    help
        What it is for; the words are listed behind.
    more
        As `typer.Option` takes it; `metavar` is what stands for a word, `listed=False` if the help
        names the words itself.
    """
    words = f"{', '.join(values[:-1])} or {values[-1]}"
    text = f"{help.rstrip('.')}: {words}." if more.pop("listed", True) else help
    metavar = more.pop("metavar", name.lstrip("-").upper())
    return typer.Option(
        name,
        metavar=metavar,
        help=text,
        callback=_among(name, tuple(values)),
        autocompletion=lambda incomplete: [word for word in values if word.startswith(incomplete)],
        **more,
    )


def _among(name: str, values: tuple[str, ...]) -> Callable[..., Any]:
    """Return a check that a value, or each of several, is one of a few words."""

    def check(ctx: typer.Context, given: Any) -> Any:
        if given is None or ctx.resilient_parsing:
            return given
        from milepost.errors import InputError
        from milepost.io.suggest import did_you_mean

        words = {value.casefold(): value for value in values}

        def word_of(typed: str) -> str:
            if typed.casefold() not in words:
                raise InputError(
                    f"{name}: expected one of {', '.join(values)}; got {typed!r}"
                    f"{did_you_mean(typed, values)}"
                )
            return words[typed.casefold()]

        if isinstance(given, list | tuple):
            return [word_of(typed) for typed in given]
        return word_of(given)

    return check


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="PGN files, folders, patterns, or - for standard input; also .gz, .bz2 and .zst. "
        "Tables written by milepost work too.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="The table to write (.parquet, .csv or .ndjson); - is standard output, as CSV.",
    ),
]
Format = Annotated[
    str | None,
    choice(
        "--format",
        ("parquet", "csv", "ndjson"),
        "The kind of table, if the ending of OUT does not tell",
    ),
]
Errors = Annotated[
    str | None,
    typer.Option(
        "--errors",
        metavar="FILE",
        help="Write what was wrong with the games to this table.",
        show_default="beside OUT, as NAME.errors.csv",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 1 if a game cannot be read to its end.")
]
Workers = Annotated[
    int, typer.Option("--workers", "-j", min=1, help="Processes to use.", show_default="all cores")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=show.set_quiet, help="No progress, no summary and no notes."
    ),
]
Aliases = Annotated[
    str | None,
    typer.Option(
        "--aliases", metavar="FILE", help="A table of spellings: columns spelling and name."
    ),
]
KeepDuplicates = Annotated[
    bool,
    typer.Option("--keep-duplicates", help="Keep duplicate games; they are reported all the same."),
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
        help="Which columns of a table hold time, player_1, player_2 and score; milepost results "
        "-h lists the rest.",
    ),
]
KeepNames = Annotated[
    bool, typer.Option("--keep-names", help="Leave the names in a table as they are.")
]
SkipFast = Annotated[
    bool,
    typer.Option(
        "--skip-fast/--with-fast",
        help="Leave out rapid, blitz and bullet games, and those marked in a column fast.",
    ),
]
FromYear = Annotated[int | None, typer.Option("--from", metavar="YEAR", help="First year.")]
ToYear = Annotated[int | None, typer.Option("--to", metavar="YEAR", help="Last year.")]
Period = Annotated[
    str,
    typer.Option(
        "--period",
        metavar="PERIOD",
        help="Games of one period share a skill: year, month, day, event, game, or a length in "
        "years such as 0.5 (blocks counted from 1970).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the model, such as sigma=300, draw=share or newcomers=company; also "
        "preset, tolerance and max_sweeps. Repeatable. A wrong name lists them all.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="auto|ADDRESS",
        help="Run on a Ray cluster; auto starts or joins one (needs milepost[cluster]).",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--workers", "-j", min=1, help="Threads to use.", show_default="1"),
]
HistoryFolder = Annotated[
    str, typer.Argument(metavar="HISTORY_DIR", help="A folder written by milepost history --save.")
]
AnswerTable = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Write the answer to this table; - is standard output.",
    ),
]
AtTime = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="A year, a month (1972-07), a date (1972-07-11), or now (the last period with games).",
    ),
]
Scale = Annotated[
    str | None,
    choice(
        "--scale",
        ("points", "results", "elo", "joint"),
        "points or results (from results alone), elo (the same, fitted to the Elos in the games), "
        "or joint (Elo from results and moves).",
        listed=False,
        show_default="joint if there is move evidence, else points",
    ),
]


PRESETS = ("auto", "chess", "plain")
"""Where numbers that are not given come from; auto = chess if the games are chess."""


def take_preset(given: dict[str, Any], default: str) -> str:
    """Take the preset out of what was set; refuse one that there is not."""
    from milepost.errors import InputError

    preset = given.pop("preset", default)
    if preset not in PRESETS:
        raise InputError(f"preset: expected one of {', '.join(PRESETS)}; got {preset!r}")
    return str(preset)


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


PLANS = ("bullet", "quick", "standard", "reference", "single", "multipv", "apart")
Plan = Annotated[str, choice("--plan", PLANS, "How the engine searches")]
Depth = Annotated[
    int | None, typer.Option("--depth", min=1, help="Search to this depth instead of the plan's.")
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="PATH",
        help="A UCI engine.",
        show_default="$STOCKFISH_EXECUTABLE, or the stockfish that is installed",
    ),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--engine-option", metavar="NAME=VALUE", help="Set an option of the engine; repeatable."
    ),
]
