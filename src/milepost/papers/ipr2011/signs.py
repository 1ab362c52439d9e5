"""Differences when behind and when ahead (2011 paper, section 3.1), raw and scaled."""

from __future__ import annotations

import numpy as np
import polars as pl

from milepost.papers.charts import points
from milepost.papers.experiment import Finding, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import milepost_decisions
from milepost.papers.ipr2011.scale import Errors, errors_of
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import pooled, regress

_LEAST = 30
"""Turns behind, and as many ahead, in a band that is shown."""


@experiment("2011-signs", paper="2011", title="Differences when behind against when ahead")
def signs(folder: Folder) -> Outcome:
    """Compare differences at -e with those at +e."""
    frame = milepost_decisions(folder)
    errors = errors_of(frame, (1.0,))
    table = sign_table(errors)
    shown = table.select(
        "kind", ((pl.col("from") + pl.col("to")) / 2).alias("Pawns from even"),
        pl.col("behind over ahead").alias("Behind over ahead"), "se",
    )  # fmt: skip
    return Outcome(
        data="all periods and mileposts; the bin at the origin left out",
        n=len(frame),
        findings=sign_findings(table),
        tables={"Behind and ahead": table},
        charts={
            "Behind over ahead": points(
                shown, "Pawns from even", "Behind over ahead", error="se", colour="kind", rule=1.0
            )
        },
    )


def sign_table(errors: Errors) -> pl.DataFrame:
    """Return mean differences behind and ahead in bands of |e|, and their ratios."""
    size = np.abs(errors.e)
    rows = []
    for kind, lost in (("raw", errors.raw), ("scaled", errors.scaled[1.0])):
        for low, high in ((0.05, 0.25), (0.25, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 3.0)):
            inside = (size >= low) & (size < high)
            behind = errors.e[inside] < 0
            if min(behind.sum(), (~behind).sum()) < _LEAST:
                continue
            design = np.stack([behind, ~behind], axis=1).astype(np.float64)
            beta, covariance = regress(design, lost[inside], errors.groups[inside])
            ratio = float(beta[0] / beta[1])
            slope = np.array([1.0, -ratio]) / beta[1]
            rows.append(
                {
                    "kind": kind,
                    "from": low,
                    "to": high,
                    "n": int(inside.sum()),
                    "behind": float(beta[0]),
                    "ahead": float(beta[1]),
                    "behind over ahead": ratio,
                    "se": float(np.sqrt(slope @ covariance @ slope)),
                }
            )
    return pl.DataFrame(rows)


def sign_findings(table: pl.DataFrame) -> tuple[Finding, Finding]:
    """Judge raw differences behind and ahead, and scaled ones."""
    keys = (("raw", "2011-behind"), ("scaled", "2011-level-signs"))
    if not len(table):
        few = [too_little(key, "too few turns in every band") for _, key in keys]
        return few[0], few[1]
    answers = []
    for kind, key in keys:
        part = table.filter(pl.col("kind") == kind)
        ratio, se = part["behind over ahead"].to_numpy(), part["se"].to_numpy()
        mean, scatter, degrees = pooled(100 * (ratio - 1), 100 * se)
        each = ", ".join(
            f"{100 * (r - 1):+.0f} at {low:g} to {high:g}"
            for r, low, high in zip(ratio, part["from"], part["to"], strict=True)
        )
        found = f"{mean.show(1, sign=True)} % ({each}; scatter {scatter:.1f} on {degrees})"
        answers.append(judge(key, mean, found, n=int(part["n"].sum())))
    return answers[0], answers[1]
