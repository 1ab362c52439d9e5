"""The command that fits agents to decisions: fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.commands import append as appending
from milepost.cli.commands import decisions as decisions_in

if TYPE_CHECKING:
    import polars as pl

    from milepost.choice import DepthScheme

_SHOWN_REFERENCE = ("n", "outside", "c", "sd", "c_low", "c_high")


def fit(
    context: typer.Context,
    inputs: options.Inputs,
    store: decisions_in.Store = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Fit each value apart; repeatable."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the fits to this table."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="percentile, likelihood, moments, grid (the paper's plain search); reference: the "
            "one-parameter agents of 2009.",
        ),
    ] = "percentile",
    curve: Annotated[
        str, typer.Option("--curve", help="invexp, ipa, ipb, secha, sechb, or a mixture as ipa+ipb")
    ] = "invexp",
    ratio: Annotated[
        str, typer.Option("--ratio", help="powers, shares, product or blend.")
    ] = "powers",
    difference: Annotated[
        str, typer.Option("--difference", help="log, raw or win-probability.")
    ] = "log",
    tie_shift: Annotated[
        float, typer.Option("--tie-shift", min=0.0, help="For later options equal to the best.")
    ] = 0.03,
    cap: Annotated[
        float, typer.Option("--cap", min=0.0, help="Clip values so far under the best; 0 = not.")
    ] = 4.0,
    s: Annotated[float | None, typer.Option("--s", help="Sensitivity, given, not fitted.")] = None,
    c: Annotated[float | None, typer.Option("--c", help="Consistency, given, not fitted.")] = None,
    lapse: Annotated[str, typer.Option("--lapse", help="Share of lapses: a number, or fit.")] = "0",
    lapse_kernel: Annotated[
        str, typer.Option("--lapse-kernel", help="What lapses choose from: flat or shares.")
    ] = "flat",
    depths: Annotated[
        str | None,
        typer.Option(
            "--depths",
            metavar="GROUPS",
            help="Depth-weighted agents: groups of depths, as 1-2,3-4,5-7,8-9,10.",
        ),
    ] = None,
    combine: Annotated[
        str,
        typer.Option("--combine", help="Depths: additive, averaged, geometric or mixture."),
    ] = "geometric",
    covariance: Annotated[
        str,
        typer.Option("--covariance", help="sandwich, information (likelihood), bootstrap or none."),
    ] = "sandwich",
    seed: Annotated[int, typer.Option("--seed", help="For the bootstrap.")] = 2011,
    resamples: Annotated[int, typer.Option("--resamples", min=2, help="For the bootstrap.")] = 200,
    width: Annotated[
        int, typer.Option("--width", min=2, help="Options the agents of 2009 look at.")
    ] = 10,
    line: Annotated[
        bool,
        typer.Option(
            "--line",
            help="Put c on a line through the groups (--by one number), then fit s again.",
        ),
    ] = False,
    outside: decisions_in.Outside = "bound",
    least: Annotated[
        int, typer.Option("--least", min=2, help="Leave out groups with fewer decisions.")
    ] = 30,
    fields: decisions_in.Fields = None,
    setup: decisions_in.Setup = None,
    append: appending.Append = None,
    replace: appending.Replace = False,
    plan: appending.PlanName = "quick",
    depth: appending.Depth = None,
    engine: appending.Engine = None,
    engine_option: appending.EngineOption = None,
    book_moves: appending.BookMoves = 8,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Fit agents (s, c) to decisions: of a store and games, or of any table of options.

    With --append it goes from games through the engine to one row a file in a results file; the
    store lies beside that file unless --store names another.
    """
    appending.check_options(context, appending=append is not None)
    if append is not None:
        appending.append_fits(
            inputs,
            append,
            store=store,
            replace=replace,
            plan=plan,
            depth=depth,
            engine=engine,
            engine_option=engine_option,
            book_moves=book_moves,
            workers=workers,
            quiet=quiet,
        )
        return
    import numpy as np

    from milepost.fit.groups import fit_groups, parse_fields
    from milepost.io.files import format_of, write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    if output is not None:
        format_of(output, form)
    settings: dict[str, Any] = {
        "curve": curve,
        "ratio": ratio,
        "method": method,
        "difference": difference,
        "tie_shift": tie_shift,
        "cap": cap or None,
        "s": s,
        "c": c,
        "lapse": _lapse(lapse),
        "lapse_kernel": lapse_kernel,
        "depths": _scheme(depths, combine),
        "covariance": covariance,
        "resamples": resamples,
    }
    reference = None
    if method == "reference":
        reference, settings = {"width": width}, {}
    named = parse_fields(fields) if fields else None
    _check_settings(settings, combine, line=line)
    decisions, made = decisions_in.read_decisions(
        inputs, store, setup, by or [], workers=workers, quiet=quiet
    )
    told = {name: str(value) for name, value in (settings or {"width": width}).items()}
    told |= {"by": ",".join(by or []), "seed": str(seed), "outside": outside, **made}
    made = provenance("fit", told, table_inputs(find_sources(inputs)))
    if line:
        table = _on_a_line(decisions, by or [], named, outside, least, settings)
        if output is not None:
            write_table(table, output, form=form, made=made)
        if output != "-":
            shown = ["level", "n", "s", "c", "c_fit", "s_fit", "se_s_fit", "mm_projected",
                     "mm_actual", "ad_projected", "ad_actual", "qfit"]  # fmt: skip
            decisions_in.show_numbers(
                table.select(shown), "s, c free; then c on a line, s again: c_fit, s_fit"
            )
        if not table["converged"].all():
            raise typer.Exit(1)
        return
    with show.progress("fitting", quiet=quiet, unit="groups") as tell:
        table, left_out = fit_groups(
            decisions,
            by or [],
            fields=named,
            outside=outside,
            least=least,
            reference=reference,
            progress=tell,
            **settings,
            **({} if reference is not None else {"rng": np.random.default_rng(seed)}),
        )
    _deliver(table, left_out, by or [], output, form, made, quiet=quiet)


def _check_settings(settings: dict[str, Any], combine: str, *, line: bool) -> None:
    """Refuse what cannot be before anything is read."""
    from milepost.choice.depths import COMBINATIONS
    from milepost.choice.model import LAPSES
    from milepost.errors import InputError
    from milepost.fit.agent import COVARIANCES, METHODS, model_of

    for name, value, known in (
        ("--method", settings.get("method", "reference"), (*METHODS, "reference")),
        ("--covariance", settings.get("covariance", "sandwich"), COVARIANCES),
        ("--combine", combine, COMBINATIONS),
        ("--lapse-kernel", settings.get("lapse_kernel", "flat"), LAPSES[1:]),
    ):
        if value not in known:
            raise InputError(f"{name} is one of {', '.join(map(str, known))}, got {value!r}")
    if settings:
        model_of(**_of_the_model(settings))
        if settings["covariance"] == "information" and settings["method"] != "likelihood":
            raise InputError("the inverse information belongs to likelihood fits alone")
    if line and settings.get("covariance", "sandwich") != "sandwich":
        raise InputError("--line goes with the sandwich covariance")


def _of_the_model(settings: dict[str, Any]) -> dict[str, Any]:
    fitting = {"method", "covariance", "resamples"}
    return {name: value for name, value in settings.items() if name not in fitting}


def _deliver(
    table: pl.DataFrame,
    left_out: list[tuple[str, str]],
    by: list[str],
    output: str | None,
    form: str | None,
    made: dict[str, Any],
    *,
    quiet: bool,
) -> None:
    """Write and show fits; end with 1 where nothing could be fitted, or one did not converge."""
    from milepost.io.files import write_table

    for name, reason in left_out:
        typer.echo(f"left out: {name}: {reason}", err=True)
    if not len(table):
        typer.echo("milepost: nothing could be fitted", err=True)
        raise typer.Exit(1)
    if output is not None:
        write_table(table, output, form=form, made=made)
    if output != "-" and "sd" in table.columns:
        decisions_in.show_numbers(table.select(*by, *_SHOWN_REFERENCE), "reference agents (2009)")
    elif output != "-":
        _show_fits(table, by)
    if not quiet and output not in {None, "-"}:
        typer.echo(f"{len(table):,} fits -> {output}", err=True)
    for name, what in (("outside", "kept as such"), ("excluded", "left out")):
        if name in table.columns and table[name].sum():
            typer.echo(f"chosen outside the options: {table[name].sum():,} {what}", err=True)
    if "converged" in table.columns and not table["converged"].all():
        raise typer.Exit(1)


def _on_a_line(
    decisions: pl.DataFrame,
    by: list[str],
    fields: dict[str, str] | None,
    outside: str,
    least: int,
    settings: dict[str, Any],
) -> pl.DataFrame:
    """The paper's table: free fits, c on a line over the level of each group, s fitted again."""
    from milepost.errors import InputError
    from milepost.fit import fit_cohorts
    from milepost.fit.agent import model_of
    from milepost.fit.groups import split_decisions

    if len(by) != 1 or by[0] not in decisions.columns or not decisions.schema[by[0]].is_numeric():
        raise InputError("--line needs --by with one column of numbers (the rating of each group)")
    if not settings:
        raise InputError("--line goes with percentile, likelihood or moments")
    cohorts = {}
    for (level,), spreads in split_decisions(decisions, by, fields=fields, outside=outside):
        if len(spreads) < least:
            typer.echo(f"left out: {level}: {len(spreads)} decisions, under {least}", err=True)
        else:
            cohorts[float(level)] = spreads
    model, fixed = model_of(**_of_the_model(settings))
    if "c" in fixed or "s" in fixed:
        raise InputError("--line fits s and c: give neither")
    found = fit_cohorts(cohorts, model, method=settings["method"], fixed=fixed)
    typer.echo(f"c = {found.line[0]:.4f} + {found.line[1]:.3e} x {by[0]}", err=True)
    return found.to_frame()


def _lapse(text: str) -> float | str:
    from milepost.errors import InputError

    if text == "fit":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--lapse: expected a share or fit, got {text!r}") from None


def _scheme(text: str | None, combine: str) -> DepthScheme | None:
    from milepost.choice import DepthScheme
    from milepost.errors import InputError

    if text is None:
        return None
    groups: list[list[int]] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise InputError(f"--depths: expected groups as 1-2,3-4,10, got {text!r}")
        first = int(match[1])
        groups.append(list(range(first, int(match[2] or first) + 1)))
    return DepthScheme.groups(groups, combine)


def _show_fits(table: pl.DataFrame, by: list[str]) -> None:
    """One line a group: parameters with their intervals, projected and actual statistics."""
    columns = [*by, "N", "groups", "s", "95 %", "c", "95 %", "lapse", "match %", "error", "Qfit"]
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
            f"{100 * row['mm_projected']:.1f}/{100 * row['mm_actual']:.1f}",
            f"{row['ad_projected']:.3f}/{row['ad_actual']:.3f}",
            f"{row['qfit']:.3f}" + ("" if row["converged"] else " NOT CONVERGED"),
        ]
        for row in table.iter_rows(named=True)
    ]
    lapse = columns.index("lapse")
    if all(row[lapse] == "-" for row in rows):
        columns.pop(lapse)
        rows = [row[:lapse] + row[lapse + 1 :] for row in rows]
    title = f"{table['model'][0]}, {table['method'][0]} fits; match and error: projected/actual"
    show.print_table(columns, rows, title=title)


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "given"
    return f"{low:.2g}-{high:.2g}" if abs(low) < float("inf") else "not known"
