"""The command that compares choice models: models."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.commands import fits


def models(
    inputs: options.Inputs,
    store: shared.Store = None,
    folds: Annotated[
        int,
        typer.Option("--folds", min=2, help="Folds for cross-validation; a game is never split."),
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Seed for the folds.")] = 2011,
    all_models: Annotated[
        bool, typer.Option("--all", help="Try all curves and depth schemes; takes an hour or more.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the comparison to this table."),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option(
            "--gates",
            metavar="OUT",
            help="Write the calibration check, band by band, to this table.",
        ),
    ] = None,
    fields: fits.Fields = None,
    setup: shared.Setup = None,
    outside: fits.Outside = "bound",
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Compare models of choice on the same decisions.

    Predicts games that were left out of the fit, and checks each model band by band.
    """
    from milepost.api import agents
    from milepost.io.files import format_of, write_table

    for path in (output, gates):
        if path is not None:
            format_of(path, form)
    columns = fits.read_map(fields)
    given = shared.read_decisions(inputs, store, setup=setup, workers=workers, quiet=quiet)
    with show.progress("comparing", quiet=quiet, unit="models") as tell:
        comparison = agents.compare_models(
            given,
            everything=all_models,
            folds=folds,
            seed=seed,
            fields=columns,
            outside=outside,
            progress=tell,
        )
    told = {"folds": folds, "seed": seed, "outside": outside}
    made = fits.provenance_of("models", told, given)
    if output is not None:
        write_table(comparison.table, output, form=form, made=made)
    if gates is not None:
        write_table(comparison.gates, gates, form=form, made=made)
    typer.echo(f"{folds} folds by group; every figure is of unseen decisions")
    shown = ["name", "parameters", "log_loss", "qfit", "ad_overall", "cells_passed", "cells"]
    shared.show_numbers(
        comparison.table.select(shown), "models, best held-out log-loss (nats) first"
    )
    typer.echo(comparison.gate_text())
    typer.echo(f"admitted for ratings: {', '.join(comparison.admitted) or 'none'}")
