"""Other sets of turns on the scale of the mileposts: phases, engines (2011 paper).

The scale is s with c on its line, both of the reference period's mileposts: see `EloScale`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from milepost.choice import Spreads
from milepost.papers.charts import named_points
from milepost.papers.experiment import Finding, MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import (
    FEWEST,
    EloScale,
    cohorts_of,
    elo_scale,
    milepost_decisions,
    reference_decisions,
)
from milepost.papers.ipr2011.inflation import drift_table
from milepost.papers.ipr2011.speeds import parts_of
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate

PHASES = ("opening", "middlegame", "endgame")


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
    """Judge endgames against middlegames, at equal rating."""
    rows = {row["phase"]: row for row in (table.iter_rows(named=True) if len(table) else ())}
    n = sum(row["n"] for row in rows.values())
    if not {"middlegame", "endgame"} <= rows.keys():
        return too_little("2011-phases", f"{len(rows)} phases with enough turns", n=n)
    late, middle = rows["endgame"], rows["middlegame"]
    gap = Estimate(
        late["Elo over the whole game"] - middle["Elo over the whole game"],
        float(np.hypot(late["se"], middle["se"])),
    )
    shown = ", ".join(
        f"{name} {row['Elo over the whole game']:+.0f} ± {row['se']:.0f}"
        for name, row in rows.items()
    )
    found = f"{gap.show(0, sign=True)} Elo; against the whole game: {shown}"
    return judge("2011-phases", gap, found, n=n)


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
    best = milepost_decisions(folder).filter(pl.col("milepost") == top)
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
    rows = {row["set"]: row for row in (table.iter_rows(named=True) if len(table) else ())}
    human, machine = rows.get(f"humans of {top:.0f}"), rows.get("engines")
    if human is None or machine is None:
        return too_little("2011-engines", "too few turns")
    # The error of the line is common to both.
    gap = Estimate(
        machine["Elo by moves"] - human["Elo by moves"],
        float(np.hypot(machine["own se"], human["own se"])),
    )
    rating = f", rated {machine['rating']:.0f}" if machine["rating"] is not None else ""
    return judge(
        "2011-engines",
        gap,
        f"{gap.show(0, sign=True)} Elo: engines {machine['Elo by moves']:.0f}{rating}, humans of "
        f"{top:.0f} {human['Elo by moves']:.0f}; match rate {machine['match rate']:.3f} against "
        f"{human['match rate']:.3f}, scaled difference {machine['scaled difference']:.4f} against "
        f"{human['scaled difference']:.4f}",
        n=machine["n"] + human["n"],
    )


def rate_table(sets: Iterable[tuple[str, pl.DataFrame]], scale: EloScale) -> pl.DataFrame:
    """Return the Elo by moves of each set that has enough turns.

    `se` holds the error of the scale, `own se` is that of the set's own s alone.
    """
    rows = []
    for name, part in sets:
        if len(part) < FEWEST:
            continue
        elo, fit = scale.rate(Spreads.from_table(part, depths=False))
        given = part["mover_elo"].drop_nulls().to_numpy()
        rows.append(
            {
                "set": name,
                "n": fit.n,
                "games": fit.n_groups,
                "rating": float(given.mean()) if len(given) else None,
                "Elo by moves": elo.value,
                "se": elo.se,
                "own se": float(np.sqrt(fit.working_covariance[0, 0])) / abs(scale.line[1]),
                "s": fit.s,
                "match rate": fit.mm_actual,
                "scaled difference": fit.ad_actual,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"rating": pl.Float64})
