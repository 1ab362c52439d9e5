"""A script that was reviewed: win-probability differences and five moves, against the full method.

It took differences of 1 / (1 + 10^(-cp/400)) in place of the paper's scaled pawns, and looked at
the five best moves only. Each way is calibrated on half of the games of every milepost, by the same
rule, and rates the other half; so what counts is not the unit but how far ratings move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from milepost.choice import Scale, Spreads
from milepost.choice.model import ChoiceModel
from milepost.papers.charts import points
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
from milepost.papers.ipr2011.data import EloScale, cohorts_of, elo_scale, reference_decisions
from milepost.papers.ledger.answers import decide
from milepost.papers.statistics import Estimate, first_options, mean_of

WIDTH = 5
_KEYS = {
    "five moves": "script-five",
    "win probability": "script-win",
    "win probability, five moves": "script-both",
}
"""The claims about the ways."""
FULL = "full"
_SMALL = 0.5
"""Of the standard error of a rating: what moves it less does not matter."""


@dataclass(frozen=True)
class Way:
    """A way to rate."""

    scale: Scale
    """How differences are taken."""
    width: int | None = None
    """How many of the best moves are looked at; choices outside are left out. None = all."""

    def spreads(self, whole: Spreads) -> Spreads:
        """Return the decisions as this way sees them."""
        return whole if self.width is None else first_options(whole, self.width, bounded=False)

    @property
    def model(self) -> ChoiceModel:
        """The model that is fitted."""
        return ChoiceModel(scale=self.scale)


WAYS = {
    FULL: Way(Scale()),
    "five moves": Way(Scale(), WIDTH),
    "win probability": Way(Scale("win-probability")),
    "win probability, five moves": Way(Scale("win-probability"), WIDTH),
}


@experiment(
    "script-elo", paper="script", title="Win probabilities and five moves: how far Elo moves"
)
def script_elo(folder: Folder) -> Outcome:
    """Rate the same unseen games by each way."""
    cohorts = cohorts_of(reference_decisions(folder))
    table, scales = rate_ways(cohorts)
    naive = uncalibrated(cohorts, scales[FULL])
    summary = way_table(table)
    shown = table.rename({"level": "Elo", "elo": "Elo by moves", "way": "Way"})
    return Outcome(
        data="mileposts 2011-2014; odd games calibrate, even games are rated",
        n=sum(len(each) for each in cohorts.values()),
        findings=(*way_findings(table), naive_finding(naive)),
        tables={"Ways": summary, "By milepost": table, "Five moves on the full scale": naive},
        charts={
            "Elo by moves, by way": points(
                shown.select("Elo", "Elo by moves", "Way"), "Elo", "Elo by moves", colour="Way"
            )
        },
        notes=(
            f"with {WIDTH} moves, choices outside them are left out, which makes players stronger",
            "one pawn from 0.00 is 0.14 of a win, from four pawns ahead 0.06",
        ),
    )


def rate_ways(
    cohorts: Mapping[float, Spreads], ways: Mapping[str, Way] | None = None
) -> tuple[pl.DataFrame, dict[str, EloScale]]:
    """Return the Elo of each milepost's unseen half by each way, and the scales."""
    rows, scales = [], {}
    for name, way in (ways or WAYS).items():
        seen = {k: way.spreads(each.take(each.groups % 2 == 1)) for k, each in cohorts.items()}
        scale = scales[name] = elo_scale(seen, way.model)
        for level, each in cohorts.items():
            elo, fit = scale.rate(way.spreads(each.take(each.groups % 2 == 0)))
            own = float(np.sqrt(fit.working_covariance[0, 0])) / abs(scale.line[1])
            rows.append({"way": name, "level": level, "n": fit.n, "elo": elo.value, "own se": own})
    return pl.DataFrame(rows), scales


def way_table(table: pl.DataFrame) -> pl.DataFrame:
    """Return, for each way, how far its ratings are from the full method's and from the truth."""
    full = table.filter(pl.col("way") == FULL).select("level", pl.col("elo").alias("by full"))
    rows = []
    for (name,), part in table.group_by("way", maintain_order=True):
        both = part.join(full, on="level", maintain_order="left")
        moved = (both["elo"] - both["by full"]).to_numpy()
        wrong = (both["elo"] - both["level"]).to_numpy()
        rows.append(
            {
                "way": name,
                "turns": int(both["n"].sum()),
                "moved by, mean": float(moved.mean()),
                "moved by, root mean square": float(np.sqrt((moved**2).mean())),
                "off the rating, root mean square": float(np.sqrt((wrong**2).mean())),
                "standard error": float(both["own se"].to_numpy().mean()),
            }
        )
    return pl.DataFrame(rows)


def way_findings(table: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge each way against the full method: does the rating move by less than its error?"""
    rows = {row["way"]: row for row in way_table(table).iter_rows(named=True)}
    base = rows[FULL]
    answers = []
    for name, row in rows.items():
        if name == FULL:
            continue
        moved, error = row["moved by, root mean square"], base["standard error"]
        verdict: Verdict = HOLDS if moved < _SMALL * error else FAILS
        # With next to no information in a milepost, ratings move with anything.
        if error > 500:
            verdict = TOO_LITTLE
        answers.append(
            decide(
                _KEYS[name],
                f"ratings move by {row['moved by, mean']:+.0f} on average, {moved:.0f} root mean "
                f"square, where the error of the full method's own is {error:.0f}; off the rating "
                f"by {row['off the rating, root mean square']:.0f} against "
                f"{base['off the rating, root mean square']:.0f} root mean square; own error "
                f"{row['standard error']:.0f}",
                verdict,
            )
        )
    return tuple(answers)


def uncalibrated(cohorts: Mapping[float, Spreads], scale: EloScale) -> pl.DataFrame:
    """Return how far five moves alone shift a rating that is read off the full method's scale."""
    rows = []
    for level, each in cohorts.items():
        part = each.take(each.groups % 2 == 0)
        whole, _ = scale.rate(part)
        short, fit = scale.rate(first_options(part, WIDTH, bounded=False))
        rows.append(
            {
                "level": level,
                "left out": len(part) - fit.n,
                "full": whole.value,
                "five moves": short.value,
                "shift": short.value - whole.value,
            }
        )
    return pl.DataFrame(rows)


def naive_finding(table: pl.DataFrame) -> Finding:
    """Judge five moves without a calibration of their own."""
    shift = table["shift"].to_numpy()
    mean: Estimate = mean_of(shift, np.arange(len(shift)))
    return decide(
        "script-naive",
        f"ratings shift by {mean.show(0, sign=True)} Elo, {np.abs(shift).max():.0f} at most; "
        f"{int(table['left out'].sum())} choices outside the five are lost",
        HOLDS if abs(mean.value) < 50 and abs(mean.z) < 3 else FAILS,
    )
