"""Sites: what a player's moves in a year say about the rating, in one step from where he stands.

A site is the expected Elo plus score by information there. The likeliest rating of a few turns is
far off or has no bound; one step from the expected Elo is nearly unbiased for any number of turns,
and its information says how far to trust it (a one-step estimator: van der Vaart 1998, "Asymptotic
Statistics", section 5.7). A history takes sites as move evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from milepost.choice.evaluation.evaluate import prepare
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.calibration.player_variation import at_own_elo
from milepost.intrinsic.rating.likelihood_grid import RUNGS
from milepost.io.progress import Progress, Report
from milepost.tables import SITES

_AT_ONCE = 20_000
"""Turns worked on at once."""
_MARGIN = 200.0
"""References are kept so far inside the ladder of ratings."""
WHOLE_SHARE = 0.5
"""If so many turns have the player's turn before them beside them, whole games were evaluated."""


def make_sites(
    decisions: pl.DataFrame,
    calibration: Calibration,
    *,
    reference: float | pl.DataFrame | None = None,
    setup: str = "",
    design: str | None = None,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Return the sites of decisions by player and year.

    Parameters
    ----------
    decisions
        The decisions, with mover, year and, where known, mover_elo.
    calibration
        The calibration of their set-up; one that is read by likelihood.
    reference
        Where to take the score: a table of player, time and reference; else the mean of the
        player's own Elo in the year; else, where that is not known, this number. `None` = players
        without an Elo get no site.
    setup
        Digest of the engine set-up.
    design
        How turns were chosen: whole, random or other; `None` = whole or random, as the turns look.
    progress
        Called with the turns done.

    Raises
    ------
    InputError
        If the turns do not say who moved when, or the calibration is not read by likelihood.
    """
    missing = [name for name in ("mover", "year", "game_id") if name not in decisions.columns]
    if missing:
        raise InputError(f"sites go by player and year: these turns lack {', '.join(missing)}")
    if calibration.map.reading != "likelihood":
        raise InputError(f"{calibration.name} is not read by likelihood: it has no score to take")
    rows = decisions.filter(pl.col("year").is_not_null() & pl.col("mover").is_not_null())
    rows = _with_reference(rows, reference).filter(pl.col("reference").is_not_null())
    if rows.is_empty():
        raise InputError("no turn has a year and a player whose Elo is known: give a reference")
    parts = []
    for start in range(0, rows.height, _AT_ONCE):
        if progress is not None:
            progress(Progress(start, rows.height))
        parts.append(_scored(rows[start : start + _AT_ONCE], calibration))
    scored = pl.concat(parts)
    variation = calibration.variation
    dispersion, form = variation.game_dispersion.value, variation.game_sd.used
    games = scored.group_by("player", "time", "game_id", maintain_order=True).agg(
        pl.col("reference").first(), pl.col("score", "information").sum(), pl.len().alias("n")
    )
    own = pl.col("information")
    table = games.group_by("player", "time").agg(
        reference=pl.col("reference").first(),
        site=pl.col("reference").first() + pl.col("score").sum() / own.sum(),
        information=own.sum(),
        n=pl.col("n").sum(),
        games=pl.len(),
        form_information=(1.0 / (dispersion / own + form**2)).sum(),
        game_information=own,
    )
    table = table.with_columns(
        dispersion=pl.lit(float(dispersion)),
        player_sd=pl.lit(float(variation.player_sd.used)),
        form_sd=pl.lit(float(form)),
        setup=pl.lit(setup or None, dtype=pl.String),
        design=pl.lit(design or _design_of(rows)),
    )
    return SITES.conform(table).sort("player", "time")


def _with_reference(rows: pl.DataFrame, reference: float | pl.DataFrame | None) -> pl.DataFrame:
    rows = rows.with_columns(pl.col("year").cast(pl.Int64).alias("time"), player=pl.col("mover"))
    elo: pl.Expr = pl.lit(None, dtype=pl.Float64)
    if "mover_elo" in rows.columns:
        elo = pl.col("mover_elo").cast(pl.Float64).mean().over("player", "time")
    low, high = RUNGS[0] + _MARGIN, RUNGS[-1] - _MARGIN
    if isinstance(reference, pl.DataFrame):
        given = reference.select(
            "player", pl.col("time").cast(pl.Int64), pl.col("reference").cast(pl.Float64)
        )
        rows = rows.join(given, on=["player", "time"], how="left", maintain_order="left")
        known = pl.coalesce("reference", elo)
    else:
        known = pl.coalesce(elo, pl.lit(reference, dtype=pl.Float64))
    return rows.with_columns(reference=known.clip(float(low), float(high)))


def _scored(rows: pl.DataFrame, calibration: Calibration) -> pl.DataFrame:
    """Score and information of each turn at its reference."""
    path = calibration.map.path
    prepared = prepare(Spreads.from_table(rows), path.model)
    said = at_own_elo(prepared, path, rows["reference"].to_numpy(), information=True)
    return rows.select("player", "time", "game_id", "reference").with_columns(
        score=pl.Series(said.score * said.weights),
        information=pl.Series(np.maximum(said.information * said.weights, 1e-12)),
    )


def _design_of(rows: pl.DataFrame) -> str:
    """Whether most turns have the same player's turn before them among them."""
    if "ply" not in rows.columns:
        return "other"
    turns = rows.select("game_id", "mover", ply=pl.col("ply").cast(pl.Int64))
    before = turns.with_columns(ply=pl.col("ply") + 2)
    near = turns.join(before, on=["game_id", "mover", "ply"], how="semi").height
    return "whole" if near >= WHOLE_SHARE * turns.height else "random"


def summary_of(sites: pl.DataFrame) -> dict[str, Any]:
    """Return players, sites, games and turns of a table of sites."""
    return {
        "sites": sites.height,
        "players": sites["player"].n_unique(),
        "games": int(sites["games"].sum()),
        "turns": int(sites["n"].sum()),
    }
