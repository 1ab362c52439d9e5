"""The 2009 paper's Tables I and II, Figures 1 and 2: apparent competence by Elo band.

Di Fatta, Haworth & Regan 2009: agents of one parameter, P(i) ∝ (v_max - v_i + K)^-c, over the first
ten moves at depth 10, in raw pawns, twelve moves a side left out as book, no cut-off. Here the
depth is that of the store; `2009-robustness` looks at what it does.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice import Spreads
from milepost.fit import AgentModel, CompetencePosterior, fit_agent, fit_reference
from milepost.fit.methods.reference import WIDTH, K
from milepost.intrinsic.calibration.published import published_agents
from milepost.papers.charts import curves, points
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    TOO_LITTLE,
    Finding,
    Outcome,
    Verdict,
    experiment,
)
from milepost.papers.folder import PLAN, Folder
from milepost.papers.ipr2011.data import FEWEST, cohorts_of, milepost_decisions
from milepost.papers.ledger.answers import decide, judge, too_little
from milepost.papers.statistics import Estimate, first_options

BOOK = 12
"""Moves a side that the paper leaves out."""
_SNAPSHOT = 25
_SETTLED = 200
"""Decisions from which the posterior's width is looked at."""
_STEP = 300.0
"""Elo between the bands that must be apart: the paper's medium-sized intervals."""
_LEAST_BANDS = 4


def band_decisions(
    folder: Folder, periods: list[str] | None = None, *, plan: str = PLAN
) -> pl.DataFrame:
    """Return decisions as the 2009 paper takes them: twelve book moves, no cut-off."""
    frame = milepost_decisions(folder, periods, limit_pawns=math.inf, plan=plan)
    return frame.filter(pl.col("move_number") > BOOK)


@experiment("2009-bands", paper="2009", title="Apparent competence by Elo band (Tables I and II)")
def bands(folder: Folder) -> Outcome:
    """Posterior mean, sd and region of c for each milepost, all periods, and their plot."""
    frame = band_decisions(folder)
    found = {elo: fit_reference(each) for elo, each in cohorts_of(frame).items()}
    clusters = {elo: clustered_error(each) for elo, each in cohorts_of(frame).items()}
    table = band_table(found, clusters)
    densities = pl.concat(
        each.to_frame().with_columns(pl.lit(f"{elo:.0f}").alias("Elo"))
        for elo, each in found.items()
    ).rename({"density": "Density"})
    near = densities.filter(pl.col("Density") > 1e-3)
    beside = beside_published(table)
    return Outcome(
        data=f"all periods, from move {BOOK + 1} on, first {WIDTH} moves, raw pawns, K {K}",
        n=int(table["n"].sum()),
        findings=band_findings(table),
        tables={"Bands": table, "Beside the paper's Table II": beside},
        charts={
            "Beside the paper: c by band": points(
                both_sets(beside), "Elo", "c", error="sd", colour="Set"
            ),
            "Posteriors of c (Figure 1)": curves(near, "c", "Density", "Elo"),
            "c by Elo": points(table.rename({"mean": "c"}), "Elo", "c", error="sd"),
        },
        notes=("choices beyond the first ten moves are left out, as in the paper, and counted",),
    )


def beside_published(table: pl.DataFrame) -> pl.DataFrame:
    """Return our bands beside the paper's Table II (Toga II 1.3.1 to depth 10)."""
    paper = published_agents("I+II").select(
        ((pl.col("elo_min") + pl.col("elo_max")) / 2).alias("Elo"),
        pl.col("events").alias("n, 2009"), pl.col("c_mean").alias("mean, 2009"),
        pl.col("c_sd").alias("sd, 2009"),
    )  # fmt: skip
    ours = table.select("Elo", "n", "mean", "sd", "se by games")
    return ours.join(paper, on="Elo", how="full", coalesce=True).sort("Elo")


def both_sets(beside: pl.DataFrame) -> pl.DataFrame:
    """Return ours and the paper's as points of a chart."""
    return pl.concat(
        beside.select(
            "Elo", pl.col(mean).alias("c"), pl.col(sd).alias("sd"), pl.lit(who).alias("Set")
        ).drop_nulls()
        for who, mean, sd in (("2009 paper", "mean, 2009", "sd, 2009"), ("ours", "mean", "sd"))
    )


def band_table(
    found: dict[float, CompetencePosterior], clusters: dict[float, float]
) -> pl.DataFrame:
    """Return the paper's table: one row a band."""
    rows = []
    for elo, each in found.items():
        low, high = each.region()
        rows.append(
            {
                "Elo": elo,
                "n": each.n,
                "outside": each.outside,
                "mean": each.mean,
                "sd": each.sd,
                "low": low,
                "high": high,
                "sd √n": each.sd * math.sqrt(each.n),
                "se by games": clusters[elo],
            }
        )
    return pl.DataFrame(rows)


def clustered_error(spreads: Spreads) -> float:
    """Return the standard error of c clustered by game, which the posterior knows nothing of."""
    narrow = first_options(spreads, WIDTH, bounded=False)
    # With s = K the curve (1 + δ/s)^-c under shares is the agent of 2009.
    fit = fit_agent(
        narrow,
        AgentModel(curve="ipb", ratio="shares", difference="raw", tie_shift=0.0, cap=0.0, s=K),
        method="likelihood",
    )
    return float(np.sqrt(fit.covariance[1, 1]))


def rise_of(table: pl.DataFrame, error: str = "se by games") -> Estimate:
    """Return the rise of c in 100 Elo over the bands, weighted by precision."""
    elo, mean, se = (table[name].to_numpy() for name in ("Elo", "mean", error))
    design = np.stack([np.ones(len(elo)), (elo - elo.mean()) / 100], axis=1) / se[:, None]
    bread = np.linalg.inv(design.T @ design)
    beta = bread @ (design.T @ (mean / se))
    scatter = float(((mean / se - design @ beta) ** 2).sum()) / max(len(elo) - 2, 1)
    return Estimate(float(beta[1]), float(np.sqrt(bread[1, 1] * max(scatter, 1.0))))


def band_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge whether c rises with Elo, whether bands part, and whether sd is honest."""
    keys = ("2009-rises", "2009-intervals", "2009-sd")
    n = int(table["n"].sum()) if len(table) else 0
    if len(table) < _LEAST_BANDS:
        return tuple(too_little(key, f"{len(table)} bands", n=n) for key in keys)
    elo, mean, sd, se = (table[x].to_numpy() for x in ("Elo", "mean", "sd", "se by games"))
    rise = rise_of(table)
    rank = float(stats.spearmanr(elo, mean).statistic)
    steps = [
        Estimate(float(mean[j] - mean[i]), float(np.hypot(se[i], se[j])))
        for i in range(len(elo))
        for j in range(len(elo))
        if elo[j] - elo[i] == _STEP
    ]
    ratio = se / sd
    honest = Estimate(float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(len(ratio))))
    found = (
        f"{rise.show(4, sign=True)} in 100 Elo: c from {mean[0]:.3f} ± {se[0]:.3f} at {elo[0]:.0f} "
        f"to {mean[-1]:.3f} ± {se[-1]:.3f} at {elo[-1]:.0f}; Spearman {rank:.2f}"
    )
    smallest = min(steps, key=lambda step: step.value) if steps else None
    apart = sum(step.z > 2 for step in steps)
    return (
        judge(keys[0], rise, found, n=n),
        too_little(keys[1], f"no bands {_STEP:.0f} Elo apart", n=n)
        if smallest is None
        else judge(
            keys[1], smallest,
            f"{smallest.show(3, sign=True)}; {apart} of {len(steps)} such steps lie two errors or "
            "more from zero", n=n,
        ),
        judge(keys[2], honest, f"{ratio.min():.2f} to {ratio.max():.2f} times the sd", n=n),
    )  # fmt: skip


@experiment("2009-learning", paper="2009", title="The posterior while data come in (Figure 2)")
def learning(folder: Folder) -> Outcome:
    """Follow mean and sd of c through the turns of each band."""
    frame = band_decisions(folder)
    paths = path_table({k: each for k, each in cohorts_of(frame).items() if len(each) >= FEWEST})
    return Outcome(
        data=f"mileposts of all periods, in the order of games, a snapshot each {_SNAPSHOT} turns",
        n=int(paths.group_by("Elo").agg(pl.col("Turns").max())["Turns"].sum()),
        findings=learning_findings(paths),
        tables={"Snapshots": paths},
        charts={
            "Mean of c": curves(paths, "Turns", "c", "Elo", zero=False),
            "Width times root of turns": curves(paths, "Turns", "sd √n", "Elo"),
        },
    )


def path_table(cohorts: dict[float, Spreads]) -> pl.DataFrame:
    """Return snapshots of the posterior of each band."""
    rows = []
    for elo, spreads in cohorts.items():
        rows += [
            {
                "Elo": f"{elo:.0f}",
                "Turns": at.decisions,
                "c": at.mean,
                "sd": at.sd,
                "sd √n": at.sd * math.sqrt(at.decisions),
            }
            for at in fit_reference(spreads, snapshot_every=_SNAPSHOT).snapshots
        ]
    return pl.DataFrame(rows)


def learning_findings(paths: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge whether the mean settles, and how the standard deviation falls."""
    keys = ("2009-converges", "2009-sd-falls", "2009-asymptote")
    late = paths.filter(pl.col("Turns") >= _SETTLED) if len(paths) else paths
    if not len(late):
        return tuple(too_little(key, f"no band has {_SETTLED} turns") for key in keys)
    jumps: list[float] = []
    falls: dict[str, list[float]] = {"all": [], "end": []}
    for _, part in paths.group_by("Elo", maintain_order=True):
        turns, mean, sd = (part[name].to_numpy() for name in ("Turns", "c", "sd"))
        # What comes later must lie within what was known before.
        known = np.sqrt(np.maximum(sd**2 - sd[-1] ** 2, 0.0))
        earlier = (turns >= _SETTLED) & (known > 0)
        jumps += ((mean - mean[-1])[earlier] / known[earlier]).tolist()
        for name, inside in (("all", turns >= 2 * _SNAPSHOT), ("end", turns >= turns[-1] / 2)):
            if inside.sum() >= 3:
                line = np.polyfit(np.log(turns[inside]), np.log(sd[inside]), 1)
                falls[name].append(float(line[0]))
    n = int(paths.group_by("Elo").agg(pl.col("Turns").max())["Turns"].sum())
    moves = np.array(jumps)
    within = float((np.abs(moves) < 2).mean()) if len(moves) else np.nan
    verdict: Verdict = HOLDS if within > 0.85 else FAILS
    every, end = (_mean_over_bands(falls[name]) for name in ("all", "end"))
    return (
        decide(
            keys[0],
            f"{100 * within:.0f} % of the means from {_SETTLED} turns on",
            verdict if len(moves) else TOO_LITTLE,
        ),
        judge(keys[1], every, f"ln sd falls as {every.show(3)} ln n", n=n),
        judge(keys[2], end, f"over the last half {end.show(3)}", n=n),
    )


def _mean_over_bands(values: list[float]) -> Estimate:
    found = np.array(values)
    return Estimate(float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))))
