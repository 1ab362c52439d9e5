"""The command that maps ratings and agents onto each other: calibrate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.commands import decisions as decisions_in
from milepost.cli.commands import intrinsics

if TYPE_CHECKING:
    from milepost.choice import Spreads
    from milepost.intrinsic.calibration.calibration import Calibration


def calibrate(
    inputs: options.Inputs,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The calibration (JSON).")
    ],
    store: decisions_in.Store = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Its name [default: that of the file].")
    ] = None,
    maps: Annotated[
        str, typer.Option("--maps", help="Maps to try, with commas [default: all five].")
    ] = "",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds, by game.")] = 5,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="How often pieces are drawn to judge maps by.")
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Draws folds and pieces.")] = 2011,
    c_line: Annotated[
        str | None,
        typer.Option(
            "--c-line",
            metavar="FILE|A,B",
            help="The line of c of a reference period: a calibration, or c = A + B x Elo.",
        ),
    ] = None,
    whole_games: Annotated[
        list[str] | None,
        typer.Option(
            "--whole-games",
            metavar="INPUT",
            help="Further games, evaluated whole, to measure the spread of players and their form "
            "by; repeatable [default: the same games].",
        ),
    ] = None,
    whole_store: Annotated[
        str | None,
        typer.Option("--whole-store", metavar="DIR", help="The store of those [default: --store]."),
    ] = None,
    setup: decisions_in.Setup = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Fit maps between Elo and agents to games of rated players; choose one; write it down."""
    from pathlib import Path

    from milepost.analysis.engine.setup import readable_setup
    from milepost.errors import InputError
    from milepost.intrinsic.calibration.build import calibrate as make
    from milepost.intrinsic.calibration.maps import KINDS
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    kinds = [each.strip() for each in maps.split(",") if each.strip()] or list(KINDS)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"--maps: there are {', '.join(KINDS)}, got {unknown[0]!r}")
    line = _line(c_line)
    spreads, players, made = _rated(inputs, store, setup, workers=workers, quiet=quiet)
    whole = None
    sources = list(inputs)
    if whole_games:
        found_whole = _rated(
            whole_games, whole_store or store, made["digest"], workers=workers, quiet=quiet
        )
        whole = found_whole[0], found_whole[1]
        sources += whole_games
    told = {"maps": kinds, "folds": folds, "repeats": repeats, "seed": seed, "c_line": c_line or ""}
    with show.progress("calibrating", quiet=quiet, unit="steps") as tell:
        found = make(
            spreads,
            players,
            whole_games=whole,
            name=name or Path(output).stem,
            setup=str(made.get("digest", "")),
            setup_text=readable_setup(made["setup"]) if "digest" in made else "",
            kinds=kinds,
            folds=folds,
            repeats=repeats,
            seed=seed,
            c_line=line,
            made=provenance("calibrate", {**told, **made}, table_inputs(find_sources(sources))),
            progress=tell,
        )
    found.save(output)
    show_calibration(found)
    typer.echo(f"calibration -> {output}", err=True)
    if not found.admitted:
        raise typer.Exit(1)


def _rated(
    inputs: list[str], store: str | None, setup: str | None, *, workers: int, quiet: bool
) -> tuple[Spreads, list[str], dict[str, Any]]:
    """The decisions of players whose Elo is known, and who they are."""
    import polars as pl

    from milepost.choice import Spreads
    from milepost.errors import InputError

    table, made = decisions_in.read_decisions(
        inputs, store, setup, [], workers=workers, quiet=quiet
    )
    rated = table.filter(pl.col("mover_elo").is_not_null() & pl.col("mover").is_not_null())
    if len(rated) < len(table) and not quiet:
        typer.echo(f"{len(table) - len(rated):,} turns without a player or an Elo", err=True)
    if not len(rated):
        raise InputError("no evaluated turn has a player with an Elo")
    return Spreads.from_table(rated), rated["mover"].to_list(), made


def show_calibration(found: Calibration) -> None:
    """Print what a calibration says, for people."""
    import polars as pl

    decisions_in.show_numbers(found.mileposts.drop("converged"), "Mileposts")
    wanted = ["map", "log_loss", "rmse_50", "rmse_250", "rmse_1000", "cells_passed", "cells",
              "cells_refuted", "admitted"]  # fmt: skip
    shown = [name for name in wanted if name in found.tried.columns]
    decisions_in.show_numbers(
        found.tried.select(shown), "Maps, on games they had not seen: error in Elo by turns; gate"
    )
    if "failed" in found.tried.columns:
        for row in found.tried.filter(pl.col("failed").is_not_null()).iter_rows(named=True):
            typer.echo(f"not fitted: {row['map']}: {row['failed']}", err=True)
    spread = found.spread
    low, high = found.range
    counts = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
    typer.echo(f"chosen: {found.map.kind}, fitted on {low:.0f} to {high:.0f}, {counts}")
    typer.echo(
        f"players of equal Elo differ by {spread.players_sd:.0f} points (sd, from {spread.players} "
        f"players); one player from game to game by {spread.form_sd:.0f}"
    )
    typer.echo(
        f"z of the match rate varies {spread.mm_factor:.2f} times as under agents, of the error "
        f"{spread.ad_factor:.2f} times ({spread.measured_players} players; 0 = published factors)"
    )
    for note in found.notes:
        typer.echo(f"note: {note}")


def _line(text: str | None) -> tuple[float, float] | None:
    from milepost.errors import InputError
    from milepost.intrinsic.calibration.calibration import load_calibration

    if text is None:
        return None
    if "," not in text:
        return load_calibration(text).c_line
    given = intrinsics.parse_numbers(text, "--c-line")
    if len(given) != 2:
        raise InputError(f"--c-line: expected A,B or a calibration, got {text!r}")
    return given[0], given[1]
