"""The command that tunes the numbers of a history: tune."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    from milepost.api.tunings import ChosenResults, Tuning

_ALWAYS = ("beta", "tau")
"""Numbers that are shown at every point; others only if they vary."""

MOVED = {
    f"--{name}": f"--vary {name.replace('-', '_')}=VALUES"
    for name in (
        "beta", "tau", "sigma", "draw", "first-mover", "margin-mu", "margin-sigma", "margin-tau",
        "draw-form",
    )
} | {
    "--newcomers": "--set newcomers=learn",
    "--preset": "--set preset=VALUE",
    "--tolerance": "--set tolerance=POINTS",
    "--max-sweeps": "--set max_sweeps=NUMBER",
    "--keep-names": "of milepost results: tune the table that it writes",
    "--aliases": "of milepost results: tune the table that it writes",
    "--keep-duplicates": "of milepost results: tune the table that it writes",
}  # fmt: skip
"""Former options: what to type now."""


def tune(
    inputs: options.Results,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="NAME=VALUES",
            help="An option of the model with values to try: beta=200:600:5 (LOW:HIGH:POINTS), "
            "beta=200,480 or draw_form=between,two-factor. Repeatable.",
        ),
    ],
    model: Annotated[
        str,
        options.choice(
            "--model",
            ("ttt", "ttt-d"),
            help="The model: ttt or ttt-d.",
            listed=False,
        ),
    ] = "ttt",
    settings: options.Settings = None,
    by: Annotated[
        str,
        options.choice(
            "--best-by",
            ("evidence", "prequential"),
            help="What the best point is best at: evidence or prequential (prediction).",
            listed=False,
        ),
    ] = "evidence",
    optimise: Annotated[
        bool,
        typer.Option(
            "--optimise",
            help="Search further from the best point, over numbers with several values.",
        ),
    ] = False,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            min=3,
            help="With --optimise: try at most this many points.",
            show_default="60; 20 n² for n > 2 numbers",
        ),
    ] = None,
    window: Annotated[
        int,
        typer.Option(
            "--window",
            min=0,
            help="For log-loss: periods to smooth again after each; 0 = filter only.",
        ),
    ] = 3,
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="TIME", help="For log-loss: count games from this time on."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write the points to this table; - is standard output.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the grid and its best point: svg, png, pdf, html or json.",
        ),
    ] = None,
    period: options.Period = "year",
    skip_fast: options.SkipFast = False,
    first: options.FromYear = None,
    last: options.ToYear = None,
    mapping: options.Mapping = None,
    form: options.Format = None,
    workers: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the settings of a history that explain results best.

    Tries a grid of settings, marks the best, and with --optimise searches further. Numbers that are
    not given are the general ones; --set preset=chess takes those for chess.

    Exits with code 1 if the best point did not converge or the search did not settle.
    """
    from milepost.api import tunings as api
    from milepost.io.files import format_of, write_table

    if output is None and form is not None:
        output = "-"
    if output is not None:
        format_of(output, form)
    given = {name: options.value_of(text) for name, text in options.read_settings(settings).items()}
    preset = options.take_preset(given, "plain")
    if workers is not None:
        given["workers"] = workers
    axes = {
        name: _values(name, text) for name, text in options.read_settings(vary, "--vary").items()
    }
    _check_plot(plot, [name for name, values in axes.items() if len(set(values)) > 1])
    base, _ = api.tunable(model, given)
    api.read_axes(base, axes)
    length = options.read_period(period)
    api.check_period(length)
    with show.progress("reading", quiet=quiet):
        chosen = api.choose(inputs, mapping=mapping, skip_fast=skip_fast, first=first, last=last)
    show.warn_of_lost(chosen.lost, chosen.first_lost)
    chess = preset == "chess" or (preset == "auto" and chosen.chess)
    base, sweeping = api.tunable(model, given, chess=chess)
    total = math.prod(len(values) for values in axes.values())
    if optimise:
        total += evaluations or api.search_limit(len(api.free_numbers(axes)))
    with (
        show.warnings_told(),
        show.progress("trying", quiet=quiet, total=total, unit="points") as tell,
    ):
        found = api.tune(
            chosen, base, vary=axes, period=length, by=by, window=window, start=start,
            optimise=optimise, evaluations=evaluations, sweeping=sweeping, progress=tell,
        )  # fmt: skip
    if output is not None:
        how = {"by": by, "window": window, "start": start, "optimise": optimise,
               "evaluations": evaluations, "period": length}  # fmt: skip
        made = api.tuning_provenance(chosen, base, axes, how)
        write_table(found.table, output, form=form, made=made)
    said = [*chosen.said, *_draw(found, plot, model, chosen)]
    if output != "-":
        _show_tuning(found)
    if not quiet:
        for line in said:
            show.say(line, err=True)
    if not found.settled or (by == "evidence" and not found.best.converged):
        raise typer.Exit(1)


def _values(name: str, text: str) -> list[Any]:
    """The values of an option: LOW:HIGH:POINTS, or numbers and words with commas."""
    from milepost.api.tunings import parse_values
    from milepost.errors import InputError

    if ":" in text:
        try:
            return list(parse_values(text))
        except InputError as error:
            raise InputError(f"--vary {name}: {error}") from None
    return [options.value_of(part.strip()) for part in text.split(",")]


def _check_plot(path: str | None, varying: list[str]) -> None:
    """Refuse a plot that cannot be drawn before anything is computed."""
    from milepost.report.charts import check_ending
    from milepost.report.history.tuning_surface import check_axes

    if path is None:
        return
    check_ending(path)
    check_axes(varying)


def _draw(found: Tuning, path: str | None, model: str, chosen: ChosenResults) -> list[str]:
    """Draw the grid if asked to; return what to say about it."""
    from milepost.report.charts import save_chart
    from milepost.report.history.tuning_surface import tuning_chart

    if path is None:
        return []
    title = f"{model}: {found.games:,} games, fast games {chosen.choices['fast']}"
    save_chart(tuning_chart(found.table, by=found.by, title=title), path)
    return [f"plot -> {path}"]


def _show_tuning(found: Tuning) -> None:
    tried = found.table.columns[1 : found.table.columns.index("evidence")]
    numbers = [name for name in tried if name in _ALWAYS or found.table[name].n_unique() > 1]
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
