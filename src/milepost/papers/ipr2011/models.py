"""Ways to fit, ratios and curves (2011 paper, sections 2 to 4), judged on games not seen.

Every milepost of the reference is parted into two halves by game; a model is fitted on one and
projected on the other. All figures are of unseen games.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import polars as pl

from milepost.choice import Spreads
from milepost.choice.attraction.curves import CURVES
from milepost.choice.model import ChoiceModel
from milepost.fit import Candidate, FitResult, NotConvergedWarning
from milepost.fit.agent import fit_model
from milepost.papers.charts import named_points
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
from milepost.papers.ipr2011.data import chance_qfit, cohorts_of, reference_decisions, share_off
from milepost.papers.statistics import Estimate, pooled

_ALIKE_LOSS = 0.02
"""Nats a turn: log-losses nearer than this count as alike."""
_ALIKE_QFIT = 0.1
_ALIKE_POINTS = 1.0
_ALIKE_PER_CENT = 5.0
_DATA = (
    "the reference period; each milepost in two halves by game, fitted on one, seen on the other"
)


def cross_table(
    cohorts: Mapping[float, Spreads], candidates: Mapping[str, Candidate]
) -> pl.DataFrame:
    """Return what each candidate says of unseen games: one row a candidate, milepost and half."""
    rows = []
    for name, candidate in candidates.items():
        for level, spreads in cohorts.items():
            half = spreads.groups % 2
            for fold in (0, 1):
                seen, unseen = spreads.take(half != fold), spreads.take(half == fold)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NotConvergedWarning)
                    fit = fit_model(
                        seen, candidate.model, method=candidate.method, covariance="none"
                    )
                rows.append({"model": name, "level": level, **_unseen(unseen, fit)})
    return pl.DataFrame(rows)


def _unseen(spreads: Spreads, fit: FitResult) -> dict[str, float]:
    given = {"s": fit.s, "c": fit.c}
    said = fit_model(spreads, fit.model, fixed=given, covariance="none")
    at = said.projection
    return {
        "n": at.n,
        "log_loss": -at.log_likelihood / at.n,
        "mm_off": 100 * (at.mm_projected - at.mm_actual),
        "mm_sd": 100 * at.mm_sd,
        "ad_projected": at.ad_projected,
        "ad_actual": at.ad_actual,
        "ad_sd": at.ad_sd,
        "qfit": at.qfit,
        "qfit_chance": chance_qfit(at),
        "percentile_rms": said.percentiles.rms,
    }


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row a model: the mean of each figure, with errors over mileposts and halves."""
    rows = []
    for (name,), part in table.group_by("model", maintain_order=True):
        weight = part["n"].to_numpy() / part["n"].to_numpy().sum()
        match = pooled(part["mm_off"].to_numpy(), part["mm_sd"].to_numpy())[0]
        difference = share_off(part)
        rows.append(
            {
                "model": name,
                "log-loss": float(weight @ part["log_loss"].to_numpy()),
                "match rate off, points": match.value,
                "se": match.se,
                "difference off, %": difference.value,
                "se, %": difference.se,
                "Qfit": float(part["qfit"].mean()),  # type: ignore[arg-type]
                "Qfit by chance": float(part["qfit_chance"].mean()),  # type: ignore[arg-type]
                "percentile RMS": float(part["percentile_rms"].mean()),  # type: ignore[arg-type]
            }
        )
    return pl.DataFrame(rows)


def paired(table: pl.DataFrame, column: str, first: str, second: str) -> Estimate:
    """Return the mean of a figure of one model less that of another, over the same halves."""
    a, b = (table.filter(pl.col("model") == name)[column].to_numpy() for name in (first, second))
    return Estimate(float((a - b).mean()), float((a - b).std(ddof=1) / np.sqrt(len(a))))


def _charts(table: pl.DataFrame) -> dict[str, object]:
    return {
        "Match rate, projected less actual": named_points(
            table, "model", "match rate off, points", "se", rule=0.0
        ),
        "Difference, projected against actual": named_points(
            table, "model", "difference off, %", "se, %", rule=0.0
        ),
    }


def _outcome(cohorts: Mapping[float, Spreads], table: pl.DataFrame, found: tuple[Finding, ...],
             ) -> Outcome:  # fmt: skip
    means = summary(table)
    return Outcome(
        data=_DATA,
        n=sum(len(each) for each in cohorts.values()),
        findings=found,
        tables={"Models": means, "By milepost": table},
        charts=_charts(means),
        notes=("errors of projections are those of the model for the unseen choices",),
    )


@experiment("2011-methods", paper="2011", title="Percentile, likelihood and moment fits")
def methods(folder: Folder) -> Outcome:
    """Whether likelihood and moment fits mis-project where percentile fits do not."""
    cohorts = cohorts_of(reference_decisions(folder))
    names = ("percentile", "likelihood", "moments")
    table = cross_table(cohorts, {name: Candidate(ChoiceModel(), name) for name in names})
    return _outcome(cohorts, table, method_findings(table))


def method_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge likelihood and moment fits beside percentile fits."""
    means = {row["model"]: row for row in summary(table).iter_rows(named=True)}
    answers = []
    for name in ("likelihood", "moments"):
        own, base = means[name], means["percentile"]
        match, difference = _z(own, "mm"), _z(own, "ad")
        worse = paired(table, "percentile_rms", name, "percentile")
        qfit = paired(table, "qfit", name, "percentile")
        # Off beyond its error, and further off than the percentile fit is.
        off = (abs(match) > 3 and _further(own, base, "mm")) or (
            abs(difference) > 3 and _further(own, base, "ad")
        )
        verdict: Verdict = HOLDS if off else (FAILS if qfit.z < 2 else TOO_LITTLE)
        answers.append(
            Finding(
                f"{name} fits mis-project, percentile fits do not (section 4)",
                f"{name}: {_off(own)}; percentile: {_off(base)}; Qfit {1000 * qfit.value:+.0f} ± "
                f"{1000 * qfit.se:.0f} thousandths and percentile RMS {1000 * worse.value:+.1f} ± "
                f"{1000 * worse.se:.1f} thousandths against the percentile fit",
                verdict,
            )
        )
    return tuple(answers)


@experiment("2011-ratios", paper="2011", title="Powers against shares")
def ratios(folder: Folder) -> Outcome:
    """Whether the ratio of logarithms (powers) beats plain shares."""
    cohorts = cohorts_of(reference_decisions(folder))
    kinds = {"powers": ChoiceModel(), "shares": ChoiceModel(ratio="shares")}
    table = cross_table(cohorts, {n: Candidate(m, "percentile") for n, m in kinds.items()})
    return _outcome(cohorts, table, (ratio_finding(table),))


def ratio_finding(table: pl.DataFrame) -> Finding:
    """Judge powers against shares by Qfit on unseen games."""
    means = {row["model"]: row for row in summary(table).iter_rows(named=True)}
    gain = paired(table, "qfit", "shares", "powers")
    loss = paired(table, "log_loss", "shares", "powers")
    return Finding(
        "powers fit far better than shares (section 2)",
        f"Qfit {means['powers']['Qfit']:.2f} with powers, {means['shares']['Qfit']:.2f} with "
        f"shares (difference {gain.show(2, sign=True)}, chance alone "
        f"{means['powers']['Qfit by chance']:.2f}); powers: {_off(means['powers'])}; shares: "
        f"{_off(means['shares'])}; log-loss {loss.show(4, sign=True)} with shares",
        HOLDS if gain.z > 2 else (FAILS if gain.z < 1 else TOO_LITTLE),
    )


@experiment("2011-curves", paper="2011", title="The five families of curves")
def curve_families(folder: Folder) -> Outcome:
    """Whether the five curves give alike results."""
    cohorts = cohorts_of(reference_decisions(folder))
    table = cross_table(
        cohorts, {name: Candidate(ChoiceModel(curve=name), "percentile") for name in CURVES}
    )
    return _outcome(cohorts, table, curve_findings(table))


def curve_findings(table: pl.DataFrame) -> tuple[Finding, Finding]:
    """Judge whether the curves fit alike, and project alike."""
    means = summary(table)
    losses = means["log-loss"].to_numpy()
    qfits = means["Qfit"].to_numpy()
    base = means["model"].to_list()[0]
    apart = [paired(table, "log_loss", name, base) for name in means["model"].to_list()[1:]]
    fit = (
        f"log-loss {losses.min():.4f} to {losses.max():.4f} (largest difference to {base} "
        f"{max(apart, key=lambda each: abs(each.value)).show(4, sign=True)}), Qfit "
        f"{qfits.min():.2f} to {qfits.max():.2f}"
    )
    alike = float(np.ptp(losses)) < _ALIKE_LOSS and float(np.ptp(qfits)) < _ALIKE_QFIT
    match = means["match rate off, points"].to_numpy()
    difference = means["difference off, %"].to_numpy()
    listed = ", ".join(
        f"{row['model']} {row['difference off, %']:+.0f} ± {row['se, %']:.0f}"
        for row in means.iter_rows(named=True)
    )
    projected = float(np.ptp(match)) < _ALIKE_POINTS and float(np.ptp(difference)) < _ALIKE_PER_CENT
    return (
        Finding("the five curves fit alike (section 3)", fit, HOLDS if alike else FAILS),
        Finding(
            "the five curves project alike",
            f"match rates off by {match.min():+.1f} to {match.max():+.1f} points; differences off "
            f"by, in %: {listed}",
            HOLDS if projected else FAILS,
        ),
    )


def _z(row: dict[str, float], key: str) -> float:
    value, error = _pair(row, key)
    return value / error


def _further(row: dict[str, float], base: dict[str, float], key: str) -> bool:
    return abs(_pair(row, key)[0]) > abs(_pair(base, key)[0])


def _pair(row: dict[str, float], key: str) -> tuple[float, float]:
    if key == "mm":
        return row["match rate off, points"], row["se"]
    return row["difference off, %"], row["se, %"]


def _off(row: dict[str, float]) -> str:
    match, difference = (Estimate(*_pair(row, key)) for key in ("mm", "ad"))
    return (
        f"match rate off by {match.show(1, sign=True)} points, difference by "
        f"{difference.show(1, sign=True)} %"
    )
