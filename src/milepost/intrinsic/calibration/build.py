"""Make a calibration of the decisions of players whose ratings are known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import bdtrc, ndtr

from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.projections import SLIPS
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.agent import NotConvergedWarning
from milepost.fit.cohorts import CohortFits, fit_cohorts
from milepost.fit.comparison.compare import rating_bands, split_folds
from milepost.fit.comparison.gate import NOISE, HeldOut, gate_table
from milepost.intrinsic.calibration.accuracy import (
    CUTS,
    RESAMPLES,
    SIZES,
    Contender,
    accuracy_table,
)
from milepost.intrinsic.calibration.calibration import JUDGED_BY, Calibration, load_calibration
from milepost.intrinsic.calibration.held_out import read_unseen, simple_contenders
from milepost.intrinsic.calibration.maps import (
    KINDS,
    RatingMap,
    fit_map,
    mileposts,
    reference_set,
)
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.calibration.player_variation import PlayerVariation, at_own_elo
from milepost.intrinsic.calibration.variance_components import (
    LEAST_EVENTS,
    PLAYERS_TO_MEASURE,
    RatedTurns,
    measure_variation,
)
from milepost.intrinsic.rating.likelihood_grid import RUNGS
from milepost.intrinsic.rating.simple_measures import LICHESS
from milepost.io.progress import Progress, Report

CHANCE = 0.05
"""A map is refuted if a true one would fail as many cells with less probability than this."""
_TRIED = ("rmse", "rmse_sd", "rmse_se", "calibrated", "calibrated_se", "bias", "slope", "bound",
          "correlation", "cuts")  # fmt: skip
"""What the table of maps takes over of each size."""
LENDER = "stockfish15.1-quick"
"""The calibration that components are borrowed from where there are too few players."""
ERROR_TURNS = 3_000
"""Turns on which the error of a map is worked out: its second digit does not change with more."""
_CRITERIA = ("mm", "ad", *(f"slips{limit:g}" for limit in SLIPS))


def calibrate(
    spreads: Spreads,
    players: Sequence[Any],
    *,
    name: str,
    setup: str,
    setup_text: str = "",
    kinds: Sequence[str] = KINDS,
    folds: int = 5,
    repeats: int = CUTS,
    seed: int = 2011,
    c_line: tuple[float, float] | None = None,
    whole_games: RatedTurns | None = None,
    events: Sequence[Any] | None = None,
    made: Mapping[str, Any] | None = None,
    progress: Report | None = None,
) -> Calibration:
    """Fit all maps, choose between them by games they have not seen, measure how players vary.

    Parameters
    ----------
    spreads
        The decisions, grouped by game, with the rating of every chooser.
    players
        Who chose, for each decision.
    name
        The name of the calibration.
    setup, setup_text
        Digest of the engine set-up, and the set-up in words.
    kinds
        The maps to try; see `milepost.intrinsic.calibration.maps`.
    folds, repeats, seed
        Folds of the cross-validation, random cuts that errors are the mean of, and the seed.
    c_line
        The line of c of another (reference) period for the mileposts' table [default: fitted here].
    whole_games
        Decisions to measure player variation by: several whole games of a player tell him from
        others, several events tell those apart [default: the decisions, as one event].
    events
        The event of each decision: the gate reckons with whole events being off [default: games].
    made
        Provenance for the file.
    progress
        Called with the steps done; the note is what is being done.

    Raises
    ------
    InputError
        If ratings are missing, there are too few mileposts, or no map can be fitted.
    """
    if spreads.rating is None or not np.isfinite(spreads.rating).all():
        raise InputError("a calibration needs the rating of every chooser")
    steps = 2 + 2 * len(kinds)

    def tell(what: str, done: int) -> None:
        if progress is not None:
            progress(Progress(done, steps, what))

    tell("mileposts", 0)
    fold = split_folds(spreads, folds, np.random.default_rng(seed))
    labels, bands = rating_bands(spreads)
    clusters = spreads.groups if events is None else _codes(events)
    cohorts = fit_cohorts(mileposts(spreads), line=c_line)
    own_line = cohorts if c_line is None else fit_cohorts(mileposts(spreads))
    found: dict[str, RatingMap] = {}
    contenders: dict[str, Contender] = simple_contenders(spreads, fold)
    gates: dict[str, pl.DataFrame] = {}
    rows: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        with warnings.catch_warnings():
            warnings.simplefilter("error", NotConvergedWarning)
            try:
                tell(f"{kind}: all turns", 1 + 2 * number)
                found[kind] = fit_map(kind, spreads, cohorts=own_line)
                tell(f"{kind}: held out", 2 + 2 * number)
                unseen = read_unseen(kind, spreads, fold, start=found[kind])
            except (InputError, NotConvergedWarning) as error:
                found.pop(kind, None)
                rows.append({"map": kind, "failed": str(error)})
                continue
        contenders[kind] = unseen.contender
        gates[kind] = gate_table(unseen.said, bands, labels, clusters)
        loss = -float(spreads.weights @ unseen.said.ln_chosen / spreads.weights.sum())
        rows.append({"map": kind, "log_loss": loss, **judge(gates[kind], unseen.said)})
    if not found:
        raise InputError("no map could be fitted: " + "; ".join(str(r["failed"]) for r in rows))
    tell("errors of the maps", steps - 1)
    accuracy = accuracy_table(
        contenders,
        spreads,
        cuts=repeats,
        # Who is content with few cuts is in haste with the errors too.
        resamples=round(RESAMPLES * min(repeats / CUTS, 1.0)),
        seed=seed,
        against=LICHESS,
    )
    tried = _tried(rows, accuracy)
    kind = choose(tried)
    best = found[kind]
    tell("player variation", steps - 1)
    variation, borrowed = find_variation(best, whole_games or RatedTurns(spreads, players))
    further = whole_games is not None and whole_games.spreads is not spreads
    return Calibration(
        name=name,
        setup=setup,
        setup_text=setup_text,
        map=best,
        variation=variation,
        map_error=error_of_map(spreads, best.path),
        mileposts=milepost_table(cohorts),
        c_line=cohorts.line,
        tried=tried,
        accuracy=accuracy,
        gate=gates[kind],
        counts={
            "turns": len(spreads),
            "games": spreads.number_of_groups,
            "players": len(set(players)),
            "turns of whole games": len(whole_games) if further and whole_games else 0,
        },
        notes=(*_notes(tried, kind, gates[kind]), *borrowed),
        made=dict(made or {}),
    )


def find_variation(found: RatingMap, turns: RatedTurns) -> tuple[PlayerVariation, tuple[str, ...]]:
    """Measure player variation, or borrow what these turns cannot tell; return it, and notes.

    The agents that read a rating by percentile or error have a likelihood too: it measures.

    Raises
    ------
    InputError
        If a chooser has no rating.
    """
    spreads, own = turns.spreads, turns.spreads.rating
    if own is None or not np.isfinite(own).all():
        raise InputError("player variation needs the rating of every chooser")
    said = at_own_elo(prepare(spreads, found.path.model), found.path, own, information=True)
    events, plies = turns.events, turns.plies
    variation = measure_variation(
        said,
        own,
        _codes(turns.players),
        spreads.groups,
        None if events is None else _codes(events),
        None if plies is None else np.asarray(plies, dtype=np.int64),
    )
    design = variation.design
    if design.repeated_players < PLAYERS_TO_MEASURE:
        lent = load_calibration(LENDER).variation
        note = (
            f"player variation is borrowed from {LENDER}: {design.repeated_players} players with "
            f"two games or more are too few, {PLAYERS_TO_MEASURE} are the least"
        )
        return replace(lent, borrowed=LENDER), (note,)
    if design.events < LEAST_EVENTS:
        lent = load_calibration(LENDER).variation
        note = (
            f"the variation of events ({lent.event_sd.used:.0f} points) is borrowed from {LENDER}: "
            f"{design.events} complete events are too few, {LEAST_EVENTS} are the least"
        )
        return replace(variation, event_sd=lent.event_sd), (note,)
    return variation, ()


def _codes(names: Sequence[Any]) -> Ints:
    _, codes = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return codes.ravel().astype(np.int64)


def milepost_table(cohorts: CohortFits) -> pl.DataFrame:
    """Return the paper's table, the column of the level named milepost."""
    return cohorts.to_frame().rename({"level": "milepost"}).drop("percentile_rms")


def judge(gate: pl.DataFrame, said: HeldOut) -> dict[str, Any]:
    """Return what the gate says of a map: by the letter, by chance, and over all bands at once.

    By the letter every cell must pass; with a few thousand turns even true agents do not. So a cell
    counts as refuted if it fails by the letter and by more than two standard errors; a map is
    admitted if true agents would have as many refuted cells with a probability of at least 5 %.
    """
    refuted = sum(_refuted(gate))
    cells = len(_CRITERIA) * len(gate)
    beyond = 2 * float(ndtr(-NOISE))
    chance = float(bdtrc(refuted - 1, cells, beyond))
    share = said.weights / said.weights.sum()
    slips = {}
    for place, limit in enumerate(SLIPS):
        expected = said.slips[:, place]
        gap = float(share @ (said.actual_slips[:, place] - expected))
        se = float(np.sqrt(share**2 @ (expected * (1 - expected))))
        slips[f"slips{limit:g}_z"] = gap / se if se > 0 else 0.0
    return {
        "cells": cells,
        "cells_passed": sum(int(gate[f"{key}_passes"].sum()) for key in _CRITERIA),
        "cells_refuted": refuted,
        "chance": chance,
        "admitted_by_letter": bool(gate["passes"].all()),
        "admitted": chance >= CHANCE,
        "ad_overall": float(share @ said.error / (share @ said.actual_error) - 1),
        **slips,
    }


def _refuted(gate: pl.DataFrame) -> list[int]:
    """How many cells of each band fail by the letter and by more than two standard errors."""
    return [
        sum(
            not row[f"{key}_passes"]
            and abs(row[f"{key}_projected"] - row[f"{key}_actual"]) > NOISE * row[f"{key}_se"]
            for key in _CRITERIA
        )
        for row in gate.iter_rows(named=True)
    ]


def _bands_text(gate: pl.DataFrame) -> str:
    """The bands with a refuted cell, neighbours as one: "1350-1549 and 2550-2949"."""
    runs: list[list[str]] = []
    before = 0
    for band, number in zip(gate["band"], _refuted(gate), strict=True):
        if number and before:
            runs[-1].append(band)
        elif number:
            runs.append([band])
        before = number
    ends = [f"{run[0].split('-')[0]}-{run[-1].split('-')[-1]}" for run in runs]
    return " and ".join([part for part in (", ".join(ends[:-1]), ends[-1]) if part])


def choose(tried: pl.DataFrame) -> str:
    """Return the map to use: the smallest error at 250 turns of those admitted, else of all.

    The calibrated error, where it is there: a map that is drawn to the middle would win by the
    plain one.
    """
    fitted = tried.filter(pl.col("log_loss").is_not_null())
    admitted = fitted.filter(pl.col("admitted"))
    pool = admitted if len(admitted) else fitted
    criteria = (f"calibrated_{JUDGED_BY}", f"rmse_{JUDGED_BY}", "log_loss")
    by = next(name for name in criteria if name in pool.columns)
    return str(pool.sort(by, nulls_last=True)["map"][0])


def error_of_map(spreads: Spreads, path: AgentPath, every: int = 2) -> tuple[Floats, Floats]:
    """Return ratings, and the standard error there that comes from the path's coefficients.

    A rating E solves Σ u(E, β) = 0 over many turns like these; so dE/dβ = -I_EE⁻¹ I_Eβ, with the
    expected information I of the turns at E. A part of the turns, evenly taken, tells that as well.
    """
    spreads = reference_set(spreads, ERROR_TURNS)
    prepared = prepare(spreads, path.model)
    ratings = RUNGS[::every]
    errors = np.empty(len(ratings))
    for place, rating in enumerate(ratings):
        said = evaluate(path.model, prepared, path.theta(rating), information=True)
        total = np.einsum("t,tjk->jk", spreads.weights, said.information)
        slope = path.slope(rating)[0]
        pull = slope @ total
        gradient = -(pull @ path.gradient(float(rating))) / (pull @ slope)
        errors[place] = np.sqrt(max(float(gradient @ path.covariance @ gradient), 0.0))
    return ratings, errors


def _tried(rows: list[dict[str, Any]], table: pl.DataFrame) -> pl.DataFrame:
    for row in rows:
        for size in SIZES:
            here = table.filter((pl.col("map") == row["map"]) & (pl.col("turns") == size))
            if len(here):
                row |= {f"{name}_{size}": here[name][0] for name in _TRIED}
    return pl.DataFrame(rows, infer_schema_length=None)


def _notes(tried: pl.DataFrame, kind: str, gate: pl.DataFrame) -> tuple[str, ...]:
    row = tried.filter(pl.col("map") == kind).row(0, named=True)
    notes = []
    if not row["admitted"]:
        notes.append(
            f"calibration check of {kind}: {row['cells_refuted']} of {row['cells']} failed, in "
            f"the rating bands {_bands_text(gate)}; do not trust projections there"
        )
    elif not row["admitted_by_letter"]:
        notes.append(
            f"calibration check of {kind}: {row['cells_passed']} of {row['cells']} passed; "
            f"{row['cells_refuted']} off by more than two standard errors, which chance alone "
            f"gives with probability {row['chance']:.2f}"
        )
    for limit in SLIPS:
        z = row[f"slips{limit:g}_z"]
        if abs(z) > NOISE:
            more = "fewer" if z < 0 else "more"
            notes.append(
                f"in all bands together players make {more} errors of over {limit:g} pawns than "
                f"projected (z = {z:.1f})"
            )
    return tuple(notes)
