"""The admission gate: does a model project what happens, on decisions it has not seen?

A model may be used for ratings only if, in every band of choosers, on held-out groups: the
projected match rate is within 1 point of the actual one, the scaled error within 4 %, and the
frequencies of slips over 1 and over 3 units within 15 % or 2 standard errors.

With 1,700 decisions a band the standard error of a match rate is itself about a point: there even
the true model fails the first criterion in one band of three. So the table says beside the gate
whether all deviations are within two standard errors, which is all that so little data can tell.

Decisions of one event or game go together: a whole event may lie off its ratings. Where clusters
are given, a standard error is that of their sums, if it is the larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from milepost.choice.projections import SLIPS
from milepost.choice.spreads import Floats, Ints

MATCH_POINTS = 0.01
ERROR_SHARE = 0.04
SLIP_SHARE = 0.15
SLIP_ERRORS = 2.0
NOISE = 2.0


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a model said, of each decision, when it had not seen it."""

    ln_chosen: Floats
    """Logarithm of the chosen option's probability."""
    first: Floats
    """Probability of the first option."""
    error: Floats
    """Expected scaled difference."""
    error_squared: Floats
    """Expected squared scaled difference."""
    slips: Floats
    """Probability of a slip, a column for each of `SLIPS`."""
    hit: Floats
    """Whether the first option was chosen."""
    actual_error: Floats
    """The scaled difference of the choice."""
    actual_slips: Floats
    """Whether the choice was a slip, a column each."""
    frequencies: Floats
    """Summed probability of the i-th option over all decisions."""
    actual_frequencies: Floats
    """How often it was chosen."""
    weights: Floats
    """How much each decision counts."""


def gate_table(
    said: HeldOut, bands: Ints, names: Sequence[str], clusters: Ints | None = None
) -> pl.DataFrame:
    """Return one row a band: projected, actual and whether it passes, criterion by criterion.

    Parameters
    ----------
    said
        What the model said.
    bands, names
        The band of each decision, and their names.
    clusters
        What each decision goes together with, as a number [default: each for itself].
    """
    rows = []
    for code, name in enumerate(names):
        here = bands == code
        if not here.any():
            continue
        share = said.weights[here] / said.weights[here].sum()
        error = partial(_standard_error, share, here, clusters)
        mm, mm_actual = float(share @ said.first[here]), float(share @ said.hit[here])
        ad, ad_actual = float(share @ said.error[here]), float(share @ said.actual_error[here])
        row: dict[str, Any] = {
            "band": name,
            "n": int(here.sum()),
            "log_loss": -float(share @ said.ln_chosen[here]),
            "mm_projected": mm,
            "mm_actual": mm_actual,
            "mm_se": error(said.first * (1 - said.first), said.hit - said.first),
            "mm_passes": abs(mm - mm_actual) <= MATCH_POINTS,
            "ad_projected": ad,
            "ad_actual": ad_actual,
            "ad_se": error(said.error_squared - said.error**2, said.actual_error - said.error),
            "ad_passes": abs(ad - ad_actual) <= ERROR_SHARE * ad_actual,
        }
        passes = row["mm_passes"] and row["ad_passes"]
        near = abs(mm - mm_actual) <= NOISE * row["mm_se"]
        near &= abs(ad - ad_actual) <= NOISE * row["ad_se"]
        for place, limit in enumerate(SLIPS):
            chance, slipped = said.slips[:, place], said.actual_slips[:, place]
            projected = float(share @ chance[here])
            actual = float(share @ slipped[here])
            se = error(chance * (1 - chance), slipped - chance)
            away = abs(projected - actual)
            passed = away <= SLIP_SHARE * actual or away <= SLIP_ERRORS * se
            row |= {
                f"slips{limit:g}_projected": projected,
                f"slips{limit:g}_actual": actual,
                f"slips{limit:g}_se": se,
                f"slips{limit:g}_passes": passed,
            }
            passes = passes and passed
            near &= away <= NOISE * se
        rows.append({**row, "passes": passes, "within_noise": near})
    return pl.DataFrame(rows)


def _standard_error(
    share: Floats, here: Floats, clusters: Ints | None, variance: Floats, gap: Floats
) -> float:
    """The standard error of a mean: of independent decisions, or of clusters if that is larger."""
    alone = float(np.sqrt(share**2 @ variance[here]))
    if clusters is None:
        return alone
    _, cluster = np.unique(clusters[here], return_inverse=True)
    # About their mean: a model that is off everywhere must not hide in its own error.
    away = share * (gap[here] - share @ gap[here])
    sums = np.bincount(cluster.ravel(), weights=away)
    count = len(sums)
    together = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1)))
    return max(alone, together)
