"""The command that tells how the level of a group changed: inflation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    import polars as pl


def inflation(
    folder: options.HistoryFolder,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            help="top:100 (the best hundred of each period), all, or names separated by "
            "semicolons.",
        ),
    ] = "top:100",
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="TIME|TIME-TIME",
            help="Period to compare with, such as 2011-2014.",
            show_default="the period of most move evidence",
        ),
    ] = None,
    every: Annotated[int, typer.Option("--every", min=1, help="Show every Nth period.")] = 5,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the chart: svg, png, pdf, html or json."),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Fit again under other assumptions: newcomers fixed or learned, a tighter walk.",
        ),
    ] = False,
    deeper: Annotated[
        str | None,
        typer.Option(
            "--deeper",
            metavar="SITES",
            help="With --sensitivity: move evidence that skips more of the opening (rate --sites "
            "--first-move).",
        ),
    ] = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Show how the level of a group of players changed over time.

    Needs a joint history (milepost history --moves SITES --save DIR). Beside it stand what results
    alone say and how many turns the answer rests on.
    """
    from milepost.api.histories import ASSUMPTION, load_history
    from milepost.cli.commands.questions import written
    from milepost.errors import InputError
    from milepost.report.charts import check_ending, save_chart
    from milepost.report.history.joint import group_said

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
    if deeper is not None and not sensitivity:
        raise InputError("--deeper goes with --sensitivity")
    told = {"group": group, "reference": reference}
    if sensitivity:
        with show.warnings_told(), show.progress("fitting again", quiet=False) as tell:
            answer = found.sensitivity(wanted, reference=span, deeper=deeper, progress=tell)
        if not written(answer, output, form, "inflation", told, folder):
            _show_sensitivity(answer, table)
            typer.echo(ASSUMPTION)
        return
    if written(table, output, form, "inflation", told, folder):
        return
    places = [each for each in range(table.height) if each % every == 0 or each == table.height - 1]
    rows = []
    for before, place in zip([-1, *places], places, strict=False):
        row = table.row(place, named=True)
        turns = table["turns"].slice(before + 1, place - before).sum()
        rows.append((
            str(row["time"]), f"{row['level']:.0f}", f"{row['low']:.0f}-{row['high']:.0f}",
            _change(row["change"], row["change_sd"]), _change(row["change_results"]),
            turns,
        ))  # fmt: skip
    show.print_table(
        ("time", "Elo", "95 %", "change ± sd", "results alone", "turns"), rows,
        title=f"The level of {group_said(table['group'][0])}: intrinsic Elo, and its change",
    )  # fmt: skip
    if every > 1:
        typer.echo("turns: since the row above")
    _tell_small_groups(group, table)
    moves = found.moves
    if moves is not None:
        typer.echo(f"{moves.turns:,} turns of {moves.used:,} player-periods")
        typer.echo(ASSUMPTION)
    if plot is not None:
        show.note(f"-> {plot}")


def _tell_small_groups(group: str, table: pl.DataFrame) -> None:
    """Say when there were not yet as many players as the group wants."""
    kind, _, number = group.partition(":")
    if kind != "top":
        return
    small = table.filter(table["players"] < int(number)).sort("players", "time")
    if small.height:
        typer.echo(
            f"{small.height} of {table.height} periods have fewer than {number} players "
            f"({small['players'][0]} in {small['time'][0]}): their level is that of all there are."
        )


def _show_sensitivity(answer: pl.DataFrame, table: pl.DataFrame) -> None:
    """A row a variant, a column a time: of the times with turns, six at most."""
    times = table.filter(table["turns"] > 0)["time"].to_list()
    count = min(6, len(times))
    shown = [times[place * (len(times) - 1) // max(count - 1, 1)] for place in range(count)]
    rows = []
    for variant in answer["variant"].unique(maintain_order=True):
        part = answer.filter(answer["variant"] == variant)
        known = {row[1]: _change(*row[2:4]) for row in part.iter_rows()}
        rows.append((variant, *(known.get(time, "") for time in shown)))
    show.print_table(
        ("assumption", *(str(time) for time in shown)), rows,
        title="Change of level from the reference, Elo ± sd, under other assumptions",
    )  # fmt: skip


def _change(change: float | None, sd: float | None = None) -> str:
    """A change in Elo, with its error; no change has no sign."""
    if change is None:
        return "-"
    whole = f"{round(change):+d}" if round(change) else "0"
    return whole if sd is None else f"{whole} ± {sd:.0f}"


def _span(text: str | None) -> Any:
    """One time, or the first and the last one of a span of years."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if dash and first.strip().isdigit() and last.strip().isdigit() and len(last.strip()) == 4:
        return (first.strip(), last.strip())
    return text
