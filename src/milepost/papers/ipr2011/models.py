"""Ways to fit, ratios and curves (2011 paper, sections 3, 4 and 6), judged on games not seen.

Every milepost of the reference is parted into two halves by game; a model is fitted on one and
projected on the other. All figures are of unseen games.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import polars as pl

from milepost.choice import Projection, Spreads
from milepost.choice.attraction.curves import CURVES
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import RANKS
from milepost.fit import Candidate, FitResult, NotConvergedWarning
from milepost.fit.agent import fit_model
from milepost.papers.charts import named_points
from milepost.papers.experiment import Finding, Outcome, experiment
from milepost.papers.folder import Folder
from milepost.papers.ipr2011.data import chance_qfit, cohorts_of, reference_decisions, share_off
from milepost.papers.ledger.answers import judge
from milepost.papers.statistics import Estimate, pooled

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
        "qfit_later": later_qfit(at),
        "second_off": 100 * float(at.frequencies_projected[1] - at.frequencies_actual[1]),
        "second_sd": 100 * float(at.frequencies_sd[1]),
        "qfit_chance": chance_qfit(at),
        "percentile_rms": said.percentiles.rms,
    }


def later_qfit(projection: Projection) -> float:
    """Return Qfit over the ranks from the second on: the paper's M_i for i > 0."""
    apart = projection.frequencies_projected - projection.frequencies_actual
    return float(10_000 * (apart[1:RANKS] ** 2).sum() / (RANKS - 1))


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row a model: the mean of each figure, with errors over mileposts and halves."""
    rows = []
    for (name,), part in table.group_by("model", maintain_order=True):
        weight = part["n"].to_numpy() / part["n"].to_numpy().sum()
        match = pooled(part["mm_off"].to_numpy(), part["mm_sd"].to_numpy())[0]
        difference = share_off(part)
        second = pooled(part["second_off"].to_numpy(), part["second_sd"].to_numpy())[0]
        rows.append(
            {
                "model": name,
                "log-loss": float(weight @ part["log_loss"].to_numpy()),
                "match rate off, points": match.value,
                "se": match.se,
                "difference off, %": difference.value,
                "se, %": difference.se,
                "Qfit, i > 0": float(part["qfit_later"].mean()),  # type: ignore[arg-type]
                "second move off, points": second.value,
                "se, second": second.se,
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
    """Judge moment and likelihood fits beside percentile fits."""
    means = {row["model"]: row for row in summary(table).iter_rows(named=True)}
    n = turns_of(table)
    later = paired(table, "qfit_later", "moments", "percentile")
    second = {k: Estimate(v["second move off, points"], v["se, second"]) for k, v in means.items()}
    likely = means["likelihood"]
    own, base = _off(likely), _off(means["percentile"])
    return (
        judge(
            "2011-moments", later,
            f"{later.show(3, sign=True)}: {means['moments']['Qfit, i > 0']:.3f} with moment fits, "
            f"{means['percentile']['Qfit, i > 0']:.3f} with percentile fits; moment fits: "
            f"{_off(means['moments'])}", n=n,
        ),
        judge(
            "2011-moments-second", second["moments"],
            f"{second['moments'].show(2, sign=True)} points; percentile fits "
            f"{second['percentile'].show(2, sign=True)}", n=n,
        ),
        judge("2011-likelihood-match", _pair(likely, "mm"), f"{own}; percentile fits: {base}", n=n),
        judge(
            "2011-likelihood-difference", _pair(likely, "ad"), f"{own}; percentile fits: {base}",
            n=n,
        ),
    )  # fmt: skip


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
    return judge(
        "2011-powers",
        gain,
        f"Qfit {means['powers']['Qfit']:.2f} with powers, {means['shares']['Qfit']:.2f} with "
        f"shares (chance alone {means['powers']['Qfit by chance']:.2f}); powers: "
        f"{_off(means['powers'])}; shares: {_off(means['shares'])}; log-loss "
        f"{loss.show(4, sign=True)} with shares",
        n=turns_of(table),
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
    """Judge whether the curves project alike."""
    means = summary(table)
    base, *others = means["model"].to_list()
    n = turns_of(table)
    answers = []
    for key, column, places in (
        ("2011-curves-match", "mm_off", 2), ("2011-curves-difference", "ad_off", 1),
    ):  # fmt: skip
        with_shares = table.with_columns(
            (100 * (pl.col("ad_projected") / pl.col("ad_actual") - 1)).alias("ad_off")
        )
        apart = {name: paired(with_shares, column, name, base) for name in others}
        far = max(apart.values(), key=lambda each: abs(each.value))
        shown = ", ".join(f"{name} {each.show(places, sign=True)}" for name, each in apart.items())
        losses = means["log-loss"].to_numpy()
        found = f"against {base}: {shown}; log-loss {losses.min():.4f} to {losses.max():.4f}"
        answers.append(judge(key, far, found, n=n))
    return answers[0], answers[1]


def turns_of(table: pl.DataFrame) -> int:
    """Return how many turns a table of unseen halves rests on."""
    return int(table.filter(pl.col("model") == table["model"][0])["n"].sum())


def _pair(row: dict[str, float], key: str) -> Estimate:
    if key == "mm":
        return Estimate(row["match rate off, points"], row["se"])
    return Estimate(row["difference off, %"], row["se, %"])


def _off(row: dict[str, float]) -> str:
    match, difference = _pair(row, "mm"), _pair(row, "ad")
    return (
        f"match rate off by {match.show(1, sign=True)} points, difference by "
        f"{difference.show(1, sign=True)} %"
    )
