"""Equal-top moves (2011 paper, section 3): is the first-listed one played more often, and why?

The engine lists equal moves in the order that its last search left them in, so the first-listed one
tends to have looked better before. A choice among equal moves is judged by a conditional logit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milepost.choice import Scale, Spreads
from milepost.choice.spreads import Floats, Ints
from milepost.fit.uncertainty.covariance import clustered
from milepost.papers.charts import named_points
from milepost.papers.experiment import Finding, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import milepost_decisions
from milepost.papers.ledger.answers import judge, too_little
from milepost.papers.statistics import Estimate, mean_of, regress

_ROUNDS = 50
_LEAST = 50
_STRONG = 2300.0
"""Elo that parts the sets, near the middle of the mileposts."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Choices among equal-top moves: only those where one of them was played."""

    offsets: Ints
    """Tie t has the rows ``offsets[t]`` to ``offsets[t + 1]``."""
    chosen: Ints
    """Which of the equal moves was played, in the engine's order."""
    lower: Floats
    """Mean scaled value of each move at the depths before the last."""
    level: Floats
    """The value that the moves of a tie share."""
    groups: Any
    """Games."""
    rating: Floats
    """The mover's Elo."""

    def __len__(self) -> int:
        """Return the number of ties."""
        return len(self.chosen)

    @property
    def sizes(self) -> Ints:
        """How many moves are equal."""
        return np.diff(self.offsets)

    @property
    def surplus(self) -> Floats:
        """1 - 1/k where the first-listed of k equal moves was played, else -1/k."""
        answer: Floats = (self.chosen == 0) - 1.0 / self.sizes
        return answer


def ties_of(frame: pl.DataFrame) -> Ties:
    """Return the ties among the decisions of a table with values by depth."""
    spreads = Spreads.from_table(frame)
    starts = spreads.offsets[:-1]
    level = spreads.values[starts]
    equal = spreads.values == np.repeat(level, spreads.counts)
    sizes = np.add.reduceat(equal, starts)
    wanted = (sizes > 1) & (spreads.chosen < sizes)
    part = spreads.take(wanted)
    keep = part.values == np.repeat(part.values[part.offsets[:-1]], part.counts)
    kept = sizes[wanted].astype(np.int64)
    table = part.depth_values if part.depth_values is not None else part.values[:, None]
    shallow = table[keep, :-1] if table.shape[1] > 1 else table[keep]
    scaled = Scale(tie_shift=0.0).apply(np.clip(shallow, -10.0, 10.0))
    return Ties(
        offsets=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64),
        chosen=part.chosen,
        lower=np.nan_to_num(np.nanmean(scaled, axis=1)),
        level=level[wanted],
        groups=part.groups,
        rating=np.zeros(len(part)) if part.rating is None else np.nan_to_num(part.rating),
    )


def fit_logit(ties: Ties, features: Floats) -> tuple[Floats, Floats]:
    """Fit ln p = β·x + constant within each tie; errors clustered by game.

    Newton's method on a concave likelihood.
    """
    starts = ties.offsets[:-1]
    rows = starts + ties.chosen
    beta = np.zeros(features.shape[1])
    for _ in range(_ROUNDS):
        p, centred = _shares(ties, features, beta)
        gradient = (features[rows] - _means(ties, features, p)).sum(axis=0)
        curvature = (centred * p[:, None]).T @ centred
        step = np.linalg.solve(curvature, gradient)
        beta = beta + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-9:
            break
    p, centred = _shares(ties, features, beta)
    scores = features[rows] - _means(ties, features, p)
    bread = np.linalg.inv((centred * p[:, None]).T @ centred)
    covariance: Floats = bread @ clustered(scores, ties.groups, len(beta)) @ bread
    return beta, covariance


def _shares(ties: Ties, features: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """The probabilities of the moves, and the features less their means in each tie."""
    starts, sizes = ties.offsets[:-1], ties.sizes
    z = features @ beta
    z = np.exp(z - np.repeat(np.maximum.reduceat(z, starts), sizes))
    p = z / np.repeat(np.add.reduceat(z, starts), sizes)
    return p, features - np.repeat(_means(ties, features, p), sizes, axis=0)


def _means(ties: Ties, features: Floats, p: Floats) -> Floats:
    means: Floats = np.add.reduceat(features * p[:, None], ties.offsets[:-1], axis=0)
    return means


@experiment("2011-ties", paper="2011", title="The first-listed of equal-top moves")
def tied_moves(folder: Folder) -> Outcome:
    """Whether the first-listed of equal moves is favoured, and whether lower depths explain it."""
    frame = milepost_decisions(folder)
    ties = ties_of(frame)
    if len(ties) < _LEAST:
        few = tuple(
            too_little(key, f"{len(ties)} ties", n=len(ties), unit="ties")
            for key in ("2011-ties", "2011-ties-alike", "2011-ties-depths")
        )
        return Outcome("all periods and mileposts", len(ties), few, unit="ties")
    findings, effects = judge_ties(ties)
    return Outcome(
        data=f"all periods and mileposts: the ties among {len(frame):,} turns where one of the "
        "equal-top moves was played",
        n=len(ties),
        unit="ties",
        findings=findings,
        tables={"By number of equal moves": share_table(ties), "Logit": effects},
        charts={
            "What draws a choice among equal moves": named_points(
                effects, "effect", "log-odds", "se", rule=0.0
            )
        },
        notes=("lower: the mean scaled value at depths before the last, in units of 0.1",),
    )


def share_table(ties: Ties) -> pl.DataFrame:
    """Return how often the first-listed move is played, by the number of equal moves."""
    rows = []
    for name, inside in (
        ("2", ties.sizes == 2),
        ("2, not at 0.00", (ties.sizes == 2) & (ties.level != 0)),
        ("3", ties.sizes == 3),
        ("4 and more", ties.sizes >= 4),
        ("all", ties.sizes >= 2),
    ):
        if inside.sum() < 10:
            continue
        share = mean_of((ties.chosen[inside] == 0).astype(np.float64), ties.groups[inside])
        surplus = mean_of(ties.surplus[inside], ties.groups[inside])
        rows.append(
            {
                "equal moves": name,
                "n": int(inside.sum()),
                "first played": share.value,
                "se": share.se,
                "by chance": float((1.0 / ties.sizes[inside]).mean()),
                "surplus": surplus.value,
                "z": surplus.z,
            }
        )
    return pl.DataFrame(rows)


def judge_ties(ties: Ties) -> tuple[tuple[Finding, ...], pl.DataFrame]:
    """Judge the claims; return the effects of the logit too."""
    surplus = mean_of(100 * ties.surplus, ties.groups)
    strong = ties.rating >= _STRONG
    apart = _gap(ties, strong)
    first = np.zeros(len(ties.lower))
    first[ties.offsets[:-1]] = 1.0
    alone, alone_cov = fit_logit(ties, first[:, None])
    both, both_cov = fit_logit(ties, np.stack([first, 10 * ties.lower], axis=1))
    effects = pl.DataFrame(
        [
            ("first-listed, alone", float(alone[0]), float(np.sqrt(alone_cov[0, 0]))),
            ("first-listed, with lower depths", float(both[0]), float(np.sqrt(both_cov[0, 0]))),
            ("lower depths, 0.1 better", float(both[1]), float(np.sqrt(both_cov[1, 1]))),
        ],
        schema=["effect", "log-odds", "se"],
        orient="row",
    )
    listed, left, lower = (
        Estimate(row["log-odds"], row["se"]) for row in effects.iter_rows(named=True)
    )
    pairs = (ties.sizes == 2) & (ties.level != 0)
    text = f"{surplus.show(1, sign=True)} points over 1/k"
    if pairs.sum() >= _LEAST:
        of_pairs = mean_of(100 * ties.surplus[pairs], ties.groups[pairs])
        text += f"; pairs not at 0.00 {of_pairs.show(1, sign=True)} points"
    n = len(ties)
    alike = (
        too_little("2011-ties-alike", "too few ties on one side of 2300", n=n, unit="ties")
        if apart is None
        else judge("2011-ties-alike", apart, f"{apart.show(1, sign=True)} points", n=n, unit="ties")
    )
    return (
        judge("2011-ties", surplus, text, n=n, unit="ties"),
        alike,
        judge(
            "2011-ties-depths",
            left,
            f"log-odds of the first-listed {listed.show(2, sign=True)} alone, "
            f"{left.show(2, sign=True)} beside the values at lower depths, whose own are "
            f"{lower.show(2, sign=True)} for a mean value 0.1 better",
            n=n,
            unit="ties",
        ),
    ), effects


def _gap(ties: Ties, strong: Any) -> Estimate | None:
    """The surplus of strong players less that of the others, in points."""
    if min(strong.sum(), (~strong).sum()) < _LEAST:
        return None
    design = np.stack([np.ones(len(ties)), strong], axis=1).astype(np.float64)
    beta, covariance = regress(design, 100 * ties.surplus, ties.groups)
    return Estimate(float(beta[1]), float(np.sqrt(covariance[1, 1])))
