"""The command that compares choice models: models."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands import decisions as decisions_in


def models(
    inputs: options.Inputs,
    store: decisions_in.Store = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds, by game.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Draws the folds.")] = 2011,
    all_models: Annotated[
        bool, typer.Option("--all", help="All curves and depth schemes; takes an hour and more.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the comparison to this table."),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option("--gates", metavar="OUT", help="Write the gate, band by band, to this table."),
    ] = None,
    fields: decisions_in.Fields = None,
    setup: decisions_in.Setup = None,
    outside: decisions_in.Outside = "bound",
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Compare choice models on the same decisions, held out by game, with the admission gate."""
    import numpy as np

    from milepost.fit.comparison.candidates import standard_candidates
    from milepost.fit.comparison.compare import compare
    from milepost.fit.groups import parse_fields, split_decisions
    from milepost.io.files import format_of, write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    for path in (output, gates):
        if path is not None:
            format_of(path, form)
    decisions, made = decisions_in.read_decisions(
        inputs, store, setup, [], workers=workers, quiet=quiet
    )
    named = parse_fields(fields) if fields else None
    ((_, spreads),) = split_decisions(decisions, fields=named, outside=outside)
    candidates = standard_candidates(spreads, everything=all_models)
    with show.progress("comparing", quiet=quiet, unit="models") as tell:
        found = compare(
            spreads,
            candidates,
            folds=folds,
            rng=np.random.default_rng(seed),
            progress=tell,
        )
    made = provenance(
        "models",
        {"folds": folds, "seed": seed, "outside": outside, **made},
        table_inputs(find_sources(inputs)),
    )
    if output is not None:
        write_table(found.table, output, form=form, made=made)
    if gates is not None:
        write_table(found.gates, gates, form=form, made=made)
    typer.echo(f"{spreads}, {folds} folds by group; every figure is of unseen decisions")
    columns = ["name", "parameters", "log_loss", "qfit", "ad_overall", "cells_passed", "cells"]
    decisions_in.show_numbers(
        found.table.select(columns), "models, best held-out log-loss (nats) first"
    )
    typer.echo(found.gate_text())
    admitted = found.table.filter(found.table["admitted"])["name"].to_list()
    typer.echo(f"admitted for ratings: {', '.join(admitted) or 'none'}")
