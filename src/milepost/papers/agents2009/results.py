"""Winners, losers and drawers of equal rating (2009 paper, Table III), and the prior's range."""

from __future__ import annotations

import numpy as np
import polars as pl

from milepost.choice import Spreads
from milepost.fit import fit_reference
from milepost.intrinsic.calibration.published import published_agents
from milepost.papers.agents2009.bands import band_decisions, clustered_error
from milepost.papers.charts import points
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
from milepost.papers.ipr2011.data import FEWEST
from milepost.papers.ledger.answers import decide, judge, too_little
from milepost.papers.statistics import Estimate

RESULTS = {1.0: "won", 0.5: "drew", 0.0: "lost"}
RANGES = ((0.0, 10.0), (0.0, 5.0), (0.0, 2.0), (0.0, 1.2), (0.0, 1.0), (0.8, 1.2))
FEW = 50
"""Decisions of a small sample, on which a prior can still tell."""


@experiment("2009-results", paper="2009", title="Winners, losers and drawers (Table III)")
def results(folder: Folder) -> Outcome:
    """Compare c of those who won, drew and lost against opponents of the same rating."""
    frame = band_decisions(folder).filter(pl.col("score").is_in(list(RESULTS)))
    table = result_table(frame)
    shown = table.select(
        "Elo", pl.col("result").alias("Result"), pl.col("mean").alias("c"), pl.col("se")
    )
    return Outcome(
        data="all periods and mileposts: both players have about the same rating",
        n=int(table["n"].sum()),
        findings=result_findings(table),
        tables={"By result": table, "Beside the paper's Table III": beside_table_three(frame)},
        charts={"c by result": points(shown, "Elo", "c", error="se", colour="Result")},
        notes=(
            "who won is known only after the moves: better moves win, so this is no forecast",
            f"sets with under {FEWEST} turns are left out",
        ),
    )


def result_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return c for each milepost and result; `se` is the larger of sd and the error by games.

    Raises
    ------
    MissingDataError
        If no set has enough turns.
    """
    rows = []
    parts = frame.sort("milepost", "score", descending=[False, True])
    for key, part in parts.group_by("milepost", "score", maintain_order=True):
        if len(part) < FEWEST:
            continue
        elo, score = float(str(key[0])), float(str(key[1]))
        spreads = Spreads.from_table(part, depths=False)
        found = fit_reference(spreads)
        by_games = clustered_error(spreads)
        low, high = found.region()
        rows.append(
            {
                "Elo": elo,
                "result": RESULTS[score],
                "n": found.n,
                "mean": found.mean,
                "sd": found.sd,
                "low": low,
                "high": high,
                "se": max(found.sd, by_games) if np.isfinite(by_games) else found.sd,
            }
        )
    if not rows:
        raise MissingDataError(f"no result at any milepost has {FEWEST} turns")
    return pl.DataFrame(rows)


def contrast(table: pl.DataFrame, first: str, second: str) -> tuple[Estimate, int] | None:
    """Return the mean difference of c between two results over the mileposts that have both."""
    a, b = (table.filter(pl.col("result") == each) for each in (first, second))
    both = a.join(b, on="Elo", suffix="_b")
    if not len(both):
        return None
    difference = (both["mean"] - both["mean_b"]).to_numpy()
    variance = (both["se"] ** 2 + both["se_b"] ** 2).to_numpy()
    weight = 1.0 / variance
    mean = float((weight * difference).sum() / weight.sum())
    return Estimate(mean, float(weight.sum() ** -0.5)), len(both)


def result_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge the order of winners, drawers and losers."""
    answers = []
    for key, first, second in (
        ("2009-won-lost", "won", "lost"),
        ("2009-drew-won", "drew", "won"),
        ("2009-drew-lost", "drew", "lost"),
    ):
        n = int(table.filter(pl.col("result").is_in([first, second]))["n"].sum())
        found = contrast(table, first, second)
        if found is None:
            answers.append(too_little(key, "no milepost has both", n=n))
            continue
        gap, sets = found
        answers.append(judge(key, gap, f"{gap.show(3, sign=True)} over {sets} mileposts", n=n))
    return tuple(answers)


def beside_table_three(frame: pl.DataFrame) -> pl.DataFrame:
    """Return c of winners, drawers and losers at all mileposts beside the paper's, at 2400."""
    rows = []
    for score, name in RESULTS.items():
        part = frame.filter(pl.col("score") == score)
        if len(part) >= FEWEST:
            found = fit_reference(Spreads.from_table(part, depths=False))
            rows.append((name, found.n, found.mean, found.sd))
    schema = {"result": pl.String, "n": pl.Int64, "mean, all mileposts": pl.Float64,
              "sd": pl.Float64}  # fmt: skip
    ours = pl.DataFrame(rows, schema=schema, orient="row")
    paper = published_agents("III").select(
        pl.col("set").alias("result"), pl.col("c_mean").alias("mean, 2009 (2400)"),
        pl.col("c_sd").alias("scatter over games, 2009"),
    )  # fmt: skip
    return ours.join(paper, on="result", how="left")


@experiment("2009-prior", paper="2009", title="What the range of the prior does to Table III")
def prior(folder: Folder) -> Outcome:
    """Fit Table III, all mileposts together, under uniform priors of several ranges."""
    frame = band_decisions(folder).filter(pl.col("score").is_in(list(RESULTS)))
    sets = {
        RESULTS[score]: Spreads.from_table(part, depths=False)
        for score in RESULTS
        if len(part := frame.filter(pl.col("score") == score)) >= FEWEST
    }
    if not sets:
        raise MissingDataError(f"no result has {FEWEST} turns")
    table = prior_table(sets)
    shown = table.filter(pl.col("turns") == "all").select(
        pl.col("to").alias("Greatest c"), pl.col("result").alias("Result"),
        pl.col("mean").alias("c"), "sd",
    )  # fmt: skip
    return Outcome(
        data="all periods, mileposts pooled; the first turns alone for a small sample",
        n=sum(len(each) for each in sets.values()),
        findings=prior_findings(table),
        tables={"Priors": table},
        charts={
            "c under a prior from 0": points(
                shown, "Greatest c", "c", error="sd", colour="Result", line=True
            )
        },
    )


def prior_table(sets: dict[str, Spreads]) -> pl.DataFrame:
    """Return mean and sd of c for each result and range, on all turns and on a few."""
    rows = []
    for name, spreads in sets.items():
        for label, part in (("all", spreads), (str(FEW), spreads.take(np.arange(FEW)))):
            base = fit_reference(part, prior_range=RANGES[0])
            for low, high in RANGES:
                found = fit_reference(part, prior_range=(low, high))
                rows.append(
                    {
                        "result": name,
                        "turns": label,
                        "from": low,
                        "to": high,
                        "mean": found.mean,
                        "sd": found.sd,
                        "shift in sd": (found.mean - base.mean) / base.sd,
                        "holds it": low < base.mean - 4 * base.sd
                        and base.mean + 4 * base.sd < high,
                    }
                )
    return pl.DataFrame(rows)


def prior_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge where the range matters."""
    wide = table.filter("holds it")
    narrow = table.filter((pl.col("turns") == "all") & ~pl.col("holds it"))
    small = table.filter((pl.col("turns") != "all") & ~pl.col("holds it"))
    largest = float(np.abs(wide["shift in sd"].to_numpy()).max(initial=0.0))

    def worst(part: pl.DataFrame) -> str:
        if not len(part):
            return "no such range here"
        row = part.sort(pl.col("shift in sd").abs()).row(-1, named=True)
        return (
            f"at worst {row['shift in sd']:+.1f} sd, for those who {row['result']} under "
            f"{row['from']:g} to {row['to']:g}"
        )

    return (
        decide(
            "2009-prior",
            f"largest shift {largest:.3f} sd over {len(wide)} fits; ranges that are too narrow "
            f"distort: all turns {worst(narrow)}; {FEW} turns {worst(small)}",
            HOLDS if largest < 0.01 and len(wide) else (FAILS if len(wide) else TOO_LITTLE),
        ),
    )
