"""The 2009 paper's Tables I and II, Figures 1 and 2: apparent competence by Elo band.

Di Fatta, Haworth & Regan 2009: agents of one parameter, P(i) ∝ (v_max - v_i + K)^-c, over the first
ten moves at depth 10, in raw pawns, twelve moves a side left out as book, no cut-off.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy import stats

from milepost.choice import Spreads
from milepost.fit import AgentModel, CompetencePosterior, fit_agent, fit_reference
from milepost.fit.methods.reference import WIDTH, K
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
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import FEWEST, REFERENCE, cohorts_of, milepost_decisions
from milepost.papers.statistics import Estimate, first_options, regress

BOOK = 12
"""Moves a side that the paper leaves out."""
_SNAPSHOT = 25
_SETTLED = 200
"""Decisions from which the posterior's width is looked at."""
_CONSTANT = 0.15
_LEAST_BANDS = 4


def band_decisions(folder: Folder, periods: list[str] | None = None) -> pl.DataFrame:
    """Return decisions as the 2009 paper takes them: twelve book moves, no cut-off."""
    frame = milepost_decisions(folder, periods, limit_pawns=math.inf)
    return frame.filter(pl.col("move_number") > BOOK)


@experiment("2009-bands", paper="2009", title="Apparent competence by Elo band (Tables I and II)")
def bands(folder: Folder) -> Outcome:
    """Posterior mean, sd and region of c for each milepost of the reference, and their plot."""
    frame = band_decisions(folder, [REFERENCE])
    found = {elo: fit_reference(each) for elo, each in cohorts_of(frame).items()}
    clusters = {elo: clustered_error(each) for elo, each in cohorts_of(frame).items()}
    table = band_table(found, clusters)
    densities = pl.concat(
        each.to_frame().with_columns(pl.lit(f"{elo:.0f}").alias("Elo"))
        for elo, each in found.items()
    ).rename({"density": "Density"})
    near = densities.filter(pl.col("Density") > 1e-3)
    return Outcome(
        data=f"mileposts {REFERENCE}, from move {BOOK + 1}, first {WIDTH} moves, raw pawns, K {K}",
        n=int(table["n"].sum()),
        findings=band_findings(table),
        tables={"Bands": table},
        charts={
            "Posteriors of c": curves(near, "c", "Density", "Elo"),
            "c by Elo": points(table.rename({"mean": "c"}), "Elo", "c", error="sd"),
        },
        notes=("choices beyond the first ten moves are left out, as in the paper, and counted",),
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


def band_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge whether c rises with Elo, whether bands part, and whether sd is honest."""
    rising = "apparent competence c rises with Elo (Tables I and II)"
    parted = "the posteriors of bands a hundred Elo apart are clearly apart (Figure 1)"
    if len(table) < _LEAST_BANDS:
        few = f"{len(table)} bands"
        return Finding(rising, few, TOO_LITTLE), Finding(parted, few, TOO_LITTLE)
    elo, mean, sd = (table[name].to_numpy() for name in ("Elo", "mean", "sd"))
    design = np.stack([np.ones(len(elo)), (elo - elo.mean()) / 100], axis=1) / sd[:, None]
    beta, _ = regress(design, mean / sd, np.arange(len(elo)))
    slope = Estimate(float(beta[1]), float(np.sqrt(np.linalg.inv(design.T @ design)[1, 1])))
    rank = float(stats.spearmanr(elo, mean).statistic)
    steps = np.diff(mean) / np.hypot(sd[1:], sd[:-1])
    apart = int((steps > 2).sum())
    ratio = table["se by games"].to_numpy() / sd
    return (
        Finding(
            rising,
            f"c from {mean[0]:.3f} ± {sd[0]:.3f} at {elo[0]:.0f} to {mean[-1]:.3f} ± {sd[-1]:.3f} "
            f"at {elo[-1]:.0f}; {slope.show(4, sign=True)} for each 100 Elo; Spearman {rank:.2f}",
            HOLDS if slope.z > 3 and rank > 0.8 else (FAILS if slope.z < 1 else TOO_LITTLE),
        ),
        Finding(
            parted,
            f"{apart} of {len(steps)} neighbours are apart by two standard deviations, "
            f"{int((steps < 0).sum())} stand in the wrong order; with some "
            f"{float(table['n'].to_numpy().mean()):.0f} turns a band, sd {sd.mean():.3f} against a "
            f"step of {slope.value:.3f}",
            HOLDS if apart == len(steps) else (TOO_LITTLE if slope.z > 3 else FAILS),
        ),
        Finding(
            "the posterior's sd tells the true uncertainty",
            f"errors clustered by game are {ratio.mean():.2f} times the sd on average "
            f"({ratio.min():.2f} to {ratio.max():.2f})",
            HOLDS if 0.8 < ratio.mean() < 1.25 else FAILS,
        ),
    )


@experiment("2009-learning", paper="2009", title="The posterior while data come in (Figure 2)")
def learning(folder: Folder) -> Outcome:
    """Follow mean and sd of c through the turns of each band."""
    frame = band_decisions(folder, [REFERENCE])
    paths = path_table({k: each for k, each in cohorts_of(frame).items() if len(each) >= FEWEST})
    return Outcome(
        data=f"mileposts {REFERENCE}, in the order of the games, a snapshot each {_SNAPSHOT} turns",
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


def learning_findings(paths: pl.DataFrame) -> tuple[Finding, Finding]:
    """Judge whether sd √n is constant and whether the mean settles."""
    late = paths.filter(pl.col("Turns") >= _SETTLED)
    constant = "the sd shrinks as one over the root of the turns: sd √n is constant"
    settles = "the mean settles as data come in (Figure 2)"
    if not len(late):
        few = f"no band has {_SETTLED} turns"
        return Finding(constant, few, TOO_LITTLE), Finding(settles, few, TOO_LITTLE)
    drifts: list[float] = []
    jumps: list[float] = []
    for _, part in late.group_by("Elo", maintain_order=True):
        root = part["sd √n"].to_numpy()
        drifts.append(float(root[-1] / root[0] - 1))
        end, sd = part["c"].to_numpy(), part["sd"].to_numpy()
        # What comes later must lie within what was known before.
        known = np.sqrt(np.maximum(sd**2 - sd[-1] ** 2, 0.0))
        earlier = known > 0
        jumps += ((end - end[-1])[earlier] / known[earlier]).tolist()
    size = float(np.abs(drifts).mean())
    moves = np.array(jumps)
    within = float((np.abs(moves) < 2).mean()) if len(moves) else np.nan
    verdict: Verdict = HOLDS if within > 0.85 else FAILS
    return (
        Finding(
            constant,
            f"from {_SETTLED} turns on sd √n changes by {100 * size:.1f} % on average, "
            f"{100 * np.abs(drifts).max():.1f} % at most",
            HOLDS if np.abs(drifts).max() < _CONSTANT else FAILS,
        ),
        Finding(
            settles,
            f"{100 * within:.0f} % of the means from {_SETTLED} turns on lie within two standard "
            "deviations of the last (95 % expected, not independent of each other)",
            verdict if len(moves) else TOO_LITTLE,
        ),
    )
