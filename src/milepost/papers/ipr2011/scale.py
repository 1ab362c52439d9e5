"""The scaling of differences (2011 paper, section 3): does a pawn count less in decided games?

Average differences over bins of the position's value e, raw and scaled. Weaker players meet uneven
positions more often, so each turn's difference is divided by the mean of its milepost first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milepost.choice import Scale, Spreads
from milepost.choice.scale import scaled_differences
from milepost.choice.spreads import Floats
from milepost.papers.charts import points
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    Outcome,
    Verdict,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import milepost_decisions
from milepost.papers.statistics import Estimate, mean_of, regress

CONSTANTS = (0.25, 0.5, 1.0, 2.0, 4.0)
FIRST_BIN = 0.05
"""The bin at the origin ends here: dead draws are a thing of their own."""
REACH = 3.0
_LEAST = 30
"""Turns in a bin that is shown."""
_LEVEL = 0.10
"""Change of a level difference in a pawn, as a share of its mean."""


@dataclass(frozen=True, eq=False)
class Errors:
    """What each decision gave away."""

    e: Floats
    """Value of the position: that of the best move, in pawns, for the mover."""
    raw: Floats
    """Pawns given away over the mean of the milepost."""
    scaled: dict[float, Floats]
    """Scaled difference over the mean of the milepost, by the constant C."""
    groups: Any
    """Games."""


def errors_of(frame: pl.DataFrame, constants: tuple[float, ...] = CONSTANTS) -> Errors:
    """Return the errors of decisions with a `milepost` column."""
    spreads = Spreads.from_table(frame, depths=False)
    starts = spreads.offsets[:-1]
    cohort = frame["milepost"].to_numpy()

    def relative(scale: Scale) -> Floats:
        lost = scaled_differences(spreads, scale)[starts + spreads.chosen]
        answer = np.empty(len(lost))
        for each in np.unique(cohort):
            mean = lost[cohort == each].mean()
            answer[cohort == each] = lost[cohort == each] / (mean if mean > 0 else 1.0)
        return answer

    return Errors(
        spreads.values[starts],
        relative(Scale("raw", tie_shift=0.0)),
        {c: relative(Scale(constant=c, tie_shift=0.0)) for c in constants},
        spreads.groups,
    )


@experiment("2011-scaling", paper="2011", title="Raw and scaled differences over bins of value")
def scaling(folder: Folder) -> Outcome:
    """Bins of e, 0.05 and 0.10 wide, raw and scaled, and other constants C."""
    frame = milepost_decisions(folder)
    errors = errors_of(frame)
    narrow, wide = bin_table(errors, 0.05), bin_table(errors, 0.10)
    constants = constant_table(errors)
    return Outcome(
        data="all periods and mileposts; the bin at the origin left out",
        n=len(frame),
        findings=(
            growth_finding(errors),
            half_pawn_finding(errors),
            level_finding(errors),
            constant_finding(constants),
        ),
        tables={"Bins of 0.10": wide, "Bins of 0.05": narrow, "Constants": constants},
        charts={
            f"{kind} difference, bins of {width}": points(
                table.filter(pl.col("kind") == kind),
                "Value of the position",
                "Difference over its mean",
                error="se",
                rule=1.0,
            )
            for width, table in (("0.05", narrow), ("0.10", wide))
            for kind in ("raw", "scaled")
        },
        notes=("differences are over the mean of their milepost: 1.2 is 20 % over it",),
    )


def bin_table(errors: Errors, width: float, reach: float = 1.0) -> pl.DataFrame:
    """Return mean differences in bins of e around multiples of the width, 0 left out."""
    place = np.round(errors.e / width).astype(np.int64)
    rows = []
    for kind, lost in (("raw", errors.raw), ("scaled", errors.scaled[1.0])):
        for each in range(-round(reach / width), round(reach / width) + 1):
            inside = place == each
            if each and inside.sum() >= _LEAST:
                mean = mean_of(lost[inside], errors.groups[inside])
                rows.append((kind, each * width, int(inside.sum()), mean.value, mean.se))
    schema = {
        "kind": pl.String,
        "Value of the position": pl.Float64,
        "n": pl.Int64,
        "Difference over its mean": pl.Float64,
        "se": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def slope_of(errors: Errors, lost: Floats, reach: float) -> tuple[Estimate, float]:
    """Return how the mean difference changes with |e|, a pawn at a time, and its mean."""
    size = np.abs(errors.e)
    inside = (size >= FIRST_BIN) & (size <= reach)
    design = np.stack([np.ones(int(inside.sum())), size[inside]], axis=1)
    beta, covariance = regress(design, lost[inside], errors.groups[inside])
    return Estimate(float(beta[1]), float(np.sqrt(covariance[1, 1]))), float(lost[inside].mean())


def growth_finding(errors: Errors) -> Finding:
    """Judge whether raw differences grow with |e|."""
    slope, mean = slope_of(errors, errors.raw, 1.0)
    return Finding(
        "raw average differences grow with the distance of the position from even (Figure 1)",
        f"by {100 * slope.value / mean:+.0f} ± {100 * slope.se / mean:.0f} % of the mean a pawn, "
        f"up to one pawn (z {slope.z:.1f})",
        HOLDS if slope.z > 3 else (FAILS if slope.value + 2 * slope.se < 0.2 else TOO_LITTLE),
    )


def half_pawn_finding(errors: Errors) -> Finding:
    """Judge the paper's 60 to 70 % at half a pawn."""
    ratios = {
        name: ratio_at_half(errors, near)
        for name, near in (("0.05 to 0.15", (0.05, 0.15)), ("up to 0.05", (0.005, 0.05)))
    }
    first = ratios["0.05 to 0.15"]
    text = "; ".join(f"against |e| {n}: {100 * r.value:+.0f} ± {100 * r.se:.0f} %"
                     for n, r in ratios.items())  # fmt: skip
    inside = first.value + 2 * first.se >= 0.6 and first.value - 2 * first.se <= 0.7
    verdict: Verdict = HOLDS if inside and first.value > 2 * first.se else FAILS
    if first.se > 0.25:
        verdict = TOO_LITTLE
    return Finding(
        "raw average differences at ±0.5 are 60 to 70 % over those near 0 (section 3)",
        f"at 0.45 to 0.55, {text}",
        verdict,
    )


def ratio_at_half(errors: Errors, near: tuple[float, float]) -> Estimate:
    """Return by what share raw differences at half a pawn exceed those near 0."""
    size = np.abs(errors.e)
    masks = [(size >= low) & (size < high) for low, high in (near, (0.45, 0.55))]
    both = masks[0] | masks[1]
    design = np.stack([each[both].astype(np.float64) for each in masks], axis=1)
    beta, covariance = regress(design, errors.raw[both], errors.groups[both])
    ratio = float(beta[1] / beta[0])
    slope = np.array([-ratio, 1.0]) / beta[0]
    return Estimate(ratio - 1.0, float(np.sqrt(slope @ covariance @ slope)))


def level_finding(errors: Errors) -> Finding:
    """Judge whether ln(1 + x) levels the differences, near even and over all values."""
    near, far = (slope_of(errors, errors.scaled[1.0], reach) for reach in (1.0, REACH))
    raw_near, raw_far = (slope_of(errors, errors.raw, reach) for reach in (1.0, REACH))

    def share(found: tuple[Estimate, float]) -> Estimate:
        return Estimate(found[0].value / found[1], found[0].se / found[1])

    parts = [share(each) for each in (near, far, raw_near, raw_far)]
    text = (
        f"up to one pawn the scaled difference changes by {100 * parts[0].value:+.0f} ± "
        f"{100 * parts[0].se:.0f} % a pawn (raw {100 * parts[2].value:+.0f}), up to three pawns by "
        f"{100 * parts[1].value:+.1f} ± {100 * parts[1].se:.1f} % (raw {100 * parts[3].value:+.0f})"
    )
    flat = [abs(each.value) < max(_LEVEL, 2 * each.se) for each in parts[:2]]
    small = all(each.se < 0.15 for each in parts[:2])
    verdict: Verdict = TOO_LITTLE if not small else (HOLDS if all(flat) else FAILS)
    return Finding("scaled by ln(1 + x) the average difference is level (Figure 2)", text, verdict)


def constant_table(errors: Errors) -> pl.DataFrame:
    """Return the change of the scaled difference with |e| for each constant C."""
    rows = []
    for constant, lost in errors.scaled.items():
        near, mean = slope_of(errors, lost, 1.0)
        far, mean_far = slope_of(errors, lost, REACH)
        rows.append(
            {
                "C": constant,
                "change a pawn, up to 1": near.value / mean,
                "se, up to 1": near.se / mean,
                "change a pawn, up to 3": far.value / mean_far,
                "se, up to 3": far.se / mean_far,
            }
        )
    return pl.DataFrame(rows)


def constant_finding(table: pl.DataFrame) -> Finding:
    """Judge whether C = 1 is among the constants that level best."""
    levels = {}
    for reach in ("1", "3"):
        y = table[f"change a pawn, up to {reach}"].to_numpy()
        x = np.log(table["C"].to_numpy())
        # The change rises with C: where it crosses zero the difference is level.
        crosses = y.min() < 0 < y.max()
        levels[reach] = f"C = {np.exp(np.interp(0.0, y, x)):.2f}" if crosses else "no C tried"
    z = {
        reach: (table[f"change a pawn, up to {reach}"] / table[f"se, up to {reach}"]).to_numpy()[
            table["C"].to_list().index(1.0)
        ]
        for reach in levels
    }
    found = (
        f"level up to one pawn with {levels['1']}, up to three with {levels['3']}; "
        f"at C = 1 the change has z {z['1']:.1f} and {z['3']:.1f}"
    )
    both = abs(z["1"]) < 2 and abs(z["3"]) < 2
    return Finding("C = 1 is a good constant of the scale", found, HOLDS if both else FAILS)
