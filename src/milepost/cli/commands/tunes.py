"""The command that tunes the numbers of a history: tune."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.commands import histories, results_in

if TYPE_CHECKING:
    from milepost.history.tuning.tune import Tuning

_ALWAYS = ("beta", "tau", "margin_mu")
"""Numbers that are shown at every point; others only if they vary."""
_MORE = ("sigma", "draw", "first_mover", "margin_sigma", "margin_tau", "draw_form")
_WORDS = {"draw": ("share",), "first_mover": ("none", "learn", "learn-by-period")}
"""Words that stand for a number that is not tried but follows from the results."""


def tune(
    inputs: results_in.Inputs,
    beta: Annotated[
        str,
        typer.Option("--beta", metavar="VALUES", help="LOW:HIGH:POINTS, or numbers with commas."),
    ],
    tau: Annotated[str, typer.Option("--tau", metavar="VALUES", help="The same.")],
    margin_mu: Annotated[
        str | None,
        typer.Option(
            "--margin-mu", metavar="VALUES", help="ttt-d: means of newcomers' draw margins.",
            show_default="300",
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="ttt or ttt-d.")] = "ttt",
    by: Annotated[
        str, typer.Option("--by", help="What makes a point the best: evidence or prequential.")
    ] = "evidence",
    optimise: Annotated[
        bool,
        typer.Option(
            "--optimise", help="Search on from the best point, over numbers with several values."
        ),
    ] = False,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations", min=3, help="At most so many points for the search.",
            show_default="60; 20 n² for n > 2 numbers",
        ),
    ] = None,
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
    sigma: Annotated[
        str | None,
        typer.Option(
            "--sigma", metavar="VALUES", help="Standard deviations of newcomers' skills.",
            show_default="400",
        ),
    ] = None,
    draw: Annotated[
        str | None,
        typer.Option(
            "--draw", metavar="VALUES", help="Draw margins in points, or share (of draws).",
            show_default="share",
        ),
    ] = None,
    first_mover: Annotated[
        str | None,
        typer.Option(
            "--first-mover", metavar="VALUES",
            help="The first mover's advantages in points, or none, learn, learn-by-period.",
            show_default="none",
        ),
    ] = None,
    newcomers: histories.Newcomers = None,
    margin_sigma: Annotated[
        str | None,
        typer.Option(
            "--margin-sigma", metavar="VALUES", help="ttt-d: their standard deviations.",
            show_default="100",
        ),
    ] = None,
    margin_tau: Annotated[
        str | None,
        typer.Option(
            "--margin-tau", metavar="VALUES", help="ttt-d: what a year adds to them.",
            show_default="10",
        ),
    ] = None,
    draw_form: Annotated[
        str | None,
        typer.Option(
            "--draw-form", metavar="FORMS", show_default="between",
            help="ttt-d: between (exact), two-factor (the authors'), or both with a comma.",
        ),
    ] = None,
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
    """Try a grid of a history's numbers on results; mark the best, and refine it.

    VALUES are LOW:HIGH:POINTS, numbers with commas, or one number.

    Exits with 1 if the best point did not converge, or the search did not come to rest.
    """
    from milepost.errors import InputError
    from milepost.history.tuning.search import search_limit
    from milepost.history.tuning.tune import tune as run
    from milepost.io.files import format_of, write_table

    if output is None and form is not None:
        output = "-"
    if output is not None:
        format_of(output, form)
    if model not in ("ttt", "ttt-d"):
        raise InputError(f"--model: expected ttt or ttt-d, got {model!r}")
    texts = {
        "beta": beta, "tau": tau, "margin_mu": margin_mu, "sigma": sigma, "draw": draw,
        "first_mover": first_mover, "margin_sigma": margin_sigma, "margin_tau": margin_tau,
        "draw_form": draw_form,
    }  # fmt: skip
    axes = {name: _read(name, text) for name, text in texts.items() if text not in (None, "none")}
    varying = [n for n, values in axes.items() if isinstance(values, list) and len(set(values)) > 1]
    _check_plot(plot, varying)
    # Whether the model knows the names is asked here; the values are put in below.
    named = {**texts, "draw": None if draw is None else "share", "first_mover": None}
    settings = histories.settings_of(
        model, period, newcomers=newcomers, tolerance=tolerance, max_sweeps=max_sweeps,
        workers=workers, **named,
    )  # fmt: skip
    settings |= {"by": by, "window": window, "start": start, "optimise": optimise}
    free = sum(name != "draw_form" for name in varying)
    most = search_limit(free) if evaluations is None else evaluations
    settings |= {"evaluations": most, **axes}
    chosen = results_in.choose_results(
        inputs, mapping=mapping, keep_names=keep_names, aliases=aliases,
        keep_duplicates=keep_duplicates, skip_fast=skip_fast, first=first, last=last, quiet=quiet,
    )  # fmt: skip
    grid = math.prod(len(values) for values in axes.values() if isinstance(values, list))
    total = grid + most * optimise
    with (
        histories.warnings_told(),
        show.progress("tuning", quiet=quiet, total=total, unit="points") as tell,
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


def _read(name: str, text: str | None) -> Any:
    """The values of an option; of those that need not be given, a single one is no list."""
    from milepost.errors import InputError
    from milepost.history.tuning.tune import parse_values

    words = _WORDS.get(name, ())
    if text is None or text in words:
        return text
    if name == "draw_form":
        forms = [part.strip() for part in text.split(",")]
        return forms if len(forms) > 1 else forms[0]
    try:
        values = parse_values(text)
    except InputError as error:
        also = f"{', '.join(words)}, or: " if words else ""
        raise InputError(f"--{name.replace('_', '-')}: {also}{error}") from None
    return values if len(values) > 1 or name in _ALWAYS else values[0]


def _check_plot(path: str | None, varying: list[str]) -> None:
    """Refuse a plot that cannot be drawn before anything is computed."""
    from milepost.report.charts import check_ending
    from milepost.report.tuning_surface import check_axes

    if path is None:
        return
    check_ending(path)
    check_axes(varying)


def _draw(found: Tuning, path: str | None, model: str, chosen: results_in.Chosen) -> list[str]:
    """Draw the grid if asked to; return what to say about it."""
    from milepost.report.charts import save_chart
    from milepost.report.tuning_surface import tuning_chart

    if path is None:
        return []
    title = f"{model}: {found.games:,} games, fast games {chosen.made['fast']}"
    save_chart(tuning_chart(found.table, by=found.by, title=title), path)
    return [f"plot -> {path}"]


def _show_tuning(found: Tuning) -> None:
    numbers = [name for name in _ALWAYS if found.table[name].is_not_null().any()]
    numbers += [name for name in _MORE if found.table[name].n_unique() > 1]
    columns = ["point", *numbers, "evidence", "log_loss", "sweeps", "best"]
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
