"""The command that draws skill curves: plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands.questions import load

if TYPE_CHECKING:
    from pathlib import Path


def plot(
    folder: options.HistoryFolder,
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Players: names or parts of them."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The chart; its ending says what kind: svg, png, pdf, html or json.",
            show_default="the names, .svg",
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="What the bands hold: sd (one standard deviation each way), a probability such as "
            "0.95, or none.",
        ),
    ] = "sd",
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside", metavar="HISTORY_DIR", help="Draw another saved history as dotted lines."
        ),
    ] = None,
    margins: Annotated[
        bool,
        typer.Option(
            "--margins/--no-margins", help="For ttt-d: also draw mean + draw margin, dashed."
        ),
    ] = True,
    first: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start at this year or date."),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End at this year or date.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Title.")] = "",
    scale: options.Scale = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap",
            min=0.0,
            metavar="YEARS",
            help="Break a curve where a player has no games for longer than this.",
            show_default="5 years",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw players' skill through time.

    The line is the mean, the band one standard deviation. Bands widen between games, and lines
    break where there are none for years. With ttt-d a dashed line shows mean plus draw margin: what
    it takes to beat the player. A joint history is drawn in intrinsic Elo; results alone are dashed
    and points show what moves say.
    """
    from pathlib import Path

    from milepost.api.histories import load_history
    from milepost.report.charts import check_ending, save_chart

    if output is not None:
        check_ending(output)
    found = load(folder, scale)
    other = None if beside is None else load_history(beside).on(scale or "points")
    with show.warnings_told():
        players = list(dict.fromkeys(found.find(name) for name in names))
    chart = found.plot(
        *(player.key for player in players), band=_band(level), beside=other, margins=margins,
        first=first, last=last, title=title, gap=gap,
    )  # fmt: skip
    written = [player.name for player in players]
    target = Path(output) if output is not None else _named_after(written)
    save_chart(chart, target)
    if not quiet:
        dotted = [] if other is None else [f"dotted: {other.about}"]
        for line in (found.about, *dotted, f"{'; '.join(written)} -> {target}"):
            show.say(line, err=True)


def _named_after(players: list[str]) -> Path:
    """A name for the picture: the players' family names."""
    import re
    from pathlib import Path

    words = [re.sub(r"\W+", "-", name.split(",")[0].lower()).strip("-") for name in players[:4]]
    more = f"-and-{len(players) - 4}-more" if len(players) > 4 else ""
    return Path(("-".join(word for word in words if word) or "players") + more + ".svg")


def _band(level: str) -> str:
    """Return the name of the band that a level asks for; 95 is what it was called before."""
    from milepost.errors import InputError

    named = {"sd": "sd", "none": "none", "95": "95", "0.95": "95"}
    if level not in named:
        raise InputError(f"--level: expected sd, 0.95 or none; got {level!r}")
    return named[level]
