"""The commands that fit agents to decisions: fit, and fit-line for the paper's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.settings import Set

if TYPE_CHECKING:
    import polars as pl

    from milepost.api.agents import AgentModel, GroupFits, ReferenceModel
    from milepost.api.decisions import Decisions

REFERENCE = "reference"
_OF_THE_MODEL = (
    "curve", "ratio", "difference", "tie-shift", "cap", "s", "c", "lapse", "lapse-kernel", "depths",
    "combine",
)  # fmt: skip
_OF_FIT_ROW = (
    "replace", "plan", "depth", "engine", "engine-option", "book-moves",
)  # fmt: skip
MOVED = {
    **{f"--{name}": f"--set {name.replace('-', '_')}=VALUE" for name in _OF_THE_MODEL},
    "--width": "--set width=N, with --method reference",
    "--line": "milepost fit-line INPUT --by COLUMN",
    "--append": "milepost fit-row GAMES -o RESULTS.csv",
    **{f"--{name}": f"milepost fit-row GAMES -o RESULTS.csv --{name}" for name in _OF_FIT_ROW},
}
"""Former options of `fit`, and where they are now."""
Fields = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,...",
        help="For a table with one row per option: which column is the decision, the value and "
        "chosen, and perhaps the group (a game, a day), the weight or the rating.",
    ),
]
Outside = Annotated[
    str,
    options.choice(
        "--outside",
        ("bound", "exclude"),
        help="What to do with choices that are not among the options: bound (as good as the "
        "worst) or exclude.",
        listed=False,
    ),
]
Least = Annotated[
    int, typer.Option("--min-decisions", min=2, help="Leave out groups with fewer decisions.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Write the fits to this table; - is standard output."
    ),
]
_MOST_COMPARED = 200
"""With more groups than these nobody asks which two are best."""
_SHOWN_REFERENCE = ("n", "outside", "c", "sd", "c_low", "c_high")
_SHOWN_LINE = (
    "level", "n", "s", "c", "c_fit", "s_fit", "se_s_fit", "mm_projected", "mm_actual",
    "ad_projected", "ad_actual", "qfit",
)  # fmt: skip


def read_map(text: str | None) -> dict[str, str] | None:
    """Read the columns of a table with one row an option."""
    from milepost.api import agents
    from milepost.errors import InputError

    try:
        return agents.parse_fields(text) if text else None
    except InputError as error:
        raise InputError(f"--map: {error}") from error


def provenance_of(command: str, told: dict[str, Any], given: Decisions) -> dict[str, Any]:
    """Return what an output says of how it was made."""
    from milepost.io.provenance import provenance

    texts: dict[str, Any] = {
        name: value if isinstance(value, int) else str(value) for name, value in told.items()
    }
    if given.setup:
        texts |= {"setup": dict(given.setup_details), "digest": given.setup}
    return provenance(command, texts, [dict(each) for each in given.inputs])


def fit(
    inputs: options.Inputs,
    store: shared.Store = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Fit each value of this column separately; repeatable. For games: player, event,"
            " phase and so on.",
        ),
    ] = None,
    output: Output = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="How to fit: percentile, likelihood, moments, grid (the paper's plain search) or"
            " reference (the one-parameter agents of 2009).",
            show_default="percentile; likelihood if the constant is fitted",
        ),
    ] = None,
    settings: Set = None,
    covariance: Annotated[
        str,
        options.choice(
            "--covariance",
            ("sandwich", "information", "bootstrap", "none"),
            help="How to find the intervals: sandwich, information (likelihood only), bootstrap "
            "or none.",
            listed=False,
        ),
    ] = "sandwich",
    seed: Annotated[int, typer.Option("--seed", help="For --covariance bootstrap.")] = 2011,
    resamples: Annotated[
        int, typer.Option("--resamples", min=2, help="For --covariance bootstrap.")
    ] = 200,
    outside: Outside = "bound",
    least: Least = 30,
    fields: Fields = None,
    setup: shared.Setup = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="With --by: draw who chooses better (svg, png, pdf, html or json).",
        ),
    ] = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Fit a model of choice to decisions: chess or any table.

    Finds sensitivity s and consistency c of the chooser, with intervals. With --by it says who
    chooses better: who would lose less on the same decisions. Chess values are put on
    the log scale of the 2011 paper and capped 4 pawns below the best; values of your own table
    (--map) are taken as they are.

    --set takes curve (invexp, ipa, ipb, secha, sechb, or a mixture such as ipa+ipb), ratio (powers,
    shares, product, blend), difference (log, raw, win-probability), constant (of the log scale, or
    fit), cap (0 = none), tie_shift, lapse (a share, or fit), lapse_kernel (flat, shares), depths
    (groups such as 1-2,3-4,10), combine (additive, averaged, geometric, mixture) and utilities
    (loss, first). s, c and kappa fix a value instead of fitting it. With --method reference: K,
    width, prior_range and prior (mean,sd).
    """
    from milepost.api import agents
    from milepost.cli.settings import read_settings
    from milepost.io.files import format_of
    from milepost.report.charts import check_ending, save_chart

    if output is not None:
        format_of(output, form)
    if plot is not None:
        check_ending(plot)
    is_reference = method == REFERENCE
    model: AgentModel | ReferenceModel = (
        read_settings(agents.ReferenceModel, settings)
        if is_reference
        else read_settings(agents.AgentModel, settings)
    )
    errors: str | agents.Bootstrap = covariance
    if covariance == "bootstrap":
        errors = agents.Bootstrap(resamples, seed)
    agents.check_fit(model, None if is_reference else method, errors)
    columns = read_map(fields)
    given = shared.read_decisions(inputs, store, setup=setup, workers=workers, quiet=quiet)
    by = _columns(by or [], given)
    with show.progress("fitting", quiet=quiet, unit="groups") as tell:
        fits = agents.fit_agents(
            given,
            by,
            model,
            method=None if is_reference else method,
            covariance=errors,
            fields=columns,
            outside=outside,
            least=least,
            progress=tell,
        )
    told = {"model": model, "method": method or "", "covariance": errors, "by": ",".join(by),
            "outside": outside}  # fmt: skip
    made = provenance_of("fit", told, given)
    if plot is not None and len(fits):
        save_chart(fits.plot(), plot)
        show.note(f"-> {plot}")
    _deliver(fits, model, by, given.names, output, form, made, quiet=quiet)


def _columns(by: list[str], given: Decisions) -> list[str]:
    """The columns meant: whoever chose is the player, as in milepost rate."""
    columns = given.table.columns
    return [
        "mover" if name == "player" and name not in columns and "mover" in columns else name
        for name in by
    ]


def fit_line(
    inputs: options.Inputs,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="COLUMN", help="A column of numbers: where each group stands (its Elo)."
        ),
    ],
    store: shared.Store = None,
    output: Output = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="How to fit: percentile, likelihood or moments.",
            show_default="percentile; likelihood if the constant is fitted",
        ),
    ] = "percentile",
    settings: Set = None,
    outside: Outside = "bound",
    least: Least = 30,
    fields: Fields = None,
    setup: shared.Setup = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Fit groups along a line of c: the table of the 2011 paper.

    Fits s and c of each group, puts c on a straight line, then fits s again. --set takes the
    options of milepost fit, but not s and c.
    """
    from milepost.api import agents
    from milepost.cli.settings import read_settings
    from milepost.io.files import format_of, write_table

    if output is not None:
        format_of(output, form)
    model = read_settings(agents.AgentModel, settings)
    columns = read_map(fields)
    given = shared.read_decisions(inputs, store, setup=setup, workers=workers, quiet=quiet)
    fits = agents.fit_line(
        given, by, model, method=method, fields=columns, outside=outside, least=least
    )
    for name, reason in fits.left_out:
        show.say(f"left out: {name}: {reason}", err=True)
    table = fits.to_frame()
    show.say(f"c = {fits.line[0]:.4f} + {fits.line[1]:.3e} x {by}", err=True)
    if output is not None:
        told = {"model": model, "method": method, "by": by, "outside": outside}
        made = provenance_of("fit-line", told, given)
        write_table(table, output, form=form, made=made)
    if output != "-":
        shared.show_numbers(
            table.select(_SHOWN_LINE), "s, c free; then c on a line, s again: c_fit, s_fit"
        )
    _tell_clipped(
        sum(each.clipped for each in fits.free), sum(each.options for each in fits.free), model
    )
    if not table["converged"].all():
        raise typer.Exit(1)


def _deliver(
    fits: GroupFits,
    model: AgentModel | ReferenceModel,
    by: list[str],
    names: dict[str, str],
    output: str | None,
    form: str | None,
    made: dict[str, Any],
    *,
    quiet: bool,
) -> None:
    """Write and show fits; end with 1 where nothing could be fitted, or one did not converge."""
    from milepost.io.files import write_table

    table = fits.table
    for name, reason in fits.left_out:
        show.say(f"left out: {name}: {reason}", err=True)
    if not len(table):
        show.say("milepost: nothing could be fitted", err=True)
        raise typer.Exit(1)
    if output is not None:
        write_table(table, output, form=form, made=made)
    # Files have keys, people read names as written.
    people = [name for name in by if name in {"mover", "opponent"}]
    shown = table.with_columns(table[name].replace(names) for name in people)
    if output != "-" and "sd" in table.columns:
        shared.show_numbers(
            shown.select(*by, *_SHOWN_REFERENCE),
            f"reference agents (2009), K = {getattr(model, 'K', 0.1):g} in the unit of the values",
        )
    elif output != "-":
        _tell_answer(fits)
        _show_fits(shown, by)
    if not quiet and output not in {None, "-"}:
        show.say(f"{len(table):,} fits -> {output}", err=True)
    if "sd" in table.columns and table["outside"].sum():
        beyond = f"chosen beyond the first {getattr(model, 'width', 10)} options"
        show.say(f"{beyond}: {table['outside'].sum():,} left out", err=True)
    elif "sd" not in table.columns:
        for name, what in (("outside", "kept as such"), ("excluded", "left out")):
            if table[name].sum():
                show.say(f"chosen outside the options: {table[name].sum():,} {what}", err=True)
    if "clipped" in table.columns:
        _tell_clipped(int(table["clipped"].sum()), int(table["options"].sum()), model)
    if not fits.converged:
        raise typer.Exit(1)


def _tell_answer(fits: GroupFits) -> None:
    """Say who chooses best, where that can be said."""
    from milepost.errors import InputError

    if len(fits) > _MOST_COMPARED:
        return
    try:
        answer = fits.answer
    except InputError as error:
        show.note(f"not compared: {error}")
        return
    if answer:
        show.say(answer)


def _tell_clipped(clipped: int, options_in_all: int, model: Any) -> None:
    """Say what a cap has done, whenever it has."""
    from milepost.api import agents

    if clipped:
        cap = model.scale().cap
        show.say(agents.clipping_text(clipped, options_in_all, cap), err=True)


def _show_fits(table: pl.DataFrame, by: list[str]) -> None:
    """One line a group: parameters with their intervals, projected and actual statistics."""
    named = ["player" if name == "mover" else name for name in by]
    columns = [*named, "N", "groups", "s", "95 %", "c", "95 %", "lapse", "C", "95 %", "match %",
               "error", "Qfit"]  # fmt: skip
    rows = [
        [
            *(row[name] for name in by),
            row["n"],
            row["groups"],
            f"{row['s']:.3g}",
            _span(row["s_low"], row["s_high"]),
            f"{row['c']:.3g}",
            _span(row["c_low"], row["c_high"]),
            f"{row['lapse']:.3f}" if row["lapse"] else "-",
            "-" if row["constant_low"] is None else f"{row['constant']:.3g}",
            "-"
            if row["constant_low"] is None
            else _ends(row["constant_low"], row["constant_high"]),
            f"{100 * row['mm_actual']:.1f}/{100 * row['mm_projected']:.1f}",
            f"{row['ad_actual']:.3f}/{row['ad_projected']:.3f}",
            f"{row['qfit']:.3f}" + ("" if row["converged"] else " NOT CONVERGED"),
        ]
        for row in table.iter_rows(named=True)
    ]
    # What no fit has is no column.
    first = len(by)
    used = [
        place
        for place in range(len(columns))
        if place < first or any(row[place] != "-" for row in rows)
    ]
    title = f"{table['model'][0]}, {table['method'][0]} fits; match and error: actual/projected"
    show.print_table(
        [columns[place] for place in used],
        [[row[place] for place in used] for row in rows],
        title=title,
        drop_first=("Qfit", "groups"),
    )
    show.note(
        "s: how large a loss must be to be noticed (smaller is better); c: how surely it is then "
        "avoided (larger is better)."
    )


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "given"
    return f"{low:.2g}-{high:.2g}" if abs(low) < float("inf") else "not known"


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "-"
    if low == 0 or high == float("inf"):
        return f"over {low:.2g}" if low else f"under {high:.2g}" if high < float("inf") else "any"
    return f"{low:.2g}-{high:.2g}"
