"""Other sets of turns on the scale of the mileposts: phases, engines (2011 paper).

The scale is s with c on its line, both of the reference period's mileposts: see `EloScale`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from milepost.papers.charts import named_points
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    MissingDataError,
    Outcome,
    Verdict,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import (
    FEWEST,
    EloScale,
    cohorts_of,
    elo_scale,
    reference_decisions,
)
from milepost.papers.ipr2011.inflation import drift_table
from milepost.papers.ipr2011.speeds import parts_of, rate_table
from milepost.papers.statistics import Estimate

PHASES = ("opening", "middlegame", "endgame")
_MEANINGFUL = 150.0
"""Elo: a difference between phases that a test should see."""


@experiment("2011-phases", paper="2011", title="The phases of the game")
def phases(folder: Folder) -> Outcome:
    """Whether one agent serves all phases: s_fit in each against the line of all."""
    frame = reference_decisions(folder)
    scale = elo_scale(cohorts_of(frame))
    table = phase_table(frame, scale)
    return Outcome(
        data="the reference period, book left out; phases by the pieces left",
        n=len(frame),
        findings=(phase_finding(table),),
        tables={"Phases": table},
        charts={
            "s_fit in each phase": named_points(
                table, "phase", "Elo over the whole game", "se", rule=0.0
            )
        },
    )


def phase_table(frame: pl.DataFrame, scale: EloScale) -> pl.DataFrame:
    """Return how much better or worse the play of each phase is than that of the whole game."""
    rows = []
    for phase in PHASES:
        part = frame.filter(pl.col("phase") == phase)
        if len(part) < FEWEST:
            continue
        try:
            found = drift_table({phase: cohorts_of(part)}, scale)
        except MissingDataError:
            continue
        rows.append(
            {
                "phase": phase,
                "n": len(part),
                "mileposts": len(found),
                "Elo over the whole game": float(found["shift in Elo"].to_numpy().mean()),
                "se": float(np.linalg.norm(found["se in Elo"].to_numpy())) / len(found),
            }
        )
    return pl.DataFrame(rows)


def phase_finding(table: pl.DataFrame) -> Finding:
    """Judge whether the phases are alike."""
    claim = "one s and c serve all phases of the game, as the paper's pooled fits suppose"
    if len(table) < 2:
        return Finding(claim, f"{len(table)} phases with enough turns", TOO_LITTLE)
    value, se = (table[name].to_numpy() for name in ("Elo over the whole game", "se"))
    mean = float((value / se**2).sum() / (1 / se**2).sum())
    chi = float((((value - mean) / se) ** 2).sum())
    p = float(stats.chi2.sf(chi, len(table) - 1))
    shown = ", ".join(
        f"{row['phase']} {row['Elo over the whole game']:+.0f} ± {row['se']:.0f}"
        for row in table.iter_rows(named=True)
    )
    seen = float(np.sqrt(2) * se.max()) * 2.8
    verdict: Verdict = FAILS if p < 0.05 else (TOO_LITTLE if seen > 2 * _MEANINGFUL else HOLDS)
    return Finding(
        claim,
        f"Elo of play against the whole game: {shown}; alike: p {p:.3f}; a difference of "
        f"{seen:.0f} Elo between two phases would be seen with a power of 80 %",
        verdict,
    )


@experiment("2011-engines", paper="2011", title="Engines on the human scale")
def engines(folder: Folder) -> Outcome:
    """Rate engines' games on the scale of the mileposts, beside the strongest humans."""
    reference = reference_decisions(folder)
    cohorts = cohorts_of(reference)
    scale = elo_scale(cohorts)
    names = [name for name in folder.names("engines") if name.endswith(".pgn")]
    frames = [folder.decisions("engines", name, extra=("year",)) for name in names]
    if not frames:
        raise MissingDataError("there are no games of engines")
    frame = pl.concat(frames)
    top = max(cohorts)
    best = reference.filter(pl.col("milepost") == top)
    sets = [(f"humans of {top:.0f}", best), ("engines", frame)]
    sets += [(f"engines, {year}", part) for (year,), part in parts_of(frame, "year")]
    table = rate_table(sets, scale)
    return Outcome(
        data="the analysed turns of engines/, on the scale of the mileposts 2011-2014",
        n=len(frame),
        findings=(engine_finding(table, top),),
        tables={"Engines": table},
        charts={"Elo by moves": named_points(table, "set", "Elo by moves", "se")},
        notes=(
            "the judge searches less deeply than the judged, so that engines come out too low",
            "beyond the mileposts the line of ln s is carried on, c is held",
        ),
    )


def engine_finding(table: pl.DataFrame, top: float) -> Finding:
    """Judge whether engines stand beyond the human scale."""
    claim = "engines' moves stand beyond the human scale: better than the best humans"
    rows = {row["set"]: row for row in (table.iter_rows(named=True) if len(table) else ())}
    human, machine = rows.get(f"humans of {top:.0f}"), rows.get("engines")
    if human is None or machine is None:
        return Finding(claim, "too few turns", TOO_LITTLE)
    # The error of the line is common to both.
    gap = Estimate(
        machine["Elo by moves"] - human["Elo by moves"],
        float(np.hypot(machine["own se"], human["own se"])),
    )
    rating = f", rated {machine['rating']:.0f}" if machine["rating"] is not None else ""
    return Finding(
        claim,
        f"engines {machine['Elo by moves']:.0f} ± {machine['se']:.0f}{rating}; humans of {top:.0f} "
        f"{human['Elo by moves']:.0f} ± {human['se']:.0f} (z of the difference {gap.z:.1f}); match "
        f"rate {machine['match rate']:.3f} against {human['match rate']:.3f}",
        HOLDS if gap.z > 2 else (FAILS if gap.z < -2 else TOO_LITTLE),
    )
