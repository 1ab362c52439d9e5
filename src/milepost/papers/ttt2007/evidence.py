"""The 2007 paper's evidence: the filter, TTT and TTT-D, beside the share of draws alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from milepost.history import TTT, TTTD, History, TrueSkill, fit_history, prequential
from milepost.history.draw_share import naive_log_evidence
from milepost.history.numerics.gaussians import below
from milepost.papers.experiment import (
    FAILS,
    HOLDS,
    MissingDataError,
    Outcome,
    Verdict,
    experiment,
)
from milepost.papers.folder import Folder
from milepost.papers.ledger.answers import decide
from milepost.papers.statistics import Estimate, mean_by_cluster
from milepost.papers.ttt2007.data import ABOUT, PAPER, SPANS, games_of, history_of, verdict_of
from milepost.report.charts import year_axis

_PAPER_TTT, _PAPER_TTT_D = -1.1280, -1.0446
_DECISIVE = 5.0
"""Nats: a ratio of probabilities of about 150, more than any table of Bayes factors asks for."""
_HELD_OUT = 50
"""One game in so many is left out to see what smoothing is worth."""
_NAMES = {"trueskill": "filter", "ttt": "TTT", "ttt-d": "TTT-D"}


@experiment(
    "2007-evidence", paper="2007", title="Evidence of filter, TTT and TTT-D, and prediction"
)
def run(folder: Folder) -> Outcome:
    """Compare the models on the paper's years and on all years."""
    table = _evidence(folder)
    years = _predictions(folder)
    ours = table.filter(pl.col("years") == "1850-2006")
    value = dict(ours.select("model", "evidence").iter_rows())
    games = int(ours["games"][0])
    both = [_by_model(table, span) for span in SPANS]
    gain, error = mean_by_cluster(years["games"].to_numpy(), years["gain"].to_numpy())
    held = _held_out(folder)
    more, more_error = mean_by_cluster(held["games"].to_numpy(), held["gain"].to_numpy())
    end = years.filter(pl.col("year") >= 1997)
    late, late_error = mean_by_cluster(end["games"].to_numpy(), end["gain"].to_numpy())
    naive = value["draw share alone"]
    findings = (
        decide(
            "2007-evidence-d",
            f"1850-2006: {value['TTT-D']:.4f} against {value['TTT']:.4f}; all years: "
            f"{both[1]['TTT-D']:.4f} against {both[1]['TTT']:.4f}; the gain is "
            f"{value['TTT-D'] - value['TTT']:.4f} nats a game where the paper has 0.0834",
            _better([each["TTT-D"] - each["TTT"] for each in both], games),
        ),
        decide(
            "2007-evidence-naive",
            f"1850-2006: {value['TTT']:.4f} against {naive:.4f} (the exact entropy of its draws); "
            f"the paper's own -1.1280 is below -ln 3 = {-math.log(3):.4f}, what guessing among "
            "three results gives, so its figures cannot be of the same kind as these",
            _better([each["TTT"] - each["draw share alone"] for each in both], games),
        ),
        decide(
            "2007-smoothing",
            f"one game in {_HELD_OUT} of 1850-2006 held out ({held['games'].sum():,} games): "
            f"smoothed skills predict them {more:.4f} ± {more_error:.4f} nats a game better than "
            "the filter's of the same year. (Evidence, which for both approximates the same "
            f"number: TTT {value['TTT']:.4f}, filter {value['filter']:.4f})",
            verdict_of(below(more / more_error)),
            Estimate(more, more_error),
        ),
        decide(
            "2007-predictive",
            f"each year of 1850-2006 predicted from the years before: {gain:.4f} ± {error:.4f} "
            f"nats a game better (standard error over {years.height} years); better in "
            f"{100 * years.filter(pl.col('gain') > 0).height / years.height:.0f} % of them. In "
            f"1997-2006, whose share of draws is near that of all years: {late:.4f} ± "
            f"{late_error:.4f}",
            verdict_of(min(below(gain / error), below(late / late_error))),
            Estimate(gain, error),
        ),
    )
    return Outcome(
        data=ABOUT,
        n=games_of(folder, "all years").height,
        unit="games",
        findings=findings,
        tables={"Evidence": table, "Prediction by year": years, "Held-out games by year": held},
        charts={"Evidence a game": _chart(table), "Gain in prediction": _gain_chart(years)},
        notes=(
            (
                "Evidence: EP's log evidence of all results; for the filter the sum of its "
                "predictions, game by game. The paper's beta 480 and tau 60 are used, not tuned "
                "here."
            ),
            (
                "The paper's 'naive' figure is not shown: it was computed from results that it "
                "predicts. The exact one for a share p of draws is p ln p + (1 - p) ln((1 - "
                "p)/2)."
            ),
            (
                "Prediction: the filter's beliefs before a year predict all of it. TTT has one "
                "margin, from the draws of all years, which knows the future; TTT-D knows "
                "nothing of it. In years whose share of draws is another, TTT-D gains by that "
                "alone."
            ),
            (
                "TTT-D's draws are exact here ('between'); the paper approximates them by two "
                "factors."
            ),
        ),
    )


def _evidence(folder: Folder) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    paper = {"ttt": _PAPER_TTT, "ttt-d": _PAPER_TTT_D}
    for span in SPANS:
        scores = games_of(folder, span)["score"]
        share = float((scores == 0.5).sum()) / len(scores)
        for model, name in _NAMES.items():
            found = history_of(folder, span, model)
            rows.append({
                "years": span, "model": name, "evidence": found.log_evidence / found.games,
                "paper": paper.get(model), "games": found.games, "draw_share": share,
                "converged": found.converged,
            })  # fmt: skip
        rows.append({
            "years": span, "model": "draw share alone", "evidence": naive_log_evidence(share),
            "paper": None, "games": len(scores), "draw_share": share, "converged": None,
        })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _by_model(table: pl.DataFrame, span: str) -> dict[str, float]:
    rows = table.filter(pl.col("years") == span)
    return dict(rows.select("model", "evidence").iter_rows())


def _better(gains: list[float], games: int) -> Verdict:
    """Better on both sets by a decisive number of nats, or not."""
    return HOLDS if all(gain * games > _DECISIVE for gain in gains) else FAILS


def _predictions(folder: Folder) -> pl.DataFrame:
    """Log-loss by year of TTT and TTT-D, each year predicted from those before."""
    games = games_of(folder).drop("fast")
    margin = history_of(folder, "1850-2006", "ttt").draw_margin
    plain, _ = prequential(games, TTT(draw=margin, **PAPER), window=0)
    own, _ = prequential(games, TTTD(**PAPER), window=0)
    joined = plain.rename({"log_loss": "ttt"}).join(
        own.select("time", pl.col("log_loss").alias("ttt_d")), on="time", maintain_order="left"
    )
    return joined.with_columns(gain=pl.col("ttt") - pl.col("ttt_d")).rename({"time": "year"})


def _held_out(folder: Folder) -> pl.DataFrame:
    """By year: how much better smoothed skills predict games left out of both fits."""
    games = games_of(folder).drop("fast")
    out = pl.Series(np.random.default_rng(2007).integers(0, _HELD_OUT, games.height) == 0)
    rest, held = games.filter(~out), games.filter(out)
    logs = [
        _log_probability(held, fit_history(rest, model))
        for model in (TTT(**PAPER, draw="share"), TrueSkill(**PAPER))
    ]
    table = held.select(year="time", gain=logs[0] - logs[1]).drop_nulls()
    years = table.group_by("year").agg(games=pl.len(), gain=pl.col("gain").mean())
    if years.height < 3:
        raise MissingDataError("there are fewer than three years with games to hold out")
    return years.sort("year")


def _log_probability(held: pl.DataFrame, history: History) -> pl.Series:
    """The log probability of each result; null where a player has no other game in the year."""
    curves = history.curves.select(pl.col("time").cast(pl.Int32), "player", "mean", "sd")
    for side in ("1", "2"):
        names = {"player": f"player_{side}", "mean": f"mean_{side}", "sd": f"sd_{side}"}
        held = held.join(curves.rename(names), on=["time", f"player_{side}"], how="left",
                         maintain_order="left")  # fmt: skip
    columns = held.select("mean_1", "mean_2", "sd_1", "sd_2").cast(pl.Float64)
    mean_1, mean_2, sd_1, sd_2 = (column.fill_null(np.nan).to_numpy() for column in columns)
    score = held["score"].to_numpy()
    c = np.sqrt(sd_1**2 + sd_2**2 + 2.0 * PAPER["beta"] ** 2)
    win = ndtr((mean_1 - mean_2 - history.draw_margin) / c)
    loss = ndtr((mean_2 - mean_1 - history.draw_margin) / c)
    chance = np.where(score == 1.0, win, np.where(score == 0.0, loss, 1.0 - win - loss))
    return pl.Series("log", np.log(chance)).fill_nan(None)


def _chart(table: pl.DataFrame) -> Any:
    import altair as alt

    paper = table.filter(pl.col("paper").is_not_null(), pl.col("years") == "1850-2006")
    shown = pl.concat([
        table.select("model", "evidence", pl.col("years").alias("data")),
        paper.select("model", pl.col("paper").alias("evidence"), data=pl.lit("the paper")),
    ])  # fmt: skip
    return (
        alt.Chart(shown)
        .mark_point(size=90)
        .encode(
            x=alt.X("evidence:Q", title="nats a game", scale=alt.Scale(zero=False)),
            y=alt.Y("model:N", title=None, sort=["draw share alone", *_NAMES.values()]),
            color=alt.Color("data:N", title=None),
            shape=alt.Shape("data:N", title=None),
        )
        .properties(title="Log evidence a game", height=160)
    )


def _gain_chart(years: pl.DataFrame) -> Any:
    import altair as alt

    base = alt.Chart(years).encode(
        x=year_axis(),
        y=alt.Y("gain:Q", title="nats a game"),
    )
    rule = alt.Chart(pl.DataFrame({"y": [0.0]})).mark_rule(color="#888888").encode(y="y:Q")
    points = base.mark_circle(opacity=0.7).encode(
        size=alt.Size("games:Q", title="games", scale=alt.Scale(range=[8, 160]))
    )
    return alt.layer(rule, points).properties(title="How much better TTT-D predicts than TTT")
