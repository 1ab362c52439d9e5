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
        typer.Argument(metavar="NAME...", help="Players: the name, or a part of it."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT",
            help="The picture: svg, png, pdf, html or json by its ending.",
            show_default="the names, .svg",
        ),
    ] = None,
    band: Annotated[
        str,
        typer.Option("--band", help="sd (one to either side), 95 (the central 95 %) or none."),
    ] = "sd",
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside", metavar="HISTORY_DIR", help="Another saved history, drawn dotted."
        ),
    ] = None,
    margins: Annotated[
        bool,
        typer.Option("--margins/--no-margins", help="ttt-d: mean + draw margin, dashed."),
    ] = True,
    first: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="From this year, date or number on."),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Up to this one.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The title of the picture.")] = "",
    scale: options.Scale = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap", min=0.0, metavar="YEARS", help="Break a curve where games lack longer.",
            show_default="5 years",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Draw players' skill through time, with bands, from a saved history.

    Between periods with games the band widens with the drift. A player with a margin of his own
    (ttt-d) also gets a dashed curve: his mean plus his draw margin, what it takes to beat him.
    Where there are no games for years the curve is broken. A joint
    history is drawn in intrinsic Elo: dashed what results alone say, points what moves say.
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
        *(player.key for player in players), band=band, beside=other, margins=margins, first=first,
        last=last, title=title, gap=gap,
    )  # fmt: skip
    written = [player.name for player in players]
    target = Path(output) if output is not None else _named_after(written)
    save_chart(chart, target)
    if not quiet:
        dotted = [] if other is None else [f"dotted: {other.about}"]
        for line in (found.about, *dotted, f"{'; '.join(written)} -> {target}"):
            typer.echo(line, err=True)


def _named_after(players: list[str]) -> Path:
    """A name for the picture: the players' family names."""
    import re
    from pathlib import Path

    words = [re.sub(r"\W+", "-", name.split(",")[0].lower()).strip("-") for name in players[:4]]
    more = f"-and-{len(players) - 4}-more" if len(players) > 4 else ""
    return Path(("-".join(word for word in words if word) or "players") + more + ".svg")
