"""The commands on calibrations: calibrate, calibrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.commands.rate import numbers_of

if TYPE_CHECKING:
    from milepost.api.ratings import Calibration


def calibrate(
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the calibration to this JSON file."
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Games of rated players: PGN files, folders, patterns or tables. Leave it out "
            "with --bridge.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Store with the games' evaluations. With --bridge: where its own are kept, "
            "beside FILE by default.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="Name of the calibration.",
            show_default="the name of the file",
        ),
    ] = None,
    maps: Annotated[
        str,
        typer.Option(
            "--maps",
            help="Maps to try, separated by commas.",
            show_default="all",
        ),
    ] = "",
    folds: Annotated[
        int,
        typer.Option("--folds", min=2, help="Folds for cross-validation; a game is never split."),
    ] = 5,
    repeats: Annotated[
        int,
        typer.Option("--repeats", min=1, help="Random splits to average the errors over."),
    ] = 30,
    seed: Annotated[int, typer.Option("--seed", help="Seed for folds and samples.")] = 2011,
    c_line: Annotated[
        str | None,
        typer.Option(
            "--c-line",
            metavar="FILE|A,B",
            help="The line of c from a reference period: a calibration file, or A,B for c = A + B"
            " x Elo.",
        ),
    ] = None,
    whole_games: Annotated[
        list[str] | None,
        typer.Option(
            "--whole-games",
            metavar="INPUT",
            help="More games, fully evaluated, to measure how players and their form vary; "
            "repeatable.",
            show_default="the same games",
        ),
    ] = None,
    whole_store: Annotated[
        str | None,
        typer.Option(
            "--whole-store",
            metavar="DIR",
            help="Store of the --whole-games.",
            show_default="--store",
        ),
    ] = None,
    setup: shared.Setup = None,
    plan: Annotated[
        str | None,
        options.choice(
            "--plan",
            options.PLANS,
            help="Use evaluations of this plan; deeper ones are cut to its depth. With --bridge: "
            "the plan to evaluate with.",
            listed=False,
            show_default="quick",
        ),
    ] = None,
    bridge: Annotated[
        str | None,
        typer.Option(
            "--bridge",
            metavar="NAME|FILE",
            help="Carry this calibration over to another engine or plan, using positions that "
            "come with the package. Needs no games.",
        ),
    ] = None,
    engine: options.Engine = None,
    engine_option: options.EngineOptions = None,
    positions: Annotated[
        int | None,
        typer.Option("--positions", min=100, help="With --bridge: how many positions to evaluate."),
    ] = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Make a calibration: what moves say about Elo for one engine.

    Fits several maps between Elo and the model's players to games of rated players, and keeps the
    one that predicts best. With --bridge: carries a calibration over to an engine of your own.
    """
    from pathlib import Path

    from milepost import api
    from milepost.errors import InputError

    if bridge is not None:
        if inputs:
            raise InputError("--bridge takes no games: its positions come with the package")
        _bridge(
            bridge, output, store, name=name or Path(output).stem, plan=plan or "quick",
            engine=engine, engine_option=engine_option, positions=positions, workers=workers,
            quiet=quiet,
        )  # fmt: skip
        return
    if not inputs:
        raise InputError("name games of rated players, or --bridge NAME to carry one over")
    if engine is not None or engine_option or positions is not None:
        raise InputError("--engine, --engine-option and --positions are for --bridge")
    chosen = [kind.strip() for kind in maps.split(",") if kind.strip()]
    how = api.ratings.CalibrationPlan(
        **({"kinds": tuple(chosen)} if chosen else {}),
        folds=folds, repeats=repeats, seed=seed, c_line=_line(c_line),
    )  # fmt: skip
    rated = shared.read_decisions(
        inputs, store, setup=setup, plan=plan, workers=workers, quiet=quiet
    )
    further = None
    if whole_games:
        further = shared.read_decisions(
            whole_games, whole_store or store, setup=rated.setup or None, plan=rated.plan,
            workers=workers, quiet=quiet,
        )  # fmt: skip
    unrated = rated.table["mover_elo"].null_count()
    if unrated and not quiet:
        show.say(f"{unrated:,} turns without an Elo are left out", err=True)
    with show.progress("calibrating", quiet=quiet) as tell:
        calibration = api.ratings.calibrate(
            rated, name=name or Path(output).stem, whole_games=further, plan=how, progress=tell
        )
    calibration.save(output)
    show_calibration(calibration)
    show.say(f"calibration -> {output}", err=True)
    if not calibration.admitted:
        raise typer.Exit(1)


def _bridge(
    known: str,
    output: str,
    store: str | None,
    *,
    name: str,
    plan: str,
    engine: str | None,
    engine_option: list[str] | None,
    positions: int | None,
    workers: int,
    quiet: bool,
) -> None:
    from pathlib import Path

    from milepost import api

    kept = store or str(Path(output).with_suffix("")) + "_evaluations"
    try:
        with show.progress("bridging", quiet=quiet, unit="positions") as tell:
            calibration = api.bridges.bridge(
                known, kept, plan, engine=engine, name=name, workers=workers,
                engine_options=api.analyses.parse_engine_options(engine_option or []),
                positions=positions or api.bridges.POSITIONS, progress=tell,
            )  # fmt: skip
    except api.analyses.AnalysisInterruptedError:
        show.say(f"what was evaluated is kept in {kept}: go on with the same command", err=True)
        raise
    calibration.save(output)
    shared.show_numbers(
        api.bridges.bridge_table(calibration),
        "By Elo: divergence (nats a turn); bias, what is read less the Elo; information kept",
    )
    for note in calibration.notes:
        typer.echo(f"note: {note}")
    show.say(f"calibration for {calibration.setup_text} -> {output}", err=True)


def calibrations(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the list to this table."),
    ] = None,
    form: options.Format = None,
) -> None:
    """List the calibrations that come with the package.

    -v adds what each one rests on, how exact it is, and its notes.
    """
    from milepost import api
    from milepost.io.files import write_table

    table = api.ratings.calibrations()
    if output is not None or form is not None:
        write_table(table, output or "-", form=form)
        return
    columns = ["name", "engine", "Elo", "check on unseen games"]
    rows = [
        [
            row["name"],
            row["set-up"].split(", ")[0],
            f"{row['from']}-{row['to']}",
            _checked(row),
        ]
        for row in table.iter_rows(named=True)
    ]
    show.print_table(columns, rows, whole=["name", "Elo"])
    show.note("milepost calibrations -v says what each rests on, how exact it is, and its notes.")
    for row in table.iter_rows(named=True):
        about = [f"for {row['set-up']}", f"map {row['map']}"]
        about += [f"rests on {row['rests on']}"] if row["rests on"] else []
        about += [row["accuracy"]] if row["accuracy"] else []
        about += [f"player variation: {row['variation rests on']}", *row["notes"].split("; ")]
        for line in (f"{row['name']}:", *(f"  {part}" for part in about if part)):
            show.detail(line)


def _checked(row: dict[str, Any]) -> str:
    """How a calibration fared on games that it had not seen."""
    if "bridge" in row["rests on"]:
        return "that of its source"
    if not row["accuracy"]:
        return "none"
    return "passed" if row["admitted"] else "failed in some bands"


def show_calibration(calibration: Calibration) -> None:
    """Print what a calibration says, for people."""
    import polars as pl

    shared.show_numbers(calibration.mileposts.drop("converged"), "Mileposts")
    wanted = ["map", "log_loss", "rmse_50", "rmse_250", "rmse_250_se", "rmse_1000",
              "cells_passed", "cells", "cells_refuted", "admitted"]  # fmt: skip
    tried = calibration.tried
    shared.show_numbers(
        tried.select(name for name in wanted if name in tried.columns),
        "Maps, on games they had not seen: error in Elo by turns; gate",
    )
    if len(calibration.accuracy):
        wanted = ["map", "turns", "cuts", "rmse", "rmse_sd", "rmse_se", "calibrated", "slope",
                  "bound", "ratio", "ratio_low", "ratio_high"]  # fmt: skip
        shared.show_numbers(
            calibration.accuracy.select(wanted),
            "Errors in Elo over random cuts (sd over cuts, error by games drawn anew); information",
        )
    if "failed" in tried.columns:
        for row in tried.filter(pl.col("failed").is_not_null()).iter_rows(named=True):
            show.say(f"not fitted: {row['map']}: {row['failed']}", err=True)
    variation = calibration.variation
    low, high = calibration.range
    counts = ", ".join(f"{count:,} {what}" for what, count in calibration.counts.items())
    typer.echo(f"chosen: {calibration.map.kind}, fitted on {low:.0f} to {high:.0f}, {counts}")
    where = f"borrowed from {variation.borrowed}" if variation.borrowed else str(variation.design)
    typer.echo(f"player variation, with 95 % intervals ({where}):")
    for what, component in (
        ("a player's game varies, times what agents do", variation.game_dispersion),
        ("form beyond that, points", variation.game_sd),
        ("players of equal Elo differ, points", variation.player_sd),
        ("events differ, points", variation.event_sd),
        ("these players read above their Elo, points (not applied)", variation.offset),
        ("z of the match rate varies, times what agents do", variation.mm_factor),
        ("z of the error varies, times what agents do", variation.ad_factor),
    ):
        typer.echo(f"  {what}: {component}")
    for note in calibration.notes:
        typer.echo(f"note: {note}")


def _line(text: str | None) -> tuple[float, float] | None:
    from milepost import api
    from milepost.errors import InputError

    if text is None:
        return None
    if "," not in text:
        return api.ratings.load_calibration(text).c_line
    given = numbers_of(text, "--c-line")
    if len(given) != 2:
        raise InputError(f"--c-line: expected A,B or a calibration, got {text!r}")
    return given[0], given[1]
