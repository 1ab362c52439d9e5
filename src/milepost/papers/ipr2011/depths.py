"""Depth of search (2011 paper, section 8) and how much analysis is enough (section 5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice import DepthScheme, Spreads
from milepost.choice.model import FLAT, ChoiceModel
from milepost.fit import SmoothFit, fit_smooth
from milepost.papers.charts import curves, points
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    MissingDataError,
    Outcome,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import cohorts_of, elo_scale, reference_decisions
from milepost.papers.ledger.answers import decide, judge
from milepost.papers.statistics import Estimate, first_options

LEVELS = (1600.0, 2000.0, 2400.0, 2700.0)
WIDTHS = (5, 10, 20)
_FEWEST_DEPTHS = 4
_LITTLE = 1.15
"""An error up to so many times that of the whole analysis."""


@experiment("2011-depths", paper="2011", title="Do the weights of depths move deeper with Elo?")
def depth_weights(folder: Folder) -> Outcome:
    """Fit an agent that sees all depths, with weights that may follow Elo."""
    frame = reference_decisions(folder)
    spreads = Spreads.from_table(frame)
    if len(spreads.depths) < _FEWEST_DEPTHS:
        raise MissingDataError("the store holds no values at several depths")
    fit = fit_depths(spreads)
    finding, table = judge_depths(fit, len(spreads))
    return Outcome(
        data="the reference period, every turn with its mover's own Elo",
        n=len(spreads),
        findings=(finding,),
        tables={"Weights": table},
        charts={"Weights of the depths": curves(table, "Depth", "Weight", "Elo")},
        notes=("geometric weights, ln w a line in depth, whose slope follows Elo; powers, lapses",),
    )


def fit_depths(spreads: Spreads) -> SmoothFit:
    """Fit ln w linear in depth, its slope and ln s linear in Elo."""
    scheme = DepthScheme.curve(spreads.depths, degree=1)
    model = ChoiceModel(depths=scheme, lapse=FLAT)
    degrees = dict.fromkeys(model.parameters, 0) | {"ln s": 1, scheme.names[0]: 1}
    return fit_smooth(spreads, model, degree=degrees)


def judge_depths(fit: SmoothFit, turns: int) -> tuple[Finding, pl.DataFrame]:
    """Judge whether the weights move deeper; return them at several Elo."""
    scheme = fit.model.depths
    assert scheme is not None
    name = scheme.names[0]
    place = fit.model.parameters.index(name)
    at = int((np.asarray(fit.degrees[:place]) + 1).sum()) + 1
    slope = Estimate(float(fit.beta[at]), float(np.sqrt(fit.covariance[at, at])))
    rows, means = [], {}
    low, high = fit.range
    for elo in sorted({max(low, min(high, each)) for each in LEVELS}):
        weights = scheme.weights(fit.theta(elo)[0, [place]])
        means[elo] = float(weights @ np.asarray(scheme.depths))
        rows += [
            {"Elo": f"{elo:.0f}", "Depth": depth, "Weight": float(weight)}
            for depth, weight in zip(scheme.depths, weights, strict=True)
        ]
    shown = ", ".join(f"{mean:.1f} at {elo:.0f}" for elo, mean in means.items())
    finding = judge(
        "2011-deeper",
        Estimate(slope.value * 500 / fit.unit, slope.se * 500 / fit.unit),
        f"mean depth {shown}; ln(w last / w first) rises by {slope.show(2)} in {fit.unit:.0f} Elo",
        n=turns,
    )
    return finding, pl.DataFrame(rows)


@experiment("2011-analysis", paper="2011", title="Depth of analysis and number of moves evaluated")
def analysis(folder: Folder) -> Outcome:
    """Fit the reference with shallower values and with fewer moves."""
    cohorts = cohorts_of(reference_decisions(folder))
    full = next(iter(cohorts.values()))
    depths = [d for d in full.depths if d % 2 == 0 and d >= 4] or list(full.depths)
    kinds: dict[str, Mapping[float, Spreads]] = {
        f"depth {depth}": {k: at_depth(each, depth) for k, each in cohorts.items()}
        for depth in depths
    }
    kinds |= {
        f"{width} moves": {
            k: first_options(each, width, bounded=True) for k, each in cohorts.items()
        }
        for width in WIDTHS
    }
    table = precision_table(kinds)
    shown = table.filter(pl.col("analysis").str.starts_with("depth")).select(
        pl.col("analysis").str.extract(r"(\d+)").cast(pl.Int64).alias("Depth"),
        pl.col("Elo error").alias("Elo error of 1,000 turns"),
    )
    return Outcome(
        data="the reference period",
        n=sum(len(each) for each in cohorts.values()),
        findings=analysis_findings(table),
        tables={"Analyses": table},
        charts={
            "Error of a rating by depth": points(
                shown, "Depth", "Elo error of 1,000 turns", line=True, zero=True
            )
        },
        notes=(
            "equal values at a lower depth stand in the order of the greatest depth",
            "moves beyond the first are bounded by the last of them, as in all our fits",
        ),
    )


def at_depth(spreads: Spreads, depth: int) -> Spreads:
    """Return the decisions as a search to a lower depth sees them."""
    table = spreads.depth_values
    if table is None or depth not in spreads.depths:
        raise MissingDataError(f"the store holds no values at depth {depth}")
    values = table[:, spreads.depths.index(depth)]
    values = np.where(np.isnan(values), spreads.values, values)
    return Spreads.from_arrays(
        spreads.offsets,
        values,
        spreads.chosen,
        groups=spreads.groups,
        weights=spreads.weights,
        rating=spreads.rating,
    )


def precision_table(kinds: Mapping[str, Mapping[float, Spreads]]) -> pl.DataFrame:
    """Return, for each analysis, how well s orders the mileposts and what a rating's error is."""
    rows = []
    for name, cohorts in kinds.items():
        scale = elo_scale(dict(cohorts))
        table = scale.fits.to_frame()
        turns = table["n"].to_numpy()
        errors = (table["se_s_fit"] / table["s_fit"]).to_numpy() * np.sqrt(turns / 1000)
        rows.append(
            {
                "analysis": name,
                "ln s a 100 Elo": 100 * scale.line[1],
                "se": 100 * float(np.sqrt(scale.covariance[1, 1])),
                "Spearman": float(stats.spearmanr(table["level"], table["s_fit"]).statistic),
                "Elo error": float(np.median(errors)) / abs(scale.line[1]),
                "match rate": float(np.average(table["mm_actual"].to_numpy(), weights=turns)),
                "Qfit": float(table["qfit"].to_numpy().mean()),
            }
        )
    return pl.DataFrame(rows)


def analysis_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge whether less analysis costs little precision."""
    answers = []
    parts = (("depth", "2011-depth-cost"), ("moves", "2011-ten-moves"))
    whole = table.filter(pl.col("analysis").str.starts_with("depth")).row(-1, named=True)
    for word, key in parts:
        some = table.filter(pl.col("analysis").str.contains(word))
        shown = "; ".join(
            f"{row['analysis']}: Spearman {row['Spearman']:.2f}, {row['Elo error']:.0f} Elo"
            for row in some.iter_rows(named=True)
        )
        text = f"error of a rating from 1,000 turns: {shown}"
        if whole["ln s a 100 Elo"] > -2 * whole["se"] or len(some) < 2:
            answers.append(decide(key, text, TOO_LITTLE))
            continue
        # Two plies less than all; the widest cut, twenty moves.
        less = some.row(-2 if word == "depth" else -1, named=True)
        little = less["Elo error"] < _LITTLE * whole["Elo error"]
        answers.append(decide(key, text, HOLDS if little else FAILS))
    return tuple(answers)
