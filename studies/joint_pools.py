"""Simulated pools with results and moves: does the joint history find how the level changes?

    python -m studies.joint_pools coverage [POOLS]      three truths, era walk, whole study
    python -m studies.joint_pools recovery [POOLS]      slope, spread and form learned
    python -m studies.joint_pools causes [POOLS]        what three known faults come from
    python -m studies.joint_pools slope [POOLS]         what a slope over the true one does

Results go to ``build/joint`` line by line: a second run goes on where the first one stopped.
``report`` puts what was found into ``studies/figures/joint.json``.
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from studies.joint import figures, keep
from tests.history.joint.pools import BETA, TRUTHS, pool, sites_of

from milepost.history import TTT, History, fit_history
from milepost.history.joint.options import Moves

KEPT = Path("build/joint")
LEARNED = TTT(beta=BETA, tau=20.0, sigma=200.0, draw=100.0, mu=0.0, newcomers="learn")
FIXED = TTT(beta=BETA, tau=20.0, sigma=200.0, draw=100.0, mu=0.0)
ENDS = 4
"""The change is taken from the first so many years to the last."""


def coverage(pools: int) -> None:
    """Change of level found and stated, for three truths."""
    for number in range(pools):
        for truth in TRUTHS:
            _keep(
                "coverage", {"truth": truth, "pool": number}, lambda t=truth, n=number: _one(t, n)
            )


def _one(truth: str, number: int) -> dict[str, Any]:
    rng = np.random.default_rng([2026, TRUTHS.index(truth), number])
    made = pool(rng, truth)
    sites = sites_of(rng, made.truth, share=0.15)
    joint = fit_history(made.results, LEARNED, moves=sites)
    assert joint.moves is not None
    lives = joint.moves.results_only
    assert lives is not None
    learned = np.array([float(lives.all_at(float(t), 0.0)[1].mean()) for t in range(40)])
    row = {
        "true": _change(made.truth, "skill"),
        "joint": _change(joint.curves, "intrinsic_mean"),
        "sd": _change_sd(joint),
        "true decades": _change(made.truth, "skill", 10),
        "joint decades": _change(joint.curves, "intrinsic_mean", 10),
        "sd decades": _change_sd(joint, 10),
        "results learned": float(learned[-ENDS:].mean() - learned[:ENDS].mean()),
        "covered_skills": _covered(joint, made.truth),
        "turns": joint.moves.turns,
        "slope": joint.moves.slope,
        "converged": joint.converged,
    }
    row["results fixed"] = _change(fit_history(made.results, FIXED).curves, "mean")
    if truth == "everybody rises":
        constant = fit_history(made.results, LEARNED, moves=sites, joining=Moves(era="constant"))
        row["constant"] = _change(constant.curves, "intrinsic_mean")
        row["constant sd"] = _change_sd(constant)
    return row


def causes(pools: int) -> None:
    """What three known faults of the joint history come from.

    Errors: are they as stated where the level wanders as the walk expects? The change where
    beginners improve: does a looser walk find it? The slope: does a player's skill go beyond what
    results say by as much, and only where opponents are chosen by strength?
    """
    for number in range(pools):
        _keep("causes", {"pool": number}, lambda n=number: _cause(n))


def _cause(number: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    rng = np.random.default_rng([2028, number])
    made = pool(rng, "level wanders")
    joint = fit_history(made.results, LEARNED, moves=sites_of(rng, made.truth, share=0.15))
    row["wanders true"] = _change(made.truth, "skill")
    row["wanders"] = _change(joint.curves, "intrinsic_mean")
    row["wanders sd"] = _change_sd(joint)
    made = pool(rng, "beginners improve")
    sites = sites_of(rng, made.truth, share=0.15)
    row["beginners true"] = _change(made.truth, "skill")
    for walk in (25.0, 75.0):
        joint = fit_history(made.results, LEARNED, moves=sites, joining=Moves(era_drift=walk))
        row[f"beginners {walk:.0f}"] = _change(joint.curves, "intrinsic_mean")
    for name, near in (("near", True), ("anybody", False)):
        made = pool(rng, "newcomers rise", years=20, games=4000, near=near)
        row[f"skill by results, {name}"] = _skill_by_results(made.results, made.truth)
    return row


def _skill_by_results(results: pl.DataFrame, truth: pl.DataFrame) -> float:
    """Slope of true skill on what results say, within years: 1 if results say it without bias."""
    both = fit_history(results, LEARNED).curves.join(truth, on=["player", "time"])
    own = [pl.col(each) - pl.col(each).mean().over("time") for each in ("skill", "mean")]
    skill, said = (both.select(each).to_series().to_numpy() for each in own)
    return float(skill @ said / (said @ said))


def slope(pools: int) -> None:
    """What a slope that is over the true one does to answers on the joint scale."""
    for number in range(pools):
        _keep("slope", {"pool": number}, lambda n=number: _sloped(n))


TOP = 20


def _sloped(number: int) -> dict[str, Any]:
    rng = np.random.default_rng([2029, number])
    made = pool(rng, "newcomers rise", years=20, games=4000)
    joint = fit_history(made.results, LEARNED, moves=sites_of(rng, made.truth, share=0.3))
    assert joint.moves is not None
    both = joint.curves.join(made.truth, on=["player", "time"]).with_columns(
        off=pl.col("intrinsic_mean") - 2000.0 - pl.col("skill")
    )
    own = [pl.col(each) - pl.col(each).mean().over("time") for each in ("skill", "intrinsic_mean")]
    skill, said = (both.select(each).to_series().to_numpy() for each in own)
    level = both.group_by("time").agg(pl.col("off").mean())["off"].mean()
    best = both.filter(pl.col("mean").rank("ordinal", descending=True).over("time") <= TOP)
    # The first and the last of the top of one year: the difference said, and the true one.
    pairs = best.sort("time", "mean", descending=[False, True])
    pairs = pairs.group_by("time", maintain_order=True).agg(
        said=pl.col("intrinsic_mean").first() - pl.col("intrinsic_mean").last(),
        true=pl.col("skill").first() - pl.col("skill").last(),
    )
    return {
        "slope": joint.moves.slope,
        "skill by intrinsic": float(skill @ said / (said @ said)),
        "level off": float(level),  # type: ignore[arg-type]
        "top off": float(best["off"].mean()),  # type: ignore[arg-type]
        "first to last said": float(pairs["said"].mean()),  # type: ignore[arg-type]
        "first to last true": float(pairs["true"].mean()),  # type: ignore[arg-type]
    }


def _change(table: pl.DataFrame, column: str, ends: int = ENDS) -> float:
    levels = table.group_by("time").agg(pl.col(column).mean()).sort("time")[column].to_numpy()
    return float(levels[-ends:].mean() - levels[:ends].mean())


def _change_sd(history: History, ends: int = ENDS) -> float:
    assert history.moves is not None
    weights = np.zeros(len(history.moves.covariance))
    weights[:ends], weights[-ends:] = -1.0 / ends, 1.0 / ends
    return float(np.sqrt(weights @ history.moves.covariance @ weights))


def _covered(history: History, truth: pl.DataFrame) -> float:
    """Share of player-years whose intrinsic skill lies in its 95 % interval."""
    both = history.curves.join(truth, on=["player", "time"])
    z = (pl.col("intrinsic_mean") - 2000.0 - pl.col("skill")) / pl.col("intrinsic_sd")
    return float(both.select((z.abs() < 1.96).mean()).item())


def recovery(pools: int) -> None:
    """Slope, spread and form learned from 600 player-years of four games."""
    for number in range(pools):
        _keep("recovery", {"pool": number}, lambda n=number: _recovered(n))


def _recovered(number: int) -> dict[str, Any]:
    rng = np.random.default_rng([2027, number])
    made = pool(rng, "newcomers rise", years=20, games=4000)
    chosen = made.truth.sample(n=600, seed=int(rng.integers(2**31)), shuffle=True)
    sites = sites_of(rng, chosen, share=1.1, games=4, spread=120.0, form=150.0, slope=0.9, turns=60)
    fitted = fit_history(
        made.results, LEARNED, moves=sites, joining=Moves(spread="learn", form="learn")
    ).moves
    assert fitted is not None
    return {
        "slope": fitted.slope, "slope_se": fitted.slope_se, "spread": fitted.spread,
        "spread_se": fitted.spread_se, "form": fitted.form, "form_se": fitted.form_se,
    }  # fmt: skip


def _keep(name: str, key: dict[str, Any], work: Any) -> None:
    path = KEPT / f"{name}_{key.get('truth', 'all').replace(' ', '_')}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        done = pl.read_csv(path)
        if done.filter(pl.col("pool") == key["pool"]).height:
            return
    row = key | work()
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def report() -> None:
    """Put what was found into the file of figures."""
    found: dict[str, Any] = figures("pools")  # what was not run again stays
    for truth in TRUTHS:
        path = KEPT / f"coverage_{truth.replace(' ', '_')}.csv"
        if path.exists():
            found[truth] = _covered_of(pl.read_csv(path).unique("pool"))
    path = KEPT / "recovery_all.csv"
    if path.exists():
        found["recovery"] = _means(pl.read_csv(path))
    path = KEPT / "causes_all.csv"
    if path.exists():
        keep("causes", _causes_of(pl.read_csv(path).unique("pool")))
    path = KEPT / "slope_all.csv"
    if path.exists():
        keep("slope", _means(pl.read_csv(path).unique("pool")))
    for name, part in found.items():
        print(name, part)
    keep("pools", found)


def _covered_of(table: pl.DataFrame) -> dict[str, Any]:
    error = (table["joint"] - table["true"]).to_numpy()
    late = (table["joint decades"] - table["true decades"]).to_numpy()
    part: dict[str, Any] = {
        "pools": table.height, "rmse": _rms(error), "bias": float(error.mean()),
        "bias_se": float(error.std(ddof=1) / np.sqrt(len(error))),
        "covered": float(np.mean(np.abs(error) < 1.96 * table["sd"].to_numpy())),
        "decades rmse": _rms(late),
    }  # fmt: skip
    part |= {name: _mean(table, name) for name in (
        "true", "results fixed", "results learned", "joint", "sd", "sd decades", "covered_skills",
    )}  # fmt: skip
    if "constant" in table.columns:
        wrong = np.abs((table["constant"] - table["true"]).to_numpy())
        part["constant"] = _mean(table, "constant")
        part["constant sd"] = _mean(table, "constant sd")
        part["constant covered"] = float(np.mean(wrong < 1.96 * table["constant sd"].to_numpy()))
    return part


def _causes_of(table: pl.DataFrame) -> dict[str, Any]:
    error = (table["wanders"] - table["wanders true"]).to_numpy()
    looser = (table["beginners 75"] - table["beginners 25"]).to_numpy()
    part = {
        "pools": table.height,
        "wanders rmse": _rms(error), "wanders sd": _mean(table, "wanders sd"),
        "wanders covered": float(np.mean(np.abs(error) < 1.96 * table["wanders sd"].to_numpy())),
        "looser": float(looser.mean()),
        "looser se": float(looser.std(ddof=1) / np.sqrt(len(looser))),
    }  # fmt: skip
    return part | {
        name: values for name, values in _means(table).items() if name.startswith("skill by")
    }


def _means(table: pl.DataFrame) -> dict[str, Any]:
    return {
        name: {"mean": _mean(table, name), "sd": float(table[name].to_numpy().std(ddof=1)),
               "pools": table.height}
        for name in table.columns if name not in ("pool", "truth")
    }  # fmt: skip


def _rms(error: Any) -> float:
    return float(np.sqrt(np.mean(error**2)))


def _mean(table: pl.DataFrame, name: str) -> float:
    return float(table[name].to_numpy().mean())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, *rest = sys.argv[1:]
    jobs = {"coverage": coverage, "recovery": recovery, "causes": causes, "slope": slope}
    if command in jobs:
        jobs[command](int(rest[0]) if rest else 100)
    else:
        report()
