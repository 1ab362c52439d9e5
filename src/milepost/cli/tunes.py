"""The command that tunes the numbers of a history: tune."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import histories, options, results_in, show

if TYPE_CHECKING:
    from milepost.history.tuning import Tuning


def tune(
    inputs: results_in.Inputs,
    beta: Annotated[
        str,
        typer.Option("--beta", metavar="VALUES", help="LOW:HIGH:POINTS, or numbers with commas."),
    ],
    tau: Annotated[str, typer.Option("--tau", metavar="VALUES", help="The same.")],
    margin_mu: Annotated[
        str | None, typer.Option("--margin-mu", metavar="VALUES", help="The same, for ttt-d.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="ttt or ttt-d.")] = "ttt",
    by: Annotated[
        str, typer.Option("--by", help="What makes a point the best: evidence or prequential.")
    ] = "evidence",
    optimise: Annotated[
        bool,
        typer.Option("--optimise", help="Search on from the best point, in the logarithms."),
    ] = False,
    evaluations: Annotated[
        int, typer.Option("--evaluations", min=3, help="At most so many points for the search.")
    ] = 60,
    window: Annotated[
        int,
        typer.Option(
            "--window", min=0, help="Log-loss: periods smoothed again after each; 0 = the filter."
        ),
    ] = 3,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="TIME", help="Log-loss: games from this time on count."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the points to this table."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="FILE",
            help="Draw the grid, the best point marked: svg, png, pdf, html or json.",
        ),
    ] = None,
    period: histories.Period = "year",
    sigma: histories.Sigma = None,
    draw: histories.Draw = None,
    first_mover: histories.FirstMover = None,
    newcomers: histories.Newcomers = None,
    margin_sigma: histories.MarginSigma = None,
    margin_tau: histories.MarginTau = None,
    draw_form: histories.DrawForm = None,
    tolerance: histories.Tolerance = None,
    max_sweeps: histories.MaxSweeps = None,
    skip_fast: results_in.SkipFast = False,
    first: results_in.From = None,
    last: results_in.To = None,
    mapping: results_in.Mapping = None,
    keep_names: results_in.KeepNames = False,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    form: options.Format = None,
    workers: histories.Threads = None,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Try a grid of beta and tau (and margins) on results; mark the best, and refine it.

    Exits with 1 if the best point did not converge, or the search did not come to rest.
    """
    from milepost.errors import InputError
    from milepost.files import format_of, write_table
    from milepost.history.tuning import parse_values
    from milepost.history.tuning import tune as run

    if output is None and form is not None:
        output = "-"
    if output is not None:
        format_of(output, form)
    if model not in ("ttt", "ttt-d"):
        raise InputError(f"--model: expected ttt or ttt-d, got {model!r}")
    axes = {"beta": parse_values(beta), "tau": parse_values(tau)}
    if margin_mu is not None:
        axes["margin_mu"] = parse_values(margin_mu)
    _check_plot(plot, axes)
    settings = histories.settings_of(
        model, period, sigma=sigma, draw=draw, first_mover=first_mover, newcomers=newcomers,
        margin_sigma=margin_sigma, margin_tau=margin_tau, draw_form=draw_form,
        tolerance=tolerance, max_sweeps=max_sweeps, workers=workers,
    )  # fmt: skip
    settings |= {"by": by, "window": window, "start": start, "optimise": optimise}
    settings |= {"evaluations": evaluations, **axes}
    chosen = results_in.choose_results(
        inputs, mapping=mapping, keep_names=keep_names, aliases=aliases,
        keep_duplicates=keep_duplicates, skip_fast=skip_fast, first=first, last=last, quiet=quiet,
    )  # fmt: skip
    total = math.prod(len(values) for values in axes.values()) + evaluations * optimise
    with (
        histories.warnings_told(),
        show.counting_bar("points", quiet=quiet, total=total) as tell,
    ):
        found = run(chosen.table, progress=tell, **settings)
    if output is not None:
        told = {name: value for name, value in settings.items() if name != "workers"}
        made = results_in.provenance_of("tune", chosen, told, inputs)
        write_table(found.table, output, form=form, made=made)
    said = [*chosen.said, *_draw(found, plot, model, chosen)]
    if output != "-":
        _show_tuning(found)
    if not quiet:
        for line in said:
            typer.echo(line, err=True)
    if not found.settled or (by == "evidence" and not found.best.converged):
        raise typer.Exit(1)


def _check_plot(path: str | None, axes: dict[str, list[float]]) -> None:
    """Refuse a plot that cannot be drawn before anything is computed."""
    from milepost.errors import InputError
    from milepost.report.charts import check_ending

    if path is None:
        return
    check_ending(path)
    if all(len(set(values)) < 2 for values in axes.values()):
        raise InputError("--plot needs several values of beta, tau or margin-mu")


def _draw(found: Tuning, path: str | None, model: str, chosen: results_in.Chosen) -> list[str]:
    """Draw the grid if asked to; return what to say about it."""
    from milepost.report.charts import save_chart
    from milepost.report.surfaces import tuning_chart

    if path is None:
        return []
    title = f"{model}: {found.games:,} games, fast games {chosen.made['fast']}"
    save_chart(tuning_chart(found.table, by=found.by, title=title), path)
    return [f"plot -> {path}"]


def _show_tuning(found: Tuning) -> None:
    columns = ["point", "beta", "tau", "margin_mu", "evidence", "log_loss", "sweeps", "best"]
    if found.table["margin_mu"].null_count() == found.table.height:
        columns.remove("margin_mu")
    rows = []
    for row in found.table.iter_rows(named=True):
        shown = {name: row[name] for name in columns}
        for name in ("evidence", "log_loss"):
            shown[name] = "-" if row[name] is None else f"{row[name]:.5f}"
        shown["best"] = "<- best" if row["best"] else ""
        if not row["converged"]:
            shown["best"] += " NOT CONVERGED"
        rows.append(list(shown.values()))
    what = "evidence" if found.by == "evidence" else "prequential log-loss"
    typer.echo(f"{found.games:,} games; nats a game; best by {what}")
    show.print_table(columns, rows)
    typer.echo(f"the draw share alone has evidence {found.naive:.5f}")
    if found.edges:
        typer.echo(
            f"at the grid's edge: {', '.join(found.edges)}; a wider grid may hold a better point"
        )
