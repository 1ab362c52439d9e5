"""The command that draws skill curves: plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options
from milepost.cli.commands import history_questions

if TYPE_CHECKING:
    from pathlib import Path

    from milepost.history import History


def plot(
    folder: history_questions.Folder,
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
    title: Annotated[str, typer.Option("--title", help="What stands above.")] = "",
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Draw players' skill through time, with bands, from a saved history.

    Between periods with games the band widens with the drift. A player with a margin of his own
    (ttt-d) also gets a dashed curve: his mean plus his draw margin, what it takes to beat him.
    """
    from pathlib import Path

    from milepost.report.charts import check_ending, save_chart
    from milepost.report.history_curves import curve_points, curves_chart

    if output is not None:
        check_ending(output)
    found = history_questions.load_history(folder)
    players = list(
        dict.fromkeys(history_questions.find_player(found, name.strip()) for name in names)
    )
    points = curve_points(found, players, first=first, last=last)
    said = [_about(found, folder)]
    other = None
    if beside is not None:
        second = history_questions.load_history(beside)
        other = curve_points(second, players, first=first, last=last)
        said.append(f"dotted: {_about(second, beside)}")
    chart = curves_chart(
        points, band=band, beside=other, margins=margins, title=title, subtitle=said
    )
    target = Path(output) if output is not None else _named_after(players)
    save_chart(chart, target)
    if not quiet:
        for line in (*said, f"{'; '.join(players)} -> {target}"):
            typer.echo(line, err=True)


def _about(found: History, folder: str) -> str:
    """What a picture says about where its curves are from."""
    import json
    from pathlib import Path

    fast = "not known whether fast games count"
    try:
        made = json.loads((Path(folder) / "provenance.json").read_text(encoding="utf-8"))
        kept = made["options"]
        if kept["fast"] == "left out":
            fast = "fast games are left out"
        elif kept.get("fast_games") is None:
            fast = "fast games count like the others"
        else:
            fast = f"{kept['fast_games']:,} fast games count like the others"
    except (OSError, ValueError, KeyError, TypeError):
        pass  # a history saved from Python says nothing about it
    state = "" if found.converged else ", NOT CONVERGED"
    return (
        f"{found.options.model}, period {found.options.period}, {found.games:,} games of "
        f"{found.players:,} players, {fast}{state}"
    )


def _named_after(players: list[str]) -> Path:
    """A name for the picture: the players' family names."""
    import re
    from pathlib import Path

    words = [re.sub(r"\W+", "-", name.split(",")[0].lower()).strip("-") for name in players[:4]]
    more = f"-and-{len(players) - 4}-more" if len(players) > 4 else ""
    return Path(("-".join(word for word in words if word) or "players") + more + ".svg")
