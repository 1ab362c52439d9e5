"""The scaling of differences (2011 paper, section 3.1): does a pawn count less in decided games?

Our reading of the paper, as of the draft's worked example: the scaled difference of a move is the
integral of dx / (1 + |x|) from its value to that of the best move, in pawns and for the mover, so
that a slip of 1.25 pawns from +0.50 counts ln 1.50 + ln 1.75. The histograms leave out the bin at
the origin, as the paper's do.

Average differences over bins of the position's value e, raw and scaled. Weaker players meet uneven
positions more often, so each turn's difference is divided by the mean of its milepost first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice import Scale, Spreads
from milepost.choice.scale import scaled_differences
from milepost.choice.spreads import Floats
from milepost.papers.charts import named_points, points
from milepost.papers.experiment import Finding, MissingDataError, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import by_period, milepost_decisions
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.ledger.rules import Z
from milepost.papers.statistics import Estimate, mean_of, regress

CONSTANTS = (0.25, 0.5, 0.8, 1.0, 1.2, 2.0, 4.0, 8.0)
FIRST_BIN = 0.05
"""The bin at the origin ends here: dead draws are a thing of their own."""
REACH = 3.0
_LEAST = 30
"""Turns in a bin that is shown."""
_FEWEST = 1000
"""Turns of a kind of event that is looked at."""


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
            *level_findings(errors),
            constant_finding(constants, len(frame)),
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
        notes=(
            "differences are over the mean of their milepost: 1.2 is 20 % over it",
            (
                "a pawn is the engine's: if Rybka's was worth k of Stockfish's, C = 1 there is k "
                "here, so the constant also says how the two engines' pawns compare"
            ),
        ),
    )


@experiment("2011-kinds", paper="2011", title="Levelling by kind of event")
def kinds(folder: Folder) -> Outcome:
    """The change of the scaled difference with the value, in each kind of event."""
    sets = {f"mileposts {p}": f for p, f in by_period(milepost_decisions(folder)).items()}
    for name in folder.names("lichess"):
        if name.endswith(".pgn"):
            sets |= _kinds_of(folder, name)
    table = kind_table(sets)
    return Outcome(
        data=f"each kind of event with {_FEWEST} turns or more",
        n=int(table["n"].sum()),
        findings=(kind_finding(table),),
        tables={"Kinds of events": table},
        charts={
            title: named_points(table, "kind of event", column, error, rule=0.0)
            for title, column, error in (
                ("Scaled: change in a pawn", "scaled, % a pawn", "se, scaled"),
                ("Raw: change in a pawn", "raw, % a pawn", "se, raw"),
            )
        } | {
            f"Levelling: {name}": _levelling_chart(frame)
            for name, frame in sets.items() if len(frame) >= _FEWEST
        },
        notes=("0.05 to 3 pawns from even; differences are over their milepost's mean",),
    )  # fmt: skip


def _kinds_of(folder: Folder, name: str) -> dict[str, pl.DataFrame]:
    """The speeds of a file of games; each rating band of a hundred points has its own mean."""
    try:
        frame = folder.decisions("lichess", name, extra=("speed",))
    except MissingDataError:
        return {}
    milepost = (pl.col("mover_elo") / 200).round().fill_null(0) * 200
    frame = frame.with_columns(milepost.alias("milepost"))
    return {
        f"{name.removesuffix('.pgn')}, {key[0]}": part
        for key, part in frame.drop_nulls("speed").sort("speed").group_by("speed")
    }


def _levelling_chart(frame: pl.DataFrame) -> Any:
    table = bin_table(errors_of(frame, (1.0,)), 0.25, REACH)
    return points(
        table, "Value of the position", "Difference over its mean", error="se", colour="kind",
        rule=1.0,
    )  # fmt: skip


def kind_table(sets: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the change in a pawn, raw and scaled, for each kind of event with enough turns."""
    rows = []
    for name, frame in sets.items():
        if len(frame) < _FEWEST:
            continue
        errors = errors_of(frame, (1.0,))
        scaled, raw = (share_of(errors, each, REACH) for each in (errors.scaled[1.0], errors.raw))
        rows.append((name, len(frame), raw.value, raw.se, scaled.value, scaled.se))
    if not rows:
        raise MissingDataError(f"no kind of event has {_FEWEST} evaluated turns")
    names = ("kind of event", "n", "raw, % a pawn", "se, raw", "scaled, % a pawn", "se, scaled")
    return pl.DataFrame(rows, schema=list(names), orient="row")


def kind_finding(table: pl.DataFrame) -> Finding:
    """Judge the kind of event that is farthest from level, in its standard errors."""
    far = (table["scaled, % a pawn"] / table["se, scaled"]).abs().to_numpy().argmax()
    row = table.row(int(far), named=True)
    # Bonferroni: the interval of the farthest of k sets covers with 1 - 0.05 / k.
    wider = float(stats.norm.ppf(1 - 0.025 / len(table))) / Z
    shown = "; ".join(
        f"{each['kind of event']} {each['scaled, % a pawn']:+.0f} ± {each['se, scaled']:.0f} "
        f"(raw {each['raw, % a pawn']:+.0f})"
        for each in table.iter_rows(named=True)
    )
    number = Estimate(row["scaled, % a pawn"], row["se, scaled"] * wider)
    return judge("2011-level-kinds", number, f"% a pawn: {shown}", n=int(table["n"].sum()))


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


def share_of(errors: Errors, lost: Floats, reach: float) -> Estimate:
    """Return the change with |e| in a pawn, in per cent of the mean."""
    slope, mean = slope_of(errors, lost, reach)
    return Estimate(100 * slope.value / mean, 100 * slope.se / mean)


def growth_finding(errors: Errors) -> Finding:
    """Judge whether raw differences grow with |e| from the first tenths of a pawn on."""
    near, far = share_of(errors, errors.raw, 0.5), share_of(errors, errors.raw, 1.0)
    found = f"{near.show(0, sign=True)} % a pawn up to 0.5, {far.show(0, sign=True)} % up to 1"
    size = np.abs(errors.e)
    n = int(((size >= FIRST_BIN) & (size <= 0.5)).sum())
    return judge("2011-growth", near, found, n=n)


def half_pawn_finding(errors: Errors) -> Finding:
    """Judge the draft's 60 to 70 % at half a pawn."""
    ratios = {
        name: ratio_at_half(errors, near)
        for name, near in (("0.05 to 0.15", (0.05, 0.15)), ("up to 0.05", (0.005, 0.05)))
    }
    text = "; ".join(f"against |e| {n}: {r.show(0, sign=True)} %" for n, r in ratios.items())
    size = np.abs(errors.e)
    n = int((((size >= 0.05) & (size < 0.15)) | ((size >= 0.45) & (size < 0.55))).sum())
    return judge("2011-half-pawn", ratios["0.05 to 0.15"], f"at 0.45 to 0.55, {text}", n=n)


def ratio_at_half(errors: Errors, near: tuple[float, float]) -> Estimate:
    """Return by how many per cent raw differences at half a pawn exceed those near 0."""
    size = np.abs(errors.e)
    masks = [(size >= low) & (size < high) for low, high in (near, (0.45, 0.55))]
    both = masks[0] | masks[1]
    design = np.stack([each[both].astype(np.float64) for each in masks], axis=1)
    beta, covariance = regress(design, errors.raw[both], errors.groups[both])
    ratio = float(beta[1] / beta[0])
    slope = np.array([-ratio, 1.0]) / beta[0]
    return Estimate(100 * (ratio - 1.0), 100 * float(np.sqrt(slope @ covariance @ slope)))


def level_findings(errors: Errors) -> tuple[Finding, Finding]:
    """Judge whether ln(1 + x) levels the differences, over all values and near even."""
    answers = []
    size = np.abs(errors.e)
    for key, reach in (("2011-level", REACH), ("2011-level-near", 1.0)):
        scaled, raw = (share_of(errors, each, reach) for each in (errors.scaled[1.0], errors.raw))
        found = f"{scaled.show(1, sign=True)} % a pawn; raw {raw.show(1, sign=True)} %"
        n = int(((size >= FIRST_BIN) & (size <= reach)).sum())
        answers.append(judge(key, scaled, found, n=n))
    return answers[0], answers[1]


def constant_table(errors: Errors) -> pl.DataFrame:
    """Return the change of the scaled difference with |e| for each constant C."""
    rows = []
    for constant, lost in errors.scaled.items():
        near, far = share_of(errors, lost, 1.0), share_of(errors, lost, REACH)
        rows.append(
            {
                "C": constant,
                "% a pawn, up to 1": near.value,
                "se, up to 1": near.se,
                "% a pawn, up to 3": far.value,
                "se, up to 3": far.se,
            }
        )
    return pl.DataFrame(rows)


def level_constant(table: pl.DataFrame, reach: str) -> Estimate | None:
    """Return the C at which the change in a pawn is zero, with its error; None if none tried is.

    Between the constants tried, the change is a line in ln C.
    """
    y, se = (table[f"{name}, up to {reach}"].to_numpy() for name in ("% a pawn", "se"))
    x = np.log(table["C"].to_numpy())
    crossing = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    if not len(crossing):
        return None
    at = int(crossing[0])
    steepness = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
    ln_c = x[at] - y[at] / steepness
    constant = float(np.exp(ln_c))
    return Estimate(constant, constant * float(max(se[at], se[at + 1])) / float(steepness))


def constant_finding(table: pl.DataFrame, n: int) -> Finding:
    """Judge whether the constant that levels lies near one."""
    near, far = level_constant(table, "1"), level_constant(table, "3")
    if far is None:
        return too_little("2011-constant", "no constant tried levels the difference", n=n)
    up_to_one = "none tried" if near is None else near.show(2)
    found = f"level up to three pawns with C = {far.show(2)}, up to one with {up_to_one}"
    return judge("2011-constant", far, found, n=n)
