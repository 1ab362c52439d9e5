"""Time controls on the scale of the mileposts (2011 paper, question 3): speed, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from milepost.papers.charts import named_points
from milepost.papers.experiment import Finding, MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import FEWEST
from milepost.papers.ipr2011.rater import rater_of
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, pooled

_SHORT, _LONG = 60.0, 300.0
"""Seconds on the clock: time trouble, and none of it."""
SLOW, FAST = ("classical", "rapid"), ("blitz", "bullet", "ultrabullet")
_ONE = 0.4
"""A player who made so large a share of a file's moves is its account."""


@experiment("2011-speeds", paper="2011", title="Time control and the clock")
def speeds(folder: Folder) -> Outcome:
    """Rate play at several speeds, and in time trouble."""
    rater = rater_of(folder)
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
    frame = pl.concat(parts, how="diagonal")
    table = rater.table(
        (f"{file}, {speed}", part) for (file, speed), part in parts_of(frame, "file", "speed")
    )
    sets = {
        f"{file}, {speed}": part
        for (file, speed), part in parts_of(accounts_of(frame), "file", "speed")
    }
    own = rater.table(sets.items())
    rated = set(own["set"]) if len(own) else set()
    boundless = {
        name: len(part) for name, part in sets.items() if name not in rated and len(part) >= FEWEST
    }
    clocks = frame.with_columns(
        pl.when(pl.col("clock_before") < _SHORT)
        .then(pl.lit("under a minute"))
        .when(pl.col("clock_before") > _LONG)
        .then(pl.lit("over five minutes"))
        .alias("clock")
    ).drop_nulls("clock")
    pressed = rater.table(
        (f"{file}, {clock}", part) for (file, clock), part in parts_of(clocks, "file", "clock")
    )
    return Outcome(
        data="the analysed turns of lichess/",
        n=len(frame),
        findings=(speed_finding(own, boundless), clock_finding(pressed)),
        tables={"Speeds": table, "Speeds, the account of a file": own, "Clock": pressed},
        charts={
            title: named_points(each, "set", "Elo by moves", "se")
            for title, each in (
                ("Elo by moves, by speed", table),
                ("Elo by moves of one account, by speed", own),
                ("Elo by moves, by the clock", pressed),
            )
            if len(each)
        },
        notes=(
            f"rated by {rater.name}",
            (
                "the account of a file is one player at all speeds, so that pools do not matter; "
                "the years in which it played them may differ"
            ),
            "turns in time trouble come late in games: other positions, perhaps other players",
        ),
    )


def accounts_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of those who made a large share of their file's moves."""
    share = pl.len().over("file", "mover") / pl.len().over("file")
    return frame.filter(share >= _ONE)


def parts_of(frame: pl.DataFrame, *columns: str) -> Iterable[tuple[tuple[str, ...], pl.DataFrame]]:
    """Return the parts of a table that share the values of some columns, in order."""
    for key, part in frame.drop_nulls(columns).sort(columns).group_by(columns, maintain_order=True):
        yield tuple(map(str, key)), part


def _pooled(rows: Iterable[dict[str, Any]]) -> tuple[Estimate | None, int]:
    """The mean Elo by moves of some rows, weighted by precision, and their turns."""
    some = list(rows)
    if not some:
        return None, 0
    value, se = (np.array([row[name] for row in some]) for name in ("Elo by moves", "se"))
    return pooled(value, se)[0], sum(row["n"] for row in some)


def speed_finding(table: pl.DataFrame, boundless: Mapping[str, int] | None = None) -> Finding:
    """Judge whether an account plays its fast games worse than its slow ones.

    `boundless` are sets whose rating has no bound, with their turns.
    """
    rows = list(table.iter_rows(named=True)) if len(table) else []
    files = {row["set"].rsplit(", ", 1)[0] for row in rows}
    gaps, n = [], 0
    for file in sorted(files):
        of_file = [row for row in rows if row["set"].rsplit(", ", 1)[0] == file]
        slow, slow_n = _pooled(r for r in of_file if r["set"].rsplit(", ", 1)[1] in SLOW)
        fast, fast_n = _pooled(r for r in of_file if r["set"].rsplit(", ", 1)[1] in FAST)
        if slow is not None and fast is not None:
            gaps.append(Estimate(slow.value - fast.value, float(np.hypot(slow.se, fast.se))))
            n += slow_n + fast_n
    shown = ", ".join(f"{row['set']} {row['Elo by moves']:.0f} ± {row['se']:.0f}" for row in rows)
    if not gaps:
        lost = ", ".join(f"{name} {turns:,} turns" for name, turns in (boundless or {}).items())
        why = f"; play is below what the scale can read in {lost}" if lost else ""
        have = shown or "none"
        return too_little(
            "2011-speed", f"no account with a rating of slow and of fast games ({have}){why}", n=n
        )
    gap = pooled(np.array([g.value for g in gaps]), np.array([g.se for g in gaps]))[0]
    return judge("2011-speed", gap, f"{gap.show(0, sign=True)} Elo: {shown}", n=n)


def clock_finding(table: pl.DataFrame) -> Finding:
    """Judge whether play in time trouble is worse than with time, in the same files."""
    rows = {row["set"]: row for row in (table.iter_rows(named=True) if len(table) else ())}
    values, errors, n, shown = [], [], 0, []
    for name, short in rows.items():
        long = rows.get(name.replace("under a minute", "over five minutes"))
        if "under a minute" in name and long is not None:
            values.append(long["Elo by moves"] - short["Elo by moves"])
            errors.append(float(np.hypot(long["se"], short["se"])))
            n += long["n"] + short["n"]
            shown.append(f"{name.split(', ')[0]} {values[-1]:+.0f} ± {errors[-1]:.0f}")
    if not values:
        return too_little("2011-clock", "too few turns with clocks")
    mean = pooled(np.array(values), np.array(errors))[0]
    found = f"{mean.show(0, sign=True)} Elo ({', '.join(shown)})"
    return judge("2011-clock", mean, found, n=n)
