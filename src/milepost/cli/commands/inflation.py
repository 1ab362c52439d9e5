"""The command that tells how the level of a group changed: inflation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from milepost.cli import options, show


def inflation(
    folder: options.HistoryFolder,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            help="top:100 (so many of each period), all, or players with semicolons between them.",
        ),
    ] = "top:100",
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference", metavar="TIME|TIME-TIME",
            help="What levels are compared with, as in 2011-2014.",
            show_default="the period of most move evidence",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option("--every", min=1, help="Show every so many periods.")
    ] = 5,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw it: svg, png, pdf, html or json."),
    ] = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:  # fmt: skip
    """Tell how the level of a group changed through time, by results and moves.

    Needs a joint history (milepost history --moves SITES --save DIR). Shown beside: what results
    alone say, and the turns that the answer rests on.
    """
    from milepost.api.histories import ASSUMPTION, load_history
    from milepost.cli.commands.questions import written
    from milepost.report.charts import check_ending, save_chart

    if plot is not None:
        check_ending(plot)
    found = load_history(folder)
    wanted: Any = group
    if group != "all" and not group.startswith("top:"):
        wanted = [name.strip() for name in group.split(";") if name.strip()]
    span = _span(reference)
    with show.warnings_told():
        table = found.inflation(wanted, reference=span)
        if plot is not None:
            save_chart(found.plot_inflation(wanted, reference=span), plot)
    told = {"group": group, "reference": reference}
    if written(table, output, form, "inflation", told, folder):
        return
    rows = [
        (
            str(row["time"]), f"{row['level']:.0f}", f"{row['low']:.0f}-{row['high']:.0f}",
            f"{row['change']:+.0f} ± {row['change_sd']:.0f}", f"{row['change_results']:+.0f}",
            row["turns"],
        )
        for place, row in enumerate(table.iter_rows(named=True))
        if place % every == 0 or place == table.height - 1
    ]  # fmt: skip
    show.print_table(
        ("time", "Elo", "95 %", "change ± sd", "results alone", "turns"), rows,
        title=f"The level of {table['group'][0]}: intrinsic Elo, and its change from the reference",
    )  # fmt: skip
    moves = found.moves
    if moves is not None:
        typer.echo(f"{moves.turns:,} turns of {moves.used:,} player-periods")
        typer.echo(ASSUMPTION)
    if plot is not None:
        typer.echo(f"-> {plot}", err=True)


def _span(text: str | None) -> Any:
    """One time, or the first and the last one of a span of years."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if dash and first.strip().isdigit() and last.strip().isdigit() and len(last.strip()) == 4:
        return (first.strip(), last.strip())
    return text
