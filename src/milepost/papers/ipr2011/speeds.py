"""Time controls on the scale of the mileposts (2011 paper, question 3): speed, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from milepost.choice import Spreads
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
from milepost.papers.statistics import Estimate

_SHORT, _LONG = 60.0, 300.0
"""Seconds on the clock: time trouble, and none of it."""
_POOLS = 200.0
"""Elo that the pools of two speeds may lie apart on a server: our guess, taken as an error."""
_MEANINGFUL = 150.0
"""Elo: a difference between speeds that a test should see."""


@experiment("2011-speeds", paper="2011", title="Time control and the clock")
def speeds(folder: Folder) -> Outcome:
    """Rate play at several speeds, and in time trouble, on the scale of the mileposts."""
    scale = elo_scale(cohorts_of(reference_decisions(folder)))
    parts = []
    for name in folder.names("lichess"):
        if not name.endswith(".pgn"):
            continue
        try:
            part = folder.decisions("lichess", name, extra=("speed", "clock_before"))
        except MissingDataError:
            continue
        parts.append(part.with_columns(pl.lit(name.removesuffix(".pgn")).alias("file")))
    if not parts:
        raise MissingDataError("the store holds no evaluations of the turns of lichess/")
    frame = pl.concat(parts)
    table = rate_table(
        ((f"{file}, {speed}", part) for (file, speed), part in parts_of(frame, "file", "speed")),
        scale,
    )
    clocks = frame.with_columns(
        pl.when(pl.col("clock_before") < _SHORT)
        .then(pl.lit("under a minute"))
        .when(pl.col("clock_before") > _LONG)
        .then(pl.lit("over five minutes"))
        .alias("clock")
    ).drop_nulls("clock")
    pressed = rate_table(
        ((f"{file}, {clock}", part) for (file, clock), part in parts_of(clocks, "file", "clock")),
        scale,
    )
    return Outcome(
        data="the analysed turns of lichess/, on the scale of the mileposts 2011-2014",
        n=len(frame),
        findings=(speed_finding(table), clock_finding(pressed)),
        tables={"Speeds": table, "Clock": pressed},
        charts={
            title: named_points(each, "set", "Elo by moves", "se")
            for title, each in (("Elo by moves, by speed", table), ("by the clock", pressed))
            if len(each)
        },
        notes=(
            "a server's ratings are not FIDE's, and each speed has a pool of its own",
            "turns in time trouble come late in games: other positions, perhaps other players",
        ),
    )


def parts_of(frame: pl.DataFrame, *columns: str) -> Iterable[tuple[tuple[str, ...], pl.DataFrame]]:
    """Return the parts of a table that share the values of some columns, in order."""
    for key, part in frame.drop_nulls(columns).sort(columns).group_by(columns, maintain_order=True):
        yield tuple(map(str, key)), part


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


def speed_finding(table: pl.DataFrame) -> Finding:
    """Judge whether faster games are played worse, against the ratings of the players."""
    claim = "a faster time control markedly reduces the quality of play (question 3)"
    over: dict[str, list[tuple[float, float]]] = {}
    for row in table.iter_rows(named=True) if len(table) else ():
        if row["rating"] is not None:
            speed = row["set"].rsplit(", ", 1)[-1]
            over.setdefault(speed, []).append((row["Elo by moves"] - row["rating"], row["se"]))
    means = {
        speed: Estimate(
            float(np.mean([v for v, _ in each])),
            float(np.sqrt(np.sum([s**2 for _, s in each]))) / len(each),
        )
        for speed, each in over.items()
    }
    shown = ", ".join(f"{speed} {each.show(0, sign=True)}" for speed, each in means.items())
    fast = [means[name] for name in ("bullet", "blitz") if name in means]
    slow = [means[name] for name in ("classical", "rapid") if name in means]
    if not fast or not slow:
        return Finding(claim, f"Elo by moves less rating: {shown or 'none'}", TOO_LITTLE)
    gap = Estimate(
        float(np.mean([each.value for each in slow]) - np.mean([each.value for each in fast])),
        float(np.sqrt(_mean_variance(slow) + _mean_variance(fast) + _POOLS**2)),
    )
    # The error rests partly on a guess: two standard errors are not enough.
    verdict: Verdict = HOLDS if gap.z > 3 else (FAILS if gap.z < -3 else TOO_LITTLE)
    if abs(gap.z) <= 3 and gap.detectable < _MEANINGFUL:
        verdict = FAILS
    return Finding(
        claim,
        f"Elo by moves less rating: {shown}; slow less fast {gap.show(0, sign=True)}, "
        f"{gap.detectable:.0f} would be seen with a power of 80 %, counting {_POOLS:.0f} for pools "
        "that lie apart",
        verdict,
    )


def _mean_variance(each: list[Estimate]) -> float:
    return float(sum(one.se**2 for one in each)) / len(each) ** 2


def clock_finding(table: pl.DataFrame) -> Finding:
    """Judge whether play in time trouble is worse than with time, in the same files."""
    claim = "time trouble costs quality: moves with under a minute left are worse"
    gaps = []
    rows: Mapping[str, Estimate] = {
        row["set"]: Estimate(row["Elo by moves"], row["own se"])
        for row in (table.iter_rows(named=True) if len(table) else ())
    }
    for name, short in rows.items():
        long = rows.get(name.replace("under a minute", "over five minutes"))
        if "under a minute" in name and long is not None:
            gaps.append(Estimate(long.value - short.value, float(np.hypot(long.se, short.se))))
    if not gaps:
        return Finding(claim, "too few turns with clocks", TOO_LITTLE)
    weight = np.array([1 / each.se**2 for each in gaps])
    mean = Estimate(
        float(weight @ np.array([each.value for each in gaps]) / weight.sum()),
        float(weight.sum() ** -0.5),
    )
    verdict: Verdict = HOLDS if mean.z > 2 else (FAILS if mean.z < -1 else TOO_LITTLE)
    return Finding(
        claim,
        f"over five minutes against under one: {mean.show(0, sign=True)} Elo, "
        f"{mean.detectable:.0f} would be seen with a power of 80 %",
        verdict,
    )
